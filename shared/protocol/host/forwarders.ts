/**
 * Addresses of forwarders, as `Forwarders.sol` computes them: each commits to its terms, so whoever knows the terms needs to
 * believe nobody. The salts stand in SPEC.md, "Forwarders"; a test compares every function here with the contract.
 */
import { ZERO_ADDRESS, type Address, type Bytes32, type Field } from "../brands.ts";
import { mustFromHex, toAddress, word } from "../bytes.ts";
import { keccak256, keccakHex } from "../hash.ts";

/** Whose note: the pool completes it with asset and value. */
export interface Receiver {
  readonly npk: Field;
  /** 32 bytes. */
  readonly ephemeralKey: Uint8Array;
  readonly ciphertext: Uint8Array;
}

/** Money that arrives on the pool's chain becomes the receiver's note. */
export interface InTerms {
  readonly pool: Address;
  readonly asset: Address;
  readonly receiver: Receiver;
  /** Most that all fees of one sweep may be together. */
  readonly feeCeiling: bigint;
  /** Less than this is not swept. Above the ceiling. */
  readonly minimum: bigint;
  /** The only caller who may take fees; zero: nobody. */
  readonly collector: Address;
  readonly refund: Address;
}

/** How a source address of that chain sends its money home. */
export interface Lane {
  readonly chainId: bigint;
  readonly token: Address;
  readonly messenger: Address;
  /** Of the home chain, in CCTP's own numbers. */
  readonly domain: number;
  readonly minimum: bigint;
  readonly feeCeiling: bigint;
}

/** One address on every lane's chain. */
export interface SourceTerms {
  /** The address on the home chain, left-padded: `paddedAddress`. */
  readonly recipient: Bytes32;
  readonly lanes: readonly Lane[];
  readonly refund: Address;
}

/** Where money of an out-address goes. */
export interface Exit {
  readonly messenger: Address;
  readonly domain: number;
  readonly recipient: Bytes32;
  /** Who alone may deliver it there; zero: anybody. */
  readonly caller: Bytes32;
  readonly hook: Uint8Array;
}

export interface OutTerms {
  readonly pool: Address;
  readonly asset: Address;
  readonly exit: Exit;
  readonly feeCeiling: bigint;
  readonly minimum: bigint;
  readonly refund: Receiver;
}

/** Where the contract stands and what its vaults are: all that CREATE2 takes beside the salt. */
export interface Factory {
  readonly address: Address;
  readonly vaultCodeHash: Bytes32;
}

/**
 * The contract that is compiled here, on every chain. The code is its address: whoever changes a byte of it has another
 * address, and a test says so.
 */
export const FORWARDERS: Factory = {
  address: "0x5f578cc52c130fd80670eb70d850745d71a3f358" as Address,
  vaultCodeHash: "0xddb5a29b8acec845e724dcfbee9a53cdd7a9190a7cef2b10130420316eb2fb76" as Bytes32,
};

/** The refund clock. */
export const TIMEOUT_SECS = 86_400;

/** Of CCTP v2: soft finality, and the chain's own. */
export const FINALITY = { fast: 1_000, safe: 2_000 } as const;

const IN_TAG = tag("cloister/forwarders/in/v1");
const SOURCE_TAG = tag("cloister/forwarders/source/v1");
const OUT_TAG = tag("cloister/forwarders/out/v1");

export function inSalt(terms: InTerms): Bytes32 {
  return keccakHex(
    ...[IN_TAG, padded(terms.pool), padded(terms.asset), receiverHash(terms.receiver)],
    ...[word(terms.feeCeiling), word(terms.minimum), padded(terms.collector), padded(terms.refund)],
  );
}

export function sourceSalt(terms: SourceTerms): Bytes32 {
  const lanes = terms.lanes.flatMap((lane) => [
    ...[word(lane.chainId), padded(lane.token), padded(lane.messenger)],
    ...[word(BigInt(lane.domain)), word(lane.minimum), word(lane.feeCeiling)],
  ]);
  // As the ABI encodes a list alone: where it begins, how long it is, its members.
  const hash = keccak256(word(32n), word(BigInt(terms.lanes.length)), ...lanes);
  return keccakHex(SOURCE_TAG, mustFromHex(terms.recipient), hash, padded(terms.refund));
}

export function outSalt(terms: OutTerms): Bytes32 {
  const { exit } = terms;
  const exitHash = keccak256(
    ...[padded(exit.messenger), word(BigInt(exit.domain))],
    ...[mustFromHex(exit.recipient), mustFromHex(exit.caller), keccak256(exit.hook)],
  );
  return keccakHex(
    ...[OUT_TAG, padded(terms.pool), padded(terms.asset), exitHash],
    ...[word(terms.feeCeiling), word(terms.minimum), receiverHash(terms.refund)],
  );
}

export function inAddress(terms: InTerms, factory: Factory = FORWARDERS): Address {
  return vaultAddress(inSalt(terms), factory);
}

export function sourceAddress(terms: SourceTerms, factory: Factory = FORWARDERS): Address {
  return vaultAddress(sourceSalt(terms), factory);
}

export function outAddress(terms: OutTerms, factory: Factory = FORWARDERS): Address {
  return vaultAddress(outSalt(terms), factory);
}

/** EIP-1014. */
export function vaultAddress(salt: Bytes32, { address, vaultCodeHash }: Factory): Address {
  const hash = keccak256(
    ...[Uint8Array.of(0xff), mustFromHex(address), mustFromHex(salt), mustFromHex(vaultCodeHash)],
  );
  return toAddress(hash.slice(12));
}

/** An address as bridges write it: 32 bytes, zeros first. */
export function paddedAddress(address: Address): Bytes32 {
  return `0x${"00".repeat(12)}${address.slice(2)}` as Bytes32;
}

/** Undefined when it does not fit into 20 bytes, or is the zero address. */
export function unpaddedAddress(text: Bytes32): Address | undefined {
  const address = `0x${text.slice(26)}` as Address;
  return text.startsWith(`0x${"00".repeat(12)}`) && address !== ZERO_ADDRESS ? address : undefined;
}

function receiverHash({ npk, ephemeralKey, ciphertext }: Receiver): Uint8Array {
  if (ephemeralKey.length !== 32) throw new RangeError("an ephemeral key has 32 bytes");
  return keccak256(word(npk), ephemeralKey, keccak256(ciphertext));
}

function padded(address: Address): Uint8Array {
  return mustFromHex(paddedAddress(address));
}

function tag(text: string): Uint8Array {
  return keccak256(new TextEncoder().encode(text));
}
