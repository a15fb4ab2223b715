/**
 * P23. The service is the attacker's, and so is everybody who calls the contracts: money for a deposit address becomes the
 * note of whoever's wallet computed it, or goes back to who was named. Real pool, forwarders, CCTP stand-in and attester.
 */
import assert from "node:assert/strict";
import { Contract, type Signer } from "ethers";
import type { BridgeAddress } from "../../shared/api/bridges.ts";
import { checksumAddress } from "../../shared/api/checksum.ts";
import { lanesOf } from "../../shared/client/bridges/bridge-pins.ts";
import { inPlace, type InPlace } from "../../shared/client/bridges/terms.ts";
import { createClient, createWallet, memoryStorage, type Wallet } from "../../shared/client/index.ts";
import { FORWARDERS_ABI } from "../../shared/contracts/abi.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import {
  FINALITY,
  paddedAddress,
  TIMEOUT_SECS,
  type InTerms,
} from "../../shared/protocol/host/forwarders.ts";
import { BridgeDesk } from "../contract/client/bridge-desk.ts";
import { POOL, USDC } from "../contract/client/chain.ts";
import { PREFIX } from "../contract/client/checks.ts";
import { CEILING, MINIMUM, RecoveryStage, REFUND } from "../contract/client/recovery-stage.ts";
import { API_KEY, TestService } from "../contract/client/service.ts";
import { refusal, standInProver } from "../contract/client/stand-in.ts";
import { faultOf, someone } from "../contract/forwarders/stage.ts";

const AMOUNT = 9_000_000n;
const MALLORY = checksumAddress(asAddress(`0x${"66".repeat(20)}`)!);

