/**
 * What a proof says and what the pool will do about it: the one table of kinds and public signals,
 * the exact bytes of `ext`, and the two hashes that tie them together. Client, proxy and enclave
 * all use this file; tests compare it with the compiled circuits and with Solidity.
 */
import {
  asField,
  addressFromField,
  FIELD_ORDER,
  mustField,
  UINT64_LIMIT,
  VALUE_LIMIT,
  ZERO_ADDRESS,
  type Address,
  type Bytes32,
  type Field,
} from "./brands.ts";
import { ByteReader, toAddress, word } from "./bytes.ts";
import { keccak256, keccakHex } from "./hash.ts";

export type Kind = "deposit-shield" | "spend" | "spend9" | "private-swap";

export interface KindShape {
  /** On the wire, in `context`, in `statementHash` and in Solidity. */
  readonly id: number;
  /** Notes spent: one nullifier each. */
  readonly inputs: number;
  /** Notes that the proof makes: one commitment each. */
  readonly outputs: number;
  /** Leaves that the statement adds to the tree, each with a ciphertext: `outputs`, and for a swap the note that the pool hashes. */
  readonly leaves: number;
  /** Public signals in circuit order; a count above one is that many consecutive signals. */
  readonly signals: readonly { readonly name: SignalName; readonly count: number }[];
}

export type SignalName =
  "context" | "root" | "asset" | "amountIn" | "amountOut" | "nullifiers" | "commitments";

const SPEND_SIGNALS = (inputs: number, outputs: number): KindShape["signals"] => [
  { name: "context", count: 1 },
  { name: "root", count: 1 },
  { name: "asset", count: 1 },
  { name: "amountOut", count: 1 },
  { name: "nullifiers", count: inputs },
  { name: "commitments", count: outputs },
];

/** The one place where a signal's position is written. In order of id. */
export const KINDS: Readonly<Record<Kind, KindShape>> = {
  "deposit-shield": {
    id: 1,
    inputs: 0,
    outputs: 3,
    leaves: 3,
    signals: [
      { name: "context", count: 1 },
      { name: "asset", count: 1 },
      { name: "amountIn", count: 1 },
      { name: "commitments", count: 3 },
    ],
  },
  spend: { id: 2, inputs: 2, outputs: 4, leaves: 4, signals: SPEND_SIGNALS(2, 4) },
  spend9: { id: 3, inputs: 9, outputs: 4, leaves: 4, signals: SPEND_SIGNALS(9, 4) },
  "private-swap": { id: 4, inputs: 2, outputs: 3, leaves: 4, signals: SPEND_SIGNALS(2, 3) },
};

export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

export function kindById(id: number): Kind | undefined {
  return KIND_NAMES.find((kind) => KINDS[kind].id === id);
}

/** How many public signals a proof of this kind has, exactly. */
export function signalCount(kind: Kind): number {
  return KINDS[kind].signals.reduce((sum, signal) => sum + signal.count, 0);
}

/** The public signals under their names. `root` is absent for deposits; `amount` is amountIn or amountOut. */
export interface Facts {
  readonly context: Field;
  readonly root: Field | undefined;
  readonly asset: Field;
  readonly amount: Field;
  readonly nullifiers: readonly Field[];
  readonly commitments: readonly Field[];
}

export type SignalFault = "SIGNAL_COUNT" | "SIGNAL_RANGE";

/** Their exact number, and each below r. */
export function canonicalSignals(kind: Kind, untrusted: readonly bigint[]): readonly Field[] | SignalFault {
  if (untrusted.length !== signalCount(kind)) return "SIGNAL_COUNT";
  const signals = untrusted.map(asField).filter((field) => field !== undefined);
  return signals.length === untrusted.length ? signals : "SIGNAL_RANGE";
}

/** For as many signals as the kind has (`canonicalSignals`). */
export function nameSignals(kind: Kind, signals: readonly Field[]): Facts {
  const named = new Map<SignalName, Field[]>();
  let at = 0;
  for (const { name, count } of KINDS[kind].signals) {
    named.set(name, signals.slice(at, at + count));
    at += count;
  }
  const all = (name: SignalName): Field[] => named.get(name) ?? [];
  const one = (name: SignalName): Field => mustField(all(name)[0] ?? -1n);
  return {
    context: one("context"),
    root: all("root")[0],
    asset: one("asset"),
    amount: one(named.has("amountIn") ? "amountIn" : "amountOut"),
    nullifiers: all("nullifiers"),
    commitments: all("commitments"),
  };
}

// ---------------------------------------------------------------- ext

