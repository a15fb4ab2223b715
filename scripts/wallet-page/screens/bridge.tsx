/** Money from other places: an address that this wallet reckons itself, and what becomes of what is sent there. */
import { useEffect, useState } from "preact/hooks";
import type { BridgeDeposit, BridgeEntry, BridgeProgress } from "../../../shared/client/index.ts";
import { showAmount } from "../amounts.ts";
import { tokenOf, type Network } from "../config.ts";
import { CopyText } from "../parts/copy.tsx";
import { Choice } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { Qr } from "../parts/qr.tsx";
import { Screen } from "../parts/screen.tsx";
import { Fault, TaskStatus, useTask } from "../parts/task.tsx";
import { inWords } from "../parts/time.ts";
import { useAccount, useOpened } from "../parts/use.ts";
import { BridgeLife } from "./bridge-life.tsx";

type From = "exchange" | "chain" | "other";

function waysOf({ pins }: Network): (readonly [From, string])[] {
  return [
    ["exchange", "The exchange, or any account on this chain"],
    ...(pins.bridges?.lanes.length === 0 ? [] : [["chain", "Another EVM chain"] as const]),
    ...(pins.bridges?.altchain === undefined ? [] : [["other", "The other blockchain"] as const]),
  ];
}

export function Bridge() {
  const { network, wallet } = useAccount();
  const [from, setFrom] = useState<string>("exchange");
  const task = useTask<BridgeDeposit>();
  const [entries, setEntries] = useState<readonly BridgeEntry[]>([]);
  const [fault, setFault] = useState<unknown>();
  const look = (): void => void wallet.bridges.list().then(setEntries, setFault);
  useEffect(look, [wallet, task.result]);

  const make = (): void =>
    task.run((handed) =>
      from === "exchange"
        ? wallet.bridges.fromExchange(handed)
        : from === "chain"
          ? wallet.bridges.fromChain(handed)
          : wallet.bridges.fromOtherBlockchain(handed),
    );

  return (
    <Screen title="Bridge in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make();
        }}
      >
        <Choice
          {...{ label: "The money comes from", name: "from", value: from, onValue: setFrom }}
          options={waysOf(network)}
        />
        <button disabled={task.isRunning}>Make an address</button>
      </form>
      <TaskStatus task={task} done={(deposit) => <Address deposit={deposit} from={from} />} />
      <h2>Your bridge addresses</h2>
      {fault !== undefined && <Fault error={fault} />}
      {entries.length === 0 ? (
        <p>None yet.</p>
      ) : (
        <ul class="bridges">
          {[...entries].reverse().map((entry) => (
            <BridgeItem key={entry.address} entry={entry} />
          ))}
        </ul>
      )}
      <Known
        rows={[
          [
            "Who pays in",
            "The address, and that the money went on to the pool. Each address is used once, so two payments do not show that they are one person’s.",
          ],
          [
            "The service",
            "That this address is yours to it, the amount, and your internet address. Not what you do with the money later.",
          ],
          ["This wallet", "Reckoned the address itself: a service that names another one is refused."],
        ]}
      />
    </Screen>
  );
}

function Address({ deposit, from }: { deposit: BridgeDeposit; from: string }) {
  const { network } = useAccount();
  const token = tokenOf(network, deposit.asset);
  const shown = from === "chain" ? (deposit.source?.address ?? deposit.address) : deposit.address;
  const chains = (deposit.source?.chainIds ?? []).map(
    (id) => network.chains[String(id)] ?? `chain ${String(id)}`,
  );
  const fees = deposit.fees.service + deposit.fees.developer;
  return (
    <article class="made" aria-label="The address">
      <h2>Send {token.symbol} to this address</h2>
      <p>
        {from === "chain"
          ? `On ${chains.join(" or ")}.`
          : from === "other"
            ? "A one-time account on the other blockchain, to which wallets and exchanges send the token as to any other. Keep this page open, or come back once: your device signs the transfer."
            : "On this network’s own chain; the exchange can pay it."}
      </p>
      <Qr text={shown} label="The address as a QR code" />
      <CopyText text={shown} label="bridge address" />
      <dl>
        <dt>At least</dt>
        <dd>{showAmount(deposit.minimum, token)}: less is not moved on, and comes back to you.</dd>
        <dt>Fees now</dt>
        <dd>
          {showAmount(fees, token)}; never more than {showAmount(deposit.feeCeiling, token)}, which is part of
          the address.
        </dd>
        <dt>Takes</dt>
        <dd>about {inWords(deposit.estimatedSecs)}</dd>
        <dt>If nobody helps</dt>
        <dd>after {inWords(deposit.timeoutSecs)} anybody may send it back to an account of your phrase.</dd>
      </dl>
      <p class="checked">
        This wallet has reckoned the address from your key and its own settings: it is yours.
      </p>
    </article>
  );
}

const ENDED: readonly BridgeProgress["state"][] = ["completed", "refunded", "failed"];
const LOOK_EVERY_MS = 2_000;

const VENUES: Readonly<Record<BridgeEntry["venue"], string>> = {
  perpvenue: "exchange",
  chain: "another chain",
  altchain: "the other blockchain",
};

/** The one that the card asked for: money of the pool's chain that is sent to the other chains' address waits there unseen. */
const shownOf = ({ venue, source, address }: BridgeEntry): string =>
  venue === "chain" ? (source ?? address) : address;

/** Asked once when it is shown, and followed while the person wants to. */
function BridgeItem({ entry }: { entry: BridgeEntry }) {
  const { account, purse } = useOpened();
  const { wallet, network } = account;
  const [progress, setProgress] = useState<BridgeProgress>();
  const [fault, setFault] = useState<unknown>();
  const at = entry.bridgeId ?? entry.address;
  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    const follow = async (): Promise<void> => {
      setProgress(await wallet.bridges.status(at, { signal }));
      // Ends when the note is in this wallet, which is a little before the service calls it settled.
      await wallet.bridges.wait(at, { signal, onStatus: setProgress });
      purse.changed();
      for (;;) {
        const now = await wallet.bridges.status(at, { signal });
        setProgress(now);
        if (ENDED.includes(now.state)) return;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    };
    follow().catch((error: unknown) => {
      if (!signal.aborted) setFault(error);
    });
    return () => ending.abort();
  }, [wallet, at]);
  const token = tokenOf(network, entry.asset);
  return (
    <li data-bridge={entry.address}>
      <p>
        <strong>
          {entry.direction === "in" ? "From" : "To"} {VENUES[entry.venue]}
        </strong>{" "}
        <code>{shownOf(entry)}</code>
      </p>
      {progress !== undefined && <BridgeLife progress={progress} token={token} />}
      {fault !== undefined && <Fault error={fault} />}
    </li>
  );
}
