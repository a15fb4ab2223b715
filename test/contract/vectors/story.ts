// story.json as typed values: one pool's life, told by other implementations than ours.
import { readFileSync } from "node:fs";
import type { Address, Bytes32, Field } from "../../../shared/protocol/brands.ts";
import type { Kind, StatementFault } from "../../../shared/protocol/statements.ts";

/** Numbers are decimal strings in the file. */
type Numbers = string | readonly Numbers[];

export interface Signed {
  readonly message: Readonly<Record<string, string | number>>;
  readonly digest: Bytes32;
  readonly signature: string;
}

export interface StatementStep {
  readonly step: "statement";
  readonly name: string;
  readonly kind: Kind;
  readonly kindId: number;
  readonly deadline: string;
  readonly ephemeralSecret: string;
  readonly ext: Readonly<Record<string, string | number | readonly string[]>>;
  readonly extBytes: string;
  readonly contextPreimage: string;
  readonly context: string;
  readonly circuitInputs: Readonly<Record<string, Numbers>>;
  readonly signals: readonly string[];
  readonly statementHash: Bytes32;
  /** What the pool says when it was executed. */
  readonly executed: { readonly topics: readonly string[]; readonly data: string };
  readonly proof: string;
  readonly compressedProof: string;
  readonly attestation: Signed;
  readonly authorization: string;
  readonly firstLeafIndex: number;
  /** The note that the pool completes, for a swap. */
  readonly hashed?: {
    readonly npk: string;
    readonly asset: Address;
    readonly value: string;
    readonly leafIndex: number;
    readonly commitment: string;
  };
  readonly queueAfter: { readonly leafCount: number; readonly head: Bytes32 };
}

export interface RootStep {
  readonly step: "root update";
  readonly leaves: readonly string[];
  readonly attestation: Signed;
}

/** A statement of the story with one change, and what each party must answer. */
export interface Refusal {
  readonly of: string;
  readonly name: string;
  /** Position of a signal that is changed: by adding, or to a copy of another. */
  readonly signal?: number;
  readonly add?: string;
  readonly copy?: number;
  /** Positions of signals that become 0. */
  readonly zero?: readonly number[];
  /** How many signals there are: cut, or filled with zeros. */
  readonly count?: number;
  /** Changed terms of ext. */
  readonly terms?: Readonly<Record<string, string | number>>;
  readonly extTail?: string;
  /** Bytes that are missing at ext's end. */
  readonly extCut?: number;
  /** False where the context stays that of the statement as it was. */
  readonly isBound?: false;
  /** Of `checkStatement` and the enclave. */
  readonly code: StatementFault;
  /** Of the pool. */
  readonly error: string;
}

export interface Story {
  readonly chainId: string;
  readonly pool: Address;
  readonly assets: Readonly<Record<"usdc" | "other" | "middle", Address>>;
  readonly keys: Readonly<Record<"deployer" | "depositor" | "attestationSigner", string>> & {
    readonly spendingKey: string;
    readonly viewingSecret: string;
  };
  readonly domainSeparator: Bytes32;
  readonly steps: readonly (StatementStep | RootStep)[];
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../support/vectors/${name}`, import.meta.url), "utf8"));

export const STORY = read("story.json") as Story;
/** The one table of statements that are refused: `checkStatement`, enclave, proxy and pool play it. */
export const REFUSALS = (read("refusals.json") as { readonly refusals: readonly Refusal[] }).refusals;

export const HOME = { chainId: BigInt(STORY.chainId), pool: STORY.pool.toLowerCase() as Address };

export const STATEMENTS = STORY.steps.filter((step) => step.step === "statement");
export const ROOT_UPDATES = STORY.steps.filter((step) => step.step === "root update");

export function statementCalled(name: string): StatementStep {
  const found = STATEMENTS.find((step) => step.name === name);
  if (found === undefined) throw new Error(`the story has no "${name}"`);
  return found;
}

export const fields = (texts: readonly string[]): Field[] => texts.map((text) => BigInt(text) as Field);
