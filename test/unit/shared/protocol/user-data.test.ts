import assert from "node:assert/strict";
import fc from "fast-check";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { concatBytes, toAddress, toBytes32, toHex } from "../../../../shared/protocol/bytes.ts";
import { decodeUserData, encodeUserData, type UserData } from "../../../../shared/protocol/user-data.ts";

const SIGNER = `0x${"a1".repeat(20)}` as Address;
const HASH = `0x${"c2".repeat(32)}` as Bytes32;
const GENESIS: UserData = {
  type: "genesis",
  signer: SIGNER,
  configurationHash: HASH,
  sealedKeyHash: `0x${"5e".repeat(32)}` as Bytes32,
  kmsKeyHash: `0x${"4a".repeat(32)}` as Bytes32,
};
/** "cloister-enclave", version 2 */
const HEAD = "0x636c6f69737465722d656e636c61766502";

describe("shared/protocol/user-data", () => {
  for (const [data, hex] of [
    [GENESIS, `01${"a1".repeat(20)}${"c2".repeat(32)}${"5e".repeat(32)}${"4a".repeat(32)}`],
    [{ type: "release", configurationHash: HASH }, `02${"00".repeat(20)}${"c2".repeat(32)}`],
    [{ type: "live", signer: SIGNER, configurationHash: HASH }, `03${"a1".repeat(20)}${"c2".repeat(32)}`],
  ] as [UserData, string][]) {
    it(`has one fixed layout: ${data.type}`, () => {
      const bytes = encodeUserData(data);
      assert.equal(toHex(bytes), HEAD + hex);
      assert.deepEqual(decodeUserData(bytes), data);
    });
  }

  it("reads back what was written, and nothing shorter or longer", () => {
    const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
      fc.uint8Array({ minLength: length, maxLength: length });
    const address = bytes(20).map(toAddress);
    const hash = bytes(32).map(toBytes32);
    const any: fc.Arbitrary<UserData> = fc.oneof(
      fc.record(
        {
          type: fc.constant("genesis" as const),
          signer: address,
          configurationHash: hash,
          sealedKeyHash: hash,
          kmsKeyHash: hash,
        },
        { noNullPrototype: true },
      ),
      fc.record(
        { type: fc.constant("release" as const), configurationHash: hash },
        { noNullPrototype: true },
      ),
      fc.record(
        { type: fc.constant("live" as const), signer: address, configurationHash: hash },
        { noNullPrototype: true },
      ),
    );
    fc.assert(
      fc.property(any, (data) => {
        const written = encodeUserData(data);
        assert.deepEqual(decodeUserData(written), data);
        assert.equal(decodeUserData(written.slice(0, -1)), undefined);
        assert.equal(decodeUserData(concatBytes(written, Uint8Array.of(0))), undefined);
      }),
    );
  });

  describe("refuses", () => {
    const live = encodeUserData({ type: "live", signer: SIGNER, configurationHash: HASH });
    const release = encodeUserData({ type: "release", configurationHash: HASH });
    const bad: Record<string, Uint8Array> = {
      "another domain": live.with(15, 0),
      "another version": live.with(16, 1),
      "a type that does not exist": live.with(17, 4),
      "no type": live.with(17, 0),
      "a live document as genesis": live.with(17, 1),
      "a genesis document as live": encodeUserData(GENESIS).with(17, 3),
      "a release that names a signer": release.with(18, 1),
      nothing: new Uint8Array(0),
    };
    for (const [what, bytes] of Object.entries(bad)) {
      it(what, () => assert.equal(decodeUserData(bytes), undefined));
    }
  });
});
