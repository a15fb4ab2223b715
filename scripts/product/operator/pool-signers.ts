/**
 * The pool's signers among what the owner may change (admissions.ts). Whoever calls `propose` has verified the
 * genesis document; the pool only shows it to everybody.
 */
import type { Provider, Signer } from "ethers";
import { readAttestation } from "../../../shared/protocol/attestation-document.ts";
import { ZERO_BYTES32, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { equalBytes, mustFromHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { act, readAdmissions, type Admission } from "./admissions.ts";

export { PoolRefused, waitForTime } from "./admissions.ts";

export interface PoolSigner extends Omit<Admission, "subject"> {
  readonly signer: Address;
}

/** In the order in which they were first named. */
export async function readSigners(provider: Provider, pool: Address, fromBlock = 0): Promise<PoolSigner[]> {
  const admissions = await readAdmissions(provider, pool, "signer", fromBlock);
  return admissions.map(({ subject, ...rest }) => ({ signer: subject, ...rest }));
}

/**
 * The image that a document says the key lives in, as the pool names it: keccak256(PCR0 ‖ PCR1 ‖ PCR2). Unverified: whoever
 * proposes has verified the document. 0, none known, without one.
 */
export function imageIn(genesisDocument: Uint8Array): Bytes32 {
  const said = readAttestation(genesisDocument);
  if (said === undefined) return ZERO_BYTES32;
  const { pcr0, pcr1, pcr2 } = said.measurement;
  return keccakHex(mustFromHex(`0x${pcr0}${pcr1}${pcr2}`));
}

/** The document goes into the event, for everybody to verify during the delay. Throws PoolRefused. */
export async function proposeSigner(
  owner: Signer,
  pool: Address,
  signer: Address,
  genesisDocument: Uint8Array,
): Promise<void> {
  await act(owner, pool, "signer", "propose", signer, { image: imageIn(genesisDocument), genesisDocument });
}

/** Anybody's act, in the week after the delay; whoever does it pays the signer's bond. Throws PoolRefused. */
export async function addSigner(anybody: Signer, pool: Address, signer: Address): Promise<void> {
  await act(anybody, pool, "signer", "admit", signer);
}

/** At once and permanently, in use or only proposed; says which of the two it was. Throws PoolRefused. */
export async function removeSigner(
  owner: Signer,
  pool: Address,
  signer: Address,
): Promise<"removed" | "withdrawn"> {
  const standing = await act(owner, pool, "signer", "remove", signer);
  return standing === "withdrawn" ? standing : "removed";
}

/** Whether a proposal on the chain shows this very document. */
export function shows(proposed: PoolSigner, genesisDocument: Uint8Array): boolean {
  return proposed.genesisDocument !== undefined && equalBytes(proposed.genesisDocument, genesisDocument);
}
