/** Checks a disclosure against the chain, without a wallet and without the service. */
import { useState } from "preact/hooks";
import { verifyDisclosure, type DisclosedPayment } from "../../../shared/client/index.ts";
import { showAmount } from "../amounts.ts";
import { tokenOf, type Config } from "../config.ts";
import { Choice, Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { clock } from "../parts/time.ts";

export function Verify({ config }: { config: Config }) {
  const { networks } = config;
  const [id, setId] = useState(networks[0]?.id ?? "");
  const network = networks.find((one) => one.id === id);
  const [node, setNode] = useState(network?.chainRpc ?? "");
  const [text, setText] = useState("");
  const [reader, setReader] = useState("");
  const [faults, setFaults] = useState<{ text?: string; reader?: string }>({});
  const task = useTask<DisclosedPayment>();
  if (network === undefined) return null;

  const verify = (): void => {
    const found = {
      ...(text.trim() === "" ? { text: "Paste the disclosure." } : {}),
      ...(reader.trim() === ""
        ? { reader: "Enter your name, as you gave it to who made the disclosure." }
        : {}),
    };
    setFaults(found);
    if (Object.keys(found).length > 0) return;
    task.run(({ signal }) =>
      verifyDisclosure(text.trim(), {
        ...{ pins: network.pins, reader: reader.trim(), rpc: node, signal },
        // A development chain is young, and its blocks are not undone.
        ...(network.testMoney ? { finality: 0 } : {}),
      }),
    );
  };

  return (
    <Screen title="Verify a disclosure">
      <p>
        Somebody has shown you a payment. Here you find out whether it was made: this page asks the chain, and
        nobody else.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          verify();
        }}
      >
        <Field
          {...{ label: "The disclosure", name: "disclosure", value: text, fault: faults.text, isLong: true }}
          onValue={setText}
        />
        <Field
          {...{ label: "Your name", name: "reader", value: reader, fault: faults.reader, onValue: setReader }}
          hint="A disclosure that was made for another reader proves nothing to you."
        />
        <Choice
          {...{ label: "Network", name: "disclosed-network", value: id }}
          onValue={(chosen) => {
            setId(chosen);
            setNode(networks.find((one) => one.id === chosen)?.chainRpc ?? "");
          }}
          options={networks.map((one) => [one.id, one.name])}
        />
        <Field
          {...{ label: "A node of the chain", name: "node", value: node, onValue: setNode }}
          hint="Your own, if you have one: its word is what you believe. This page may only ask nodes that its server allows."
        />
        <button disabled={task.isRunning}>Verify</button>
      </form>
      <TaskStatus
        task={task}
        done={(payment) => {
          const token = tokenOf(network, payment.asset);
          return (
            <article class="made verified" aria-label="What is true">
              <h2>True: {showAmount(payment.amount, token)} were paid</h2>
              <dl>
                <dt>To</dt>
                <dd>
                  <code>{payment.recipient}</code>
                </dd>
                <dt>When</dt>
                <dd>
                  {clock(payment.time)}, block {payment.block}
                </dd>
                <dt>Shown by</dt>
                <dd>{payment.by === "payer" ? "the one who paid" : "the one who was paid"}</dd>
                <dt>To you</dt>
                <dd>
                  {payment.reader}, until {clock(payment.expiresAt)}
                </dd>
              </dl>
            </article>
          );
        }}
      />
      <Known
        rows={[
          ["The chain’s node", "That somebody looked at blocks of this pool. Not which payment is meant."],
          ["The service", "Nothing: it is not asked."],
        ]}
      />
    </Screen>
  );
}
