/** The pool's whole log as the chain has it: what was executed, the event lines that a stream must tell, leaves, void leaves and roots. */
import { Interface } from "ethers";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { NoteTree } from "../../../shared/notes/merkle.ts";
import { mustField, type Field } from "../../../shared/protocol/brands.ts";
import { makerOf, type Made } from "../../../shared/notes/advance.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { readExecuted, type Executed } from "../../../shared/protocol/host/executed-log.ts";
import type { ChainMoves } from "./chain-moves.ts";
import { leafLine, nullifierLine, rootLine, voidLine } from "./follower.ts";
import type { EventLine, Execution } from "./observations.ts";
import type { World } from "./world.ts";

const POOL = new Interface(POOL_ABI);

export interface Root {
  readonly root: bigint;
  readonly leafCount: number;
  readonly sequence: number;
}

export interface ChainLog {
  /** Since the snapshot. */
  readonly executions: Execution[];
  readonly events: EventLine[];
  /** As they were queued. */
  readonly leaves: Field[];
  readonly voids: Set<number>;
  /** Statements by their first leaf. */
  readonly made: Map<number, Made>;
  /** Those that stand, by number; the last one is the newest. */
  readonly roots: Root[];
}

export async function readChain(world: World, moves: ChainMoves): Promise<ChainLog> {
  const log: ChainLog = {
    ...{ executions: [], events: [], leaves: [], roots: [] },
    ...{ voids: new Set(), made: new Map() },
  };
  const spent = new Map<string, readonly bigint[]>();
  const senders = new Map<string, string>();
  for (const one of await moves.logs(world.entry.deployment_block)) {
    const event = POOL.parseLog({ topics: [...one.topics], data: one.data });
    const [block, tx] = [Number(one.blockNumber), one.transactionHash];
    switch (event?.name) {
      case "Executed": {
        const executed = readExecuted(one);
        if (executed === undefined) throw new Error("the pool's event does not decode");
        spent.set(executed.statement, executed.nullifiers);
        takeLeaves(log, executed, tx, block);
        if (block > world.height)
          log.executions.push({
            ...executionOf(executed),
            ...{
              txHash: tx,
              from: await senderOf(world, senders, tx),
              block,
              logIndex: Number(one.logIndex),
            },
          });
        break;
      }
      case "LeavesVoided": {
        const { statementHash, firstLeafIndex, count } = event.args.toObject() as {
          statementHash: string;
          firstLeafIndex: bigint;
          count: bigint;
        };
        const [first, size] = [Number(firstLeafIndex), Number(count)];
        for (let index = first; index < first + size; index++) log.voids.add(index);
        log.events.push(voidLine(first, size, spent.get(statementHash) ?? [], tx, block));
        break;
      }
      case "LeavesSuspended": {
        const { firstLeafIndex, count } = event.args.toObject() as Record<string, bigint>;
        const [first, size] = [Number(firstLeafIndex), Number(count)];
        for (let index = first; index < first + size; index++) log.voids.add(index);
        log.events.push(voidLine(first, size, [], tx, block));
        break;
      }
      case "RootsRevoked": {
        const { first, last, root, leafCount } = event.args.toObject() as Record<string, bigint>;
        const isGone = ({ sequence }: Root): boolean => sequence >= Number(first) && sequence <= Number(last);
        log.roots.splice(0, log.roots.length, ...log.roots.filter((each) => !isGone(each)));
        log.events.push(rootLine(root!, Number(leafCount), block));
        break;
      }
      case "RootUpdated": {
        const { root, leafCount, sequence } = event.args.toObject() as Record<string, bigint>;
        // Void leaves alone give the same root, which keeps its number.
        if (log.roots.at(-1)?.sequence === Number(sequence)) log.roots.pop();
        log.roots.push({ root: root!, leafCount: Number(leafCount), sequence: Number(sequence) });
        log.events.push(rootLine(root!, Number(leafCount), block));
        break;
      }
      case undefined:
    }
  }
  return log;
}

function takeLeaves({ events, leaves, made }: ChainLog, executed: Executed, tx: string, block: number): void {
  const { firstLeafIndex: first, statement, nullifiers, commitments, ephemeralKey, ciphertexts } = executed;
  made.set(first, { leafCount: KINDS[executed.kind].leaves, maker: makerOf(statement, nullifiers) });
  for (const nullifier of nullifiers) events.push(nullifierLine(nullifier, tx, block));
  for (const [i, commitment] of commitments.entries()) {
    const sealed = `${toHex(ephemeralKey)} ${String(i)} ${toHex(ciphertexts[i]!)}`;
    events.push(leafLine(first + i, commitment, sealed, tx, block));
    leaves.push(commitment);
  }
}

function executionOf({ statement, firstLeafIndex: firstLeaf, commitments, nullifiers }: Executed) {
  return { statement, firstLeaf, commitments: commitments.map(String), nullifiers: nullifiers.map(String) };
}

async function senderOf(world: World, known: Map<string, string>, tx: string): Promise<string> {
  let from = known.get(tx);
  if (from === undefined) {
    ({ from } = (await world.rpc("eth_getTransactionByHash", [tx])) as { from: string });
    known.set(tx, from);
  }
  return from.toLowerCase();
}

/** Of the first leaves, those that are void empty: how the pool itself would have it. */
export function treeOf({ leaves, voids }: ChainLog, leafCount: number): NoteTree {
  const tree = new NoteTree();
  for (const [index, leaf] of leaves.slice(0, leafCount).entries())
    tree.append(voids.has(index) ? mustField(0n) : leaf);
  return tree;
}
