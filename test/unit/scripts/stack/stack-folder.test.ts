import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { StackFolder, type Deployment } from "../../../../scripts/stack/stack-folder.ts";
import {
  type NetworkEntry,
  networkOf,
  runningStack,
  StackError,
  type StackFile,
} from "../../../../scripts/base/stack-file.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";

const ADDRESS = asAddress(`0x${"11".repeat(20)}`)!;
/** No process has it: pid_max is at most 2^22. */
const NOBODY = 2 ** 22 + 1;

const DEPLOYMENT: Deployment = {
  contracts: "0x01",
  chain_id: 31_337,
  pool: ADDRESS,
  deployment_block: 2,
  threshold: 1,
  tokens: [{ symbol: "USDC", address: ADDRESS, decimals: 6 }],
  signers: [ADDRESS],
};

const ENTRY: NetworkEntry = {
  base_url: "http://127.0.0.1:1",
  chain_rpc: "http://127.0.0.1:2",
  chain_id: 31_337,
  pool: ADDRESS,
  usdc: ADDRESS,
  deployment_block: 2,
  address_prefix: "clodev",
  service_address: "clodev1",
  threshold: 1,
  enclave_signers: [ADDRESS],
  enclave: {
    measurement: { pcr0: "a0".repeat(48), pcr1: "b1".repeat(48), pcr2: "c2".repeat(48) },
    attestation_root: "0d".repeat(32),
    configuration_hash: `0x${"0c".repeat(32)}`,
  },
  tokens: [],
};

const stackFile = (changes: Partial<StackFile> = {}): StackFile => ({
  api_key: "ck_",
  pid: process.pid,
  networks: { first: ENTRY },
  ...changes,
});

describe("scripts/stack/stack-folder", () => {
  let folder: StackFolder;

  beforeEach(async () => {
    folder = new StackFolder(await mkdtemp(path.join(tmpdir(), "cloister-folder-")));
  });
  afterEach(() => rm(folder.path, { recursive: true, force: true }));

  it("finds a stack that runs, and none where its process is gone", async () => {
    assert.equal(await runningStack(folder.path), undefined);
    await folder.writeStack(stackFile());
    assert.deepEqual(await runningStack(folder.path), stackFile());
    await folder.writeStack(stackFile({ pid: NOBODY }));
    assert.equal(await runningStack(folder.path), undefined);
  });

  it("names the network that does not run", async () => {
    assert.equal(networkOf(stackFile(), "first"), ENTRY);
    assert.throws(
      () => networkOf(stackFile(), "second"),
      (error: unknown) => error instanceof StackError && /second/.test(error.message),
    );
  });

  it("takes another version's stack file for one that runs only while its process lives", async () => {
    const file = path.join(folder.path, "stack.json");
    const old = { api_key: "ck_", networks: { first: { base_url: "http://127.0.0.1:1" } } };
    await writeFile(file, JSON.stringify({ ...old, pid: NOBODY }));
    assert.equal(await runningStack(folder.path), undefined);
    await writeFile(file, JSON.stringify({ ...old, pid: process.pid }));
    await assert.rejects(runningStack(folder.path), StackError);
  });

  it("reads back a deployment, and says of an older one and of a damaged one what to do", async () => {
    const network = folder.network("first");
    assert.equal(await network.readDeployment(), undefined);
    await network.writeDeployment(DEPLOYMENT);
    assert.deepEqual(await network.readDeployment(), DEPLOYMENT);
    const file = network.inside("deployment.json");
    for (const [text, expected] of [
      [JSON.stringify({ ...DEPLOYMENT, contracts: undefined }), /older version.*--fresh/],
      [JSON.stringify({ chain_id: 31_337, pool: ADDRESS, usdc: ADDRESS }), /older version.*--fresh/],
      ["{", /damaged.*--fresh/],
    ] as const) {
      await writeFile(file, text);
      await assert.rejects(
        network.readDeployment(),
        (error: unknown) => error instanceof StackError && expected.test(error.message),
      );
    }
  });

  it("is held by one supervisor at a time, and a dead one's lock is taken over", async () => {
    assert.equal(await folder.lock(), undefined);
    assert.equal(await folder.lock(), process.pid);
    await folder.unlock();
    await writeFile(path.join(folder.path, "lock"), String(NOBODY));
    assert.equal(await folder.lock(), undefined);
  });

  it("keeps secrets for their owner alone, the same ones at every start", async () => {
    const { secrets } = folder.network("second");
    const text = await secrets.text("owner.key");
    assert.match(text, /^0x[0-9a-f]{64}$/);
    assert.equal(await secrets.text("owner.key"), text);
    assert.notEqual(await folder.network("first").secrets.text("owner.key"), text);
    assert.equal((await stat(secrets.path("owner.key"))).mode & 0o077, 0);
  });

  it("forgets one network without the API key that the other still knows, and with the last one all", async () => {
    for (const name of ["first", "second"] as const) {
      await mkdir(folder.network(name).path, { recursive: true });
      await writeFile(folder.network(name).inside("chain-state.json"), "{}");
    }
    await folder.secrets.write("api-key.json", "{}");
    await mkdir(path.join(folder.path, "build"));
    await folder.forget(["second"]);
    assert.equal(existsSync(folder.network("second").path), false);
    assert.equal(await readFile(folder.secrets.path("api-key.json"), "utf8"), "{}");
    await folder.forget(["first"]);
    assert.equal(existsSync(folder.secrets.path("api-key.json")), false);
    assert.equal(existsSync(path.join(folder.path, "build")), true, "the set-up's own");
  });
});
