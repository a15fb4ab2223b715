/**
 * Registers development signers in a pool, as anybody registers a real one: with attestation documents that the chain
 * verifies, of a simulated platform under the development root. The contracts and certificates for that are put on a chain
 * once. DEVELOPMENT ONLY: anybody can make documents under that root.
 */
import { createHash } from "node:crypto";
import { Contract, type Provider, type Signer } from "ethers";
import { parseConfiguration, type Configuration } from "../../enclave/configuration.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { Measurement } from "../../shared/protocol/attestation-document.ts";
import { ZERO_BYTES32, type Address, type Bytes32 } from "../../shared/protocol/brands.ts";
import { asBytes32 } from "../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { circuitsHashOf, configurationHashOf, imageOf } from "../../shared/protocol/host/registration.ts";
import { KIND_NAMES, KINDS, type Kind } from "../../shared/protocol/statements.ts";
import { encodeUserData, type UserData } from "../../shared/protocol/user-data.ts";
import { deployAttestations, deployPool, type Deployed, type PoolSettings } from "../deploy/pool.ts";
import { developmentConfiguration } from "../image/configuration.ts";
import { developmentRoot } from "../image/development-keys.ts";
import { kmsKeyIn, registerSigner, settledBlockHash, type Step } from "../operator/registration.ts";
import { simulatedPlatform, type SimulatedPlatform } from "../stand-ins/platform/nsm.ts";

/** Of one name always the same; no image really measures so. */
export function measurementNamed(name: string): Measurement {
  const pcr = (n: number): string =>
    createHash("sha384")
      .update(`${name}, PCR${String(n)}`)
      .digest("hex");
  return { pcr0: pcr(0), pcr1: pcr(1), pcr2: pcr(2) };
}

export function imageNamed(name: string): Bytes32 {
  return imageOf(measurementNamed(name));
}

/** The development configuration's, so that a real enclave's document is as good as one made here. */
export const developmentKmsKeyName = async (): Promise<Bytes32> =>
  kmsKeyIn(await (parsed ??= developmentConfiguration().then(parseConfiguration)));
let parsed: Promise<Configuration> | undefined;

export interface PoolWithSigners extends Omit<PoolSettings, "images" | "attestations"> {
  /** Registered as soon as the pool is there. */
  readonly signers: readonly Address[];
  /** By name, of each signer the image that holds it. Default: one of its own. */
  readonly imageNames?: readonly string[];
  /** By signer. Default: the first verifier and the second by turns. */
  readonly kinds?: readonly number[];
  /** Pays for everything but the pool itself. Default: the pool's deployer. */
  readonly registrar?: Signer;
}

/** A pool of which these are the signers. */
export async function deployPoolWithSigners(wallet: Signer, wanted: PoolWithSigners): Promise<Deployed> {
  const { signers, imageNames, kinds, registrar = wallet, ...settings } = wanted;
  const names = imageNames ?? signers.map((signer) => `the image of ${signer}`);
  const images = new Map(names.map((name, i) => [imageNamed(name), kinds?.[i] ?? 1 + (i % 2)]));
  const pool = await deployPool(wallet, {
    ...settings,
    attestations: await developmentAttestations(registrar),
    images: [...images].map(([image, kind]) => ({ image, kind })),
  });
  for (const [i, signer] of signers.entries()) {
    await registerDevelopmentSigner(registrar, {
      pool: pool.address,
      signer,
      measurement: measurementNamed(names[i]!),
    });
  }
  return pool;
}

/** The contract that verifies documents under the development root, put on this chain where it is not yet. */
export async function developmentAttestations(deployer: Signer): Promise<Address> {
  const chain = chainOf(deployer);
  const { provider } = chain;
  if (chain.attestations === undefined || (await provider.getCode(chain.attestations)) === "0x") {
    chain.attestations = await deployAttestations(deployer, {
      root: asBytes32(`0x${createHash("sha256").update(developmentRoot().certificate).digest("hex")}`)!,
      revoker: (await deployer.getAddress()) as Address,
    });
  }
  return chain.attestations;
}

