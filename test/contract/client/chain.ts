// The chain under the service of these tests: the pool's log in blocks that a test can take back.
import { Interface, keccak256 } from "ethers";
import { POOL_ABI, TOKEN_ABI } from "../../../shared/contracts/abi.ts";
import { mustField, type Address, type Field } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import { commitmentOf } from "../../../shared/notes/note.ts";
import {
  checkStatement,
  KIND_NAMES,
  KINDS,
  type Home,
  type Statement,
} from "../../../shared/protocol/statements.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { executedLog } from "../../support/oracle.ts";

export const CHAIN_ID = 31_337;
export const POOL = "0x00000000000000000000000000000000000000aa" as Address;
export const USDC = "0x00000000000000000000000000000000000000bb" as Address;
/** A token without EIP-3009. */
export const WETH = "0x00000000000000000000000000000000000000ee" as Address;
export const HOME: Home = { chainId: BigInt(CHAIN_ID), pool: POOL };
export const POOL_INTERFACE = new Interface(POOL_ABI);

type LogKind = "leaf" | "nullifier" | "root";
interface LogEntry {
  readonly id: string;
  readonly kind: LogKind;
  readonly data: Record<string, unknown>;
}
export interface Block {
  readonly number: number;
  readonly hash: string;
  readonly log: LogEntry[];
}
export interface SentReceipt {
  readonly status: number;
  readonly logs: { readonly address: string; readonly topics: string[]; readonly data: string }[];
}
type Member = readonly [bigint, bigint, readonly bigint[], string, string, string, string];

export class TestChain {
  /** Rooting can be held back to show what a wallet does with leaves that no root covers. */
  autoroot = true;
  /** What the venue pays for so much; less than the floor, and the swap waits. */
  venue: (amountIn: bigint) => bigint = (amountIn) => 3n * amountIn;
  /** Bends what the log says about a bought note, as a liar would. */
  bendBought: (leaf: Record<string, unknown>) => Record<string, unknown> = (leaf) => leaf;
  /** ERC-20 approvals for the pool: `token/owner`. */
  readonly allowances = new Map<string, bigint>();
  readonly #onChange: () => void;
  #blocks: Block[] = [];
  #orphans = new Map<string, number>();
  #fork = 0;

  /** `onChange` is called when blocks have come or gone. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get log(): LogEntry[] {
    return this.#blocks.flatMap((block) => block.log);
  }
  get leafCount(): number {
    return this.log.filter(({ kind }) => kind === "leaf").length;
  }
  get blockNumber(): number {
    return this.#blocks.at(-1)?.number ?? 0;
  }
  isRoot(root: Field): boolean {
    return this.log.some(({ kind, data }) => kind === "root" && data["root"] === hex(root));
  }
  isSpent(nullifier: Field): boolean {
    return this.log.some(({ kind, data }) => kind === "nullifier" && data["nullifier"] === hex(nullifier));
  }

  /** The end of the log below the block whose going took this entry; undefined for one that was not reorganised out. */
  forkOf(id: string): { readonly lastId: string | undefined } | undefined {
    const ancestor = this.#orphans.get(id);
    if (ancestor === undefined) return undefined;
    return { lastId: this.log.filter(({ data }) => Number(data["block_number"]) <= ancestor).at(-1)?.id };
  }

  /** The next block; nobody sees it before `close`. */
  open(): Block {
    const number = this.blockNumber + 1;
    return { number, hash: `${number.toString(16).padStart(6, "0")}f${this.#fork}`, log: [] };
  }

  /** Adds the block, and a root over all leaves if `autoroot`. */
  close(block: Block): void {
    this.#blocks.push(block);
    if (this.autoroot) this.root();
    else this.#onChange();
  }

  /** Writes what a statement does into an open block. The indices of its leaves, or undefined below a swap's floor. */
  execute(block: Block, { ext, facts, kind }: Statement): number[] | undefined {
    const bought = ext.kind === "private-swap" ? this.venue(facts.amount) : 0n;
    if (ext.kind === "private-swap" && bought < ext.minAmountOut) return undefined;
    const first = this.leafCount + block.log.filter((entry) => entry.kind === "leaf").length;
    const txHash = txHashOf(block);
    for (const nullifier of facts.nullifiers)
      push(block, "nullifier", { nullifier: hex(nullifier), tx_hash: txHash });
    const source = kind === "deposit-shield" ? "deposit" : kind === "private-swap" ? "swap" : "spend";
    const leaf = (at: number, commitment: Field): Record<string, unknown> => ({
      ...{ index: first + at, commitment: hex(commitment), source, tx_hash: txHash },
      ...{ ephemeral_key: toHex(ext.ephemeralKey), output: at, ciphertext: toHex(ext.ciphertexts[at]!) },
    });
    facts.commitments.forEach((commitment, at) => push(block, "leaf", leaf(at, commitment)));
    if (ext.kind === "private-swap") {
      const npk = mustField(ext.npkOut);
      const made = commitmentOf(npk, ext.tokenOut, bought);
      const measured = { npk: hex(npk), asset: ext.tokenOut, value: String(bought) };
      push(block, "leaf", this.bendBought({ ...leaf(facts.commitments.length, made), ...measured }));
    }
    return Array.from({ length: KINDS[kind].leaves }, (_, at) => first + at);
  }

