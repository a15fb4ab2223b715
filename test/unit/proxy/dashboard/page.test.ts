// How the built page is served: hashed files for ever, the page itself asked for each time, and nothing of the disk besides.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import Koa from "koa";
import { refusals } from "../../../../proxy/dashboard/edge.middleware.ts";
import { page, readPage } from "../../../../proxy/dashboard/page.middleware.ts";
import type { DashboardState } from "../../../../proxy/dashboard/state.ts";
import { createLogger } from "../../../../proxy/base/logging.ts";

describe("the dashboard's page", () => {
  let folder: string;
  let server: Server;
  let base: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "page-"));
    await mkdir(path.join(folder, "dist", "assets"), { recursive: true });
    await writeFile(path.join(folder, "secret.js"), "no");
    await writeFile(path.join(folder, "dist", "index.html"), "<!doctype html><title>page</title>");
    await writeFile(path.join(folder, "dist", "assets", "main-KXZY664F.js"), "export {};");
    await writeFile(path.join(folder, "dist", "assets", "main-KXZY664F.js.map"), "{}");
    const app = new Koa<DashboardState>();
    app.use(refusals(createLogger("silent")));
    app.use(page(await readPage(path.join(folder, "dist"))));
    const handle = app.callback();
    server = createServer((request, response) => void handle(request, response)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  after(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  it("is one file for every route of the page, and never kept", async () => {
    for (const route of ["/", "/invitation", "/developer/keys", "/tickets/0x1"]) {
      const answer = await fetch(base + route);
      assert.equal(answer.status, 200, route);
      assert.match(answer.headers.get("Content-Type") ?? "", /^text\/html/);
      assert.equal(answer.headers.get("Cache-Control"), "no-cache");
      assert.match(await answer.text(), /<title>page/);
    }
  });

  it("files named by their content are kept for ever, compressed as the browser likes", async () => {
    for (const encoding of ["br", "gzip", "identity"]) {
      const answer = await fetch(`${base}/assets/main-KXZY664F.js`, {
        headers: { "Accept-Encoding": encoding },
      });
      assert.match(answer.headers.get("Content-Type") ?? "", /^text\/javascript/);
      assert.match(answer.headers.get("Cache-Control") ?? "", /immutable/);
      assert.equal(answer.headers.get("Content-Encoding"), encoding === "identity" ? null : encoding);
      assert.equal(await answer.text(), "export {};");
    }
  });

  it("gives nothing that is no file of the page", async () => {
    const targets = [
      "/secret.js",
      "/../secret.js",
      "/%2e%2e/secret.js",
      "/assets/main-KXZY664F.js.map",
      "/x.js",
    ];
    for (const target of targets) assert.equal((await fetch(base + target)).status, 404, target);
    assert.equal((await fetch(base, { method: "POST" })).status, 405);
  });
});
