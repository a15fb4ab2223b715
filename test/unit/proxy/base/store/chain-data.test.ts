// The swap's leaf and a credited note on disk, back from disk, removed by a reorganisation, and as a stream shows it.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Hub } from "../../../../../proxy/api/events/hub.ts";
import { idOf } from "../../../../../proxy/api/events/position.ts";
import { Expansion } from "../../../../../proxy/api/merkle/expansion.ts";
import type {
  ChainDataStore,
  LoggedEvent,
  SealedOutput,
} from "../../../../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import type { Tickets } from "../../../../../proxy/api/payments/tickets.ts";
import { EVENTS, type StreamEvent } from "../../../../../shared/api/data.ts";
import { checksumAddress } from "../../../../../shared/api/checksum.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { StreamReader } from "../../../../support/stream-reader.ts";
import {
  ciphertext,
  credited,
  EPHEMERAL_KEY,
  executed,
  hash,
  logReader,
  noteHashed,
  POOL_ADDRESS,
} from "../../api/merkle/pool-log.ts";

const WETH = `0x${"22".repeat(20)}` as Address;
const VALUE = 2n ** 128n - 1n;

describe("base/store/chain-data (LMDB): swaps", () => {
  let folder: string;
  let database: Database;
  let data: ChainDataStore;
  let logged: LoggedEvent[];

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-chain-data-"));
    database = openDatabase(folder);
    data = openChainDataStore(database);
    const expansion = new Expansion(logReader(), () => undefined);
    logged = [
      executed("deposit-shield", 1, 0, { logIndex: 0 }),
      executed("private-swap", 2, 3, { block: 2, logIndex: 0 }),
      noteHashed(2, 6, WETH, VALUE, { block: 2, logIndex: 5 }),
    ].flatMap((log) => expansion.take(log));
    const blocks = [1, 2].map((number) => ({ number, hash: hash(1_000 + number), timestamp: 10 * number }));
    await data.append(blocks, logged);
  });
  after(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** All that a stream shows behind an id, up to `synced`. */
  async function streamed(from?: string): Promise<StreamEvent[]> {
    const hub = new Hub(
      { onChange: () => () => undefined, state: () => ({ tip: data.tip(), syncedAt: 1, fault: undefined }) },
      data,
      { onChange: () => () => undefined, openOf: async () => [] } as unknown as Tickets,
      { chainId: 1, pool: POOL_ADDRESS, now: () => 0 },
    );
    const reader = new StreamReader(hub, { from });
    await reader.synced();
    reader.leave();
    return reader.events;
  }

  it("gives every event back as it was", () => {
    // The store's bytes are Buffers; here only what is in them counts.
    const sealedText = ({ ephemeralKey, output, ciphertext: bytes }: SealedOutput) => [
      ...[toHex(ephemeralKey), output, toHex(bytes)],
    ];
    const plain = ({ event, ...rest }: LoggedEvent): unknown =>
      event.kind === "leaf"
        ? { ...rest, event: { ...event, sealed: sealedText(event.sealed) } }
        : { ...rest, event };
    assert.deepEqual(data.eventsAfter(undefined, 100).map(plain), logged.map(plain));
  });

  it("counts the pool's leaf: four of one statement, in a queue whose head covers it", () => {
    assert.equal(data.leafCount(), 7);
    assert.deepEqual(data.execution(hash(2))?.leafIndexes, [3, 4, 5, 6]);
    assert.equal(
      data.spender(logged.flatMap(({ event }) => (event.kind === "nullifier" ? [event.nullifier] : []))[0]!)
        ?.statement,
      hash(2),
    );
    assert.deepEqual([data.leaf(5)?.isLast, data.leaf(6)?.isLast], [false, true]);
    assert.notEqual(data.headAt(7), data.headAt(6));
  });

  it("shows it in the stream with npk, asset and value, and no other leaf with them", async () => {
    const leaves = (await streamed()).filter((event) => event.kind === "leaf");
    assert.equal(leaves.length, 7);
    for (const { data: shown } of leaves) EVENTS.leaf.parse(shown);
    assert.deepEqual(leaves.at(-1)?.data, {
      index: 6,
      commitment: toHex(word(106n)),
      ephemeral_key: toHex(EPHEMERAL_KEY),
      output: 3,
      ciphertext: toHex(ciphertext(7)),
      source: "swap",
      npk: toHex(word(7n)),
      asset: checksumAddress(WETH),
      value: String(VALUE),
      tx_hash: hash(2_001),
      block_number: 2,
    });
    assert.ok(leaves.slice(0, -1).every(({ data: shown }) => !("npk" in shown || "value" in shown)));
    assert.deepEqual(
      leaves.map(({ data: shown }) => shown.source),
      ["deposit", "deposit", "deposit", "swap", "swap", "swap", "swap"],
    );
  });

  it("resumes between the swap and its note with the same ids", async () => {
    const whole = (await streamed()).flatMap(({ id }) => (id === undefined ? [] : [id]));
    const third = logged.findIndex(({ event }) => event.kind === "leaf" && event.index === 5);
    const rest = await streamed(idOf(logged[third]!));
    assert.ok(!rest.some(({ kind }) => kind === "reorg"));
    const ids = rest.flatMap(({ id }) => (id === undefined ? [] : [id]));
    assert.deepEqual(ids, whole.slice(-1));
  });

  it("keeps a credited note, shows it with what is in it, and takes it back", async () => {
    const expansion = new Expansion(logReader(), () => undefined);
    const [note] = expansion.take(credited(7, WETH, VALUE, { block: 3, logIndex: 1, tx: 3 }));
    await data.append([{ number: 3, hash: hash(1_003), timestamp: 30 }], [note!]);
    const shown = (await streamed()).filter((event) => event.kind === "leaf").at(-1);
    assert.equal(shown?.id, idOf(note!));
    assert.deepEqual(EVENTS.leaf.parse(shown.data), {
      ...{ index: 7, commitment: toHex(word(107n)), output: 0, source: "forwarder" },
      ...{ ephemeral_key: toHex(EPHEMERAL_KEY), ciphertext: toHex(ciphertext(8)) },
      ...{ npk: toHex(word(7n)), asset: checksumAddress(WETH), value: String(VALUE) },
      ...{ tx_hash: hash(2_003), block_number: 3 },
    });
    assert.deepEqual([data.leaf(7)?.isLast, data.leaf(7)?.txHash], [true, hash(2_003)]);
    assert.equal(data.madeAt(7), undefined);
    await data.rollbackTo(2);
    assert.equal(data.leafCount(), 7);
  });

  it("takes all of the swap back with its block", async () => {
    await data.rollbackTo(1);
    assert.equal(data.leafCount(), 3);
    assert.equal(data.execution(hash(2)), undefined);
    assert.equal((await streamed()).filter(({ kind }) => kind === "leaf").length, 3);
  });
});
