// Makes powers of tau of our own for development keys, when no file of somebody else's is at hand. One
// party on one machine makes them, so nobody should trust them with money.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { wholeNumber } from "../base/command.ts";
import { curves, powersOfTau } from "snarkjs";
import { mustNotBeFalse, progress, releaseCurve } from "./circuits/ceremony.ts";
import { repositoryRoot, sha256Hex } from "./circuits/compile.ts";

const HELP = `Usage: tsx scripts/build/ptau.ts [--power <n>] [--contributions <n>] [--out <file>]

Makes powers of tau on BN254 for DEVELOPMENT keys: a fresh accumulator, contributions with fresh
randomness, then the preparation for phase 2. At power 16 the preparation alone takes about half an
hour on one core. A run that was stopped goes on after its last finished step.

  --power <n>          2^n constraints at most (default 16, which both circuits fit; a test may use 4)
  --contributions <n>  how many contributions (default 3)
  --out <file>         default .cloister/build/ptau/development-<power>.ptau
  --help               this text`;

export interface PtauPlan {
  readonly power: number;
  readonly contributions: number;
  readonly outFile: string;
}

export function defaultPtauFile(power: number): string {
  return path.join(repositoryRoot, ".cloister", "build", "ptau", `development-${String(power)}.ptau`);
}

export async function makePtau(plan: PtauPlan): Promise<{ sha256: string }> {
  await mkdir(path.dirname(plan.outFile), { recursive: true });
  if (!existsSync(plan.outFile)) await runSteps(plan);
  else console.log(`${plan.outFile} is there already`);
  return { sha256: sha256Hex(await readFile(plan.outFile)) };
}

async function runSteps(plan: PtauPlan): Promise<void> {
  if (plan.power >= 14) console.log("This takes long: about half an hour at power 16, mostly the last step.");
  const stepFile = (step: number): string => `${plan.outFile}.step-${String(step)}`;
  const steps = plan.contributions;

  await step("accumulator", stepFile(0), async (to) =>
    powersOfTau.newAccumulator(
      await curves.getCurveFromName("bn128"),
      plan.power,
      to,
      progress("accumulator"),
    ),
  );
  for (let i = 1; i <= steps; i++) {
    const name = `contribution ${String(i)} of ${String(steps)}`;
    await step(name, stepFile(i), (to) =>
      powersOfTau.contribute(stepFile(i - 1), to, name, randomBytes(64).toString("hex"), progress(name)),
    );
  }
  const prepared = `${plan.outFile}.prepared`;
  await step("preparation for phase 2", prepared, (to) =>
    powersOfTau.preparePhase2(stepFile(steps), to, progress("preparation")),
  );
  console.log("verifying the whole transcript");
  if (!(await powersOfTau.verify(prepared, progress("verification")))) {
    throw new Error("the powers of tau do not verify; remove the step files beside the output and run again");
  }
  await rename(prepared, plan.outFile);
  for (let i = 0; i <= steps; i++) await rm(stepFile(i), { force: true });
}

/** A step writes beside its place and is renamed when whole: a file under its own name is a finished step. */
async function step(name: string, file: string, make: (to: string) => Promise<unknown>): Promise<void> {
  if (existsSync(file)) {
    console.log(`${name}: done before`);
    return;
  }
  console.log(`${name}: started`);
  await mustNotBeFalse(name, make(`${file}.partial`));
  await rename(`${file}.partial`, file);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      power: { type: "string", default: "16" },
      contributions: { type: "string", default: "3" },
      out: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const power = wholeNumber("--power", values.power, 1, 22);
  const contributions = wholeNumber("--contributions", values.contributions, 1, 20);
  const outFile = path.resolve(values.out ?? defaultPtauFile(power));
  const { sha256 } = await makePtau({ power, contributions, outFile });
  console.log(`${outFile}\nsha256 ${sha256}\nFor development keys only.`);
  await releaseCurve();
}

if (process.argv[1] === import.meta.filename) await main();
