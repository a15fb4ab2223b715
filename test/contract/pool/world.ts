// A pool on a chain of its own, and a mirror of its queue kept from events alone, so that tests can say
// "a root update over these two transactions" and read the outcome of each member of a batch.
import {
  Contract,
  HDNodeWallet,
  JsonRpcProvider,
  toBeHex,
  zeroPadValue,
  type ContractTransactionReceipt,
  type JsonRpcSigner,
} from "ethers";
import {
  authorize,
  depositDraft,
  type Draft,
  drawField,
  seal,
  type Sealed,
  type Setting,
  spendDraft,
  swapDraft,
} from "../../support/drafts.ts";
import { NO_UPDATE, type PoolRootUpdate, sealUpdate } from "../../../scripts/stack/pool-transaction.ts";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import type { RootUpdate } from "../../../shared/protocol/attestation.ts";
import {
  mustField,
  ZERO_ADDRESS,
  ZERO_BYTES32,
  type Address,
  type Bytes32,
} from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { readExecuted, type Executed } from "../../../shared/protocol/host/executed-log.ts";
import {
  CIPHERTEXT_BYTES,
  EPHEMERAL_KEY_BYTES,
  KINDS,
  type Kind,
} from "../../../shared/protocol/statements.ts";
import { emptyNode, nextHead, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { executedLog } from "../../support/oracle.ts";
import type { Market } from "./market.ts";
import { deployWorld, type Deployment, type WorldOptions } from "./world-deployment.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../support/chain.ts";

export type { WorldOptions } from "./world-deployment.ts";

/** What `NoteHashed` says of the output of a swap. */
export interface Bought {
  readonly leafIndex: bigint;
  readonly commitment: bigint;
  readonly npk: bigint;
  readonly asset: Address;
  readonly value: bigint;
}
/** One note of a `credit`, as the pool says it. */
export interface Credited extends Bought {
  readonly ephemeralKey: string;
  readonly ciphertext: string;
}
type Hashed = Bought & { readonly statementHash: string };

/** A fault by the name that its selector has in IPool.sol. */
export interface Fault {
  readonly error: string;
  readonly args: readonly unknown[];
}

export interface Outcome {
  /** By member, in order: the Executed event's first leaf index, or the fault. */
  readonly members: readonly (bigint | Fault)[];
  /** The new sequence number, the fault, or undefined when no update was sent. */
  readonly update: bigint | Fault | undefined;
  readonly receipt: ContractTransactionReceipt;
}

/** Leaves of one statement, and the name by which `advance` is shown who made them. */
export interface Made {
  readonly first: number;
  readonly end: number;
  readonly maker: Bytes32;
}

interface Place {
  readonly count: bigint;
  readonly head: Bytes32;
}

export class World {
  readonly provider: JsonRpcProvider;
  readonly pool: Contract;
  readonly usdc: Contract;
  readonly usdcAddress: Address;
  readonly moreAssets: readonly Address[];
  /** What the pool swaps with; undefined when it began without. */
  readonly executor: Address | undefined;
  readonly setting: Setting;
  /** Account 0: deployer and owner. */
  readonly owner: JsonRpcSigner;
  /** Account 1 as a wallet that can sign typed data, and as the sender of transactions. */
  readonly depositor: HDNodeWallet;
  readonly depositorAddress: Address;
  queue: Place = { count: 0n, head: ZERO_BYTES32 };
  rooted: Place & { root: bigint } = { count: 0n, head: ZERO_BYTES32, root: emptyNode(TREE_DEPTH) };
  /** Everything that is in the queue. */
  readonly leaves: bigint[] = [];
  /** What made them, in their order: every statement, but no credit. */
  readonly made: Made[] = [];
  /** Values of the notes that the pool hashed itself, by statement. */
  readonly bought = new Map<string, Bought>();
  readonly #anvil: Anvil;
  readonly #market: Market | undefined;

  private constructor(anvil: Anvil, provider: JsonRpcProvider, parts: Deployment) {
    this.#anvil = anvil;
    this.provider = provider;
    this.pool = parts.pool;
    this.usdc = parts.usdc;
    this.usdcAddress = mustAddress(parts.usdc.target as string);
    this.owner = parts.owner;
    this.moreAssets = parts.moreAssets;
    this.executor = parts.executor;
    this.#market = parts.market;
    this.setting = parts.setting;
    this.depositor = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/1");
    this.depositorAddress = mustAddress(this.depositor.address);
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const anvil = await startAnvil();
    try {
      return await World.#startOn(anvil, options);
    } catch (error) {
      await anvil.stop();
      throw error;
    }
  }

  static async #startOn(anvil: Anvil, wanted: WorldOptions): Promise<World> {
    const options: WorldOptions =
      wanted.forAllKinds === true
        ? { executor: "ConfigurableExecutor", moreAssets: ["TestUSDC"], ...wanted }
        : wanted;
    const provider = new JsonRpcProvider(anvil.url, anvil.chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 10,
    });
    const world = new World(anvil, provider, await deployWorld(provider, BigInt(anvil.chainId), options));
    await world.call(world.usdc, "mint", world.depositorAddress, 10n ** 15n);
    if (options.forAllKinds === true) await world.#prepareForAllKinds();
    return world;
  }

  get market(): Market {
    if (this.#market === undefined) throw new Error("this world has no market");
    return this.#market;
  }

  async stop(): Promise<void> {
    this.provider.destroy();
    await this.#anvil.stop();
  }

  account(n: number): Promise<JsonRpcSigner> {
    return this.provider.getSigner(n);
  }

  async call(contract: Contract, name: string, ...args: unknown[]): Promise<ContractTransactionReceipt> {
    const sent = await contract.getFunction(name)(...args);
    return sent.wait();
  }

  // ---------------------------------------------------------------- statements

  async #prepareForAllKinds(): Promise<void> {
    const { abi } = await loadArtifact("ConfigurableExecutor");
    await this.call(new Contract(this.executor ?? "", abi, this.owner), "set", 0, 1_000n);
    const asDepositor = actingAs(this.usdc, await this.account(1));
    await this.call(asDepositor, "approve", this.setting.home.pool, 10n ** 15n);
    await this.executeOne(await this.deposit());
  }

  /** One of that kind that the pool executes; of a deposit, when account 1, the depositor, sends it. */
  draftOf(kind: Kind): Draft {
    switch (kind) {
      case "deposit-shield":
        return this.depositDraft();
      case "spend":
      case "spend9":
        return spendDraft(this.setting, this.rooted.root, undefined, kind);
      case "private-swap":
        return this.swapDraft({ tokenOut: this.moreAssets[0]!, amount: 1_000n });
    }
  }

  transferDraft(root = this.rooted.root): Draft {
    return spendDraft(this.setting, root, undefined);
  }

  transfer(changes: Partial<Draft> = {}): Sealed {
    return seal({ ...this.transferDraft(), ...changes });
  }

  withdrawalDraft(recipient: Address, amount: bigint, asset = this.usdcAddress): Draft {
    return spendDraft(this.setting, this.rooted.root, { asset, amount, recipient });
  }

  /** One hop from the test dollar to wrapped ether when there is a market; every term may be another. */
  swapDraft(terms: Partial<Parameters<typeof swapDraft>[2]> = {}): Draft {
    return swapDraft(this.setting, this.rooted.root, {
      asset: this.usdcAddress,
      amount: 1_000_000n,
      tokenOut: terms.tokenOut ?? this.market.weth,
      path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
      ...terms,
    });
  }

  depositDraft(amount = 5_000_000n, asset = this.usdcAddress): Draft {
    return depositDraft(this.setting, { asset, amount, depositor: this.depositorAddress });
  }

  deposit(changes: Partial<Draft> = {}): Promise<Sealed> {
    return authorize(this.depositor, seal({ ...this.depositDraft(), ...changes }));
  }

  // ---------------------------------------------------------------- roots

  /** Where the queue stands after these members, if all of them succeed. Not for swaps, whose last leaf nobody knows before. */
  after(members: readonly Sealed[]): Place {
    let { count, head } = this.queue;
    for (const commitment of members.flatMap(({ draft }) => draft.commitments)) {
      count += 1n;
      head = nextHead(head, commitment);
    }
    return { count, head };
  }

  updateTo(
    place: Place,
    changes: Partial<RootUpdate> = {},
    attesters = this.setting.attesters,
  ): PoolRootUpdate {
    const message: RootUpdate = {
      oldRoot: mustField(this.rooted.root),
      newRoot: drawField(),
      fromIndex: this.rooted.count,
      toIndex: place.count,
      headBefore: this.rooted.head,
      headAfter: place.head,
      ...changes,
    };
    return sealUpdate(this.setting.home, message, attesters);
  }

  // ---------------------------------------------------------------- execution

  async execute(
    members: readonly Sealed[],
    update: PoolRootUpdate = NO_UPDATE,
    { sender = this.owner, gasLimit }: { sender?: JsonRpcSigner; gasLimit?: bigint } = {},
  ): Promise<Outcome> {
    const send = actingAs(this.pool, sender).getFunction("execute");
    const transactions = members.map(({ transaction }) => transaction);
    // An estimate is made in the second of the block before, in which a full bucket is written as it was, and costs less.
    const enough = gasLimit ?? (await send.estimateGas(transactions, update)) + 10_000n;
    const sent = await send(transactions, update, { gasLimit: enough });
    const receipt: ContractTransactionReceipt = await sent.wait();
    const own = receipt.logs.filter(({ address }) => mustAddress(address) === this.setting.home.pool);
    const byMember: (bigint | Fault)[] = [];
    let updateOutcome: bigint | Fault | undefined;
    for (const raw of own) {
      const log = this.pool.interface.parseLog(raw);
      if (log === null) throw new Error("an event that is not in the interface");
      switch (log.name) {
        case "Executed": {
          const executed = readExecuted(raw);
          if (executed === undefined) throw new Error("the pool's event does not decode");
          byMember.push(BigInt(executed.firstLeafIndex));
          this.made.push(madeBy(executed));
          for (const commitment of executed.commitments) {
            this.#append(commitment);
          }
          break;
        }
        case "NoteHashed": {
          const { statementHash, leafIndex, commitment, npk, asset, value } = log.args.toObject() as Hashed;
          // Executed of the same statement stands before it.
          if (leafIndex !== this.queue.count) throw new Error("a note was hashed into another place");
          this.#append(commitment);
          this.bought.set(statementHash, { leafIndex, commitment, npk, asset: mustAddress(asset), value });
          break;
        }
        case "Rejected":
          byMember.push(this.faultOf(log.args["reason"]));
          break;
        case "ClaimAdded":
        case "ClaimRooted":
        case "Confirmed":
        case "LeavesSuspended":
          break;
        case "RootUpdated":
          updateOutcome = log.args["sequence"];
          this.rooted = { count: update.toIndex, head: update.headAfter as Bytes32, root: update.newRoot };
          break;
        case "RootUpdateSkipped":
          updateOutcome = this.faultOf(log.args["reason"]);
          break;
        default:
          throw new Error(`unexpected event ${log.name}`);
      }
    }
    return { members: byMember, update: updateOutcome, receipt };
  }

  /** Takes the notes of a `credit` into the mirror, in order. */
  takeCredited(receipt: ContractTransactionReceipt): readonly Credited[] {
    const own = receipt.logs.filter(({ address }) => mustAddress(address) === this.setting.home.pool);
    return own.map((raw) => {
      const log = this.pool.interface.parseLog(raw);
      if (log?.name !== "Credited") throw new Error(`unexpected event ${String(log?.name)}`);
      const credited = log.args.toObject() as Credited;
      if (credited.leafIndex !== this.queue.count) throw new Error("a note was hashed into another place");
      this.#append(credited.commitment);
      return { ...credited, asset: mustAddress(credited.asset) };
    });
  }

  #append(commitment: bigint): void {
    this.queue = { count: this.queue.count + 1n, head: nextHead(this.queue.head, commitment) };
    this.leaves.push(commitment);
  }

  /** The one member's outcome. */
  async executeOne(member: Sealed, sender?: JsonRpcSigner): Promise<bigint | Fault> {
    const { members } = await this.execute([member], NO_UPDATE, sender === undefined ? {} : { sender });
    const [outcome] = members;
    if (outcome === undefined || members.length !== 1) throw new Error("one member, one outcome");
    return outcome;
  }

  faultOf(reason: string): Fault {
    const parsed = this.pool.interface.parseError(reason);
    if (parsed === null) throw new Error(`not an error of the interface: ${reason}`);
    return { error: parsed.name, args: [...(parsed.args as unknown as unknown[])] };
  }

  /** The fault with which a whole call reverts. */
  async revertOf(promise: Promise<unknown>): Promise<Fault> {
    try {
      await promise;
    } catch (error) {
      const { data } = error as { data?: string };
      if (typeof data === "string" && data.length >= 10) return this.faultOf(data);
      throw error;
    }
    throw new Error("the call did not revert");
  }

  /** The chain and what this mirror knows of it, as they are now; the result brings both back, once. */
  async remember(): Promise<() => Promise<void>> {
    const id = (await this.provider.send("evm_snapshot", [])) as string;
    const { queue, rooted } = this;
    const [{ length }, { length: statements }] = [this.leaves, this.made];
    return async () => {
      await this.provider.send("evm_revert", [id]);
      this.queue = queue;
      this.rooted = rooted;
      this.leaves.length = length;
      this.made.length = statements;
    };
  }

  /**
   * Makes the pool believe that its queue is so long, past any promise; found by looking for the slot that
   * holds leafCount in its lowest 40 bits and the rooted count above them.
   */
  async pretendLeafCount(count: bigint): Promise<void> {
    const pool = this.setting.home.pool;
    const low = 2n ** 40n - 1n;
    for (let i = 0n; i < 16n; i++) {
      const slot = zeroPadValue(toBeHex(i), 32);
      const value = BigInt(await this.provider.getStorage(pool, slot));
      if ((value & low) !== this.queue.count || ((value >> 40n) & low) !== this.rooted.count) continue;
      if (value === 0n) continue;
      const pretended = zeroPadValue(toBeHex(((value >> 40n) << 40n) | count), 32);
      await this.provider.send("anvil_setStorageAt", [pool, slot, pretended]);
      this.queue = { ...this.queue, count };
      return;
    }
    throw new Error("the position is in none of the first slots");
  }

  async increaseTime(seconds: number): Promise<void> {
    await this.provider.send("evm_increaseTime", [seconds]);
    await this.provider.send("evm_mine", []);
  }
}

