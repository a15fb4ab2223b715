/**
 * `npm run simulate`: capacity on paper. What one, ten and a hundred hosts carry and what breaks first, reckoned from
 * measured figures (simulate/measured.ts). Starts nothing and asks nobody.
 */
import { parseArgs, type ParseArgsConfig } from "node:util";
import {
  FIGURES,
  FIGURE_NAMES,
  KIND_FIGURES,
  MEASURED,
  type Figure,
  type SimulatedKind,
} from "./simulate/measured.ts";
import { answer, asJson, asText, type Question } from "./simulate/report.ts";

const option = (name: string, about: string): string => `  ${name.padEnd(26)} ${about}`;

const HELP = `Usage: npm run simulate [-- options]

What one, ten and a hundred hosts carry on one pool, and what breaks first: bounds in closed form, waiting times by a
simulation of the queue. A host is a proxy and its enclaves; one of the hosts submits, all share one Redis.

${option("--hosts N,N,…", "default 1,10,100")}
${option("--kind KIND", `${Object.keys(KIND_FIGURES).join(", ")} (default transfer)`)}
${option("--load SHARE", "share of the capacity at which waiting is simulated (default 0.7; above 1 the queue fills)")}
${option("--arrivals N", "tickets that are simulated (default 20000)")}
${option("--seed N", "of the moments at which they come (default 1)")}
${option("--json", "one JSON object last")}
${option("--help", "this text")}

Every figure can be another one:
${FIGURE_NAMES.map((name) => option(`--${name} N`, aboutOf(name))).join("\n")}`;

function aboutOf(name: keyof typeof FIGURES): string {
  const { value, unit, about, source }: Figure = FIGURES[name];
  const number = value.toLocaleString("en-US", { maximumFractionDigits: 2 });
  return `${number} ${unit}: ${about}${source === undefined ? "" : ` (${source.file})`}`;
}

class UsageError extends Error {}

const OPTIONS = {
  hosts: { type: "string" },
  kind: { type: "string" },
  load: { type: "string" },
  arrivals: { type: "string" },
  seed: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  ...Object.fromEntries(FIGURE_NAMES.map((name) => [name, { type: "string" } as const])),
} as const satisfies ParseArgsConfig["options"];

type Given = Readonly<Record<string, unknown>>;

function questionOf(given: Given): Question {
  const text = (name: string, otherwise: string): string => {
    const value = given[name];
    return typeof value === "string" ? value : otherwise;
  };
  const kind = text("kind", "transfer");
  if (!isKind(kind)) throw new UsageError(`--kind is one of ${Object.keys(KIND_FIGURES).join(", ")}`);
  return {
    kind,
    values: {
      ...MEASURED,
      ...Object.fromEntries(
        FIGURE_NAMES.filter((name) => given[name] !== undefined).map((name) => {
          const { isCount }: Figure = FIGURES[name];
          return [name, readNumber(name, text(name, ""), isCount === true)];
        }),
      ),
    },
    hosts: text("hosts", "1,10,100")
      .split(",")
      .map((one) => readNumber("hosts", one, true, 10_000)),
    load: readNumber("load", text("load", "0.7"), false, 100),
    arrivals: readNumber("arrivals", text("arrivals", "20000"), true, 1_000_000),
    seed: readNumber("seed", text("seed", "1"), true, 2 ** 32 - 1),
  };
}

function isKind(text: string): text is SimulatedKind {
  return Object.hasOwn(KIND_FIGURES, text);
}

/** Above zero: nothing here is without cost or end. */
function readNumber(name: string, text: string, isCount: boolean, most = 1e12): number {
  const form = isCount ? /^[1-9][0-9]{0,12}$/ : /^[0-9]{1,13}(\.[0-9]{1,9})?$/;
  const value = form.test(text) ? Number(text) : NaN;
  if (!(value > 0 && value <= most))
    throw new UsageError(
      `--${name} takes a ${isCount ? "whole " : ""}number above 0, at most ${String(most)}`,
    );
  return value;
}

function main(): void {
  const { values: given } = parseArgs({ options: OPTIONS });
  if (given.help === true) {
    console.log(HELP);
    return;
  }
  const question = questionOf(given);
  const answers = answer(question);
  console.log(asText(question, answers));
  if (given.json === true) console.log(JSON.stringify(asJson(question, answers)));
}

try {
  main();
} catch (error) {
  const isUsage = error instanceof UsageError || (error instanceof TypeError && "code" in error);
  if (!isUsage) throw error;
  console.error(`${error.message}\nSee --help.`);
  process.exitCode = 2;
}
