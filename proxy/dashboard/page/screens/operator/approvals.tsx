/** Identity-provider apps that developers ask for: whose signatures open sessions here. */
import { useState } from "preact/hooks";
import { DASHBOARD } from "../../../contract/endpoints.ts";
import type { OperatorApps } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { AppTerms, RequestState } from "../../parts/app-terms.tsx";
import { Press } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { FormOf } from "../../parts/form-of.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Notice, Time } from "../../parts/words.tsx";
import { ask } from "../../service/ask.ts";
import { useForm } from "../../service/form.ts";
import { useAnswer } from "../../service/use-answer.ts";

type Replace = (data: OperatorApps) => void;
type Request = OperatorApps["requests"][number];

export default function Approvals() {
  const apps = useAnswer("operatorApps", {});
  return (
    <Screen
      title="App approvals"
      known="An approved provider says who a user is by an id of its own; the service keeps that id with the user's sessions and tickets."
    >
      <Answered of={apps}>
        {(data) => (
          <>
            {data.requests.length === 0 && (
              <article>
                <Empty>Nobody has asked yet.</Empty>
              </article>
            )}
            {data.requests.map((request) => (
              <Asked key={request.id} of={request} replace={apps.replace} />
            ))}
            {data.apps.map((app) => (
              <article key={app.id}>
                <h2>
                  <code>{app.id}</code> of {app.developer_id}
                </h2>
                <AppTerms of={app} />
              </article>
            ))}
          </>
        )}
      </Answered>
    </Screen>
  );
}

function Asked({ of: request, replace }: { readonly of: Request; readonly replace: Replace }) {
  const [open, setOpen] = useState<"approve" | "refuse">();
  const close = (): void => {
    setOpen(undefined);
  };
  const done: Replace = (data) => {
    replace(data);
    close();
  };
  return (
    <article>
      <div class="head">
        <h2>
          {request.developer_name} asks <RequestState state={request.state} />
        </h2>
        <span class="muted">
          <Time at={request.created_at} />
        </span>
      </div>
      {request.reason !== null && <Notice tone="calm">Refused: {request.reason}</Notice>}
      <AppTerms of={request} />
      {request.state === "pending" && (
        <div class="actions">
          <Press
            look="main"
            onPress={() => {
              setOpen("approve");
            }}
          >
            Approve …
          </Press>
          <Press
            onPress={() => {
              setOpen("refuse");
            }}
          >
            Refuse …
          </Press>
        </div>
      )}
      {open === "approve" && (
        <Dialog title={`Approve the app of ${request.developer_name}`} onClose={close}>
          <Approve of={request} onDone={done} close={close} />
        </Dialog>
      )}
      {open === "refuse" && (
        <Dialog title={`Refuse the app of ${request.developer_name}`} onClose={close}>
          <Refuse of={request} onDone={done} close={close} />
        </Dialog>
      )}
    </article>
  );
}

interface Decision {
  readonly of: Request;
  readonly onDone: Replace;
  readonly close: () => void;
}

function Approve({ of: { id, jwks_url }, onDone, close }: Decision) {
  const form = useForm({
    schema: DASHBOARD.approveApp.body,
    initial: { jwks_host: "" },
    body: (typed) => typed,
    send: async (body) => {
      onDone(await ask("approveApp", { id, body }));
    },
  });
  return (
    <FormOf form={form} yes="Approve it" cancel={close}>
      <p>
        Whoever holds the keys at this address can open a session for any user of this developer, and this
        service will fetch from it:
      </p>
      <p>
        <code>{jwks_url}</code>
      </p>
      <TextField
        form={form}
        name="jwks_host"
        label="Type the host of that address"
        hint="By hand: so that no address is approved by how it begins."
      />
    </FormOf>
  );
}

function Refuse({ of: { id }, onDone, close }: Decision) {
  const form = useForm({
    schema: DASHBOARD.refuseApp.body,
    initial: { reason: "" },
    body: (typed) => typed,
    send: async (body) => {
      onDone(await ask("refuseApp", { id, body }));
    },
  });
  return (
    <FormOf form={form} yes="Refuse it" cancel={close}>
      <TextField form={form} name="reason" label="Why" hint="The developer reads it." />
    </FormOf>
  );
}
