// The container files and the compose file against the tree, and what the images would hold started with the packages of
// production alone. No engine builds anything here.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { CORE_SCHEMA, load, mergeTag } from "js-yaml";
import { z } from "zod";
import { configHelp } from "../../../proxy/base/settings.ts";
import { copiesOf, makeTree, stagesOf } from "../../support/container-tree.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const FOLDER = "scripts/operations";
const read = (file: string): Promise<string> => readFile(path.join(PROJECT_ROOT, file), "utf8");

interface Container {
  readonly file: string;
  /** Each must say how it is used. */
  readonly programs: readonly (readonly string[])[];
}
const CONTAINERS: readonly Container[] = [
  {
    file: `${FOLDER}/proxy.Dockerfile`,
    programs: [
      ["proxy/api/main.ts", "--help"],
      ["proxy/relay/main.ts", "--help"],
      ["scripts/operator/main.ts", "--help"],
      ["scripts/operator/main.ts", "signer", "--help"],
    ],
  },
  { file: `${FOLDER}/dashboard.Dockerfile`, programs: [["proxy/dashboard/main.ts", "--help"]] },
];

for (const { file, programs } of CONTAINERS)
  describe(`the container of ${file}`, () => {
    let stages: readonly string[];
    let folder: string;
    before(async () => {
      stages = await stagesOf(file);
      folder = await mkdtemp(path.join(tmpdir(), "cloister-container-"));
    });
    after(() => rm(folder, { recursive: true, force: true }));

    const started = (words: readonly string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        execFile(
          process.execPath,
          ["--import", "tsx", ...words],
          { cwd: folder, env: { PATH: process.env["PATH"] ?? "" } },
          (error, out, err) => (error === null ? resolve(out) : reject(new Error(err))),
        );
      });

    it("is made in stages of the enclave's base, by its digest, and runs as nobody's root", async () => {
      const [enclaves] =
        /^FROM (\S+@sha256:[0-9a-f]{64}) /m.exec(await read("enclave/Dockerfile"))?.slice(1) ?? [];
      assert.ok(enclaves !== undefined);
      assert.ok(stages.length >= 2);
      for (const stage of stages) assert.equal(stage.split(/\s/)[0], enclaves);
      const last = stages.at(-1) ?? "";
      assert.match(last, /^USER cloister$/m);
      // Nothing is installed or copied with that user's rights: who runs the program cannot change it.
      assert.doesNotMatch(last.slice(last.indexOf("\nUSER ")), /^(RUN|COPY|ADD) /m);
      assert.match(last, /useradd --system --uid 10001 /);
      for (const stage of stages) {
        assert.doesNotMatch(stage, /npm (install|i) /);
        for (const [, words = ""] of stage.matchAll(/npm ci (.*)$/gm))
          assert.match(words, /--ignore-scripts/);
      }
      // Packages of production alone are in what runs.
      assert.doesNotMatch(last, /npm /);
      assert.match(stages[0] ?? "", /npm ci --omit=dev --ignore-scripts/);
    });

    it("copies what there is, and its list of exceptions lets nothing else in", async () => {
      const all = stages.flatMap(copiesOf);
      assert.ok(all.length >= 5);
      const [first, ...lines] = (await read(`${file}.dockerignore`))
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
      assert.equal(first, "*");
      const allowed = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
      for (const { from } of all) {
        const source = from.replace(/\/$/, "");
        assert.ok(existsSync(path.join(PROJECT_ROOT, source)), source);
        assert.ok(
          allowed.some((one) => source === one || source.startsWith(`${one}/`)),
          source,
        );
      }
      for (const one of allowed)
        assert.ok(
          all.some(({ from }) => from.startsWith(one)),
          `${one} is let in and never copied`,
        );
      for (const name of ["**/node_modules", "**/.cloister", "**/dist", "**/*.env", "**/.env*", "**/*.zkey"])
        assert.ok(lines.includes(name), name);
    });

    it("holds all that its programs need, with the packages of production alone", async () => {
      await makeTree(file, folder);
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
      for (const words of programs) assert.match(await started(words), /^(Usage|Settings)/, words.join(" "));
    });
  });

const service = z.looseObject({
  network_mode: z.literal("host"),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal("ALL")]),
  security_opt: z.tuple([z.literal("no-new-privileges:true")]),
  restart: z.literal("always"),
  build: z.strictObject({ context: z.literal("../../.."), dockerfile: z.string() }).optional(),
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  volumes: z.array(z.string()),
  tmpfs: z.array(z.string()).optional(),
});
const compose = z.looseObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
});