  /** A transaction of somebody's own account, as the chain would take it: an approval, or `execute` by a depositor. */
  send(from: string, { to, data }: { to: string; data: string }): SentReceipt {
    const token = new Interface(TOKEN_ABI).parseTransaction({ data });
    if (token?.name === "approve") {
      if (asAddress(token.args[0]) === POOL)
        this.allowances.set(`${to}/${from.toLowerCase()}`, token.args[1] as bigint);
      return { status: 1, logs: [] };
    }
    const [[member]] = POOL_INTERFACE.decodeFunctionData("execute", data) as unknown as [[Member]];
    const kind = KIND_NAMES.find((name) => BigInt(KINDS[name].id) === member[0])!;
    const checked = checkStatement(HOME, kind, member[1], [...member[2]], mustFromHex(member[3]));
    const statement = checked as Statement;
    const { ext, facts, hash } = statement;
    const key = `${hexAddress(facts.asset)}/${from.toLowerCase()}`;
    const executes =
      ext.kind === "deposit-shield" &&
      ext.depositor === from.toLowerCase() &&
      this.allowances.get(key) === facts.amount;
    const logged = (log: { topics: string[]; data: string }): SentReceipt => ({
      ...{ status: 1, logs: [{ address: POOL, ...log }] },
    });
    if (!executes) {
      const reason = POOL_INTERFACE.encodeErrorResult("AuthorizationMalformed");
      return logged(POOL_INTERFACE.encodeEventLog("Rejected", [hash, reason]));
    }
    this.allowances.delete(key);
    const block = this.open();
    const [first = 0] = this.execute(block, statement) ?? [];
    this.close(block);
    return logged(
      executedLog({
        ...{ statementHash: hash, kindId: KINDS[kind].id, firstLeafIndex: first, nullifiers: [] },
        ...{ proofHash: keccak256(member[4]), commitments: facts.commitments },
        ...{ ephemeralKey: toHex(ext.ephemeralKey), ciphertexts: ext.ciphertexts.map(toHex) },
        moved: { asset: hexAddress(facts.asset), amount: facts.amount, party: ext.depositor },
      }),
    );
  }

  /** A root over the first `leafCount` leaves, in a block of its own. */
  root(leafCount = this.leafCount): void {
    const block = this.open();
    const frontier = emptyFrontier();
    for (const { kind, data } of this.log) {
      if (kind === "leaf" && Number(data["index"]) < leafCount)
        frontier.append(mustField(BigInt(data["commitment"] as string)));
    }
    push(block, "root", { root: hex(frontier.root()), leaf_count: leafCount });
    this.#blocks.push(block);
    this.#onChange();
  }

  /** A block of foreign or hand-made leaves. */
  /** Nobody can read those that bring no ciphertext of their own. */
  addLeaves(leaves: readonly Record<string, unknown>[]): void {
    const block = this.open();
    const first = this.leafCount;
    const garbage = { ephemeral_key: "0x", output: 0, ciphertext: "0x" };
    leaves.forEach((leaf, at) =>
      push(block, "leaf", {
        ...{ source: "spend", tx_hash: toHex(word(1n)), index: first + at },
        ...garbage,
        ...leaf,
      }),
    );
    this.close(block);
  }

  /** The last `depth` blocks vanish; the ids of their entries are known as orphans. */
  reorg(depth: number): void {
    const gone = this.#blocks.splice(Math.max(0, this.#blocks.length - depth));
    for (const block of gone) for (const { id } of block.log) this.#orphans.set(id, this.blockNumber);
    this.#fork += 1;
    this.#onChange();
  }
}

function push(block: Block, kind: LogKind, data: Record<string, unknown>): void {
  const id = `${block.number}-${block.hash}-${block.log.length}-0`;
  block.log.push({ id, kind, data: { ...data, block_number: block.number } });
}

export const hex = (value: bigint): string => toHex(word(value));
export const txHashOf = ({ number }: Block): string => hex(BigInt(number));
const hexAddress = (asset: bigint): string => `0x${asset.toString(16).padStart(40, "0")}`;
