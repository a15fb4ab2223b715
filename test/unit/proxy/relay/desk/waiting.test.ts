/** What the status says while money waits, on real chains with the real attester: the reason, and that it goes with its cause. */
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../../../scripts/build/contracts.ts";
import type { BridgeRecord } from "../../../../../proxy/base/store/bridge-records.ts";
import { ZERO_BYTES32 } from "../../../../../shared/protocol/brands.ts";
import { paddedAddress } from "../../../../../shared/protocol/host/forwarders.ts";
import { until } from "../../../../support/until.ts";
import { MINIMUM, person, SECOND, Stage, type StageOptions } from "./stage.ts";

const DUST = 100;
/** Of a fast burn, which the attester takes at most. */
const MAX_FEE = 0n;

describe("relay/desk: why money waits", function () {
  let stage: Stage;
  const start = async (options: StageOptions = {}): Promise<void> => {
    stage = await Stage.start(options);
  };
  afterEach(() => stage.stop());

  const mined = <T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>) =>
    until(what, async () => {
      const found = await look();
      if (found === undefined || found === false) await stage.mine();
      return found;
    });
  const codeOf = (record: BridgeRecord): string | undefined => stage.book.progressOf(record).reason?.code;
  const reason = (record: BridgeRecord, code: string) => mined(code, () => codeOf(record) === code);
  const noteOf = (key: ReturnType<typeof person>): Promise<bigint> =>
    mined("a note", async () => (await stage.valuesOf(key)).at(0));
  const sourceOf = ({ way }: BridgeRecord): string => {
    assert.ok(way.kind === "from-evm" && way.source !== undefined);
    return way.source.address;
  };

  it("the attester is away, and back: the reason is gone and the money arrives", async () => {
    await start();
    const user = person();
    const record = stage.inRequest(user);
    await stage.attesterAway();
    await stage.pay(sourceOf(record), 4_000_000n, stage.far.usdc);
    await reason(record, "ATTESTER_UNAVAILABLE");
    const { next, withoutHelp, error } = stage.book.progressOf(record);
    assert.match(next.text, /when they answer again/);
    assert.match(withoutHelp, /npm run recover/);
    assert.equal(error?.code, "ATTESTER_UNAVAILABLE");
    await stage.attesterBack();
    assert.ok((await noteOf(user)) > 3_900_000n);
    await mined("the end", () => stage.book.progressOf(record).state === "completed");
    assert.equal(codeOf(record), undefined);
  });

  it("the gas wallet of the other chain is empty, and of no other; filled again, it goes on", async () => {
    await start();
    const [user, beside] = [person(), person()];
    const record = stage.inRequest(user);
    await stage.giveFarGas(0n);
    await stage.pay(sourceOf(record), 4_000_000n, stage.far.usdc);
    await reason(record, "GAS_MISSING");
    assert.match(stage.book.progressOf(record).next.text, /anybody may take the step/);
    await stage.pay(stage.inRequest(beside).address, MINIMUM);
    assert.equal(await noteOf(beside), MINIMUM);
    await stage.giveFarGas(10n ** 20n);
    assert.ok((await noteOf(user)) > 3_900_000n);
  });

  it("the exchange is paused or has no such account: the money lies, and its clock is named", async () => {
    let isOpen = false;
    await start({
      exchange: {
        hasAccount: (account) => Promise.resolve(account !== `0x${"66".repeat(20)}`),
        isOpen: () => Promise.resolve(isOpen),
      },
    });
    const [open, unknown] = ["55", "66"].map((byte) => `0x${byte.repeat(20)}` as never);
    const paused = stage.outRequest(person(), open!, open);
    const refused = stage.outRequest(person(), unknown!, unknown);
    await stage.pay(paused.address, 3_000_000n);
    await stage.pay(refused.address, 3_000_000n);
    await reason(paused, "VENUE_PAUSED");
    await reason(refused, "ACCOUNT_UNKNOWN");
    assert.ok(stage.book.progressOf(paused).next.by !== undefined);
    await mined("it to be on its way back", () => stage.book.progressOf(refused).state === "refunding");
    isOpen = true;
    await mined("it to go on", () => stage.sent.includes("flush"));
    await mined("no reason to be left", () => codeOf(paused) !== "VENUE_PAUSED");
  });

  it("the bridge refuses a burn: for what reason, each by itself, and it goes on when that is over", async () => {
    await start();
    const { cctp, on } = stage;
    const contract = async (name: string, at: string) =>
      new Contract(at, (await loadArtifact(name)).abi, on.owner);
    const [messenger, minter] = [
      await contract("TokenMessengerV2", cctp.messenger),
      await contract("TokenMinterV2", cctp.minter),
    ];
    const tell = (to: Contract, name: string, ...args: unknown[]) => wait(to.getFunction(name)(...args));
    const limit = (units: bigint) => tell(minter, "setMaxBurnAmountPerMessage", cctp.token, units);
    const said = (record: BridgeRecord, words: RegExp) =>
      mined(String(words), () => words.test(stage.book.progressOf(record).reason?.detail ?? ""));
    const record = stage.outRequest(person(), `0x${"55".repeat(20)}` as never);
    await limit(1n);
    await stage.pay(record.address, MINIMUM);
    await reason(record, "STEP_REFUSED");
    await said(record, /more lies there than the bridge burns at once/);
    await tell(messenger, "setDenylisted", record.address, true);
    await said(record, /denylist has one of its accounts/);
    // Never without one of them, or it would go on.
    await tell(minter, "pause");
    await tell(messenger, "setDenylisted", record.address, false);
    await limit(10n ** 12n);
    await said(record, /is paused/);
    await tell(minter, "unpause");
    await mined("it to go on", () => stage.sent.includes("flush"));
    await mined("no reason to be left", () => codeOf(record) !== "STEP_REFUSED");
  });

  it("a hundred grains cost no delivery and no question to the attester; what makes them enough brings no more than it needs", async () => {
    await start();
    const user = person();
    const record = stage.inRequest(user);
    const { cctp, usdc, provider } = stage.far;
    const owner = await provider.getSigner(0);
    const { abi } = await loadArtifact("TokenMessengerV2");
    const messenger = new Contract(cctp.messenger, abi, owner);
    await stage.pay(owner.address, 10n * MINIMUM, usdc);
    await wait(usdc.getFunction("approve")(cctp.messenger, 10n * MINIMUM));
    const burn = (amount: bigint): Promise<void> => {
      const to = paddedAddress(record.address);
      const args = [amount, 3, to, cctp.token, ZERO_BYTES32, MAX_FEE, 2_000];
      return wait(messenger.getFunction("depositForBurn")(...args));
    };
    for (let i = 0; i < DUST; i++) await burn(1n);
    const dust = () => stage.book.factsOf(record.id)?.incoming ?? [];
    await mined("all to be seen", () => dust().length === DUST);
    await reason(record, "DELIVERY_BELOW_MINIMUM");
    for (let i = 0; i < 5; i++) {
      await stage.mine();
      await stage.book.sync();
    }
    assert.deepEqual(
      dust().flatMap((one) => stage.book.attestationOf(one) ?? []),
      [],
    );
    assert.deepEqual(stage.sent, []);
    await burn(MINIMUM - 2n);
    assert.equal(await noteOf(user), MINIMUM);
    assert.deepEqual(stage.sent, ["delivery", "delivery", "delivery", "sweep of 1"]);
    assert.equal(stage.book.tipOf(SECOND) !== undefined, true);
  });
});

async function wait(sending: Promise<unknown>): Promise<void> {
  await ((await sending) as { wait(): Promise<unknown> }).wait();
}
