// What the tamper demonstration plays on: the first network of a local stack with its real proxy and KMS, one
// real deposit statement to be signed, and as many further enclaves as a case needs. Development only.
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { Interface } from "ethers";
import { encodeExecute } from "../../../proxy/base/chain/execute-call.ts";
import {
  CourierFault,
  createKeyRelease,
  restoreEnclave,
  type KeyRelease,
} from "../../../proxy/api/enclave-link/key-courier.ts";
import { createLink, type EnclaveLink } from "../../../proxy/api/enclave-link/link.ts";
import type { SignerPair } from "../../../proxy/api/enclave-link/signer-pair.ts";
import { ApiProblem } from "../../../shared/client/index.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { readAttestation } from "../../../shared/protocol/attestation-document.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { ENCLAVE_PORT } from "../../../shared/protocol/host/enclave-host.ts";
import { encodeProof } from "../../../shared/protocol/host/proofs.ts";
import { compressProof } from "../../../shared/protocol/proof.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { copyCode } from "../../image/assemble.ts";
import { ENCLAVE_FOLDER } from "../../image/measurement.ts";
import { PoolRefused } from "../../operator/refusal.ts";
import { kmsKeyIn, registerSigner, settledBlockHash } from "../../operator/registration.ts";
import { developmentImage, type KnownImage } from "../../stack/development-signer.ts";
import { DEVELOPMENT_CREDENTIAL } from "../../stand-ins/kms/signature.ts";
import { poll } from "../../base/poll.ts";
import { begin, Stage, WITHOUT_FEES, type Begun } from "../../stack/stage.ts";
import {
  startSimulatedEnclave,
  type SimulatedEnclave,
  type SimulatedEnclaveOptions,
} from "../../stand-ins/platform/main.ts";
import { lineOfLog } from "../../base/service.ts";
import { DEVELOPMENT_REGION } from "../../image/development-keys.ts";
import { makeDeposit, type Deposit } from "./deposit.ts";

const POOL = new Interface(POOL_ABI);

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

export class TamperStage extends Stage {
  readonly image: KnownImage;
  readonly say: (text: string) => void;
  readonly #release: KeyRelease;
  #inPlace: SimulatedEnclave | undefined;
  #deposit: Deposit | undefined;
  #extras = 0;

