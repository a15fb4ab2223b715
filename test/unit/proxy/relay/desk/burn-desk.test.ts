// Burns on the other blockchain, against its process: what the device is given to sign, and what is paid for when it
// comes back. The book is the test's own, its balance is the chain's.
import assert from "node:assert/strict";
import { lamports } from "@solana/kit";
import type { Remark } from "../../../../../proxy/relay/requests.ts";
import { createBurnDesk, type OpenBurnDesk } from "../../../../../proxy/relay/desk/burn-desk.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { tokenBalances } from "../../../../../shared/altchain/balances.ts";
import { signBurn, type AltchainKey } from "../../../../../shared/altchain/signing.ts";
import { tokenAccountOf } from "../../../../../shared/altchain/token.ts";
import {
  altchainKey,
  expectedBurn,
  HOME_DOMAIN,
  RECIPIENT,
  startTestAltchain,
  type TestAltchain,
} from "../../../../support/altchain.ts";
import { poll } from "../../../../../scripts/base/poll.ts";

const AMOUNT = 5_000_000n;
const BOUNDS = { minimum: 1_000_000n, feeCeiling: 50_000n };

describe("relay/desk: burns on the other blockchain", function () {
  let chain: TestAltchain;
  let payer: AltchainKey;
  let device: AltchainKey;
  let desk: OpenBurnDesk;
  let sign: Remark["sign"];
  let balance: bigint;
  let news: (bridgeId: string) => void;
  let made = 0;
  /** Newest slot that the book has looked at. */
  let slot = 0;
  /** How often the chain was asked for a recent block. */
  let questions = 0;
  let looks = 0;
  /** The book could not read the chain at its last pass. */
  let isAway = false;

  before(async () => {
    chain = await startTestAltchain();
    payer = await altchainKey("fee payer");
    await chain.node.requestAirdrop(payer.address, lamports(1_000_000_000n)).send();
    await chain.develop("slots", { count: 1 });
  });
  after(() => chain.stop());

  beforeEach(async () => {
    device = await altchainKey(`deposit ${String((made += 1))}`);
    [sign, balance, questions, isAway] = [undefined, 0n, 0, false];
    const counted = new Proxy(chain.node, {
      get(node, name) {
        if (name === "getLatestBlockhash") questions += 1;
        return Reflect.get(node, name) as unknown;
      },
    });
    const record = {
      id: "request",
      address: `0x${RECIPIENT.slice(-40)}`,
      way: { kind: "from-altchain", depositKey: device.address },
    };
    desk = createBurnDesk({
      ...{ node: counted, token: chain.token, bounds: BOUNDS, homeDomain: HOME_DOMAIN, feePayer: payer },
      book: {
        active: () => [],
        recordOf: () => record as never,
        factsOf: () => ({ before: [{ balance }] }) as never,
        remark: (_id, remark) => {
          if ("sign" in remark) sign = remark.sign;
        },
        tipOf: () => {
          looks += 1;
          return isAway ? undefined : ({ number: slot } as never);
        },
        onChange: (listener) => {
          news = listener;
          return () => undefined;
        },
      },
      fees: () => new Map([[1_000, 1_000_000n]]),
      ...{ pollIntervalMs: 20, logger: createLogger("silent") },
    });
    desk.start();
  });
  afterEach(() => desk.stop());

  /** Tokens at the deposit key's account, and the book's news of it. */
  async function look(): Promise<void> {
    const account = await tokenAccountOf(device.address, chain.token.mint);
    const { amounts } = await tokenBalances(chain.node, chain.token, [account], "confirmed");
    balance = amounts.get(account) ?? 0n;
    slot = Number(await chain.node.getSlot({ commitment: "confirmed" }).send());
    news("request");
  }
  async function arrive(amount: bigint): Promise<void> {
    await chain.develop("mint", { to: device.address, amount: String(amount) });
    await chain.develop("slots", { count: 2 });
    await look();
  }
  async function asked(): Promise<string> {
    const found = await poll(() => sign?.transaction);
    assert.ok(found !== undefined, "nothing to be signed");
    return found;
  }
  /** Each pass asks the book for its tip. */
  async function passes(count: number): Promise<void> {
    const until = looks + count;
    assert.ok(await poll(() => (looks >= until ? true : undefined)));
  }
  const expected = () => ({ ...expectedBurn(chain.token, device), ...BOUNDS, feePayer: payer.address });
  const bytes = (encoded: string): Uint8Array => Uint8Array.from(Buffer.from(encoded, "base64"));

  it("writes the burn of all that is there, and sends it once it is signed", async () => {
    await arrive(AMOUNT);
    const signed = await signBurn(await asked(), expected(), device);
    assert.equal(await desk.submit({ id: "request" } as never, bytes(signed)), "sent");
    await chain.develop("slots", { count: 2 });
    await look();
    assert.equal(balance, 0n);
    assert.equal(await poll(() => (sign === undefined ? true : undefined)), true);
  });

  it("pays for nothing else: not unsigned, not changed, not signed by another key", async () => {
    await arrive(AMOUNT);
    const unsigned = await asked();
    assert.equal(await desk.submit({ id: "request" } as never, bytes(unsigned)), "refused");
    const signed = bytes(await signBurn(unsigned, expected(), device));
    for (const at of [70, 130, signed.length - 3]) {
      const changed = signed.slice();
      changed[at]! ^= 1;
      assert.equal(await desk.submit({ id: "request" } as never, changed), "refused", String(at));
    }
    await chain.develop("slots", { count: 2 });
    await look();
    assert.equal(balance, AMOUNT);
  });

  it("asks for no signature below the minimum, and takes none when nothing is there", async () => {
    await arrive(BOUNDS.minimum - 1n);
    assert.equal(await poll(() => sign, 300, 10), undefined);
    assert.equal(await desk.submit({ id: "request" } as never, new Uint8Array(10)), "refused");
  });

  it("writes it again when more has come, and before it can no longer land", async () => {
    await arrive(AMOUNT);
    const first = await asked();
    await arrive(AMOUNT);
    const second = await poll(() => (sign?.transaction === first ? undefined : sign?.transaction));
    assert.ok(second !== undefined);
    await chain.develop("slots", { count: 120 });
    await look();
    const third = await poll(() => (sign?.transaction === second ? undefined : sign?.transaction));
    assert.ok(third !== undefined);
    const signed = await signBurn(third, expected(), device);
    assert.equal(await desk.submit({ id: "request" } as never, bytes(signed)), "sent");
    await chain.develop("slots", { count: 2 });
    await look();
    assert.equal(balance, 0n);
  });

  it("writes one that has expired again also while the book cannot read the chain, as where many answers are wrong", async () => {
    await arrive(AMOUNT);
    const first = await asked();
    isAway = true;
    await chain.develop("slots", { count: 200 });
    const signed = await signBurn(first, expected(), device);
    assert.equal(await desk.submit({ id: "request" } as never, bytes(signed)), "away");
    assert.ok(await poll(() => (sign?.transaction !== first ? true : undefined)));
    const again = await signBurn(await asked(), expected(), device);
    assert.equal(await desk.submit({ id: "request" } as never, bytes(again)), "sent");
  });

  it("asks for a recent block when the one it refusals is old, and not at every look", async () => {
    await arrive(AMOUNT);
    const first = await asked();
    assert.equal(questions, 1);
    // Sixty blocks are left at the least: until then neither time nor more money is a reason to ask.
    for (let passed = 0; passed < 80; passed += 20) {
      await chain.develop("slots", { count: 20 });
      await look();
      await passes(10);
    }
    await arrive(AMOUNT);
    const second = await poll(() => (sign?.transaction === first ? undefined : sign));
    assert.ok(second !== undefined);
    assert.equal(questions, 1);
    const left = second.expiresAfterSlot - slot;
    assert.ok(left >= 60, String(left));
    await chain.develop("slots", { count: 20 });
    await look();
    const third = await poll(() => (sign?.transaction === second.transaction ? undefined : sign));
    assert.ok(third !== undefined && third.expiresAfterSlot > second.expiresAfterSlot);
    await passes(10);
    assert.equal(questions, 2);
  });
});
