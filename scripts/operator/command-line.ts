// What the operator's commands share: their options, the words after a command's name, a result that is shown as text
// or JSON, and the refusal of wrong words.
import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import { UsageError } from "../base/command.ts";
import type { ChainDataStore } from "../../proxy/base/store/chain-data.ts";
import type { Author } from "../../proxy/base/store/audit.ts";
import type { InstanceStores } from "../../proxy/base/store/instance.ts";
import type { Measurement } from "../../shared/protocol/attestation-document.ts";

export interface Result {
  readonly data: unknown;
  readonly text: string;
}

const text = { type: "string" } as const;
const texts = { type: "string", multiple: true } as const;
const flag = { type: "boolean" } as const;

/** Where a pool is. */
export const POOL_OPTIONS = { rpc: text, pool: text, "from-block": text } as const;

const STORE_OPTIONS = {
  help: { type: "boolean", short: "h" },
  json: flag,
  ...{ data: text, redis: text, instance: text, pepper: text, by: text },
  // developers
  ...{ id: text, sub: text, origin: texts },
  ...{ "session-per-minute": text, "key-per-minute": text, "key-per-day": text },
  // invitations
  ...{ developer: text, operator: flag, account: text, hours: text },
  // fees
  ...{ flat: text, bps: text, sink: text },
  // apps
  ...{ issuer: text, audience: text, jwks: text, "jwks-host": text, perm: texts, alg: texts },
  ...{ "access-claim": text, "sub-claim": text, "max-ttl": text, loopback: flag },
  // audit, usage and ended tickets
  ...{ developer: text, state: text, from: text, to: text, cursor: text, limit: text },
  // index and tickets
  ...{ ...POOL_OPTIONS, "chain-id": text, sample: text, anew: flag },
} as const;

/** The options of the commands about an instance's store. */
export type StoreValues = ReturnType<typeof parseStoreCommand>["values"];

export function parseStoreCommand(args: string[]) {
  return parseArgs({ args, allowPositionals: true, options: STORE_OPTIONS });
}

/** What an instance keeps, what its proxy on this machine, if there is one, has read of the chain, and what is asked of them. */
export interface Kept {
  readonly stores: InstanceStores;
  readonly data: ChainDataStore | undefined;
  readonly values: StoreValues;
  /** Who asks, for the audit log. */
  readonly by: Author;
}

const LONGEST_NAME = 64;

/** By the name of the account on this machine, or the one that was given: whoever may write the store may write either. */
export function authorOf({ by }: Pick<StoreValues, "by">): Author {
  const name = by ?? userInfo().username;
  if (name.trim() === "" || name.length > LONGEST_NAME)
    throw new UsageError(`--by takes 1 to ${String(LONGEST_NAME)} characters`);
  return { kind: "operator", name };
}

interface Verb {
  /** Those that it takes, as its help names them; one in brackets may be missing. */
  readonly words: readonly string[];
  /** Undefined when the answer was printed line by line. */
  run(kept: Kept, ...words: string[]): Promise<Result | undefined>;
}
export type Verbs = Readonly<Record<string, Verb>>;

export async function runVerb(
  verbs: Verbs,
  [name = "", ...words]: readonly string[],
  kept: Kept,
): Promise<Result | undefined> {
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) throw new UsageError("unknown command; see --help");
  noMore(words.slice(verb.words.length));
  for (const [i, wanted] of verb.words.entries()) if (!wanted.startsWith("[")) need(words[i], wanted);
  return verb.run(kept, ...words);
}

export function noMore(words: readonly string[]): void {
  if (words.length > 0) throw new UsageError("too many words");
}

export function need(word: string | undefined, name: string): string {
  if (word === undefined || word === "") throw new UsageError(`${name} is missing; see --help`);
  return word;
}

/** Those that were given: an optional field is absent, not undefined. */
export function given<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>;
  };
}

export function show(result: Result | undefined, isJson = false): void {
  if (result !== undefined) process.stdout.write(`${isJson ? JSON.stringify(result.data) : result.text}\n`);
}

/** The JSON that `npm run measure -- --json` and `npm run build-image` write. */
export function readMeasurement(json: string): Measurement {
  const wrong = new UsageError("--measurement is no JSON with pcr0, pcr1 and pcr2");
  let read: Partial<Record<keyof Measurement, unknown>> | null;
  try {
    read = JSON.parse(json) as typeof read;
  } catch {
    throw wrong;
  }
  const { pcr0, pcr1, pcr2 } = read ?? {};
  const isRegister = (value: unknown): value is string =>
    typeof value === "string" && /^[0-9a-f]{96}$/.test(value);
  if (!isRegister(pcr0) || !isRegister(pcr1) || !isRegister(pcr2)) throw wrong;
  return { pcr0, pcr1, pcr2 };
}
