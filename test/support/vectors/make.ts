// Writes story.json: one pool's life in statements, with every hash, byte string, proof and signature that
// SPEC.md defines. Made with ethers, poseidon-lite and snarkjs, none of which the code under test hashes
// with, so that an error of ours does not end up on both sides. Proofs are random: run it only when the
// protocol or the development keys change.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  AbiCoder,
  concat,
  getCreateAddress,
  keccak256,
  SigningKey,
  solidityPacked,
  solidityPackedKeccak256,
  toBeHex,
  TypedDataEncoder,
  Wallet,
  type TypedDataField,
} from "ethers";
import { poseidon2, poseidon3 } from "poseidon-lite";
import { format } from "prettier";
import { groth16, type Groth16Proof } from "snarkjs";
import {
  readCompressed,
  readManifest,
  verificationKeysFolder,
} from "../../../scripts/build/circuits/artefacts.ts";
import { releaseCurve } from "../../../scripts/build/circuits/ceremony.ts";
import type { Kind } from "../../../shared/protocol/statements.ts";
import { commitmentOf, DEPTH, nullifierOf, ownerOf, SparseTree } from "../../contract/circuits/statements.ts";

export const STORY_FILE = fileURLToPath(new URL("story.json", import.meta.url));

const FIELD_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
const CHAIN_ID = 31_337n;
const DEADLINE = 4_000_000_000n;
const NOBODY = `0x${"00".repeat(20)}`;

/** Anybody can compute these keys. */
const secret = (name: string): string => `0x${createHash("sha256").update(`story/${name}`).digest("hex")}`;
const number = (name: string): bigint => BigInt(secret(name)) % FIELD_ORDER;
const bytes = (name: string, length: number): string => {
  let hex = "";
  for (let block = 0; hex.length < 2 * length; block++) hex += secret(`${name}/${String(block)}`).slice(2);
  return `0x${hex.slice(0, 2 * length)}`;
};
const word = (value: bigint): string => toBeHex(value, 32);

/** The deployer's first contracts, so that addresses follow from a key: three test dollars, then the pool. */
const deployer = new Wallet(secret("deployer"));
const contract = (nonce: number): string => getCreateAddress({ from: deployer.address, nonce });
const [USDC, OTHER, MIDDLE, POOL] = [contract(0), contract(1), contract(2), contract(3)];
const depositor = new Wallet(secret("depositor"));
const signer = new SigningKey(secret("signer"));
const recipient = new Wallet(secret("recipient")).address;

const SPENDING_KEY = number("spending key");
const OWNER = ownerOf(SPENDING_KEY);

const DOMAIN = { name: "Cloister", version: "1", chainId: CHAIN_ID, verifyingContract: POOL };
const ATTESTATION: Record<string, TypedDataField[]> = {
  Attestation: [
    { name: "kind", type: "uint8" },
    { name: "verifyingKeyHash", type: "bytes32" },
    { name: "statementHash", type: "bytes32" },
    { name: "proofHash", type: "bytes32" },
    { name: "deadline", type: "uint64" },
  ],
};
const ROOT_UPDATE: Record<string, TypedDataField[]> = {
  RootUpdate: [
    { name: "oldRoot", type: "uint256" },
    { name: "newRoot", type: "uint256" },
    { name: "fromIndex", type: "uint64" },
    { name: "toIndex", type: "uint64" },
    { name: "headBefore", type: "bytes32" },
    { name: "headAfter", type: "bytes32" },
  ],
};
const AUTHORIZATION: Record<string, TypedDataField[]> = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

interface Note {
  readonly asset: bigint;
  readonly value: bigint;
  readonly blinding: bigint;
  readonly leafIndex: bigint;
}

/** The pool as the story has made it so far. */
const leaves: bigint[] = [];
const notes: Note[] = [];
const steps: unknown[] = [];
let head = word(0n);
let rooted = { count: 0, head, root: new SparseTree(new Map()).node(DEPTH, 0n) };

function addLeaf(commitment: bigint, note: Omit<Note, "leafIndex">): void {
  notes.push({ ...note, leafIndex: BigInt(leaves.length) });
  leaves.push(commitment);
  head = solidityPackedKeccak256(["bytes32", "uint256"], [head, commitment]);
}

