// One of every message with its bytes written out by hand, and arbitrary ones for random tests.
import fc from "fast-check";
import { FIELD_ORDER, mustField, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { toAddress, toBytes32 } from "../../../shared/protocol/bytes.ts";
import {
  REFUSALS,
  type EnclaveReply,
  type EnclaveRequest,
} from "../../../shared/protocol/enclave-messages.ts";

export interface Vector<T> {
  readonly name: string;
  readonly requestId: number;
  readonly message: T;
  /** The whole frame: version, length, request id, type, then the body. */
  readonly hex: string;
}

const POOL = `0x${"c1".repeat(20)}` as Address;
const HEAD = `0x${"4e".repeat(32)}` as Bytes32;
const CIRCUITS = `0x${"7c".repeat(32)}` as Bytes32;
const w = (digits: string): string => digits.padStart(64, "0");

export const REQUESTS: readonly Vector<EnclaveRequest>[] = [
  { name: "status", requestId: 1, message: { type: "status" }, hex: "01 00000005 00000001 01" },
  {
    name: "attestation",
    requestId: 0xffff_ffff,
    message: { type: "attestation", nonce: new Uint8Array(16).fill(0xaa) },
    hex: `01 00000016 ffffffff 02 10 ${"aa".repeat(16)}`,
  },
  {
    name: "genesis",
    requestId: 8,
    message: { type: "genesis", challenge: new Uint8Array(16).fill(0xbb) },
    hex: `01 00000016 00000008 03 10 ${"bb".repeat(16)}`,
  },
  {
    name: "release-request",
    requestId: 9,
    message: { type: "release-request" },
    hex: "01 00000005 00000009 04",
  },
  {
    name: "restore",
    requestId: 10,
    message: {
      type: "restore",
      sealedKey: new Uint8Array(256).fill(0x5e),
      birthCertificate: Uint8Array.of(0x84, 0x44),
      envelope: Uint8Array.of(0x30, 0x80, 0),
    },
    hex: `01 00000110 0000000a 05 0100 ${"5e".repeat(256)} 0002 8444 0003 308000`,
  },
  {
    name: "attest",
    requestId: 2,
    message: {
      type: "attest",
      chainId: 31_337n,
      pool: POOL,
      kindId: 2,
      deadline: 0x0102_0304_0506_0708n,
      proof: new Uint8Array(256).fill(0x77),
      signals: [1n, 0xfen],
      ext: Uint8Array.of(9, 8, 7),
    },
    hex: `01 00000172 00000002 06 0000000000007a69 ${"c1".repeat(20)} 02 0102030405060708 ${"77".repeat(256)} 02 ${w("1")} ${w("fe")} 00000003 090807`,
  },
  {
    name: "attest-root",
    requestId: 3,
    message: {
      type: "attest-root",
      chainId: 1n,
      pool: POOL,
      fromIndex: 2n,
      headBefore: HEAD,
      frontier: [5n, 6n],
      leaves: [7n],
    },
    hex: `01 000000ac 00000003 07 0000000000000001 ${"c1".repeat(20)} 0000000000000002 ${"4e".repeat(32)} 02 ${w("5")} ${w("6")} 0001 ${w("7")}`,
  },
];

export const REPLIES: readonly Vector<EnclaveReply>[] = [
  {
    name: "status",
    requestId: 1,
    message: {
      type: "status",
      phase: "serving",
      signer: POOL,
      configurationHash: HEAD,
      circuitsHash: CIRCUITS,
    },
    hex: `01 0000005a 00000001 81 01 ${"c1".repeat(20)} ${"4e".repeat(32)} ${"7c".repeat(32)}`,
  },
  {
    name: "attestation",
    requestId: 4,
    message: { type: "attestation", document: Uint8Array.of(0x84, 0x44) },
    hex: "01 00000007 00000004 82 8444",
  },
  {
    name: "genesis",
    requestId: 8,
    message: {
      type: "genesis",
      sealedKey: new Uint8Array(256).fill(0x5e),
      birthCertificate: Uint8Array.of(0x84, 0x44, 0),
    },
    hex: `01 0000010a 00000008 83 0100 ${"5e".repeat(256)} 844400`,
  },
  {
    name: "release-request",
    requestId: 9,
    message: { type: "release-request", document: Uint8Array.of(0x84, 0x44, 1) },
    hex: "01 00000008 00000009 84 844401",
  },
  {
    name: "restore",
    requestId: 10,
    message: { type: "restore", signer: POOL },
    hex: `01 00000019 0000000a 85 ${"c1".repeat(20)}`,
  },
  {
    name: "attest",
    requestId: 5,
    message: {
      type: "attest",
      statementHash: HEAD,
      proofHash: HEAD,
      signature: new Uint8Array(65).fill(0x1b),
    },
    hex: `01 00000086 00000005 86 ${"4e".repeat(32)} ${"4e".repeat(32)} ${"1b".repeat(65)}`,
  },
  {
    name: "attest-root",
    requestId: 6,
    message: {
      type: "attest-root",
      oldRoot: mustField(1n),
      newRoot: mustField(2n),
      toIndex: 3n,
      headAfter: HEAD,
      signature: new Uint8Array(65).fill(0x1c),
    },
    hex: `01 000000ae 00000006 87 ${w("1")} ${w("2")} 0000000000000003 ${"4e".repeat(32)} ${"1c".repeat(65)}`,
  },
  {
    name: "refusal",
    requestId: 7,
    message: { type: "refused", code: "BUSY" },
    hex: "01 00000006 00000007 ff 01",
  },
];

const PLAIN = { noNullPrototype: true } as const;
const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: length, maxLength: length });
const some = fc.uint8Array({ maxLength: 5_000 });
const uint = (bits: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min: 0n, max: (1n << bits) - 1n });
const address = bytes(20).map(toAddress);
const bytes32 = bytes(32).map(toBytes32);
const field = fc.bigInt({ min: 0n, max: FIELD_ORDER - 1n }).map(mustField);
const is = <T extends string>(text: T): fc.Arbitrary<T> => fc.constant(text);

