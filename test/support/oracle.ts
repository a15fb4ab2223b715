// SPEC.md in other hands: notes, ciphertexts, tree, queue, statements, what is signed and what the pool says, with
// ethers, node:crypto and poseidon-lite and with nothing of ours, so that an error of ours does not end up on both sides. The vectors are made with it, and the code
// under test is held against it. It decides nothing: it also spells what nobody may execute.
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
} from "node:crypto";
import {
  AbiCoder,
  concat,
  dataSlice,
  getBytes,
  hexlify,
  keccak256,
  solidityPacked,
  solidityPackedKeccak256,
  toBeHex,
  toUtf8Bytes,
  TypedDataEncoder,
  type TypedDataDomain,
  type TypedDataField,
} from "ethers";
import { poseidon2, poseidon3, poseidon4 } from "poseidon-lite";

export const FIELD_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;

export const word = (value: bigint): string => toBeHex(value, 32);

// ---------------------------------------------------------------- notes (section 3)

export function ownerOf(spendingKey: bigint): bigint {
  return poseidon2([poseidon2([spendingKey, 0n]), poseidon2([spendingKey, 1n])]);
}

/** Section 2. */
export function viewingSecretOf(spendingKey: bigint): string {
  return hexlify(
    new Uint8Array(hkdfSync("sha256", getBytes(word(spendingKey)), "", "cloister/viewing-key/v1", 32)),
  );
}

export function npkOf(owner: bigint, blinding: bigint): bigint {
  return poseidon2([owner, blinding]);
}

export function commitmentOf(npk: bigint, asset: bigint, value: bigint): bigint {
  return poseidon3([npk, asset, value]);
}

export function nullifierOf(spendingKey: bigint, commitment: bigint, leafIndex: bigint): bigint {
  return poseidon3([poseidon2([spendingKey, 1n]), commitment, leafIndex]);
}

// ---------------------------------------------------------------- ciphertexts (section 3)

/** X25519 keys as node:crypto takes them: RFC 8410's DER before the 32 bytes. */
const PRIVATE_DER = "302e020100300506032b656e04220420";
const PUBLIC_DER = "302a300506032b656e032100";

/** The public key of any X25519 secret. */
export function x25519KeyOf(secret: string): string {
  const { x } = createPublicKey(privateKeyOf(secret)).export({ format: "jwk" });
  return hexlify(Buffer.from(String(x), "base64url"));
}

export interface OutputKeys {
  readonly key: string;
  readonly nonce: string;
  readonly viewTag: string;
  readonly blinding: bigint;
}

