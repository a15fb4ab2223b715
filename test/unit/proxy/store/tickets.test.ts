import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { openDatabase, type Database } from "../../../../proxy/store/lmdb/database.ts";
import { openTicketStore } from "../../../../proxy/store/lmdb/tickets.ts";
import type { Outgoing, TicketDraft, TicketStore } from "../../../../proxy/store/tickets.ts";
import { mustField, type Bytes32 } from "../../../../shared/protocol/brands.ts";

const hash = (n: number): Bytes32 => `0x${n.toString(16).padStart(64, "0")}` as Bytes32;
function draft(n: number, nullifiers: readonly number[], sub = "user"): TicketDraft {
  return {
    id: `id-${String(n)}`,
    owner: { developerId: "d", sub },
    statement: hash(n),
    nullifiers: nullifiers.map((value) => mustField(BigInt(value))),
    transaction: {
      kind: "spend",
      deadline: 2n ** 63n,
      signals: [mustField(2n ** 250n)],
      ext: Uint8Array.of(1, 2),
      proof: new Uint8Array(256).fill(7),
      authorization: new Uint8Array(0),
      attestations: [{ signer: `0x${"11".repeat(20)}` as never, signature: new Uint8Array(65).fill(9) }],
    },
    createdAt: 1_000,
  };
}
const entry = (nonce: number, attempts: number, ticketIds: string[] = []): Outgoing => ({
  sender: `0x${"22".repeat(20)}` as never,
  nonce,
  ticketIds,
  gasLimit: 5n,
  data: "0x",
  attempts: Array.from({ length: attempts }, (_, i) => ({
    hash: hash(900 + i),
    raw: "0x02",
    maxFeePerGas: 2n ** 70n,
    maxPriorityFeePerGas: 1n,
    signedAt: i,
  })),
});

