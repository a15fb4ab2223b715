// Writes story.json: one pool's life in statements, with every hash, byte string, proof and signature that
// SPEC.md defines; and ciphertexts.json. Made by the oracle and by snarkjs. Proofs are random: run it only when the protocol or the
// development keys change.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { concat, getCreateAddress, keccak256, SigningKey, solidityPacked, Wallet } from "ethers";
import { format } from "prettier";
import { groth16, type Groth16Proof } from "snarkjs";
import {
  readCompressed,
  readManifest,
  verificationKeysFolder,
} from "../../../scripts/build/circuits/artefacts.ts";
import { releaseCurve } from "../../../scripts/build/circuits/ceremony.ts";
import {
  attestationType,
  authorizationType,
  ciphertextOf,
  commitmentOf,
  compressedProof,
  contextOf,
  contextPreimageOf,
  depositInputs,
  digestOf,
  x25519KeyOf,
  domainSeparatorOf,
  executedLog,
  extOf,
  FIELD_ORDER,
  KINDS,
  nextHead,
  npkOf,
  outputKeys,
  ownerOf,
  proofWords,
  rootUpdateType,
  SparseTree,
  spendInputs,
  statementHashOf,
  viewingSecretOf,
  word,
  type Home,
  type Kind,
  type SpendInputs,
  type SpentNote,
} from "../oracle.ts";

export const STORY_FILE = fileURLToPath(new URL("story.json", import.meta.url));

const CIPHERTEXTS_FILE = fileURLToPath(new URL("ciphertexts.json", import.meta.url));

const CHAIN_ID = 31_337n;
const DEADLINE = 4_000_000_000n;
const NOBODY = `0x${"00".repeat(20)}`;

/** Anybody can compute these keys. */
const secret = (name: string): string => `0x${createHash("sha256").update(`story/${name}`).digest("hex")}`;
const number = (name: string): bigint => BigInt(secret(name)) % FIELD_ORDER;
const ephemeralSecretOf = (name: string): string => secret(`${name}/ephemeral`);

/** The deployer's first contracts, so that addresses follow from a key: three test dollars, then the pool. */
const deployer = new Wallet(secret("deployer"));
const contract = (nonce: number): string => getCreateAddress({ from: deployer.address, nonce });
const [USDC, OTHER, MIDDLE, POOL] = [contract(0), contract(1), contract(2), contract(3)];
const depositor = new Wallet(secret("depositor"));
const signer = new SigningKey(secret("signer"));
const recipient = new Wallet(secret("recipient")).address;

const SPENDING_KEY = number("spending key");
const OWNER = ownerOf(SPENDING_KEY);
const VIEWING_SECRET = viewingSecretOf(SPENDING_KEY);
const VIEWING_KEY = x25519KeyOf(VIEWING_SECRET);

const HOME: Home = { chainId: CHAIN_ID, pool: POOL };

/** The pool as the story has made it so far. */
const leaves: bigint[] = [];
const notes: SpentNote[] = [];
const steps: unknown[] = [];
let head = word(0n);
let rooted = { count: 0, head, root: SparseTree.of([]).root() };

function addLeaf(commitment: bigint, note: Pick<SpentNote, "value" | "blinding">): void {
  notes.push({ ...note, leafIndex: BigInt(leaves.length), leaf: commitment });
  leaves.push(commitment);
  head = nextHead(head, commitment);
}

interface Telling {
  readonly name: string;
  readonly kind: Kind;
  /** Notes spent, by leaf index. The rest of the places is filled with notes of value 0. */
  readonly spent: readonly number[];
  readonly values: readonly bigint[];
  readonly amount: bigint;
  /** What stands in ext before the ciphertexts. */
  readonly terms: Readonly<Record<string, unknown>>;
  /** What the pool measures, for a swap. */
  readonly received?: bigint;
}

