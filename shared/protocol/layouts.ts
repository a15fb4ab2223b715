/**
 * Fixed layouts, each written once for both ends: a layout is its fields in order, a field is read and written by one
 * codec. What is read is untrusted.
 */
import type { Address, Bytes32 } from "./brands.ts";
import { ByteReader, bytesToUint, concatBytes, mustFromHex, toHex, uintToBytes, word } from "./bytes.ts";

export interface Codec<T> {
  /** Whatever cannot be read shows in the reader's `done()`; no answer before that is used. */
  read(reader: ByteReader): T;
  /** Throws for what does not fit, which is a fault of ours. */
  write(value: T): Uint8Array;
}

export type Value<C> = C extends Codec<infer T> ? T : never;

export type Layout = Readonly<Record<string, Codec<unknown>>>;
type Fields<L extends Layout> = { readonly [Name in keyof L]: Value<L[Name]> };

export function inOrder<L extends Layout>(layout: L): Codec<Fields<L>> {
  const fields = Object.entries(layout);
  return {
    read: (reader) => Object.fromEntries(fields.map(([name, of]) => [name, of.read(reader)])) as Fields<L>,
    write: (values) => concatBytes(...fields.map(([name, of]) => of.write(values[name]))),
  };
}

/** Undefined unless `bytes` are exactly one such value. */
export function decode<T>(codec: Codec<T>, bytes: Uint8Array): T | undefined {
  const reader = new ByteReader(bytes);
  const value = codec.read(reader);
  return reader.done() ? value : undefined;
}

const hex = <Hex extends string>(length: number): Codec<Hex> => ({
  read: (reader) => toHex(reader.take(length)) as Hex,
  write: (value) => fixed(length).write(mustFromHex(value)),
});
export const address = hex<Address>(20);
export const bytes32 = hex<Bytes32>(32);

export const uint = (length: number): Codec<bigint> => ({
  read: (reader) => reader.uint(length),
  write: (value) => uintToBytes(value, length),
});

/** At most 6 bytes. */
export const number = (length: number): Codec<number> => ({
  read: (reader) => reader.number(length),
  write: (value) => uintToBytes(value, length),
});

/** By its place, in one byte. */
export const oneOf = <T>(values: readonly T[]): Codec<T> => ({
  read: (reader) => reader.accept(values[reader.number(1)]),
  write: (value) => uintToBytes(values.indexOf(value), 1),
});

/** What `narrow` lets pass of another codec's values. */
export const only = <T, Narrow extends T>(
  codec: Codec<T>,
  narrow: (value: T) => Narrow | undefined,
): Codec<Narrow> => ({
  read: (reader) => reader.accept(narrow(codec.read(reader))),
  write: (value) => codec.write(value),
});

export const fixed = (length: number): Codec<Uint8Array> => ({
  read: (reader) => reader.take(length),
  write: (value) => {
    if (value.length !== length) throw new RangeError("field has the wrong length");
    return value;
  },
});

/** Its length in front. */
export const bytes = (lengthBytes: number): Codec<Uint8Array> => ({
  read: (reader) => reader.take(reader.number(lengthBytes)),
  write: (value) => concatBytes(uintToBytes(value.length, lengthBytes), value),
});

/** To the end of what there is. */
export const rest: Codec<Uint8Array> = { read: (reader) => reader.rest(), write: (value) => value };

/** 32-byte integers, their number in front. */
export const words = (countBytes: number): Codec<readonly bigint[]> => ({
  read: (reader) => reader.list(reader.number(countBytes), 32).map(bytesToUint),
  write: (values) => concatBytes(uintToBytes(values.length, countBytes), ...values.map(word)),
});

/** Always so many. */
export const times = <T>(count: number, codec: Codec<T>): Codec<readonly T[]> => ({
  read: (reader) => Array.from({ length: count }, () => codec.read(reader)),
  write: (values) => {
    if (values.length !== count) throw new RangeError("field has another number of parts");
    return concatBytes(...values.map((value) => codec.write(value)));
  },
});
