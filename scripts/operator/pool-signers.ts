/** A pool's images and signers, as its events tell them. */
import type { Provider } from "ethers";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { readAdmissions, type Admission } from "./admissions.ts";

export interface PoolSigner {
  readonly signer: Address;
  readonly standing: Admission["standing"];
  /** Undefined for one that was removed before anybody registered it, as is the rest. */
  readonly image: Bytes32 | undefined;
  readonly kind: number | undefined;
  readonly kmsKey: Bytes32 | undefined;
  /** By which it was registered. */
  readonly document: Uint8Array | undefined;
}

/** In the order in which they were first named. */
export async function readSigners(provider: Provider, pool: Address, fromBlock = 0): Promise<PoolSigner[]> {
  const admissions = await readAdmissions(provider, pool, "signer", fromBlock);
  return admissions.map(({ subject, standing, told }) => ({
    signer: asAddress(subject)!,
    standing,
    image: asBytes32(told["image"]),
    kind: numberIn(told["kind"]),
    kmsKey: asBytes32(told["kmsKey"]),
    document: typeof told["document"] === "string" ? mustFromHex(told["document"]) : undefined,
  }));
}

export interface PoolImage extends Omit<Admission, "subject" | "told"> {
  readonly image: Bytes32;
  readonly kind: number | undefined;
  /** Undefined for one that came with the pool itself. */
  readonly commit: string | undefined;
  readonly buildCommand: string | undefined;
}

/** In the order in which they were first named. */
export async function readImages(provider: Provider, pool: Address, fromBlock = 0): Promise<PoolImage[]> {
  const admissions = await readAdmissions(provider, pool, "image", fromBlock);
  return admissions.map(({ subject, told, ...rest }) => ({
    image: asBytes32(subject)!,
    kind: numberIn(told["kind"]),
    commit: told["commit"] as string | undefined,
    buildCommand: told["buildCommand"] as string | undefined,
    ...rest,
  }));
}

function numberIn(value: unknown): number | undefined {
  return typeof value === "bigint" ? Number(value) : undefined;
}
