/** Money that arrives, and what becomes of it by the worker alone: two real chains, the real pool, forwarders and attester. */
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../../../scripts/build/contracts.ts";
import { until } from "../../../../support/until.ts";
import {
  CEILING,
  CONFIRMATIONS,
  MINIMUM,
  person,
  REFUND,
  sinkOf,
  Stage,
  type StageOptions,
} from "./stage.ts";

const DAY = 86_400;

describe("relay/desk: the worker on real chains", () => {
  let stage: Stage;
  const start = async (options: StageOptions = {}): Promise<void> => {
    stage = await Stage.start(options);
  };
  afterEach(() => stage.stop());

  /** Mines while it waits. */
  const mined = <T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> =>
    until(what, async () => {
      const found = await look();
      if (found === undefined || found === false) await stage.mine();
      return found;
    });
  const noteOf = (key: ReturnType<typeof person>): Promise<bigint> =>
    mined("a note", async () => (await stage.valuesOf(key)).at(0));

  it("makes an arrival a note that opens for its receiver, with fee notes that open for the sinks", async () => {
    const [user, service, developer] = [person(), person(), person()];
    await start({ fees: { service: sinkOf(service, 50_000n), developer: sinkOf(developer, 1_000n, 10) } });
    const { address } = stage.inRequest(user);
    await stage.pay(address, 5_000_000n);
    assert.equal(await noteOf(user), 5_000_000n - 50_000n - 6_000n);
    assert.deepEqual(await stage.valuesOf(service), [50_000n]);
    assert.deepEqual(await stage.valuesOf(developer), [6_000n]);
    assert.equal(await stage.balance(address), 0n);
    assert.equal(await stage.balance(stage.on.home.pool), 5_000_000n);
    assert.deepEqual(stage.sent, ["sweep of 1"]);
  });

  it("takes no more than the ceiling, and nothing where another is named to collect", async () => {
    const [user, other, service] = [person(), person(), person()];
    await start({ fees: { service: sinkOf(service, 10_000_000n), developer: sinkOf(service, 1n) } });
    await stage.pay(stage.inRequest(user).address, 5_000_000n);
    assert.equal(await noteOf(user), 5_000_000n - CEILING);
    await stage.pay(stage.inRequest(other, { collector: REFUND }).address, 5_000_000n);
    assert.equal(await noteOf(other), 5_000_000n);
    assert.deepEqual(await stage.valuesOf(service), [CEILING]);
  });

  it("waits until an arrival is final, and for the minimum", async () => {
    await start();
    const [user, first, second] = [person(), person(), person()];
    const { address } = stage.inRequest(user);
    // Money that comes behind it and is swept says that the worker has looked at both.
    await stage.pay(address, MINIMUM - 1n);
    await stage.pay(stage.inRequest(first).address, MINIMUM);
    assert.equal(await noteOf(first), MINIMUM);
    assert.deepEqual(stage.sent, ["sweep of 1"]);
    assert.equal(await stage.balance(address), MINIMUM - 1n);
    await mined("a root over its note", async () => stage.on.data.currentRoot()?.leafCount === 1);

    // From here on only these payments and the sweeps make blocks. The other's sweep is the block that is waited for.
    await stage.pay(stage.inRequest(second).address, MINIMUM);
    await stage.pay(address, 1n);
    await until("its note", async () => (await stage.valuesOf(user)).length > 0);
    assert.deepEqual(await stage.valuesOf(user), [MINIMUM]);
    const { usdc } = stage.on;
    const cameIn = (await usdc.queryFilter(usdc.filters["Transfer"]!(null, address))).at(-1)!.blockNumber;
    const wentIn = (await usdc.queryFilter(usdc.filters["Transfer"]!(address))).map((one) => one.blockNumber);
    assert.equal(wentIn.length, 1);
    assert.ok(
      wentIn[0]! >= cameIn + CONFIRMATIONS,
      `came in ${String(cameIn)}, went in ${String(wentIn[0])}`,
    );
  });

  it("sweeps a hundred arrivals of one block within few blocks in few calls, each into its own note", async () => {
    const [user, service] = [person(), person()];
    await start({ fees: { service: sinkOf(service, 50_000n), developer: undefined } });
    const requests = Array.from({ length: 100 }, () => stage.inRequest(user));
    await stage.payAll(
      requests.map(({ address }) => address),
      MINIMUM,
    );
    const came = await stage.on.provider.getBlockNumber();
    // The block that makes them final is the last that is mined for them: the calls make the others.
    await stage.mine();
    await until("all to be swept", async () => (await stage.balance(stage.on.home.pool)) === 100n * MINIMUM);
    // In how many seconds is measured by the bench of the bridges.
    const blocks = (await stage.on.provider.getBlockNumber()) - came;
    assert.ok(blocks <= 7, `${String(blocks)} blocks`);
    assert.deepEqual(await stage.valuesOf(user), Array<bigint>(100).fill(MINIMUM - 50_000n));
    assert.equal(
      (await stage.valuesOf(service)).reduce((sum, value) => sum + value, 0n),
      5_000_000n,
    );
    assert.ok(stage.sent.length <= 3, stage.sent.join());
    await mined("a root over all of it", async () => stage.on.rooted().leafCount >= 102);
  });

  it("sweeps the same address again when more comes, and again what a reorganisation took back", async () => {
    await start();
    const user = person();
    const { address } = stage.inRequest(user);
    await stage.pay(address, MINIMUM);
    await noteOf(user);
    await stage.pay(address, 2n * MINIMUM);
    await mined("the second note", async () => (await stage.valuesOf(user)).length === 2);
    await stage.on.rpc("anvil_reorg", [1, []]);
    await mined("both notes", async () => (await stage.balance(stage.on.home.pool)) === 3n * MINIMUM);
    assert.deepEqual(await stage.valuesOf(user), [MINIMUM, 2n * MINIMUM]);
  });

  it("brings money from another chain home: burned, attested, delivered and swept, also when it is killed in between", async () => {
    await start();
    const user = person();
    const { way } = stage.inRequest(user);
    assert.ok(way.kind === "from-evm" && way.source !== undefined);
    await stage.pay(way.source.address, 4_000_000n, stage.far.usdc);
    await mined("the burn", async () => (await stage.balance(way.source!.address, stage.far.usdc)) === 0n);
    await stage.restart();
    const value = await noteOf(user);
    // Fast: at most the fee that was offered, one basis point and a tenth. None where its blocks were final before it was asked for.
    assert.ok(value <= 4_000_000n && value >= 4_000_000n - 440n, String(value));
    assert.deepEqual(stage.sent, ["delivery", "sweep of 1"]);
    assert.equal(await stage.balance(stage.on.home.pool), value);
  });

  it("sends a withdrawal on to the other chain, and delivers it there", async () => {
    await start();
    const recipient = `0x${"77".repeat(20)}` as never;
    await stage.pay(stage.outRequest(person(), recipient).address, 3_000_000n);
    const got = await mined("the money to be there", async () => {
      const balance = await stage.balance(recipient, stage.far.usdc);
      return balance > 0n ? balance : undefined;
    });
    assert.ok(got <= 3_000_000n && got >= 3_000_000n - 330n);
    assert.deepEqual(stage.sent, ["flush"]);
  });

  it("allows the fee that the bridge's contract takes of every burn, above the attester's", async () => {
    await start();
    const { abi } = await loadArtifact("TokenMessengerV2");
    const messenger = new Contract(stage.cctp.messenger, abi, stage.on.owner);
    await (await messenger.getFunction("setMinFee")(10_000n)).wait();
    const { address } = stage.outRequest(person(), `0x${"78".repeat(20)}` as never);
    await stage.pay(address, 3_000_000n);
    await mined(
      "the money to leave",
      async () => stage.sent.includes("flush") && (await stage.balance(address)) === 0n,
    );
  });

  it("sends nothing to an exchange that is paused: the money stays where its owner can have it back", async () => {
    const asked: string[] = [];
    await start({
      exchange: {
        hasAccount: () => Promise.resolve(true),
        isOpen: () => Promise.resolve(asked.push("open") === 0),
      },
    });
    const account = `0x${"55".repeat(20)}` as never;
    const { address } = stage.outRequest(person(), account, account);
    await stage.pay(address, 3_000_000n);
    await mined("the exchange to be asked", async () => asked.length > 0);
    for (let i = 0; i < 5; i++) await stage.mine();
    assert.equal(await stage.balance(address), 3_000_000n);
    assert.deepEqual(stage.sent, []);
  });

  it("pays an account that the exchange denied once, as a replica does that lags", async () => {
    let asked = 0;
    await start({
      exchange: { hasAccount: () => Promise.resolve(++asked > 1), isOpen: () => Promise.resolve(true) },
    });
    const account = `0x${"67".repeat(20)}` as never;
    await stage.pay(stage.outRequest(person(), account, account).address, 3_000_000n);
    await mined("the money to leave", async () => stage.sent.length > 0);
    assert.deepEqual(stage.sent, ["flush"]);
  });

  it("returns a withdrawal to an unknown account into its note after the time-out, and not before", async () => {
    await start({
      exchange: { hasAccount: () => Promise.resolve(false), isOpen: () => Promise.resolve(true) },
    });
    const user = person();
    const account = `0x${"66".repeat(20)}` as never;
    const { address } = stage.outRequest(user, account, account);
    await stage.pay(address, 3_000_000n);
    await mined("the clock to be started", async () => stage.sent.includes("touch (out)"));
    for (let i = 0; i < 5; i++) await stage.mine();
    assert.equal(await stage.balance(address), 3_000_000n);
    await stage.on.rpc("evm_increaseTime", [DAY]);
    assert.equal(await noteOf(user), 3_000_000n);
    assert.deepEqual(stage.sent, ["touch (out)", "refund (out)"]);
  });
});
