/**
 * The nearest to the proxy's container that there is without an engine: its tree by the lines of its container file, where
 * the container has it, everything read-only but its volumes, as its user and without a capability, in a mount namespace
 * of its own. A real chain and a real enclave are outside, as they are outside of the container; a payment goes through.
 * Of the image's own system (base, users, health check) this says nothing.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Wallet as EthereumWallet } from "ethers";
import { createClient } from "../../shared/client/index.ts";
import { createKeyRing } from "../../proxy/base/auth/secret-files.ts";
import { DEVELOPMENT_CREDENTIAL } from "../../scripts/stand-ins/kms/signature.ts";
import { freePort } from "../../scripts/stack/ports.ts";
import { startByteRelay, type ByteRelay } from "../support/byte-relay.ts";
import { runProgram } from "../support/program.ts";
import { makeTree } from "../support/container-tree.ts";
import { documentedFetch } from "../support/documented.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { until } from "../support/until.ts";
import { DEVELOPMENT_REGION } from "../../scripts/image/development-keys.ts";

const DOCKERFILE = "scripts/operations/proxy.Dockerfile";
const UNIT = 1_000_000n;
/** The container's user and group. */
const USER = 10_001;

/** $1: the tree, $2: the packages, $3: the volumes. Mounts are this process's own, and end with it. */
const ENTER = `
mount --bind "$1" /opt
mount --bind "$2" /opt/node_modules
mount --bind "$3" /mnt
for at in /opt /opt/node_modules /; do mount -o remount,bind,ro "$at"; done
mount -t tmpfs tmpfs /tmp
cd /opt
exec setpriv --reuid ${String(USER)} --regid ${String(USER)} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \\
  "$4" --import tsx proxy/api/main.ts`;

