/**
 * The field on which the adversarial tests fight: a real chain, the real contracts, the real enclave program in
 * its own process, and proofs of the client library. It holds no test double: whatever an attacker sends here
 * meets the code that would meet it in production.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  Contract,
  HDNodeWallet,
  JsonRpcProvider,
  type ContractRunner,
  type ErrorDescription,
  type JsonRpcSigner,
} from "ethers";
import { loadArtifact } from "../../scripts/build/contracts.ts";
import { deployTestUsdc } from "../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../scripts/stack/development-registration.ts";
import { startServingEnclave } from "../../scripts/stack/serving-enclave.ts";
import type { SimulatedEnclave } from "../../scripts/stand-ins/platform/main.ts";
import {
  NO_UPDATE,
  type PoolRootUpdate,
  type PoolTransaction,
  unsigned,
} from "../../scripts/stack/pool-transaction.ts";
import type { StreamEvent } from "../../shared/api/data.ts";
import { signAuthorization } from "../../shared/client/statements/authorization.ts";
import type { Fees } from "../../shared/client/statements/fees.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import type { Prover } from "../../shared/client/prover/prover.ts";
import { applyEvent, verifiedRoot } from "../../shared/client/history/scanner.ts";
import { WalletState, type OwnedNote } from "../../shared/client/state/state.ts";
import {
  prepareDeposit,
  prepareSpend,
  type Prepared,
  type SpendPlan,
} from "../../shared/client/statements/statements.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { newSeed, SpendingKey } from "../../shared/notes/keys.ts";
import { mustField, ZERO_BYTES32, type Address, type Bytes32 } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { concatBytes, mustFromHex, toHex, word } from "../../shared/protocol/bytes.ts";
import type {
  AttestRequest,
  AttestRootRequest,
  EnclaveReply,
} from "../../shared/protocol/enclave-messages.ts";
import { compressProof, type Proof } from "../../shared/protocol/proof.ts";
import { readExecuted, type Executed } from "../../shared/protocol/host/executed-log.ts";
import { encodeProof, parseSnarkjsProof } from "../../shared/protocol/host/proofs.ts";
import { KINDS, type Home, type Kind, type Statement } from "../../shared/protocol/statements.ts";
import { emptyFrontier } from "../../shared/protocol/host/frontier.ts";
import { nextHead } from "../../shared/protocol/tree.ts";
import { FrameClient } from "../unit/enclave/support/frame-client.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "./chain.ts";

/** A statement with its proof, as a user's device makes it. `authorization` is empty for a spend. */
export interface Signed {
  readonly statement: Statement;
  readonly proof: Proof;
  readonly authorization: string;
}

export type Attested = Extract<EnclaveReply, { type: "attest" }>;
export type AttestedRoot = Extract<EnclaveReply, { type: "attest-root" }>;

/** What one call of `execute` did: by member, "executed" or the name of the pool's error; the same for the update. */
export interface Outcome {
  readonly members: readonly string[];
  /** "taken", the error's name, or undefined when there was no update. */
  readonly update: string | undefined;
  /** The arguments of the members' errors, in order of the errors. */
  readonly reasons: readonly (readonly unknown[])[];
}

const NO_FEES: Fees = { service: undefined, developer: undefined, total: 0n };
export const FAR_DEADLINE = 4_000_000_000;

export class Battlefield {
  readonly chain: Anvil;
  readonly provider: JsonRpcProvider;
  readonly platform: SimulatedEnclave;
  readonly enclave: FrameClient;
  readonly signer: Address;
  readonly prover: Prover;
  readonly pool: Contract;
  readonly usdc: Contract;
  readonly usdcAddress: Address;
  readonly home: Home;
  readonly owner: JsonRpcSigner;
  /** Account 1, with test dollars. */
  readonly depositor: HDNodeWallet;
  readonly #folder: string;

  private constructor(
    parts: Pick<
      Battlefield,
      | "chain"
      | "provider"
      | "platform"
      | "enclave"
      | "signer"
      | "prover"
      | "pool"
      | "usdc"
      | "usdcAddress"
      | "home"
      | "owner"
    >,
    folder: string,
  ) {
    this.chain = parts.chain;
    this.provider = parts.provider;
    this.platform = parts.platform;
    this.enclave = parts.enclave;
    this.signer = parts.signer;
    this.prover = parts.prover;
    this.pool = parts.pool;
    this.usdc = parts.usdc;
    this.usdcAddress = parts.usdcAddress;
    this.home = parts.home;
    this.owner = parts.owner;
    this.depositor = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/1");
    this.#folder = folder;
  }

