// Burn and mint over real chains by the attester's program: what arrives, what is refused and in which words.
import assert from "node:assert/strict";
import path from "node:path";
import { SigningKey } from "ethers";
import { z } from "zod";
import type { Address } from "../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import {
  addressToWord,
  attestersOf,
  encodeBurn,
  messageHash,
  parseBurn,
  parseMessage,
} from "../../../shared/protocol/host/cctp.ts";
import { attesterAddresses } from "../../../scripts/stand-ins/venues/attester/start.ts";
import { EXPIRES_AFTER, FINAL_BLOCKS, Stage, USD, type ShownMessage } from "./stage.ts";

let someone = 0;
/** Without code, and without a past. */
function nobody(): Address {
  return `0x${(++someone).toString(16).padStart(40, "b")}` as Address;
}

function burnIn({ message }: ShownMessage) {
  const header = parseMessage(mustFromHex(message)) ?? assert.fail("no message");
  return {
    finality: header.finalityThresholdExecuted,
    ...(parseBurn(header.body) ?? assert.fail("no burn")),
  };
}

describe("the attester", function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.set();
  });
  after(() => stage.close());

  it("is pending until the chain's own finality, then complete, and the burn is minted to an address without code", async () => {
    const { second, home } = stage;
    const to = nobody();
    const hash = await second.burn({ amount: 25n * USD, to, domain: 3 });
    const pending = await stage.until(6, hash, "pending_confirmations");
    assert.deepEqual([pending.message, pending.attestation, pending.eventNonce], ["", "PENDING", ""]);
    await second.mine(FINAL_BLOCKS - 1);
    await stage.looked(); // One block more, which makes it final.
    const complete = await stage.until(6, hash, "complete");
    assert.match(complete.eventNonce, /^0x[0-9a-f]{64}$/);
    const { finality, feeExecuted, expirationBlock } = burnIn(complete);
    assert.deepEqual([finality, feeExecuted, expirationBlock], [2_000, 0n, 0n]);
    await home.receive(complete);
    assert.equal(await home.usdc.balanceOf(to), 25n * USD);
    await assert.rejects(home.receive(complete), /Nonce already used/);
  });

  it("signs with both keys in rising order, and shows the public ones", async () => {
    const hash = await stage.second.burn({ amount: USD, to: nobody(), domain: 3 });
    await stage.second.mine(FINAL_BLOCKS);
    const { message, attestation } = await stage.until(6, hash, "complete");
    assert.deepEqual(
      attestersOf(mustFromHex(message), mustFromHex(attestation)),
      await attesterAddresses(path.join(stage.folder, "attester")),
    );
    const keys = z
      .object({ publicKeys: z.array(z.object({ publicKey: z.string(), cctpVersion: z.literal(2) })) })
      .parse(await (await stage.ask("/v2/publicKeys")).json());
    assert.equal(keys.publicKeys.length, 2);
  });

  it("sends a fast message after one block, for the fee of its table", async () => {
    const { second, home } = stage;
    const to = nobody();
    const hash = await second.burn({ amount: 100n * USD, to, domain: 3, finality: 1_000, maxFee: 20_000n });
    assert.equal((await stage.until(6, hash, "pending_confirmations")).message, "");
    await second.mine(1);
    const complete = await stage.until(6, hash, "complete");
    const { finality, feeExecuted, expirationBlock } = burnIn(complete);
    assert.deepEqual([finality, feeExecuted], [1_000, 15_000n]);
    assert.ok(expirationBlock > 0n);
    const before = await home.usdc.balanceOf(home.cctp.feeRecipient);
    await home.receive(complete);
    assert.equal(await home.usdc.balanceOf(to), 100n * USD - 15_000n);
    assert.equal((await home.usdc.balanceOf(home.cctp.feeRecipient)) - before, 15_000n);
    const fees: unknown = await (await stage.ask("/v2/burn/USDC/fees/6/3")).json();
    assert.deepEqual(fees, [
      { finalityThreshold: 1_000, minimumFee: 1.5 },
      { finalityThreshold: 2_000, minimumFee: 0 },
    ]);
  });

  it("takes the slow way when the fee is above the ceiling, and then takes none", async () => {
    const { second, home } = stage;
    const to = nobody();
    const hash = await second.burn({ amount: 100n * USD, to, domain: 3, finality: 1_000, maxFee: 14_999n });
    await second.mine(1);
    const pending = await stage.until(6, hash, "pending_confirmations");
    assert.equal(pending.delayReason, "insufficient_fee");
    await second.mine(FINAL_BLOCKS);
    await home.receive(await stage.until(6, hash, "complete"));
    assert.equal(await home.usdc.balanceOf(to), 100n * USD);
  });

  it("attests again what has expired, with a new last block or, when it is final, without", async () => {
    const { second, home } = stage;
    const [to, other] = [nobody(), nobody()];
    const burn = { amount: 10n * USD, domain: 3, finality: 1_000, maxFee: 20_000n } as const;
    const hash = await second.burn({ ...burn, to });
    const later = await second.burn({ ...burn, to: other });
    await second.mine(1);
    await stage.until(6, later, "complete");
    const first = await stage.until(6, hash, "complete");
    await home.mine(EXPIRES_AFTER);
    await assert.rejects(home.receive(first), /Message expired and must be re-signed/);
    await stage.looked();

    assert.equal((await stage.ask(`/v2/reattest/${first.eventNonce}`, { method: "POST" })).status, 200);
    const renewed = await stage.until(6, hash, "complete");
    assert.notEqual(renewed.message, first.message);
    assert.equal(burnIn(renewed).finality, 1_000);
    assert.ok(burnIn(renewed).expirationBlock >= burnIn(first).expirationBlock + BigInt(EXPIRES_AFTER));
    await home.receive(renewed);
    assert.equal(await home.usdc.balanceOf(to), 10n * USD - 1_500n);

    await second.mine(FINAL_BLOCKS);
    await stage.looked();
    const expired = await stage.until(6, later, "complete");
    await assert.rejects(home.receive(expired), /Message expired and must be re-signed/);
    assert.equal((await stage.ask(`/v2/reattest/${expired.eventNonce}`, { method: "POST" })).status, 200);
    const final = await stage.until(6, later, "complete");
    assert.deepEqual([burnIn(final).finality, burnIn(final).expirationBlock], [2_000, 0n]);
    await home.mine(EXPIRES_AFTER * 2);
    await home.receive(final);
    assert.equal(await home.usdc.balanceOf(other), 10n * USD - 1_500n);
    assert.equal((await stage.ask(`/v2/reattest/${expired.eventNonce}`, { method: "POST" })).status, 400);
  });

  it("cannot be forged: not by one key, not by other keys, not with a byte changed", async () => {
    const { second, home } = stage;
    const hash = await second.burn({ amount: USD, to: nobody(), domain: 3 });
    await second.mine(FINAL_BLOCKS);
    const good = await stage.until(6, hash, "complete");
    const { message } = good;
    const signatures = good.attestation.slice(2);
    const [one, two] = [signatures.slice(0, 130), signatures.slice(130)];
    const stranger = new SigningKey(`0x${"99".repeat(32)}`)
      .sign(messageHash(mustFromHex(message)))
      .serialized.slice(2);
    const changed = mustFromHex(message);
    changed[148 + 99]! ^= 1; // The amount.
    for (const [forged, words] of [
      [{ message, attestation: `0x${one}` }, /Invalid attestation length/],
      [{ message, attestation: `0x${two}${one}` }, /Invalid signature order or dupe/],
      [{ message, attestation: `0x${one}${one}` }, /Invalid signature order or dupe/],
      [{ message, attestation: `0x${stranger}${stranger}` }, /Invalid signature/],
      [{ message: toHex(changed), attestation: good.attestation }, /Invalid signature/],
    ] as const)
      await assert.rejects(home.receive(forged), words);
    await home.receive(good);
  });

  it("attests anybody's message, whatever it says, and no money comes of it", async () => {
    const { second, home } = stage;
    const body = encodeBurn({
      burnToken: addressToWord(second.cctp.usdc),
      mintRecipient: addressToWord(nobody()),
      amount: 190_000n * USD,
      messageSender: addressToWord(second.self),
      maxFee: 0n,
      feeExecuted: 0n,
      expirationBlock: 0n,
      hookData: new Uint8Array(0),
    });
    const hash = await second.sendMessage(3, addressToWord(home.cctp.messenger), 1_000, body);
    await second.mine(1);
    const lie = await stage.until(6, hash, "complete");
    assert.equal(burnIn(lie).amount, 190_000n * USD);
    await assert.rejects(home.receive(lie), /Remote TokenMessenger unsupported/);
  });

  it("gives two equal burns two nonces, and both arrive", async () => {
    const { second, home } = stage;
    const to = nobody();
    const burn = { amount: USD, to, domain: 3 };
    const hashes = [await second.burn(burn), await second.burn(burn)] as const;
    await second.mine(FINAL_BLOCKS);
    const one = await stage.until(6, hashes[0], "complete");
    const two = await stage.until(6, hashes[1], "complete");
    assert.notEqual(one.eventNonce, two.eventNonce);
    await home.receive(two);
    await home.receive(one);
    assert.equal(await home.usdc.balanceOf(to), 2n * USD);
  });

  it("never attests what a reorganisation took away before it was final", async () => {
    const { second } = stage;
    const snapshot: unknown = await second.provider.send("evm_snapshot", []);
    const hash = await second.burn({ amount: USD, to: nobody(), domain: 3 });
    await second.mine(FINAL_BLOCKS - 2);
    await stage.until(6, hash, "pending_confirmations");
    await second.provider.send("evm_revert", [snapshot]);
    second.rich.reset();
    await second.mine(3 * FINAL_BLOCKS);
    await stage.looked();
    assert.equal(await stage.shown(6, hash), undefined);
  });

  it("attests nothing while it is away, and everything afterwards", async () => {
    const { second, home } = stage;
    const to = nobody();
    await stage.away(Date.now() / 1_000 + 3_600);
    const hash = await second.burn({ amount: USD, to, domain: 3 });
    await second.mine(FINAL_BLOCKS);
    assert.equal((await stage.ask(`/v2/messages/6?transactionHash=${hash}`)).status, 503);
    await stage.away(0);
    await home.receive(await stage.until(6, hash, "complete"));
    assert.equal(await home.usdc.balanceOf(to), USD);
  });

  it("killed in the middle it goes on: same keys, same attestations, nothing forgotten", async () => {
    const { second, home } = stage;
    const [to, other] = [nobody(), nobody()];
    const fast = await second.burn({ amount: USD, to, domain: 3, finality: 1_000, maxFee: 20_000n });
    const slow = await second.burn({ amount: USD, to: other, domain: 3 });
    const before = await stage.until(6, fast, "complete");
    await stage.until(6, slow, "pending_confirmations");
    await stage.killAttester();
    const missed = await second.burn({ amount: 2n * USD, to: other, domain: 3 });
    await second.mine(FINAL_BLOCKS);
    await stage.startAttester();
    for (const hash of [slow, missed]) await home.receive(await stage.until(6, hash, "complete"));
    assert.equal(await home.usdc.balanceOf(other), 3n * USD);
    assert.deepEqual(await stage.until(6, fast, "complete"), before);
  });

  it("answers unknown questions as the documented one does", async () => {
    for (const [where, status] of [
      [`/v2/messages/6?transactionHash=0x${"00".repeat(32)}`, 404],
      ["/v2/messages/6", 400],
      ["/v2/messages/x?nonce=1", 404],
      ["/v2/burn/USDC/fees/6/77", 404],
      ["/v1/attestations/0x00", 404],
    ] as const)
      assert.equal((await stage.ask(where)).status, status, where);
    const again = await stage.ask(`/v2/reattest/0x${"00".repeat(32)}`, { method: "POST" });
    assert.equal(again.status, 404);
  });
});
