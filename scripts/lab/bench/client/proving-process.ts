// One prover in a process of its own, told by its parent when to work: `load`, `prove` as often as asked, `end`.
// Way "client" is the client library as applications use it. Way "snarkjs" is what one gets without it: the
// published function on files of the disk.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { groth16 } from "snarkjs";
import { DEVELOPMENT_KEYS, developmentProver } from "../../../../shared/client/node/development.ts";
import { folderArtefacts } from "../../../../shared/client/node/index.ts";
import type { Prepared } from "../../../../shared/client/statements/statements.ts";
import type { Kind } from "../../../../shared/protocol/statements.ts";
import { releaseCurve } from "../../../build/circuits/ceremony.ts";
import { answer } from "../answering.ts";
import { aStatement } from "./statements.ts";

export type Ask =
  | { readonly type: "load"; readonly kind: Kind; readonly way: "client" | "snarkjs" }
  | { readonly type: "prove" | "end" };

export interface Measured {
  readonly seconds: number;
  /** All threads together. */
  readonly cpuSeconds: number;
  /** Of this process since it began. */
  readonly peakMb: number;
}

interface Proving {
  readonly kind: Kind;
  load(): Promise<void>;
  prove(made: Prepared): Promise<unknown>;
  end(): Promise<void>;
}

async function clientLibrary(kind: Kind): Promise<Proving> {
  const prover = await developmentProver();
  return {
    kind,
    load: () => prover.prepare(kind),
    prove: ({ statement, witness }) => prover.prove(statement, witness),
    end: () => prover.close(),
  };
}

async function bareSnarkjs(kind: Kind): Promise<Proving> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "cloister-bench-"));
  const zkey = path.join(folder, "zkey");
  const wasm = path.join(folder, "wasm");
  return {
    kind,
    async load() {
      const artefacts = await folderArtefacts(DEVELOPMENT_KEYS)(kind);
      await writeFile(zkey, artefacts.zkey);
      await writeFile(wasm, artefacts.wasm);
    },
    prove: ({ witness }) => groth16.fullProve({ ...witness }, wasm, zkey),
    async end() {
      await releaseCurve();
      await rm(folder, { recursive: true });
    },
  };
}

async function measured(work: () => Promise<unknown>): Promise<Measured> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return {
    seconds: (performance.now() - start) / 1e3,
    cpuSeconds: (user + system) / 1e6,
    // Of kilobytes of 1,024 bytes.
    peakMb: (process.resourceUsage().maxRSS * 1024) / 1e6,
  };
}

let loaded: Proving | undefined;

answer(async (ask: Ask): Promise<Measured> => {
  if (ask.type === "load")
    loaded = await (ask.way === "client" ? clientLibrary(ask.kind) : bareSnarkjs(ask.kind));
  if (loaded === undefined) throw new Error("nothing was loaded");
  const proving = loaded;
  const { type } = ask;
  if (type !== "prove") return measured(() => proving[type]());
  // Another for every proof, and made before its time is taken.
  const made = aStatement(proving.kind);
  return measured(() => proving.prove(made));
});