function madeBy({ kind, firstLeafIndex: first, nullifiers, statement }: Executed): Made {
  const [nullifier] = nullifiers;
  const maker = nullifier === undefined ? statement : (toHex(word(nullifier)) as Bytes32);
  return { first, end: first + KINDS[kind].leaves, maker };
}

/** The same contract, called by somebody else. */
export function actingAs(contract: Contract, sender: JsonRpcSigner): Contract {
  return new Contract(contract.target, contract.interface, sender);
}

export function fault(error: string, ...args: unknown[]): Fault {
  return { error, args };
}

export function mustAddress(text: string): Address {
  const address = asAddress(text);
  if (address === undefined) throw new TypeError("not an address");
  return address;
}

/** An account that nobody used before. */
export function freshAddress(): Address {
  return mustAddress(HDNodeWallet.createRandom().address);
}

/** The log that the pool owes for a member, by the oracle. */
export function executedLogOf({ draft, statementHash }: Sealed, firstLeafIndex: bigint) {
  const { kind, ext, amount, asset, nullifiers, commitments } = draft;
  const { id, leaves } = KINDS[kind];
  const sealed = ext.slice(-(EPHEMERAL_KEY_BYTES + leaves * CIPHERTEXT_BYTES));
  const party = kind === "private-swap" ? {} : { party: toHex(ext.slice(0, 20)) };
  return executedLog({
    ...{ statementHash, kindId: id, firstLeafIndex, proofHash: keccakHex(draft.proof) },
    ...{ nullifiers, commitments, ephemeralKey: toHex(sealed.slice(0, EPHEMERAL_KEY_BYTES)) },
    ciphertexts: [toHex(sealed.slice(EPHEMERAL_KEY_BYTES))],
    ...(amount === 0n ? {} : { moved: { asset: toHex(word(asset).slice(12)), amount, ...party } }),
  });
}

/** The pool's first log of that name, as it stands in a receipt. */
export function rawLog(world: World, receipt: ContractTransactionReceipt, name: string) {
  const topic = world.pool.interface.getEvent(name)!.topicHash;
  const found = receipt.logs.find(({ topics }) => topics[0] === topic);
  return { topics: [...(found?.topics ?? [])], data: found?.data ?? "" };
}