describe("store/tickets (LMDB)", () => {
  let folder: string;
  let database: Database;
  let store: TicketStore;
  const error = { code: "REJECTED", detail: "no", retryable: false } as const;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-tickets-"));
    database = openDatabase(folder);
    store = openTicketStore(database);
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("gives back what it took, after it was opened again", async () => {
    const accepted = await store.accept(draft(1, [5, 6]), 10);
    assert.ok(accepted.kind === "accepted");
    await database.close();
    database = openDatabase(folder);
    store = openTicketStore(database);
    const again = (await store.get("id-1"))!;
    assert.deepEqual(again.transaction.signals, accepted.ticket.transaction.signals);
    assert.equal(again.transaction.deadline, 2n ** 63n);
    assert.deepEqual(Buffer.from(again.transaction.proof), Buffer.from(accepted.ticket.transaction.proof));
    assert.equal((await store.byStatement(hash(1)))?.id, "id-1");
    assert.equal(await store.reservedBy(mustField(6n)), hash(1));
  });

  it("keeps the order of acceptance", async () => {
    for (let n = 1; n <= 20; n++) await store.accept(draft(n, [n + 100]), 50);
    const open = await store.open();
    assert.deepEqual(
      open.map(({ id }) => id),
      Array.from({ length: 20 }, (_, i) => `id-${String(i + 1)}`),
    );
    assert.deepEqual(
      open.map(({ sequence }) => sequence),
      [...open.map(({ sequence }) => sequence)].sort((a, b) => a - b),
    );
  });

  it("lets one of many rivals for a note win", async () => {
    const results = await Promise.all([1, 2, 3, 4].map((n) => store.accept(draft(n, [7, 50 + n]), 10)));
    assert.deepEqual(results.map(({ kind }) => kind).sort(), [
      "accepted",
      "reserved",
      "reserved",
      "reserved",
    ]);
    // The losers reserved nothing of their own either.
    const free = await Promise.all([51, 52, 53, 54].map((n) => store.reservedBy(mustField(BigInt(n)))));
    assert.equal(free.filter((by) => by !== undefined).length, 1);
  });

  it("gives the owner of a statement its ticket, refuses everybody else, and counts what waits", async () => {
    await store.accept(draft(1, [5]), 1);
    assert.equal((await store.accept(draft(1, [5]), 1)).kind, "same");
    assert.equal((await store.accept(draft(1, [5], "other"), 1)).kind, "reserved");
    assert.equal((await store.accept(draft(2, [6]), 1)).kind, "full");
    assert.equal(await store.reservedBy(mustField(6n)), undefined);
    const outcome = { txHash: hash(3), block: 3, leafIndexes: [] };
    await store.change([{ id: "id-1", status: { state: "confirmed", outcome } }], 2_000);
    assert.equal((await store.accept(draft(2, [6]), 1)).kind, "accepted");
  });

  it("frees the notes of a failed ticket and lets its statement be tried again", async () => {
    await store.accept(draft(1, [5]), 10);
    await store.change([{ id: "id-1", status: { state: "failed", error } }], 2_000);
    assert.deepEqual(await store.open(), []);
    assert.equal(await store.reservedBy(mustField(5n)), undefined);
    const again = await store.accept({ ...draft(1, [5]), id: "id-9" }, 10);
    assert.equal(again.kind, "accepted");
    assert.equal((await store.byStatement(hash(1)))?.id, "id-9");
    assert.equal((await store.get("id-1"))?.status.state, "failed");
  });

  it("stores signed bytes with their tickets or not at all, and only over what the writer has seen", async () => {
    await store.accept(draft(1, [5]), 10);
    const status = { state: "submitted", carrier: 4, txHash: hash(900) } as const;
    assert.equal(await store.putOutgoing(entry(4, 1, ["id-1"]), 0, [{ id: "id-1", status }], 2_000), true);
    assert.equal(await store.putOutgoing(entry(4, 1, ["id-1"]), 0, [], 2_000), false);
    assert.equal(await store.putOutgoing(entry(4, 2, ["id-1"]), 1, [], 2_000), true);
    const [only] = await store.outgoing();
    assert.equal(only?.attempts.length, 2);
    assert.equal(only.attempts[0]?.maxFeePerGas, 2n ** 70n);
    await assert.rejects(store.putOutgoing(entry(5, 1), 0, [{ id: "nobody", status }], 2_000));
    assert.equal((await store.outgoing()).length, 1);
    await store.markMined(4, 77);
    assert.equal((await store.outgoing())[0]?.minedIn, 77);
    await store.markMined(4, undefined);
    assert.equal((await store.outgoing())[0]?.minedIn, undefined);
    await store.dropOutgoing(4, [], 3_000);
    assert.deepEqual(await store.outgoing(), []);
  });

  /** What the store says beside the tickets themselves, against what follows from them. */
  async function assertCounted(): Promise<void> {
    const open = await store.open();
    for (const { sequence } of open) {
      const before = open.filter((other) => other.sequence < sequence && other.status.state === "queued");
      assert.equal(await store.queuedBefore(sequence), before.length);
    }
    const ids = (tickets: readonly { id: string }[]): string[] => tickets.map(({ id }) => id);
    for (const developerId of ["d", "dd", "e"]) {
      const theirs = open.filter(({ owner }) => owner.developerId === developerId);
      assert.deepEqual(ids(await store.openOf(developerId, undefined)), ids(theirs));
      for (const sub of ["user", "other", "~"]) {
        const own = theirs.filter(({ owner }) => owner.sub === sub);
        assert.deepEqual(ids(await store.openOf(developerId, sub)), ids(own));
      }
    }
    const waiting = open.filter(
      ({ status }) => status.state === "queued" || status.state === "submitted",
    ).length;
    const probe = draft(1_000_000, [1_000_000]);
    assert.equal((await store.accept(probe, waiting)).kind, "full");
  }

  /** A few hundred acceptances and changes, as a seed has them. */
  async function live(steps: number): Promise<void> {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const outcome = { txHash: hash(3), block: 3, leafIndexes: [] };
    const states = [
      { state: "queued" },
      { state: "submitted", txHash: hash(900) },
      { state: "confirmed", outcome },
      { state: "finalized", outcome },
      { state: "failed", error },
      { state: "expired", error },
    ] as const;
    for (let n = 1; n <= steps; n++) {
      const developerId = ["d", "dd", "e"][random(3)]!;
      const sub = ["user", "other", "~", undefined][random(4)];
      await store.accept({ ...draft(n, [n]), owner: { developerId, sub } }, 1_000);
      const open = await store.open();
      const some = [...new Set([random(open.length), random(open.length)])].map((i) => open[i]!.id);
      await store.change(
        some.map((id) => ({ id, status: states[random(states.length)]! })),
        n,
      );
    }
  }

  it("counts what waits, before a ticket and of an owner, through every change of state", async () => {
    await live(80);
    await assertCounted();
    await database.close();
    database = openDatabase(folder);
    store = openTicketStore(database);
    await assertCounted();
  });

  it("makes the counts of a store that has none, and refuses one of a later program", async () => {
    await live(30);
    const table = database.table("tickets");
    for (const key of [...table.getKeys({})]) {
      // A key of one part is given back as that part.
      const [name] = [key].flat();
      if (["format", "waiting", "queued", "owned"].includes(String(name))) await table.remove(key);
    }
    assert.equal(table.get(["format"]), undefined);
    store = openTicketStore(database);
    await assertCounted();
    await table.put(["format"], 3);
    store = openTicketStore(database);
    await assert.rejects(store.accept(draft(2_000_000, [2_000_000]), 10), /format 3/);
    await assert.rejects(store.queuedBefore(1), /format 3/);
  });

  it("has every ticket that was answered after the process was killed", async function () {
    this.timeout(30_000);
    const script = new URL("../../../support/accepting-process.ts", import.meta.url).pathname;
    const child = spawn(process.execPath, ["--import", "tsx", script, path.join(folder, "killed")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const answered: string[] = [];
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (chunk: Buffer) => {
        answered.push(
          ...chunk
            .toString()
            .split("\n")
            .filter((id) => id !== ""),
        );
        if (answered.length >= 25) child.kill("SIGKILL");
      });
      child.once("close", () => resolve());
    });
    const other = openDatabase(path.join(folder, "killed"));
    try {
      const open = await openTicketStore(other).open();
      const whole = answered.filter((id) => id.startsWith("id-"));
      assert.ok(whole.length >= 25);
      assert.deepEqual(
        open.slice(0, whole.length - 1).map(({ id }) => id),
        whole.slice(0, -1),
      );
    } finally {
      await other.close();
    }
  });
});
