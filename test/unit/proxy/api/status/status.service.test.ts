import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import { Limits } from "../../../../../proxy/base/limits/limits.ts";
import { LocalWindows } from "../../../../../proxy/base/limits/local-windows.ts";
import { keyHashesOf, loadCircuits } from "../../../../../proxy/api/status/circuits.ts";
import { createStatus, type StatusParts } from "../../../../../proxy/api/status/status.service.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { testFees } from "../../../../support/fees.ts";
import { KIND_NAMES } from "../../../../../shared/protocol/statements.ts";

const USDC = asAddress("0xe7f1725e7734ce288f8367e1bb143e90bb3f0512") as Address;
const SIGNER = asAddress("0x70997970c51812dc3a010c7d01b50e0d17dc79c8") as Address;
const assets = [{ address: USDC, symbol: "USDC", decimals: 6 }] as const;
const ok = { state: "ok", ageMs: 0 } as const;

function parts(change: Partial<StatusParts> = {}): StatusParts {
  return {
    config: {
      network: "first",
      chainId: 1,
      pool: USDC,
      deploymentBlock: 0,
      addressPrefix: "clo",
      confirmations: 1,
      assets,
      swaps: false,
    },
    circuits: [],
    fees: testFees({ assets }),
    limits: new Limits(
      {
        sessionPerMinute: 1,
        keyPerMinute: 1,
        keyPerDay: 1,
        streamsPerUser: 1,
        streamsPerDeveloper: 1,
        failuresPerMinute: 1,
        exchangesPerMinute: 30,
        badProofsPerMinute: 20,
      },
      new LocalWindows(),
    ),
    describeEnclaves: async () => [],
    threshold: async () => 1,
    checks: { enclave: () => ok, chain: () => ok, store: () => ok, sequencer: () => ok, indexer: () => ok },
    randomBytes: (length) => new Uint8Array(length),
    ...change,
  };
}

describe("status service", () => {
  it("binds the caller's nonce each time and shows a document without one for ten seconds", async () => {
    let now = 0;
    const asked: string[] = [];
    const status = createStatus(
      parts({
        now: () => now,
        describeEnclaves: async (nonce) => {
          asked.push(Buffer.from(nonce).toString("hex"));
          return [
            {
              signer: SIGNER,
              accepted: true,
              configurationHash: `0x${"00".repeat(32)}` as never,
              measurements: { PCR0: "aa" },
              document: nonce,
            },
          ];
        },
      }),
    );
    const nonce = new Uint8Array(16).fill(0xab);
    const { enclaves } = await status.info(nonce);
    await status.info(nonce);
    assert.deepEqual(asked, ["ab".repeat(16), "ab".repeat(16)]);
    assert.deepEqual(enclaves, [
      {
        signer: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        accepted: true,
        measurements: { PCR0: "aa" },
        attestation: Buffer.from(nonce).toString("base64"),
      },
    ]);
    await status.info(undefined);
    await status.info(undefined);
    assert.equal(asked.length, 3);
    now += 10_000;
    await status.info(undefined);
    assert.equal(asked.length, 4);
  });

  it("does not remember that no enclave answered", async () => {
    const answers = [[], [{ signer: SIGNER, accepted: true, measurements: {}, document: new Uint8Array(1) }]];
    const describeEnclaves = async () =>
      (answers.shift() ?? []).map((one) => ({ ...one, configurationHash: `0x${"00".repeat(32)}` as never }));
    const status = createStatus(parts({ now: () => 0, describeEnclaves }));
    assert.equal((await status.info(undefined)).enclaves.length, 0);
    assert.equal((await status.info(undefined)).enclaves.length, 1);
  });

  it("an absent chain is CHAIN_UNAVAILABLE, any other fault stays one", async () => {
    const away = createStatus(parts({ threshold: () => Promise.reject(new ChainUnreachable("gone")) }));
    await assert.rejects(
      away.info(undefined),
      (error) => error instanceof ApiError && error.code === "CHAIN_UNAVAILABLE",
    );
    const fault = new Error("ours");
    const broken = createStatus(parts({ threshold: () => Promise.reject(fault) }));
    await assert.rejects(broken.info(undefined), (error) => error === fault);
  });

  it("health names every part as soon as one is not well", async () => {
    assert.deepEqual(await createStatus(parts()).health(), { status: "ok" });
    const checks = { ...parts().checks, store: () => ({ state: "degraded", ageMs: 3.6 }) as const };
    const { status, checks: shown } = await createStatus(parts({ checks })).health();
    assert.equal(status, "degraded");
    assert.deepEqual(Object.keys(shown ?? {}), ["enclave", "chain", "store", "sequencer", "indexer"]);
    assert.deepEqual(shown?.store, { state: "degraded", age_ms: 4 });
  });
});

describe("circuits of /info", () => {
  const root = new URL("../../../../../shared/", import.meta.url);
  const manifest = new URL("circuits/keys/development/manifest.json", root).pathname;
  const keys = new URL("protocol/verification-keys/", root);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "cloister-circuits-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("production refuses keys marked development only", async () => {
    const circuits = await loadCircuits(manifest, keys, false);
    assert.deepEqual(
      circuits.map(({ kind }) => kind),
      KIND_NAMES,
    );
    assert.deepEqual([...keyHashesOf(circuits).keys()], KIND_NAMES);
    await assert.rejects(loadCircuits(manifest, keys, true), /development only/);
  });

  it("refuses a verification key that is not the manifest's", async () => {
    for (const kind of KIND_NAMES) {
      await writeFile(
        join(folder, `${kind}.json`),
        `${await readFile(new URL(`${kind}.json`, keys), "utf8")} `,
      );
    }
    await assert.rejects(
      loadCircuits(manifest, pathToFileURL(`${folder}/`), false),
      /not the one of the manifest/,
    );
  });
});