const IDS: Readonly<Record<Kind, number>> = {
  "deposit-shield": 1,
  spend: 2,
  spend9: 3,
  "private-swap": 4,
};
const INPUTS: Readonly<Record<Kind, number>> = {
  "deposit-shield": 0,
  spend: 2,
  spend9: 9,
  "private-swap": 2,
};

interface Telling {
  readonly name: string;
  readonly kind: Kind;
  /** Notes spent, by leaf index. The rest of the places is filled with notes of value 0. */
  readonly spent: readonly number[];
  readonly values: readonly bigint[];
  readonly amount: bigint;
  /** What stands in ext before the ciphertexts. */
  readonly terms: readonly [type: string, name: string, value: unknown][];
  /** What the pool measures, for a swap. */
  readonly received?: bigint;
}

async function tell(telling: Telling): Promise<void> {
  const { name, kind, amount, values } = telling;
  const asset = BigInt(USDC);
  const isDeposit = kind === "deposit-shield";

  const ciphertexts = Array.from({ length: isDeposit ? 3 : 4 }, (_, i) =>
    bytes(`${name}/ciphertext/${String(i)}`, 117),
  );
  const ext = concat([
    solidityPacked(
      telling.terms.map(([type]) => type),
      telling.terms.map(([, , value]) => value),
    ),
    ...ciphertexts,
  ]);
  const extHash = keccak256(ext);
  const coder = AbiCoder.defaultAbiCoder();
  const contextPreimage = coder.encode(
    ["uint256", "address", "uint8", "uint64", "bytes32"],
    [CHAIN_ID, POOL, IDS[kind], DEADLINE, extHash],
  );
  const context = BigInt(keccak256(contextPreimage)) % FIELD_ORDER;

  const tree = new SparseTree(new Map(leaves.slice(0, rooted.count).map((leaf, i) => [BigInt(i), leaf])));
  const spent: Note[] = Array.from({ length: INPUTS[kind] }, (_, i) => {
    const leafIndex = telling.spent[i];
    return leafIndex === undefined
      ? { asset, value: 0n, blinding: number(`${name}/unused/${String(i)}`), leafIndex: BigInt(i) }
      : notes[leafIndex]!;
  });
  const blindings = values.map((_, i) => number(`${name}/output/${String(i)}`));
  const outNpks = blindings.map((blinding) => poseidon2([OWNER, blinding]));
  const commitments = values.map((value, i) => poseidon3([outNpks[i]!, asset, value]));
  const nullifiers = spent.map((note) =>
    nullifierOf(SPENDING_KEY, commitmentOf(OWNER, note.blinding, asset, note.value), note.leafIndex),
  );
  const made = { outNpks, outValues: values };
  const inputs = isDeposit
    ? { context, asset, amountIn: amount, commitments, ...made }
    : {
        context,
        root: tree.node(DEPTH, 0n),
        asset: amount === 0n ? 0n : asset,
        amountOut: amount,
        nullifiers,
        commitments,
        spendingKey: SPENDING_KEY,
        noteAsset: asset,
        inValues: spent.map((note) => note.value),
        inBlindings: spent.map((note) => note.blinding),
        inLeafIndices: spent.map((note) => note.leafIndex),
        inPathElements: spent.map((note) => tree.path(note.leafIndex)),
        ...made,
      };

  const { proof, signals, key } = await prove(kind, inputs);
  const statementHash = keccak256(
    coder.encode(["uint8", "uint64", "uint256[]", "bytes32"], [IDS[kind], DEADLINE, signals, extHash]),
  );
  const compressed = compress(proof);
  const attestation = {
    kind: IDS[kind],
    verifyingKeyHash: keccak256(concat(key.map(word))),
    statementHash,
    proofHash: keccak256(compressed),
    deadline: DEADLINE,
  };
  const firstLeafIndex = leaves.length;
  commitments.forEach((commitment, i) => {
    addLeaf(commitment, { asset, value: values[i]!, blinding: blindings[i]! });
  });
  let hashed: unknown;
  if (telling.received !== undefined) {
    const blinding = number(`${name}/bought`);
    const npk = poseidon2([OWNER, blinding]);
    const commitment = poseidon3([npk, BigInt(OTHER), telling.received]);
    hashed = { npk, asset: OTHER, value: telling.received, blinding, leafIndex: leaves.length, commitment };
    addLeaf(commitment, { asset: BigInt(OTHER), value: telling.received, blinding });
  }
  steps.push({
    step: "statement",
    name,
    kind,
    kindId: IDS[kind],
    deadline: DEADLINE,
    ext: Object.fromEntries([
      ...telling.terms.map(([, term, value]) => [term, value]),
      ["ciphertexts", ciphertexts],
    ]),
    extBytes: ext,
    contextPreimage,
    context,
    circuitInputs: inputs,
    signals,
    statementHash,
    proof: solidityPacked(
      Array.from({ length: 8 }, () => "uint256"),
      uncompressed(proof),
    ),
    compressedProof: compressed,
    attestation: signed(ATTESTATION, attestation),
    authorization: isDeposit ? authorize(statementHash, amount) : "0x",
    firstLeafIndex,
    ...(hashed === undefined ? {} : { hashed }),
    queueAfter: { leafCount: leaves.length, head },
  });
}

