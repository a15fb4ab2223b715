/**
 * What this client was configured to believe. The service's answers are compared with it and refused when
 * they differ: a hostile proxy must not be able to move a wallet to another pool or to name its own fees.
 */
import type { Info } from "../../api/service.ts";
import { hasGoodChecksum } from "../../api/checksum.ts";
import type { Address } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import type { FeeOperation, FeeRule } from "../../protocol/host/fees.ts";
import type { Home, Kind } from "../../protocol/statements.ts";
import { decodeShieldedAddress, type ShieldedAddress } from "../../notes/address.ts";
import type { EnclavePins } from "./attestation.ts";
import type { BridgePins } from "./pinned-bridges.ts";
import { ClientError } from "./errors.ts";

export interface Pins {
  readonly chainId: number;
  readonly pool: string;
  /** Tokens that this wallet deposits and pays with, by address; at least one. The first is meant where a caller names none. */
  readonly assets: readonly string[];
  /** Human-readable part of this network's shielded addresses. */
  readonly addressPrefix: string;
  /**
   * What must run in the service's enclaves. "unverified" takes any: the pool's rules still hold, but nobody but
   * the pool's owner then vouches for who may sign.
   */
  readonly enclaves: EnclavePins | "unverified";
  /** Most that all fees of one payment together may be, by operation: flat + amount × bps / 10,000. */
  readonly feeCeiling: Readonly<Partial<Record<FeeOperation, FeeRule>>>;
  /** The same by token, in the place of `feeCeiling` for that token: a flat amount is another sum of money in each. */
  readonly feeCeilings?: Readonly<Record<string, Pins["feeCeiling"]>>;
  /** When given, the only shielded addresses that fee notes may pay. */
  readonly feeSinks?: readonly string[];
  /** EIP-712 names of tokens that are deposited by EIP-3009, by address. Default for all: "USD Coin", version "2". */
  readonly tokenDomains?: Readonly<Record<string, TokenDomain>>;
  /**
   * By kind, the hash by which the pool names its circuit (`verifyingKeyHash`). When given, a pool with another one is
   * not believed to be this one where the chain is read.
   */
  readonly verifyingKeys?: Readonly<Partial<Record<Kind, string>>>;
  /** Where money comes from and goes to besides the pool's own chain; absent: nowhere. */
  readonly bridges?: BridgePins;
}

export interface TokenDomain {
  readonly name: string;
  readonly version: string;
}

export function homeOf(pins: Pick<Pins, "chainId" | "pool">): Home {
  return { chainId: BigInt(pins.chainId), pool: requireAddress(pins.pool, "pool") };
}

/** Throws PIN_MISMATCH unless the answer is about the configured pool. */
export function checkPins(pins: Pins, answer: { readonly chain_id: number; readonly pool: string }): void {
  if (answer.chain_id !== pins.chainId) throw new ClientError("PIN_MISMATCH", "another chain");
  if (asAddress(answer.pool) !== asAddress(pins.pool)) throw new ClientError("PIN_MISMATCH", "another pool");
}

export function checkInfo(pins: Pins, info: Info): void {
  checkPins(pins, info);
  if (info.address_prefix !== pins.addressPrefix)
    throw new ClientError("PIN_MISMATCH", "another address prefix");
  const offered = info.assets.map(({ address }) => asAddress(address));
  if (!assetsOf(pins).every((asset) => offered.includes(asset)))
    throw new ClientError("PIN_MISMATCH", "the service does not carry a pinned asset");
}

/** The pinned tokens, first the default. Throws OPTIONS_INVALID when there is none, ADDRESS_INVALID when one is no address. */
export function assetsOf({ assets }: Pick<Pins, "assets">): readonly [Address, ...Address[]] {
  const [first, ...others] = assets;
  if (first === undefined) throw new ClientError("OPTIONS_INVALID", "pins.assets: at least one token");
  return [requireAddress(first, "asset"), ...others.map((asset) => requireAddress(asset, "asset"))];
}

export function tokenDomainOf({ tokenDomains }: Pins, asset: Address): TokenDomain {
  return byToken(tokenDomains, asset) ?? { name: "USD Coin", version: "2" };
}

/** Undefined where no fee at all may be paid. */
export function feeCeilingOf(pins: Pins, asset: Address, operation: FeeOperation): FeeRule | undefined {
  return (byToken(pins.feeCeilings, asset) ?? pins.feeCeiling)[operation];
}

/** Whatever the case of the configuration's addresses. */
function byToken<T>(table: Readonly<Record<string, T>> | undefined, asset: Address): T | undefined {
  return Object.entries(table ?? {}).find(([token]) => asAddress(token) === asset)?.[1];
}

/** ADDRESS_INVALID for what is no shielded address of this network. */
export function requireShielded(untrusted: unknown, prefix: string): ShieldedAddress {
  const to = typeof untrusted === "string" ? decodeShieldedAddress(untrusted, prefix) : undefined;
  if (to !== undefined) return to;
  const isPublic = asAddress(untrusted) !== undefined;
  throw new ClientError(
    "ADDRESS_INVALID",
    isPublic ? "a public address is paid by withdraw" : `not a shielded address that begins with ${prefix}1`,
  );
}

/** ADDRESS_INVALID for what is no public address, and for a mixed case that is not its checksum: money sent there is lost. */
export function requireAddress(untrusted: unknown, name: string): Address {
  const address = asAddress(untrusted);
  if (address === undefined)
    throw new ClientError("ADDRESS_INVALID", `${name}: an address is 0x and 40 hex digits`);
  if (!hasGoodChecksum(untrusted as string))
    throw new ClientError(
      "ADDRESS_INVALID",
      `${name}: the case of its letters is not its checksum (EIP-55), so it is probably mistyped`,
    );
  return address;
}

/**
 * The public account that a withdrawal goes to. ADDRESS_INVALID for nobody's, and for the contracts that are pinned: money
 * at a token, at the pool or at the factory of bridges stays there for ever.
 */
export function requirePayee(untrusted: unknown, pins: Pins): Address {
  const payee = requireAddress(untrusted, "recipient");
  if (BigInt(payee) === 0n) throw new ClientError("ADDRESS_INVALID", "recipient: nobody has that address");
  for (const [name, address] of addressesOf(pins))
    if (asAddress(address) === payee)
      throw new ClientError("ADDRESS_INVALID", `recipient: is ${name}; the money would be stuck there`);
  return payee;
}

/** A key of a table is an address, too. */
export function* addressesOf(pins: Pins): Iterable<[string, string]> {
  yield ["pins.pool", pins.pool];
  for (const asset of pins.assets) yield ["pins.assets", asset];
  for (const asset of Object.keys(pins.feeCeilings ?? {})) yield ["pins.feeCeilings", asset];
  for (const asset of Object.keys(pins.tokenDomains ?? {})) yield ["pins.tokenDomains", asset];
  if (pins.bridges === undefined) return;
  const { factory, collector, assets, lanes, exits } = pins.bridges;
  yield ["pins.bridges.factory", factory];
  yield ["pins.bridges.collector", collector];
  for (const asset of Object.keys(assets)) yield ["pins.bridges.assets", asset];
  for (const { token, messenger } of lanes)
    for (const address of [token, messenger]) yield ["pins.bridges.lanes", address];
  for (const { messenger } of exits.chains) yield ["pins.bridges.exits.chains", messenger];
  if (exits.perpvenue !== undefined) yield ["pins.bridges.exits.perpvenue", exits.perpvenue.messenger];
}
