// The reference page over HTTP: on a port of its own, from this origin only, and nothing that takes a secret.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { HttpServer } from "../../../proxy/base/http/server.ts";
import { startReference } from "../../../proxy/base/http/reference.ts";
import { document } from "../../support/documented.ts";
import { startEdge } from "../../support/edge.ts";

describe("the reference page", () => {
  let server: HttpServer;
  let url: string;
  before(async () => {
    server = await startReference("127.0.0.1", 0);
    url = `http://127.0.0.1:${String(server.port)}`;
  });
  after(() => server.stop(0));

  it("shows the document of this build, without a credential", async () => {
    const answer = await fetch(`${url}/openapi.json`);
    assert.equal(answer.headers.get("content-type"), "application/json");
    assert.deepEqual(await answer.json(), document);
    assert.doesNotMatch(JSON.stringify(document), /ck_[0-9a-f]{16}_[A-Za-z0-9_-]{20}/);
  });

  it("allows scripts of its own files only, styles by a nonce of this answer, and no frame, form or third party", async () => {
    const seen = new Set<string>();
    for (const path of ["/", "/", "/redoc.js", "/nothing"]) {
      const answer = await fetch(url + path);
      const policy = answer.headers.get("content-security-policy") ?? "";
      const nonce = /style-src 'nonce-([A-Za-z0-9+/]{24})'/.exec(policy)?.[1] ?? "";
      assert.ok(nonce !== "" && !seen.has(nonce), "a nonce is used once");
      seen.add(nonce);
      assert.doesNotMatch(policy, /unsafe|https?:|\*/);
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ])
        assert.ok(policy.includes(rule), rule);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
      assert.equal(answer.headers.get("access-control-allow-origin"), null);
      const text = await answer.text();
      if (path === "/") assert.ok(text.includes(nonce) && !/https?:|<form|<input/.test(text));
    }
  });

  it("serves the protocol's text that the document links to, as plain text", async () => {
    const { info, externalDocs } = document as unknown as {
      info: { description: string };
      externalDocs: { url: string };
    };
    assert.equal(externalDocs.url, "SPEC.md");
    const links = [...info.description.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
    assert.ok(links.length > 0 && links.every((target) => target === "SPEC.md"), String(links));
    const answer = await fetch(`${url}/SPEC.md`);
    assert.equal(answer.headers.get("content-type"), "text/plain; charset=utf-8");
    const spec = readFileSync(new URL("../../../shared/protocol/SPEC.md", import.meta.url), "utf8");
    assert.equal(await answer.text(), spec);
  });

  it("serves its files and nothing else, to GET and HEAD", async () => {
    for (const path of ["/package.json", "/../package.json", "/%2e%2e/package.json", "/constructor", "/?a=b"])
      assert.equal((await fetch(url + path)).status, 404, path);
    assert.equal((await fetch(url, { method: "POST", body: "x" })).status, 405);
    const head = await fetch(url, { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
  });

  it("is not on the API's origin, where a key could be typed into a page", async () => {
    const edge = await startEdge();
    try {
      for (const path of ["/", "/reference", "/redoc.js"])
        assert.equal((await edge.call("GET", path)).status, 404, path);
    } finally {
      await edge.stop();
    }
  });

  it("is drawn by a package that runs nothing at its installation and reports to nobody", () => {
    const root = new URL("../../../node_modules/redoc/", import.meta.url);
    const { scripts = {} } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
      scripts?: Record<string, string>;
    };
    for (const name of ["preinstall", "install", "postinstall"]) assert.equal(scripts[name], undefined);
    assert.ok(readdirSync(fileURLToPath(new URL("bundles/", root))).includes("redoc.standalone.js"));
    const lock = readFileSync(new URL("../../../package-lock.json", import.meta.url), "utf8");
    assert.doesNotMatch(lock, /"node_modules\/(@scarf|@redocly\/redoc-opentelemetry|posthog)/);
  });
});