describe("the proxy's container, without an engine (needs root, unshare and setpriv)", function () {
  let on: TestStack;
  let folder: string;
  let relay: ByteRelay;
  let proxy: ChildProcess;
  let said = "";
  let url: string;
  let operations: string;
  /** Of what was begun, in its order. */
  const ends: (() => unknown)[] = [];

  before(async function () {
    const canEnter =
      spawnSync("unshare", ["--mount", "setpriv", "--reuid", String(USER), "true"]).status === 0;
    if (!canEnter) return this.skip();
    on = await startTestStack();
    ends.push(() => on.stop());
    folder = await mkdtemp(path.join(tmpdir(), "cloister-container-"));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const [tree, volumes] = [path.join(folder, "tree"), path.join(folder, "volumes")];
    for (const at of [tree, path.join(tree, "node_modules"), volumes, path.join(volumes, "data")])
      await mkdir(at, { recursive: true });
    await makeTree(DOCKERFILE, tree);
    await chown(path.join(volumes, "data"), USER, USER);
    const secrets: Readonly<Record<string, string>> = {
      // A gas wallet of its own: the network's proxy has the other, and carries on.
      "sender.key": await on.local.folder.secrets.file("container-sender.key"),
      "signer.json": on.local.folder.secrets.path("signer.json"),
      pepper: path.join(on.stack.folder.path, "secrets", "api-key.pepper"),
    };
    for (const [name, from] of Object.entries(secrets)) await copyFile(from, path.join(volumes, name));
    const sender = new EthereumWallet(await on.local.folder.secrets.text("container-sender.key"));
    await on.chain.send("anvil_setBalance", [sender.address, "0x8ac7230489e80000"]);
    await createKeyRing(path.join(volumes, "session-keys.json"));
    for (const name of [...Object.keys(secrets), "session-keys.json"]) {
      await chmod(path.join(volumes, name), 0o600);
      await chown(path.join(volumes, name), USER, USER);
    }
    // The bridge's socket, in the place that the container is given.
    relay = await startByteRelay(
      path.join(volumes, "enclave.sock"),
      String(on.local.enclave().ready["vsockPath"]),
    );
    ends.push(() => relay.close());
    await chmod(path.join(volumes, "enclave.sock"), 0o666);
    await start(tree, volumes);
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  async function start(tree: string, volumes: string): Promise<void> {
    const [port, operationsPort] = [await freePort(), await freePort()];
    url = `http://127.0.0.1:${String(port)}`;
    operations = `http://127.0.0.1:${String(operationsPort)}`;
    const { entry } = on;
    const words = [
      "sh",
      "-euc",
      ENTER,
      "sh",
      tree,
      path.join(PROJECT_ROOT, "node_modules"),
      volumes,
      process.execPath,
    ];
    proxy = spawn("unshare", ["--mount", ...words], {
      env: {
        ...{ PATH: process.env["PATH"] ?? "", NODE_ENV: "production" },
        ...{ CLOISTER_PORT: String(port), CLOISTER_OPERATIONS_PORT: String(operationsPort) },
        ...{ CLOISTER_DATA_DIR: "/mnt/data", CLOISTER_RPC_URL: entry.chain_rpc },
        ...{
          CLOISTER_CHAIN_ID: String(entry.chain_id),
          CLOISTER_POOL: entry.pool,
          CLOISTER_USDC: entry.usdc,
        },
        CLOISTER_DEPLOYMENT_BLOCK: String(entry.deployment_block),
        CLOISTER_ADDRESS_PREFIX: entry.address_prefix,
        ...{ CLOISTER_ENCLAVES: "unix:/mnt/enclave.sock:5000", CLOISTER_SIGNER_KEYS: "/mnt/signer.json" },
        ...{ CLOISTER_KMS_REGION: DEVELOPMENT_REGION, CLOISTER_KMS_ENDPOINT: on.stack.kmsUrl },
        AWS_ACCESS_KEY_ID: DEVELOPMENT_CREDENTIAL.accessKeyId,
        AWS_SECRET_ACCESS_KEY: DEVELOPMENT_CREDENTIAL.secretAccessKey,
        CLOISTER_ARTEFACT_MANIFEST: "/opt/shared/circuits/keys/development/manifest.json",
        ...{ CLOISTER_SENDER_KEY_FILE: "/mnt/sender.key", CLOISTER_API_KEY_PEPPER_FILE: "/mnt/pepper" },
        CLOISTER_SESSION_KEYS_FILE: "/mnt/session-keys.json",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(proxy, "exit");
    ends.push(() => {
      proxy.kill("SIGTERM");
      return ended;
    });
    for (const stream of [proxy.stdout, proxy.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (said += text));
    await until("it to be ready", async () => {
      assert.equal(proxy.exitCode, null, said);
      return fetch(`${operations}/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }

  it("runs as its user, with no capability and no way to get one, on a tree that it cannot write", async () => {
    const status = await readFile(`/proc/${String(proxy.pid)}/status`, "utf8");
    const valueOf = (name: string): string => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
    assert.equal(valueOf("Uid"), Array(4).fill(USER).join("\t"));
    assert.equal(valueOf("Gid"), Array(4).fill(USER).join("\t"));
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
      assert.match(valueOf(set), /^0+$/, set);
    assert.equal(valueOf("NoNewPrivs"), "1");
    const mounts = (await readFile(`/proc/${String(proxy.pid)}/mounts`, "utf8")).trim().split("\n");
    const optionsOf = (at: string): string[] =>
      mounts
        .findLast((line) => line.split(" ")[1] === at)
        ?.split(" ")[3]
        ?.split(",") ?? [];
    for (const at of ["/", "/opt", "/opt/node_modules"]) assert.ok(optionsOf(at).includes("ro"), at);
    for (const at of ["/mnt", "/tmp"]) assert.ok(optionsOf(at).includes("rw"), at);
  });

  it("takes a payment and carries it out", async () => {
    // Its store is its own: a developer and a key come by the operator's tool.
    const operator = async (...words: string[]): Promise<string> => {
      const args = ["--json", "--data", path.join(folder, "volumes", "data"), ...words];
      const { code, out, err } = await runProgram("scripts/operator/main.ts", args);
      assert.equal(code, 0, err);
      return out;
    };
    const { id } = JSON.parse(await operator("developers", "add", "Shop")) as { id: string };
    const pepper = ["--pepper", path.join(folder, "volumes", "pepper")];
    const { key } = JSON.parse(await operator(...pepper, "keys", "create", id, "main")) as { key: string };
    const client = createClient({ baseUrl: url, credential: { apiKey: key }, fetch: documentedFetch(url) });
    const wallet = await on.wallet({ through: client });
    const { ticket } = await wallet.deposit(5n * UNIT, await on.depositor(5n * UNIT));
    assert.equal((await on.executions(ticket.statement)).length, 1);
  });

  it("ends in order when it is told to", async () => {
    const ended = once(proxy, "exit");
    proxy.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null], said);
  });
});
