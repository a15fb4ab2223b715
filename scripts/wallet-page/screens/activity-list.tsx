/** What happened, as a list: the newest first. */
import type { ActivityItem } from "../../../shared/client/index.ts";
import { showAmount } from "../amounts.ts";
import { tokenOf } from "../config.ts";
import { clock } from "../parts/time.ts";
import { useAccount } from "../parts/use.ts";

export const KINDS: Readonly<Record<ActivityItem["kind"], string>> = {
  deposit: "Deposit",
  transfer: "Payment",
  withdraw: "Withdrawal",
  swap: "Swap",
  consolidate: "Merge of notes",
  received: "Received",
  "bridge-in": "Bridged in",
  sent: "Sent, without a record",
};

const STATES: Readonly<Record<ActivityItem["state"], string>> = {
  pending: "under way",
  done: "done",
  failed: "did not happen",
  suspended: "suspended: its notes come again by themselves",
  void: "refuted: it never counted",
};

const SHORT = 14;

export function ActivityList({ most, canDisclose = false }: { most?: number; canDisclose?: boolean }) {
  const { wallet } = useAccount();
  const items = wallet.activity();
  if (items.length === 0) return <p>Nothing yet.</p>;
  return (
    <ul class="activity">
      {items.slice(0, most).map((item) => (
        <Item key={item.id} item={item} canDisclose={canDisclose} />
      ))}
    </ul>
  );
}

function Item({ item, canDisclose }: { item: ActivityItem; canDisclose: boolean }) {
  const { network } = useAccount();
  const token = tokenOf(network, item.asset);
  const { bought, until, state } = item;
  const who =
    item.label ?? (item.counterparty === undefined ? undefined : `${item.counterparty.slice(0, SHORT)}…`);
  const shown = canDisclose && state === "done" && (item.kind === "transfer" || item.kind === "received");
  return (
    <li data-kind={item.kind} data-state={state}>
      <p>
        <strong>{KINDS[item.kind]}</strong>
        {who !== undefined && (
          <>
            {" "}
            {item.change < 0n ? "to" : "from"} <span title={item.counterparty}>{who}</span>
          </>
        )}
        {item.memo !== undefined && <> · {item.memo}</>}
      </p>
      <p class="figure">{showAmount(item.change, token)}</p>
      <p class="aside">
        {STATES[state]}
        {item.time !== undefined && <> · {clock(item.time)}</>}
        {state === "pending" && until !== undefined && <> · can happen until {clock(until)}, not later</>}
        {item.fees !== undefined && item.fees > 0n && <> · fees {showAmount(item.fees, token)}</>}
        {bought?.amount !== undefined && (
          <> · bought {showAmount(bought.amount, tokenOf(network, bought.asset))}</>
        )}
        {shown && item.leaf !== undefined && (
          <>
            {" · "}
            <a href={`/disclose?leaf=${String(item.leaf)}`}>Disclose this payment</a>
          </>
        )}
      </p>
    </li>
  );
}
