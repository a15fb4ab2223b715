// `npm run verdicts`: mutated proofs and signals, judged by the enclave's code and by the contracts. A difference would be
// a proof that the enclave signs and a refutation convicts it for, or one that it refuses and the pool takes. With `--second`
// whole requests, judged by both verifiers: a difference would be an error of one of them, or of the specification.
import { randomInt } from "node:crypto";
import { toHex } from "../../shared/protocol/bytes.ts";
import { runCommand, wholeNumber } from "../base/command.ts";
import { campaign, type Judged, type Outcome, type Range } from "./verdicts/campaign.ts";
import { openChain, openEnclave } from "./verdicts/judges.ts";
import { NAMES } from "./verdicts/mutations.ts";
import { openOrigins, type Origins } from "./verdicts/origins.ts";
import { openRequests } from "./verdicts/requests.ts";
import { compare, openFirst, openSecond, openSigner } from "./verdicts/verifiers.ts";

const DEFAULT_RUNS = 10_000;
const MAX_SEED = 2 ** 32 - 1;
const TELL_EVERY = 10_000;

const HELP = `Usage: npm run verdicts -- [OPTIONS]

Draws true proofs, mutations of them and of their signals, of all four kinds, under the committed keys and under keys
whose trapdoor is public, and compares what the enclave's code and the contracts say of each. Prints how often each was
met; exit code 1 at the first difference, with the case in hex.

With --second it draws whole requests instead (statements, root updates, bytes that are none of both) and compares the replies
of the enclave's code and of the second verifier, byte for byte.

  --runs N     cases (${DEFAULT_RUNS.toLocaleString("en")})
  --million    the same as --runs 1000000
  --second N   N cases for the two verifiers, without a chain
  --from N     number of the first case (0): the rest of a run that was ended, or one part of several
  --seed N     repeats a run (drawn, and printed, when absent)
  --help       this text`;

const OPTIONS = {
  runs: { type: "string" },
  million: { type: "boolean" },
  second: { type: "string" },
  from: { type: "string", default: "0" },
  seed: { type: "string" },
  help: { type: "boolean" },
} as const;

await runCommand({ help: HELP, options: OPTIONS }, async ({ values }) => {
  const runs = values.million === true ? "1000000" : (values.runs ?? String(DEFAULT_RUNS));
  const count =
    values.second === undefined ? wholeNumber("--runs", runs, 1) : wholeNumber("--second", values.second, 1);
  const from = wholeNumber("--from", values.from);
  const seed = wholeNumber("--seed", values.seed ?? String(randomInt(MAX_SEED)), 0, MAX_SEED);
  const to = from + count;
  console.log(`${count.toLocaleString("en")} cases from ${String(from)}, seed ${String(seed)}`);

  const began = performance.now();
  let told = from;
  const tell = (index: number): void => {
    if (index - told < TELL_EVERY && index !== to) return;
    told = index;
    const rate = (index - from) / ((performance.now() - began) / 1000);
    console.log(`to ${index.toLocaleString("en")}, ${rate.toFixed(0)} cases a second`);
  };
  const play = values.second === undefined ? playWithChain : playVerifiers;
  return play(await openOrigins(seed), { from, to }, tell);
});

async function playWithChain(origins: Origins, range: Range, tell: (index: number) => void): Promise<number> {
  const enclave = await openEnclave(origins.keys);
  const chain = await openChain(origins.keys);
  try {
    const outcome = await campaign({ origins, enclave, chain }, range, tell);
    tellCounts(outcome.counts, NAMES);
    if (outcome.difference === undefined) return 0;
    tellDifference(outcome.difference, origins.seed);
    return 1;
  } finally {
    await chain.stop();
  }
}

async function playVerifiers(origins: Origins, range: Range, tell: (index: number) => void): Promise<number> {
  const signer = await openSigner();
  const [first, second] = [await openFirst(origins.keys, signer), await openSecond(signer)];
  const parts = { requests: await openRequests(origins), seed: origins.seed, first, second };
  const { counts, difference } = await compare(parts, range, tell);
  tellCounts(counts, [...counts.keys()].sort());
  if (difference === undefined) return 0;
  const { index, one } = difference;
  console.error(
    `\nDIFFERENCE at case ${String(index)}, "${one.name}", ${one.keys} keys\n` +
      `  the first says  ${difference.first.word} ${difference.first.reply}\n` +
      `  the second says ${difference.second.word} ${difference.second.reply}\n  request ${toHex(one.payload)}\n` +
      `  again: npm run verdicts -- --seed ${String(origins.seed)} --from ${String(index)} --second 1\n`,
  );
  return 1;
}

function tellCounts(counts: Outcome["counts"], names: readonly string[]): void {
  for (const name of names) {
    const met = [...(counts.get(name) ?? [])].sort(([, a], [, b]) => b - a);
    const sum = met.reduce((total, [, count]) => total + count, 0);
    const each = met.map(([both, count]) => `${both} ${count.toLocaleString("en")}`);
    console.log(`${name.padEnd(26)} ${sum.toLocaleString("en").padStart(8)}  ${each.join(", ")}`);
  }
}

function tellDifference({ index, one, said, answer }: Judged, seed: number): void {
  const hex = (numbers: readonly bigint[]): string =>
    numbers.map((number) => `0x${number.toString(16)}`).join(" ");
  console.error(
    `\nDIFFERENCE at case ${String(index)}, "${one.name}": the enclave says ${said}, the chain ${answer}\n` +
      `  ${one.keys} keys, ${one.kind}, ${one.way}; the bytes stand for ${one.standing}\n` +
      `  bytes   ${toHex(one.bytes)}\n  words   ${hex(one.words)}\n  signals ${hex(one.signals)}\n` +
      `  again: npm run verdicts -- --seed ${String(seed)} --from ${String(index)} --runs 1\n`,
  );
}
