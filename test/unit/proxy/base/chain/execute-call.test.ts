// The calldata that is written by hand, against a general encoder with the compiler's ABI.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import fc from "fast-check";
import {
  encodeExecute,
  type AttestedRootUpdate,
  type PoolTransaction,
} from "../../../../../proxy/base/chain/execute-call.ts";
import { POOL_ABI } from "../../../../../shared/contracts/abi.ts";
import type { SignedBy } from "../../../../../shared/protocol/host/signed-by.ts";
import { mustField, ZERO_BYTES32, type Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { concatBytes, toAddress, toBytes32, toHex } from "../../../../../shared/protocol/bytes.ts";
import { KIND_NAMES, KINDS } from "../../../../../shared/protocol/statements.ts";

const ABI = new Interface(POOL_ABI);

const bytes = (most: number, least = 0): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: least, maxLength: most });
const exactly = (length: number): fc.Arbitrary<Uint8Array> => bytes(length, length);
const uint = (bits: number): fc.Arbitrary<bigint> => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n });
const field = uint(253).map(mustField);
const bytes32: fc.Arbitrary<Bytes32> = exactly(32).map(toBytes32);

const attestations: fc.Arbitrary<SignedBy[]> = fc.array(
  fc.record({ signer: exactly(20).map(toAddress), signature: exactly(65) }),
  { maxLength: 3 },
);
const member: fc.Arbitrary<PoolTransaction> = fc.record({
  statement: bytes32,
  kind: fc.constantFrom(...KIND_NAMES),
  deadline: uint(64),
  signals: fc.array(field, { maxLength: 20 }),
  ext: bytes(130),
  proof: exactly(128),
  authorization: bytes(70),
  attestations,
});
const update: fc.Arbitrary<AttestedRootUpdate> = fc.record({
  oldRoot: field,
  newRoot: field,
  fromIndex: uint(64),
  toIndex: uint(64),
  headBefore: bytes32,
  headAfter: bytes32,
  attestations,
});

function signatures(given: readonly SignedBy[]): string {
  const ordered = [...given].sort((a, b) => (BigInt(a.signer) < BigInt(b.signer) ? -1 : 1));
  return toHex(concatBytes(...ordered.map(({ signature }) => signature)));
}

function byTheAbi(members: readonly PoolTransaction[], given: AttestedRootUpdate | undefined): string {
  return ABI.encodeFunctionData("execute", [
    members.map((one) => ({
      kind: KINDS[one.kind].id,
      deadline: one.deadline,
      signals: one.signals,
      ext: one.ext,
      proof: one.proof,
      authorization: one.authorization,
      attestations: signatures(one.attestations),
    })),
    given === undefined
      ? [0, 0, 0, 0, ZERO_BYTES32, ZERO_BYTES32, "0x"]
      : { ...given, attestations: signatures(given.attestations) },
  ]);
}

describe("base/chain/execute-call", () => {
  it("is what a general encoder makes of the ABI", () => {
    fc.assert(
      fc.property(fc.array(member, { maxLength: 4 }), fc.option(update, { nil: undefined }), (members, one) =>
        assert.equal(encodeExecute(members, one), byTheAbi(members, one)),
      ),
      { numRuns: 300 },
    );
  });

  it("refuses numbers that do not fit, instead of cutting them", () => {
    const [one] = fc.sample(member, { numRuns: 1, seed: 1 });
    const with_ = (bend: Partial<PoolTransaction>): (() => string) => {
      return () => encodeExecute([{ ...one!, ...bend }]);
    };
    assert.throws(with_({ deadline: 1n << 64n }), RangeError);
    assert.throws(with_({ deadline: -1n }), RangeError);
    assert.throws(with_({ signals: [(1n << 256n) as never] }), RangeError);
  });
});