describe("P23 a deposit address cannot be redirected", function () {
  let stage: RecoveryStage;
  let service: TestService;
  let desk: BridgeDesk;
  let baseUrl: string;
  let stranger: Signer;
  const wallets: Wallet[] = [];

  before(async () => {
    stage = await RecoveryStage.open();
    stranger = await stage.lone.account();
    service = new TestService();
    service.features.bridges = true;
    baseUrl = await service.listen();
    const { pool, asset } = stage.lone;
    desk = new BridgeDesk({
      factory: stage.factory,
      pool,
      asset,
      collector: asAddress(stage.pins.collector)!,
    });
    desk.lanes = lanesOf(stage.pins);
  });
  afterEach(() => {
    desk.bend = (answer) => answer;
  });
  after(async () => {
    for (const wallet of wallets) await wallet.close();
    await (service as TestService | undefined)?.close();
    await (stage as RecoveryStage | undefined)?.stop();
  });

  /** The test service speaks for the real pool; its bridge desk is the attacker's. */
  const hostileFetch: typeof fetch = async (input, init) => {
    const { pathname } = new URL(input as string);
    if (pathname.startsWith("/bridge/") && init?.method === "POST") {
      const { status, body } = desk.open(pathname, JSON.parse(init.body as string));
      return Response.json(body, { status });
    }
    const { body, status, headers } = await fetch(input, init);
    const spoken = body?.pipeThrough(new TextDecoderStream()).pipeThrough(
      new TransformStream<string, string>({
        transform: (text, out) => out.enqueue(ofRealPool(text)),
      }),
    );
    const type = headers.get("content-type") ?? "";
    return new Response(spoken?.pipeThrough(new TextEncoderStream()) ?? null, {
      ...{ status, headers: { "content-type": type } },
    });
  };
  const ofRealPool = (text: string): string =>
    text
      .replaceAll(new RegExp(POOL, "gi"), checksumAddress(stage.lone.pool))
      .replaceAll(new RegExp(USDC, "gi"), checksumAddress(stage.lone.asset));

  async function open(seed: number): Promise<Wallet> {
    const { pool, asset, anvil } = stage.lone;
    const wallet = await createWallet({
      key: { seed: new Uint8Array(32).fill(seed) },
      client: createClient({ baseUrl, credential: { apiKey: API_KEY }, tries: 1, fetch: hostileFetch }),
      ...{ storage: memoryStorage(), prover: standInProver },
      pins: {
        ...{ chainId: anvil.chainId, pool, assets: [asset], addressPrefix: PREFIX },
        ...{ enclaves: "unverified", feeCeiling: {}, bridges: stage.pins },
      },
    });
    wallets.push(wallet);
    return wallet;
  }

  /** The address with that number, from the key alone. */
  const placeOf = (seed: number, index = 0): InPlace =>
    inPlace(
      {
        keys: stage.keys(seed).viewing,
        home: { chainId: BigInt(stage.lone.anvil.chainId), pool: stage.lone.pool },
        factory: stage.factory,
      },
      {
        ...{ kind: "in", venue: "perpvenue", index, asset: stage.lone.asset, refund: REFUND, createdAt: 0 },
        ...{ minimum: MINIMUM, feeCeiling: CEILING, collector: asAddress(stage.pins.collector)! },
        lanes: lanesOf(stage.pins),
      },
    );
  const forwarders = (by: Signer = stranger): Contract =>
    new Contract(stage.factory.address, FORWARDERS_ABI, by);
  async function call(by: Signer, name: string, ...args: unknown[]): Promise<void> {
    const sent = (await forwarders(by).getFunction(name)(...args)) as { wait(): Promise<unknown> };
    await sent.wait();
  }
  /** Why a call is refused; of a sweep, why that address was skipped. */
  async function refused(by: Signer, name: string, ...args: unknown[]): Promise<string> {
    try {
      await forwarders(by)
        .getFunction(name)
        .staticCall(...args);
    } catch (error) {
      const { error: code, args: reasons } = faultOf((error as { data: string }).data);
      return code === "NothingSwept" ? faultOf(String(reasons[0])).error : code;
    }
    throw new Error(`${name} was not refused`);
  }

  it("a service that answers with an address of its own, or bends a term: nothing is shown", async () => {
    const wallet = await open(21);
    const theirs = { npk: `0x${"07".repeat(32)}`, ephemeral_key: `0x${"08".repeat(32)}` };
    const asked = { ...theirs, ciphertext: `0x${"09".repeat(53)}`, refund_address: MALLORY };
    const whole = new BridgeDesk({ ...deskSetting(), collector: asAddress(MALLORY)! });
    whole.lanes = desk.lanes;
    const consistent = whole.open("/bridge/perpvenue/in-address", asked).body;
    const bends: ((answer: BridgeAddress) => unknown)[] = [
      () => consistent,
      (answer) => ({ ...answer, address: MALLORY }),
      (answer) => ({ ...answer, source: { ...answer.source, address: MALLORY } }),
      (answer) => ({ ...answer, terms: { ...answer.terms, refund_address: MALLORY } }),
      (answer) => ({ ...answer, terms: { ...answer.terms, collector: MALLORY } }),
      (answer) => ({ ...answer, terms: { ...answer.terms, npk: theirs.npk } }),
    ];
    for (const bend of bends) {
      desk.bend = bend;
      await assert.rejects(
        wallet.bridges.fromExchange({ refundAddress: REFUND }),
        refusal("BRIDGE_ADDRESS_MISMATCH"),
      );
    }
    assert.ok((await wallet.bridges.list()).every(({ bridgeId }) => bridgeId === undefined));
  });

  it("an address that is shown is the contract's own for these terms, and whoever sweeps can only credit its note", async () => {
    const wallet = await open(22);
    const { address } = await wallet.bridges.fromExchange({ refundAddress: REFUND });
    const { terms } = placeOf(22);
    assert.equal(await forwarders().getFunction("inAddress")(terms), address);
    await stage.pay("home", address, AMOUNT);

    const sweepOf = (of: InTerms, fees: readonly bigint[] = []) => [
      [{ terms: of, fees }],
      fees.map(() => someone()),
    ];
    assert.equal(await refused(stranger, "sweep", ...sweepOf(terms, [1n])), "NotCollector");
    const bent: InTerms[] = [
      { ...terms, receiver: someone() },
      { ...terms, refund: asAddress(MALLORY)! },
      { ...terms, collector: asAddress(await stranger.getAddress())! },
      { ...terms, feeCeiling: terms.minimum - 1n },
      { ...terms, minimum: terms.minimum + 1n },
    ];
    for (const each of bent) {
      assert.equal(await refused(stranger, "sweep", ...sweepOf(each)), "BelowMinimum");
      assert.equal(await refused(stranger, "touch", each), "NothingHeld");
      assert.equal(await refused(stranger, "refund", each), "NothingHeld");
    }
    assert.equal(await refused(stranger, "refund", terms), "TooEarly");
    assert.equal(await refused(stranger, "bringCredit", terms.asset, "0x"), "NotExpected");
    assert.equal(await stage.balance("home", address), AMOUNT);
    assert.deepEqual(await stage.notes(22), []);

    await call(stranger, "sweep", ...sweepOf(terms));
    assert.equal(await stage.balance("home", address), 0n);
    assert.deepEqual(await stage.notes(22), [AMOUNT]);
  });

  it("the collector, who is the service, takes no more than the ceiling in the address", async () => {
    const { terms, address } = placeOf(23);
    await stage.pay("home", address, AMOUNT);
    const { provider } = stage.lone;
    await provider.send("anvil_impersonateAccount", [terms.collector]);
    await provider.send("anvil_setBalance", [terms.collector, "0xde0b6b3a7640000"]);
    const collector = await provider.getSigner(terms.collector);
    const fee = (amounts: readonly bigint[]) => [[{ terms, fees: amounts }], amounts.map(() => someone())];
    for (const fees of [[CEILING + 1n], [CEILING, 1n]])
      assert.equal(await refused(collector, "sweep", ...fee(fees)), "FeesAboveCeiling");
    await call(collector, "sweep", ...fee([CEILING]));
    assert.deepEqual(await stage.notes(23), [AMOUNT - CEILING]);
  });

  it("on another chain whoever forwards burns to the address at home and nowhere else", async () => {
    const { source } = placeOf(24);
    await stage.pay("second", source!.address, AMOUNT);
    const by = await stage.second.getSigner(1);
    const elsewhere = { ...source!.terms, recipient: paddedAddress(asAddress(MALLORY)!) };
    assert.equal(await refused(by, "forward", elsewhere, 0, 0n, FINALITY.safe), "BelowMinimum");
    await call(by, "forward", source!.terms, 0, 0n, FINALITY.safe);
    assert.equal(await stage.balance("second", source!.address), 0n);
    await stage.recoverUntil(24, ({ steps }) => steps.some(({ what }) => what === "sweep"));
    assert.deepEqual(await stage.notes(24), [AMOUNT]);
  });

  it("nobody moves it at all: a day later anyone has it back where its owner said, and nobody elsewhere", async () => {
    const { terms, address } = placeOf(25);
    await stage.pay("home", address, AMOUNT);
    await call(stranger, "touch", terms);
    await stage.lone.pass(TIMEOUT_SECS + 1);
    const bent = { ...terms, refund: asAddress(MALLORY)! };
    assert.equal(await refused(stranger, "refund", bent), "NothingHeld");
    const before = await stage.balance("home", REFUND);
    await call(stranger, "refund", terms);
    assert.equal((await stage.balance("home", REFUND)) - before, AMOUNT);
    assert.equal(await stage.balance("home", MALLORY), 0n);
  });

  function deskSetting() {
    const { pool, asset } = stage.lone;
    return { factory: stage.factory, pool, asset };
  }
});
