// Money that came in by the service leaves when every process of it is stopped. What npm run demo:exit shows.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROVED_DELAY_SECS, showExit } from "../../scripts/demo/exit.ts";
import { startStack, type Stack } from "../../scripts/stack/local-stack.ts";
import type { Prover } from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";

describe("leaving when the service is gone", function () {
  let folder: string;
  let stack: Stack;
  let prover: Prover;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-exit-"));
    prover = await developmentProver();
    const ports = { first: { proxy: 0, chain: 0 } };
    stack = await startStack({
      folder,
      networks: ["first"],
      poolTerms: { provedDelay: PROVED_DELAY_SECS },
      ports,
    });
  });
  after(async () => {
    await stack.stop();
    await prover.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("a private payment and the whole way out need a chain node and a key, and every balance is exact", async () => {
    const { checks } = await showExit({ stack, prover, say: () => undefined });
    assert.equal(checks.length, 5);
    for (const { name, expected, actual } of checks) assert.equal(actual, expected, name);
  });
});
