/**
 * Reads the PCRs out of an attestation document for display. Verifies nothing: no signature, no chain, no
 * nonce. Whoever relies on a measurement verifies the document itself.
 */
import { readAttestation } from "../../../shared/protocol/attestation-document.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";

/** PCRs of the payload as `PCR0`… in hex without 0x; empty for a document that cannot be read. All-zero registers are left out. */
export function readMeasurements(document: Uint8Array): Record<string, string> {
  const measured = [...(readAttestation(document)?.pcrs ?? [])].filter(([, register]) =>
    register.some((byte) => byte !== 0),
  );
  return Object.fromEntries(
    measured.map(([index, register]) => [`PCR${String(index)}`, toHex(register).slice(2)]),
  );
}
