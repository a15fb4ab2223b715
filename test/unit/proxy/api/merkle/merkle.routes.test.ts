import assert from "node:assert/strict";
import { merkleRoutes } from "../../../../../proxy/api/merkle/merkle.routes.ts";
import type { Merkle } from "../../../../../proxy/api/merkle/merkle.service.ts";
import { merkleRoot, merkleTree } from "../../../../../shared/api/data.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { serveRoutes, type Served } from "../../../../support/routes.ts";

describe("merkle/merkle.routes", () => {
  let served: Served;
  let made = 0;
  const nodes = [1n, 2n, 3n].map((value) => word(value));
  const merkle: Merkle = {
    root: () => ({
      root: mustField(9n),
      leafCount: 3,
      depth: 16,
      arity: 4,
      block: { number: 7, hash: `0x${"ab".repeat(32)}` as never, timestamp: 1 },
      pending: 2,
    }),
    page: (level, from, limit) => ({
      root: mustField(9n),
      leafCount: 3,
      level,
      from,
      nodes: () => {
        made += 1;
        return Buffer.concat(nodes.slice(from, from + limit));
      },
      id: `${String(level)} ${String(from)} ${String(limit)}`,
      next: from + limit < 3 ? from + limit : undefined,
    }),
  };

  before(async () => {
    served = await serveRoutes(merkleRoutes(merkle));
  });
  after(() => served.close());
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    served.get(path, { headers });

  it("answers the root in its schema", async () => {
    const body = merkleRoot.parse(await (await get("/merkle/root")).json());
    assert.equal(body.pending, 2);
    assert.equal(body.root, toHex(word(9n)));
  });

  it("answers a page as JSON or as packed bytes, under different tags", async () => {
    const json = await get("/merkle/tree?limit=2");
    const body = merkleTree.parse(await json.json());
    assert.deepEqual(body.nodes, nodes.slice(0, 2).map(toHex));
    assert.equal(body.next, 2);
    const packed = await get("/merkle/tree?limit=2", { Accept: "application/octet-stream" });
    assert.equal(packed.headers.get("content-type"), "application/octet-stream");
    assert.deepEqual(
      new Uint8Array(await packed.arrayBuffer()),
      new Uint8Array(Buffer.concat(nodes.slice(0, 2))),
    );
    assert.notEqual(json.headers.get("etag"), packed.headers.get("etag"));
    assert.match(json.headers.get("vary") ?? "", /Accept/);
  });

  it("answers 304 to a tag that still holds", async () => {
    const etag = (await get("/merkle/tree")).headers.get("etag")!;
    assert.ok(etag.startsWith('"'));
    assert.equal((await get("/merkle/tree", { "If-None-Match": etag })).status, 304);
    assert.equal((await get("/merkle/tree?from=1", { "If-None-Match": etag })).status, 200);
  });

  it("has every page asked for again: a refutation empties leaves, however old they are", async () => {
    for (const Accept of ["application/json", "application/octet-stream"]) {
      for (const query of ["?limit=2", "?limit=3"]) {
        const { headers } = await get(`/merkle/tree${query}`, { Accept });
        assert.equal(headers.get("cache-control"), "no-cache");
      }
    }
  });

  it("makes a page once, however often it is asked for, and answers HEAD as GET without the body", async () => {
    await get("/merkle/tree?limit=1");
    const before = made;
    const again = await get("/merkle/tree?limit=1");
    const head = await served.get("/merkle/tree?limit=1", { method: "HEAD" });
    assert.equal(made, before);
    assert.equal(head.headers.get("etag"), again.headers.get("etag"));
    assert.equal(head.headers.get("content-length"), String((await again.text()).length));
    assert.equal(await head.text(), "");
  });

  it("answers 304 for the root until the next block", async () => {
    const etag = (await get("/merkle/root")).headers.get("etag")!;
    assert.equal((await get("/merkle/root", { "If-None-Match": etag })).status, 304);
    assert.equal((await get("/merkle/root", { "If-None-Match": '"other"' })).status, 200);
    assert.equal((await get("/merkle/root", { "If-Match": etag })).status, 200);
    assert.equal((await get("/merkle/root", { "If-Match": '"other"' })).status, 412);
  });

  it("refuses other media types, unknown parameters and numbers that are none", async () => {
    assert.equal(await served.codeOf("/merkle/tree", { Accept: "text/html" }), "NOT_ACCEPTABLE");
    for (const query of ["level=17", "level=-1", "limit=0", "limit=65537", "from=01", "page=1"]) {
      assert.equal(await served.codeOf(`/merkle/tree?${query}`), "INVALID_REQUEST", query);
    }
  });
});
