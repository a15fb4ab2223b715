// What the pool costs whoever has no service: proved transactions, `advance`, a refutation, a claim. The proofs are simulated
// under keys whose trapdoor is public, and verified on chain like any other.
import {
  Contract,
  type ContractTransactionReceipt,
  type ContractTransactionResponse,
  type JsonRpcProvider,
  type Signer,
} from "ethers";
import { prepareDeposit, prepareSpend, type SpendPlan } from "../../shared/client/statements/statements.ts";
import { POOL_ABI, TOKEN_ABI } from "../../shared/contracts/abi.ts";
import { newSeed, SpendingKey } from "../../shared/notes/keys.ts";
import { ZERO_BYTES32, type Address, type Bytes32, type Field } from "../../shared/protocol/brands.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { encodeProof } from "../../shared/protocol/host/proofs.ts";
import { compressProof, type Proof } from "../../shared/protocol/proof.ts";
import { KIND_NAMES, type Home, type Kind, type Statement } from "../../shared/protocol/statements.ts";
import { emptyFrontier } from "../../shared/protocol/host/frontier.ts";
import { nextHead } from "../../shared/protocol/tree.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
  type VerificationKey,
} from "../../shared/protocol/verification-key.ts";
import { deployTestUsdc, deployVerifiers } from "../deploy/pool.ts";
import { deployPoolWithSigners } from "../stack/development-registration.ts";
import {
  attested,
  attester,
  NO_UPDATE,
  sealUpdate,
  unsigned,
  type PoolTransaction,
} from "../stack/pool-transaction.ts";
import { nobodysNote } from "./bench/client/statements.ts";
import { trapdoorKeys } from "./bench/trapdoor/keys.ts";
import { openSimulator, type Simulator } from "./bench/trapdoor/simulator.ts";

const DEADLINE = 4_000_000_000;
const SIGNER = attester(0);
const SILENCE_SECS = 6 * 3_600;
const DAY_SECS = 86_400;

/** Gas by figure, each of a whole transaction. `sender` pays and owns; its account is where deposits come from. */
export async function measureAlone(
  provider: JsonRpcProvider,
  sender: Signer,
  chainId: bigint,
): Promise<Record<string, number>> {
  const field = await Alone.open(provider, sender, chainId);
  await field.carry([await field.deposit(10n ** 12n)]);
  await field.fill(61);
  await field.attestRoot();
  await field.passTime(DAY_SECS);
  await field.beginDay();

  const figures: Record<string, number> = {
    proved_private_transfer: await field.carry([field.proved(field.transfer())]),
    proved_withdrawal: await field.carry([field.proved(field.withdrawal(1_500_000n))]),
    proved_deposit: await field.carry([field.proved(field.plainDeposit(25_000_000n))]),
    proved_spend9: await field.carry([field.proved(field.transfer(9))]),
  };
  await field.fill(64 - field.waiting);
  await field.passTime(SILENCE_SECS);
  figures["advance_64_per_leaf"] = Math.ceil((await field.advance(64)) / 64);
  await field.fill(256);
  await field.passTime(SILENCE_SECS);
  figures["advance_256_per_leaf"] = Math.ceil((await field.advance(256)) / 256);
  // More than the window lets out: the whole of it waits.
  await field.carry([field.proved(field.withdrawal(10n ** 12n))]);
  figures["claim_payment"] = await field.payClaim(0n);
  figures["refute_statement"] = await field.forgeAndRefute();
  return figures;
}

class Alone {
  readonly #provider: JsonRpcProvider;
  readonly #pool: Contract;
  readonly #home: Home;
  readonly #usdc: Address;
  readonly #holder: Address;
  readonly #hashes: Readonly<Record<Kind, Bytes32>>;
  readonly #simulator: Simulator;
  readonly #keys = SpendingKey.fromSeed(newSeed());
  #frontier = emptyFrontier();
  #root: Field = emptyFrontier().root();
  #rootedHead: Bytes32 = ZERO_BYTES32;
  #head: Bytes32 = ZERO_BYTES32;
  #waiting: Field[] = [];

