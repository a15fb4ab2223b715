// A wallet in a pool that is larger than what it keeps: most of the tree is folded, and a save writes what has changed. Its
// copy of the history may be damaged: that is noticed, and one call reads it again, while what nobody else knows is whole.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createWallet, type WalletStorage } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { fileStorage } from "../../../shared/client/node/index.ts";
import { KEPT_ROOTS } from "../../../shared/client/state/state.ts";
import { StateStore } from "../../../shared/client/state/state-store.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { randomField } from "../../../shared/notes/note.ts";
import { FLAT_FEE } from "./checks.ts";
import { CHAIN_ID, hex, POOL, USDC } from "./chain.ts";
import type { TestService } from "./service.ts";
import { give, refusal } from "./stand-in.ts";
import { startWallets, type OpenWallet } from "./wallets.ts";

const key = SpendingKey.fromSeed(new Uint8Array(32).fill(1)).storageKey();
const NOTES = [10_000_000n, 7_000_000n, 5_000_000n, 3_000_000n];
const TOTAL = 25_000_000n;
const HOME = { chainId: BigInt(CHAIN_ID), pool: POOL };

describe("a wallet in a large pool", function () {
  let service: TestService;
  let open: OpenWallet;
  let folder: string;
  let file: string;
  let storage: WalletStorage;
  let ownBlocks: number;

  /** Own notes in the first subtree, strangers' in some more, and roots enough that no rollback reaches those. */
  before(async () => {
    ({ service, open } = await startWallets());
    folder = await mkdtemp(path.join(tmpdir(), "cloister-large-"));
    file = path.join(folder, "wallet");
    storage = fileStorage(file);
    const wallet = await open({ storage });
    give(service, wallet.address, USDC, NOTES);
    ownBlocks = service.chain.blockNumber;
    strangers(1_200);
    for (let i = 0; i < KEPT_ROOTS; i++) strangers(1);
    await wallet.sync();
    await wallet.close();
  });
  after(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    service.verifiesProofs = false;
    service.automine = true;
  });

  const strangers = (count: number): void =>
    service.chain.addLeaves(Array.from({ length: count }, () => ({ commitment: hex(randomField()) })));
  const stored = async () => (await new StateStore(storage, { home: HOME, key }).load())!;
  const sizeOf = async (name: string): Promise<number> => (await stat(name)).size;

  it("keeps the leaves around its own notes, and pays from there with a real proof", async () => {
    const { state } = await stored();
    assert.equal(state.tree.leafCount, NOTES.length + 1_200 + KEPT_ROOTS);
    assert.deepEqual(state.tree.openSubtrees(), [0, 4, 5]);

    service.verifiesProofs = true;
    const prover = await developmentProver();
    try {
      const again = await open({ storage, prover });
      const { ticket } = await again.pay(again.address, 1_000_000n);
      assert.equal(ticket.state, "confirmed");
      assert.equal(again.balance().total, TOTAL - FLAT_FEE);
      await again.close();
    } finally {
      await prover.close();
    }
  });

  it("a save after a payment writes little beside what there is", async () => {
    const wallet = await open({ storage });
    const partsOf = async (): Promise<Map<string, number>> => {
      const names = await readdir(`${file}.parts`);
      return new Map(
        await Promise.all(
          names.map(async (name) => [name, await sizeOf(path.join(`${file}.parts`, name))] as const),
        ),
      );
    };
    const before = await partsOf();
    await wallet.pay(wallet.address, 1_000_000n);
    await wallet.close();
    const written = [...(await partsOf())].filter(([name]) => !before.has(name));
    const bytes = written.reduce((sum, [, size]) => sum + size, await sizeOf(file));
    const all = [...before.values()].reduce((sum, size) => sum + size, 0);
    assert.ok(bytes < all && bytes < 60_000, `${String(bytes)} of ${String(all)}`);
  });

  it("a damaged or missing copy of the history is noticed, and read again when it is asked for; the rest is whole", async () => {
    const wallet = await open({ storage });
    await wallet.contacts.set("Myself", wallet.address);
    service.automine = false;
    const { ticket } = await wallet.pay(wallet.address, 1_000_000n, { until: "queued", memo: "rent" });
    assert.equal(ticket.state, "queued");
    const balance = wallet.balance();
    assert.ok(balance.inFlight > 0n);
    const [item] = wallet.activity();
    await wallet.close();

    const names = await readdir(`${file}.parts`);
    for (const name of names) {
      const part = path.join(`${file}.parts`, name);
      const bytes = await readFile(part);
      await writeFile(part, bytes.subarray(0, bytes.length - 1));
      const found = await new StateStore(storage, { home: HOME, key }).load().catch(() => undefined);
      // What is the wallet's own nobody can read again.
      if (found === undefined)
        await assert.rejects(open({ storage, rebuild: true }), refusal("STORAGE_CORRUPT"));
      else break;
      await writeFile(part, bytes);
    }
    await assert.rejects(open({ storage }), refusal("HISTORY_DAMAGED"));
    const again = await open({ storage, rebuild: true });
    assert.equal(again.balance().total, 0n);
    assert.deepEqual(
      again.contacts.list().map(({ label }) => label),
      ["Myself"],
    );
    const kept = again.activity().find(({ id }) => id === item!.id);
    assert.equal(kept?.memo, "rent");
    await again.sync();
    assert.deepEqual(again.balance(), balance, "what is promised stays promised");
    assert.deepEqual(again.activity()[0], item);
    await again.close();

    const whole = await open({ storage });
    assert.deepEqual(whole.balance(), balance);
    await whole.close();
  });

  it("a whole wallet is opened as it is, also by who asks to have it read again where it is damaged", async () => {
    const wallet = await open({ storage });
    const balance = wallet.balance();
    const again = await open({ storage, rebuild: true });
    assert.deepEqual(again.balance(), balance);
    assert.ok(balance.total > 0n);
    await Promise.all([wallet.close(), again.close()]);
    await assert.rejects(createWallet({ rebuild: "yes" } as never), refusal("OPTIONS_INVALID"));
  });

  it("a reorganisation behind what it has folded makes it read again, and finds the same", async () => {
    const wallet = await open({ storage });
    const { total } = wallet.balance();
    // All but the first blocks, in which its own notes are.
    service.chain.reorg(service.chain.blockNumber - ownBlocks);
    for (let i = 0; i < 3; i++) strangers(400);
    await wallet.sync();
    assert.equal(wallet.balance().total, TOTAL);
    assert.notEqual(total, TOTAL, "the payments are gone, too");
    await wallet.close();
    const { state } = await stored();
    assert.equal(state.tree.leafCount, NOTES.length + 1_200);
    assert.deepEqual(
      state.tree.openSubtrees(),
      [0, 1, 2, 3, 4],
      "nothing is folded while every root is kept",
    );
  });
});
