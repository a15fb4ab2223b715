/** Counts for the operator how often indexed blocks were reorganised out, and how many. */
import type { Metrics } from "../observe/metrics.ts";
import type { Indexer } from "./indexer.ts";

export function countReorganisations(
  indexer: Pick<Indexer, "onChange" | "state">,
  metrics: Pick<Metrics, "reorganised">,
): void {
  // By the time one is told, the index has gone back already.
  let tip = indexer.state().tip?.number;
  indexer.onChange((change) => {
    switch (change.type) {
      case "advanced":
        tip = change.tip.number;
        return;
      case "reorg":
        metrics.reorganised(Math.max(0, (tip ?? change.ancestor) - change.ancestor));
        tip = change.ancestor;
        return;
      case "caught-up":
    }
  });
}
