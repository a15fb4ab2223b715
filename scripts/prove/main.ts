// `npm run prove`: a proof for programs in other languages, from the inputs of a witness.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { createProver } from "../../shared/client/index.ts";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { folderArtefacts, readManifest } from "../../shared/client/node/index.ts";
import type { Field } from "../../shared/protocol/brands.ts";
import { canonicalSignals, KIND_NAMES, KINDS, type Kind } from "../../shared/protocol/statements.ts";
import { runCommand, UsageError } from "../base/command.ts";

const HELP = `Usage: npm run --silent prove -- <kind> [--keys FOLDER] [--input FILE]

Makes the zero-knowledge proof of a statement and prints it as JSON: { "proof": …, "public_signals": […] }, the two members
of that name in the bodies of /sequence, /attest and /relay.

<kind> is deposit-shield, spend, spend9 or private-swap. Standard input is one JSON object: the inputs of the
witness by their names, as shared/protocol/SPEC.md, section 6, lists them, public ones included; numbers are decimal strings,
lists are arrays. It holds the spending key: give it to no program that you would not give your money.

  --keys FOLDER   proving keys and manifest.json (default: this repository's, for development only)
  --input FILE    instead of standard input
  --help          this text

Ends with 1 when there is no such proof, because the inputs contradict each other.`;

const decimal = z.string().regex(/^(0|[1-9][0-9]{0,77})$/, "a decimal string");
type Nested = string | readonly Nested[];
const nested: z.ZodType<Nested> = z.lazy(() => z.union([decimal, z.array(nested)]));
const inputs = z.record(z.string(), nested);

/** The public signals of a kind, in order, out of the inputs of its witness. */
function signalsOf(kind: Kind, witness: Readonly<Record<string, Nested>>): readonly Field[] {
  const named = Object.entries(KINDS[kind].signals);
  const values = named.map(([name]) => [witness[name] ?? []].flat(1));
  const numbers = values.flat(1).map((value) => (typeof value === "string" ? BigInt(value) : -1n));
  const signals = canonicalSignals(kind, numbers);
  if (typeof signals !== "string" && values.every(({ length }, i) => length === named[i]?.[1]))
    return signals;
  const words = named.map(([name, count]) => (count === 1 ? name : `${name} (${String(count)})`));
  throw new UsageError(`${kind} has the public inputs ${words.join(", ")}: numbers below r`);
}

/** Nothing of the input is repeated: it holds the spending key. */
function readWitness(json: string): z.infer<typeof inputs> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UsageError("the input is no JSON");
  }
  const { success, data, error } = inputs.safeParse(value);
  if (success) return data;
  const places = error.issues.map((issue) => issue.path.join(".")).join(", ");
  throw new UsageError(`the input is no object of decimal strings and lists of them: ${places}`);
}

if (process.argv[1] === import.meta.filename)
  await runCommand(
    {
      help: HELP,
      allowPositionals: true,
      options: { keys: { type: "string" }, input: { type: "string" }, help: { type: "boolean" } },
      failure: (error) => (error instanceof Error ? error.message : String(error)),
    },
    async ({ values, positionals }) => {
      const kind = KIND_NAMES.find((name) => name === positionals[0]);
      if (kind === undefined || positionals.length !== 1)
        throw new UsageError(`name one kind: ${KIND_NAMES.join(", ")}`);
      const witness = readWitness(
        values.input === undefined ? await text(process.stdin) : await readFile(values.input, "utf8"),
      );
      const signals = signalsOf(kind, witness);
      const folder =
        values.keys === undefined ? DEVELOPMENT_KEYS : pathToFileURL(path.resolve(values.keys) + path.sep);
      const prover = createProver({ source: folderArtefacts(folder), manifest: await readManifest(folder) });
      try {
        const proof = await prover.prove({ kind, signals }, witness);
        console.log(JSON.stringify({ proof, public_signals: signals.map(String) }));
        return 0;
      } finally {
        await prover.close();
      }
    },
  );
