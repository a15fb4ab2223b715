/** The status in one line, for people. */
import type { BridgeStatus } from "../../api/bridge-status.ts";

export function bridgeStatusText({
  state,
  reason,
  next,
}: Pick<BridgeStatus, "state" | "reason" | "next">): string {
  const because = reason === null ? "" : `${reason.text}; `;
  const by = next.by === null ? "" : ` (by ${next.by})`;
  return `${state}: ${because}${next.text}${by}`;
}
