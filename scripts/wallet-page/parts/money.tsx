/** Amounts on screen, and the two fields that nearly every screen has: how much, in what. */
import { useState } from "preact/hooks";
import { readAmount, showAmount } from "../amounts.ts";
import type { Token } from "../config.ts";
import { Choice, Field } from "./field.tsx";
import { useAccount } from "./use.ts";

export interface AmountField {
  readonly token: Token;
  readonly text: string;
  readonly fault: string | undefined;
  readonly setText: (text: string) => void;
  readonly setToken: (address: string) => void;
  readonly setFault: (fault: string | undefined) => void;
  /** The amount, or undefined with its fault shown. More than `most` is a fault of its own. */
  read(most?: bigint): bigint | undefined;
}

export function useAmount(initial: { readonly text?: string; readonly token?: Token } = {}): AmountField {
  const { network } = useAccount();
  const first = network.tokens[0];
  if (first === undefined) throw new Error("no token is configured");
  const [text, setText] = useState(initial.text ?? "");
  const [token, setToken] = useState(initial.token ?? first);
  const [fault, setFault] = useState<string>();
  return {
    ...{ token, text, fault, setFault },
    setText: (typed) => {
      setText(typed);
      setFault(undefined);
    },
    setToken: (address) => setToken(network.tokens.find((one) => one.address === address) ?? first),
    read(most) {
      const amount = readAmount(text, token);
      const wrong =
        typeof amount === "string"
          ? amount
          : most !== undefined && amount > most
            ? `That is more than the ${showAmount(most, token)} that you can use now.`
            : undefined;
      setFault(wrong);
      return wrong === undefined && typeof amount === "bigint" ? amount : undefined;
    },
  };
}

interface AmountInputProps {
  readonly amount: AmountField;
  readonly label?: string;
  readonly hint?: string;
  readonly isFixed?: boolean;
}

export function AmountInput({ amount, label = "Amount", hint, isFixed = false }: AmountInputProps) {
  const { network } = useAccount();
  return (
    <div class="amount">
      <Field
        {...{ label, name: "amount", value: amount.text, fault: amount.fault, inputMode: "decimal" }}
        disabled={isFixed}
        onValue={amount.setText}
        hint={hint}
      />
      <Choice
        {...{ label: "Token", name: "token", value: amount.token.address }}
        onValue={amount.setToken}
        options={(isFixed ? [amount.token] : network.tokens).map(({ address, symbol }) => [address, symbol])}
      />
    </div>
  );
}

/** What can be spent now, for beside an amount. */
export function useSpendable(token: Token): bigint {
  return useAccount().wallet.balance(token.address).spendable;
}
