/**
 * The proxy's money path on a real chain with the real contracts and a real store on disk. Only the enclave
 * is stood in for: a link that signs the true digests with a test key and verifies no proof, so that these
 * tests need no proving. The end-to-end tests use the real one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { HDNodeWallet } from "ethers";
import { Contract, JsonRpcProvider, Wallet, type JsonRpcSigner } from "ethers";
import { pino } from "pino";
import { loadArtifact } from "../../scripts/build/contracts.ts";
import { committedKeyHashes, deployTestUsdc } from "../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../scripts/stack/development-registration.ts";
import { authorize, depositDraft, type Draft, seal, type Setting, signalsOf, spendDraft } from "./drafts.ts";
import { type Attester, attester, signatureBytes } from "../../scripts/stack/pool-transaction.ts";
import { Pool } from "../../proxy/base/chain/pool.ts";
import { createChain, type Chain } from "../../proxy/base/chain/provider.ts";
import { recoverSigner } from "../../proxy/base/chain/recovery.ts";
import { createTokens, type Tokens } from "../../proxy/base/chain/token.ts";
import { createAttestor, type Attestor } from "../../proxy/api/enclave-link/attestor.ts";
import type { Disagreements } from "../../proxy/api/enclave-link/disagreements.ts";
import { EnclaveUnreachable, type EnclaveLink } from "../../proxy/api/enclave-link/link.ts";
import type { Owner } from "../../proxy/base/http/state.ts";
import type { Logger } from "../../proxy/base/logging.ts";
import { createMetrics, type Metrics } from "../../proxy/base/observe/metrics.ts";
import { Indexer } from "../../proxy/api/merkle/indexer.ts";
import type { ChainDataStore, StoredRoot } from "../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../proxy/base/store/lmdb/database.ts";
import { embeddedStores, type InstanceStores } from "../../proxy/base/store/instance.ts";
import type { TicketStore } from "../../proxy/base/store/ticket-store.ts";
import type { TicketRecord } from "../../proxy/base/store/tickets.ts";
import type { Errands } from "../../proxy/base/chain/errands.ts";
import { createGasWallet } from "../../proxy/base/chain/gas-wallet.ts";
import { Sequencer, type SequencerOptions } from "../../proxy/api/sequencer/sequencer.ts";
import { logAccepted } from "../../proxy/api/sequencer/reporting.ts";
import { createEarlier, type Earlier } from "../../proxy/api/payments/earlier.ts";
import { enqueue, type QueueParts } from "../../proxy/api/payments/payments.service.ts";
import { createTickets, type Tickets } from "../../proxy/api/payments/tickets.ts";
import { attestationDigest, rootUpdateDigest } from "../../shared/protocol/attestation.ts";
import { mustField, type Address, type Field } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { decodeProof, proofHashOf, type Proof } from "../../shared/protocol/proof.ts";
import {
  checkStatement,
  kindById,
  statementHashOf,
  type Home,
  type Statement,
} from "../../shared/protocol/statements.ts";
import { Frontier, nextHead } from "../../shared/protocol/tree.ts";
import { startAnvil, type Anvil } from "./chain.ts";
import { until } from "./until.ts";
import { startWire, type Wire } from "./wire.ts";

export const OWNER: Owner = { developerId: "d1", sub: "user" };
/** Canonical coordinates, and no proof of anything. */
export const NO_PROOF: Proof = {
  a: [1n, 2n],
  b: [
    [3n, 4n],
    [5n, 6n],
  ],
  // No point of the curve: x³ + 3 is no square.
  c: [4n, 8n],
};
export const SILENT = pino({ level: "silent" });
const SENDER_KEY = `0x${"5e".repeat(32)}`;

export interface MadeStatement {
  readonly statement: Statement;
  readonly authorization: Uint8Array;
  readonly draft: Draft;
}

/** Signs what it is asked to, as an enclave whose every proof verifies. Can be switched off. */
/** Of an instance with one kind of verifier. */
export const NO_DISAGREEMENTS: Pick<Disagreements, "open" | "report"> = {
  open: () => 0,
  report: () => Promise.reject(new Error("two kinds of verifier, where there is one")),
};

export class SigningLink implements EnclaveLink {
  isUnreachable = false;
  asked = 0;
  signer: Attester;
  readonly #keyHashes: Readonly<Record<string, string>>;

  constructor(signer: Attester, keyHashes: Readonly<Record<string, string>>) {
    this.signer = signer;
    this.#keyHashes = keyHashes;
  }