export const anyRequestId = fc.nat(0xffff_ffff);

export const anyRequest: fc.Arbitrary<EnclaveRequest> = fc.oneof(
  fc.record({ type: is("status") }, PLAIN),
  fc.record({ type: is("attestation"), nonce: fc.uint8Array({ maxLength: 255 }) }, PLAIN),
  fc.record({ type: is("genesis"), challenge: fc.uint8Array({ maxLength: 255 }) }, PLAIN),
  fc.record({ type: is("release-request") }, PLAIN),
  fc.record({ type: is("restore"), sealedKey: some, birthCertificate: some, envelope: some }, PLAIN),
  fc.record(
    {
      type: is("attest"),
      chainId: uint(64n),
      pool: address,
      kindId: fc.nat(255),
      deadline: uint(64n),
      proof: bytes(256),
      signals: fc.array(uint(256n), { maxLength: 20 }),
      ext: fc.uint8Array({ maxLength: 600 }),
    },
    PLAIN,
  ),
  fc.record(
    {
      type: is("attest-root"),
      chainId: uint(64n),
      pool: address,
      fromIndex: uint(64n),
      headBefore: bytes32,
      frontier: fc.array(uint(256n), { maxLength: 48 }),
      leaves: fc.array(uint(256n), { minLength: 1, maxLength: 256 }),
    },
    PLAIN,
  ),
);

export const anyReply: fc.Arbitrary<EnclaveReply> = fc.oneof(
  fc.record(
    {
      type: is("status"),
      phase: fc.constantFrom("booting" as const, "serving" as const, "halted" as const),
      signer: address,
      configurationHash: bytes32,
      circuitsHash: bytes32,
    },
    PLAIN,
  ),
  fc.record({ type: is("attestation"), document: some }, PLAIN),
  fc.record({ type: is("genesis"), sealedKey: some, birthCertificate: some }, PLAIN),
  fc.record({ type: is("release-request"), document: some }, PLAIN),
  fc.record({ type: is("restore"), signer: address }, PLAIN),
  fc.record({ type: is("attest"), statementHash: bytes32, proofHash: bytes32, signature: bytes(65) }, PLAIN),
  fc.record(
    {
      type: is("attest-root"),
      oldRoot: field,
      newRoot: field,
      toIndex: uint(64n),
      headAfter: bytes32,
      signature: bytes(65),
    },
    PLAIN,
  ),
  fc.record({ type: is("refused"), code: fc.constantFrom(...REFUSALS) }, PLAIN),
);
