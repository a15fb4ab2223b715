// Several wallets on one storage, as the tabs of one person are: what one has promised to a payment no other picks,
// what never left the device binds nobody, and no save loses what another has saved.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { memoryStorage, type Prover, type Wallet, type WalletStorage } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { fileStorage } from "../../../shared/client/node/index.ts";
import { FLAT_FEE, PREFIX } from "./checks.ts";
import { CHAIN_ID, POOL, USDC } from "./chain.ts";
import { API_KEY, type TestService } from "./service.ts";
import { give, refusal, standInProver } from "./stand-in.ts";
import { until } from "../../support/until.ts";
import { startWallets, type OpenWallet } from "./wallets.ts";

/** Holds every proof back until the test lets them go. */
class HeldProver implements Prover {
  proving = 0;
  readonly #go: Promise<void>;
  release!: () => void;

  constructor() {
    this.#go = new Promise((resolve) => (this.release = resolve));
  }
  prepare = standInProver.prepare;
  checkInfo = standInProver.checkInfo;
  close = standInProver.close;
  async prove(...args: Parameters<Prover["prove"]>): ReturnType<Prover["prove"]> {
    this.proving += 1;
    await this.#go;
    return standInProver.prove(...args);
  }
}

describe("wallets on one storage", function () {
  let service: TestService;
  let open: OpenWallet;
  let storage: WalletStorage;

  beforeEach(async () => {
    ({ service, open } = await startWallets());
    storage = memoryStorage();
  });
  afterEach(() => service.close());

  const sequenced = (): number => service.requests.filter(({ url }) => url === "/sequence/spend").length;
  const tab = (prover: Prover = standInProver): Promise<Wallet> => open({ storage, prover });
  async function funded(...values: bigint[]): Promise<void> {
    const wallet = await tab();
    give(service, wallet.address, USDC, values);
    await wallet.sync();
    await wallet.close();
  }

  it("what is closed while it proves has sent nothing, and nothing is bound when it is opened again", async () => {
    await funded(10_000_000n);
    const closing = new HeldProver();
    const closed = await tab(closing);
    void closed.pay(closed.address, 1_000_000n).catch(() => undefined);
    await until(() => closing.proving === 1);
    assert.equal(closed.balance().inFlight, 10_000_000n, "shown where it is under way");

    const again = await tab();
    assert.equal(again.balance().spendable, 10_000_000n);
    const { ticket } = await again.pay(again.address, 9_000_000n);
    assert.equal(ticket.state, "confirmed");
  });

  for (const [title, notes] of [
    ["with one note, which the second pays from its change", [10_000_000n]],
    ["with notes enough for both", [5_000_000n, 4_000_000n, 3_000_000n, 2_000_000n]],
  ] as const) {
    it(`two that pay at once both succeed, ${title}`, async () => {
      await funded(...notes);
      const total = notes.reduce((sum, value) => sum + value, 0n);
      const prover = new HeldProver();
      const [one, two] = [await tab(prover), await tab(prover)];
      const paying = Promise.all([one.pay(one.address, 1_000_000n), two.pay(two.address, 1_500_000n)]);
      await until(() => prover.proving === 2);
      prover.release();
      const [first, second] = await paying;
      assert.deepEqual([first.ticket.state, second.ticket.state], ["confirmed", "confirmed"]);
      assert.equal(sequenced(), 2, "the service refused none");

      // The next tab finds nothing unresolved.
      const third = await tab();
      await third.sync();
      assert.equal(third.balance().spendable, total - 2n * FLAT_FEE);
      await third.pay(third.address, total - 3n * FLAT_FEE);
    });
  }

  it("the second is told at once where the first has promised what it needs, and sends nothing", async () => {
    await funded(10_000_000n);
    service.automine = false;
    const prover = new HeldProver();
    const [one, two] = [await tab(prover), await tab(prover)];
    const payments = [one, two].map((wallet) => wallet.pay(wallet.address, 9_900_000n, { until: "queued" }));
    await until(() => prover.proving === 2);
    prover.release();
    const outcomes = await Promise.allSettled(payments);
    const refused = outcomes.find(({ status }) => status === "rejected") as PromiseRejectedResult;
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((refused.reason as { code: string }).code, "INSUFFICIENT_FUNDS");
    assert.equal(sequenced(), 1);
  });

  it("a save from a stale tab does not drop a reservation, and the tab knows it from then on", async () => {
    await funded(10_000_000n);
    const stale = await tab();
    service.automine = false;
    const paying = await tab();
    await paying.pay(paying.address, 1_000_000n, { until: "queued" });
    assert.equal(stale.balance().spendable, 10_000_000n);

    await stale.sync();
    assert.equal(stale.balance().inFlight, 10_000_000n);
    const later = await tab();
    assert.equal(later.balance().inFlight, 10_000_000n, "it is in the storage still");
  });

  it("a refusal that one tab heard binds the payments of all, also after a stale one has saved", async () => {
    service.features.spend9 = false;
    await funded(1_000_000n);
    const stale = await tab();
    const paying = await tab();
    let refusing = true;
    service.faults.push(({ url }) =>
      refusing && url === "/sequence/spend" ? "NULLIFIER_PENDING" : undefined,
    );
    await assert.rejects(paying.pay(paying.address, 500_000n), refusal("NULLIFIER_PENDING"));
    refusing = false;
    give(service, stale.address, USDC, [10_000_000n, 10_000_000n]);
    await stale.sync();
    for (const wallet of [stale, paying, await tab()])
      await assert.rejects(wallet.pay(wallet.address, 15_000_000n), refusal("PAYMENT_UNRESOLVED"));
    // Whichever ends it, ends it for all.
    await stale.consolidate();
    await paying.pay(paying.address, 15_000_000n);
  });

  it("a refusal that another tab receives while this one proves is excluded by this payment too", async () => {
    service.features.spend9 = false;
    await funded(1_000_000n, 10_000_000n, 10_000_000n);
    const slow = new HeldProver();
    const proving = await tab(slow);
    const waiting = proving.pay(proving.address, 15_000_000n);
    await until(() => slow.proving === 1);
    let refusing = true;
    service.faults.push(({ url }) =>
      refusing && url === "/sequence/spend" ? "NULLIFIER_PENDING" : undefined,
    );
    const refused = await tab();
    // It spends the smallest note and one of the large ones.
    await assert.rejects(refused.pay(refused.address, 500_000n), refusal("NULLIFIER_PENDING"));
    refusing = false;
    slow.release();
    const { ticket } = await waiting;
    assert.equal(ticket.state, "confirmed");
    await refused.pay(refused.address, 2_000_000n);
  });

  it("what failed after it was promised and before it was sent is free for all tabs", async () => {
    await funded(10_000_000n);
    const wallet = await tab();
    const other = await tab();
    const controller = new AbortController();
    const { save } = storage;
    // The moment between the promise and the first byte.
    storage.save = async (bytes, replaces) => {
      const version = await save(bytes, replaces);
      if (wallet.balance().inFlight > 0n) controller.abort();
      return version;
    };
    await assert.rejects(
      wallet.pay(wallet.address, 1_000_000n, { signal: controller.signal }),
      (error) => (error as Error).name === "AbortError",
    );
    storage.save = save;
    assert.equal(sequenced(), 0);
    await other.sync();
    assert.equal(other.balance().spendable, 10_000_000n);
    assert.equal((await tab()).balance().spendable, 10_000_000n);
  });

  it("no tab gives up on a storage that has another version for a while, and none saves over it for ever", async () => {
    await funded(10_000_000n);
    const wallet = await tab();
    let others = 5;
    const { save } = storage;
    storage.save = async (bytes, replaces) => (others-- > 0 ? undefined : save(bytes, replaces));
    await wallet.pay(wallet.address, 1_000_000n);
    others = Infinity;
    await assert.rejects(wallet.pay(wallet.address, 1_000_000n), refusal("STORAGE_FAILED"));
    assert.equal(sequenced(), 1);
  });
});

