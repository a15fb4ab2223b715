/**
 * The few primitive types that every party shares. Their texts are in host/text.ts.
 * Nothing here trusts its input: what does not fit comes back as undefined.
 */
declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** Order r of BN254's scalar field: circuits, signals, notes and Poseidon live below it. */
export const FIELD_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
/** Order q of BN254's base field: coordinates of proof points live below it. */
export const BASE_FIELD_ORDER = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;

/** An integer in [0, r). Only `asField` makes one. */
export type Field = Brand<bigint, "Field">;
/** `0x` and 64 lower-case hex digits. */
export type Bytes32 = Brand<string, "Bytes32">;
/** `0x` and 40 lower-case hex digits; checksums exist at the HTTP border only. */
export type Address = Brand<string, "Address">;

export const ZERO_ADDRESS = `0x${"00".repeat(20)}` as Address;
export const ZERO_BYTES32 = `0x${"00".repeat(32)}` as Bytes32;

/** Largest value of a note or public amount, exclusive. */
export const VALUE_LIMIT = 1n << 128n;
/** Deadlines and validity bounds are Unix seconds below this. */
export const UINT64_LIMIT = 1n << 64n;

/** Undefined at or above r: x and x + r are one scalar to the pairing, so both spellings would give one note two nullifiers. */
export function asField(value: bigint): Field | undefined {
  return value >= 0n && value < FIELD_ORDER ? (value as Field) : undefined;
}

/** For values that are below r by construction (hashes, reductions); a throw is a fault of ours. */
export function mustField(value: bigint): Field {
  const field = asField(value);
  if (field === undefined) throw new RangeError("value is not below the field order");
  return field;
}

/** An address as the integer that circuits and signals use; undefined at or above 2^160. */
export function addressFromField(value: bigint): Address | undefined {
  return value >= 0n && value < 1n << 160n
    ? (`0x${value.toString(16).padStart(40, "0")}` as Address)
    : undefined;
}