async function tell(telling: Telling): Promise<void> {
  const { name, kind, amount, values } = telling;
  const asset = BigInt(USDC);
  const isDeposit = kind === "deposit-shield";
  const { id, inputs: places, leaves: added } = KINDS[kind];

  const ephemeralSecret = ephemeralSecretOf(name);
  const ephemeralKey = x25519KeyOf(ephemeralSecret);
  const sealed = Array.from({ length: added }, (_, i) => outputKeys(ephemeralSecret, VIEWING_KEY, i));
  // The note that the pool hashes is sealed with value 0: what a swap brings is not known before.
  const ciphertexts = sealed.map((keys, i) =>
    ciphertextOf(keys, i < values.length ? USDC : OTHER, values[i] ?? 0n),
  );
  const ext = extOf(kind, telling.terms, ephemeralKey, ciphertexts);
  const context = contextOf(HOME, kind, DEADLINE, ext);

  const spent = Array.from({ length: places }, (_, i): SpentNote => {
    const leafIndex = telling.spent[i];
    return leafIndex === undefined
      ? { value: 0n, blinding: number(`${name}/unused/${String(i)}`), leafIndex: BigInt(i), leaf: undefined }
      : notes[leafIndex]!;
  });
  const blindings = sealed.map(({ blinding }) => blinding);
  const made = values.map((value, i) => ({ npk: npkOf(OWNER, blindings[i]!), value }));
  const inputs = isDeposit
    ? depositInputs({ context, asset, amountIn: amount, made })
    : spendInputs(
        { context, spendingKey: SPENDING_KEY, noteAsset: asset, spent, made, amountOut: amount },
        SparseTree.of(leaves.slice(0, rooted.count)),
      );
  const { commitments } = inputs;

  const { proof, signals, key } = await prove(kind, inputs);
  const statementHash = statementHashOf(kind, DEADLINE, signals, ext);
  const compressed = compressedProof(proof);
  const attestation = {
    kind: id,
    verifyingKeyHash: keccak256(concat(key.map(word))),
    statementHash,
    proofHash: keccak256(compressed),
    deadline: DEADLINE,
  };
  const firstLeafIndex = leaves.length;
  commitments.forEach((commitment, i) => {
    addLeaf(commitment, { value: values[i]!, blinding: blindings[i]! });
  });
  let hashed: unknown;
  if (telling.received !== undefined) {
    const blinding = blindings[values.length]!;
    const npk = npkOf(OWNER, blinding);
    const commitment = commitmentOf(npk, BigInt(OTHER), telling.received);
    hashed = { npk, asset: OTHER, value: telling.received, blinding, leafIndex: leaves.length, commitment };
    addLeaf(commitment, { value: telling.received, blinding });
  }
  steps.push({
    step: "statement",
    name,
    kind,
    kindId: id,
    deadline: DEADLINE,
    ephemeralSecret,
    ext: { ...telling.terms, ephemeralKey, ciphertexts },
    extBytes: ext,
    contextPreimage: contextPreimageOf(HOME, kind, DEADLINE, ext),
    context,
    circuitInputs: inputs,
    signals,
    statementHash,
    proof: solidityPacked(
      Array.from({ length: 8 }, () => "uint256"),
      proofWords(proof),
    ),
    compressedProof: compressed,
    attestation: signed(attestationType(HOME), attestation),
    authorization: isDeposit ? authorize(statementHash, amount) : "0x",
    firstLeafIndex,
    executed: executedLog({
      ...{ statementHash, kindId: id, firstLeafIndex, proofHash: attestation.proofHash },
      ...{ nullifiers: isDeposit ? [] : (inputs as SpendInputs).nullifiers, commitments },
      ...{ ephemeralKey, ciphertexts },
      ...(amount === 0n ? {} : { moved: { asset: USDC, amount, ...partyOf(telling.terms) } }),
    }),
    ...(hashed === undefined ? {} : { hashed }),
    queueAfter: { leafCount: leaves.length, head },
  });
}

/** A swap's terms name none. */
function partyOf(terms: Telling["terms"]): { party?: string } {
  const party = terms["depositor"] ?? terms["recipient"];
  return typeof party === "string" ? { party } : {};
}

function grow(): void {
  const message = {
    oldRoot: rooted.root,
    newRoot: SparseTree.of(leaves).root(),
    fromIndex: rooted.count,
    toIndex: leaves.length,
    headBefore: rooted.head,
    headAfter: head,
  };
  steps.push({
    step: "root update",
    leaves: leaves.slice(rooted.count),
    attestation: signed(rootUpdateType(HOME), message),
  });
  rooted = { count: leaves.length, head, root: message.newRoot };
}

function signed(type: ReturnType<typeof attestationType>, message: Record<string, unknown>): unknown {
  const digest = digestOf(type, message);
  return { message, digest, signature: signer.sign(digest).serialized };
}

function authorize(nonce: string, value: bigint): string {
  const message = {
    from: depositor.address,
    to: POOL,
    value,
    validAfter: 0n,
    validBefore: DEADLINE + 1n,
    nonce,
  };
  return depositor.signingKey.sign(digestOf(authorizationType(CHAIN_ID, USDC), message)).serialized;
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

/** One sender, two readers, every place; among them a reader who is paid twice. */
function ciphertextVectors(): unknown {
  const readers = [SPENDING_KEY, number("another spending key")];
  const ciphertexts = readers.flatMap((spendingKey, reader) =>
    [0, 1, 2, 3].map((output) => {
      const viewingSecret = viewingSecretOf(spendingKey);
      const viewingKey = x25519KeyOf(viewingSecret);
      const ephemeralSecret = secret(`ciphertext/${String(reader)}`);
      const value = output === 3 ? 2n ** 128n - 1n : BigInt(output);
      const keys = outputKeys(ephemeralSecret, viewingKey, output);
      return {
        ...{ viewingSecret, viewingKey, owner: ownerOf(spendingKey) },
        ...{ ephemeralSecret, ephemeralKey: x25519KeyOf(ephemeralSecret), output },
        ...{ ...keys, asset: USDC, value, ciphertext: ciphertextOf(keys, USDC, value) },
      };
    }),
  );
  return { origin: "this project; made by make.ts with node:crypto", ciphertexts };
}

async function write(file: string, content: unknown): Promise<void> {
  const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
  await writeFile(file, await format(JSON.stringify(content, plain), { parser: "json", printWidth: 110 }));
}

async function main(): Promise<void> {
  await write(CIPHERTEXTS_FILE, ciphertextVectors());
  const swapTerms = (name: string, middle: string, feeSecond: number): Telling["terms"] => ({
    tokenOut: OTHER,
    minAmountOut: 1_000n,
    npkOut: npkOf(OWNER, outputKeys(ephemeralSecretOf(name), VIEWING_KEY, 3).blinding),
    feeFirst: 3_000,
    middle,
    feeSecond,
  });
  const deposit = (name: string, amount: bigint, values: bigint[]): Telling => ({
    ...{ name, kind: "deposit-shield", spent: [], values, amount },
    terms: { depositor: depositor.address, validAfter: 0n, validBefore: DEADLINE + 1n },
  });
  const paid = (recipient: string): Telling["terms"] => ({ recipient });

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
      viewingSecret: VIEWING_SECRET,
    },
    domainSeparator: domainSeparatorOf(HOME),
    steps,
  };
  await write(STORY_FILE, story);
  await releaseCurve();
}

await main();
