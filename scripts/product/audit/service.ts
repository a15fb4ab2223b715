/**
 * Whether a running service is what was audited: its enclaves' live documents under the audited root, measurement
 * and configuration, and the pool's own list of signers with the birth certificates that the chain shows.
 * Believes neither the service nor the chain's node beyond what a signature or a hash bears out.
 */
import { randomBytes } from "node:crypto";
import { Contract, JsonRpcProvider } from "ethers";
import type { Configuration } from "../../../enclave/configuration.ts";
import { checkEnclaves } from "../../../shared/client/attestation.ts";
import { ClientError, createClient } from "../../../shared/client/index.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { verifyAttestation, type Measurement } from "../../../shared/protocol/attestation-document.ts";
import { asAddress, type Address } from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { birthFault, BIRTH_FAULTS } from "../operator/birth.ts";
import { readSigners } from "../operator/pool-signers.ts";

export interface Audited {
  readonly configuration: Configuration;
  readonly measurement: Measurement;
}

export interface ServiceAt {
  readonly baseUrl: string;
  /** The service answers nobody without one; any developer's will do. */
  readonly apiKey: string;
  readonly rpc?: string | undefined;
  /** The block in which the pool was deployed. Default 0. */
  readonly fromBlock?: number | undefined;
}

export interface Finding {
  readonly what: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** One finding for each question; a question that cannot be asked is a finding that is not ok. */
export async function auditService(at: ServiceAt, audited: Audited): Promise<Finding[]> {
  const nonce = new Uint8Array(randomBytes(32));
  let info;
  try {
    info = await createClient({ baseUrl: at.baseUrl, credential: { apiKey: at.apiKey } }).info({
      nonce: toHex(nonce),
    });
  } catch (error) {
    return [finding("the service answers", false, reasonOf(error))];
  }
  const roots = [audited.configuration.attestationRoot];
  const findings = [finding("the service answers", true, at.baseUrl)];
  findings.push(
    judged("its enclaves run the audited image, now", () =>
      checkEnclaves({ measurements: [audited.measurement], roots }, info, nonce, Date.now()),
    ),
  );
  for (const { signer, attestation } of info.enclaves) {
    const verdict = verifyAttestation(new Uint8Array(Buffer.from(attestation, "base64")), {
      roots,
      at: Date.now(),
      nonce,
      type: "live",
    });
    const isSame =
      typeof verdict !== "string" && verdict.claims?.configurationHash === audited.configuration.hash;
    findings.push(
      finding(
        `enclave ${signer} has the audited configuration`,
        isSame,
        typeof verdict === "string" ? verdict : "",
      ),
    );
  }
  if (at.rpc !== undefined)
    findings.push(...(await auditPool(at.rpc, info.pool, at.fromBlock ?? 0, info, audited)));
  return findings;
}

async function auditPool(
  rpc: string,
  poolText: string,
  fromBlock: number,
  info: { readonly enclaves: readonly { readonly signer: string }[]; readonly chain_id: number },
  audited: Audited,
): Promise<Finding[]> {
  const provider = new JsonRpcProvider(rpc, info.chain_id, { staticNetwork: true, cacheTimeout: -1 });
  try {
    const pool = asAddress(poolText) as Address;
    const contract = new Contract(pool, POOL_ABI, provider);
    const isSigner = async (signer: string): Promise<boolean> =>
      (await contract.getFunction("isSigner")(signer)) as boolean;
    const findings: Finding[] = [];
    for (const { signer } of info.enclaves) {
      findings.push(finding(`the pool accepts ${signer}`, await isSigner(signer), ""));
    }
    for (const { signer, standing, genesisDocument } of await readSigners(provider, pool, fromBlock)) {
      // Of the others, no word counts, and none can come in without being proposed again.
      if (standing !== "admitted" && standing !== "proposed") continue;
      const what = `${standing} signer ${signer} was born in the audited image`;
      if (genesisDocument === undefined || genesisDocument.length === 0) {
        findings.push(finding(what, false, "the chain shows no birth certificate of it"));
        continue;
      }
      const fault = birthFault(genesisDocument, signer, {
        configuration: audited.configuration,
        measurements: [audited.measurement],
      });
      findings.push(finding(what, fault === undefined, fault === undefined ? "" : BIRTH_FAULTS[fault]));
    }
    return findings;
  } catch (error) {
    return [finding("the chain answers", false, reasonOf(error))];
  } finally {
    provider.destroy();
  }
}

function judged(what: string, check: () => void): Finding {
  try {
    check();
    return finding(what, true, "");
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    return finding(what, false, error.message);
  }
}

function finding(what: string, ok: boolean, detail: string): Finding {
  return { what, ok, detail };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
