/**
 * Whether a running service is what was audited: its enclaves' live documents under the audited root, each of an audited
 * image with that image's configuration, and the pool's own list of signers with the birth certificates that the chain shows.
 * Believes neither the service nor the chain's node beyond what a signature or a hash bears out.
 */
import { randomBytes } from "node:crypto";
import { Contract, JsonRpcProvider } from "ethers";
import type { Configuration } from "../../enclave/configuration.ts";
import { checkEnclaves } from "../../shared/client/base/attestation.ts";
import { ClientError, createClient } from "../../shared/client/index.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { verifyAttestation, type Measurement } from "../../shared/protocol/attestation-document.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { decodeUserData } from "../../shared/protocol/user-data.ts";
import { readImages, readSigners } from "../operator/pool-signers.ts";

/** An image that the service may run: one, or one of each kind of verifier. */
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
export async function auditService(at: ServiceAt, images: readonly Audited[]): Promise<Finding[]> {
  const nonce = new Uint8Array(randomBytes(32));
  let info;
  try {
    info = await createClient({ baseUrl: at.baseUrl, credential: { apiKey: at.apiKey } }).info({
      nonce: toHex(nonce),
    });
  } catch (error) {
    return [finding("the service answers", false, reasonOf(error))];
  }
  const roots = images.map(({ configuration }) => configuration.attestationRoot);
  const measurements = images.map(({ measurement }) => measurement);
  const now = Date.now();
  const findings = [finding("the service answers", true, at.baseUrl)];
  findings.push(
    judged(`its enclaves run ${naming(images)}, now`, () =>
      checkEnclaves({ measurements, roots }, info, nonce, now),
    ),
  );
  for (const { signer, attestation } of info.enclaves) {
    const document = new Uint8Array(Buffer.from(attestation, "base64"));
    const fault = documentFault(document, images, { at: now, nonce, type: "live" });
    findings.push(
      finding(`enclave ${signer} has the audited configuration of its image`, fault === "", fault),
    );
  }
  if (at.rpc !== undefined)
    findings.push(...(await auditPool(at.rpc, info.pool, at.fromBlock ?? 0, info, images)));
  return findings;
}

async function auditPool(
  rpc: string,
  poolText: string,
  fromBlock: number,
  info: { readonly enclaves: readonly { readonly signer: string }[]; readonly chain_id: number },
  images: readonly Audited[],
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
    for (const { signer, standing, document } of await readSigners(provider, pool, fromBlock)) {
      if (standing !== "admitted") continue;
      const fault =
        document === undefined
          ? "the chain shows no document of it"
          : documentFault(document, images, { at: "its own time", signer });
      findings.push(
        finding(`signer ${signer} was registered by a document of ${naming(images)}`, fault === "", fault),
      );
    }
    // Of any other image, a signer could come in at any time.
    const audited = images.map(({ measurement }) => imageOf(measurement));
    for (const other of await readImages(provider, pool, fromBlock)) {
      if (other.standing !== "admitted" && other.standing !== "proposed") continue;
      findings.push(
        finding(
          `the image ${other.image}, ${other.standing}, is ${naming(images)}`,
          audited.includes(other.image),
          "",
        ),
      );
    }
    return findings;
  } catch (error) {
    return [finding("the chain answers", false, reasonOf(error))];
  } finally {
    provider.destroy();
  }
}

interface Expected {
  /** Now, in ms; or whether it was valid when it was made. */
  readonly at: number | "its own time";
  readonly nonce?: Uint8Array;
  /** Default: one that registers. */
  readonly type?: "live";
  readonly signer?: Address;
}

/**
 * Empty when the document is of an audited image with that image's own configuration: another program's, however well
 * audited, pins another key. Of a registration the pool has verified the document; this is other code.
 */
function documentFault(
  document: Uint8Array,
  images: readonly Audited[],
  { at, nonce, type, signer }: Expected,
): string {
  let fault = "";
  for (const { configuration, measurement } of images) {
    const verdict = verifyAttestation(document, {
      ...{ roots: [configuration.attestationRoot], at, measurements: [measurement] },
      ...(nonce === undefined ? {} : { nonce }),
      ...(type === undefined ? {} : { type }),
    });
    if (typeof verdict === "string") {
      fault = verdict;
      continue;
    }
    const claims = verdict.userData === undefined ? undefined : decodeUserData(verdict.userData);
    if (claims?.type !== "genesis" && claims?.type !== "live") return "TYPE_MISMATCH";
    if (signer !== undefined && claims.signer !== signer) return "SIGNER_MISMATCH";
    return claims.configurationHash === configuration.hash ? "" : "CONFIGURATION_MISMATCH";
  }
  return fault;
}

const naming = (images: readonly Audited[]): string =>
  images.length === 1 ? "the audited image" : "an audited image";

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
