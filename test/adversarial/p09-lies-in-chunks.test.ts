// P9, for the history in chunks: a service that lies in its list or in a chunk makes no note and no wrong state. The wallet stops
// believing the chunks and reads the stream; where that lies too, the call fails. What it can do is hide, as in the stream.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { History } from "../../shared/api/data.ts";
import { HistoryChunk, writeHistoryChunk, type ChunkParts } from "../../shared/api/history-chunk.ts";
import { readHistory } from "../../shared/client/history/read-history.ts";
import { createClient, type Wallet } from "../../shared/client/index.ts";
import { WalletState } from "../../shared/client/state/state.ts";
import { workerFile } from "../../shared/client/prover/worker-file.ts";
import { OutputSealer } from "../../shared/notes/encryption.ts";
import { noteCommitment } from "../../shared/notes/note.ts";
import { FIELD_ORDER, mustField, type Field } from "../../shared/protocol/brands.ts";
import { bytesToUint, word } from "../../shared/protocol/bytes.ts";
import { poseidon4 } from "../../shared/protocol/host/poseidon.ts";
import { fillHistory, HistoryStage, withoutChunks, type Bend } from "../contract/client/history-stage.ts";
import { ASSET } from "../support/made-history.ts";

const sha256 = (bytes: Uint8Array): `0x${string}` => `0x${createHash("sha256").update(bytes).digest("hex")}`;

/** Everything in a chunk, to be written again with a lie in it. */
function partsOf(bytes: Uint8Array): ChunkParts {
  const chunk = HistoryChunk.read(bytes)!;
  const each = <T>(count: number, read: (place: number) => T): T[] =>
    Array.from({ length: count }, (_, place) => read(place));
  const runs = each(chunk.runCount, (place) => chunk.run(place));
  const nullifiers = each(chunk.nullifierCount, (place) => chunk.nullifier(place));
  const voids = chunk.voids();
  const transactions = 1 + Math.max(...[...runs, ...nullifiers, ...voids].map((one) => one.transaction));
  return {
    ...{ number: chunk.number, previous: chunk.previous, end: chunk.end, root: chunk.root },
    nodes: each(chunk.nodes.length / 32, (i) =>
      mustField(bytesToUint(chunk.nodes.subarray(32 * i, 32 * (i + 1)))),
    ),
    transactions: each(transactions, (place) => chunk.transaction(place)),
    ciphertexts: each(chunk.outputs, (place) => chunk.ciphertext(place)),
    commitments: each(chunk.outputs, (place) => chunk.commitment(place)),
    ...{ runs, openings: chunk.openings(), nullifiers, voids },
  };
}

/** The service's list and chunks, as it would serve them if it lied consistently: every checksum is right. */
class Forgery {
  list!: History;
  chunks: Uint8Array[] = [];

  static async of(stage: HistoryStage): Promise<Forgery> {
    const forgery = new Forgery();
    const { entries, voids, outputsPerChunk } = stage.history.list();
    forgery.chunks = entries.map(({ number }) => stage.data.chunk(number)!);
    const { position, blockHash } = entries.at(-1)!.end;
    forgery.list = {
      ...{ outputs_per_chunk: outputsPerChunk, chunks: [], outputs: outputsPerChunk * entries.length },
      block_number: position.block,
      last_event_id: `${String(position.block)}-${blockHash.slice(2, 10)}-${String(position.logIndex)}.${String(position.part)}`,
      voids: voids.map((one) => ({ first_leaf_index: one.firstLeafIndex, count: one.leafCount })),
    };
    return forgery;
  }

  /** A lie in one chunk. */
  bend(number: number, lie: (parts: ChunkParts) => Partial<ChunkParts>): this {
    const parts = partsOf(this.chunks[number]!);
    this.chunks[number] = writeHistoryChunk({ ...parts, ...lie(parts) });
    return this;
  }