function grow(): void {
  const next = new SparseTree(new Map(leaves.map((leaf, i) => [BigInt(i), leaf])));
  const message = {
    oldRoot: rooted.root,
    newRoot: next.node(DEPTH, 0n),
    fromIndex: rooted.count,
    toIndex: leaves.length,
    headBefore: rooted.head,
    headAfter: head,
  };
  steps.push({
    step: "root update",
    leaves: leaves.slice(rooted.count),
    attestation: signed(ROOT_UPDATE, message),
  });
  rooted = { count: leaves.length, head, root: message.newRoot };
}

function signed(types: Record<string, TypedDataField[]>, message: Record<string, unknown>): unknown {
  const digest = TypedDataEncoder.hash(DOMAIN, types, message);
  return { message, digest, signature: signer.sign(digest).serialized };
}

function authorize(nonce: string, value: bigint): string {
  const domain = { name: "USD Coin", version: "2", chainId: CHAIN_ID, verifyingContract: USDC };
  const message = {
    from: depositor.address,
    to: POOL,
    value,
    validAfter: 0n,
    validBefore: DEADLINE + 1n,
    nonce,
  };
  return depositor.signingKey.sign(TypedDataEncoder.hash(domain, AUTHORIZATION, message)).serialized;
}

/** In the order of EIP-197: the imaginary part first. */
function uncompressed({ pi_a, pi_b, pi_c }: Groth16Proof): bigint[] {
  const [[bx0, bx1], [by0, by1]] = pi_b as [[string, string], [string, string]];
  return [pi_a[0], pi_a[1], bx1, bx0, by1, by0, pi_c[0], pi_c[1]].map((text) => BigInt(text ?? ""));
}

function compress(proof: Groth16Proof): string {
  const [ax, ay, bx1, bx0, by1, by0, cx, cy] = uncompressed(proof) as [
    ...[bigint, bigint, bigint, bigint],
    ...[bigint, bigint, bigint, bigint],
  ];
  const flagged = (x: bigint, y: bigint): string => word(x | ((y & 1n) << 255n));
  return concat([flagged(ax, ay), flagged(bx1, by0 === 0n ? by1 : by0), word(bx0), flagged(cx, cy)]);
}

async function prove(
  kind: Kind,
  inputs: Record<string, unknown>,
): Promise<{ proof: Groth16Proof; signals: bigint[]; key: bigint[] }> {
  const entry = (await readManifest())?.circuits[kind];
  if (entry?.zkey === undefined) throw new Error(`no key for ${kind}`);
  const wasm = new Uint8Array(await readCompressed(`${kind}.wasm.br`, entry.wasm));
  const zkey = new Uint8Array(await readCompressed(`${kind}.zkey.br`, entry.zkey));
  const { proof, publicSignals } = await groth16.fullProve(inputs, wasm, zkey);
  return { proof, signals: publicSignals.map(BigInt), key: await keyWords(kind) };
}

