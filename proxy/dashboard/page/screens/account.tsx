/** One's own passkeys, and where one is signed in. */
import { useState } from "preact/hooks";
import * as z from "zod";
import type { AccountSessions, Passkeys as PasskeysData } from "../../contract/account.ts";
import { givenName } from "../../contract/values.ts";
import { DASHBOARD } from "../../contract/endpoints.ts";
import { Answered } from "../parts/answered.tsx";
import { Act, Press } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { FormOf } from "../parts/form-of.tsx";
import { Screen } from "../parts/screen.tsx";
import { Table } from "../parts/table.tsx";
import { Pill, Time } from "../parts/words.tsx";
import { ask } from "../service/ask.ts";
import { useForm } from "../service/form.ts";
import { makePasskey } from "../service/passkeys.ts";
import { leave } from "../service/session.ts";
import { useAnswer } from "../service/use-answer.ts";

type Replace = (data: PasskeysData) => void;
type Passkey = PasskeysData["passkeys"][number];

export default function Account() {
  const passkeys = useAnswer("passkeys", {});
  const sessions = useAnswer("accountSessions", {});
  return (
    <Screen
      title="Passkeys and sign-ins"
      known="This is about you, not about users: the public halves of your passkeys, and where you are signed in. The private halves never leave your devices."
    >
      <Answered of={passkeys}>
        {(data) => (
          <article>
            <h2>Passkeys</h2>
            <Passkeys of={data.passkeys} replace={passkeys.replace} />
          </article>
        )}
      </Answered>
      <article>
        <h2>Add a passkey</h2>
        <p>With a second one, on another device, a lost device locks nobody out.</p>
        <Add replace={passkeys.replace} />
      </article>
      <Answered of={sessions}>
        {(data) => (
          <article>
            <h2>Signed in</h2>
            <SignIns of={data.sessions} reload={sessions.reload} />
          </article>
        )}
      </Answered>
    </Screen>
  );
}

function Passkeys({ of: passkeys, replace }: { readonly of: readonly Passkey[]; readonly replace: Replace }) {
  return (
    <Table
      caption="Your passkeys"
      rows={passkeys}
      keyOf={({ id }) => id}
      columns={[
        { name: "Name", cell: ({ name }) => name },
        {
          name: "Kept",
          cell: ({ is_synced }) => (is_synced ? "by a provider, on several devices" : "on one device"),
        },
        { name: "Added", cell: ({ created_at }) => <Time at={created_at} /> },
        { name: "Last used", cell: ({ last_used_at }) => <Time at={last_used_at} /> },
        {
          name: "",
          isEnd: true,
          cell: (passkey) => (
            <div class="actions">
              <Rename of={passkey} replace={replace} />
              {passkeys.length > 1 && <Remove of={passkey} replace={replace} />}
            </div>
          ),
        },
      ]}
    />
  );
}

function Rename({ of: { id, name }, replace }: { readonly of: Passkey; readonly replace: Replace }) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => {
    setOpen(false);
  };
  return (
    <>
      <Press
        small
        onPress={() => {
          setOpen(true);
        }}
      >
        Rename
      </Press>
      {isOpen && (
        <Dialog title={`Rename “${name}”`} onClose={close}>
          <RenameForm
            name={name}
            close={close}
            send={async (body) => {
              replace(await ask("renamePasskey", { id, body }));
              close();
            }}
          />
        </Dialog>
      )}
    </>
  );
}

function RenameForm({
  name,
  close,
  send,
}: {
  readonly name: string;
  readonly close: () => void;
  readonly send: (body: { name: string }) => Promise<void>;
}) {
  const form = useForm({
    schema: DASHBOARD.renamePasskey.body,
    initial: { name },
    body: (typed) => typed,
    send,
  });
  return (
    <FormOf form={form} yes="Rename" cancel={close}>
      <TextField form={form} name="name" label="Name" />
    </FormOf>
  );
}

function Remove({ of: { id, name }, replace }: { readonly of: Passkey; readonly replace: Replace }) {
  return (
    <Confirm
      button="Remove"
      title={`Remove “${name}”?`}
      yes="Remove the passkey"
      act={async () => {
        replace(await ask("removePasskey", { id, body: {} }));
      }}
    >
      <p>
        It does not sign in here any more, and where somebody signed in with it, that ends now: here, too, if
        you came in with it. Your device still lists it until you delete it there.
      </p>
    </Confirm>
  );
}

function Add({ replace }: { readonly replace: Replace }) {
  const form = useForm({
    schema: z.object({ name: givenName }),
    initial: { name: "" },
    body: (typed) => typed,
    send: async ({ name }) => {
      const { options } = await ask("addPasskeyOptions", { body: {} });
      const response = await makePasskey(options);
      replace(await ask("addPasskey", { body: { name, response } }));
    },
  });
  return (
    <FormOf form={form} yes="Make a passkey">
      <TextField
        form={form}
        name="name"
        label="A name for it"
        hint="So that you can tell it from others: my phone."
      />
    </FormOf>
  );
}

function SignIns({
  of: sessions,
  reload,
}: {
  readonly of: AccountSessions["sessions"];
  readonly reload: () => void;
}) {
  return (
    <Table
      caption="Where you are signed in"
      rows={sessions}
      keyOf={({ id }) => id}
      columns={[
        { name: "Browser", cell: ({ user_agent }) => user_agent },
        { name: "Since", cell: ({ created_at }) => <Time at={created_at} /> },
        { name: "Last seen", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
        { name: "Ends", cell: ({ ends_at }) => <Time at={ends_at} /> },
        {
          name: "",
          isEnd: true,
          cell: ({ id, is_current }) => (
            <div class="actions">
              {is_current && <Pill tone="good">this one</Pill>}
              <Act
                small
                act={async () => {
                  await ask("endAccountSession", { id, body: {} });
                  if (is_current) leave();
                  else reload();
                }}
              >
                End it
              </Act>
            </div>
          ),
        },
      ]}
    />
  );
}
