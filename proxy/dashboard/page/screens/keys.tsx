/** API keys: a new one is shown once, and kept nowhere in this page. */
import { useState } from "preact/hooks";
import { DASHBOARD } from "../../contract/endpoints.ts";
import type { ApiKeyView, CreatedKey, KeyImpact } from "../../contract/developer.ts";
import { Answered, Empty } from "../parts/answered.tsx";
import { Press } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Copy } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { FormOf } from "../parts/form-of.tsx";
import { Screen } from "../parts/screen.tsx";
import { Table } from "../parts/table.tsx";
import { Notice, number, Pill, seconds, Time } from "../parts/words.tsx";
import { ask } from "../service/ask.ts";
import { useForm } from "../service/form.ts";
import { useAnswer } from "../service/use-answer.ts";

export default function Keys() {
  const keys = useAnswer("keys", {});
  const [made, setMade] = useState<CreatedKey>();
  return (
    <Screen
      title="API keys"
      known="A key is your server's. The service sees which key a request came with; it says nothing of a user."
    >
      <article>
        <h2>New key</h2>
        <NewKey
          onMade={(key) => {
            setMade(key);
            keys.reload();
          }}
        />
      </article>
      <Answered of={keys}>
        {(data) => (
          <article>
            <h2>Your keys</h2>
            {data.keys.length === 0 ? (
              <Empty>There is no key yet. Make one for your server above.</Empty>
            ) : (
              <List keys={data.keys} replace={keys.replace} />
            )}
          </article>
        )}
      </Answered>
      {made !== undefined && (
        <Shown
          made={made}
          onClose={() => {
            setMade(undefined);
          }}
        />
      )}
    </Screen>
  );
}

function NewKey({ onMade }: { readonly onMade: (made: CreatedKey) => void }) {
  const form = useForm({
    schema: DASHBOARD.createKey.body,
    initial: { name: "" },
    body: ({ name }, client_id) => ({ client_id, name }),
    send: async (body) => {
      onMade(await ask("createKey", { body }));
    },
  });
  return (
    <FormOf form={form} yes="Create the key">
      <TextField form={form} name="name" label="Name" hint="What it is for: production server." />
    </FormOf>
  );
}

function Shown({ made, onClose }: { readonly made: CreatedKey; readonly onClose: () => void }) {
  return (
    <Dialog title={`The key “${made.record.name}”`} onClose={onClose}>
      <Notice tone="warn">
        This is the only time that it is shown. Put it where your server keeps its secrets; never into a page,
        an app or a repository.
      </Notice>
      <Copy text={made.key} label="Copy the key" />
      <footer>
        <Press look="main" onPress={onClose}>
          I have stored it
        </Press>
      </footer>
    </Dialog>
  );
}

function List({
  keys,
  replace,
}: {
  readonly keys: readonly ApiKeyView[];
  readonly replace: (data: { keys: ApiKeyView[] }) => void;
}) {
  return (
    <Table
      caption="Your API keys"
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        { name: "Name", cell: ({ name }) => name },
        { name: "Begins with", cell: ({ id }) => <code>ck_{id}_</code> },
        { name: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
        { name: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} /> },
        {
          name: "State",
          cell: ({ revoked_at }) =>
            revoked_at === null ? <Pill tone="good">live</Pill> : <Pill tone="calm">revoked</Pill>,
        },
        {
          name: "",
          isEnd: true,
          cell: (key) => key.revoked_at === null && <Revoke of={key} replace={replace} />,
        },
      ]}
    />
  );
}

function Revoke({
  of: key,
  replace,
}: {
  readonly of: ApiKeyView;
  readonly replace: (data: { keys: ApiKeyView[] }) => void;
}) {
  return (
    <Confirm
      button="Revoke"
      title={`Revoke “${key.name}”?`}
      yes="Revoke the key"
      act={async () => {
        replace(await ask("revokeKey", { id: key.id, body: {} }));
      }}
    >
      <Impact id={key.id} />
    </Confirm>
  );
}

function Impact({ id }: { readonly id: string }) {
  const impact = useAnswer("keyImpact", { id });
  return <Answered of={impact}>{(data) => <Stops impact={data} />}</Answered>;
}

function Stops({ impact }: { readonly impact: KeyImpact }) {
  const { is_last_live_key, requests_since_yesterday, streams_end_within_secs, key } = impact;
  return (
    <>
      {is_last_live_key && (
        <Notice tone="bad">
          This is your last live key: your server can do nothing here without another.
        </Notice>
      )}
      <p>What stops at once, and cannot be brought back:</p>
      <ul>
        <li>
          every request with this key, also the minting of sessions for your users (last used{" "}
          <Time at={key.last_used_at} />
          );
        </li>
        <li>streams that were opened with it, within {seconds(streams_end_within_secs)}.</li>
      </ul>
      <p>
        Sessions that your users have stay good until they end; <a href="/sessions">revoke them</a> if the key
        was stolen. All your keys and sessions together made {number(requests_since_yesterday)} requests since
        yesterday.
      </p>
    </>
  );
}
