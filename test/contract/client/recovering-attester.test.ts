// The attester is a stranger's server, and burns are what strangers make: neither ends a round, nor costs the user's gas.
import assert from "node:assert/strict";
import { lanesOf } from "../../../shared/client/bridges/bridge-pins.ts";
import { inPlace, type InPlace } from "../../../shared/client/bridges/terms.ts";
import type { Recovery } from "../../../shared/client/chain.ts";
import { addressToWord } from "../../../shared/protocol/host/cctp.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { until } from "../../support/until.ts";
import { CEILING, MINIMUM, PAYEE, RecoveryStage, REFUND, show } from "./recovery-stage.ts";

const AMOUNT = 9_000_000n;
const EXPIRES_AFTER = 1_000;
const acts = ({ steps }: Recovery): string[] => steps.map(({ what, state }) => `${what} ${state}`);
const waits = ({ waitingFor }: Recovery): string[] => waitingFor.map(({ what }) => what);

describe("recovery, and what strangers answer and burn", function () {
  let stage: RecoveryStage;
  before(async () => {
    stage = await RecoveryStage.open();
  });
  after(() => (stage as RecoveryStage | undefined)?.stop());

  const incoming = (seed: number, index = 0): InPlace =>
    inPlace(
      {
        keys: stage.keys(seed).viewing,
        home: { chainId: BigInt(stage.lone.anvil.chainId), pool: stage.lone.pool },
        factory: stage.factory,
      },
      {
        ...{ minimum: MINIMUM, feeCeiling: CEILING, createdAt: 0, kind: "in", venue: "perpvenue", index },
        ...{ asset: stage.lone.asset, refund: REFUND },
        ...{ collector: asAddress(stage.pins.collector)!, lanes: lanesOf(stage.pins) },
      },
    );
  const recover = (...[seed, changes]: Parameters<RecoveryStage["recover"]>): Promise<Recovery> =>
    stage.recover(seed, { accounts: [], recipients: [], gap: 3, ...changes });
  /** Every question goes out by it; `answer` takes the attester's place. */
  const asking =
    (answer: (url: string) => Promise<Response> | undefined): typeof fetch =>
    async (input, init) => {
      const url = input instanceof Request ? input.url : input.toString();
      return (url.startsWith(stage.attester.url) ? answer(url) : undefined) ?? fetch(input, init);
    };
  const json = (body: unknown): Response => new Response(JSON.stringify(body));

  const PENDING = {
    ...{ attestation: "PENDING", message: null, decodedMessage: null },
    status: "pending_confirmations",
  };
  const FAULTS: readonly [name: string, answer: () => Promise<Response>, reason: RegExp][] = [
    ["is closed", () => Promise.reject(new TypeError("fetch failed")), /cannot be reached/],
    ["is overloaded", async () => new Response("", { status: 503 }), /status 503/],
    ["wants fewer questions", async () => new Response("", { status: 429 }), /status 429/],
    ["refuses", async () => new Response("", { status: 403 }), /status 403/],
    ["answers with a page", async () => new Response("<html>"), /another form/],
    ["answers in another form", async () => json({ messages: "none" }), /another form/],
    ["says that it is pending", async () => json({ messages: [PENDING] }), /nobody has attested it yet/],
    [
      "tells of a message that is none",
      async () => json({ messages: [{ ...PENDING, status: "complete" }] }),
      /nobody/,
    ],
  ];

  it("sweeps whatever the attester does, and each burn is a line with its reason", async () => {
    await stage.pay("second", incoming(1).source!.address, AMOUNT);
    assert.deepEqual(acts(await recover(1)), ["forward done"]);
    for (const [name, answer, reason] of FAULTS) {
      await stage.pay("home", incoming(1, 1).address, AMOUNT);
      const recovery = await recover(1, { fetch: asking(answer) });
      assert.deepEqual(acts(recovery), ["sweep done"], `${name}: ${show(recovery)}`);
      assert.equal(recovery.waitingFor.length, 1, `${name}: ${show(recovery)}`);
      assert.match(waits(recovery)[0]!, reason, name);
    }
    const last = await stage.recoverUntil(1, ({ steps }) => steps.length > 0);
    assert.deepEqual(acts(last), ["deliver done", "sweep done"], show(last));
    assert.deepEqual(await stage.notes(1), [...FAULTS.map(() => AMOUNT), AMOUNT]);
  });

  it("one transaction's answer that cannot be used delays no other delivery", async () => {
    for (const index of [0, 1]) await stage.pay("second", incoming(2, index).source!.address, AMOUNT);
    const { steps } = await recover(2);
    assert.deepEqual(acts({ steps } as Recovery), ["forward done", "forward done"]);
    const bad = steps[0]!.transaction!;
    const fetch = asking((url) => (url.includes(bad) ? Promise.resolve(json({ messages: 1 })) : undefined));
    const recovery = await stage.recoverUntil(2, ({ steps }) => steps.length > 0, { fetch });
    assert.deepEqual(acts(recovery), ["deliver done", "sweep done"], show(recovery));
    assert.match(waits(recovery).join(), new RegExp(`${bad}: .*another form`));
  });

  it("asks about a stranger's dust nobody, and delivers it once it makes up the minimum", async () => {
    const { address } = incoming(3);
    await stage.burnByStranger(address, 1n);
    await stage.burnByStranger(address, MINIMUM - 2n);
    await stage.mine();
    let questions = 0;
    const fetch = asking(() => {
      questions += 1;
      return undefined;
    });
    const sent = await stage.sent();
    const recovery = await recover(3, { fetch });
    assert.deepEqual([recovery.steps, recovery.waitingFor, questions], [[], [], 0], show(recovery));
    assert.deepEqual(await stage.sent(), sent);
    await stage.burnByStranger(address, 1n);
    const enough = (seen: Recovery): boolean => acts(seen).includes("sweep done");
    await stage.recoverUntil(3, enough);
    assert.deepEqual(await stage.notes(3), [MINIMUM]);
    const again = await recover(3);
    assert.deepEqual([again.found, again.steps, again.waitingFor], [[], [], []]);
  });

  it("pays for no call to whom a stranger's burn names as the only one who may deliver it", async () => {
    await stage.burnByStranger(incoming(4).address, AMOUNT, { caller: addressToWord(PAYEE) });
    await stage.mine();
    const sent = await stage.sent();
    const recovery = await recover(4);
    assert.deepEqual([recovery.steps, recovery.waitingFor], [[], []], show(recovery));
    assert.deepEqual(await stage.sent(), sent);
  });

  it("lets the contract say that an attestation has run out, and asks for another", async () => {
    const { address } = incoming(5);
    await stage.burnByStranger(address, AMOUNT, { finality: 1_000, maxFee: CEILING });
    // One block on top of the burn is fast, and two are final, which never expires.
    await stage.second.send("anvil_mine", ["0x1"]);
    await until("an attestation", async () =>
      acts(await recover(5, { dryRun: true })).includes("deliver possible"),
    );
    await stage.lone.provider.send("anvil_mine", [`0x${(EXPIRES_AFTER + 1).toString(16)}`]);
    const expired = await recover(5);
    assert.deepEqual(acts(expired), [], show(expired));
    assert.match(waits(expired).join(), /asked for to be attested again/);
    await stage.recoverUntil(5, (seen) => acts(seen).includes("sweep done"));
    const [note] = await stage.notes(5);
    assert.ok(note !== undefined && note < AMOUNT && note >= AMOUNT - CEILING);
  });
});
