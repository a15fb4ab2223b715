/**
 * What the pool itself says of the enclaves that sign for it: which image each is of, since when, and how that image came
 * in. Asked of chain nodes of the user's own; the service has no part in it. The pool has verified the platform's document
 * when it registered the signer, so neither the service nor the pool's owner can put a key of its own in its place.
 */
import { askedAgain } from "../chain/asking-again.ts";
import type { Address, Bytes32 } from "../../protocol/brands.ts";
import { asBytes32 } from "../../protocol/host/text.ts";
import { mustFromHex, toHex } from "../../protocol/bytes.ts";
import { keccak256, keccakHex } from "../../protocol/hash.ts";
import { imageOf } from "../../protocol/host/registration.ts";
import type { Home } from "../../protocol/statements.ts";
import type { ProvedEnclave } from "../base/attestation.ts";
import { doubted, type Nodes, type PoolLog } from "../chain/nodes.ts";
import { ClientError } from "../base/errors.ts";

/** How an image came in. */
export interface ImageAdmission {
  /** Unix seconds from which signers of it could be registered. */
  readonly since: number;
  /** What its owner's proposal said; undefined where it was there when the pool was made. */
  readonly proposal:
    | {
        /** Unix seconds at which everybody could see it. */
        readonly at: number;
        /** Of the source, and how to build the image from it: compare what comes out with the measurement. */
        readonly commit: string;
        readonly buildCommand: string;
      }
    | undefined;
}

export interface Registration {
  /** keccak256(PCR0 ‖ PCR1 ‖ PCR2). */
  readonly image: Bytes32;
  /** Which of the two verifiers the image holds. */
  readonly verifier: 1 | 2;
  /** Unix seconds since when the pool believes this signer. */
  readonly since: number;
  readonly admission: ImageAdmission;
}

