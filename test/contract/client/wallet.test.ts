import { Wallet as EthereumWallet } from "ethers";
import assert from "node:assert/strict";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import {
  ClientError,
  createClient,
  createWallet,
  memoryStorage,
  PaymentUnresolved,
  TicketFailed,
  type Client,
  type Pins,
  type Prover,
  type Step,
  type Wallet,
  type WalletStorage,
} from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { CHAIN_ID, hex, POOL, USDC } from "./chain.ts";
import { FLAT_FEE, PREFIX } from "./checks.ts";
import { API_KEY, TestService } from "./service.ts";
import { until } from "../../support/until.ts";
import { vouchedPins } from "../../support/vouching.ts";

const seed = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const ceiling = { flat: 100_000n, bps: 0 };
const PINS: Pins = {
  chainId: CHAIN_ID,
  pool: POOL,
  assets: [USDC],
  addressPrefix: PREFIX,
  enclaves: vouchedPins(),
  feeCeiling: { deposit: ceiling, transfer: ceiling, withdraw: ceiling },
};
const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe("wallet against a service with real proofs", function () {
  let service: TestService;
  let baseUrl: string;
  let client: Client;
  let prover: Prover;
  const depositor = EthereumWallet.createRandom();

  before(async () => {
    prover = await developmentProver();
  });
  after(() => prover.close());
  // The service verified proofs in this process.
  beforeEach(async () => {
    service = new TestService();
    baseUrl = await service.listen();
    client = createClient({ baseUrl, credential: { apiKey: API_KEY }, tries: 2 });
  });
  afterEach(() => service.close());

  const open = (key: number, storage: WalletStorage = memoryStorage(), pins: Pins = PINS): Promise<Wallet> =>
    createWallet({ key: { seed: seed(key) }, client, storage, prover, pins });

  it("deposits, pays and withdraws, exact to the last unit, and a restored copy sees the same", async () => {
    const first = await open(1);
    const second = await open(2);
    const steps: Step[] = [];

    const deposit = await first.deposit(100_000_000n, depositor, {
      progress: ({ step, state }) => {
        if (state === "end") steps.push(step);
      },
    });
    assert.deepEqual(steps, ["prepare", "sign", "download", "load", "prove", "submit", "confirm", "deliver"]);
    assert.equal(deposit.ticket.state, "confirmed");
    assert.equal(deposit.fees, FLAT_FEE);
    assert.equal(first.balance().total, 100_000_000n - FLAT_FEE);

    await first.pay(second.address, 30_000_000n);
    assert.equal(first.balance().total, 70_000_000n - 2n * FLAT_FEE);
    await second.sync();
    assert.equal(second.balance().spendable, 30_000_000n);

    await second.withdraw("0x00000000000000000000000000000000000000cc", 12_500_000n);
    assert.equal(second.balance().total, 17_500_000n - FLAT_FEE);

    const restored = await open(2);
    await restored.sync();
    assert.deepEqual(restored.notes(), second.notes());
    assert.deepEqual(restored.balances(), second.balances());

    const sink = await createWallet({
      key: { seed: seed(9) },
      client,
      storage: memoryStorage(),
      prover,
      pins: PINS,
    });
    await sink.sync();
    assert.equal(sink.balance().total, 3n * FLAT_FEE);
    await until(() => service.openStreams === 0);
  });

  it("two payments in a row never pick the same note; the second waits for the change", async () => {
    const first = await open(1);
    const second = await open(2);
    await first.deposit(50_000_000n, depositor);
    const [one, two] = await Promise.all([
      first.pay(second.address, 10_000_000n),
      first.pay(second.address, 10_000_000n),
    ]);
    assert.notEqual(one.statement, two.statement);
    assert.equal(new Set([...one.ticket.nullifiers, ...two.ticket.nullifiers]).size, 4);
    await second.sync();
    assert.equal(second.balance().total, 20_000_000n);
  });

  it("a restart neither rescans nor picks the notes of a payment under way", async () => {
    const storage = memoryStorage();
    const wallet = await open(1, storage);
    await wallet.deposit(50_000_000n, depositor);
    service.automine = false;
    await wallet.pay(wallet.address, 1_000_000n, { until: "queued" });

    const last = service.chain.log.at(-1)!.id;
    service.requests.length = 0;
    const again = await open(1, storage);
    await again.sync();
    const stream = service.requests.find(({ url }) => url.startsWith("/events/stream"));
    assert.equal(new URL(stream!.url, baseUrl).searchParams.get("from"), last);
    assert.equal(again.balance().inFlight, 50_000_000n - FLAT_FEE);
    assert.equal(again.balance().spendable, 0n);
  });

  it("waits until change is under a root before it spends it", async () => {
    const wallet = await open(1);
    await wallet.deposit(50_000_000n, depositor);
    service.chain.autoroot = false;
    await wallet.pay(wallet.address, 1_000_000n);
    assert.equal(wallet.balance().spendable, 0n);
    assert.equal(wallet.balance().pending, 50_000_000n - 2n * FLAT_FEE);

    let sequenced = false;
    const paying = wallet.pay(wallet.address, 2_000_000n).then((payment) => {
      sequenced = true;
      return payment;
    });
    await until(() => service.openStreams > 0);
    assert.equal(sequenced, false);
    service.chain.autoroot = true;
    service.chain.root();
    await paying;
    assert.equal(wallet.balance().total, 50_000_000n - 3n * FLAT_FEE);
  });

  it("says INSUFFICIENT_FUNDS and NEEDS_CONSOLIDATION, and merges notes, where the service has no spend9", async () => {
    service.features.spend9 = false;
    const wallet = await open(1);
    for (let i = 0; i < 3; i++) await wallet.deposit(10_000_000n, depositor);
    await assert.rejects(wallet.pay(wallet.address, 40_000_000n), refusal("INSUFFICIENT_FUNDS"));
    await assert.rejects(wallet.pay(wallet.address, 25_000_000n), refusal("NEEDS_CONSOLIDATION"));
    await wallet.consolidate();
    await wallet.pay(wallet.address, 25_000_000n);
    assert.equal(wallet.balance().total, 30_000_000n - 5n * FLAT_FEE);
  });

  it("frees the notes of a payment that failed permanently", async () => {
    const wallet = await open(1);
    await wallet.deposit(10_000_000n, depositor);
    service.automine = false;
    const paying = wallet.pay(wallet.address, 1_000_000n);
    await until(() =>
      [...service.tickets.values()].some(({ kind, state }) => kind === "spend" && state === "queued"),
    );
    const ticket = [...service.tickets.values()].find(({ kind }) => kind === "spend")!;
    service.failTicket(ticket.ticket_id, "NULLIFIER_SPENT");
    await assert.rejects(paying, (error) => error instanceof TicketFailed && error.ticket.state === "failed");
    assert.equal(wallet.balance().spendable, 10_000_000n - FLAT_FEE);
    // The same note again: the service has a proof for the first attempt, whatever it says.
    service.automine = true;
    const again = await wallet.pay(wallet.address, 1_000_000n);
    assert.ok(again.ticket.nullifiers.some((nullifier) => ticket.nullifiers.includes(nullifier)));
  });

  it("binds every payment to one that was refused until it is dead, over a restart too, and says until when", async () => {
    service.features.spend9 = false;
    const storage = memoryStorage();
    let now = Math.floor(Date.now() / 1000);
    const openAt = (): Promise<Wallet> =>
      createWallet({ key: { seed: seed(1) }, client, storage, prover, pins: PINS, now: () => now });
    const wallet = await openAt();
    await wallet.deposit(1_000_000n, depositor);
    let refusing = true;
    service.faults.push(({ url }) =>
      refusing && url === "/sequence/spend" ? "NULLIFIER_PENDING" : undefined,
    );
    await assert.rejects(wallet.pay(wallet.address, 500_000n), refusal("NULLIFIER_PENDING"));
    refusing = false;
    for (let i = 0; i < 2; i++) await wallet.deposit(10_000_000n, depositor);
    await wallet.close();

    const again = await openAt();
    // Two other notes would pay it; with a note of the refused payment no two are enough.
    await assert.rejects(
      again.pay(again.address, 15_000_000n),
      (error) => error instanceof PaymentUnresolved && error.until === now + 1800,
    );
    // Merging the refused payment's note ends it: then everything is free.
    const { ticket } = await again.consolidate();
    assert.equal(ticket.state, "confirmed");
    await again.pay(again.address, 15_000_000n);

    await again.deposit(1_000_000n, depositor);
    await again.deposit(30_000_000n, depositor);
    refusing = true;
    await assert.rejects(again.pay(again.address, 4_000_000n), refusal("NULLIFIER_PENDING"));
    refusing = false;
    await assert.rejects(again.pay(again.address, 40_000_000n), refusal("PAYMENT_UNRESOLVED"));
    now += 1801;
    await again.pay(again.address, 40_000_000n);
  });

  it("binds every payment to one that a service was too busy for, since it has the proof and may lie", async () => {
    service.features.spend9 = false;
    const wallet = await open(1);
    await wallet.deposit(1_000_000n, depositor);
    service.faults.push(({ url }) => (url === "/sequence/spend" ? "ENCLAVE_UNAVAILABLE" : undefined));
    await assert.rejects(wallet.pay(wallet.address, 500_000n), refusal("ENCLAVE_UNAVAILABLE"));
    service.faults.length = 0;
    for (let i = 0; i < 2; i++) await wallet.deposit(10_000_000n, depositor);
    // Two other notes would pay it; with a note of the first payment no two are enough.
    await assert.rejects(wallet.pay(wallet.address, 15_000_000n), refusal("PAYMENT_UNRESOLVED"));
    await wallet.consolidate();
    await wallet.pay(wallet.address, 15_000_000n);
  });

  it("leaves nothing bound when the payment never left the device", async () => {
    let failing = false;
    service.goodTokens.add("sst_1");
    const sessionProvider = (): Promise<string> =>
      failing ? Promise.reject(new Error("no server")) : Promise.resolve("sst_1");
    const own = createClient({ baseUrl, credential: { sessionProvider }, tries: 2 });
    // Payments go through a client that has no token yet, so that the provider is asked first thing in them.
    const fresh = createClient({ baseUrl, credential: { sessionProvider }, tries: 1 });
    const handed: Client = { ...own, sequenceSpend: (body, options) => fresh.sequenceSpend(body, options) };
    const wallet = await createWallet({
      ...{ key: { seed: seed(1) }, client: handed, storage: memoryStorage(), prover, pins: PINS },
    });
    await wallet.deposit(1_000_000n, depositor);
    await wallet.deposit(10_000_000n, depositor);
    await wallet.deposit(10_000_000n, depositor);
    failing = true;
    await assert.rejects(wallet.pay(wallet.address, 500_000n), refusal("SESSION_PROVIDER_FAILED"));
    failing = false;
    assert.equal(wallet.balance().inFlight, 0n);
    await wallet.pay(wallet.address, 15_000_000n);
  });

  it("says before paying again that a refused payment was executed after all", async () => {
    const wallet = await open(1);
    await wallet.deposit(10_000_000n, depositor);
    await wallet.deposit(10_000_000n, depositor);
    service.automine = false;
    const paying = wallet.pay(wallet.address, 1_000_000n);
    await until(() =>
      [...service.tickets.values()].some(({ kind, state }) => kind === "spend" && state === "queued"),
    );
    const ticket = [...service.tickets.values()].find(({ kind }) => kind === "spend")!;
    service.failTicket(ticket.ticket_id, "NULLIFIER_SPENT", { executeAllTheSame: true });
    await assert.rejects(paying, (error) => error instanceof TicketFailed);
    service.automine = true;
    service.mine();
    await assert.rejects(wallet.pay(wallet.address, 1_000_000n), refusal("EXECUTED_AFTER_REFUSAL"));
    await wallet.pay(wallet.address, 1_000_000n);
    assert.equal(wallet.balance().total, 20_000_000n - 4n * FLAT_FEE);
  });

  it("counts income as verified when the application's own source knows the root, and not before", async () => {
    const asked: bigint[] = [];
    let answer: () => Promise<boolean> = () => Promise.resolve(false);
    const wallet = await createWallet({
      ...{ key: { seed: seed(1) }, client, storage: memoryStorage(), prover, pins: PINS },
      verifyRoot: (root) => {
        asked.push(root);
        return answer();
      },
    });
    await wallet.deposit(10_000_000n, depositor);
    assert.equal(wallet.balance().unverified, 10_000_000n - FLAT_FEE);
    answer = () => Promise.reject(new Error("the node is unreachable"));
    await wallet.sync();
    assert.equal(wallet.balance().unverified, 10_000_000n - FLAT_FEE);
    answer = () => Promise.resolve(true);
    await wallet.sync();
    assert.equal(wallet.balance().unverified, 0n);
    const roots = service.chain.log.filter(({ kind }) => kind === "root");
    assert.equal(asked.at(-1), BigInt(roots.at(-1)!.data["root"] as string));
    // A new root is asked about by itself; an old yes says nothing about what came after.
    answer = () => Promise.resolve(false);
    await wallet.deposit(5_000_000n, depositor);
    assert.equal(wallet.balance().unverified, 5_000_000n - FLAT_FEE);
    service.chain.reorg(2);
    await wallet.sync();
    assert.equal(wallet.balance().unverified, 0n);
    service.chain.reorg(2);
    service.chain.addLeaves([]);
    await wallet.sync();
    assert.equal(wallet.balance().total, 0n);
  });

  it("is not held by an application's own source that keeps silent", async () => {
    let whenAsked = (): void => undefined;
    const wallet = await createWallet({
      ...{ key: { seed: seed(1) }, client, storage: memoryStorage(), prover, pins: PINS },
      verifyRoot: () => {
        whenAsked();
        return new Promise<boolean>(() => undefined);
      },
    });
    await wallet.deposit(10_000_000n, depositor);
    await wallet.pay(wallet.address, 1_000_000n);
    assert.equal(wallet.balance().total, 10_000_000n - 2n * FLAT_FEE);
    await assert.rejects(wallet.sync({ timeoutMs: 300 }), refusal("TIMED_OUT"));
    const reason = new Error("the page is left");
    const leaving = new AbortController();
    whenAsked = () => leaving.abort(reason);
    await assert.rejects(wallet.sync({ signal: leaving.signal }), refusal("ABORTED"));
    assert.equal(wallet.balance().unverified, wallet.balance().total);
  });

  it("is not held by a service that names another root at every question of that source", async () => {
    let asked = 0;
    const nameRoot = (): void => service.chain.addLeaves([{ commitment: hex(BigInt(asked + 1)) }]);
    const wallet = await createWallet({
      ...{ key: { seed: seed(1) }, client, storage: memoryStorage(), prover, pins: PINS },
      verifyRoot: async () => {
        asked += 1;
        nameRoot();
        // eslint-disable-next-line no-restricted-syntax -- a source that takes its time
        await new Promise((resolve) => setTimeout(resolve, 50));
        return false;
      },
    });
    const stop = wallet.watch();
    nameRoot();
    await wallet.sync({ timeoutMs: PATIENCE_MS });
    await until(() => asked > 4);
    await wallet.sync({ timeoutMs: PATIENCE_MS });
    stop();
    assert.ok(asked < 100, "and asks in between, not at every event");
  });

  it("pays and deposits only in pinned tokens, and with a service that carries them", async () => {
    const other = "0x00000000000000000000000000000000000000dd";
    const wallet = await open(1);
    await assert.rejects(wallet.deposit(10_000_000n, depositor, { asset: other }), refusal("PIN_MISMATCH"));
    const elsewhere = await open(1, memoryStorage(), { ...PINS, assets: [other, USDC] });
    await assert.rejects(elsewhere.deposit(10_000_000n, depositor), refusal("PIN_MISMATCH"));
    await assert.rejects(open(1, memoryStorage(), { ...PINS, assets: [] }), refusal("OPTIONS_INVALID"));
    assert.ok(!service.requests.some(({ method }) => method === "POST"), "nothing was sent");
  });

  it("keeps the notes and says OUTCOME_UNKNOWN when no answer to a payment came", async () => {
    const wallet = await open(1);
    await wallet.deposit(10_000_000n, depositor);
    service.faults.push(({ url }) => (url === "/sequence/spend" ? "hang-up" : undefined));
    await assert.rejects(wallet.pay(wallet.address, 1_000_000n), refusal("OUTCOME_UNKNOWN"));
    assert.equal(wallet.balance().inFlight, 10_000_000n - FLAT_FEE);
    const keys = service.requests
      .filter(({ url }) => url === "/sequence/spend")
      .map(({ headers }) => headers["idempotency-key"]);
    assert.equal(keys.length, 2);
    assert.equal(new Set(keys).size, 1, "a repeated POST carries the same Idempotency-Key");
  });

  it("a service that is away or busy has taken nothing: its notes pay again at once, unless some try got no answer", async () => {
    const wallet = await open(1);
    await wallet.deposit(10_000_000n, depositor);
    let tries = 0;
    const answers = (
      ...faults: readonly ("hang-up" | "ENCLAVE_UNAVAILABLE" | "QUEUE_FULL" | "RATE_LIMITED")[]
    ) => {
      tries = 0;
      service.faults.length = 0;
      service.faults.push(({ url }) => (url === "/sequence/spend" ? faults[tries++] : undefined));
    };
    for (const code of ["ENCLAVE_UNAVAILABLE", "QUEUE_FULL", "RATE_LIMITED"] as const) {
      answers(code, code);
      await assert.rejects(wallet.pay(wallet.address, 1_000_000n), refusal(code));
      assert.equal(tries, 2);
      assert.equal(wallet.balance().inFlight, 0n);
    }
    answers();
    await wallet.pay(wallet.address, 1_000_000n);
    const held = wallet.balance();
    assert.equal(held.total, 10_000_000n - 2n * FLAT_FEE);

    answers("hang-up", "ENCLAVE_UNAVAILABLE");
    await assert.rejects(wallet.pay(wallet.address, 2_000_000n), refusal("OUTCOME_UNKNOWN"));
    assert.ok(wallet.balance().inFlight > 0n);
  });

  it("proves again on a newer root when its root was reorganised out", async () => {
    const wallet = await open(1);
    await wallet.deposit(10_000_000n, depositor);
    let refusals = 0;
    service.faults.push(({ url }) =>
      url === "/sequence/spend" && refusals++ === 0 ? "ROOT_UNKNOWN" : undefined,
    );
    await wallet.pay(wallet.address, 1_000_000n);
    assert.equal(refusals, 2);
    assert.equal(wallet.balance().total, 10_000_000n - 2n * FLAT_FEE);
  });

  it("refuses another pool, another chain, a fee above its ceiling and a foreign sink", async () => {
    const to = (await open(3)).address;
    await assert.rejects(
      (await open(1, memoryStorage(), { ...PINS, pool: USDC })).sync(),
      refusal("PIN_MISMATCH"),
    );
    await assert.rejects(
      (await open(1, memoryStorage(), { ...PINS, chainId: 1 })).sync(),
      refusal("PIN_MISMATCH"),
    );
    const mean = await open(1, memoryStorage(), {
      ...PINS,
      feeCeiling: { deposit: { flat: FLAT_FEE - 1n, bps: 0 } },
    });
    await assert.rejects(mean.deposit(10_000_000n, depositor), refusal("FEE_ABOVE_CEILING"));
    const strict = await open(1, memoryStorage(), { ...PINS, feeSinks: [to] });
    await assert.rejects(strict.deposit(10_000_000n, depositor), refusal("PIN_MISMATCH"));
    assert.ok(!service.requests.some(({ method }) => method === "POST"), "nothing was sent");
  });

  it("refuses roots that its leaves do not give", async () => {
    const wallet = await open(1);
    await wallet.deposit(10_000_000n, depositor);
    service.chain.log.at(-1)!.data["root"] = `0x${"00".repeat(31)}01`;
    const fresh = await open(1);
    await assert.rejects(
      fresh.sync(),
      (error) => error instanceof ClientError && error.code === "STREAM_INCONSISTENT",
    );
  });

  it("follows a reorganisation, live and after a restart", async () => {
    const storage = memoryStorage();
    const wallet = await open(1, storage);
    await wallet.deposit(10_000_000n, depositor);
    const stop = wallet.watch();
    await until(() => service.openStreams === 1);
    service.chain.reorg(2);
    await wallet.sync();
    await until(() => wallet.balance(USDC).total === 0n);
    stop();
    await wallet.deposit(20_000_000n, depositor);
    service.chain.reorg(2);
    const again = await open(1, storage);
    await again.sync();
    assert.equal(again.balance(USDC).total, 0n);
  });
});
