/**
 * Registering an enclave's signer with its attestation document: the steps that a chain takes, one transaction each. Anybody may
 * send them, and begin again where they stopped: a certificate that the chain has verified and that is still valid is
 * passed over. Trusts the node for where the steps stand; the contracts judge everything.
 */
import {
  Contract,
  Interface,
  type ContractTransactionReceipt,
  type ContractTransactionResponse,
  type Provider,
  type Signer,
} from "ethers";
import type { Configuration } from "../../enclave/configuration.ts";
import {
  attestationSteps,
  type AttestationSteps,
} from "../../shared/client/chain/nitro/attestation-steps.ts";
import { ATTESTATIONS_ABI, POOL_ABI } from "../../shared/contracts/abi.ts";
import { readAttestation } from "../../shared/protocol/attestation-document.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { PoolRefused } from "./refusal.ts";

/** What a step was, and its gas; undefined for one that the chain had taken already. */
export interface Step {
  readonly name: string;
  readonly gasUsed: bigint | undefined;
}

export interface Registering {
  readonly pool: Address;
  readonly document: Uint8Array;
  /** Which key the image pins, see `kmsKeyIn`. */
  readonly kmsKey: Bytes32;
  /** Whose hash the document's nonce is. Default: the node is asked. */
  readonly blockNumber?: number;
}

const POOL = new Interface(POOL_ABI);

/** The signer that the document names. Throws PoolRefused with the contract's own error. */
export async function registerSigner(
  sender: Signer,
  { pool, document, kmsKey, ...given }: Registering,
  report: (step: Step) => void = () => undefined,
): Promise<Address> {
  const provider = sender.provider;
  if (provider === null) throw new TypeError("the sender has no node");
  const blockNumber = given.blockNumber ?? (await blockOf(provider, document));
  const contract = new Contract(pool, POOL_ABI, sender);
  const attestations = (await contract.getFunction("attestations")()) as string;
  const steps = stepsOf(document);
  await verifyCertificates(new Contract(attestations, ATTESTATIONS_ABI, sender), steps.certificates, report);

  const bond = (await contract.getFunction("signerBond")()) as bigint;
  const words = [toHex(document), toHex(steps.document.hints), blockNumber, kmsKey];
  const receipt = await mined(
    contract.getFunction("register")(...words, { value: bond }) as Promise<ContractTransactionResponse>,
  );
  report({ name: "registration", gasUsed: receipt.gasUsed });
  for (const log of receipt.logs) {
    const event = asAddress(log.address) === pool ? POOL.parseLog(log) : null;
    const signer = event?.name === "SignerRegistered" ? asAddress(event.args["signer"]) : undefined;
    if (signer !== undefined) return signer;
  }
  throw new Error("the transaction was mined, and the pool said nothing: is this the pool?");
}

/** Of an image's configuration, as the pool computes it. */
export function kmsKeyIn({ kmsPublicKey }: Pick<Configuration, "kmsPublicKey">): Bytes32 {
  return keccakHex(new Uint8Array(kmsPublicKey.export({ type: "spki", format: "der" })));
}

/** None of what is no document: the contracts say what is wrong with it. */
function stepsOf(document: Uint8Array): AttestationSteps {
  try {
    return attestationSteps(document);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { certificates: [], document: { bytes: document, hints: new Uint8Array(0) } };
  }
}

type Certificates = AttestationSteps["certificates"];

/** Root first. */
async function verifyCertificates(
  attestations: Contract,
  certificates: Certificates,
  report: (step: Step) => void,
): Promise<void> {
  const now = (await attestations.runner?.provider?.getBlock("latest"))?.timestamp ?? 0;
  for (const [i, { der, parent, id, hints }] of certificates.entries()) {
    const name = `certificate ${String(i + 1)} of ${String(certificates.length)}`;
    const isThere = (await attestations.getFunction("isValidAt")(id, now)) as boolean;
    if (isThere) {
      report({ name, gasUsed: undefined });
      continue;
    }
    const { gasUsed } = await mined(
      attestations.getFunction("verifyCertificate")(
        toHex(der),
        parent,
        toHex(hints),
      ) as Promise<ContractTransactionResponse>,
    );
    report({ name, gasUsed });
  }
}

/**
 * The hash that a document has to bear to register its signer now: of the block before the newest, since a call that is only
 * tried, or estimated, runs in the newest and does not know its hash yet.
 */
export async function settledBlockHash(provider: Provider): Promise<Bytes32> {
  const newest = await provider.getBlock("latest");
  const hash = newest?.number === 0 ? newest.hash : newest?.parentHash;
  if (hash === undefined || hash === null) throw new Error("the node has no newest block");
  return hash as Bytes32;
}

/** The block whose hash the document's nonce is. */
async function blockOf(provider: Provider, document: Uint8Array): Promise<number> {
  const { nonce } = readAttestation(document) ?? {};
  const block = nonce?.length === 32 ? await provider.getBlock(toHex(nonce)) : null;
  if (block === null)
    throw new Error(
      "the document was not made for a block of this chain: ask the enclave for one whose nonce is a recent block's hash",
    );
  return block.number;
}

async function mined(sent: Promise<ContractTransactionResponse>): Promise<ContractTransactionReceipt> {
  try {
    const receipt = await (await sent).wait();
    if (receipt !== null) return receipt;
  } catch (error) {
    throw PoolRefused.in(error) ?? error;
  }
  throw new Error("the transaction is not mined");
}
