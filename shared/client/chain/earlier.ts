/** What the pool asks for where a suspended statement comes again: how the earlier one was executed, from the pool's own log. */
import type { Bytes32, Field } from "../../protocol/brands.ts";
import { concatBytes, mustFromHex, toHex, uintToBytes, word } from "../../protocol/bytes.ts";
import { EXECUTED_TOPIC, readExecuted } from "../../protocol/host/executed-log.ts";
import type { Home } from "../../protocol/statements.ts";
import { doubted, type Nodes } from "./nodes.ts";
import { NOTE_HASHED, readEntry } from "./pool-log.ts";
import { logsOf, type Range } from "./void-deposits.ts";

/** The statement as it was proved. */
export interface Earlier {
  readonly hash: Bytes32;
  /** Unix seconds. */
  readonly deadline: number;
  readonly root: Field;
}

/** Hex, as it stands in the place of an authorization; undefined where no such statement was executed. */
export async function earlierShown(
  nodes: Nodes,
  home: Home,
  range: Range,
  { hash, deadline, root }: Earlier,
): Promise<string | undefined> {
  const shown = [uintToBytes(BigInt(deadline), 32), word(root)];
  for await (const log of logsOf(nodes, home, range, [EXECUTED_TOPIC, hash])) {
    const executed = readExecuted(log);
    if (executed === undefined) throw doubted("a log that was not asked for");
    shown[2] = mustFromHex(executed.proofHash);
  }
  for await (const log of logsOf(nodes, home, range, [NOTE_HASHED, hash])) {
    const entry = readEntry(log);
    if (entry?.type !== "note-hashed") throw doubted("a log that was not asked for");
    shown[3] = uintToBytes(entry.note.value, 32);
  }
  return shown.length > 2 ? toHex(concatBytes(...shown)) : undefined;
}