async function keyWords(kind: Kind): Promise<bigint[]> {
  const key = JSON.parse(await readFile(`${verificationKeysFolder}/${kind}.json`, "utf8")) as {
    vk_alpha_1: string[];
    vk_beta_2: string[][];
    vk_gamma_2: string[][];
    vk_delta_2: string[][];
    IC: string[][];
  };
  const g2 = ([x, y]: string[][]): (string | undefined)[] => [x?.[1], x?.[0], y?.[1], y?.[0]];
  const texts = [
    ...key.vk_alpha_1.slice(0, 2),
    ...[key.vk_beta_2, key.vk_gamma_2, key.vk_delta_2].flatMap(g2),
    ...key.IC.flatMap((point) => point.slice(0, 2)),
  ];
  return texts.map((text) => BigInt(text ?? ""));
}

async function main(): Promise<void> {
  const swapTerms = (name: string, middle: string, feeSecond: number): Telling["terms"] => [
    ["address", "tokenOut", OTHER],
    ["uint128", "minAmountOut", 1_000n],
    ["uint256", "npkOut", poseidon2([OWNER, number(`${name}/bought`)])],
    ["uint24", "feeFirst", 3_000],
    ["address", "middle", middle],
    ["uint24", "feeSecond", feeSecond],
  ];
  const deposit = (name: string, amount: bigint, values: bigint[]): Telling => ({
    ...{ name, kind: "deposit-shield", spent: [], values, amount },
    terms: [
      ["address", "depositor", depositor.address],
      ["uint64", "validAfter", 0n],
      ["uint64", "validBefore", DEADLINE + 1n],
    ],
  });
  const paid = (to: string): Telling["terms"] => [["address", "recipient", to]];

  await tell(deposit("a deposit", 1_000_000n, [900_000n, 50_000n, 50_000n]));
  await tell(deposit("another deposit", 2_000_000n, [1_500_000n, 300_000n, 200_000n]));
  grow();
  await tell({
    ...{ name: "a private transfer", kind: "spend", spent: [0, 3], amount: 0n, terms: paid(NOBODY) },
    values: [1_000_000n, 1_300_000n, 50_000n, 50_000n],
  });
  grow();
  await tell({
    ...{ name: "a withdrawal", kind: "spend", spent: [6], amount: 400_000n, terms: paid(recipient) },
    values: [0n, 550_000n, 50_000n, 0n],
  });
  await tell({
    ...{ name: "a payment of many notes", kind: "spend9", spent: [1, 2, 4, 5, 8, 9], amount: 0n },
    ...{ terms: paid(NOBODY), values: [600_000n, 50_000n, 50_000n, 0n] },
  });
  await tell({
    ...{ name: "a swap through one pool", kind: "private-swap", spent: [7], amount: 500_000n },
    terms: swapTerms("a swap through one pool", NOBODY, 0),
    ...{ values: [799_250n, 750n, 0n], received: 249_000n },
  });
  grow();
  await tell({
    ...{ name: "a swap through two pools", kind: "private-swap", spent: [11, 14], amount: 1_000_000n },
    terms: swapTerms("a swap through two pools", MIDDLE, 500),
    ...{ values: [148_500n, 1_500n, 0n], received: 498_000n },
  });
  grow();
  const story = {
    origin: "this project; made by make.ts with ethers, poseidon-lite and snarkjs",
    numbers: "decimal strings; byte strings and addresses in hex",
    chainId: CHAIN_ID,
    pool: POOL,
    assets: { usdc: USDC, other: OTHER, middle: MIDDLE },
    keys: {
      deployer: deployer.privateKey,
      depositor: depositor.privateKey,
      attestationSigner: signer.privateKey,
      spendingKey: SPENDING_KEY,
    },
    domainSeparator: TypedDataEncoder.hashDomain(DOMAIN),
    steps,
  };
  const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
  await writeFile(
    STORY_FILE,
    await format(JSON.stringify(story, plain), { parser: "json", printWidth: 110 }),
  );
  await releaseCurve();
}

await main();
