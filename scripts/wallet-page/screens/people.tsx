/** The address book: names for addresses, in the wallet's sealed state. */
import { useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { useOpened } from "../parts/use.ts";
import { readRecipient } from "../recipients.ts";
import { wordsOf } from "../words.ts";

export function People() {
  const { account, config, purse } = useOpened();
  const { wallet, network } = account;
  const [label, setLabel] = useState("");
  const [address, setAddress] = useState("");
  const [faults, setFaults] = useState<{ label?: string; address?: string }>({});
  const task = useTask<string>();
  const people = wallet.contacts.list();

  const save = (): void => {
    const read = readRecipient(address, wallet.address, network, config);
    const name = label.trim();
    const found = {
      ...(name === "" ? { label: "Enter a name." } : {}),
      ...(typeof read === "string" ? { address: read } : {}),
    };
    setFaults(found);
    if (name === "" || typeof read === "string") return;
    wallet.contacts.set(name, read.address).then(
      () => {
        setLabel("");
        setAddress("");
        purse.changed();
      },
      (error: unknown) => setFaults({ label: wordsOf(error).text }),
    );
  };
  const remove = (of: string): void =>
    task.run(async () => {
      await wallet.contacts.remove(of);
      purse.changed();
      return "Removed.";
    });

  return (
    <Screen title="People">
      {people.length === 0 ? (
        <p>Nobody yet. Names are kept in this browser only.</p>
      ) : (
        <ul class="people">
          {people.map((one) => (
            <li key={one.address}>
              <strong>{one.label}</strong>
              <code>{one.address}</code>
              <a
                href={`/pay?to=${one.address}`}
                role="button"
                class="outline"
                aria-label={`Pay ${one.label}`}
              >
                Pay
              </a>
              <button
                type="button"
                class="secondary outline"
                aria-label={`Remove ${one.label}`}
                onClick={() => remove(one.address)}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      <TaskStatus task={task} done={(text) => <p>{text}</p>} />
      <h2>Add somebody</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Field {...{ label: "Name", name: "label", value: label, fault: faults.label, onValue: setLabel }} />
        <Field
          {...{
            label: "Private address",
            name: "address",
            value: address,
            fault: faults.address,
            isLong: true,
          }}
          onValue={setAddress}
        />
        <button>Add</button>
      </form>
      <Known
        rows={[
          [
            "This browser",
            "Keeps the book, sealed under your wallet’s key. A restore from the phrase begins with an empty one.",
          ],
          ["Everybody else", "Nothing."],
        ]}
      />
    </Screen>
  );
}