  ask: EnclaveLink["ask"] = async (request) => {
    if (this.isUnreachable) throw new EnclaveUnreachable("switched off");
    this.asked += 1;
    switch (request.type) {
      case "status":
        return {
          type: "status",
          phase: "serving",
          signer: this.signer.address,
          configurationHash: `0x${"00".repeat(32)}` as never,
          circuitsHash: `0x${"00".repeat(32)}` as never,
        };
      case "attestation":
        return { type: "attestation", document: request.nonce };
      case "attest": {
        const kind = kindById(request.kindId)!;
        const proofHash = proofHashOf(decodeProof(request.proof)!);
        const statementHash = statementHashOf(kind, request.deadline, request.signals, request.ext);
        const verifyingKeyHash = this.#keyHashes[kind] as never;
        const message = { kind, verifyingKeyHash, statementHash, proofHash, deadline: request.deadline };
        const signature = signatureBytes(this.signer.key, attestationDigest(request, message));
        return { type: "attest", statementHash, proofHash, signature };
      }
      case "attest-root": {
        const tree = Frontier.from(request.fromIndex, request.frontier.map(mustField))!;
        const oldRoot = tree.root();
        let headAfter = request.headBefore;
        for (const leaf of request.leaves) {
          tree.append(mustField(leaf));
          headAfter = nextHead(headAfter, leaf);
        }
        const { fromIndex, headBefore } = request;
        const message = {
          oldRoot,
          newRoot: tree.root(),
          fromIndex,
          toIndex: tree.leafCount,
          headBefore,
          headAfter,
        };
        const signature = signatureBytes(this.signer.key, rootUpdateDigest(request, message));
        return {
          type: "attest-root",
          oldRoot,
          newRoot: message.newRoot,
          toIndex: message.toIndex,
          headAfter,
          signature,
        };
      }
      case "genesis":
      case "release-request":
      case "restore":
        return { type: "refused", code: "WRONG_PHASE" };
    }
  };

  close(): void {
    this.isUnreachable = true;
  }
}

/** What a process has in memory; `Money.restart` throws it away and begins again on the same folder. */
interface Running {
  readonly database: Database;
  readonly stores: InstanceStores;
  readonly data: ChainDataStore;
  readonly indexer: Indexer;
  readonly tickets: Tickets;
  readonly sequencer: Sequencer;
}

export class Money {
  readonly anvil: Anvil;
  /** Between the proxy's parts and the chain; `provider` and `rpc` go past it. */
  readonly wire: Wire;
  readonly provider: JsonRpcProvider;
  readonly owner: JsonRpcSigner;
  readonly chain: Chain;
  readonly pool: Pool;
  readonly tokens: Tokens;
  readonly usdc: Contract;
  readonly usdcAddress: Address;
  readonly home: Home;
  readonly setting: Setting;
  readonly link: SigningLink;
  readonly attestor: Attestor;
  readonly options: SequencerOptions;
  readonly sender: Address;
  now: () => number = Date.now;
  /** These four are taken up by the next `restart`. */
  indexEveryMs = 40;
  logger: Logger = SILENT;
  metrics: Metrics = createMetrics();
  errands: Errands | undefined;
  #running: Running;
  readonly folder: string;
  readonly deploymentBlock: number;

