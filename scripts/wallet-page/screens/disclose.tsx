/** Shows one payment to one reader: that it was made, to whom, how much. Nothing else of the wallet is in it. */
import { useState } from "preact/hooks";
import { showAmount } from "../amounts.ts";
import { tokenOf } from "../config.ts";
import { CopyText } from "../parts/copy.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { clock, nowSecs } from "../parts/time.ts";
import { useAccount } from "../parts/use.ts";
import { KINDS } from "./activity-list.tsx";

const DAY = 86_400;
const LIVES = [
  [String(DAY), "One day"],
  [String(30 * DAY), "30 days"],
  [String(365 * DAY), "One year"],
] as const;

export function Disclose() {
  const { wallet, network } = useAccount();
  const payments = wallet
    .activity()
    .filter(
      ({ state, kind, leaf }) =>
        state === "done" && ["transfer", "received"].includes(kind) && leaf !== undefined,
    );
  const asked = new URLSearchParams(location.search).get("leaf");
  const [leaf, setLeaf] = useState(asked ?? String(payments[0]?.leaf ?? ""));
  const [reader, setReader] = useState("");
  const [life, setLife] = useState<string>(LIVES[1][0]);
  const [fault, setFault] = useState<string>();
  const task = useTask<string>();

  const disclose = (): void => {
    const name = reader.trim();
    setFault(name === "" ? "Enter who is to read it, by the name that they will ask for." : undefined);
    if (name === "" || leaf === "") return;
    task.run(async ({ signal }) =>
      wallet.disclose({ payment: Number(leaf), reader: name, expiresAt: nowSecs() + Number(life), signal }),
    );
  };

  if (payments.length === 0)
    return (
      <Screen title="Disclose a payment">
        <p>There is no payment to show yet: only what was paid in private, or received, can be disclosed.</p>
      </Screen>
    );
  return (
    <Screen title="Disclose a payment">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          disclose();
        }}
      >
        <Choice
          {...{ label: "The payment", name: "payment", value: leaf, onValue: setLeaf }}
          options={payments.map((item) => {
            const token = tokenOf(network, item.asset);
            const who = item.label ?? item.counterparty?.slice(0, 14) ?? "";
            const when = item.time === undefined ? `block ${String(item.block ?? "")}` : clock(item.time);
            return [
              String(item.leaf),
              `${KINDS[item.kind]} ${showAmount(item.amount, token)} ${who} ${when}`,
            ];
          })}
        />
        <Field
          {...{ label: "Who is to read it", name: "reader", value: reader, fault, onValue: setReader }}
          hint="Such as “Tax office, Bern”. For anybody of another name it does not verify."
        />
        <Choice {...{ label: "Good for", name: "life", value: life, onValue: setLife, options: LIVES }} />
        <button disabled={task.isRunning}>Make the disclosure</button>
      </form>
      <TaskStatus
        task={task}
        done={(text) => (
          <article class="made" aria-label="The disclosure">
            <p>
              Give this to {reader.trim()}, who pastes it at “Verify a disclosure”, in this wallet or any
              other.
            </p>
            <CopyText text={text} label="disclosure" />
          </article>
        )}
      />
      <Known
        rows={[
          [
            "The reader",
            "This one payment: that it was made, its amount, the recipient’s private address, and when. No other payment, no balance, no key.",
          ],
          [
            "Who gets hold of it",
            "Can read the same; that it was meant for another reader, and until when, is part of it.",
          ],
          ["The service", "Nothing: it takes no part."],
        ]}
      />
    </Screen>
  );
}
