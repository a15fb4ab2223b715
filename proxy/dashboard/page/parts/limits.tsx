/** How much of each limit is used. */
import type { Overview } from "../../contract/developer.ts";
import { number, seconds } from "./words.tsx";

type Limit = Overview["limits"][number];

const NAMES: Readonly<Record<string, string>> = {
  "session-minute": "Each user",
  "key-minute": "Your API keys together",
  "key-day": "Your API keys together",
};

export const limitName = ({ policy, window_secs }: Limit): string =>
  `${NAMES[policy] ?? policy}, in ${seconds(window_secs)}`;

export function Limits({ limits }: { readonly limits: readonly Limit[] }) {
  return (
    <>
      {limits.map((limit) => (
        <div key={limit.policy}>
          <div class="head">
            <span>{limitName(limit)}</span>
            <span class="muted">
              {limit.used === null
                ? `at most ${number(limit.quota)}`
                : `${number(limit.used)} of ${number(limit.quota)}`}
            </span>
          </div>
          {limit.used !== null && (
            <progress value={limit.used} max={Math.max(1, limit.quota)} aria-label={limitName(limit)} />
          )}
        </div>
      ))}
      {limits.some(({ used }) => used === null) && (
        <p class="muted">
          How much of a limit is used now is counted inside the proxy, and not shown for these.
        </p>
      )}
    </>
  );
}
