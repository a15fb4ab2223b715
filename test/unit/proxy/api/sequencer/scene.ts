// The choosing half of the sequencer on a stage: real choice and batches over tickets in memory, with a pool
// that answers simulations as a test says. What goes out is read back from the calldata.
import { Interface } from "ethers";
import {
  depositDraft,
  type Draft,
  drawField,
  type Setting,
  signalsOf,
  spendDraft,
  swapDraft,
} from "../../../../support/drafts.ts";
import { Pool, type PoolRefusal } from "../../../../../proxy/base/chain/pool.ts";
import type { Chain } from "../../../../../proxy/base/chain/provider.ts";
import type { Tokens } from "../../../../../proxy/base/chain/token.ts";
import type { Attestor, RootRequest } from "../../../../../proxy/api/enclave-link/attestor.ts";
import { CommitmentTree } from "../../../../../proxy/api/merkle/tree.ts";
import type { TicketWrites } from "../../../../../proxy/base/store/ticket-store.ts";
import type { TicketChange, TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { Backoff } from "../../../../../proxy/api/sequencer/backoff.ts";
import { CallsInFlight } from "../../../../../proxy/api/sequencer/calls-in-flight.ts";
import { Batches, type Batch } from "../../../../../proxy/api/sequencer/batch.ts";
import { Blockage } from "../../../../../proxy/api/sequencer/blockage.ts";
import { Queue } from "../../../../../proxy/api/sequencer/queue.ts";
import { Members } from "../../../../../proxy/api/sequencer/members.ts";
import type { TermParts } from "../../../../../proxy/api/sequencer/term.ts";
import type { QueueView } from "../../../../../proxy/api/sequencer/root-update.ts";
import type { SignedBy } from "../../../../../shared/protocol/host/signed-by.ts";
import { POOL_ABI } from "../../../../../shared/contracts/abi.ts";
import {
  ZERO_ADDRESS,
  ZERO_BYTES32,
  type Address,
  type Bytes32,
} from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { encodeProof } from "../../../../../shared/protocol/host/proofs.ts";
import { checkStatement, kindById, type Kind } from "../../../../../shared/protocol/statements.ts";
import { NO_PROOF, SILENT } from "../../../../support/money.ts";
import { overriding } from "../../../../support/overriding.ts";

const abi = new Interface(POOL_ABI);
const POOL = `0x${"aa".repeat(20)}` as Address;
const USDC = `0x${"11".repeat(20)}` as Address;
const WETH = `0x${"22".repeat(20)}` as Address;
const SIGNER = `0x${"51".repeat(20)}` as Address;
const SWAP_GAS = 1_000_000n;

const key = toHex(word(1n)) as Bytes32;
const setting: Setting = {
  home: { chainId: 1n, pool: POOL },
  deadline: 2_000_000_000n,
  verifyingKeyHashes: { "deposit-shield": key, spend: key, spend9: key, "private-swap": key },
  attesters: [],
};

function draftOf(kind: Kind): Draft {
  switch (kind) {
    case "deposit-shield":
      return depositDraft(setting, { asset: USDC, amount: 5n, depositor: SIGNER });
    case "spend":
    case "spend9":
      return spendDraft(setting, drawField(), undefined, kind);
    case "private-swap":
      return swapDraft(setting, drawField(), {
        asset: USDC,
        amount: 5n,
        tokenOut: WETH,
        path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
      });
  }
}

/** What a call holds, read as the pool would. */
export interface Call {
  readonly kinds: (Kind | undefined)[];
  readonly signals: bigint[][];
  readonly toIndex: bigint;
}

export function readCall(calldata: string): Call {
  const [members, update] = abi.decodeFunctionData("execute", calldata) as unknown as [
    { kind: bigint; signals: bigint[] }[],
    { toIndex: bigint },
  ];
  return {
    kinds: members.map(({ kind }) => kindById(Number(kind))),
    signals: members.map(({ signals }) => [...signals]),
    toIndex: update.toIndex,
  };
}

/** Of all members and of the update. */
export function attestationBytes(calldata: string): number {
  const [members, update] = abi.decodeFunctionData("execute", calldata) as unknown as [
    { attestations: string }[],
    { attestations: string },
  ];
  return [...members, update].reduce((sum, { attestations }) => sum + (attestations.length - 2) / 2, 0);
}

export class Scene {
  readonly blockage = new Blockage();
  readonly backoff = new Backoff(() => true);
  readonly tickets: TicketRecord[] = [];
  /** Reasons by ticket id; what is not here passes. The errors of the pool, by name. */
  readonly refusals = new Map<string, { name: string; args: readonly unknown[] }>();
  readonly simulated: Call[] = [];
  readonly rootRequests: RootRequest[] = [];
  executor: Address | undefined = `0x${"ee".repeat(20)}` as Address;
  /** Gas of one member, by which the node simulates and estimates a call. */
  memberCost = 100_000n;
  canSimulate = true;
  /** Whether a simulation says what it used. */
  saysGas = true;
  /** Members of a call with a root update. */
  blockHolds = Infinity;
  /** Called at the next simulation. */
  meanwhile: (() => void) | undefined;
  #follower: (ticket: TicketRecord) => void = () => undefined;
  tip = 10;
  readonly #tree = new CommitmentTree();
  readonly #maxBatch: number;
  /** As many as the pool asks for. */
  readonly #attestations: readonly SignedBy[];
  /** What asking for a root update ends with instead of attestations. */
  rootFault: Error | undefined;

  constructor(maxBatch = 32, threshold = 1) {
    this.#maxBatch = maxBatch;
    this.#attestations = Array.from({ length: threshold }, (_, i) => ({
      signer: `0x${(0x51 + i).toString(16).repeat(20)}` as Address,
      signature: new Uint8Array(65).fill(9),
    }));
  }

  accept(kind: Kind): TicketRecord {
    const draft = draftOf(kind);
    const statement = checkStatement(setting.home, kind, draft.deadline, signalsOf(draft), draft.ext);
    if (typeof statement === "string") throw new TypeError(statement);
    const ticket: TicketRecord = {
      id: `ticket-${String(this.tickets.length)}`,
      sequence: this.tickets.length,
      owner: { developerId: "d", sub: undefined },
      statement: statement.hash,
      nullifiers: statement.facts.nullifiers,
      transaction: {
        kind,
        deadline: draft.deadline,
        signals: statement.signals,
        ext: draft.ext,
        proof: encodeProof(NO_PROOF),
        authorization: new Uint8Array(kind === "deposit-shield" ? 65 : 0),
        attestations: this.#attestations,
      },
      status: { state: "queued" },
      createdAt: 0,
      updatedAt: 0,
    };
    this.tickets.push(ticket);
    this.#follower(ticket);
    return ticket;
  }

  /** As the store has it now. */
  now({ id }: TicketRecord): TicketRecord {
    return this.tickets.find((ticket) => ticket.id === id)!;
  }

  /** Which tickets went out, in the order of the call. */
  sent(batch: Batch): string[] {
    return batch.candidates.map(({ ticket }) => ticket.id);
  }

  gasOf(members: number): bigint {
    return 50_000n + BigInt(members) * this.memberCost;
  }

  async next(before = Infinity): Promise<Batch | undefined> {
    const all = [...this.tickets];
    const queue = await Queue.read({
      async *open() {
        yield all;
      },
      follow: (listener) => {
        this.#follower = listener;
        return () => undefined;
      },
    });
    const pool = this.#pool();
    const estimateGas: Chain["estimateGas"] = async ({ data }) => this.gasOf(readCall(data).kinds.length);
    const parts = {
      chain: { estimateGas },
      inFlight: new CallsInFlight(
        {
          ...this.#queue(),
          ...{ execution: () => undefined, rejection: () => undefined, root: () => undefined },
        },
        this.#tree,
      ),
      pool,
      tokens: {
        ...{
          isAuthorizationUsed: async () => false,
          balanceOf: async () => 0n,
          isContract: async () => false,
        },
      } as unknown as Tokens,
      attestor: this.#attestor(),
      store: { list: async (ids: readonly string[]) => this.tickets.filter(({ id }) => ids.includes(id)) },
      queue,
      writes: this.#writes(),
      now: () => 0,
      wallet: { address: SIGNER },
      backoff: this.backoff,
      blockage: this.blockage,
      logger: SILENT,
      maxBatch: this.#maxBatch,
      maxGas: 2n ** 24n,
    } as unknown as TermParts;
    const batches = new Batches(parts, new Members(parts));
    return batches.next({ number: this.tip, hash: key, timestamp: 1_000 }, before);
  }

  #pool(): Pool {
    const real = new Pool({ chainId: 1n } as Chain, POOL);
    return overriding(real, {
      threshold: async () => this.#attestations.length,
      isSigner: async () => true,
      executor: async () => this.executor,
      memberGas: async (kind) => (kind === "private-swap" ? SWAP_GAS : 500_000n),
      simulate: async (calldata) => {
        const call = readCall(calldata);
        this.simulated.push(call);
        this.meanwhile?.();
        this.meanwhile = undefined;
        if (!this.canSimulate) return undefined;
        if (call.toIndex > 0n && call.kinds.length > this.blockHolds) return "reverted";
        const refusals = call.signals.flatMap((signals): PoolRefusal[] => {
          const ticket = this.tickets.find(({ transaction }) => transaction.signals[0] === signals[0])!;
          const refusal = this.refusals.get(ticket.id);
          if (refusal === undefined) return [];
          const reason = abi.encodeErrorResult(refusal.name, refusal.args);
          return [{ kind: "rejected", statement: ticket.statement, reason }];
        });
        return { refusals, gasUsed: this.saysGas ? this.gasOf(call.kinds.length) : undefined };
      },
    });
  }

  #attestor(): Attestor {
    return {
      attest: () => Promise.reject(new Error("nothing is attested again here")),
      accepted: () => Promise.resolve([]),
      attestRoot: async (request) => {
        this.rootRequests.push(request);
        if (this.rootFault !== undefined) throw this.rootFault;
        return [...this.#attestations];
      },
    };
  }

  #writes(): Pick<TicketWrites, "change"> {
    const change = async (changes: readonly TicketChange[]): Promise<void> => {
      for (const { id, status } of changes) {
        const at = this.tickets.findIndex((ticket) => ticket.id === id);
        this.tickets[at] = { ...this.tickets[at]!, status };
      }
    };
    return { change };
  }

  /** An empty queue, all of it rooted. */
  #queue(): QueueView {
    return {
      currentRoot: () => ({ root: this.#tree.root(0), leafCount: 0, sequence: 0, block: 0 }),
      leafCount: () => 0,
      leaves: () => [],
      leaf: () => undefined,
      awaitsAdvance: () => false,
      headAt: (count) => (count === 0 ? ZERO_BYTES32 : undefined),
    };
  }
}