/** X25519 public key of the sender, one for all outputs of a statement. */
export const EPHEMERAL_KEY_BYTES = 32;
/** Bytes of every output's ciphertext, dummies included: 1 view tag, 36 sealed note, 16 tag. */
export const CIPHERTEXT_BYTES = 53;

/** What carries the notes of a statement to their owners. */
export interface Ciphertexts {
  readonly ephemeralKey: Uint8Array;
  /** One a leaf: the commitments' in order, then, of a swap, that of the bought note. */
  readonly ciphertexts: readonly Uint8Array[];
}

export interface DepositExt extends Ciphertexts {
  readonly kind: "deposit-shield";
  readonly depositor: Address;
  /** EIP-3009 bounds, Unix seconds, below 2^64: valid strictly after / strictly before. */
  readonly validAfter: bigint;
  readonly validBefore: bigint;
}

export interface SpendExt extends Ciphertexts {
  readonly kind: "spend" | "spend9";
  /** Zero exactly when amountOut is zero. */
  readonly recipient: Address;
}

/** One or two pools of Uniswap v3, one after the other. Fees are tiers in hundredths of a basis point, below 2^24. */
export interface SwapPath {
  readonly feeFirst: number;
  /** The token between two pools; zero when there is one pool. */
  readonly middle: Address;
  /** 0 when there is one pool. */
  readonly feeSecond: number;
}

export interface SwapExt extends Ciphertexts {
  readonly kind: "private-swap";
  readonly tokenOut: Address;
  /** The floor: with less than this, in tokenOut's smallest units, the swap fails and the notes stay unspent. */
  readonly minAmountOut: bigint;
  /** Whose note the bought tokens become. A bigint and not a Field: `checkStatement` looks at its range. */
  readonly npkOut: bigint;
  readonly path: SwapPath;
}

export type Ext = DepositExt | SpendExt | SwapExt;

/** Tiers of Uniswap v3 that a path may name, in hundredths of a basis point. */
export const FEE_TIERS: readonly number[] = [100, 500, 3_000, 10_000];

/**
 * The exact bytes that the pool decodes and obeys (tightly packed, fixed length by kind):
 *   deposit-shield: depositor[20] validAfter[8] validBefore[8] ephemeralKey[32] ciphertexts[3 × 53]
 *   spend, spend9:  recipient[20] ephemeralKey[32] ciphertexts[4 × 53]
 *   private-swap:   tokenOut[20] minAmountOut[16] npkOut[32] feeFirst[3] middle[20] feeSecond[3]
 *                   ephemeralKey[32] ciphertexts[4 × 53]
 * Undefined unless `bytes` has exactly the length of its kind. Every such byte string is a valid ext.
 */
export function decodeExt(kind: Kind, bytes: Uint8Array): Ext | undefined {
  const { leaves } = KINDS[kind];
  if (bytes.length !== TERMS_BYTES[kind] + EPHEMERAL_KEY_BYTES + leaves * CIPHERTEXT_BYTES) return undefined;
  const reader = new ByteReader(bytes);
  return {
    ...decodeTerms(kind, reader),
    ephemeralKey: reader.take(EPHEMERAL_KEY_BYTES),
    ciphertexts: reader.list(leaves, CIPHERTEXT_BYTES),
  };
}

const TERMS_BYTES: Readonly<Record<Kind, number>> = {
  "deposit-shield": 36,
  spend: 20,
  spend9: 20,
  "private-swap": 94,
};

function decodeTerms(kind: Kind, reader: ByteReader): Terms {
  switch (kind) {
    case "deposit-shield":
      return {
        kind,
        depositor: toAddress(reader.take(20)),
        validAfter: reader.uint(8),
        validBefore: reader.uint(8),
      };
    case "spend":
    case "spend9":
      return { kind, recipient: toAddress(reader.take(20)) };
    case "private-swap":
      return {
        kind,
        tokenOut: toAddress(reader.take(20)),
        minAmountOut: reader.uint(16),
        npkOut: reader.uint(32),
        path: {
          feeFirst: reader.number(3),
          middle: toAddress(reader.take(20)),
          feeSecond: reader.number(3),
        },
      };
  }
}

type Terms =
  Omit<DepositExt, keyof Ciphertexts> | Omit<SpendExt, keyof Ciphertexts> | Omit<SwapExt, keyof Ciphertexts>;

// ---------------------------------------------------------------- hashes

/** Where a statement can be executed. */
export interface Home {
  /** EIP-155 chain id, below 2^64. */
  readonly chainId: bigint;
  readonly pool: Address;
}

