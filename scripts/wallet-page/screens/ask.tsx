/** Asks for a payment: a link and a code with amount, memo and expiry, and the address alone for who needs no amount. */
import { useState } from "preact/hooks";
import { paymentLink, writePaymentRequest } from "../../../shared/client/index.ts";
import { showAmount } from "../amounts.ts";
import { CopyText } from "../parts/copy.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { AmountInput, useAmount } from "../parts/money.tsx";
import { Qr } from "../parts/qr.tsx";
import { Screen } from "../parts/screen.tsx";
import { clock, nowSecs } from "../parts/time.ts";
import { useAccount } from "../parts/use.ts";
import { wordsOf } from "../words.ts";

const DAY = 86_400;
const LIVES = [
  [String(DAY / 24), "One hour"],
  [String(DAY), "One day"],
  [String(7 * DAY), "One week"],
  ["0", "For ever"],
] as const;

interface Made {
  readonly link: string;
  readonly text: string;
}

export function Ask() {
  const { network, wallet } = useAccount();
  const amount = useAmount();
  const [memo, setMemo] = useState("");
  const [life, setLife] = useState<string>(LIVES[1][0]);
  const [fault, setFault] = useState<string>();
  const [made, setMade] = useState<Made>();

  const make = (): void => {
    setFault(undefined);
    setMade(undefined);
    const wanted = amount.read();
    if (wanted === undefined) return;
    const expiresAt = life === "0" ? undefined : nowSecs() + Number(life);
    try {
      const text = writePaymentRequest(network.pins, {
        ...{ to: wallet.address, asset: amount.token.address, amount: wanted },
        ...{ memo: memo.trim() === "" ? undefined : memo.trim(), expiresAt },
      });
      const until = expiresAt === undefined ? "" : `, good until ${clock(expiresAt)}`;
      setMade({
        link: paymentLink(new URL("/pay", location.origin), text),
        text: `${showAmount(wanted, amount.token)}${until}`,
      });
    } catch (error) {
      setFault(wordsOf(error).text);
    }
  };

  return (
    <Screen title="Request">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make();
        }}
      >
        <AmountInput amount={amount} />
        <Field
          {...{ label: "What for", name: "memo", value: memo, fault, onValue: setMemo }}
          hint="Shown to who pays. It is in the link, so whoever has the link reads it."
        />
        <Choice {...{ label: "Good for", name: "life", value: life, onValue: setLife, options: LIVES }} />
        <button>Make the request</button>
      </form>
      {made !== undefined && (
        <article class="made" aria-label="The request">
          <h2>{made.text}</h2>
          <Qr text={made.link} label="The request as a QR code" />
          <CopyText text={made.link} label="link" />
        </article>
      )}
      <h2>Your address</h2>
      <p>For who is to pay you any amount, at any time. It does not change.</p>
      <CopyText text={wallet.address} label="address" />
      <Known
        rows={[
          [
            "Who has the link",
            "Your private address, amount, memo and expiry. Who is given the same address twice knows that both are you.",
          ],
          ["Servers", "Nothing: what stands behind # in a link is not sent to them."],
          ["The service and the chain", "Neither the request nor that somebody pays it."],
        ]}
      />
    </Screen>
  );
}
