/** Money that arrives, and what becomes of it by the worker alone: two real chains, the real pool, forwarders and attester. */
import assert from "node:assert/strict";
import { until } from "../../../../support/until.ts";
import { CEILING, MINIMUM, person, REFUND, sinkOf, Stage, type StageOptions } from "./stage.ts";

const DAY = 86_400;

describe("bridge/work: the worker on real chains", function () {
  this.timeout(180_000);
  let stage: Stage;
  const start = async (options: StageOptions = {}): Promise<void> => {
    stage = await Stage.start(options);
  };
  afterEach(() => stage.stop());

  /** Mines while it waits. */
  const mined = <T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> =>
    until(
      what,
      async () => {
        const found = await look();
        if (found === undefined || found === false) await stage.mine();
        return found;
      },
      60_000,
    );
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
    const user = person();
    const { address } = stage.inRequest(user);
    await stage.pay(address, MINIMUM - 1n);
    for (let i = 0; i < 5; i++) await stage.mine();
    await stage.on.rpc("evm_setAutomine", [false]);
    await new Promise((done) => setTimeout(done, 500));
    assert.deepEqual(stage.sent, []);
    await stage.on.rpc("evm_setAutomine", [true]);
    await stage.pay(address, 1n);
    await new Promise((done) => setTimeout(done, 500));
    assert.deepEqual(stage.sent, []);
    assert.equal(await noteOf(user), MINIMUM);
  });

  it("sweeps a hundred arrivals of one block within ten seconds in few calls, each into its own note", async () => {
    const [user, service] = [person(), person()];
    await start({ fees: { service: sinkOf(service, 50_000n), developer: undefined } });
    const requests = Array.from({ length: 100 }, () => stage.inRequest(user));
    await stage.payAll(
      requests.map(({ address }) => address),
      MINIMUM,
    );
    const began = Date.now();
    // A look at one balance: the chain's work is timed, and not a wallet's.
    await mined("all to be swept", async () => (await stage.balance(stage.on.home.pool)) === 100n * MINIMUM);
    const took = Date.now() - began;
    assert.ok(took < 10_000, `${String(took)} ms`);
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
    // Fast: at most the fee that was offered, one basis point and a tenth. An attester that a busy machine keeps from
    // answering asks for nothing.
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
