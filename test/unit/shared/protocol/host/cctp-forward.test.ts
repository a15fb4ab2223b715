// The hook of the exchange's forwarder, written out by hand.
import assert from "node:assert/strict";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../../../shared/protocol/bytes.ts";
import {
  encodeForward,
  FORWARD_BYTES,
  parseForward,
} from "../../../../../shared/protocol/host/cctp-forward.ts";

const RECIPIENT = `0x${"ab".repeat(20)}` as Address;
const MAGIC = "636374702d666f7277617264000000000000000000000000"; // cctp-forward
const hookOf = ({ magic = MAGIC, version = "00000000", length = "00000018", destination = "00000000" }) =>
  mustFromHex(`0x${magic}${version}${length}${"ab".repeat(20)}${destination}`);

describe("the exchange's hook", () => {
  it("is written and read as its layout says", () => {
    const perps = hookOf({});
    const spot = hookOf({ destination: "ffffffff" });
    assert.equal(perps.length, FORWARD_BYTES);
    assert.equal(toHex(encodeForward({ recipient: RECIPIENT, destination: "perps" })), toHex(perps));
    assert.equal(toHex(encodeForward({ recipient: RECIPIENT, destination: "spot" })), toHex(spot));
    assert.deepEqual(parseForward(perps), { recipient: RECIPIENT, destination: "perps" });
    assert.deepEqual(parseForward(spot), { recipient: RECIPIENT, destination: "spot" });
  });

  it("is nothing else", () => {
    const good = hookOf({});
    for (const wrong of [
      hookOf({ version: "00000001" }),
      hookOf({ length: "00000014" }),
      hookOf({ magic: MAGIC.replace(/00$/, "01") }),
      hookOf({ destination: "00000001" }),
      good.slice(0, -1),
      Uint8Array.from([...good, 0]),
      toHex(good),
      undefined,
    ])
      assert.equal(parseForward(wrong), undefined);
  });
});
