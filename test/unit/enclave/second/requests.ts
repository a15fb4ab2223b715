// Requests as bytes, laid out by hand from SPEC, section 9: the judge reads no others, and nothing of the project writes these.
import { readFileSync } from "node:fs";
import { concat, toBeHex } from "ethers";
import type { Request } from "../../../../enclave/second/judge/judge.ts";
import { HOME } from "../../../contract/vectors/story.ts";

const folder = new URL("../../../../shared/protocol/verification-keys/", import.meta.url);
const KINDS = ["deposit-shield", "spend", "spend9", "private-swap"];

export const KEYS: Record<string, unknown> = Object.fromEntries(
  KINDS.map((kind) => [kind, JSON.parse(readFileSync(new URL(`${kind}.json`, folder), "utf8"))]),
);

type Number = bigint | number | string;
const uint = (number: Number, bytes: number): string => toBeHex(BigInt(number), bytes);
const words = (numbers: readonly Number[]): string => concat(numbers.map((number) => uint(number, 32)));
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.slice(2), "hex"));

export interface AttestTerms {
  readonly chainId: Number;
  readonly pool: string;
  readonly kindId: number;
  readonly deadline: Number;
  readonly proof: string;
  readonly signals: readonly Number[];
  readonly extBytes: string;
}

export function attestBody(terms: Omit<AttestTerms, "chainId" | "pool"> & Partial<AttestTerms>): Request {
  const { chainId, pool, kindId, deadline, proof, signals, extBytes }: AttestTerms = { ...HOME, ...terms };
  const ext = concat([uint((extBytes.length - 2) / 2, 4), extBytes]);
  const head = [uint(chainId, 8), pool, uint(kindId, 1), uint(deadline, 8), proof];
  return { type: 6, body: bytes(concat([...head, uint(signals.length, 1), words(signals), ext])) };
}

export interface RootTerms {
  readonly chainId: Number;
  readonly pool: string;
  readonly fromIndex: Number;
  readonly headBefore: string;
  readonly frontier: readonly Number[];
  readonly leaves: readonly Number[];
}

export function rootBody(terms: Omit<RootTerms, "chainId" | "pool"> & Partial<RootTerms>): Request {
  const { chainId, pool, fromIndex, headBefore, frontier, leaves }: RootTerms = { ...HOME, ...terms };
  const head = [uint(chainId, 8), pool, uint(fromIndex, 8), headBefore];
  const lists = [uint(frontier.length, 1), words(frontier), uint(leaves.length, 2), words(leaves)];
  return { type: 7, body: bytes(concat([...head, ...lists])) };
}
