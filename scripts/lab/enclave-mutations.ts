// `npm run mutate:enclave`: weakens the measured code in one place at a time, in a copy of the project, and sees that
// a test fails for each. That every mutant is noticed says that the tests' passing means something.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { appendFile, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { runCommand, wholeNumber } from "../base/command.ts";
import { mutantsOf, type Mutant } from "./enclave-mutations/derive.ts";
import { play, ROOT, testsOf, type Outcome } from "./enclave-mutations/run.ts";

const HELP = `Usage: npm run mutate:enclave [-- OPTIONS]

Derives mutants from the syntax tree of enclave/ and shared/protocol/ (a check dropped, a condition bent, a constant
moved), one at a time, and runs the tests that have to notice. What was noticed is remembered until the file or its
tests change, so a run that was ended goes on where it was. Exit code 1 when a mutant goes unnoticed, or when none
was meant. Mutants that change nothing stand in scripts/lab/enclave-mutations/equivalent.json, each with its reason.

  --match TEXT   only mutants whose id (file, function, operator, hash) matches this regular expression
  --sample N     only N of them, always the same
  --again        forget what was noticed before
  --list         only their ids and what they change
  --help         this text`;

/** What is measured; shared/protocol/host/ is not in the image. */
const MEASURED = ["enclave", "shared/protocol"];
const NOTICED = path.join(ROOT, ".cloister", "mutations", "enclave-noticed.txt");

/** Reasons by id, of mutants that no test can notice because nothing is other than before. */
export function equivalents(): Readonly<Record<string, string>> {
  const file = path.join(import.meta.dirname, "enclave-mutations", "equivalent.json");
  return JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
}

/** Every mutant of the measured code, with those that change nothing. */
export function measuredMutants(): Mutant[] {
  return MEASURED.flatMap((folder) => readdirSync(path.join(ROOT, folder)).map((name) => `${folder}/${name}`))
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => mutantsOf(file, textOf(file)));
}

const textOf = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The mutant and all that judged it. */
const fingerprint = ({ id, file, source }: Mutant): string =>
  sha256([id, source, ...testsOf(file).map(textOf)].join("\0"));

function chosenFrom(all: readonly Mutant[], match: string, sample: number): Mutant[] {
  const wanted = new RegExp(match);
  const known = equivalents();
  const chosen = all.filter(({ id }) => wanted.test(id) && !(id in known));
  const drawn = [...chosen].sort((a, b) => (sha256(a.id) < sha256(b.id) ? -1 : 1)).slice(0, sample);
  // By file, so that the tests of each are tried once.
  return chosen.filter((mutant) => drawn.includes(mutant));
}

const changeOf = ({ file, line, before, after }: Mutant): string =>
  `${file}:${String(line)}  ${before.replaceAll(/\s+/g, " ")}  ->  ${after.replaceAll(/\s+/g, " ")}`;

const OPTIONS = {
  match: { type: "string", default: "" },
  sample: { type: "string" },
  again: { type: "boolean" },
  list: { type: "boolean" },
  help: { type: "boolean" },
} as const;

if (import.meta.filename === process.argv[1]) {
  await runCommand({ help: HELP, options: OPTIONS }, async ({ values }) => {
    const sample = values.sample === undefined ? Infinity : wholeNumber("--sample", values.sample, 1);
    const chosen = chosenFrom(measuredMutants(), values.match, sample);
    if (values.list === true) {
      for (const mutant of chosen) console.log(`${mutant.id}\n  ${changeOf(mutant)}`);
      return 0;
    }
    if (values.again === true) await rm(NOTICED, { force: true });
    const survivors = await playOpen(chosen);
    console.log(`${String(chosen.length - survivors)} of ${String(chosen.length)} mutants were noticed`);
    return survivors === 0 && chosen.length > 0 ? 0 : 1;
  });
}

/** Those that were not noticed before; how many nobody notices. */
async function playOpen(chosen: readonly Mutant[]): Promise<number> {
  await mkdir(path.dirname(NOTICED), { recursive: true });
  const noticed = new Set(existsSync(NOTICED) ? readFileSync(NOTICED, "utf8").split("\n") : []);
  const open = chosen.filter((mutant) => !noticed.has(fingerprint(mutant)));
  if (open.length < chosen.length) console.log(`${String(chosen.length - open.length)} were noticed before`);
  let done = 0;
  let survivors = 0;
  await play(open, async ({ mutant, noticedBy }: Outcome) => {
    const progress = `${String(++done)}/${String(open.length)}`;
    if (noticedBy === undefined) {
      survivors += 1;
      console.log(`${progress}  SURVIVED  ${mutant.id}\n  ${changeOf(mutant)}`);
    } else {
      console.log(`${progress}  noticed   ${mutant.id} (${noticedBy})`);
      await appendFile(NOTICED, `${fingerprint(mutant)}\n`);
    }
  });
  return survivors;
}