describe("wallets on one file, with real proofs", function () {
  let service: TestService;
  let baseUrl: string;
  let open: OpenWallet;
  let folder: string;

  beforeEach(async () => {
    ({ service, baseUrl, open } = await startWallets());
    service.verifiesProofs = true;
    folder = await mkdtemp(path.join(tmpdir(), "cloister-one-file-"));
  });
  afterEach(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });
  // The service verified proofs in this process.

  const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

  it("a process that is killed while it proves leaves the whole balance to the next, at once", async () => {
    const file = path.join(folder, "wallet");
    const first = await open({ storage: fileStorage(file) });
    give(service, first.address, USDC, [10_000_000n]);
    await first.sync();
    const program = `
      const { createClient, createWallet } = await import(${here("../../../shared/client/index.ts")});
      const { developmentProver } = await import(${here("../../../shared/client/node/development.ts")});
      const { fileStorage } = await import(${here("../../../shared/client/node/index.ts")});
      const prover = await developmentProver();
      const told = { ...prover, prove: (...args) => { process.stdout.write("proving"); return prover.prove(...args); } };
      const wallet = await createWallet({
        key: { seed: new Uint8Array(32).fill(1) },
        client: createClient({ baseUrl: ${JSON.stringify(baseUrl)}, credential: { apiKey: "${API_KEY}" } }),
        storage: fileStorage(${JSON.stringify(file)}),
        prover: told,
        pins: {
          chainId: ${CHAIN_ID}, pool: "${POOL}", assets: ["${USDC}"], addressPrefix: "${PREFIX}",
          enclaves: "unverified", feeCeiling: { transfer: { flat: 100_000n, bps: 0 } },
        },
      });
      await wallet.pay(wallet.address, 1_000_000n);`;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGKILL");
    await exited;
    assert.ok(!service.requests.some(({ method }) => method === "POST"), "it was killed before it sent");

    const prover = await developmentProver();
    try {
      const again = await open({ storage: fileStorage(file), prover });
      assert.equal(again.balance().spendable, 10_000_000n);
      await again.pay(again.address, 9_000_000n);
      assert.equal(again.balance().total, 10_000_000n - FLAT_FEE);
    } finally {
      await prover.close();
    }
  });

  it("two that pay at once both succeed", async () => {
    const file = path.join(folder, "wallet");
    const prover = await developmentProver();
    try {
      const [one, two] = [
        await open({ storage: fileStorage(file), prover }),
        await open({ storage: fileStorage(file), prover }),
      ];
      give(service, one.address, USDC, [10_000_000n]);
      const made = await Promise.all([one.pay(one.address, 1_000_000n), two.pay(two.address, 1_500_000n)]);
      assert.deepEqual(
        made.map(({ ticket }) => ticket.state),
        ["confirmed", "confirmed"],
      );
      const third = await open({ storage: fileStorage(file), prover });
      await third.pay(third.address, 9_000_000n);
      assert.equal(third.balance().total, 10_000_000n - 3n * FLAT_FEE);
    } finally {
      await prover.close();
    }
  });
});
