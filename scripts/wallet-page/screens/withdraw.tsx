/** Private money becomes public: to an account of the pool's chain, or over a bridge to another chain or the exchange. */
import { useState } from "preact/hooks";
import { ClientError, type Payment } from "../../../shared/client/index.ts";
import { showAmount } from "../amounts.ts";
import { Choice, Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { AmountInput, useAmount, useSpendable } from "../parts/money.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { useAccount } from "../parts/use.ts";
import type { Network } from "../config.ts";

const HERE = "here";
const EXCHANGE = "exchange";
const PUBLIC = /^0x[0-9a-fA-F]{40}$/;
const PRIVATE = /^[a-z]+1[02-9ac-hj-np-z]{20,}$/i;

function placesOf({ name, pins, chains }: Network): [string, string][] {
  const { exits } = pins.bridges ?? {};
  return [
    [HERE, `An account on this chain (${name})`],
    ...(exits?.perpvenue === undefined
      ? []
      : [[EXCHANGE, "An account on the exchange"] satisfies [string, string]]),
    ...(exits?.chains ?? []).map(({ chainId }): [string, string] => [
      String(chainId),
      `An account on ${chains[String(chainId)] ?? `chain ${String(chainId)}`}`,
    ]),
  ];
}

function faultOf(to: string): string | undefined {
  if (to === "") return "Enter an address.";
  if (PRIVATE.test(to)) return "This is a private address. To pay it, use Pay: nobody sees that.";
  if (!PUBLIC.test(to)) return "A public address is 0x and 40 more digits or letters from a to f.";
  return undefined;
}

export function Withdraw() {
  const { network, wallet } = useAccount();
  const [place, setPlace] = useState(HERE);
  const [to, setTo] = useState("");
  const [fault, setFault] = useState<string>();
  const amount = useAmount();
  const task = useTask<string | undefined>();
  const { token } = amount;
  const spendable = useSpendable(token);

  const withdraw = (): void => {
    const recipient = to.trim();
    const wrong = faultOf(recipient);
    setFault(wrong);
    const wanted = amount.read(spendable);
    if (wanted === undefined || wrong !== undefined) return;
    task.run(async (handed): Promise<string | undefined> => {
      const options = { ...handed, asset: token.address, consolidate: true };
      const send = (): Promise<Payment> =>
        place === HERE
          ? wallet.withdraw(recipient, wanted, options)
          : place === EXCHANGE
            ? wallet.bridges.withdrawToExchange(recipient, wanted, options)
            : wallet.bridges.withdrawToChain(Number(place), recipient, wanted, options);
      const made = await send().catch((error: unknown) => {
        // Its letters are a checksum, which the library knows to read.
        if (!(error instanceof ClientError) || error.code !== "ADDRESS_INVALID") throw error;
        setFault("This address is mistyped: the case of its letters does not fit.");
      });
      if (made === undefined) return undefined;
      return `Withdrawn: ${showAmount(wanted, token)}, and ${showAmount(made.fees, token)} in fees.`;
    });
  };

  return (
    <Screen title="Withdraw">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          withdraw();
        }}
      >
        <Choice
          {...{
            label: "Where to",
            name: "place",
            value: place,
            onValue: setPlace,
            options: placesOf(network),
          }}
        />
        <Field
          {...{ label: "Public address", name: "to", value: to, fault }}
          onValue={(text) => {
            setTo(text);
            setFault(undefined);
          }}
          hint="Its owner is shown to everybody as the recipient."
        />
        <AmountInput
          amount={amount}
          hint={`You can use ${showAmount(spendable, token)}; fees come on top.`}
        />
        <button disabled={task.isRunning}>Withdraw</button>
      </form>
      <TaskStatus
        task={task}
        done={(text) => (
          <p class="done">
            {text} <a href="/activity">See your activity</a>
          </p>
        )}
      />
      <Known
        rows={[
          [
            "Everybody",
            "The recipient and the amount. Not from whom: but an odd amount, or one just deposited, can be guessed to be yours.",
          ],
          ["The service", "Recipient, amount and your internet address, together."],
          [
            "Over a bridge",
            "Also the other chain’s or the exchange’s operators see recipient and amount; they see no sender.",
          ],
        ]}
      />
    </Screen>
  );
}