  private constructor(
    provider: JsonRpcProvider,
    pool: Contract,
    parts: {
      home: Home;
      usdc: Address;
      holder: Address;
      hashes: Readonly<Record<Kind, Bytes32>>;
      simulator: Simulator;
    },
  ) {
    this.#provider = provider;
    this.#pool = pool;
    this.#home = parts.home;
    this.#usdc = parts.usdc;
    this.#holder = parts.holder;
    this.#hashes = parts.hashes;
    this.#simulator = parts.simulator;
  }

  static async open(provider: JsonRpcProvider, sender: Signer, chainId: bigint): Promise<Alone> {
    const holder = (await sender.getAddress()) as Address;
    const usdc = (await deployTestUsdc(sender)).address;
    const token = new Contract(usdc, [...TOKEN_ABI, "function mint(address to, uint256 value)"], sender);
    const texts = await trapdoorKeys();
    const keys = eachKind((kind): VerificationKey => parseVerificationKey(texts[kind]));
    const pool = await deployPoolWithSigners(sender, {
      ...{ signers: [SIGNER.address], threshold: 1, changeDelay: 60, provedDelay: 1, assets: [usdc] },
      minimumCaps: [10_000_000n],
      verifiers: await deployVerifiers(sender, keys),
    });
    await transact(token, "mint", holder, 10n ** 14n);
    await transact(token, "approve", pool.address, 10n ** 14n);
    return new Alone(provider, new Contract(pool.address, POOL_ABI, sender), {
      ...{ home: { chainId, pool: pool.address }, usdc, holder },
      hashes: eachKind((kind) => verificationKeyHash(keys[kind])),
      simulator: await openSimulator(),
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  // ------------------------------------------------------------------ statements

  transfer(notes = 2): Statement {
    return this.#spend({ type: "transfer", to: this.#keys.viewing.address, value: 1n }, notes);
  }

  withdrawal(value: bigint): Statement {
    return this.#spend({ type: "withdraw", recipient: this.#holder, value });
  }

  plainDeposit(amount: bigint): Statement {
    const terms = { amount, depositor: this.#holder, validAfter: 0, validBefore: DEADLINE };
    return prepareDeposit({ ...this.#common(), ...terms }).statement;
  }

  async deposit(amount: bigint): Promise<PoolTransaction> {
    return this.#attested(this.plainDeposit(amount));
  }

  proved(statement: Statement): PoolTransaction {
    const proof = encodeProof(this.#simulator.prove(statement.kind, statement.signals));
    this.#queue(statement);
    return { ...unsigned(statement, proof), attestations: "0x" };
  }

  #attested(statement: Statement, proof?: Proof): PoolTransaction {
    this.#queue(statement);
    const compressed = proof === undefined ? new Uint8Array(128) : compressProof(proof);
    const member = unsigned(statement, compressed);
    return attested(this.#home, this.#hashes[statement.kind], member, [SIGNER]);
  }

  #common() {
    return {
      ...{ home: this.#home, keys: this.#keys, asset: this.#usdc, deadline: DEADLINE },
      fees: { service: undefined, developer: undefined, total: 0n },
    };
  }

  #spend(payment: SpendPlan["payment"], notes = 2): Statement {
    const inputs = Array.from({ length: notes }, () => nobodysNote(this.#usdc, payment.value));
    return prepareSpend({ ...this.#common(), root: this.#root, inputs, payment }).statement;
  }

  #queue({ facts }: Statement): void {
    for (const leaf of facts.commitments) {
      this.#waiting.push(leaf);
      this.#head = nextHead(this.#head, leaf);
    }
  }

  // ------------------------------------------------------------------ calls

  async carry(members: readonly PoolTransaction[]): Promise<number> {
    const receipt = await transact(this.#pool, "execute", members, NO_UPDATE);
    const names = receipt.logs.map((log) => this.#pool.interface.parseLog(log)?.name);
    if (names.includes("Rejected")) throw new Error(`the pool answered ${String(names)}`);
    return Number(receipt.gasUsed);
  }

  /** At least so many waiting leaves more. */
  async fill(leaves: number): Promise<void> {
    for (let made = 0; made < leaves;) {
      const members: PoolTransaction[] = [];
      for (; made < leaves && members.length < 32; made += 4) members.push(this.#attested(this.transfer()));
      await this.carry(members);
    }
  }

  async attestRoot(): Promise<void> {
    const update = {
      ...{ oldRoot: this.#root, fromIndex: this.#frontier.leafCount, headBefore: this.#rootedHead },
      ...{ newRoot: this.#append(this.#waiting.length), toIndex: this.#frontier.leafCount },
      headAfter: this.#head,
    };
    const sealed = sealUpdate(this.#home, update, [SIGNER]);
    await transact(this.#pool, "execute", [], sealed);
    await this.#mustBeRoot();
  }

  async advance(count: number): Promise<number> {
    const frontier = this.#frontier.nodes();
    const [leaves, headBefore] = [[...this.#waiting], this.#rootedHead];
    this.#append(count);
    const receipt = await transact(this.#pool, "advance", frontier, count, headBefore, leaves, []);
    await this.#mustBeRoot();
    return Number(receipt.gasUsed);
  }

  async payClaim(id: bigint): Promise<number> {
    await this.passTime(DAY_SECS);
    return Number((await transact(this.#pool, "payClaim", this.#usdc, id)).gasUsed);
  }

  /** A transfer with a proof of another statement, executed and rooted, then shown. */
  async forgeAndRefute(): Promise<number> {
    if (this.#waiting.length > 0) await this.attestRoot();
    const [statement, other] = [this.transfer(), this.transfer()];
    const proof = this.#simulator.prove(other.kind, other.signals);
    const good = this.#root;
    const transaction = this.#attested(statement, proof);
    await this.carry([transaction]);
    await this.attestRoot();
    const words = encodeProof(proof);
    const shown = {
      ...{ kind: transaction.kind, deadline: transaction.deadline, signals: transaction.signals },
      ...{ extHash: keccakHex(statement.extBytes), proof: transaction.proof },
      words: Array.from({ length: 8 }, (_, i) => toHex(words.slice(32 * i, 32 * i + 32))),
      attestations: transaction.attestations,
    };
    return Number((await transact(this.#pool, "refuteStatement", shown, good, this.#root)).gasUsed);
  }

  /** The brakes count by days: what is measured must not depend on the hour at which that is done. */
  async beginDay(): Promise<void> {
    const block = await this.#provider.getBlock("latest");
    await this.passTime(DAY_SECS - ((block?.timestamp ?? 0) % DAY_SECS));
  }

  async passTime(secs: number): Promise<void> {
    await this.#provider.send("evm_increaseTime", [secs]);
    await this.#provider.send("evm_mine", []);
  }

  #append(count: number): Field {
    for (const leaf of this.#waiting.splice(0, count)) {
      if (!this.#frontier.append(leaf)) throw new Error("the tree is full");
      this.#rootedHead = nextHead(this.#rootedHead, leaf);
    }
    this.#root = this.#frontier.root();
    return this.#root;
  }

  async #mustBeRoot(): Promise<void> {
    const [root] = (await this.#pool.getFunction("currentRoot")()) as [bigint];
    if (root !== this.#root) throw new Error("the pool has another root");
  }
}

function eachKind<T>(make: (kind: Kind) => T): Record<Kind, T> {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, make(kind)])) as Record<Kind, T>;
}

export async function transact(
  contract: Contract,
  name: string,
  ...args: readonly unknown[]
): Promise<ContractTransactionReceipt> {
  const sent = (await contract.getFunction(name)(...args)) as ContractTransactionResponse;
  const receipt = await sent.wait();
  if (receipt === null) throw new Error(`${name} was not mined`);
  return receipt;
}
