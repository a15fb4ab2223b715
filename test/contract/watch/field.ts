/**
 * A real chain with the real pool and real proofs, and signers whose keys the tests hold: to them an honest
 * attestation and a lie are the same work. Between watcher and chain stands a node that can be told to lie.
 */
import { Contract, HDNodeWallet, type JsonRpcProvider, type JsonRpcSigner } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract, deployTestUsdc, readKeys } from "../../../scripts/deploy/pool.ts";
import { deployPoolWithSigners, imageNamed } from "../../../scripts/stack/development-registration.ts";
import {
  attested,
  type Attester,
  attester,
  NO_UPDATE,
  type PoolRootUpdate,
  type PoolTransaction,
  sealUpdate,
  type Unsigned,
  unsigned,
} from "../../../scripts/stack/pool-transaction.ts";
import type { Finding } from "../../../scripts/watch/findings.ts";
import { memoryJournal } from "../../../scripts/watch/journal.ts";
import { connectNode } from "../../../scripts/watch/node.ts";
import { createWatcher, type Watcher, type WatcherOptions } from "../../../scripts/watch/watcher.ts";
import { signAuthorization } from "../../../shared/client/statements/authorization.ts";
import type { Fees } from "../../../shared/client/statements/fees.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import type { Prover } from "../../../shared/client/prover/prover.ts";
import { verifiedRoot } from "../../../shared/client/history/scanner.ts";
import type { OwnedNote } from "../../../shared/client/state/state.ts";
import {
  prepareDeposit,
  prepareSpend,
  prepareSwap,
  type Prepared,
  type SpendPlan,
} from "../../../shared/client/statements/statements.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import type { SpendingKey } from "../../../shared/notes/keys.ts";
import type { RootUpdate } from "../../../shared/protocol/attestation.ts";
import { mustField, ZERO_ADDRESS, ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import { compressProof, type Proof } from "../../../shared/protocol/proof.ts";
import { encodeProof, parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { kindById, KINDS, type Home, type Kind } from "../../../shared/protocol/statements.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { nextHead } from "../../../shared/protocol/tree.ts";
import { verificationKeyHash, type VerificationKey } from "../../../shared/protocol/verification-key.ts";
import {
  connect,
  FAR_DEADLINE,
  leavesOf,
  mustAddress,
  poolEvents,
  restoreFrom,
  send,
  type Restored,
} from "../../support/adversary.ts";
import { startAnvil, DEVELOPMENT_MNEMONIC, type Anvil } from "../../support/chain.ts";
import { CreditSource } from "../../support/credit-source.ts";
import { startBentNode, type BentNode } from "./bent-node.ts";

/** Of the signer and of the liar. */
export const IMAGE_NAMES = ["the signer's", "the liar's"];
export const IMAGES = IMAGE_NAMES.map(imageNamed);
export const BOND = 10n ** 18n;
export const PROVED_DELAY_SECS = 50;
const NO_FEES: Fees = { service: undefined, developer: undefined, total: 0n };

export class Field {
  readonly chain: Anvil;
  readonly node: BentNode;
  readonly provider: JsonRpcProvider;
  readonly owner: JsonRpcSigner;
  readonly prover: Prover;
  readonly pool: Contract;
  readonly home: Home;
  readonly usdc: Contract;
  readonly usdcAddress: Address;
  /** Pays whatever it was told to before, of the token that a swap asks for. */
  readonly executor: Contract;
  readonly otherToken: Contract;
  readonly fromBlock: number;
  readonly keys: Readonly<Record<Kind, VerificationKey>>;
  readonly depositor = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/1");
  /** Both are accepted; one is enough. */
  readonly signer = attester(1);
  readonly liar = attester(2);

  private constructor(
    parts: Pick<
      Field,
      | "chain"
      | "node"
      | "provider"
      | "owner"
      | "prover"
      | "pool"
      | "home"
      | "usdc"
      | "usdcAddress"
      | "executor"
      | "otherToken"
      | "fromBlock"
      | "keys"
    >,
  ) {
    this.chain = parts.chain;
    this.node = parts.node;
    this.provider = parts.provider;
    this.owner = parts.owner;
    this.prover = parts.prover;
    this.pool = parts.pool;
    this.home = parts.home;
    this.usdc = parts.usdc;
    this.usdcAddress = parts.usdcAddress;
    this.executor = parts.executor;
    this.otherToken = parts.otherToken;
    this.fromBlock = parts.fromBlock;
    this.keys = parts.keys;
  }

  static async start(): Promise<Field> {
    const chain = await startAnvil();
    const provider = connect(chain);
    const owner = await provider.getSigner(0);
    const place = async (name: string, ...args: unknown[]): Promise<Contract> => {
      const { address } = await deployContract(owner, name, args);
      return new Contract(address, (await loadArtifact(name)).abi, owner);
    };
    const usdcAddress = (await deployTestUsdc(owner)).address;
    const usdc = new Contract(usdcAddress, (await loadArtifact("TestUSDC")).abi, owner);
    const otherToken = await place("TestToken", "Other", "OTH", 18);
    const executor = await place("FixedExecutor");
    const { address, block } = await deployPoolWithSigners(owner, {
      signers: [attester(1).address, attester(2).address],
      imageNames: IMAGE_NAMES,
      signerBond: BOND,
      threshold: 1,
      changeDelay: 100,
      provedDelay: PROVED_DELAY_SECS,
      assets: [usdcAddress, mustAddress(await otherToken.getAddress())],
      executor: mustAddress(await executor.getAddress()),
    });
    const field = new Field({
      chain,
      node: await startBentNode(chain.url),
      provider,
      owner,
      prover: await developmentProver(),
      pool: new Contract(address, POOL_ABI, owner),
      home: { chainId: BigInt(chain.chainId), pool: address },
      usdc,
      usdcAddress,
      executor,
      otherToken,
      fromBlock: block,
      keys: await readKeys(COMMITTED_KEYS),
    });
    await send(usdc, "mint", field.depositor.address, 10n ** 15n);
    await send(otherToken, "mint", await executor.getAddress(), 10n ** 30n);
    return field;
  }

  async stop(): Promise<void> {
    await this.prover.close();
    this.provider.destroy();
    await this.node.close();
    await this.chain.stop();
  }

  // ---------------------------------------------------------------- what users make, with real proofs

  async deposit(keys: SpendingKey, amount: bigint): Promise<Unsigned> {
    const prepared = prepareDeposit({
      ...this.#common(keys),
      amount,
      depositor: mustAddress(this.depositor.address),
      validAfter: 0,
      validBefore: FAR_DEADLINE + 1,
    });
    const token = { name: "USD Coin", version: "2" };
    const authorization = await signAuthorization(
      this.depositor,
      prepared.statement,
      this.usdcAddress,
      token,
    );
    return this.prove(prepared, authorization);
  }

  async spend(from: Restored, payment: SpendPlan["payment"], notes: Restored["notes"]): Promise<Unsigned> {
    return this.prove(prepareSpend({ ...this.#fromNotes(from, notes), payment }));
  }

  /** The whole of one note for the other token. */
  async swap(from: Restored, note: OwnedNote, floor: bigint): Promise<Unsigned> {
    return this.prove(
      prepareSwap({
        ...this.#fromNotes(from, [note]),
        sharesIn: note.value,
        tokenOut: mustAddress(await this.otherToken.getAddress()),
        floor,
        path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
      }),
    );
  }

  async prove(
    { statement, witness }: Prepared,
    authorization = "0x",
    encode: (proof: Proof) => Uint8Array = compressProof,
  ): Promise<Unsigned> {
    const proof = parseSnarkjsProof(await this.prover.prove(statement, witness));
    if (proof === undefined) throw new Error("the prover gave no proof");
    return unsigned(statement, encode(proof), authorization);
  }

  /** With the proof that the pool verifies itself. */
  async proved(
    from: Restored,
    payment: SpendPlan["payment"],
    notes: Restored["notes"],
  ): Promise<PoolTransaction> {
    const { keys, root, inputs } = this.#fromNotes(from, notes);
    return this.provedOn(keys, root, inputs, payment);
  }

  /** On a root and paths that a wallet of today would not find: void leaves are empty there. */
  async provedOn(
    keys: SpendingKey,
    root: SpendPlan["root"],
    inputs: SpendPlan["inputs"],
    payment: SpendPlan["payment"],
  ): Promise<PoolTransaction> {
    const prepared = prepareSpend({ ...this.#common(keys), root, inputs, payment });
    return { ...(await this.prove(prepared, "0x", encodeProof)), attestations: "0x" };
  }

  #common(keys: SpendingKey) {
    return { home: this.home, keys, asset: this.usdcAddress, fees: NO_FEES, deadline: FAR_DEADLINE };
  }

  #fromNotes({ keys, state }: Restored, notes: Restored["notes"]) {
    const mark = verifiedRoot(state);
    if (mark === undefined) throw new Error("no root yet");
    const inputs = notes.map((note) => ({ note, path: state.tree.path(note.leafIndex, mark.leafCount) }));
    return { ...this.#common(keys), root: mark.root, inputs };
  }

  /** A wallet from its key and the chain. */
  async restore(keys: SpendingKey): Promise<Restored> {
    return restoreFrom(keys, await poolEvents(this.provider, this.pool));
  }

  // ---------------------------------------------------------------- what signers sign, true or not

  attested(member: Unsigned, by: readonly Attester[] = [this.signer]): PoolTransaction {
    return attested(this.home, verificationKeyHash(this.keys[kindById(member.kind)!]), member, by);
  }

  /** Over all that waits and over `more` that is still to come. */
  async rootUpdate(
    more: readonly bigint[] = [],
    changes: Partial<RootUpdate> = {},
    by: readonly Attester[] = [this.signer],
  ): Promise<PoolRootUpdate> {
    const leaves = [...leavesOf(await poolEvents(this.provider, this.pool)), ...more];
    const [oldRoot, rooted] = (await this.pool.getFunction("currentRoot")()) as [bigint, bigint, bigint];
    const frontier = emptyFrontier();
    let [headBefore, head] = [ZERO_BYTES32, ZERO_BYTES32];
    for (const [index, leaf] of leaves.entries()) {
      if (index === Number(rooted)) headBefore = head;
      frontier.append(mustField(leaf));
      head = nextHead(head, leaf);
    }
    const message: RootUpdate = {
      oldRoot: mustField(oldRoot),
      newRoot: frontier.root(),
      fromIndex: rooted,
      toIndex: frontier.leafCount,
      headBefore,
      headAfter: head,
      ...changes,
    };
    return sealUpdate(this.home, message, by);
  }

  /** Executes these with an honest root over all of it; throws unless all of it happened. */
  async settle(...members: readonly Unsigned[]): Promise<string> {
    const transactions = members.map((member) => this.attested(member));
    return this.execute(transactions, await this.rootUpdate(members.flatMap(commitmentsOf)));
  }

  /** The transaction's hash. Throws unless every member was executed and the update, if any, taken. */
  async execute(members: readonly PoolTransaction[], update: PoolRootUpdate = NO_UPDATE): Promise<string> {
    const data = this.pool.interface.encodeFunctionData("execute", [members, update]);
    return this.sendTo(this.home.pool, data, [
      ...members.map(() => "Executed"),
      ...(update === NO_UPDATE ? [] : ["RootUpdated"]),
    ]);
  }

  /** The transaction's hash. Throws unless the pool answers with these. */
  async sendTo(to: string, data: string, answers: readonly string[]): Promise<string> {
    const sent = await this.owner.sendTransaction({ to, data, gasLimit: 8_000_000n });
    const receipt = await sent.wait();
    const names = (receipt?.logs ?? [])
      .filter(({ address }) => mustAddress(address) === this.home.pool)
      .map((log) => this.pool.interface.parseLog(log)?.name ?? "unknown")
      .filter((name) => name !== "NoteHashed");
    if (String(names) !== String(answers)) throw new Error(`the pool answered ${String(names)}`);
    return sent.hash;
  }

  /** A contract that passes on to the pool whatever it is called with. */
  async carrier(): Promise<string> {
    const sent = await this.owner.sendTransaction({ data: carrierCode(this.home.pool) });
    const receipt = await sent.wait();
    if (typeof receipt?.contractAddress !== "string") throw new Error("not deployed");
    return receipt.contractAddress;
  }

  /** A contract that brings money for notes of these values. */
  source(): Promise<CreditSource> {
    return CreditSource.start(this.owner, this.home.pool, this.usdcAddress);
  }

  // ---------------------------------------------------------------- the watcher

  async watcher(options: Partial<WatcherOptions> = {}): Promise<{ watcher: Watcher; found: Finding[] }> {
    const found: Finding[] = [];
    const watcher = await createWatcher({
      node: connectNode(this.node.url, { attempts: 3, firstDelayMs: 1 }),
      home: this.home,
      fromBlock: this.fromBlock,
      confirmations: 0,
      keys: this.keys,
      journal: memoryJournal(),
      onFinding: (finding) => found.push(finding),
      retryDelayMs: 1,
      ...options,
    });
    return { watcher, found };
  }

  /** What a fresh watcher says about the whole chain, notices left out. */
  async alarms(options: Partial<WatcherOptions> = {}): Promise<readonly Finding[]> {
    const { watcher } = await this.watcher(options);
    await watcher.pass();
    return watcher.alarms;
  }

  /** A block in that second. */
  async mineAt(unixSecs: number): Promise<void> {
    await this.provider.send("evm_setNextBlockTimestamp", [unixSecs]);
    await this.provider.send("evm_mine", []);
  }

  async passTime(seconds: number): Promise<void> {
    await this.provider.send("evm_increaseTime", [seconds]);
    await this.provider.send("evm_mine", []);
  }

  /** Everything that `act` does to the chain is undone. */
  async undone<T>(act: () => Promise<T>): Promise<T> {
    const snapshot: unknown = await this.provider.send("evm_snapshot", []);
    try {
      return await act();
    } finally {
      await this.provider.send("evm_revert", [snapshot]);
    }
  }
}

const COMMITTED_KEYS = new URL("../../../shared/protocol/verification-keys", import.meta.url).pathname;

export function commitmentsOf({ kind, signals }: Unsigned): bigint[] {
  return signals.slice(-KINDS[kindById(kind)!].outputs);
}

/**
 * calldatacopy(0, 0, calldatasize); call(gas, pool, 0, 0, calldatasize, 0, 0); jumpi(0x28, success);
 * revert(0, 0); 0x28: stop. The first 12 bytes return the other 42.
 */
function carrierCode(pool: Address): string {
  return `0x602a600c600039602a6000f3363d3d373d3d363d3d73${pool.slice(2)}5af160285760006000fd5b00`;
}