  /** With signers beside the enclave's the pool asks for an attestation of each. */
  static async start(beside: readonly Address[] = []): Promise<Battlefield> {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-adversary-"));
    const platform = await startServingEnclave({ folder: path.join(folder, "enclave") });
    const chain = await startAnvil();
    const enclave = await FrameClient.connect(platform.vsockPath, { handshake: true });
    const signer = await signerOf(enclave);
    const prover = await developmentProver();
    const provider = connect(chain);
    const owner = await provider.getSigner(0);
    const usdcAddress = (await deployTestUsdc(owner)).address;
    const pool = await deployPoolFor(owner, [signer, ...beside], usdcAddress);
    const usdc = new Contract(usdcAddress, (await loadArtifact("TestUSDC")).abi, owner);
    const home = { chainId: BigInt(chain.chainId), pool: mustAddress(await pool.getAddress()) };
    const parts = {
      chain,
      provider,
      platform,
      enclave,
      signer,
      prover,
      pool,
      usdc,
      usdcAddress,
      home,
      owner,
    };
    const field = new Battlefield(parts, folder);
    await send(usdc, "mint", field.depositor.address, 10n ** 15n);
    return field;
  }

  async stop(): Promise<void> {
    await this.prover.close();
    this.enclave.end();
    await this.platform.stop();
    this.provider.destroy();
    await this.chain.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  account(n: number): Promise<JsonRpcSigner> {
    return this.provider.getSigner(n);
  }

  // ---------------------------------------------------------------- what a user's device makes

  /** A deposit of `amount` by the depositor for `keys`, proved and authorized. */
  async deposit(keys: SpendingKey, amount: bigint, deadline = FAR_DEADLINE): Promise<Signed> {
    const prepared = this.prepareDeposit(keys, amount, deadline);
    return { ...(await this.prove(prepared)), authorization: await this.authorize(prepared.statement) };
  }

  prepareDeposit(keys: SpendingKey, amount: bigint, deadline = FAR_DEADLINE): Prepared {
    const depositor = mustAddress(this.depositor.address);
    const asset = this.usdcAddress;
    const bounds = { validAfter: 0, validBefore: deadline + 1 };
    return prepareDeposit({
      home: this.home,
      keys,
      asset,
      fees: NO_FEES,
      deadline,
      amount,
      depositor,
      ...bounds,
    });
  }

  authorize(statement: Statement): Promise<string> {
    const token = { name: "USD Coin", version: "2" };
    return signAuthorization(this.depositor, statement, this.usdcAddress, token);
  }

  /** A spend of notes that `restored` found, under the newest root that it found. */
  async spend(restored: Restored, plan: SpendTerms): Promise<Signed> {
    return this.prove(this.prepareSpend(restored, plan));
  }

  prepareSpend({ keys, state }: Restored, { notes, payment, deadline = FAR_DEADLINE }: SpendTerms): Prepared {
    const mark = verifiedRoot(state);
    if (mark === undefined) throw new Error("no root yet");
    const inputs = notes.map((note) => ({ note, path: state.tree.path(note.leafIndex, mark.leafCount) }));
    const asset = this.usdcAddress;
    return prepareSpend({
      home: this.home,
      keys,
      asset,
      fees: NO_FEES,
      deadline,
      root: mark.root,
      inputs,
      payment,
    });
  }

  async prove({ statement, witness }: Prepared): Promise<Signed> {
    const proof = parseSnarkjsProof(await this.prover.prove(statement, witness));
    if (proof === undefined) throw new Error("the prover gave no proof");
    return { statement, proof, authorization: "0x" };
  }

  // ---------------------------------------------------------------- what a proxy carries

  async attest(signed: Signed): Promise<Attested> {
    const reply = await this.enclave.ask(attestRequest(signed));
    if (reply.type !== "attest") throw new Error(`not attested: ${JSON.stringify(reply)}`);
    return reply;
  }

  async transaction(signed: Signed): Promise<PoolTransaction> {
    return poolTransaction(signed, (await this.attest(signed)).signature);
  }

  /** The request over the pool's waiting leaves up to `toIndex`, and over `more` that are still to come. */
  async rootRequest(more: readonly bigint[] = [], toIndex?: number): Promise<AttestRootRequest> {
    const leaves = [...leavesOf(await this.events()), ...more];
    const [, rooted] = (await this.pool.getFunction("currentRoot")()) as [bigint, bigint, bigint];
    const frontier = emptyFrontier();
    let headBefore: Bytes32 = ZERO_BYTES32;
    for (const leaf of leaves.slice(0, Number(rooted))) {
      frontier.append(mustField(leaf));
      headBefore = nextHead(headBefore, leaf);
    }
    return {
      type: "attest-root",
      ...this.home,
      fromIndex: rooted,
      headBefore,
      frontier: frontier.nodes(),
      leaves: leaves.slice(Number(rooted), toIndex),
    };
  }

  async attestRoot(request: AttestRootRequest): Promise<PoolRootUpdate> {
    const reply = await this.enclave.ask(request);
    if (reply.type !== "attest-root") throw new Error(`not attested: ${JSON.stringify(reply)}`);
    return poolRootUpdate(request, reply);
  }

  /** Executes what honest people sent, with a root over all of it; throws unless all of it happened. */
  async settle(...signed: readonly Signed[]): Promise<void> {
    const transactions: PoolTransaction[] = [];
    for (const one of signed) transactions.push(await this.transaction(one));
    const update = await this.attestRoot(
      await this.rootRequest(signed.flatMap(({ statement }) => statement.facts.commitments)),
    );
    const outcome = await this.execute(transactions, update);
    if (outcome.members.some((member) => member !== "executed") || outcome.update !== "taken") {
      throw new Error(`not settled: ${JSON.stringify(outcome.members)} ${String(outcome.update)}`);
    }
  }

  async execute(
    transactions: readonly PoolTransaction[],
    update: PoolRootUpdate = NO_UPDATE,
    { pool = this.pool, sender }: { pool?: Contract; sender?: JsonRpcSigner } = {},
  ): Promise<Outcome> {
    const bound = sender === undefined ? pool : as(pool, sender);
    // An estimate is made in the second of the block before, in which a full bucket is written as it was, and costs less.
    const estimate = await bound.getFunction("execute").estimateGas(transactions, update);
    const receipt = await send(bound, "execute", transactions, update, { gasLimit: estimate + 10_000n });
    const target = (await pool.getAddress()).toLowerCase();
    const members: string[] = [];
    const reasons: (readonly unknown[])[] = [];
    let updateOutcome: string | undefined;
    for (const log of receipt.logs) {
      if (log.address.toLowerCase() !== target) continue;
      const parsed = pool.interface.parseLog(log);
      if (parsed === null) throw new Error("an event that is not in the interface");
      const errorOf = (): ErrorDescription | null =>
        pool.interface.parseError(parsed.args["reason"] as string);
      if (parsed.name === "Executed") members.push("executed");
      else if (parsed.name === "Rejected") {
        const error = errorOf();
        members.push(error?.name ?? "unknown");
        reasons.push(error === null ? [] : [...(error.args as unknown as unknown[])]);
      } else if (parsed.name === "RootUpdated") updateOutcome = "taken";
      else if (parsed.name === "RootUpdateSkipped") updateOutcome = errorOf()?.name;
    }
    return { members, update: updateOutcome, reasons };
  }

  /** The one transaction's outcome. */
  async executeOne(transaction: PoolTransaction, sender?: JsonRpcSigner): Promise<string> {
    const { members } = await this.execute([transaction], NO_UPDATE, sender === undefined ? {} : { sender });
    if (members.length !== 1) throw new Error("one member, one outcome");
    return members[0]!;
  }

  // ---------------------------------------------------------------- what the chain says

  /** The pool's whole log in the words of the event stream; read from the chain alone. */
  async events(): Promise<StreamEvent[]> {
    return poolEvents(this.provider, this.pool);
  }

  /** A wallet as its owner gets it back from the key and the chain. */
  async restore(keys: SpendingKey): Promise<Restored> {
    return restoreFrom(keys, await this.events());
  }

  /** All that an attack might have changed. */
  async snapshot(accounts: readonly string[] = [], nullifiers: readonly bigint[] = []): Promise<unknown> {
    const call = (name: string, ...args: unknown[]): Promise<unknown> =>
      this.pool.getFunction(name)(...args) as Promise<unknown>;
    const balanceOf = (account: string): Promise<unknown> =>
      this.usdc.getFunction("balanceOf")(account) as Promise<unknown>;
    return {
      queue: [...((await call("queue")) as unknown[])],
      root: [...((await call("currentRoot")) as unknown[])],
      pool: await balanceOf(this.home.pool),
      depositor: await balanceOf(this.depositor.address),
      accounts: await Promise.all(accounts.map(balanceOf)),
      spent: await Promise.all(nullifiers.map((nullifier) => call("isSpent", nullifier))),
    };
  }
}

export interface SpendTerms {
  readonly notes: readonly OwnedNote[];
  readonly payment: SpendPlan["payment"];
  readonly deadline?: number;
}

export interface Restored {
  readonly keys: SpendingKey;
  readonly state: WalletState;
  /** Unspent, oldest first. */
  readonly notes: readonly OwnedNote[];
  readonly balance: bigint;
}

// ---------------------------------------------------------------- pieces for tests that bend things

export function freshKeys(): SpendingKey {
  return SpendingKey.fromSeed(newSeed());
}

export function mustAddress(text: string): Address {
  const address = asAddress(text);
  if (address === undefined) throw new TypeError("not an address");
  return address;
}

export function freshAddress(): Address {
  return mustAddress(HDNodeWallet.createRandom().address);
}

export function connect(chain: Anvil): JsonRpcProvider {
  return new JsonRpcProvider(chain.url, chain.chainId, {
    staticNetwork: true,
    cacheTimeout: -1,
    pollingInterval: 10,
  });
}

export async function deployPoolFor(
  owner: JsonRpcSigner,
  signers: Address | readonly Address[],
  asset: Address,
): Promise<Contract> {
  const all = [signers].flat();
  const { address } = await deployPoolWithSigners(owner, {
    signers: all,
    threshold: all.length,
    changeDelay: 100,
    assets: [asset],
  });
  return new Contract(address, POOL_ABI, owner);
}

export async function signerOf(enclave: FrameClient): Promise<Address> {
  const status = await enclave.ask({ type: "status" });
  if (status.type !== "status") throw new Error("no status");
  return status.signer;
}

/** The same contract, called by somebody else. */
export function as(contract: Contract, caller: ContractRunner): Contract {
  return new Contract(contract.target, contract.interface, caller);
}

interface Receipt {
  readonly logs: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
}

/** Sends and waits until it is mined. */
export async function send(contract: Contract, name: string, ...args: unknown[]): Promise<Receipt> {
  const sent = (await contract.getFunction(name)(...args)) as { wait(): Promise<Receipt> };
  return sent.wait();
}

/** The selector's name with which a call reverts. */
export async function revertOf(contract: Contract, name: string, ...args: unknown[]): Promise<string> {
  try {
    await contract.getFunction(name).staticCall(...args);
  } catch (error) {
    const { data } = error as { data?: string };
    const parsed = typeof data === "string" ? contract.interface.parseError(data) : null;
    if (parsed !== null) return parsed.name;
    throw error;
  }
  return "nothing";
}

export function attestRequest(
  { statement, proof }: Signed,
  changes: Partial<AttestRequest> = {},
): AttestRequest {
  return {
    type: "attest",
    ...statement.home,
    kindId: KINDS[statement.kind].id,
    deadline: statement.deadline,
    proof: encodeProof(proof),
    signals: statement.signals,
    ext: statement.extBytes,
    ...changes,
  };
}

export function poolTransaction(
  { statement, proof, authorization }: Signed,
  attestation: Uint8Array,
  changes: Partial<PoolTransaction> = {},
): PoolTransaction {
  const member = unsigned(statement, compressProof(proof), authorization);
  return { ...member, attestations: toHex(attestation), ...changes };
}

export function poolRootUpdate(request: AttestRootRequest, reply: AttestedRoot): PoolRootUpdate {
  return {
    oldRoot: reply.oldRoot,
    newRoot: reply.newRoot,
    fromIndex: request.fromIndex,
    toIndex: reply.toIndex,
    headBefore: request.headBefore,
    headAfter: reply.headAfter,
    attestations: toHex(reply.signature),
  };
}

export async function poolEvents(provider: JsonRpcProvider, pool: Contract): Promise<StreamEvent[]> {
  const logs = await provider.getLogs({ address: await pool.getAddress(), fromBlock: 0, toBlock: "latest" });
  const events: StreamEvent[] = [];
  const push = (event: { kind: "leaf" | "nullifier" | "root"; data: unknown }): void =>
    void events.push({ ...event, id: undefined } as StreamEvent);
  /** The one before: a swap's last ciphertext is of the note that `NoteHashed` reports. */
  let executed: Executed | undefined;
  const sealed = (output: number) => ({
    ephemeral_key: toHex(executed!.ephemeralKey),
    output,
    ciphertext: toHex(executed!.ciphertexts[output]!),
  });
  for (const log of logs) {
    const parsed = pool.interface.parseLog(log);
    const at = { tx_hash: log.transactionHash, block_number: log.blockNumber };
    if (parsed?.name === "Executed") {
      executed = readExecuted(log);
      if (executed === undefined) throw new Error("the pool's event does not decode");
      const { kind, firstLeafIndex, nullifiers, commitments } = executed;
      const source = kind === "deposit-shield" ? "deposit" : kind === "private-swap" ? "swap" : "spend";
      for (const nullifier of nullifiers) {
        push({ kind: "nullifier", data: { nullifier: toHex(word(nullifier)), ...at } });
      }
      commitments.forEach((commitment, output) => {
        push({
          kind: "leaf",
          data: {
            index: firstLeafIndex + output,
            commitment: toHex(word(commitment)),
            ...sealed(output),
            source,
            ...at,
          },
        });
      });
    } else if (parsed?.name === "NoteHashed") {
      push({
        kind: "leaf",
        data: {
          index: Number(parsed.args["leafIndex"]),
          commitment: toHex(word(parsed.args["commitment"] as bigint)),
          ...sealed(KINDS["private-swap"].outputs),
          source: "swap",
          npk: toHex(word(parsed.args["npk"] as bigint)),
          asset: parsed.args["asset"] as string,
          value: String(parsed.args["value"]),
          ...at,
        },
      });
    } else if (parsed?.name === "Credited") {
      const { leafIndex, commitment, npk, asset, value, ephemeralKey, ciphertext } = parsed.args.toObject();
      push({
        kind: "leaf",
        data: {
          ...{ index: Number(leafIndex), commitment: toHex(word(commitment as bigint)) },
          ...{ ephemeral_key: ephemeralKey as string, output: 0, ciphertext: ciphertext as string },
          ...{ source: "forwarder", npk: toHex(word(npk as bigint)), asset: asset as string },
          value: String(value),
          ...at,
        },
      });
    } else if (parsed?.name === "RootUpdated") {
      const root = toHex(word(parsed.args["root"] as bigint));
      push({
        kind: "root",
        data: { root, leaf_count: Number(parsed.args["leafCount"]), block_number: at.block_number },
      });
    }
  }
  return events;
}

/** Every leaf in order, as numbers. */
export function leavesOf(events: readonly StreamEvent[]): bigint[] {
  return events.flatMap((event) => (event.kind === "leaf" ? [BigInt(event.data.commitment)] : []));
}

/** Throws when the leaves do not give the pool's root. */
export function restoreFrom(keys: SpendingKey, events: readonly StreamEvent[]): Restored {
  const state = new WalletState();
  for (const event of events) applyEvent(state, keys.viewing, event);
  verifiedRoot(state);
  const notes = [...state.notes.values()].filter(({ spent }) => spent === undefined);
  return { keys, state, notes, balance: notes.reduce((sum, { value }) => sum + value, 0n) };
}

/** One byte changed. */
export function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const changed = bytes.slice();
  changed[at] = changed[at]! ^ 1;
  return changed;
}

/** `ext` with other first 20 bytes: the recipient of a spend, the depositor of a deposit. */
export function withParty(ext: Uint8Array, party: Address): Uint8Array {
  return concatBytes(mustFromHex(party), ext.slice(20));
}

export function withSignal(signals: readonly bigint[], position: number, value: bigint): bigint[] {
  return signals.map((signal, at) => (at === position ? value : signal));
}

/** Position of a public signal, by the compiler's name. */
export function positionOf(kind: Kind, name: string): number {
  let at = 0;
  for (const [signal, count] of Object.entries(KINDS[kind].signals)) {
    if (signal === name) return at;
    at += count;
  }
  throw new TypeError(`no signal ${name}`);
}
