import assert from "node:assert/strict";
import { merkleRoutes } from "../../../../proxy/merkle/merkle.routes.ts";
import type { Merkle } from "../../../../proxy/merkle/merkle.service.ts";
import { merkleRoot, merkleTree } from "../../../../shared/api/data.ts";
import { mustField } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";
import { serveRoutes, type Served } from "../../../support/routes.ts";

describe("merkle/merkle.routes", () => {
  let served: Served;
  let isImmutable = false;
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
      nodes: Buffer.concat(nodes.slice(from, from + limit)),
      next: from + limit < 3 ? from + limit : undefined,
      isImmutable,
    }),
  };

  before(async () => {
    served = await serveRoutes(merkleRoutes(merkle));
  });
  after(() => served.close());
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(served.url + path, { headers });

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

  it("lets only what cannot change be kept", async () => {
    assert.equal((await get("/merkle/tree")).headers.get("cache-control"), "no-cache");
    isImmutable = true;
    assert.equal(
      (await get("/merkle/tree")).headers.get("cache-control"),
      "private, max-age=31536000, immutable",
    );
  });

  it("refuses other media types, unknown parameters and numbers that are none", async () => {
    assert.equal(await served.codeOf("/merkle/tree", { Accept: "text/html" }), "NOT_ACCEPTABLE");
    for (const query of ["level=17", "level=-1", "limit=0", "limit=65537", "from=01", "page=1"]) {
      assert.equal(await served.codeOf(`/merkle/tree?${query}`), "INVALID_REQUEST", query);
    }
  });
});
