/** Invitations: a link is shown once, to send to one person. */
import { useState } from "preact/hooks";
import { DASHBOARD } from "../../../contract/endpoints.ts";
import type { CreatedInvitation, InvitationRow } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { Act, Press } from "../../parts/button.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ChoiceField, TextField, type Choice } from "../../parts/field.tsx";
import { FormOf } from "../../parts/form-of.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Table } from "../../parts/table.tsx";
import { Notice, Pill, Time, type Tone } from "../../parts/words.tsx";
import { ask } from "../../service/ask.ts";
import { useForm } from "../../service/form.ts";
import { useAnswer, type Answer } from "../../service/use-answer.ts";

export default function Invitations() {
  const invitations = useAnswer("invitations", {});
  const developers = useAnswer("developers", {});
  const accounts = useAnswer("accounts", {});
  const [made, setMade] = useState<CreatedInvitation>();
  const ready = both(developers, accounts);
  return (
    <Screen
      title="Invitations"
      known="An invitation is for a person at a developer or of yours. Users of payments are never invited: they have no account here."
    >
      <article>
        <h2>Invite somebody</h2>
        <Answered of={ready}>
          {({ first, second }) => (
            <Invite
              developers={first.developers.map(({ id, name }) => ({ value: id, text: `${name} (${id})` }))}
              accounts={second.accounts
                .filter(({ closed_at }) => closed_at === null)
                .map(({ id, name, developer_id }) => ({
                  value: id,
                  text: `${name} (${developer_id ?? "operator"})`,
                }))}
              onMade={(invitation) => {
                setMade(invitation);
                invitations.reload();
              }}
            />
          )}
        </Answered>
      </article>
      <article>
        <h2>Sent</h2>
        <Answered of={invitations}>
          {(data) => <List rows={data.invitations} replace={invitations.replace} />}
        </Answered>
      </article>
      {made !== undefined && (
        <Made
          of={made}
          onClose={() => {
            setMade(undefined);
          }}
        />
      )}
    </Screen>
  );
}

/** Two answers that are shown together. */
function both<A, B>(first: Answer<A>, second: Answer<B>): Answer<{ first: A; second: B }> {
  return {
    data:
      first.data === undefined || second.data === undefined
        ? undefined
        : { first: first.data, second: second.data },
    error: first.error ?? second.error,
    isLoading: first.isLoading || second.isLoading,
    reload: () => {
      first.reload();
      second.reload();
    },
    replace: () => undefined,
  };
}

const FOR: readonly Choice[] = [
  { value: "developer", text: "A person at a developer" },
  { value: "recovery", text: "Somebody who lost all passkeys" },
  { value: "operator", text: "Another operator" },
];

function Invite({
  developers,
  accounts,
  onMade,
}: {
  readonly developers: readonly Choice[];
  readonly accounts: readonly Choice[];
  readonly onMade: (made: CreatedInvitation) => void;
}) {
  const form = useForm({
    schema: DASHBOARD.createInvitation.body,
    initial: {
      for: "developer",
      developer_id: developers[0]?.value ?? "",
      account_id: accounts[0]?.value ?? "",
      hours: "72",
    },
    body: ({ for: whom, developer_id, account_id, hours }) => ({
      for: whom,
      hours: /^\d+$/.test(hours.trim()) ? Number(hours) : NaN,
      ...(whom === "developer" && { developer_id }),
      ...(whom === "recovery" && { account_id }),
    }),
    send: async (body) => {
      onMade(await ask("createInvitation", { body }));
    },
  });
  const whom = form.values.for;
  return (
    <FormOf form={form} yes="Make the invitation">
      <div class="row">
        <ChoiceField form={form} name="for" label="For" choices={FOR} />
        {whom === "developer" && (
          <ChoiceField form={form} name="developer_id" label="Developer" choices={developers} />
        )}
        {whom === "recovery" && (
          <ChoiceField form={form} name="account_id" label="Account" choices={accounts} />
        )}
        <TextField form={form} name="hours" label="Good for, in hours" inputMode="numeric" hint="1 to 336" />
      </div>
      {whom === "recovery" && (
        <Notice tone="warn">
          Make sure that it is them, by another way than the one they asked on: whoever opens the link gets
          the account. Its old passkeys and sessions end then.
        </Notice>
      )}
    </FormOf>
  );
}

function Made({ of: { link }, onClose }: { readonly of: CreatedInvitation; readonly onClose: () => void }) {
  return (
    <Dialog title="The invitation" onClose={onClose}>
      <Notice tone="warn">
        This is the only time that the link is shown. Send it to one person, by a way that only they read:
        whoever opens it first has the account.
      </Notice>
      <Copy text={link} label="Copy the link" />
      <footer>
        <Press look="main" onPress={onClose}>
          I have sent it
        </Press>
      </footer>
    </Dialog>
  );
}

const TONES: Readonly<Record<InvitationRow["state"], Tone>> = {
  open: "warn",
  used: "good",
  cancelled: "calm",
  expired: "calm",
  void: "calm",
};

function List({
  rows,
  replace,
}: {
  readonly rows: readonly InvitationRow[];
  readonly replace: (data: { invitations: InvitationRow[] }) => void;
}) {
  if (rows.length === 0) return <Empty>None yet.</Empty>;
  return (
    <Table
      caption="Invitations"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { name: "Invitation", cell: ({ id }) => <code>{id}</code> },
        { name: "For", cell: ({ purpose, role, developer_id }) => `${purpose}, ${developer_id ?? role}` },
        { name: "Made", cell: ({ created_at }) => <Time at={created_at} /> },
        { name: "Ends", cell: ({ expires_at }) => <Time at={expires_at} /> },
        { name: "State", cell: ({ state }) => <Pill tone={TONES[state]}>{state}</Pill> },
        {
          name: "",
          isEnd: true,
          cell: ({ id, state }) =>
            state === "open" && (
              <Act
                small
                act={async () => {
                  replace(await ask("cancelInvitation", { id, body: {} }));
                }}
              >
                Cancel it
              </Act>
            ),
        },
      ]}
    />
  );
}
