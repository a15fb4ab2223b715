/** Transactions that wait, and the wallet that pays their gas. */
import type { QueueView } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Table } from "../../parts/table.tsx";
import { Notice, number, Short, Time } from "../../parts/words.tsx";
import { decimal } from "../../service/money.ts";
import { useAnswer } from "../../service/use-answer.ts";

const EVERY_MS = 10_000;
const ETHER_DECIMALS = 18;

export default function Queue() {
  const queue = useAnswer("queue", {}, EVERY_MS);
  return (
    <Screen
      title="Queue and gas"
      known="Of what waits, the service knows whose developer it is and when it came. The users' ids are for the developers, and not shown here."
    >
      <Answered of={queue}>
        {(data) => (
          <>
            {data.blocked_by !== null && (
              <Notice tone="bad">
                <strong>The queue stands still:</strong> {data.blocked_by}
              </Notice>
            )}
            <GasWallet of={data.gas_wallet} />
            <article>
              <h2>
                Under way: {number(data.open.length)}, waiting: {number(data.waiting)}
              </h2>
              {data.open.length === 0 ? <Empty>Nothing is under way.</Empty> : <Open rows={data.open} />}
            </article>
          </>
        )}
      </Answered>
    </Screen>
  );
}

function GasWallet({ of: { address, balance } }: { readonly of: QueueView["gas_wallet"] }) {
  return (
    <article>
      <h2>Gas wallet</h2>
      <dl>
        <dt>Address</dt>
        <dd>{address === null ? "none is named to this dashboard" : <code>{address}</code>}</dd>
        <dt>Balance</dt>
        <dd>{balance === null ? "could not be asked" : `${decimal(balance, ETHER_DECIMALS)} ETH`}</dd>
      </dl>
      <p class="muted">
        Sending ether to this address is all that it needs; payments wait while it has too little.
      </p>
    </article>
  );
}

function Open({ rows }: { readonly rows: QueueView["open"] }) {
  return (
    <Table
      caption="Transactions under way"
      rows={rows}
      keyOf={({ ticket_id }) => ticket_id}
      columns={[
        { name: "Ticket", cell: ({ ticket_id }) => <Short text={ticket_id} /> },
        { name: "Developer", cell: ({ developer_id }) => developer_id },
        { name: "Kind", cell: ({ kind }) => kind },
        {
          name: "State",
          cell: ({ state, error_code }) => `${state}${error_code === null ? "" : `, ${error_code}`}`,
        },
        {
          name: "Transaction",
          cell: ({ tx_hash }) => (tx_hash === null ? "none yet" : <Short text={tx_hash} />),
        },
        { name: "Came", cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}