describe("the compose file", () => {
  let services: z.output<typeof compose>["services"];
  let volumes: readonly string[];
  before(async () => {
    const file = compose.parse(
      load(await read(`${FOLDER}/compose.yml`), { schema: CORE_SCHEMA.withTags(mergeTag) }),
    );
    services = file.services;
    volumes = Object.keys(file.volumes);
  });

  it("runs each part with a tree that it cannot change, and without a right of root", () => {
    assert.deepEqual(Object.keys(services).sort(), [
      ...["dashboard", "grafana", "prometheus", "proxy", "redis-limits", "redis-store", "relay"],
    ]);
    for (const [name, { build, image }] of Object.entries(services)) {
      assert.ok((build === undefined) !== (image === undefined), name);
      if (build !== undefined) assert.ok(existsSync(path.join(PROJECT_ROOT, build.dockerfile)), name);
      if (image !== undefined) assert.match(image, /:[0-9v][^:]*$/, "not whatever is latest");
    }
  });

  it("listens on loopback alone, whatever part it is", async () => {
    assert.equal(services["proxy"]?.environment?.["CLOISTER_HOST"], "127.0.0.1");
    assert.equal(services["dashboard"]?.environment?.["CLOISTER_DASHBOARD_HOST"], "127.0.0.1");
    assert.equal(services["grafana"]?.environment?.["GF_SERVER_HTTP_ADDR"], "127.0.0.1");
    assert.ok(services["prometheus"]?.command?.includes("--web.listen-address=127.0.0.1:9090"));
    for (const role of ["store", "limits"])
      assert.match(await read(`${FOLDER}/redis-${role}.conf`), /^bind 127\.0\.0\.1$/m);
  });

  it("gives each part the files and volumes that it names, settings of ours, and the dashboard no key of money", async () => {
    const settings = new Set(configHelp().match(/\bCLOISTER_[A-Z_]+/g));
    for (const [name, one] of Object.entries(services)) {
      for (const volume of one.volumes) {
        const [from = "", , mode] = volume.split(":");
        if (from.startsWith("./")) {
          assert.ok(existsSync(path.join(PROJECT_ROOT, FOLDER, from)), volume);
          assert.equal(mode, "ro", volume);
        } else if (!from.startsWith("/")) assert.ok(volumes.includes(from), volume);
      }
      for (const setting of Object.keys(one.environment ?? {}))
        if (/^CLOISTER_(?!DASHBOARD|RELAY)/.test(setting))
          assert.ok(settings.has(setting), `${name}: ${setting}`);
    }
    const secrets = services["dashboard"]?.volumes.filter((volume) => volume.startsWith("/"));
    assert.deepEqual(secrets, ["/etc/cloister/pepper:/etc/cloister/pepper:ro"]);
  });

  it("agrees with the other files on who listens where", async () => {
    const scraped = z
      .looseObject({
        scrape_configs: z.array(
          z.looseObject({ static_configs: z.array(z.object({ targets: z.array(z.string()) })) }),
        ),
      })
      .parse(load(await read(`${FOLDER}/prometheus.yml`)));
    const targets = scraped.scrape_configs.flatMap(({ static_configs }) =>
      static_configs.flatMap((one) => one.targets),
    );
    const { environment = {} } = services["proxy"] ?? {};
    assert.ok(targets.includes(`127.0.0.1:${environment["CLOISTER_OPERATIONS_PORT"] ?? ""}`));
    const relays = services["relay"]?.environment?.["CLOISTER_RELAY_OPERATIONS_PORT"];
    assert.ok(targets.includes(`127.0.0.1:${relays ?? ""}`));
    const source = z
      .looseObject({ datasources: z.tuple([z.looseObject({ url: z.string() })]) })
      .parse(load(await read(`${FOLDER}/grafana/datasource.yml`)));
    assert.equal(source.datasources[0].url, "http://127.0.0.1:9090");
    const provided = z
      .looseObject({ providers: z.tuple([z.looseObject({ options: z.strictObject({ path: z.string() }) })]) })
      .parse(load(await read(`${FOLDER}/grafana/dashboards.yml`)));
    const folder = provided.providers[0].options.path;
    assert.ok(services["grafana"]?.volumes.some((one) => one.includes(`json:${folder}/`)));
    for (const [role, setting] of [
      ["store", "CLOISTER_STORE_REDIS_URL"],
      ["limits", "CLOISTER_LIMITS_REDIS_URL"],
    ] as const) {
      const [, port] = /^port (\d+)$/m.exec(await read(`${FOLDER}/redis-${role}.conf`)) ?? [];
      assert.equal(environment[setting], `redis://127.0.0.1:${port ?? ""}`);
    }
  });

  it("is taken by docker-compose, and refused with a word that it does not know (needs docker-compose)", async function () {
    if (spawnSync("docker-compose", ["version"]).status !== 0) return this.skip();
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-compose-"));
    try {
      // It wants the files of settings to be there.
      const text = (await read(`${FOLDER}/compose.yml`)).replaceAll("/etc/cloister/", `${folder}/`);
      for (const name of ["proxy.env", "relay.env", "dashboard.env"])
        await writeFile(path.join(folder, name), "");
      const judged = async (content: string): Promise<{ status: number | null; said: string }> => {
        await writeFile(path.join(folder, "compose.yml"), content);
        const { status, stderr } = spawnSync("docker-compose", ["-f", "compose.yml", "config", "--quiet"], {
          cwd: folder,
          env: { PATH: process.env["PATH"] ?? "", BRIDGE_GROUP: "998" },
          encoding: "utf8",
        });
        return { status, said: stderr };
      };
      assert.deepEqual(await judged(text), { status: 0, said: "" });
      assert.notEqual((await judged(text.replace("read_only:", "readonly:"))).status, 0);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
