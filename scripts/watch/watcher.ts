/**
 * Walks the chain from the pool's first block to the head, range by range, and keeps the ledger. Goes back
 * when blocks are replaced, and asks again when the node's answers do not fit together.
 */
import { kindsNeeded } from "./statements.ts";
import { ChainRefused, ChainUnreachable } from "../../proxy/base/chain/json-rpc.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { KIND_NAMES, KINDS, type Home, type Kind } from "../../shared/protocol/statements.ts";
import { verificationKeyHash, type VerificationKey } from "../../shared/protocol/verification-key.ts";
import { TOKEN_ABI } from "../../shared/contracts/abi.ts";
import { Interface } from "ethers";
import { handedTo, needsCalldata, poolInterface } from "./calls.ts";
import { Contradiction, isAlarm, jsonOf, type Finding } from "./findings.ts";
import { createProofVerifier, type ProofVerifier } from "./groth16.ts";
import type { Journal, Place, Progress } from "./journal.ts";
import { closureText } from "./aftermath.ts";
import type { SeenTransaction, WatchedPool } from "./case.ts";
import { expire, judge } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import { pause, type ChainNode, type Header, type Log } from "./node.ts";

export interface WatcherOptions {
  readonly node: ChainNode;
  readonly home: Home;
  /** At or before the pool's deployment. */
  readonly fromBlock: number;
  /** Blocks on top of one before it is looked at. */
  readonly confirmations: number;
  readonly keys: Readonly<Record<Kind, VerificationKey>>;
  readonly journal: Journal;
  readonly onFinding: (finding: Finding) => void;
  readonly onProgress?: (block: number, target: number) => void;
  /** Wait before the node is asked again about a contradiction. */
  readonly retryDelayMs?: number;
  readonly signal?: AbortSignal;
}

/** The pool or the keys are not what the watcher was told. */
export class SetUpError extends Error {}

/** Blocks were replaced while they were read. Not an error: the walk goes on from before. */
class Moved extends Error {}

const FIRST_SPAN = 2_000;
const MAX_SPAN = 100_000;
/** Ranges with fewer logs than this grow. */
const FEW_LOGS = 1_000;
/** Blocks whose transactions are asked for at once. */
const BLOCKS_AT_ONCE = 8;
const ATTEMPTS = 3;
/** Among the pool's answers; the third thing that it says of its brakes is no state of its own. */
const BRAKES = 2;

const token = new Interface(TOKEN_ABI);

export async function createWatcher(options: WatcherOptions): Promise<Watcher> {
  const { node, home, keys } = options;
  const latest = await node.header("latest");
  if (latest === undefined) throw new ChainUnreachable("the node has no newest block");
  const read = async (name: string, ...args: unknown[]): Promise<unknown> =>
    (await ask(node, poolInterface, home.pool, latest.number, name, ...args))[0];
  const keyHashes: Partial<Record<Kind, Bytes32>> = {};
  for (const kind of KIND_NAMES) {
    const pinned = (await read("verifyingKeyHash", KINDS[kind].id)) as Bytes32;
    if (verificationKeyHash(keys[kind]) !== pinned) {
      throw new SetUpError(`the pool pins another verification key for ${kind}: ${pinned}`);
    }
    keyHashes[kind] = pinned;
  }
  const pool = {
    home,
    threshold: Number(await read("threshold")),
    provedDelay: Number(await read("provedDelay")),
    keyHashes: keyHashes as Record<Kind, Bytes32>,
    attestationRoot: (await read("attestationRoot")) as Bytes32,
    maxDocumentAgeSecs: Number(await read("maxDocumentAge")),
  };
  return new Watcher(options, pool, await Ledger.from(options.journal.records()));
}

export class Watcher {
  readonly #options: WatcherOptions;
  readonly #pool: WatchedPool;
  readonly #verifier: ProofVerifier;
  #ledger: Ledger;
  /** The ledger holds part of a block or range that is not in the journal. */
  #isTorn = false;
  #progress: Progress;
  #span = FIRST_SPAN;
  /** Alarms about now and not about a block: they end when their reason does. */
  #standing: readonly Finding[] = [];
  readonly #told = new Set<string>();

