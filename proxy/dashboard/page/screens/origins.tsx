/** Web pages of the developer that browsers let speak with the service. */
import { useState } from "preact/hooks";
import { DASHBOARD } from "../../contract/endpoints.ts";
import type { Origins as OriginsData, OriginTest } from "../../contract/developer.ts";
import { Answered, Empty } from "../parts/answered.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { TextField } from "../parts/field.tsx";
import { FormOf } from "../parts/form-of.tsx";
import { Screen } from "../parts/screen.tsx";
import { Table } from "../parts/table.tsx";
import { Notice } from "../parts/words.tsx";
import { ask } from "../service/ask.ts";
import { useForm } from "../service/form.ts";
import { useAnswer } from "../service/use-answer.ts";

export default function Origins() {
  const origins = useAnswer("origins", {});
  return (
    <Screen
      title="Origins"
      known="From a browser the service sees which of your sites a user is on. Apps on phones and servers send no origin."
    >
      <article>
        <h2>Register an origin</h2>
        <Add replace={origins.replace} />
      </article>
      <Answered of={origins}>
        {(data) => (
          <article>
            <h2>Registered</h2>
            <List origins={data.origins} replace={origins.replace} />
          </article>
        )}
      </Answered>
      <article>
        <h2>Would a browser be let in?</h2>
        <Test />
      </article>
    </Screen>
  );
}

type Replace = (data: OriginsData) => void;

function Add({ replace }: { readonly replace: Replace }) {
  const form = useForm({
    schema: DASHBOARD.addOrigin.body,
    initial: { origin: "" },
    body: (typed) => typed,
    send: async (body) => {
      replace(await ask("addOrigin", { body }));
    },
  });
  return (
    <FormOf form={form} yes="Register it">
      <TextField
        form={form}
        name="origin"
        label="Origin"
        inputMode="url"
        hint="Scheme and host, and a port where it has one: https://app.example"
      />
    </FormOf>
  );
}

function List({ origins, replace }: { readonly origins: readonly string[]; readonly replace: Replace }) {
  if (origins.length === 0)
    return <Empty>None yet: no page in a browser can speak with the service for you.</Empty>;
  return (
    <Table
      caption="Registered origins"
      rows={origins}
      keyOf={(origin) => origin}
      columns={[
        { name: "Origin", cell: (origin) => origin },
        {
          name: "",
          isEnd: true,
          cell: (origin) => (
            <Confirm
              button="Remove"
              title={`Remove ${origin}?`}
              yes="Remove the origin"
              act={async () => {
                replace(await ask("removeOrigin", { body: { origin } }));
              }}
            >
              <p>
                Browsers on that site are refused from now on, with the sessions they have, too. Payments that
                were accepted go on. You can register it again.
              </p>
            </Confirm>
          ),
        },
      ]}
    />
  );
}

function Test() {
  const [result, setResult] = useState<OriginTest>();
  const form = useForm({
    schema: DASHBOARD.testOrigin.body,
    keeps: true,
    initial: { origin: "" },
    body: (typed) => typed,
    send: async (body) => {
      setResult(undefined);
      setResult(await ask("testOrigin", { body }));
    },
  });
  return (
    <>
      <FormOf form={form} yes="Test it" look="quiet">
        <TextField
          form={form}
          name="origin"
          label="Address of the page"
          hint="As it is in the address bar; it is tried as a browser there would ask."
        />
      </FormOf>
      <div role="status">
        {result !== undefined && (
          <Notice tone={result.is_let_in ? "good" : "bad"}>
            <p>
              <strong>{result.is_let_in ? "Let in." : "Not let in."}</strong> {result.detail}
            </p>
            {result.browser_sends !== null && (
              <p>
                A browser there sends <code>Origin: {result.browser_sends}</code>
              </p>
            )}
          </Notice>
        )}
      </div>
    </>
  );
}
