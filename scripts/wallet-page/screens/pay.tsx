/** Pays a person in private: by address, by a name of the address book, or by a request that they sent. */
import { useState } from "preact/hooks";
import { readPaymentRequest, type ReadPaymentRequest } from "../../../shared/client/index.ts";
import { showAmount, showUnits } from "../amounts.ts";
import { tokenOf } from "../config.ts";
import { Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { AmountInput, useAmount, useSpendable } from "../parts/money.tsx";
import { Scan } from "../parts/scan.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { clock, nowSecs } from "../parts/time.ts";
import { useOpened } from "../parts/use.ts";
import { readRecipient } from "../recipients.ts";
import { Refused, wordsOf } from "../words.ts";

const REQUEST = "cloister-pay/";

export function Pay() {
  const { network, wallet } = useOpened().account;
  const [request, setRequest] = useState<ReadPaymentRequest>();
  const [pasted, setPasted] = useState("");
  const [fault, setFault] = useState<string>();
  const take = (text: string): void => {
    setPasted(text);
    setFault(undefined);
    setRequest(undefined);
    if (text.trim() === "") return;
    try {
      const read = readPaymentRequest(text.trim(), network.pins);
      if (read.to === wallet.address) setFault("You made this request yourself.");
      else setRequest(read);
    } catch (error) {
      setFault(wordsOf(error).text);
    }
  };
  // A link that was opened: what stands behind # was sent to no server.
  useState(() => {
    const behind = location.hash.slice(1);
    if (behind.startsWith(REQUEST)) take(behind);
  });
  return (
    <Screen title="Pay">
      <Field
        {...{ label: "A request’s link, if you have one", name: "request", value: pasted, fault }}
        onValue={take}
        hint="Paste it, or scan its code; or leave this empty and fill in the form."
      />
      <Scan found={take} />
      <PayForm key={request === undefined ? "" : pasted} request={request} />
      <Known
        rows={[
          ["The recipient", "The amount, and that it came. Not who you are, unless you tell."],
          ["The service", "That somebody pays, when, and your internet address. Not who, whom or how much."],
          ["The chain", "That notes were spent and made. Nothing else."],
          ["Nobody", "The memo: it is kept in your own activity only."],
        ]}
      />
    </Screen>
  );
}

function PayForm({ request }: { request: ReadPaymentRequest | undefined }) {
  const { account, config } = useOpened();
  const { network, wallet } = account;
  const asked = request && tokenOf(network, request.asset);
  const amount = useAmount(request && asked ? { text: showUnits(request.amount, asked), token: asked } : {});
  const [to, setTo] = useState(request?.to ?? new URLSearchParams(location.search).get("to") ?? "");
  const [memo, setMemo] = useState(request?.memo ?? "");
  const [fault, setFault] = useState<string>();
  const task = useTask<string>();
  const { token } = amount;
  const spendable = useSpendable(token);
  const contacts = wallet.contacts.list();

  const pay = (): void => {
    const named = contacts.find(({ label }) => label === to.trim());
    const recipient = readRecipient(named?.address ?? to, wallet.address, network, config);
    setFault(typeof recipient === "string" ? recipient : undefined);
    const wanted = amount.read(spendable);
    if (wanted === undefined || typeof recipient === "string") return;
    task.run(async (handed) => {
      // It may have stood here for an hour.
      if (request?.expiresAt !== undefined && request.expiresAt < nowSecs())
        throw new Refused("you", "This request has expired. Ask for a new one; nothing was sent.");
      const options = { ...handed, asset: token.address, consolidate: true };
      const { fees } = await wallet.pay(recipient.address, wanted, {
        ...options,
        ...(memo.trim() === "" ? {} : { memo: memo.trim() }),
      });
      return `Paid ${showAmount(wanted, token)}, and ${showAmount(fees, token)} in fees.`;
    });
  };

  const isAsked = request !== undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        pay();
      }}
    >
      {isAsked && (
        <p class="asked">
          A request for <strong>{asked && showAmount(request.amount, asked)}</strong>
          {request.memo !== undefined && <> for “{request.memo}”</>}
          {request.expiresAt !== undefined && <>, good until {clock(request.expiresAt)}</>}.{" "}
          {wallet.contacts.labelOf(request.to) === undefined
            ? "Its address is not in your address book: be sure who sent you the link."
            : `To ${wallet.contacts.labelOf(request.to) ?? ""}.`}
        </p>
      )}
      <Field
        {...{ label: "To", name: "to", value: to, fault, isLong: true, disabled: isAsked }}
        onValue={(text) => {
          setTo(text);
          setFault(undefined);
        }}
        hint={
          contacts.length > 0
            ? `A private address, or a name: ${contacts.map(({ label }) => label).join(", ")}`
            : `A private address: it begins with ${network.pins.addressPrefix}1`
        }
      />
      <AmountInput
        amount={amount}
        isFixed={isAsked}
        hint={`You can use ${showAmount(spendable, token)}; fees come on top.`}
      />
      <Field {...{ label: "Memo, for yourself", name: "memo", value: memo, onValue: setMemo }} />
      <button disabled={task.isRunning}>Pay</button>
      <TaskStatus
        task={task}
        done={(text) => (
          <p class="done">
            {text} <a href="/activity">See your activity</a>
          </p>
        )}
      />
    </form>
  );
}