/** The X25519 function; the sender's ephemeral secret and V, or the reader's viewing secret and the ephemeral key. */
export function sharedSecretOf(secret: string, publicKey: string): string {
  const der = Buffer.concat([Buffer.from(PUBLIC_DER, "hex"), getBytes(publicKey)]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return hexlify(diffieHellman({ privateKey: privateKeyOf(secret), publicKey: key }));
}

/** As the sender derives them for one output. */
export function outputKeys(ephemeralSecret: string, viewingKey: string, output: number): OutputKeys {
  const shared = sharedSecretOf(ephemeralSecret, viewingKey);
  return outputKeysFrom(shared, x25519KeyOf(ephemeralSecret), viewingKey, output);
}

/** As either side derives them from what both know. */
export function outputKeysFrom(
  shared: string,
  ephemeralKey: string,
  viewingKey: string,
  output: number,
): OutputKeys {
  const info = concat([toUtf8Bytes("cloister/note/v2"), ephemeralKey, viewingKey, Uint8Array.of(output)]);
  const length = 32 + 24 + 1 + 64;
  const bytes = hexlify(new Uint8Array(hkdfSync("sha256", getBytes(shared), "", getBytes(info), length)));
  return {
    key: dataSlice(bytes, 0, 32),
    nonce: dataSlice(bytes, 32, 56),
    viewTag: dataSlice(bytes, 56, 57),
    blinding: BigInt(dataSlice(bytes, 57)) % FIELD_ORDER,
  };
}

/** viewTag[1] sealed[36] tag[16]. */
export function ciphertextOf(keys: OutputKeys, asset: string, value: bigint): string {
  const [subkey, nonce] = chaChaOf(keys);
  const cipher = createCipheriv("chacha20-poly1305", subkey, nonce, { authTagLength: 16 });
  const plain = getBytes(solidityPacked(["address", "uint128"], [asset, value]));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return concat([keys.viewTag, sealed, cipher.getAuthTag()]);
}

/** Undefined for what is somebody else's. */
export function openedBy(keys: OutputKeys, ciphertext: string): { asset: string; value: bigint } | undefined {
  if (dataSlice(ciphertext, 0, 1) !== keys.viewTag) return undefined;
  const [subkey, nonce] = chaChaOf(keys);
  const cipher = createDecipheriv("chacha20-poly1305", subkey, nonce, { authTagLength: 16 });
  cipher.setAuthTag(getBytes(dataSlice(ciphertext, 37)));
  try {
    const plain = hexlify(
      Buffer.concat([cipher.update(getBytes(dataSlice(ciphertext, 1, 37))), cipher.final()]),
    );
    return { asset: dataSlice(plain, 0, 20), value: BigInt(dataSlice(plain, 20)) };
  } catch {
    return undefined;
  }
}

/** XChaCha20-Poly1305 is ChaCha20-Poly1305 under HChaCha20's key (draft-irtf-cfrg-xchacha-03, section 2.3). */
function chaChaOf({ key, nonce }: OutputKeys): [key: Buffer, nonce: Buffer] {
  const bytes = getBytes(nonce);
  return [hChaCha20(getBytes(key), bytes.slice(0, 16)), Buffer.concat([Buffer.alloc(4), bytes.slice(16)])];
}

function privateKeyOf(secret: string) {
  const der = Buffer.concat([Buffer.from(PRIVATE_DER, "hex"), getBytes(secret)]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

/** The same draft, section 2.2: ChaCha20's rounds without the last addition, of which the first and last rows are the key. */
function hChaCha20(key: Uint8Array, nonce: Uint8Array): Buffer {
  const state = new Uint32Array(16);
  const words = Buffer.concat([Buffer.from("expand 32-byte k"), key, nonce]);
  for (let i = 0; i < 16; i++) state[i] = words.readUInt32LE(4 * i);
  const mix = (into: number, from: number, turned: number, by: number): void => {
    state[into]! += state[from]!;
    const mixed = state[turned]! ^ state[into]!;
    state[turned] = (mixed << by) | (mixed >>> (32 - by));
  };
  const quarter = (a: number, b: number, c: number, d: number): void => {
    mix(a, b, d, 16);
    mix(c, d, b, 12);
    mix(a, b, d, 8);
    mix(c, d, b, 7);
  };
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 4; i++) quarter(i, 4 + i, 8 + i, 12 + i);
    for (let i = 0; i < 4; i++) quarter(i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4));
  }
  const subkey = Buffer.alloc(32);
  for (let i = 0; i < 4; i++) {
    subkey.writeUInt32LE(state[i]!, 4 * i);
    subkey.writeUInt32LE(state[12 + i]!, 16 + 4 * i);
  }
  return subkey;
}

// ---------------------------------------------------------------- tree and queue (section 4)

export const DEPTH = 16;

/** The tree by its definition: a node is the hash of its four children, an empty leaf is 0. */
export class SparseTree {
  readonly #leaves: ReadonlyMap<bigint, bigint>;
  readonly #nodes = new Map<string, bigint>();

  constructor(leaves: ReadonlyMap<bigint, bigint>) {
    this.#leaves = leaves;
  }

  static of(leaves: readonly bigint[]): SparseTree {
    return new SparseTree(new Map(leaves.map((leaf, i) => [BigInt(i), leaf])));
  }

