/** People who may sign in here. */
import type { Accounts as AccountsData } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Table } from "../../parts/table.tsx";
import { number, Pill, Time } from "../../parts/words.tsx";
import { ask } from "../../service/ask.ts";
import { useMe } from "../../service/me.ts";
import { useAnswer } from "../../service/use-answer.ts";

type Row = AccountsData["accounts"][number];

export default function Accounts() {
  const accounts = useAnswer("accounts", {});
  return (
    <Screen
      title="Accounts"
      known="These are people at developers and of yours. Users of payments have no account here."
    >
      <article>
        <Answered of={accounts}>
          {(data) =>
            data.accounts.length === 0 ? (
              <Empty>There is none yet.</Empty>
            ) : (
              <List rows={data.accounts} replace={accounts.replace} />
            )
          }
        </Answered>
      </article>
    </Screen>
  );
}

function List({
  rows,
  replace,
}: {
  readonly rows: readonly Row[];
  readonly replace: (data: AccountsData) => void;
}) {
  const me = useMe();
  return (
    <Table
      caption="Accounts"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { name: "Name", cell: ({ name }) => name },
        { name: "For", cell: ({ role, developer_id }) => developer_id ?? role },
        { name: "Since", cell: ({ created_at }) => <Time at={created_at} /> },
        { name: "Passkeys", cell: ({ passkeys }) => number(passkeys) },
        { name: "Signed in", cell: ({ sessions }) => number(sessions) },
        {
          name: "State",
          cell: ({ closed_at }) =>
            closed_at === null ? <Pill tone="good">open</Pill> : <Pill tone="calm">closed</Pill>,
        },
        {
          name: "",
          isEnd: true,
          cell: ({ id, name, closed_at }) =>
            closed_at === null &&
            id !== me.account.id && (
              <Confirm
                button="Close"
                title={`Close the account of ${name}?`}
                yes="Close the account"
                act={async () => {
                  replace(await ask("closeAccount", { id, body: {} }));
                }}
              >
                <p>
                  It is signed out everywhere, and can never sign in again. Keys and rules that it made belong
                  to the developer and stay. For a lost passkey make a recovery invitation instead.
                </p>
              </Confirm>
            ),
        },
      ]}
    />
  );
}