export interface PoolQuestion {
  readonly nodes: Nodes;
  readonly home: Home;
  /** Block from which on the pool may have logs. */
  readonly fromBlock: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Throws ENCLAVE_UNVERIFIED unless the pool believes each of these signers, of the image that its document measures, and
 * they are as many, and of as many verifiers, as the pool asks for. CHAIN_DOUBTED and NODE_UNREACHABLE as elsewhere.
 */
export function requireRegistered(
  enclaves: readonly ProvedEnclave[],
  question: Omit<PoolQuestion, "fromBlock">,
): Promise<void> {
  return askedAgain(() => lookForThem(enclaves, question), PAUSE_MS, question.signal);
}

const PAUSE_MS = 500;

async function lookForThem(
  enclaves: readonly ProvedEnclave[],
  { nodes, home: { pool }, signal }: Omit<PoolQuestion, "fromBlock">,
): Promise<void> {
  const { number } = await nodes.newest(0, signal);
  /** The words that a view answers: of each the number. */
  const ask = async (view: string, ...given: readonly string[]): Promise<readonly bigint[]> =>
    wordsOf(
      await nodes.call(
        pool,
        `${selectorOf(view)}${given.map((word) => word.slice(2)).join("")}`,
        number,
        signal,
      ),
    );
  const verifiers = new Set<bigint>();
  for (const { signer, measurement } of enclaves) {
    const [[isBelieved], [image]] = await Promise.all([
      ask("isSigner(address)", asWord(signer)),
      ask("signerRecord(address)", asWord(signer)),
    ]);
    if (isBelieved !== 1n || image === undefined) throw unverified("the pool does not believe this signer");
    const known = wordOf(image);
    if (measurement !== undefined && known !== imageOf(measurement))
      throw unverified("the pool registered this signer with another image");
    const [, verifier] = await ask("imageRecord(bytes32)", known);
    verifiers.add(verifier ?? 0n);
  }
  const threshold = Number((await ask("threshold()"))[0] ?? 0n);
  if (threshold === 0) throw doubted("a pool that asks for nobody");
  if (enclaves.length < threshold) throw unverified("too few enclaves answer");
  if (verifiers.size < Math.min(threshold, 2)) throw unverified("one verifier, where the pool asks for two");
}

/** In the order of `signers`, which the pool believes: see `requireRegistered`. Throws as that does. */
export function readRegistrations(
  signers: readonly Address[],
  question: PoolQuestion,
): Promise<Registration[]> {
  return askedAgain(() => lookForLogs(signers, question), PAUSE_MS, question.signal);
}

async function lookForLogs(
  signers: readonly Address[],
  { nodes, home, fromBlock, signal }: PoolQuestion,
): Promise<Registration[]> {
  const { number: to } = await nodes.newest(0, signal);
  const find = async (event: string, subjects: readonly string[]): Promise<readonly PoolLog[]> => {
    const topics = [keccakHex(utf8(event)), [...new Set(subjects)]];
    const found: PoolLog[] = [];
    for await (const { logs } of nodes.logs(home.pool, fromBlock, to, { topics, signal }))
      found.push(...logs);
    return found;
  };
  const times = new Map<number, Promise<number>>();
  const timeOf = ({ block }: PoolLog): Promise<number> => {
    const known = times.get(block) ?? nodes.block(block, signal).then(({ timestamp }) => timestamp);
    times.set(block, known);
    return known;
  };

  const registered = await find(
    "SignerRegistered(address,bytes32,uint8,bytes32,bytes32,bytes)",
    signers.map(asWord),
  );
  const images = registered.map(({ topics }) => topics[2]!);
  const [proposed, admitted] = await Promise.all([
    find("ImageProposed(bytes32,uint8,uint64,uint64,string,string)", images),
    find("ImageAdmitted(bytes32,uint8)", images),
  ]);
  return Promise.all(
    signers.map(async (signer) => {
      // A signer that is removed never comes back, so there is one at most.
      const entry = registered.find(({ topics }) => topics[1] === asWord(signer));
      if (entry === undefined) throw doubted("no registration of a signer that the pool believes");
      const image = asBytes32(entry.topics[2])!;
      const isAbout = ({ topics }: PoolLog): boolean => topics[1] === image;
      const entrance = admitted.find(isAbout);
      if (entrance === undefined) throw doubted("a signer's image that was never admitted");
      // One that expired may have been proposed again: the last before it was admitted counts.
      const words = proposed.filter((one) => isAbout(one) && one.block <= entrance.block).at(-1);
      return {
        image,
        verifier: wordsOf(entry.data)[0] === 2n ? 2 : 1,
        since: await timeOf(entry),
        admission: {
          since: await timeOf(entrance),
          proposal: words && {
            at: await timeOf(words),
            // Behind verifier, admissibleAt and expiresAt.
            ...{ commit: textIn(words.data, 3), buildCommand: textIn(words.data, 4) },
          },
        },
      };
    }),
  );
}

// ---------------------------------------------------------------- the contract ABI, as far as it is met here
// A few words are read by hand: the whole ABI would be a fifth of what a page loads before it shows anything.

const WORD_DIGITS = 64;
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const selectorOf = (view: string): string => toHex(keccak256(utf8(view)).slice(0, 4));
const asWord = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(WORD_DIGITS, "0")}`;
const wordOf = (value: bigint): Bytes32 => asBytes32(`0x${value.toString(16).padStart(WORD_DIGITS, "0")}`)!;

function wordsOf(data: string): bigint[] {
  const words = data.slice(2).match(/.{64}/g) ?? [];
  if (words.length === 0) throw doubted("an answer that no pool gives");
  return words.map((word) => BigInt(`0x${word}`));
}

/** The text whose place the word at `index` says: its length in bytes, then as many. */
function textIn(data: string, index: number): string {
  const bytes = mustFromHex(data);
  const place = wordsOf(data)[index] ?? 0n;
  const at = Number(place) / 32;
  const length = Number(Number.isSafeInteger(at) ? (wordsOf(data)[at] ?? -1n) : -1n);
  const from = 32 * (at + 1);
  if (length < 0 || from + length > bytes.length) throw doubted("a log that no pool writes");
  return new TextDecoder().decode(bytes.subarray(from, from + length));
}

const unverified = (reason: string): ClientError => new ClientError("ENCLAVE_UNVERIFIED", reason);
