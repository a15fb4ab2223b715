/**
 * Deposits whose leaves became void: somebody carried them with a false proof. What they brought is in the pool, which pays it
 * back to the depositor when it is asked with the statement itself. That stands in the calldata that carried it, so a
 * wallet needs to have kept nothing.
 */
import type { Address, Bytes32 } from "../../protocol/brands.ts";
import { fromHex } from "../../protocol/host/text.ts";
import { EXECUTED_TOPIC, readExecuted, type Executed } from "../../protocol/host/executed-log.ts";
import { KINDS, statementHashOf, type Home } from "../../protocol/statements.ts";
import { openOutput } from "../../notes/encryption.ts";
import type { FullViewingKey } from "../../notes/keys.ts";
import { noteCommitment } from "../../notes/note.ts";
import { POOL } from "../statements/execute-call.ts";
import { doubted, type Nodes, type PoolLog } from "./nodes.ts";
import { LEAVES_VOIDED, readEntry } from "./pool-log.ts";

export interface VoidDeposit {
  readonly statement: Bytes32;
  readonly asset: Address;
  readonly amount: bigint;
  readonly depositor: Address;
  /** Calldata of `returnDeposit`. Undefined where another contract carried it, whose calldata says nothing of it. */
  readonly call: string | undefined;
}

export interface Range {
  readonly from: number;
  readonly to: number;
  readonly signal: AbortSignal | undefined;
}

/** Of those that made a note for these keys. */
export async function voidDeposits(
  nodes: Nodes,
  home: Home,
  range: Range,
  keys: FullViewingKey,
): Promise<VoidDeposit[]> {
  const found: VoidDeposit[] = [];
  for await (const log of logsOf(nodes, home, range, [LEAVES_VOIDED])) {
    const entry = readEntry(log);
    if (entry?.type !== "voided") throw doubted("a log that was not asked for");
    const { statement, first } = entry;
    for await (const carried of logsOf(nodes, home, range, [EXECUTED_TOPIC, statement])) {
      const executed = readExecuted(carried);
      // It may have been proved again since, at other leaves.
      if (executed?.kind !== "deposit-shield" || executed.firstLeafIndex !== first) continue;
      if (!isFor(keys, executed)) continue;
      const { asset, amount, party } = executed.moved!;
      const depositor = party!;
      const { to, input } = await nodes.transaction(carried.txHash, range.signal);
      const call = to === home.pool ? returnCall(statement, input) : undefined;
      found.push({ statement, asset, amount, depositor, call });
    }
  }
  return found;
}

function isFor(keys: FullViewingKey, { ephemeralKey, ciphertexts, commitments }: Executed): boolean {
  return commitments.some((commitment, output) => {
    const ciphertext = ciphertexts[output]!;
    const note = openOutput(keys, { ephemeralKey, output, ciphertext });
    return note !== undefined && note.value > 0n && noteCommitment(keys.owner, note) === commitment;
  });
}

export async function* logsOf(
  nodes: Nodes,
  { pool }: Home,
  { from, to, signal }: Range,
  topics: readonly string[],
): AsyncGenerator<PoolLog> {
  for await (const { logs } of nodes.logs(pool, from, to, { topics, signal })) yield* logs;
}

type Members = readonly (readonly [
  kind: bigint,
  deadline: bigint,
  signals: readonly bigint[],
  ext: string,
])[];

/** Nothing that a node says is believed: the pool refuses what is not the statement. */
function returnCall(statement: Bytes32, input: string): string | undefined {
  let members: Members;
  try {
    [members] = POOL.decodeFunctionData("execute", input) as unknown as [Members];
  } catch {
    return undefined;
  }
  for (const [kind, deadline, signals, ext] of members) {
    const bytes = fromHex(ext);
    if (kind !== BigInt(KINDS["deposit-shield"].id) || bytes === undefined) continue;
    const values = [...signals];
    if (statementHashOf("deposit-shield", deadline, values, bytes) === statement)
      return POOL.encodeFunctionData("returnDeposit", [values, deadline, ext]);
  }
  return undefined;
}