export interface DevelopmentSigner {
  readonly pool: Address;
  readonly signer: Address;
  readonly measurement: Measurement;
  /** Default: the development configuration's. */
  readonly kmsKey?: Bytes32;
}

/** In a pool that has admitted the image. Whoever sends pays the bond. */
export async function registerDevelopmentSigner(
  sender: Signer,
  wanted: DevelopmentSigner,
  report?: (step: Step) => void,
): Promise<Address> {
  const document = await developmentDocument(sender, wanted);
  const kmsKey = wanted.kmsKey ?? (await developmentKmsKeyName());
  return registerSigner(sender, { pool: wanted.pool, document, kmsKey }, report);
}

export interface Bent {
  /** Milliseconds that the platform's clock is ahead of the chain's. */
  readonly aheadMs?: number;
  readonly nonce?: Uint8Array;
  readonly userData?: Uint8Array;
  readonly type?: "genesis" | "live" | "release";
  readonly configurationHash?: Bytes32;
}

/** As an enclave would make it now, for a block of this chain; any part may be another. */
export async function developmentDocument(
  sender: Signer,
  { pool, signer, measurement, ...wanted }: DevelopmentSigner,
  bent: Bent = {},
): Promise<Uint8Array> {
  const chain = chainOf(sender);
  const block = await chain.provider.getBlock("latest");
  if (block === null) throw new Error("the chain has no block");
  const kmsKey = wanted.kmsKey ?? (await developmentKmsKeyName());
  const configurationHash = bent.configurationHash ?? (await configurationOf(chain.provider, pool, kmsKey));
  const { type = "live" } = bent;
  const hashes = { sealedKeyHash: ZERO_BYTES32, kmsKeyHash: ZERO_BYTES32 };
  const claims = (
    type === "release" ? { type } : { type, signer, ...(type === "genesis" ? hashes : {}) }
  ) as UserData;
  chain.nowMs = block.timestamp * 1_000;
  const platform = (chain.platform ??= simulatedPlatform(developmentRoot(), () => new Date(chain.nowMs)));
  return platform.document(measurement, {
    userData: bent.userData ?? encodeUserData({ ...claims, configurationHash }),
    nonce: bent.nonce ?? mustFromHex(await settledBlockHash(chain.provider)),
    publicKey: null,
    ...(bent.aheadMs === undefined ? {} : { timestampMs: chain.nowMs + bent.aheadMs }),
  });
}

/** What an image of this pool's circuits and roots says of itself. */
async function configurationOf(provider: Provider, pool: Address, kmsKey: Bytes32): Promise<Bytes32> {
  const contract = new Contract(pool, POOL_ABI, provider);
  const ask = async (name: string, ...args: unknown[]): Promise<Bytes32> =>
    asBytes32(await contract.getFunction(name)(...args))!;
  const hashes: [Kind, Bytes32][] = [];
  for (const kind of KIND_NAMES) hashes.push([kind, await ask("verifyingKeyHash", KINDS[kind].id)]);
  return configurationHashOf({
    circuitsHash: circuitsHashOf(Object.fromEntries(hashes) as Record<Kind, Bytes32>),
    kmsKey,
    attestationRoot: await ask("attestationRoot"),
  });
}

// ---------------------------------------------------------------- once a chain

interface Chain {
  readonly provider: Provider;
  attestations: Address | undefined;
  platform: SimulatedPlatform | undefined;
  nowMs: number;
}

const chains = new WeakMap<Provider, Chain>();

function chainOf({ provider }: Signer): Chain {
  if (provider === null) throw new TypeError("the sender has no node");
  const known = chains.get(provider);
  const chain = known ?? { provider, attestations: undefined, platform: undefined, nowMs: 0 };
  if (known === undefined) chains.set(provider, chain);
  return chain;
}