  private constructor(begun: Begun, image: KnownImage, say: TamperStage["say"]) {
    super(begun);
    this.say = say;
    this.image = image;
    this.#release = createKeyRelease({
      region: DEVELOPMENT_REGION,
      endpoint: this.stack.kmsUrl,
      credentials: DEVELOPMENT_CREDENTIAL,
    });
    this.parties.add({ stop: () => this.#release.close() });
    this.parties.add({ stop: () => this.#inPlace?.stop() });
  }

  static async on(say: (text: string) => void): Promise<TamperStage> {
    const image = await developmentImage();
    return new TamperStage(await begin("tamper", { proxySettings: WITHOUT_FEES, say }), image, say);
  }

  // ---------------------------------------------------------------- enclaves

  /** The network's enclave ends, and this one takes its place at the proxy's socket. */
  async replaceEnclave(options: Omit<SimulatedEnclaveOptions, "folder"> = {}): Promise<SimulatedEnclave> {
    await this.network.enclave().stop();
    await this.#inPlace?.stop();
    const folder = this.network.folder.inside("enclave");
    this.#inPlace = await startSimulatedEnclave({ folder, ...options });
    return this.#inPlace;
  }

  /** One that no proxy knows, booted and without a key. */
  async extraEnclave(options: Omit<SimulatedEnclaveOptions, "folder"> = {}): Promise<Extra> {
    this.#extras += 1;
    const folder = path.join(this.folder, `extra-${String(this.#extras)}`);
    const platform = this.parties.add(await startSimulatedEnclave({ folder, ...options }));
    return { platform, link: this.#linkTo(platform.vsockPath) };
  }

  linkToNetwork(): EnclaveLink {
    return this.#linkTo(String(this.network.enclave().ready["vsockPath"]));
  }

  #linkTo(vsockPath: string): EnclaveLink {
    const link = createLink({ path: vsockPath, port: ENCLAVE_PORT });
    this.parties.add({ stop: () => link.close() });
    return link;
  }

  /** A copy of the built enclave in which one byte of one file is another; in a comment, so that it runs as before. */
  async copyWithOneByteChanged(): Promise<{ readonly folder: string; readonly what: string }> {
    const folder = path.join(this.folder, "changed");
    await copyCode(ENCLAVE_FOLDER, folder);
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
    let said = "";
    const look = async (): Promise<true | undefined> => {
      const { checks, status } = await this.client.health();
      said = checks?.enclave.detail ?? status;
      return said.includes(wanted) || undefined;
    };
    await poll(look);
    return said;
  }

  /** KMS's words in the proxy's own log, of the last time it was refused. */
  async kmsRefusalLogged(): Promise<string> {
    const log = this.network.folder.log("proxy");
    const refusal = await lineOfLog(log, ({ kms }) => typeof kms === "string");
    return refusal === undefined ? "" : String(refusal["kms"]);
  }

  /** The signer's address, or the code of the refusal. */
  async attestThroughProxy(): Promise<string> {
    const { body } = await this.#made();
    try {
      const { attestations } = await this.client.attestDeposit(body);
      return attestations[0]?.signer.toLowerCase() ?? "nobody";
    } catch (error) {
      if (error instanceof ApiProblem) return error.code;
      throw error;
    }
  }

  /** The signature, or the code of the refusal. */
  async attestAt(link: EnclaveLink): Promise<Uint8Array | string> {
    const { statement, proof } = await this.#made();
    const reply = await link.ask({
      type: "attest",
      ...statement.home,
      kindId: KINDS[statement.kind].id,
      deadline: statement.deadline,
      proof: encodeProof(proof),
      signals: statement.signals,
      ext: statement.extBytes,
    });
    if (reply.type === "attest") return reply.signature;
    return reply.type === "refused" ? reply.code : reply.type;
  }

  /** Sends the deposit with this attestation: `Executed`, or the pool's error with its argument. */
  async execute(signature: Uint8Array): Promise<string> {
    const { statement, proof, authorization } = await this.#made();
    const { hash, kind, deadline, signals, extBytes: ext } = statement;
    const member = { statement: hash, kind, deadline, signals, ext, authorization };
    // Of an attestation the pool is given the signature alone.
    const attestations = [{ signer: ZERO_ADDRESS, signature }];
    const data = encodeExecute([{ ...member, proof: compressProof(proof), attestations }]);
    const sender = await this.chain.getSigner(0);
    const receipt = await (await sender.sendTransaction({ to: this.pool, data })).wait();
    const events = receipt?.logs.map((log) => POOL.parseLog(log)) ?? [];
    const rejected = events.find((event) => event?.name === "Rejected");
    if (rejected === undefined)
      return events.some((event) => event?.name === "Executed") ? "Executed" : "nothing";
    const error = POOL.parseError(String(rejected?.args["reason"]));
    return `${error?.name ?? "unknown"}(${String(error?.args[0] ?? "").toLowerCase()})`;
  }

  /** What a document has to answer to register a signer. */
  async challenge(): Promise<Uint8Array> {
    return mustFromHex(await settledBlockHash(this.chain));
  }

  /** Of a serving enclave, for the newest block. */
  async liveDocument(link: EnclaveLink): Promise<Uint8Array> {
    const reply = await link.ask({ type: "attestation", nonce: await this.challenge() });
    if (reply.type !== "attestation") throw new Error("the enclave gives no document");
    return reply.document;
  }

  /** As a stranger: the signer that is in then, or the name of the contracts' error. */
  async register(document: Uint8Array, kmsKey = kmsKeyIn(this.image.configuration)): Promise<string> {
    try {
      const stranger = await this.chain.getSigner(7);
      const { nonce } = readAttestation(document) ?? {};
      const made = nonce?.length === 32 ? await this.chain.getBlock(toHex(nonce)) : null;
      const blockNumber = made?.number ?? (await this.chain.getBlockNumber()) - 1;
      return await registerSigner(stranger, { pool: this.pool, document, kmsKey, blockNumber });
    } catch (error) {
      if (error instanceof PoolRefused) return error.code;
      throw error;
    }
  }

  /** One deposit of a fresh account into a fresh wallet, with its real proof; made once. */
  async #made(): Promise<Deposit> {
    return (this.#deposit ??= await makeDeposit(this));
  }
}
