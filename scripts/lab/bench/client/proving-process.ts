// One prover in a process of its own, told by its parent when to work: `load`, `prove` as often as asked, `end`.
// Way "client" is the client library as applications use it. Way "snarkjs" is what one gets without it: the
// published function on files of the disk.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { groth16 } from "snarkjs";
import { DEVELOPMENT_KEYS, developmentProver } from "../../../../shared/client/node/development.ts";
import { folderArtefacts } from "../../../../shared/client/node/index.ts";
import { KIND_NAMES, type Kind } from "../../../../shared/protocol/statements.ts";
import { releaseCurve } from "../../../build/circuits/ceremony.ts";
import { aStatement } from "./statements.ts";

export type Way = "client" | "snarkjs";
export type Ask = "load" | "prove" | "end";

export interface Measured {
  readonly seconds: number;
  /** All threads together. */
  readonly cpuSeconds: number;
  /** Of this process since it began, its TypeScript loader included. */
  readonly peakMb: number;
}

interface Proving {
  load(): Promise<void>;
  prove(): Promise<void>;
  end(): Promise<void>;
}

async function clientLibrary(kind: Kind): Promise<Proving> {
  const prover = await developmentProver();
  return {
    load: () => prover.prepare(kind),
    async prove() {
      // Another for every proof, and made before its time is taken.
      const { statement, witness } = aStatement(kind);
      await timed(async () => prover.prove(statement, witness));
    },
    end: () => prover.close(),
  };
}

async function bareSnarkjs(kind: Kind): Promise<Proving> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "cloister-bench-"));
  const zkey = path.join(folder, "zkey");
  const wasm = path.join(folder, "wasm");
  return {
    async load() {
      const artefacts = await folderArtefacts(DEVELOPMENT_KEYS)(kind);
      await writeFile(zkey, artefacts.zkey);
      await writeFile(wasm, artefacts.wasm);
    },
    async prove() {
      const { witness } = aStatement(kind);
      await timed(async () => groth16.fullProve({ ...witness }, wasm, zkey));
    },
    async end() {
      await releaseCurve();
      await rm(folder, { recursive: true });
    },
  };
}

let last: Omit<Measured, "peakMb"> = { seconds: 0, cpuSeconds: 0 };

async function timed(work: () => Promise<unknown>): Promise<void> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  last = { seconds: (performance.now() - start) / 1e3, cpuSeconds: (user + system) / 1e6 };
}

async function answer(proving: Proving, question: Ask): Promise<void> {
  if (question === "prove") await proving.prove();
  else await timed(() => proving[question]());
  // Kilobytes of 1,024 bytes.
  const peakMb = (process.resourceUsage().maxRSS * 1024) / 1e6;
  process.send?.({ ...last, peakMb } satisfies Measured);
  if (question === "end") process.disconnect();
}

const [kindName, way] = process.argv.slice(2);
const kind = KIND_NAMES.find((known) => known === kindName);
if (kind === undefined || process.send === undefined)
  throw new Error("this program is started by the benchmark");
const proving = await (way === "client" ? clientLibrary(kind) : bareSnarkjs(kind));
// Also when the benchmark is stopped: worker threads would keep this process alive.
process.on("disconnect", () => process.exit());
process.on("message", (question: Ask) => {
  answer(proving, question).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