  /** Served with checksums that are right, those of the chunks before included. */
  serve(say: (list: History) => Partial<History> = () => ({})): Bend {
    for (let number = 1; number < this.chunks.length; number++)
      this.bend(number, () => ({
        previous: Buffer.from(sha256(this.chunks[number - 1]!).slice(2), "hex"),
      }));
    return this.serveAs(say);
  }

  /** As they are. */
  serveAs(say: (list: History) => Partial<History> = () => ({})): Bend {
    const honest = {
      ...this.list,
      chunks: this.chunks.map((bytes) => ({ sha256: sha256(bytes), bytes: bytes.length })),
    };
    const list = { ...honest, ...say(honest) };
    return async (url) => {
      if (url.pathname === "/history") return Response.json(list);
      if (url.pathname !== "/history/chunks") return undefined;
      const [from, limit] = ["from", "limit"].map((name) => Number(url.searchParams.get(name))) as [
        number,
        number,
      ];
      return new Response(Buffer.concat(this.chunks.slice(from, from + limit)), {
        headers: { "Content-Type": "application/octet-stream" },
      });
    };
  }
}

describe("P9 a service that lies in the history's chunks", function () {
  let stage: HistoryStage;
  let honest: unknown;
  before(async () => {
    stage = await HistoryStage.start();
    await fillHistory(stage);
    const { wallet } = await stage.wallet({ bend: withoutChunks });
    await wallet.sync();
    honest = seen(wallet);
  });
  after(() => stage.stop());

  const seen = (wallet: Wallet): unknown => ({ notes: wallet.notes(), balances: wallet.balances() });

  /** What the chunks alone are answered with. */
  async function codeOf(bend: Bend): Promise<string | undefined> {
    const client = createClient({
      ...{ baseUrl: "http://127.0.0.1:9", credential: { apiKey: "ck_none" }, tries: 1 },
      fetch: async (input) =>
        (await bend(new URL(input instanceof Request ? input.url : input), () =>
          Promise.reject(new Error("none")),
        ))!,
    });
    try {
      await readHistory({
        ...{ client, keys: stage.keys.viewing, worker: workerFile(undefined) },
        signal: new AbortController().signal,
        newState: () => new WalletState(),
      });
      return undefined;
    } catch (error) {
      return (error as { code?: string }).code;
    }
  }

  const own = (parts: ChunkParts): number =>
    parts.runs.reduce(
      (at, run) =>
        at.found
          ? at
          : ofOwn(run.ephemeralKey)
            ? { ...at, found: true }
            : { ...at, next: at.next + run.count },
      { next: 0, found: false },
    ).next;
  const ofOwn = (key: Uint8Array): boolean =>
    (honest as { notes: { sealed: { ephemeralKey: string } }[] }).notes.some(
      ({ sealed }) => sealed.ephemeralKey === `0x${Buffer.from(key).toString("hex")}`,
    );
  const other = (value: Field): Field => mustField((value + 1n) % FIELD_ORDER);

  /** A note for the victim in the place of a stranger's output: with a right commitment, that no leaf is. */
  function invented(parts: ChunkParts): Partial<ChunkParts> {
    const sealer = new OutputSealer();
    const { owner } = stage.keys.viewing;
    const note = sealer.seal(stage.keys.viewing.address, ASSET, 1_000_000n);
    const [run, ...rest] = parts.runs as [ChunkParts["runs"][0], ...ChunkParts["runs"]];
    return {
      runs: [{ ...run, ephemeralKey: sealer.ephemeralKey }, ...rest],
      ciphertexts: [sealer.ciphertexts[0]!, ...parts.ciphertexts.slice(1)],
      commitments: [noteCommitment(owner, note), ...parts.commitments.slice(1)],
    };
  }

  const lies: Readonly<Record<string, () => Promise<Bend>>> = {
    "a note that no leaf is": async () => (await Forgery.of(stage)).bend(0, invented).serve(),
    "such a note, and a node over it that the root does not bear out": async () =>
      (await Forgery.of(stage))
        .bend(0, (parts) => {
          const lie = { ...parts, ...invented(parts) };
          return { ...lie, nodes: [nodeOver(lie.commitments)] };
        })
        .serve(),
    "another commitment in the place of one's own": async () =>
      (await Forgery.of(stage))
        .bend(0, (parts) => ({
          commitments: parts.commitments.map((one, i) => (i === own(parts) + 1 ? other(one) : one)),
        }))
        .serve(),
    "a node that is none": async () =>
      (await Forgery.of(stage)).bend(1, ({ nodes }) => ({ nodes: nodes.map(other) })).serve(),
    "another root": async () =>
      (await Forgery.of(stage))
        .bend(2, ({ root }) => ({ root: { ...root!, root: other(root!.root) } }))
        .serve(),
    "a root over leaves that never came": async () =>
      (await Forgery.of(stage)).bend(2, ({ root }) => ({ root: { ...root!, leafCount: 10_000 } })).serve(),
    "another event to go on from": async () =>
      (await Forgery.of(stage)).serve(() => ({ last_event_id: "3-00000000-0.0" })),
    "an end that is in another block than the last output": async () =>
      (await Forgery.of(stage)).bend(2, ({ end }) => ({ end: { ...end, block: end.block + 1 } })).serve(),
    "blocks that go back": async () =>
      (await Forgery.of(stage))
        .bend(1, ({ transactions }) => ({
          transactions: transactions.map((one, i) =>
            i < transactions.length - 1 ? { ...one, block: 1 } : one,
          ),
        }))
        .serve(),
    "a refutation that its list leaves out": async () =>
      (await Forgery.of(stage)).serve(() => ({ voids: [] })),
    "a refutation of leaves that never came": async () =>
      (await Forgery.of(stage))
        .bend(0, (parts) => ({
          voids: [{ transaction: 0, before: 0, firstLeafIndex: 700, leafCount: 2, nullifiers: [] }],
          nullifiers: parts.nullifiers,
        }))
        .serve(),
    "a refutation left out, of a statement whose leaves the root has as empty": async () =>
      (await Forgery.of(stage)).bend(1, () => ({ voids: [] })).serve(),
    "a number that is no field element": async () => {
      const forgery = await Forgery.of(stage);
      const bytes = Uint8Array.from(forgery.chunks[1]!);
      const { nodes } = HistoryChunk.read(bytes)!;
      bytes.set(word(FIELD_ORDER), nodes.byteOffset - bytes.byteOffset);
      forgery.chunks[1] = bytes;
      return forgery.serveAs();
    },
    "chunks in another order": async () => {
      const forgery = await Forgery.of(stage);
      forgery.chunks = [forgery.chunks[1]!, forgery.chunks[0]!, forgery.chunks[2]!];
      return forgery.serveAs();
    },
    "a chunk twice": async () => {
      const forgery = await Forgery.of(stage);
      forgery.chunks = [forgery.chunks[0]!, forgery.chunks[0]!, forgery.chunks[2]!];
      return forgery.serveAs();
    },
    "a chunk that is another than its list says": async () => {
      const forgery = await Forgery.of(stage);
      const bend = forgery.serve();
      return async (url, answer) => {
        const response = await bend(url, answer);
        if (url.pathname !== "/history/chunks") return response;
        const bytes = new Uint8Array(await response!.arrayBuffer());
        bytes[5_000]! ^= 1;
        return new Response(bytes, { headers: { "Content-Type": "application/octet-stream" } });
      };
    },
    "fewer bytes than its list says": async () => {
      const bend = (await Forgery.of(stage)).serve();
      return async (url, answer) => {
        const response = await bend(url, answer);
        if (url.pathname !== "/history/chunks") return response;
        const bytes = new Uint8Array(await response!.arrayBuffer());
        return new Response(bytes.subarray(1), {
          headers: { "Content-Type": "application/octet-stream" },
        });
      };
    },
    "more bytes than its list says, without end": async () => {
      const bend = (await Forgery.of(stage)).serve();
      return async (url, answer) => {
        if (url.pathname !== "/history/chunks") return bend(url, answer);
        const endless = new ReadableStream<Uint8Array>({
          pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        });
        return new Response(endless, { headers: { "Content-Type": "application/octet-stream" } });
      };
    },
    "fewer chunks than outputs": async () => (await Forgery.of(stage)).serve(() => ({ outputs: 1_024 })),
    "chunks of a size that is no subtree's": async () =>
      (await Forgery.of(stage)).serve(() => ({ outputs_per_chunk: 100, outputs: 300 })),
    "chunks of no outputs": async () =>
      (await Forgery.of(stage)).serve(() => ({ outputs_per_chunk: 0, outputs: 0 })),
    "a chunk of a gigabyte": async () =>
      (await Forgery.of(stage)).serve(({ chunks }) => ({
        chunks: chunks.map((one) => ({ ...one, bytes: 1 << 30 })),
      })),
    "a list of another form": async () => async (url) =>
      url.pathname === "/history" ? Response.json({ chunks: "all" }) : undefined,
  };
  for (const [what, lie] of Object.entries(lies)) {
    it(`is caught with ${what}; the wallet reads the stream and has what is true`, async () => {
      const bend = await lie();
      assert.equal(await codeOf(bend), "HISTORY_INCONSISTENT");
      const { wallet, asked } = await stage.wallet({ bend });
      await wallet.sync();
      assert.deepEqual(seen(wallet), honest);
      const streams = asked.filter((path) => path.startsWith("/events/stream"));
      assert.ok(streams.length > 0 && !streams.at(-1)!.includes("from="));
    });
  }

  it("is told by name where its stream lies too, and nothing is taken over", async () => {
    const chunks = (await Forgery.of(stage)).bend(0, invented).serve();
    const bend: Bend = async (url, answer) => {
      if (url.pathname !== "/events/stream") return chunks(url, answer);
      const text = `event: leaf\nid: 1-00000000-0.0\ndata: ${JSON.stringify({
        ...{ index: 5, commitment: `0x${"0".repeat(63)}1`, ephemeral_key: "0x", output: 0, ciphertext: "0x" },
        ...{ source: "spend", tx_hash: `0x${"ab".repeat(32)}`, block_number: 1 },
      })}\n\n`;
      return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
    };
    const { wallet } = await stage.wallet({ bend });
    await assert.rejects(wallet.sync(), { code: "STREAM_INCONSISTENT" });
    assert.deepEqual([wallet.notes().length, wallet.balance().total], [0, 0n]);
  });

  it("can hide a note by another ephemeral key, as it can in the stream; a rescan at an honest service finds it", async () => {
    const hiding = (await Forgery.of(stage))
      .bend(0, (parts) => ({
        runs: parts.runs.map((run) =>
          ofOwn(run.ephemeralKey) ? { ...run, ephemeralKey: new Uint8Array(32).fill(9) } : run,
        ),
      }))
      .serve();
    let isHonest = false;
    const { wallet } = await stage.wallet({
      bend: async (url, answer) => (isHonest ? undefined : hiding(url, answer)),
    });
    await wallet.sync();
    assert.ok(wallet.notes().length < (honest as { notes: unknown[] }).notes.length);
    isHonest = true;
    await wallet.rescan();
    assert.deepEqual(seen(wallet), honest);
  });
});

function nodeOver(leaves: readonly Field[]): Field {
  let row = leaves;
  while (row.length > 1)
    row = Array.from({ length: row.length / 4 }, (_, i) =>
      poseidon4(row[4 * i]!, row[4 * i + 1]!, row[4 * i + 2]!, row[4 * i + 3]!),
    );
  return row[0]!;
}