  constructor(options: WatcherOptions, pool: WatchedPool, ledger: Ledger) {
    this.#options = options;
    this.#pool = pool;
    this.#verifier = createProofVerifier(options.keys);
    this.#progress = options.journal.progress() ?? { position: this.#start, sound: this.#start };
    this.#ledger = ledger;
    // An alarm of an earlier run is told again: silence would mean that all is well.
    for (const finding of this.#ledger.findings.filter(isAlarm)) this.#tell(finding);
  }

  get alarms(): readonly Finding[] {
    return [...this.#ledger.findings.filter(isAlarm), ...this.#standing];
  }
  get position(): number {
    return this.#progress.position.number;
  }
  get pool(): WatchedPool {
    return this.#pool;
  }
  get ledger(): Ledger {
    return this.#ledger;
  }

  /** To the chain's head as it is now. Throws when the node is unreachable or refuses what is needed. */
  async pass(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#walk();
        return;
      } catch (error) {
        const isContradiction = error instanceof Contradiction;
        if (!isContradiction && !(error instanceof Moved)) throw error;
        if (attempt >= ATTEMPTS) {
          if (!isContradiction) throw new ChainUnreachable("the chain moves faster than it can be read");
          // What was found on the way there stands.
          for (const finding of this.#ledger.findings) this.#tell(finding);
          this.#stand([error.finding]);
        }
        // A node may have lagged since the last place where all fitted; everything after it is read again.
        if (isContradiction) await this.#rewind(this.#progress.sound);
        if (attempt >= ATTEMPTS) return;
        await pause((this.#options.retryDelayMs ?? 1_000) * attempt, this.#options.signal);
      }
    }
  }

  get #start(): Place {
    return { number: this.#options.fromBlock - 1, hash: undefined };
  }

  async #walk(): Promise<void> {
    const { node, confirmations, fromBlock, journal, onProgress, signal } = this.#options;
    if (this.#isTorn) this.#ledger = await Ledger.from(journal.records());
    this.#isTorn = false;
    await this.#leaveOrphans();
    const latest = await node.header("latest");
    if (latest === undefined) throw new ChainUnreachable("the node has no newest block");
    const target = latest.number - confirmations;
    if (target < fromBlock)
      throw new ChainUnreachable(`block ${fromBlock} is not there yet, or not confirmed`);
    while (this.position < target && signal?.aborted !== true) {
      onProgress?.(this.position, target);
      const to = Math.min(this.position + this.#span, target);
      if ((await this.#takeRange(this.position + 1, to)) && to < target) await this.#compareWithPool(false);
    }
    await this.#letExpire();
    await this.#compareWithPool(true);
    onProgress?.(this.position, target);
  }

  /** False when the range has to be smaller. */
  async #takeRange(from: number, to: number): Promise<boolean> {
    const { node, home, journal } = { ...this.#options, ...this.#pool };
    const first = await node.header(from);
    const last = await node.header(to);
    if (first === undefined || last === undefined) throw new Moved();
    const { position, sound } = this.#progress;
    if (position.hash !== undefined && first.parentHash !== position.hash) throw new Moved();

    let logs: Log[];
    try {
      logs = await node.logs(home.pool, from, to);
    } catch (error) {
      // Nodes limit blocks, logs or bytes of an answer, each in words of its own.
      if (from === to || !(error instanceof ChainRefused || error instanceof ChainUnreachable)) throw error;
      this.#span = Math.ceil((to - from + 1) / 2);
      return false;
    }
    if (logs.length < FEW_LOGS) this.#span = Math.min(this.#span * 2, MAX_SPAN);

    this.#isTorn = true;
    const before = this.#ledger.findings.length;
    const records = [];
    for (const chunk of chunks(byBlock(logs), BLOCKS_AT_ONCE)) {
      for (const { header, transactions } of await Promise.all(
        chunk.map((block) => this.#readBlock(block)),
      )) {
        const [ledger, pool, verifier] = [this.#ledger, this.#pool, this.#verifier];
        for (const transaction of transactions) judge({ ledger, pool, verifier, header, transaction });
        records.push(this.#ledger.seal(header.number, header.hash));
        this.#options.onProgress?.(header.number, to);
      }
    }
    // Nothing may have moved while the range was read in many answers.
    if ((await node.header(to))?.hash !== last.hash) throw new Moved();
    this.#progress = { position: { number: to, hash: last.hash }, sound };
    await journal.append(records, this.#progress);
    this.#isTorn = false;
    for (const finding of this.#ledger.findings.slice(before)) this.#tell(finding);
    return true;
  }

  /** By the clock of the last block that was read. No event says it, so the block gets a record of its own. */
  async #letExpire(): Promise<void> {
    const { node, journal } = this.#options;
    const { position } = this.#progress;
    if (this.#ledger.pending.length === 0) return;
    const header = await node.header(position.number);
    if (header === undefined || header.hash !== position.hash) throw new Moved();
    const before = this.#ledger.findings.length;
    this.#isTorn = true;
    expire(this.#ledger, header);
    if (this.#ledger.findings.length > before) {
      await journal.append([this.#ledger.seal(header.number, header.hash)], this.#progress);
    }
    this.#isTorn = false;
    for (const finding of this.#ledger.findings.slice(before)) this.#tell(finding);
  }

  async #readBlock(
    logs: readonly [Log, ...Log[]],
  ): Promise<{ header: Header; transactions: SeenTransaction[] }> {
    const { node, home } = this.#options;
    const header = await node.header(logs[0].blockNumber);
    if (header === undefined || logs.some(({ blockHash }) => blockHash !== header.hash)) throw new Moved();
    const hashes = [...new Set(logs.map(({ txHash }) => txHash))];
    const transactions = await Promise.all(
      hashes.map(async (hash): Promise<SeenTransaction> => {
        const [transaction, all] = await Promise.all([node.transaction(hash), node.logsOf(hash)]);
        if (transaction?.blockHash !== header.hash || all === undefined) throw new Moved();
        const handed = needsCalldata(all, home.pool) ? await handedTo(home.pool, transaction, node) : [];
        return { hash, logs: all, handed };
      }),
    );
    return { header, transactions };
  }

  /**
   * Whether the log that we were shown is the whole log: the pool keeps a hash over all leaves. On the way, a
   * node that has forgotten old states may refuse; at the end it must answer.
   */
  async #compareWithPool(isEnd: boolean): Promise<void> {
    const { node, home } = this.#options;
    const { position } = this.#progress;
    const ledger = this.#ledger;
    const read = (name: string, ...args: unknown[]): Promise<readonly unknown[]> =>
      ask(node, poolInterface, home.pool, position.number, name, ...args);
    let theirs: readonly unknown[];
    try {
      const totals = ledger.claims.assets.map((asset) => read("claimTotals", asset));
      theirs = (await Promise.all([read("queue"), read("currentRoot"), read("brakes"), ...totals])).flatMap(
        // Behind them is what only the time says.
        (answer, i) => (i >= BRAKES ? answer.slice(0, 2) : answer),
      );
    } catch (error) {
      if (error instanceof ChainUnreachable || isEnd) throw error;
      return;
    }
    const { roots, claims, leafCount, head, rootedCount, attestedFrom, isUnsound } = ledger;
    const ours = [
      ...[leafCount, head, roots.newest.announced, rootedCount, roots.sequence, attestedFrom, isUnsound],
      ...claims.assets.flatMap((asset) => [claims.of(asset).length, claims.owed(asset)]),
    ];
    if (String(theirs) !== String(ours)) {
      const detail = `the pool has ${String(theirs[0])} leaves and ${String(theirs[4])} roots, its log ${leafCount} and ${roots.sequence}, or others`;
      throw new Contradiction({ code: "LOG_CONTRADICTION", block: position.number, detail });
    }
    this.#progress = { position, sound: position };
    await this.#options.journal.append([], this.#progress);
    if (isEnd)
      this.#stand([...this.#missingSigners(), ...(await this.#brakes()), ...(await this.#shortfalls())]);
  }

  /** What stops attested transactions, or attested roots alone, at the block that was judged. */
  async #brakes(): Promise<Finding[]> {
    const { attestedFrom, isRolledBack, doubtfulUpTo, rootedCount } = this.#ledger;
    const block = this.position;
    const now = (await this.#options.node.header(block))?.timestamp ?? 0;
    return [
      ...(now < attestedFrom
        ? [{ code: "ATTESTED_PATH_CLOSED", block, detail: closureText(attestedFrom) } as const]
        : []),
      ...(isRolledBack
        ? [
            {
              code: "TREE_ROLLED_BACK",
              block,
              detail: `at leaf ${rootedCount}, doubtful up to ${doubtfulUpTo}`,
            } as const,
          ]
        : []),
    ];
  }

  /** The owner may remove any signer at once, so the pool cannot keep enough of them. */
  #missingSigners(): Finding[] {
    const [left, needed] = [this.#ledger.signers.size, this.#pool.threshold];
    const kinds = new Set(this.#ledger.signers.values()).size;
    if (left >= needed && kinds >= kindsNeeded(this.#pool)) return [];
    const detail = `${left} left of ${kinds} kinds, ${needed} of ${kindsNeeded(this.#pool)} needed`;
    return [{ code: "SIGNERS_SHORT", block: this.position, detail }];
  }

  async #shortfalls(): Promise<Finding[]> {
    const { node, home } = this.#options;
    const block = this.position;
    const found: Finding[] = [];
    for (const [asset, owed] of this.#ledger.owed) {
      const [held] = (await ask(node, token, asset, block, "balanceOf", home.pool)) as [bigint];
      if (owed < 0n || held < owed) {
        found.push({ code: "BALANCE_SHORT", block, detail: `${asset}: holds ${held}, owes ${owed}` });
      }
    }
    return found;
  }

  /** Goes back to the newest block of the journal that the chain still has. */
  async #leaveOrphans(): Promise<void> {
    const { node, journal } = this.#options;
    const { position } = this.#progress;
    if (position.hash === undefined) return;
    const now = await node.header(position.number);
    if (now === undefined)
      throw new ChainUnreachable(`the node has no block ${position.number}, which was read before`);
    if (now.hash === position.hash) return;
    const marks: Place[] = [];
    for await (const { number, hash } of journal.records()) marks.push({ number, hash });
    let ancestor = this.#start;
    for (const mark of marks.reverse()) {
      if ((await node.header(mark.number))?.hash !== mark.hash) continue;
      ancestor = mark;
      break;
    }
    await this.#rewind(ancestor);
    this.#tell({ code: "REORGANISED", block: position.number, detail: `back to block ${ancestor.number}` });
  }

  async #rewind(to: Place): Promise<void> {
    const { journal } = this.#options;
    this.#progress = { position: to, sound: to };
    await journal.cut(this.#progress);
    this.#ledger = await Ledger.from(journal.records());
    this.#isTorn = false;
  }

  #stand(findings: readonly Finding[]): void {
    const stood = this.#standing;
    this.#standing = findings;
    for (const finding of findings) {
      const isOld = stood.some(({ code, detail }) => code === finding.code && detail === finding.detail);
      if (!isOld) this.#tell(finding);
    }
  }

  /** Each once: blocks are judged again after a reorganisation or a contradiction. */
  #tell(finding: Finding): void {
    const key = JSON.stringify(jsonOf(finding));
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#options.onFinding(finding);
  }
}

async function ask(
  node: ChainNode,
  abi: Interface,
  contract: Address,
  at: number,
  name: string,
  ...args: unknown[]
): Promise<readonly unknown[]> {
  const answer = await node.call(contract, abi.encodeFunctionData(name, args), at);
  try {
    return [...(abi.decodeFunctionResult(name, answer) as Iterable<unknown>)];
  } catch {
    throw new SetUpError(`${contract} did not answer ${name} at block ${at}: it is no such contract there`);
  }
}

/** Logs in order, cut where a block ends. */
function byBlock(logs: readonly Log[]): [Log, ...Log[]][] {
  const blocks: [Log, ...Log[]][] = [];
  for (const log of logs) {
    const last = blocks.at(-1);
    if (last?.[0].blockNumber === log.blockNumber) last.push(log);
    else blocks.push([log]);
  }
  return blocks;
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
