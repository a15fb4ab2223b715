/**
 * The operator's guide, chapters 1 to 6, typed as it stands into one shell: beside a running network, whose chain, pool,
 * enclave and KMS are what a host would have, a proxy comes to be from nothing, takes payments, changes its secrets
 * and goes back to a copy of its store. What is marked as not run here is listed, so that nothing hides behind the mark.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Wallet as EthereumWallet } from "ethers";
import { DEVELOPMENT_CREDENTIAL } from "../../scripts/stand-ins/kms/signature.ts";
import { freePort } from "../../scripts/stack/ports.ts";
import { createClient, type Client } from "../../shared/client/index.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { documentedFetch } from "../support/documented.ts";
import { blocksOf, openShell, type Block, type Shell } from "../support/guide.ts";
import { redisCommand } from "../support/redis.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { DEVELOPMENT_REGION } from "../../scripts/image/development-keys.ts";

const GUIDE = "scripts/operations/GUIDE.md";
const UNIT = 1_000_000n;
const COINS = "0x8ac7230489e80000";
const PORTS = ["6379", "6380", "8080", "9464", "8791"] as const;

describe("the operator's guide (needs redis-server, promtool, openssl and curl)", function () {
  this.timeout(300_000);
  let on: TestStack;
  let root: string;
  let shell: Shell;
  let guide: readonly Block[];
  let ports: readonly number[];
  /** Of what was begun, in its order. */
  const ends: (() => unknown)[] = [];

  before(async function () {
    const needed = ["redis-server", "redis-cli", "promtool", "openssl", "curl"];
    if (needed.some((program) => spawnSync(program, ["--version"]).error !== undefined)) return this.skip();
    guide = await blocksOf(GUIDE);
    on = await startTestStack();
    ends.push(() => on.stop());
    root = await mkdtemp(path.join(tmpdir(), "cloister-guide-"));
    ends.push(() => rm(root, { recursive: true, force: true }));
    ports = await Promise.all(PORTS.map(() => freePort()));
    for (const folder of ["etc", "redis"]) await mkdir(path.join(root, folder), { mode: 0o700 });
    await copyFile(on.local.folder.secrets.path("signer.json"), path.join(root, "etc", "pair.json"));
    await chmod(path.join(root, "etc", "pair.json"), 0o600);
    const replacing = [
      ["scripts/operations/redis-", path.join(root, "redis", "redis-")],
      ["/opt/cloister", PROJECT_ROOT],
      ["/etc/cloister", path.join(root, "etc")],
      ["/var/lib/cloister", path.join(root, "lib")],
      ["/var/backups/cloister", path.join(root, "backups")],
      ...PORTS.map((port, i) => [port, String(ports[i])] as const),
    ] as const;
    // Their own port and folder are in them.
    for (const name of ["redis-store.conf", "redis-limits.conf"]) {
      const text = await readFile(path.join(PROJECT_ROOT, "scripts/operations", name), "utf8");
      await writeFile(
        path.join(root, "redis", name),
        replacing.slice(1).reduce((so, [from, to]) => so.replaceAll(from, to), text),
      );
    }
    shell = openShell(
      {
        ...{ RPC: on.entry.chain_rpc, CHAIN_ID: String(on.entry.chain_id), POOL: on.entry.pool },
        ...{ BLOCK: String(on.entry.deployment_block), USDC: on.entry.usdc, PREFIX: on.entry.address_prefix },
        ...{ FEES: on.entry.service_address, REGION: DEVELOPMENT_REGION },
        ENCLAVE: `unix:${String(on.local.enclave().ready["vsockPath"])}:${String(ENCLAVE_PORT)}`,
        // What a host has by its role, and AWS by its address.
        CLOISTER_KMS_ENDPOINT: on.stack.kmsUrl,
        AWS_ACCESS_KEY_ID: DEVELOPMENT_CREDENTIAL.accessKeyId,
        AWS_SECRET_ACCESS_KEY: DEVELOPMENT_CREDENTIAL.secretAccessKey,
      },
      replacing,
    );
    // They are no part of the shell's group.
    for (const port of ports.slice(0, 2))
      ends.push(() =>
        redisCommand(`redis://127.0.0.1:${String(port)}`, "SHUTDOWN", "NOSAVE").catch(() => undefined),
      );
    ends.push(() => shell.close());
    for (const { kind, under, text } of guide)
      if (kind === "sh words" && under.length === 0) await shell.type(text);
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  /** Every block of a chapter, or of a part of it. */
  async function typeAll(chapter: number, part?: string): Promise<string> {
    const own = guide.filter(
      ({ kind, under: [first = "", second] }) =>
        kind === "sh" && first.startsWith(`${String(chapter)}. `) && (part === undefined || second === part),
    );
    assert.ok(own.length > 0, `chapter ${String(chapter)} ${part ?? ""}`);
    let said = "";
    for (const { text } of own) said += await shell.type(text);
    return said;
  }
  const valueOf = async (name: string): Promise<string> => (await shell.type(`echo "$${name}"`)).trim();
  const service = async (): Promise<Client> => {
    const baseUrl = `http://127.0.0.1:${String(ports[2])}`;
    return createClient({
      baseUrl,
      credential: { apiKey: await valueOf("KEY") },
      fetch: documentedFetch(baseUrl),
    });
  };
  const gasWallet = async (): Promise<string> =>
    new EthereumWallet((await readFile(path.join(root, "etc", "sender.key"), "utf8")).trim()).address;
  const fund = async (): Promise<void> => {
    await on.chain.send("anvil_setBalance", [await gasWallet(), COINS]);
  };
  /** A payment of a new wallet through the guide's proxy; who carried it, by its gas. */
  async function pay(): Promise<{ readonly id: string; readonly carriedBy: string | undefined }> {
    const wallet = await on.wallet({ through: await service() });
    const { ticket } = await wallet.deposit(5n * UNIT, await on.depositor(5n * UNIT));
    const [hash = ""] = await on.executions(ticket.statement);
    return { id: ticket.ticket_id, carriedBy: (await on.chain.getTransaction(hash))?.from };
  }

  it("says of each block whether it is run, where, or that it is not", async () => {
    const kinds = guide.map(({ kind }) => kind.replace(/=.*/, "="));
    assert.deepEqual([...new Set(kinds)].sort(), ["console", "sh", "sh elsewhere=", "sh words"]);
    const programs = guide
      .filter(({ kind }) => kind === "console")
      .flatMap(({ text }) => text.trim().split("\n"))
      .map((line) => line.split(" ").slice(0, 3).join(" ").replace(/ -.*/, ""));
    assert.deepEqual([...new Set(programs)].sort(), [
      "aws kms create-key",
      "aws kms put-key-policy",
      "docker compose",
      "install",
      "npm run build-image",
      "npx tsx scripts/image/kms-policy.ts",
      "systemctl enable",
    ]);
    for (const { kind, text } of guide) {
      const file = /^sh elsewhere=(.*)$/.exec(kind)?.[1];
      if (file === undefined) continue;
      const tested = await readFile(path.join(PROJECT_ROOT, file), "utf8");
      const verbs = [
        ...text.matchAll(/operator -- (?:signer +|.* )?(genesis|register|list|revoke|backup|restore) /g),
      ];
      const checked = verbs
        .map(([, verb = ""]) => verb)
        .concat(text.includes("promtool") ? ["promtool"] : []);
      assert.ok(checked.length > 0, text);
      for (const verb of checked)
        assert.ok(tested.includes(`"${verb}"`) || tested.includes(`${verb}(`), `${file}: ${verb}`);
    }
  });

  it("brings a proxy from nothing to its first payment, on Redis and with secrets that it made", async () => {
    await typeAll(2, "Secrets");
    await fund();
    for (const part of ["Redis", "Settings", "The proxy", "The first developer"]) await typeAll(2, part);
    assert.equal((await pay()).carriedBy, await gasWallet());
  });

  it("runs a dashboard beside it, at which its people are asked to sign in", async () => {
    assert.match(await typeAll(2, "The dashboard"), /"status":401/);
  });

  it("writes the settings of a second network beside the first's", async () => {
    await typeAll(3);
    const [first, second] = await Promise.all(
      ["proxy", "second"].map((name) => readFile(path.join(root, "etc", `${name}.env`), "utf8")),
    );
    const different = (second ?? "").split("\n").filter((line) => !(first ?? "").includes(line));
    assert.deepEqual(
      different.map((line) => line.split("=")[0]),
      ["CLOISTER_NETWORK", "CLOISTER_PORT", "CLOISTER_OPERATIONS_PORT", "CLOISTER_DATA_DIR"],
    );
  });

  it("gives Prometheus a configuration that it takes, and runs the watcher", async () => {
    await typeAll(4);
  });

  it("changes session keys, gas wallet and API key; sessions live on, and the new wallet pays the gas", async () => {
    const [before, key] = [await gasWallet(), await valueOf("KEY")];
    await typeAll(5);
    assert.notEqual(await gasWallet(), before);
    await fund();
    assert.equal((await pay()).carriedBy, await gasWallet());
    const old = await fetch(`http://127.0.0.1:${String(ports[2])}/whoami`, { headers: { "X-API-Key": key } });
    assert.equal(old.status, 401);
  });

  it("goes back to a copy of its store, takes payments there, and finds its index equal to the chain", async () => {
    const { id } = await pay();
    await typeAll(6);
    assert.equal((await (await service()).ticket(id)).ticket_id, id);
    assert.equal((await pay()).carriedBy, await gasWallet());
  });
});
