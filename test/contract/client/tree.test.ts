// Paths without a history: from whole levels of the service's own routes on the real edge, against a service that
// lies, breaks off, sends too much or changes its tree in between.
import assert from "node:assert/strict";
import {
  createClient,
  merklePaths,
  type Client,
  type MerklePathsOptions,
} from "../../../shared/client/index.ts";
import { NoteTree } from "../../../shared/notes/merkle.ts";
import { FIELD_ORDER, type Field } from "../../../shared/protocol/brands.ts";
import { word } from "../../../shared/protocol/bytes.ts";
import { IndexedPool, leavesFrom, type Bend, type Passing } from "./indexed-pool.ts";
import { refusal } from "./stand-in.ts";
import { until } from "../../support/until.ts";

/** Beyond 2^12, so that six levels have complete nodes, and with an edge at several of them. */
const LEAVES = leavesFrom(0, 4_096 + 64 + 16 + 7);
/** Five pages of leaves and two of the level above. */
const PAGE_NODES = 1_000;
const NODE = 32;

describe("merkle paths without a history", function () {
  let pool: IndexedPool;
  let client: Client;
  let verified: Field[];
  /** The tree that the client ought to see, kept as a wallet keeps it. */
  const tree = new NoteTree();
  for (const leaf of LEAVES) tree.append(leaf);

  before(async () => {
    pool = await IndexedPool.start();
    await pool.grow(LEAVES);
    const credential = { apiKey: pool.key };
    client = createClient({ baseUrl: pool.url, credential, tries: 2, wait: async () => undefined });
  });
  after(() => pool.stop());
  beforeEach(async () => {
    await pool.reorg(1);
    pool.bend = () => ({});
    pool.asked.length = 0;
    verified = [];
  });

  const poolKnows = async (root: Field): Promise<boolean> => {
    verified.push(root);
    return root === pool.root;
  };
  const read = (
    indexes: readonly number[],
    options: Partial<MerklePathsOptions> = {},
    commitments: readonly Field[] = LEAVES,
  ): ReturnType<typeof merklePaths> =>
    merklePaths(
      client,
      indexes.map((leafIndex) => ({ leafIndex, commitment: commitments[leafIndex]! })),
      { verifyRoot: poolKnows, pageNodes: PAGE_NODES, ...options },
    );
  const isLevel = ({ url }: Passing, level: number): boolean =>
    url.pathname === "/merkle/tree" && url.searchParams.get("level") === String(level);
  /** Of the answers that match, only the first so many. */
  const some = (times: number, matches: (passing: Passing) => boolean, bend: Bend): Bend => {
    let left = times;
    return (passing, response) => (matches(passing) && left-- > 0 ? bend(passing, response) : {});
  };
  const always = Number.MAX_SAFE_INTEGER;
  const readings = (): number => pool.asked.filter((asked) => asked === "/merkle/root").length;

  it("are those of a wallet that read everything, wherever the leaf is", async () => {
    const indexes = [0, 2, 999, 1_000, 4_095, 4_096, 4_165, LEAVES.length - 1];
    const { root, leafCount, paths } = await read(indexes);
    assert.equal(root, pool.root);
    assert.equal(leafCount, LEAVES.length);
    assert.deepEqual(
      paths,
      indexes.map((index) => tree.path(index, leafCount)),
    );
    assert.deepEqual(verified, [root]);
    assert.deepEqual((await read([7], { verifyRoot: "unverified" })).paths, [tree.path(7, leafCount)]);
  });

  it("do not tell the service which leaf they are of", async () => {
    const asked = async (indexes: readonly number[]): Promise<string[]> => {
      pool.asked.length = 0;
      await read(indexes);
      return [...pool.asked];
    };
    const first = await asked([0]);
    assert.equal(first.length, 1 + 5 + 2 + 5);
    assert.deepEqual(await asked([LEAVES.length - 1]), first);
    assert.deepEqual(await asked([5, 77, 4_000]), first);
  });

  it("take one request for a level where a page holds all of it", async () => {
    await read([3], { pageNodes: 65_536 });
    const [, ...pages] = pool.asked;
    assert.deepEqual(
      pages,
      [0, 1, 2, 3, 4, 5, 6].map((level) => `/merkle/tree?level=${level}&from=0&limit=65536`),
    );
  });

  it("lead to the root that was asked about although the tree grows in between", async () => {
    const before = pool.root;
    pool.bend = some(
      3,
      ({ url }) => url.pathname === "/merkle/tree",
      async () => {
        await pool.grow(leavesFrom(100_000 + pool.asked.length, 77));
        return {};
      },
    );
    const { root, leafCount, paths } = await read([4_100], { verifyRoot: async (asked) => asked === before });
    assert.equal(root, before);
    assert.notEqual(pool.root, before);
    assert.deepEqual(paths, [tree.path(4_100, leafCount)]);
    assert.equal(readings(), 1);
  });

  it("can be read from where a reading broke off, over a tree that grew meanwhile", async () => {
    const pages: Uint8Array[] = [];
    const wanted = { level: 0, leafCount: LEAVES.length, pageNodes: PAGE_NODES };
    let next = 0;
    for await (const page of client.treeLevel(wanted)) {
      assert.equal(page.from, next);
      pages.push(page.nodes);
      next += page.nodes.length / NODE;
      if (pages.length === 2) break;
    }
    assert.equal(next, 2 * PAGE_NODES);
    await pool.grow(leavesFrom(200_000, 500));
    for await (const page of client.treeLevel({ ...wanted, from: next })) pages.push(page.nodes);
    assert.deepEqual(Buffer.concat(pages), Buffer.concat(LEAVES.map(word)));
  });

  it("are read again, once, where a reorganisation spoiled the first reading", async () => {
    await pool.grow(leavesFrom(300_000, 9));
    const kept = LEAVES.slice(0, 100);
    pool.bend = some(
      1,
      (passing) => isLevel(passing, 1),
      async () => {
        await pool.reorg(1);
        await pool.grow(leavesFrom(400_000, 11));
        return {};
      },
    );
    const { root, paths } = await read([42], {}, kept);
    assert.equal(root, pool.root);
    assert.equal(paths.length, 1);
    assert.equal(verified.length, 2);
    assert.notEqual(verified[0], verified[1]);
  });

  const flip = ({ body }: Passing, at: number): Partial<Passing> => {
    const bent = Uint8Array.from(body);
    bent[at * NODE + NODE - 1]! ^= 1;
    return { body: bent };
  };

  it("with a wrong sibling are refused, after a second reading; a fault of one reading does no harm", async () => {
    for (const level of [0, 1, 4]) {
      const [own, sibling] = [level === 0 ? 9 : 2 * 4 ** level, level === 0 ? 8 : 3];
      pool.asked.length = 0;
      pool.bend = some(
        always,
        (passing) => isLevel(passing, level),
        (passing) => flip(passing, sibling),
      );
      await assert.rejects(read([own]), refusal("TREE_INCONSISTENT"));
      assert.equal(readings(), 2);
      pool.bend = some(
        1,
        (passing) => isLevel(passing, level),
        (passing) => flip(passing, sibling),
      );
      assert.deepEqual((await read([own])).paths, [tree.path(own, LEAVES.length)]);
    }
  });

  it("of a leaf about which the service lies are the right ones all the same", async () => {
    pool.bend = some(
      always,
      (passing) => isLevel(passing, 0),
      (passing) => flip(passing, 9),
    );
    assert.deepEqual((await read([9])).paths, [tree.path(9, LEAVES.length)]);
  });

  it("of a leaf that is another one's, or under no root yet, do not exist", async () => {
    await assert.rejects(read([9], {}, leavesFrom(1, 10)), refusal("NOTE_UNKNOWN"));
    assert.equal(readings(), 1);
    pool.asked.length = 0;
    const beyond = [...LEAVES, LEAVES[0]!];
    for (const index of [LEAVES.length, -1, 0.5])
      await assert.rejects(
        merklePaths(client, [{ leafIndex: index, commitment: beyond[0]! }], { verifyRoot: poolKnows }),
        refusal("NOTE_UNKNOWN"),
      );
    assert.ok(pool.asked.every((asked) => asked === "/merkle/root"));
  });

  it("under a root that nobody else knows are not even read", async () => {
    const verifiers = [async () => false, () => Promise.reject(new Error("the node is unreachable"))];
    for (const verifyRoot of verifiers)
      await assert.rejects(read([1], { verifyRoot }), refusal("ROOT_UNVERIFIED"));
    assert.deepEqual(pool.asked, ["/merkle/root", "/merkle/root"]);
  });

  const answers: readonly [string, Bend, string][] = [
    ["fewer nodes than its leaves make", ({ body }) => ({ body: body.slice(NODE) }), "TREE_INCONSISTENT"],
    ["a part of a node", ({ body }) => ({ body: body.slice(1) }), "UNEXPECTED_ANSWER"],
    [
      "a node more than was asked for",
      ({ body }) => ({ body: Buffer.concat([body, word(1n)]) }),
      "UNEXPECTED_ANSWER",
    ],
    [
      "a number that is no field element",
      ({ body }) => ({ body: Buffer.concat([word(FIELD_ORDER), body.slice(NODE)]) }),
      "UNEXPECTED_ANSWER",
    ],
    ["JSON", () => ({ type: "application/json" }), "UNEXPECTED_ANSWER"],
    ["a page of an intermediary", () => ({ type: "text/html", status: 502 }), "UNEXPECTED_ANSWER"],
    ["another success", () => ({ status: 206 }), "UNEXPECTED_ANSWER"],
  ];
  for (const [what, bend, code] of answers) {
    it(`are refused where the service sends ${what}`, async () => {
      pool.bend = some(always, ({ url }) => url.search.includes("level=0&from=1000"), bend);
      // Of leaf 1001 the page's first node is a sibling.
      await assert.rejects(read([1_001]), refusal(code));
      pool.bend = () => ({});
      assert.equal((await read([1_001])).paths.length, 1);
    });
  }

  it("go on after a page that broke off, and give up when it breaks off every time", async () => {
    const cut: Bend = ({ body }, response) => {
      response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": body.length });
      response.write(body.slice(0, body.length / 2), () => response.destroy());
      return "taken";
    };
    pool.bend = some(1, ({ url }) => url.search.includes("from=2000"), cut);
    assert.deepEqual((await read([2_500])).paths, [tree.path(2_500, LEAVES.length)]);
    assert.equal(pool.asked.filter((asked) => asked.includes("from=2000")).length, 2);
    pool.bend = some(always, ({ url }) => url.search.includes("from=2000"), cut);
    await assert.rejects(read([2_500]), refusal("NETWORK"));
  });

  it("do not hear out a service that never stops", async () => {
    let sent = 0;
    let isClosed = false;
    pool.bend = some(
      1,
      (passing) => isLevel(passing, 0),
      (_, response) => {
        response.on("close", () => (isClosed = true));
        response.writeHead(200, { "Content-Type": "application/octet-stream" });
        const pour = (): void => {
          if (isClosed) return;
          sent += 1;
          response.write(new Uint8Array(65_536), () => setImmediate(pour));
        };
        pour();
        return "taken";
      },
    );
    await assert.rejects(read([1]), refusal("UNEXPECTED_ANSWER"));
    await until(() => isClosed);
    assert.ok(sent > 0);
  });

  it("end with their caller: before, and in the middle of a page", async () => {
    const reason = new Error("the user left");
    await assert.rejects(read([1], { signal: AbortSignal.abort(reason) }), reason);
    assert.deepEqual(pool.asked, []);

    const leaving = new AbortController();
    let isClosed = false;
    pool.bend = some(
      1,
      (passing) => isLevel(passing, 2),
      ({ body }, response) => {
        response.on("close", () => (isClosed = true));
        response.writeHead(200, {
          "Content-Type": "application/octet-stream",
          "Content-Length": body.length,
        });
        response.write(body.slice(0, 100), () => setImmediate(() => leaving.abort(reason)));
        return "taken";
      },
    );
    await assert.rejects(read([1], { signal: leaving.signal }), reason);
    await until(() => isClosed);
    const asked = pool.asked.length;
    assert.equal((await read([1])).paths.length, 1);
    assert.equal(pool.asked.length, asked + 1 + 5 + 2 + 5);
  });

  it("ask for nothing that no level has", async () => {
    for (const wrong of [
      { level: 17 },
      { level: -1 },
      { from: 0.5 },
      { pageNodes: 0 },
      { pageNodes: 65_537 },
    ])
      await assert.rejects(
        client.treeLevel({ level: 0, leafCount: 10, ...wrong }).next(),
        refusal("OPTIONS_INVALID"),
        JSON.stringify(wrong),
      );
    assert.deepEqual(pool.asked, []);
    const pages = [];
    for await (const page of client.treeLevel({ level: 7, leafCount: LEAVES.length })) pages.push(page);
    assert.deepEqual(pages, []);
  });
});
