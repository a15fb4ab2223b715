// What watcher and operator make of the owner's acts: every event of the pool about them has a meaning, and an expiry is seen
// by the clock alone, to the second.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import {
  ownerEventOf,
  proposalJson,
  proposalText,
  type OwnerEvent,
} from "../../../../proxy/base/chain/owner-events.ts";
import { AFTERMATH } from "../../../../scripts/watch/aftermath.ts";
import type { BlockRecord } from "../../../../scripts/watch/changes.ts";
import { Ledger } from "../../../../scripts/watch/ledger.ts";
import { POOL_ABI } from "../../../../shared/contracts/abi.ts";
import { ZERO_BYTES32 } from "../../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../../shared/protocol/host/text.ts";

const subject = asAddress(`0x${"5c".repeat(20)}`)!;
const image = asBytes32(`0x${"5e".repeat(32)}`)!;
const other = asAddress(`0x${"5d".repeat(20)}`)!;
const OTHERS = new Set([
  ...["Executed", "NoteHashed", "Credited", "Rejected", "RootUpdated", "RootUpdateSkipped"],
  // Of claims, and of what the guardian or anybody did, or what follows from another event of the same call.
  // A registration is both: somebody comes in, and its document is judged.
  ...AFTERMATH.filter((name) => name !== "SignerRegistered"),
]);

const times = { admissibleAt: 100n, expiresAt: 200n };
const change = (name: string, address = subject): OwnerEvent => {
  const role = /^[A-Z][a-z]+/.exec(name)![0].toLowerCase();
  return ownerEventOf(name, { [role]: role === "image" ? image : address, ...times })!;
};
async function* one(record: BlockRecord): AsyncGenerator<BlockRecord> {
  yield record;
}

describe("scripts: the watcher's view of the owner", () => {
  it("knows every event of the pool about an image, a signer, an asset or the executor", () => {
    const names = new Interface(POOL_ABI).fragments.flatMap((fragment) =>
      fragment.type === "event" && "name" in fragment ? [String(fragment.name)] : [],
    );
    const owners = names.filter((name) => !OTHERS.has(name));
    assert.equal(owners.length, 13);
    for (const name of owners) assert.notEqual(change(name), undefined, name);
    for (const name of OTHERS) assert.ok(names.includes(name), name);
    for (const name of OTHERS) assert.equal(ownerEventOf(name, { signer: subject }), undefined);
    assert.equal(ownerEventOf("ImageProposed", { image: subject, ...times }), undefined);
  });

  it("keeps a proposal until it is admitted, withdrawn, made again or expired, each role for itself", () => {
    const ledger = new Ledger();
    ledger.change(change("ImageProposed"));
    ledger.change(change("AssetProposed"));
    ledger.change(change("ExecutorProposed"));
    ledger.change(change("ExecutorProposed", other));
    ledger.change(change("AssetWithdrawn"));
    ledger.change(change("ExecutorSet", other));
    assert.deepEqual(
      ledger.pending.map(({ role, subject: name }) => [role, name]),
      [
        ["image", image],
        ["executor", subject],
      ],
    );
    assert.deepEqual([...ledger.signers], []);
    assert.deepEqual(ledger.expire(199), []);
    assert.equal(ledger.expire(200).length, 2);
    assert.deepEqual([ledger.pending, ledger.expire(200)], [[], []]);
    ledger.change(change("SignerRegistered"));
    assert.deepEqual([...ledger.signers.keys()], [subject]);
    ledger.change(change("SignerRemoved"));
    assert.deepEqual([...ledger.signers], []);
  });

  it("remembers what is pending, and that it expired", async () => {
    const ledger = new Ledger();
    ledger.change(change("ImageProposed"));
    const proposed = ledger.seal(1, ZERO_BYTES32);
    const [pending] = (await Ledger.from(one(proposed))).pending;
    assert.deepEqual(pending, { role: "image", subject: image, admissibleAt: 100, expiresAt: 200 });
    assert.equal(
      proposalText(pending),
      `image ${image}, admissible from 1970-01-01T00:01:40.000Z, expires at 1970-01-01T00:03:20.000Z`,
    );
    assert.deepEqual(proposalJson(pending), {
      role: "image",
      image,
      admissible_at: 100,
      expires_at: 200,
    });
    ledger.expire(200);
    assert.deepEqual((await Ledger.from(one(ledger.seal(2, ZERO_BYTES32)))).pending, []);
  });
});
