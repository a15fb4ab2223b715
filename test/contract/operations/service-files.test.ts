// The proxy's unit and container file against the tree: what they name exists, and what the container would hold starts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { configHelp } from "../../../proxy/settings.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const read = (file: string): Promise<string> => readFile(path.join(PROJECT_ROOT, file), "utf8");
const settings = new Set(configHelp().match(/\bCLOISTER_[A-Z_]+/g));

function requireSettings(text: string): void {
  const named = text.match(/\bCLOISTER_[A-Z_]+(?==)/g) ?? [];
  assert.ok(named.length > 0);
  for (const name of named) assert.ok(settings.has(name), name);
}

describe("the proxy as a service", () => {
  it("the unit starts the proxy as the user of the enclave's bridge, with rights to its own folder alone", async () => {
    const unit = await read("scripts/product/operations/cloister-proxy.service");
    requireSettings(unit);
    const valueOf = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];
    const script = /^\/usr\/bin\/node --import tsx (\S+)$/.exec(valueOf("ExecStart") ?? "")?.[1];
    assert.ok(script !== undefined && existsSync(path.join(PROJECT_ROOT, script)));
    const steps = await read("scripts/product/image/README.md");
    assert.match(steps, new RegExp(`useradd --system --user-group ${valueOf("User") ?? ""}\n`));
    assert.match(valueOf("Environment") ?? "", /CLOISTER_DATA_DIR=\/var\/lib\/cloister$/);
    assert.equal(valueOf("StateDirectory"), "cloister");
    const bridge = await read("scripts/product/image/host/cloister-vsock-bridge.service");
    assert.match(bridge, new RegExp(`^Group=${valueOf("Group") ?? ""}$`, "m"));
    assert.match(valueOf("After") ?? "", /cloister-vsock-bridge\.service/);
    for (const [name, value] of [
      ["NoNewPrivileges", "yes"],
      ["CapabilityBoundingSet", ""],
      ["ProtectSystem", "strict"],
      ["ProtectHome", "yes"],
      ["PrivateTmp", "yes"],
      ["PrivateDevices", "yes"],
      ["StateDirectoryMode", "0700"],
      ["UMask", "0077"],
    ] as const)
      assert.equal(valueOf(name), value, name);
    // A secret in a unit is shown to everybody by systemctl.
    assert.doesNotMatch(unit, /^Environment=.*(KEY|PEPPER|REDIS_URL)/m);
    assert.doesNotMatch(unit, /^ReadWritePaths=/m);
    assert.match(await read("proxy/README.md"), /cloister-proxy\.service/);
  });

  describe("the container", () => {
    let dockerfile: string;
    let folder: string;
    before(async () => {
      dockerfile = await read("scripts/product/operations/proxy.Dockerfile");
      folder = await mkdtemp(path.join(tmpdir(), "cloister-container-"));
    });
    after(() => rm(folder, { recursive: true, force: true }));

    /** Sources and where they go, of the last stage's and the context's own files. */
    const copies = (text: string): (readonly [string, string])[] =>
      [...text.matchAll(/^COPY (?!--)(.+) (\S+)$/gm)].flatMap(([, from = "", to = ""]) =>
        from.split(" ").map((source) => [source, to] as const),
      );
    const started = (...words: string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        execFile(
          process.execPath,
          ["--import", "tsx", ...words],
          { cwd: folder, env: { PATH: process.env["PATH"] ?? "" } },
          (error, out, err) => (error === null ? resolve(out) : reject(new Error(err))),
        );
      });

    it("is made of the enclave's base, by its digest, and runs as nobody's root", async () => {
      const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
      const [enclaves] =
        /^FROM (\S+@sha256:[0-9a-f]{64}) /m.exec(await read("enclave/Dockerfile"))?.slice(1) ?? [];
      assert.ok(enclaves !== undefined);
      assert.deepEqual(new Set(bases), new Set([enclaves]));
      assert.match(dockerfile, /^USER cloister$/m);
      requireSettings(dockerfile);
      assert.match(dockerfile, /npm ci --omit=dev --ignore-scripts/);
      assert.match(dockerfile, /127\.0\.0\.1:9464\/live/);
      assert.match(dockerfile, /CLOISTER_OPERATIONS_PORT=9464$/m);
    });

    it("copies what there is, and its list of exceptions lets nothing else in", async () => {
      const all = copies(dockerfile);
      assert.ok(all.length >= 5);
      const [first, ...lines] = (await read("scripts/product/operations/proxy.Dockerfile.dockerignore"))
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
      assert.equal(first, "*");
      const allowed = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
      for (const [source] of all) {
        assert.ok(existsSync(path.join(PROJECT_ROOT, source)), source);
        assert.ok(allowed.includes(source.replace(/\/$/, "")), source);
      }
      for (const name of ["**/node_modules", "**/.cloister", "**/.env*", "**/*.zkey"])
        assert.ok(lines.includes(name), name);
    });

    it("holds all that the proxy and the operator's tool need, with the packages of production alone", async () => {
      for (const [source, to] of copies(dockerfile)) {
        const target = path.join(
          folder,
          to.endsWith("/") && !source.endsWith("/") ? to + path.basename(source) : to,
        );
        const at = to === "./" ? path.join(folder, source) : target;
        await cp(path.join(PROJECT_ROOT, source), at, {
          recursive: true,
          filter: (file) => !/(^|\/)(node_modules|dist)(\/|$)|\.zkey$/.test(file.slice(PROJECT_ROOT.length)),
        });
      }
      const lock = JSON.parse(await read("package-lock.json")) as {
        packages: Record<string, { dev?: boolean }>;
      };
      for (const [place, { dev }] of Object.entries(lock.packages)) {
        const installed = path.join(PROJECT_ROOT, place);
        if (!/^node_modules\/(@[^/]+\/)?[^/]+$/.test(place) || dev === true || !existsSync(installed))
          continue;
        await mkdir(path.dirname(path.join(folder, place)), { recursive: true });
        await symlink(installed, path.join(folder, place));
      }
      assert.match(await started("proxy/main.ts", "--help"), /^Usage: node --import tsx proxy\/main\.ts/);
      assert.match(await started("scripts/product/operator.ts", "--help"), /^Usage: npm run operator/);
      assert.match(await started("scripts/product/operator.ts", "signer", "--help"), /genesis/);
    });
  });
});