  static async start(options: Partial<SequencerOptions> = {}): Promise<Money> {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-money-"));
    const anvil = await startAnvil();
    const wire = await startWire(anvil.port);
    const provider = new JsonRpcProvider(anvil.url, anvil.chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 20,
    });
    const owner = await provider.getSigner(0);
    const usdc = await deployTestUsdc(owner);
    const keyHashes = await committedKeyHashes();
    const signers = [attester(1).address, attester(2).address];
    const deployed = await deployPoolWithSigners(owner, {
      signers,
      threshold: 1,
      changeDelay: 1,
      assets: [usdc.address],
      guardian: asAddress(owner.address)!,
    });
    const contract = new Contract(usdc.address, (await loadArtifact("TestUSDC")).abi, owner);
    return new Money(
      folder,
      anvil,
      wire,
      provider,
      owner,
      contract,
      deployed.address,
      deployed.block,
      keyHashes,
      options,
    );
  }

  private constructor(
    folder: string,
    anvil: Anvil,
    wire: Wire,
    provider: JsonRpcProvider,
    owner: JsonRpcSigner,
    usdc: Contract,
    poolAddress: Address,
    deploymentBlock: number,
    keyHashes: Awaited<ReturnType<typeof committedKeyHashes>>,
    options: Partial<SequencerOptions>,
  ) {
    this.folder = folder;
    this.deploymentBlock = deploymentBlock;
    this.anvil = anvil;
    this.wire = wire;
    this.provider = provider;
    this.owner = owner;
    this.usdc = usdc;
    this.usdcAddress = asAddress(usdc.target)!;
    this.chain = createChain(wire.url, BigInt(anvil.chainId));
    this.pool = new Pool(this.chain, poolAddress);
    this.home = this.pool.home;
    this.tokens = createTokens(this.chain);
    this.link = new SigningLink(attester(1), keyHashes);
    this.attestor = createAttestor(
      [this.link],
      {
        home: this.home,
        threshold: () => this.pool.threshold(),
        kindOf: (signer) => this.pool.signerKind(signer),
        verifyingKeyHash: (kind) => this.pool.verifyingKeyHash(kind),
        recover: recoverSigner,
      },
      NO_DISAGREEMENTS,
    );
    this.setting = {
      home: this.home,
      deadline: BigInt(Math.floor(Date.now() / 1000) + 3600),
      verifyingKeyHashes: keyHashes,
      attesters: [attester(1)],
    };
    this.options = { confirmations: 3, pollIntervalMs: 40, ...options };
    this.sender = createGasWallet(SENDER_KEY, this.home.chainId).address;
    this.#running = this.#open();
  }

  get data(): ChainDataStore {
    return this.#running.data;
  }
  get database(): Database {
    return this.#running.database;
  }
  /** Of now: a restart opens others. */
  get stores(): InstanceStores {
    return this.#running.stores;
  }
  get store(): TicketStore {
    return this.stores.tickets;
  }
  get indexer(): Indexer {
    return this.#running.indexer;
  }
  get tickets(): Tickets {
    return this.#running.tickets;
  }
  get sequencer(): Sequencer {
    return this.#running.sequencer;
  }
  /** What looks tickets up and puts new ones into the order. */
  get accepting(): QueueParts & { readonly earlier: Earlier } {
    const { store, data, metrics, logger } = this;
    return {
      ...{ store, earlier: createEarlier(store, (statement) => data.execution(statement)) },
      ...{ maxWaiting: 50, onAccepted: logAccepted(metrics, logger), now: () => this.now() },
    };
  }

  #open(): Running {
    const database = openDatabase(this.folder);
    const data = openChainDataStore(database);
    const stores = embeddedStores(database);
    const { lease, tickets: store } = stores;
    const indexer = new Indexer(this.chain, this.pool, data, SILENT, {
      deploymentBlock: this.deploymentBlock,
      pollIntervalMs: this.indexEveryMs,
    });
    const tickets = createTickets(store, {
      tipNumber: () => data.tip()?.number,
      blockedBy: (kind) => this.sequencer.blockedBy(kind),
    });
    const sequencer = new Sequencer(
      {
        chain: this.chain,
        pool: this.pool,
        tokens: this.tokens,
        attestor: this.attestor,
        store,
        lease,
        data,
        tree: indexer.tree,
        sync: () => indexer.sync(),
        wallet: createGasWallet(SENDER_KEY, this.home.chainId),
        ...(this.errands === undefined ? {} : { errands: this.errands }),
        logger: this.logger,
        metrics: this.metrics,
        now: () => this.now(),
      },
      this.options,
    );
    return { database, data, stores, indexer, tickets, sequencer };
  }

  /** Starts indexer and sequencer; the wallet gets its coins. */
  async run(): Promise<void> {
    await this.fund(10n ** 21n);
    await this.indexer.start();
    this.sequencer.start();
  }

  fund(wei: bigint): Promise<unknown> {
    return this.rpc("anvil_setBalance", [this.sender, `0x${wei.toString(16)}`]);
  }

  async halt(): Promise<void> {
    await this.sequencer.stop();
    await this.indexer.stop();
    await this.#running.database.close();
  }

  /** After `halt`: a new process on the same folder, as far as memory goes. */
  async reopen(): Promise<void> {
    this.#running = this.#open();
  }
  async restart(): Promise<void> {
    await this.halt();
    await this.reopen();
  }

  async stop(): Promise<void> {
    await this.halt();
    this.provider.destroy();
    await this.wire.close();
    await this.anvil.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  rpc(method: string, params: unknown[] = []): Promise<unknown> {
    return this.provider.send(method, params) as Promise<unknown>;
  }
  mine(blocks = 1): Promise<unknown> {
    return this.rpc("anvil_mine", [`0x${blocks.toString(16)}`]);
  }

  /** A fresh account with so much USDC. */
  async depositor(amount: bigint): Promise<HDNodeWallet> {
    const account = Wallet.createRandom(this.provider);
    await (
      await (this.usdc["mint"]!(account.address, amount) as Promise<{ wait(): Promise<unknown> }>)
    ).wait();
    return account;
  }

  async deposit(
    amount = 5_000_000n,
    terms: { validBefore?: bigint; deadline?: bigint; depositor?: HDNodeWallet } = {},
  ): Promise<MadeStatement> {
    const account = terms.depositor ?? (await this.depositor(amount));
    const setting = { ...this.setting, deadline: terms.deadline ?? this.setting.deadline };
    const draft = depositDraft(setting, {
      asset: this.usdcAddress,
      amount,
      depositor: asAddress(account.address)!,
      ...(terms.validBefore === undefined ? {} : { validBefore: terms.validBefore }),
    });
    const sealed = await authorize(account, seal(draft));
    return { ...this.stated(draft), authorization: mustFromHex(sealed.transaction.authorization) };
  }

  spend(root: Field, bend: Partial<Draft> = {}): MadeStatement {
    return this.stated({ ...spendDraft(this.setting, root, undefined), ...bend });
  }

  stated(draft: Draft): MadeStatement {
    const statement = checkStatement(this.home, draft.kind, draft.deadline, signalsOf(draft), draft.ext);
    if (typeof statement === "string") throw new Error(`the draft is no statement: ${statement}`);
    return { statement, authorization: new Uint8Array(0), draft };
  }

  /** Runs, with something rooted to spend against. */
  async seed(): Promise<void> {
    await this.run();
    await this.reaches(await this.accept(await this.deposit()), "confirmed");
  }

  rooted(): StoredRoot {
    const root = this.data.currentRoot();
    if (root === undefined) throw new Error("nothing is rooted");
    return root;
  }

  /** A deposit whose depositor gave a part of the amount away in the newest block. */
  async unfunded(): Promise<{ made: MadeStatement; depositor: HDNodeWallet }> {
    const depositor = await this.depositor(5_000_000n);
    const made = await this.deposit(5_000_000n, { depositor });
    await this.rpc("anvil_setBalance", [depositor.address, "0xde0b6b3a7640000"]);
    const away = Wallet.createRandom().address;
    const data = this.usdc.interface.encodeFunctionData("transfer", [away, 1n]);
    await (await depositor.sendTransaction({ to: this.usdcAddress, data })).wait();
    return { made, depositor };
  }

  /** What the routes do after their checks. */
  async accept(
    { statement, authorization }: MadeStatement,
    owner: Owner = OWNER,
    requestId?: string,
  ): Promise<TicketRecord> {
    const attestations = await this.attestor.attest(statement, NO_PROOF);
    const transaction = { statement, proof: NO_PROOF, authorization, openings: [] };
    const { ticket, outcome } = await this.accepting.earlier.lookUp(owner, statement);
    return ticket ?? enqueue(this.accepting, owner, transaction, attestations, outcome, requestId);
  }

  /** Before each look at the ticket, `meanwhile`. */
  async reaches(
    ticket: TicketRecord,
    state: TicketRecord["status"]["state"],
    meanwhile?: () => Promise<unknown>,
  ): Promise<TicketRecord> {
    return this.#comesTo(ticket, [state], meanwhile);
  }

  /** Confirmed, or final already: where blocks are made in a row, nobody may have looked in between. */
  async isDone(ticket: TicketRecord, meanwhile?: () => Promise<unknown>): Promise<TicketRecord> {
    return this.#comesTo(ticket, ["confirmed", "finalized"], meanwhile);
  }

  #comesTo(
    { id }: TicketRecord,
    states: readonly TicketRecord["status"]["state"][],
    meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<TicketRecord> {
    return until(`ticket to be ${states.join(" or ")}`, async () => {
      await meanwhile();
      const now = await this.store.get(id);
      return now !== undefined && states.includes(now.status.state) ? now : undefined;
    });
  }

  /** Events of the pool from its creation on, as the chain has them now. */
  async events(): Promise<NonNullable<ReturnType<Pool["parseLog"]>>[]> {
    const head = await this.chain.header("latest");
    const logs = await this.pool.logs({ fromBlock: this.deploymentBlock, toBlock: head!.number });
    return logs.flatMap((log) => this.pool.parseLog(log) ?? []);
  }

  async executions(made: MadeStatement): Promise<number> {
    const events = await this.events();
    return events.filter(
      (event) => event.kind === "executed" && event.executed.statement === made.statement.hash,
    ).length;
  }
}
