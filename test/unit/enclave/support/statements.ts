// Real statements with real proofs from the committed development keys: each made once a process, or told in
// the test vectors, where making them takes long.
import { readFileSync } from "node:fs";
import { groth16 } from "snarkjs";
import { readCompressed, readManifest } from "../../../../scripts/build/circuits/artefacts.ts";
import { asAddress, type Address, type Field } from "../../../../shared/protocol/brands.ts";
import { mustFromHex } from "../../../../shared/protocol/bytes.ts";
import type { AttestRequest } from "../../../../shared/protocol/enclave-messages.ts";
import { poseidon2, poseidon3 } from "../../../../shared/protocol/hash.ts";
import { decodeProof, type Proof } from "../../../../shared/protocol/proof.ts";
import { encodeProof, parseSnarkjsProof } from "../../../../shared/protocol/host/proofs.ts";
import {
  CIPHERTEXT_BYTES,
  contextOf,
  KINDS,
  type Home,
  type Kind,
} from "../../../../shared/protocol/statements.ts";
import { encodeExt, signalNames } from "../../../../shared/protocol/host/statements.ts";
import { emptyNode, Frontier, TREE_DEPTH } from "../../../../shared/protocol/tree.ts";

export const POOL = asAddress(`0x${"c1".repeat(20)}`)!;
export const HOME: Home = { chainId: 31_337n, pool: POOL };
export const TOKEN = asAddress(`0x${"0a".repeat(20)}`)!;
export const SOMEBODY = asAddress(`0x${"5b".repeat(20)}`)!;
export const DEADLINE = 1_900_000_000n;

export interface Proven {
  readonly request: AttestRequest;
  readonly proof: Proof;
}

export const aProvenDeposit = once(async () => {
  const ext = encodeExt({
    kind: "deposit-shield",
    depositor: SOMEBODY,
    validAfter: 0n,
    validBefore: DEADLINE,
    ciphertexts: ciphertexts("deposit-shield"),
  });
  const outNpks = [11n, 12n, 13n];
  const outValues = [90n, 7n, 3n];
  return prove("deposit-shield", ext, {
    asset: BigInt(TOKEN),
    amountIn: 100n,
    commitments: outNpks.map((npk, i) => poseidon3(npk, BigInt(TOKEN), outValues[i]!)),
    outNpks,
    outValues,
  });
});

/** A withdrawal of 40 from a single note of 100, the second input a note of nothing. */
export const aProvenSpend = once(() => spendOf(40n, SOMEBODY));

function spendOf(amountOut: bigint, recipient: Address): Promise<Proven> {
  const ext = encodeExt({ kind: "spend", recipient, ciphertexts: ciphertexts("spend") });
  const asset = BigInt(TOKEN);
  const spendingKey = 123_456_789n;
  const nullifierKey = poseidon2(spendingKey, 1n);
  const owner = poseidon2(poseidon2(spendingKey, 0n), nullifierKey);
  const inValues = [100n, 0n];
  const inBlindings = [21n, 22n];
  const notes = inValues.map((value, i) => poseidon3(poseidon2(owner, inBlindings[i]!), asset, value));
  const tree = Frontier.empty();
  tree.append(notes[0]!);
  const path = Array.from({ length: TREE_DEPTH }, (_, level) =>
    Array.from({ length: 3 }, () => emptyNode(level)),
  );
  const outNpks = [31n, 32n, 33n, 34n];
  const outValues = [100n - amountOut - 6n, 1n, 2n, 3n];
  return prove("spend", ext, {
    root: tree.root(),
    asset: amountOut === 0n ? 0n : asset,
    amountOut,
    nullifiers: notes.map((note) => poseidon3(nullifierKey, note, 0n)),
    commitments: outNpks.map((npk, i) => poseidon3(npk, asset, outValues[i]!)),
    spendingKey,
    noteAsset: asset,
    inValues,
    inBlindings,
    inLeafIndices: [0n, 0n],
    inPathElements: [path, path],
    outNpks,
    outValues,
  });
}

/** A payment of many notes, and a swap, of the pool in the test vectors. */
export const aToldSpend9 = once(() => told("spend9"));
export const aToldSwap = once(() => told("private-swap"));

interface Told {
  readonly chainId: string;
  readonly pool: string;
  readonly steps: readonly {
    readonly kind?: Kind;
    readonly kindId: number;
    readonly deadline: string;
    readonly proof: string;
    readonly signals: readonly string[];
    readonly extBytes: string;
  }[];
}

function told(kind: Kind): Promise<Proven> {
  const file = new URL("../../../support/vectors/story.json", import.meta.url);
  const story = JSON.parse(readFileSync(file, "utf8")) as Told;
  const pool = asAddress(story.pool);
  const step = story.steps.find((each) => each.kind === kind);
  const proof = step === undefined ? undefined : decodeProof(mustFromHex(step.proof));
  if (pool === undefined || step === undefined || proof === undefined)
    throw new Error(`the vectors have no ${kind}`);
  return Promise.resolve({
    proof,
    request: {
      type: "attest",
      ...{ chainId: BigInt(story.chainId), pool, kindId: step.kindId, deadline: BigInt(step.deadline) },
      proof: encodeProof(proof),
      signals: step.signals.map(BigInt),
      ext: mustFromHex(step.extBytes),
    },
  });
}

async function prove(kind: Kind, ext: Uint8Array, inputs: Record<string, unknown>): Promise<Proven> {
  const artefacts = (await readManifest())?.circuits[kind];
  if (artefacts?.zkey === undefined) throw new Error(`no development key for ${kind}`);
  const context = contextOf(HOME, kind, DEADLINE, ext);
  // One thread: the tests run beside others, and workers would have to be ended.
  const made = await groth16.fullProve(
    { ...inputs, context },
    new Uint8Array(await readCompressed(`${kind}.wasm.br`, artefacts.wasm)),
    new Uint8Array(await readCompressed(`${kind}.zkey.br`, artefacts.zkey)),
    undefined,
    undefined,
    { singleThread: true },
  );
  const proof = parseSnarkjsProof(made.proof);
  if (proof === undefined) throw new Error("snarkjs made a proof that is none");
  return {
    proof,
    request: {
      type: "attest",
      ...HOME,
      kindId: KINDS[kind].id,
      deadline: DEADLINE,
      proof: encodeProof(proof),
      signals: made.publicSignals.map(BigInt),
      ext,
    },
  };
}

/** The request with some signals changed and `context` made right again, so that a later check is reached. */
export function withSignals(
  request: AttestRequest,
  kind: Kind,
  changes: Record<string, bigint>,
): AttestRequest {
  const names = signalNames(kind);
  const signals = request.signals.map((value, i) => changes[names[i]!] ?? value);
  signals[0] = changes["context"] ?? contextOf(request, kind, request.deadline, request.ext);
  return { ...request, signals };
}

/** Distinct, and of the right length. */
export function ciphertexts(kind: Kind): Uint8Array[] {
  return Array.from({ length: KINDS[kind].leaves }, (_, i) => new Uint8Array(CIPHERTEXT_BYTES).fill(i + 1));
}

export function leaves(count: number, first = 1n): Field[] {
  return Array.from({ length: count }, (_, i) => poseidon2(first, BigInt(i)));
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
