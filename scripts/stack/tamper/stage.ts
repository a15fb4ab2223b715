// What the tamper demonstration plays on: the first network of a local stack with its real proxy and KMS, one
// real deposit statement to be signed, and as many further enclaves as a case needs. Development only.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, HDNodeWallet, JsonRpcProvider, Wallet } from "ethers";
import {
  CourierFault,
  createKeyRelease,
  restoreEnclave,
  type KeyRelease,
} from "../../../proxy/enclave-link/key-courier.ts";
import { createLink, type EnclaveLink } from "../../../proxy/enclave-link/link.ts";
import type { SignerPair } from "../../../proxy/enclave-link/signer-pair.ts";
import { depositAuthorization, signAuthorization } from "../../../shared/client/authorization.ts";
import { depositBody, wireProof } from "../../../shared/client/bodies.ts";
import { ApiProblem, createClient, newSeed, type Client } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { prepareDeposit } from "../../../shared/client/statements.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { asAddress, type Address } from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import type { AttestRequest } from "../../../shared/protocol/enclave-messages.ts";
import { ENCLAVE_PORT } from "../../../shared/protocol/host/enclave-host.ts";
import { encodeProof, parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { compressProof } from "../../../shared/protocol/proof.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { codeFiles, ENCLAVE_FOLDER } from "../../product/image/measurement.ts";
import { developmentImage, type KnownImage } from "../development-signer.ts";
import { DEVELOPMENT_CREDENTIAL, DEVELOPMENT_REGION } from "../kms/signature.ts";
import { startStack, type Stack } from "../local-stack.ts";
import type { LocalNetwork } from "../local-network.ts";
import {
  startSimulatedEnclave,
  type SimulatedEnclave,
  type SimulatedEnclaveOptions,
} from "../simulated-platform.ts";
import { ROOMY_KEYS } from "../proxy-settings.ts";
import { NO_UPDATE, unsigned, type Unsigned } from "../pool-transaction.ts";
import { TestUsdc } from "../usdc.ts";

const AMOUNT = 5_000_000n;
const PATIENCE_MS = 60_000;

type Health = Awaited<ReturnType<Client["health"]>>;

export interface Extra {
  readonly platform: SimulatedEnclave;
  readonly link: EnclaveLink;
}

/** What an errand of the courier came to. */
export interface Errand {
  /** `restored`, or the courier's code. */
  readonly outcome: string;
  /** KMS's own words, where it was KMS that refused. */
  readonly kms: string;
}

export class TamperStage {
  readonly network: LocalNetwork;
  readonly image: KnownImage;
  readonly chain: JsonRpcProvider;
  readonly pool: Address;
  readonly #stack: Stack;
  readonly #folder: string;
  readonly #client: Client;
  readonly #release: KeyRelease;
  readonly #cleanUp: (() => Promise<void> | void)[] = [];
  #inPlace: SimulatedEnclave | undefined;
  #statement: Statement | undefined;
  #extras = 0;

  private constructor(stack: Stack, folder: string, image: KnownImage) {
    this.#stack = stack;
    this.#folder = folder;
    this.image = image;
    this.network = stack.network("first");
    const { base_url: baseUrl, chain_rpc: rpc, chain_id: chainId, pool } = this.network.entry;
    this.pool = asAddress(pool)!;
    this.#client = createClient({ baseUrl, credential: { apiKey: stack.file.api_key } });
    this.chain = new JsonRpcProvider(rpc, chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 100,
    });
    this.#release = createKeyRelease({
      region: DEVELOPMENT_REGION,
      endpoint: stack.kmsUrl,
      credentials: DEVELOPMENT_CREDENTIAL,
    });
  }

  static async open(say: (text: string) => void): Promise<TamperStage> {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-tamper-"));
    try {
      const free = { proxy: 0, chain: 0 };
      const stack = await startStack({
        folder: path.join(folder, "stack"),
        networks: ["first"],
        ports: { first: free },
        // Fees are another matter: without them one small statement is enough.
        proxySettings: { ...ROOMY_KEYS, CLOISTER_FEE_SCHEDULE: "[]" },
        say,
      });
      return new TamperStage(stack, folder, await developmentImage());
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const step of this.#cleanUp.splice(0).reverse()) await step();
    await this.#inPlace?.stop();
    this.#release.close();
    this.chain.destroy();
    await this.#stack.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  // ---------------------------------------------------------------- enclaves

  /** The network's enclave ends, and this one takes its place at the proxy's socket. */
  async replaceEnclave(options: Omit<SimulatedEnclaveOptions, "folder"> = {}): Promise<SimulatedEnclave> {
    await this.network.enclave.stop();
    await this.#inPlace?.stop();
    const folder = this.network.folder.inside("enclave");
    this.#inPlace = await startSimulatedEnclave({ folder, ...options });
    return this.#inPlace;
  }

  /** One that no proxy knows, booted and without a key. */
  async extraEnclave(options: Omit<SimulatedEnclaveOptions, "folder"> = {}): Promise<Extra> {
    this.#extras += 1;
    const folder = path.join(this.#folder, `extra-${String(this.#extras)}`);
    const platform = await startSimulatedEnclave({ folder, ...options });
    const link = createLink({ path: platform.vsockPath, port: ENCLAVE_PORT });
    this.#cleanUp.push(async () => {
      link.close();
      await platform.stop();
    });
    return { platform, link };
  }

  linkToNetwork(): EnclaveLink {
    const link = createLink({ path: String(this.network.enclave.ready["vsockPath"]), port: ENCLAVE_PORT });
    this.#cleanUp.push(() => link.close());
    return link;
  }

  /** A copy of the built enclave in which one byte of one file is another; in a comment, so that it runs as before. */
  async copyWithOneByteChanged(): Promise<{ readonly folder: string; readonly what: string }> {
    const folder = path.join(this.#folder, "changed");
    for (const file of ["package-lock.json", ...(await codeFiles(ENCLAVE_FOLDER))])
      await cp(path.join(ENCLAVE_FOLDER, file), path.join(folder, file));
    const file = path.join("dist", "enclave", "attest.js");
    const bytes = await readFile(path.join(folder, file));
    // The first letter of the comment on top: a capital becomes a small one.
    const at = bytes.findIndex((byte) => byte >= 0x41 && byte <= 0x5a);
    bytes[at]! ^= 0x20;
    await writeFile(path.join(folder, file), bytes);
    return { folder, what: `byte ${String(at)} of ${file}, a letter of a comment` };
  }

  /** What the courier would do, by its own code, with this pair. */
  async carry(link: EnclaveLink, pair: SignerPair): Promise<Errand> {
    try {
      await restoreEnclave(link, pair, this.#release);
      return { outcome: "restored", kms: "" };
    } catch (error) {
      if (!(error instanceof CourierFault)) throw error;
      const { cause } = error;
      return { outcome: error.code, kms: cause instanceof Error ? `${cause.name}: ${cause.message}` : "" };
    }
  }

  // ---------------------------------------------------------------- what the service says

  /** Waits until /health has this in what it says of the enclave; `ok` means that all is well. */
  async healthSays(wanted: string): Promise<string> {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const health: Health = await this.#client.health();
      const said = health.checks?.enclave.detail ?? health.status;
      if (said.includes(wanted) || Date.now() > end) return said;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** KMS's words in the proxy's own log, of the last time it was refused. */
  async proxyLog(): Promise<string> {
    const lines = (await readFile(this.network.folder.log("proxy"), "utf8")).split("\n");
    const refused = lines
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as { kms?: string });
    return refused.findLast(({ kms }) => kms !== undefined)?.kms ?? "";
  }

  /** The signer's address, or the code of the refusal. */
  async attestThroughProxy(): Promise<string> {
    const { body } = await this.statement();
    try {
      const { attestations } = await this.#client.attestDeposit(body);
      return attestations[0]?.signer.toLowerCase() ?? "nobody";
    } catch (error) {
      if (error instanceof ApiProblem) return error.code;
      throw error;
    }
  }

  /** The signature, or the code of the refusal. */
  async attestAt(link: EnclaveLink): Promise<Uint8Array | string> {
    const reply = await link.ask((await this.statement()).request);
    if (reply.type === "attest") return reply.signature;
    return reply.type === "refused" ? reply.code : reply.type;
  }

  /** Sends the deposit with this attestation: `Executed`, or the pool's error with its argument. */
  async execute(attestation: Uint8Array): Promise<string> {
    const { transaction } = await this.statement();
    const pool = new Contract(this.pool, POOL_ABI, await this.chain.getSigner(0));
    const sent = (await pool.getFunction("execute")(
      [{ ...transaction, attestations: toHex(attestation) }],
      NO_UPDATE,
    )) as { wait(): Promise<{ readonly logs: readonly { topics: string[]; data: string }[] }> };
    const events = (await sent.wait()).logs.map((log) => pool.interface.parseLog(log));
    const rejected = events.find((event) => event?.name === "Rejected");
    if (rejected === undefined)
      return events.some((event) => event?.name === "Executed") ? "Executed" : "nothing";
    const error = pool.interface.parseError(String(rejected?.args["reason"]));
    return `${error?.name ?? "unknown"}(${String(error?.args[0] ?? "").toLowerCase()})`;
  }

  /** The pool's owner. */
  async owner(): Promise<Wallet> {
    return new Wallet(await this.network.folder.secrets.text("owner.key"), this.chain);
  }

  /** One deposit of a fresh account into a fresh wallet, with its real proof; made once. */
  async statement(): Promise<Statement> {
    return (this.#statement ??= await this.#makeStatement());
  }

  async #makeStatement(): Promise<Statement> {
    const { chain_id: chainId, usdc } = this.network.entry;
    const depositor = HDNodeWallet.createRandom();
    await (await TestUsdc.at(usdc, this.chain)).mint(depositor.address, AMOUNT);
    const asset = asAddress(usdc)!;
    const deadline = Math.floor(Date.now() / 1000) + 3_600;
    const prepared = prepareDeposit({
      home: { chainId: BigInt(chainId), pool: this.pool },
      keys: SpendingKey.fromSeed(newSeed()),
      asset,
      fees: { service: undefined, developer: undefined, total: 0n },
      deadline,
      amount: AMOUNT,
      depositor: asAddress(depositor.address)!,
      validAfter: 0,
      validBefore: deadline + 1,
    });
    const { statement } = prepared;
    const prover = await developmentProver();
    const made = await prover.prove(statement, prepared.witness).finally(() => prover.close());
    const proof = parseSnarkjsProof(made);
    if (proof === undefined) throw new Error("the prover gave no proof");
    const token = { name: "USD Coin", version: "2" };
    const authorization = await signAuthorization(depositor, depositAuthorization(statement, asset, token));
    return {
      body: depositBody(prepared, wireProof(made), authorization),
      request: {
        type: "attest",
        ...statement.home,
        kindId: KINDS[statement.kind].id,
        deadline: statement.deadline,
        proof: encodeProof(proof),
        signals: statement.signals,
        ext: statement.extBytes,
      },
      transaction: unsigned(statement, compressProof(proof), authorization),
    };
  }
}

interface Statement {
  readonly body: ReturnType<typeof depositBody>;
  readonly request: AttestRequest;
  readonly transaction: Unsigned;
}