  root(): bigint {
    return this.node(DEPTH, 0n);
  }

  node(level: number, index: bigint): bigint {
    if (level === 0) return this.#leaves.get(index) ?? 0n;
    const isUsed = [...this.#leaves.keys()].some((leaf) => leaf >> BigInt(2 * level) === index);
    const key = isUsed ? `${String(level)}/${String(index)}` : `${String(level)}/empty`;
    let hash = this.#nodes.get(key);
    if (hash === undefined) {
      hash = poseidon4([0n, 1n, 2n, 3n].map((digit) => this.node(level - 1, 4n * index + digit)));
      this.#nodes.set(key, hash);
    }
    return hash;
  }

  path(leafIndex: bigint): bigint[][] {
    return Array.from({ length: DEPTH }, (_, level) => {
      const index = leafIndex >> BigInt(2 * level);
      return [0n, 1n, 2n, 3n]
        .map((digit) => (index & ~3n) + digit)
        .filter((sibling) => sibling !== index)
        .map((sibling) => this.node(level, sibling));
    });
  }
}

export function nextHead(head: string, leaf: bigint): string {
  return solidityPackedKeccak256(["bytes32", "uint256"], [head, leaf]);
}

// ---------------------------------------------------------------- statements (section 5)

/** `terms` are what stands in ext before the ciphertexts. */
export const KINDS = {
  "deposit-shield": {
    ...{ id: 1, inputs: 0, outputs: 3, leaves: 3 },
    terms: { depositor: "address", validAfter: "uint64", validBefore: "uint64" },
  },
  spend: { id: 2, inputs: 2, outputs: 4, leaves: 4, terms: { recipient: "address" } },
  spend9: { id: 3, inputs: 9, outputs: 4, leaves: 4, terms: { recipient: "address" } },
  "private-swap": {
    ...{ id: 4, inputs: 2, outputs: 3, leaves: 4 },
    terms: {
      ...{ tokenOut: "address", minAmountOut: "uint128", npkOut: "uint256" },
      ...{ feeFirst: "uint24", middle: "address", feeSecond: "uint24" },
    },
  },
} as const;

export type Kind = keyof typeof KINDS;

export interface Home {
  readonly chainId: bigint;
  readonly pool: string;
}

const abi = AbiCoder.defaultAbiCoder();

/** `terms` by name; others than the kind's are left out. */
export function extOf(
  kind: Kind,
  terms: Readonly<Record<string, unknown>>,
  ephemeralKey: string,
  ciphertexts: readonly string[],
): string {
  const types: Readonly<Record<string, string>> = KINDS[kind].terms;
  const values = Object.keys(types).map((term) => terms[term]);
  return concat([solidityPacked(Object.values(types), values), ephemeralKey, ...ciphertexts]);
}

/** A statement as the pool says that it executed it (section 8). */
export interface Said {
  readonly statementHash: string;
  readonly kindId: number;
  readonly firstLeafIndex: bigint | number;
  readonly proofHash: string;
  readonly nullifiers: readonly bigint[];
  readonly commitments: readonly bigint[];
  readonly ephemeralKey: string;
  readonly ciphertexts: readonly string[];
  /** Where tokens moved; a swap names no party. */
  readonly moved?: { readonly asset: string; readonly amount: bigint; readonly party?: string };
}

/** Its log. */
export function executedLog(said: Said): { topics: string[]; data: string } {
  const { asset, amount, party } = said.moved ?? {};
  return {
    topics: [keccak256(toUtf8Bytes("Executed(bytes32)")), said.statementHash],
    data: concat([
      solidityPacked(["uint8", "uint64", "bytes32"], [said.kindId, said.firstLeafIndex, said.proofHash]),
      ...[...said.nullifiers, ...said.commitments].map(word),
      said.ephemeralKey,
      ...said.ciphertexts,
      ...(asset === undefined ? [] : [solidityPacked(["address", "uint128"], [asset, amount])]),
      ...(party === undefined ? [] : [solidityPacked(["address"], [party])]),
    ]),
  };
}

export function contextPreimageOf(
  { chainId, pool }: Home,
  kind: Kind,
  deadline: bigint,
  ext: string,
): string {
  return abi.encode(
    ["uint256", "address", "uint8", "uint64", "bytes32"],
    [chainId, pool, KINDS[kind].id, deadline, keccak256(ext)],
  );
}

export function contextOf(home: Home, kind: Kind, deadline: bigint, ext: string): bigint {
  return BigInt(keccak256(contextPreimageOf(home, kind, deadline, ext))) % FIELD_ORDER;
}

export function statementHashOf(
  kind: Kind,
  deadline: bigint,
  signals: readonly bigint[],
  ext: string,
): string {
  return keccak256(
    abi.encode(
      ["uint8", "uint64", "uint256[]", "bytes32"],
      [KINDS[kind].id, deadline, signals, keccak256(ext)],
    ),
  );
}

// ---------------------------------------------------------------- circuit inputs (section 6)

export interface SpentNote {
  readonly value: bigint;
  readonly blinding: bigint;
  readonly leafIndex: bigint;
  /** What the tree holds at leafIndex; undefined for a note that no tree holds. */
  readonly leaf: bigint | undefined;
}

export interface MadeNote {
  readonly npk: bigint;
  readonly value: bigint;
}

export interface SpendPlan {
  readonly context: bigint;
  readonly spendingKey: bigint;
  readonly noteAsset: bigint;
  readonly spent: readonly SpentNote[];
  readonly made: readonly MadeNote[];
  readonly amountOut: bigint;
}

export interface DepositPlan {
  readonly context: bigint;
  readonly asset: bigint;
  readonly amountIn: bigint;
  readonly made: readonly MadeNote[];
}

type Numbers = bigint | readonly Numbers[];
/** By name, in the order of the circuit. */
type Inputs = Readonly<Record<string, Numbers>>;

export interface SpendInputs extends Inputs {
  readonly context: bigint;
  readonly root: bigint;
  readonly asset: bigint;
  readonly amountOut: bigint;
  readonly nullifiers: readonly bigint[];
  readonly commitments: readonly bigint[];
  readonly noteAsset: bigint;
  readonly inLeafIndices: readonly bigint[];
  readonly inPathElements: readonly (readonly (readonly bigint[])[])[];
}

/** In a tree of the spent notes alone, unless another is given. */
export function spendInputs(plan: SpendPlan, tree = treeOf(plan.spent)): SpendInputs {
  const owner = ownerOf(plan.spendingKey);
  return {
    context: plan.context,
    root: tree.root(),
    asset: plan.amountOut === 0n ? 0n : plan.noteAsset,
    amountOut: plan.amountOut,
    nullifiers: plan.spent.map(({ blinding, value, leafIndex }) =>
      nullifierOf(plan.spendingKey, commitmentOf(npkOf(owner, blinding), plan.noteAsset, value), leafIndex),
    ),
    commitments: plan.made.map(({ npk, value }) => commitmentOf(npk, plan.noteAsset, value)),
    spendingKey: plan.spendingKey,
    noteAsset: plan.noteAsset,
    inValues: plan.spent.map((note) => note.value),
    inBlindings: plan.spent.map((note) => note.blinding),
    inLeafIndices: plan.spent.map((note) => note.leafIndex),
    inPathElements: plan.spent.map((note) => tree.path(note.leafIndex)),
    outNpks: plan.made.map((note) => note.npk),
    outValues: plan.made.map((note) => note.value),
  };
}

function treeOf(spent: readonly SpentNote[]): SparseTree {
  const held = spent.flatMap(({ leafIndex, leaf }): [bigint, bigint][] =>
    leaf === undefined ? [] : [[leafIndex, leaf]],
  );
  return new SparseTree(new Map(held));
}

export interface DepositInputs extends Inputs {
  readonly context: bigint;
  readonly asset: bigint;
  readonly amountIn: bigint;
  readonly commitments: readonly bigint[];
}

export function depositInputs(plan: DepositPlan): DepositInputs {
  return {
    context: plan.context,
    asset: plan.asset,
    amountIn: plan.amountIn,
    commitments: plan.made.map(({ npk, value }) => commitmentOf(npk, plan.asset, value)),
    outNpks: plan.made.map((note) => note.npk),
    outValues: plan.made.map((note) => note.value),
  };
}

// ---------------------------------------------------------------- what is signed (sections 5 and 8)

type TypedData = [domain: TypedDataDomain, types: Record<string, TypedDataField[]>];

export function attestationType(home: Home): TypedData {
  return [
    domainOf(home),
    typeOf("Attestation", {
      ...{ kind: "uint8", verifyingKeyHash: "bytes32", statementHash: "bytes32", proofHash: "bytes32" },
      deadline: "uint64",
    }),
  ];
}

export function rootUpdateType(home: Home): TypedData {
  return [
    domainOf(home),
    typeOf("RootUpdate", {
      ...{ oldRoot: "uint256", newRoot: "uint256", fromIndex: "uint64", toIndex: "uint64" },
      ...{ headBefore: "bytes32", headAfter: "bytes32" },
    }),
  ];
}

/** EIP-3009, "receiveWithAuthorization", of the test dollar at `asset`. */
export function authorizationType(chainId: bigint, asset: string): TypedData {
  return [
    { name: "USD Coin", version: "2", chainId, verifyingContract: asset },
    typeOf("ReceiveWithAuthorization", {
      ...{ from: "address", to: "address", value: "uint256", validAfter: "uint256", validBefore: "uint256" },
      nonce: "bytes32",
    }),
  ];
}

/** The EIP-712 digest. */
export function digestOf([domain, types]: TypedData, message: Readonly<Record<string, unknown>>): string {
  return TypedDataEncoder.hash(domain, types, message);
}

export function domainSeparatorOf(home: Home): string {
  return TypedDataEncoder.hashDomain(domainOf(home));
}

function domainOf({ chainId, pool }: Home): TypedDataDomain {
  return { name: "Cloister", version: "1", chainId, verifyingContract: pool };
}

function typeOf(name: string, fields: Readonly<Record<string, string>>): Record<string, TypedDataField[]> {
  return { [name]: Object.entries(fields).map(([field, type]) => ({ name: field, type })) };
}

// ---------------------------------------------------------------- proofs (section 7)

/** As snarkjs gives it: decimal strings, projective. */
interface Groth16Proof {
  readonly pi_a: readonly unknown[];
  readonly pi_b: readonly unknown[];
  readonly pi_c: readonly unknown[];
}

/** In the order of EIP-197: the imaginary part first. */
export function proofWords({ pi_a, pi_b, pi_c }: Groth16Proof): bigint[] {
  const [[bx0, bx1], [by0, by1]] = pi_b as [[string, string], [string, string]];
  return [pi_a[0], pi_a[1], bx1, bx0, by1, by0, pi_c[0], pi_c[1]].map((text) => BigInt(String(text)));
}

/** A point by its x, with the parity of y in the highest bit. */
export function compressedProof(proof: Groth16Proof): string {
  const [ax, ay, bx1, bx0, by1, by0, cx, cy] = proofWords(proof) as [
    ...[bigint, bigint, bigint, bigint],
    ...[bigint, bigint, bigint, bigint],
  ];
  const flagged = (x: bigint, y: bigint): string => word(x | ((y & 1n) << 255n));
  return concat([flagged(ax, ay), flagged(bx1, by0 === 0n ? by1 : by0), word(bx0), flagged(cx, cy)]);
}
