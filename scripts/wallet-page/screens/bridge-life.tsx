/** Where money on a bridge is, what happens next and by when, and what can be done if nobody helps. */
import type { BridgeProgress } from "../../../shared/client/index.ts";
import { showAmount } from "../amounts.ts";
import type { Token } from "../config.ts";
import { clock } from "../parts/time.ts";

type State = BridgeProgress["state"];

const WORDS: Readonly<Record<State, string>> = {
  awaiting_funds: "Waiting for the money",
  awaiting_signature: "Waiting for this device’s signature",
  detected: "Seen on its chain",
  confirming: "Settling on its chain",
  bridging: "On its way",
  shielding: "Becoming private",
  completed: "Arrived",
  below_minimum: "Too little to be moved on",
  refunding: "On its way back",
  refunded: "Came back to you",
  failed: "Failed",
};

/** The usual way, for showing how much of it is behind. */
const WAY: readonly State[] = [
  "awaiting_funds",
  "detected",
  "confirming",
  "bridging",
  "shielding",
  "completed",
];

export function BridgeLife({ progress, token }: { progress: BridgeProgress; token: Token }) {
  const { state, next, reason, direction } = progress;
  const at = WAY.indexOf(state === "awaiting_signature" ? "confirming" : state);
  const by = next.by === null ? "" : ` By ${clock(Date.parse(next.by) / 1_000)}.`;
  const sums = [
    [progress.received, "received"],
    [
      progress.credited,
      direction === "in" ? "made private, the service says" : "arrived there, the service says",
    ],
    [progress.refunded, "sent back"],
  ] as const;
  return (
    <div class="life" data-state={state} aria-live="polite">
      <p>
        <strong>{WORDS[state]}</strong>
      </p>
      {at >= 0 && (
        <ol class="way" aria-label="The way">
          {WAY.map((step, index) => (
            <li
              key={step}
              class={index < at ? "past" : index === at ? "now" : undefined}
              aria-current={index === at ? "step" : undefined}
            >
              {WORDS[step]}
            </li>
          ))}
        </ol>
      )}
      {reason !== null && (
        <p>
          {reason.code === "MONEY_MISPLACED" ? "Sent to the wrong place" : "It waits"}: {reason.text}.
        </p>
      )}
      <p>
        Next: {next.text}.{by}
      </p>
      <p class="aside">
        {sums
          .filter(([amount]) => BigInt(amount) > 0n)
          .map(([amount, what]) => `${showAmount(BigInt(amount), token)} ${what}. `)}
        {direction === "in" && progress.inWallet > 0n && (
          <span data-in-wallet>
            {showAmount(progress.inWallet, token)} found in this wallet by its own reading.
          </span>
        )}
      </p>
      {state !== "completed" && state !== "refunded" && (
        <p class="aside">If nobody helps: {progress.without_help}</p>
      )}
    </div>
  );
}