/**
 * `keccak256(abi.encode(uint256 chainId, address pool, uint8 kind, uint64 deadline, bytes32 keccak256(ext))) mod r`.
 * Bound into the proof, so a proof is good for this chain, pool, kind, deadline and ext only.
 */
export function contextOf(home: Home, kind: Kind, deadline: bigint, ext: Uint8Array): Field {
  const digest = keccakHex(
    word(home.chainId),
    word(BigInt(home.pool)),
    word(BigInt(KINDS[kind].id)),
    word(deadline),
    keccak256(ext),
  );
  return mustField(BigInt(digest) % FIELD_ORDER);
}

/**
 * `keccak256(abi.encode(uint8 kind, uint64 deadline, uint256[] signals, bytes32 keccak256(ext)))`: the
 * statement's name. Proof, authorization and attestation are not in it, so proving again changes nothing.
 * It is the EIP-3009 nonce of a deposit, the key of a ticket, and what success events carry.
 */
export function statementHashOf(
  kind: Kind,
  deadline: bigint,
  signals: readonly bigint[],
  ext: Uint8Array,
): Bytes32 {
  return keccakHex(
    word(BigInt(KINDS[kind].id)),
    word(deadline),
    word(0x80n),
    keccak256(ext),
    word(BigInt(signals.length)),
    ...signals.map(word),
  );
}

// ---------------------------------------------------------------- validity

export type StatementFault =
  SignalFault | "EXT_MALFORMED" | "NULLIFIERS_NOT_DISTINCT" | "CONTEXT_MISMATCH" | "STATEMENT_INVALID";

/** A statement that passed every check that needs neither chain nor pairing. */
export interface Statement {
  readonly home: Home;
  readonly kind: Kind;
  readonly deadline: bigint;
  readonly signals: readonly Field[];
  readonly facts: Facts;
  readonly ext: Ext;
  readonly extBytes: Uint8Array;
  readonly hash: Bytes32;
}

/**
 * All rules of a statement, in the enclave's order: exact number of signals, each canonical; nullifiers
 * distinct; context equals the hash of chain, pool, kind, deadline and ext; asset and amount rules
 * (asset < 2^160, amount < 2^128; asset is zero exactly when the amount is), and the terms of its kind, see
 * `termsHold`.
 */
export function checkStatement(
  home: Home,
  kind: Kind,
  deadline: bigint,
  untrustedSignals: readonly bigint[],
  extBytes: Uint8Array,
): Statement | StatementFault {
  const signals = canonicalSignals(kind, untrustedSignals);
  if (typeof signals === "string") return signals;
  const facts = nameSignals(kind, signals);
  if (deadline < 0n || deadline >= UINT64_LIMIT) return "STATEMENT_INVALID";
  const ext = decodeExt(kind, extBytes);
  if (ext === undefined) return "EXT_MALFORMED";
  if (new Set(facts.nullifiers).size !== facts.nullifiers.length) return "NULLIFIERS_NOT_DISTINCT";
  if (facts.context !== contextOf(home, kind, deadline, extBytes)) return "CONTEXT_MISMATCH";
  const asset = addressFromField(facts.asset);
  if (asset === undefined || facts.amount >= VALUE_LIMIT) return "STATEMENT_INVALID";
  if ((facts.asset === 0n) !== (facts.amount === 0n)) return "STATEMENT_INVALID";
  if (!termsHold(ext, asset, facts.amount)) return "STATEMENT_INVALID";
  const hash = statementHashOf(kind, deadline, signals, extBytes);
  return { home, kind, deadline, signals, facts, ext, extBytes, hash };
}

function termsHold(ext: Ext, asset: Address, amount: bigint): boolean {
  switch (ext.kind) {
    case "deposit-shield":
      return amount !== 0n && ext.depositor !== ZERO_ADDRESS && ext.validAfter < ext.validBefore;
    case "spend":
    case "spend9":
      return (ext.recipient === ZERO_ADDRESS) === (amount === 0n);
    case "private-swap":
      return (
        amount !== 0n &&
        ext.tokenOut !== ZERO_ADDRESS &&
        ext.tokenOut !== asset &&
        // A floor of nothing would hand the whole amount to whoever trades around the swap.
        ext.minAmountOut !== 0n &&
        asField(ext.npkOut) !== undefined &&
        pathHolds(ext.path, asset, ext.tokenOut)
      );
  }
}

function pathHolds({ feeFirst, middle, feeSecond }: SwapPath, asset: Address, tokenOut: Address): boolean {
  if (!FEE_TIERS.includes(feeFirst)) return false;
  if (middle === ZERO_ADDRESS) return feeSecond === 0;
  return FEE_TIERS.includes(feeSecond) && middle !== asset && middle !== tokenOut;
}
