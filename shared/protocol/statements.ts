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
import { hashWords, keccakHex } from "./hash.ts";
import { address, decode, fixed, inOrder, number, times, uint, type Layout, type Value } from "./layouts.ts";

export type Kind = "deposit-shield" | "spend" | "spend9" | "private-swap";
export type SignalName =
  "context" | "root" | "asset" | "amountIn" | "amountOut" | "nullifiers" | "commitments";

export interface KindShape {
  /** On the wire, in `context`, in `statementHash` and in Solidity. */
  readonly id: number;
  /** Notes spent: one nullifier each. */
  readonly inputs: number;
  /** Notes that the proof makes: one commitment each. */
  readonly outputs: number;
  /** Leaves that the statement adds to the tree, each with a ciphertext: `outputs`, and for a swap the note that the pool hashes. */
  readonly leaves: number;
  /** Public signals in circuit order: how many there are, one behind the other, of each name. */
  readonly signals: Readonly<Partial<Record<SignalName, number>>>;
}

const paidIn = { context: 1, asset: 1, amountIn: 1, commitments: 3 };
const paidOut = { context: 1, root: 1, asset: 1, amountOut: 1 };
const spent = (nullifiers: number, commitments: number) => ({ ...paidOut, nullifiers, commitments });

/** The one place where a signal's position is written. In order of id. */
export const KINDS: Readonly<Record<Kind, KindShape>> = {
  "deposit-shield": { id: 1, inputs: 0, outputs: 3, leaves: 3, signals: paidIn },
  spend: { id: 2, inputs: 2, outputs: 4, leaves: 4, signals: spent(2, 4) },
  spend9: { id: 3, inputs: 9, outputs: 4, leaves: 4, signals: spent(9, 4) },
  "private-swap": { id: 4, inputs: 2, outputs: 3, leaves: 4, signals: spent(2, 3) },
};

export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

export function kindById(id: number): Kind | undefined {
  return KIND_NAMES.find((kind) => KINDS[kind].id === id);
}

/** How many public signals a proof of this kind has, exactly. */
export function signalCount(kind: Kind): number {
  return Object.values(KINDS[kind].signals).reduce((sum, count) => sum + count);
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
  let at = 0;
  const of: Partial<Record<SignalName, readonly Field[]>> = Object.fromEntries(
    Object.entries(KINDS[kind].signals).map(([name, count]) => [name, signals.slice(at, (at += count))]),
  );
  return {
    context: of.context![0]!,
    root: of.root?.[0],
    asset: of.asset![0]!,
    amount: (of.amountIn ?? of.amountOut)![0]!,
    nullifiers: of.nullifiers ?? [],
    commitments: of.commitments!,
  };
}

// ---------------------------------------------------------------- ext

/** X25519 public key of the sender, one for all outputs of a statement. */
export const EPHEMERAL_KEY_BYTES = 32;
/** Bytes of every output's ciphertext, dummies included: 1 view tag, 36 sealed note, 16 tag. */
export const CIPHERTEXT_BYTES = 53;

/** Tiers of Uniswap v3 that a path may name, in hundredths of a basis point. */
export const FEE_TIERS: readonly number[] = [100, 500, 3_000, 10_000];

/** One or two pools of Uniswap v3, one after the other. Fees are tiers in hundredths of a basis point, below 2^24. */
const swapPath = inOrder({
  feeFirst: number(3),
  /** The token between two pools; zero when there is one pool. */
  middle: address,
  /** 0 when there is one pool. */
  feeSecond: number(3),
});

/** The terms of a kind, and what carries the notes of a statement to their owners. */
const ext = <Terms extends Layout>(kind: Kind, terms: Terms) =>
  inOrder({
    ...terms,
    ephemeralKey: fixed(EPHEMERAL_KEY_BYTES),
    /** One a leaf: the commitments' in order, then, of a swap, that of the bought note. */
    ciphertexts: times(KINDS[kind].leaves, fixed(CIPHERTEXT_BYTES)),
  });

/** Recipient: zero exactly when amountOut is zero. */
const payout = { recipient: address };

/** The exact bytes that the pool decodes and obeys: tightly packed, fixed length by kind. Every byte string of that length is a valid ext. */
export const EXTS = {
  /** EIP-3009 bounds, Unix seconds, below 2^64: valid strictly after / strictly before. */
  "deposit-shield": ext("deposit-shield", { depositor: address, validAfter: uint(8), validBefore: uint(8) }),
  spend: ext("spend", payout),
  spend9: ext("spend9", payout),
  "private-swap": ext("private-swap", {
    tokenOut: address,
    /** The floor: with less than this, in tokenOut's smallest units, the swap fails and the notes stay unspent. */
    minAmountOut: uint(16),
    /** Whose note the bought tokens become. A bigint and not a Field: `checkStatement` looks at its range. */
    npkOut: uint(32),
    path: swapPath,
  }),
};

type ExtOf<Name extends Kind> = { readonly kind: Name } & Value<(typeof EXTS)[Name]>;
export type DepositExt = ExtOf<"deposit-shield">;
export type SpendExt = ExtOf<"spend"> | ExtOf<"spend9">;
export type SwapExt = ExtOf<"private-swap">;
export type SwapPath = SwapExt["path"];
export type Ext = DepositExt | SpendExt | SwapExt;

/** Undefined unless `bytes` has exactly the length of its kind. */
export function decodeExt(kind: Kind, bytes: Uint8Array): Ext | undefined {
  const read = decode<object>(EXTS[kind], bytes);
  return read && ({ kind, ...read } as Ext);
}

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
  const { chainId, pool } = home;
  const digest = hashWords(chainId, pool, BigInt(KINDS[kind].id), deadline, keccakHex(ext));
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
  const head = [BigInt(KINDS[kind].id), deadline, 0x80n, keccakHex(ext)];
  return hashWords(...head, BigInt(signals.length), ...signals);
}

// ---------------------------------------------------------------- validity

/** A statement that passed every check that needs neither chain nor pairing. */
export type Statement = Readonly<Extract<ReturnType<typeof checkStatement>, object>>;
export type StatementFault = Extract<ReturnType<typeof checkStatement>, string>;

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
) {
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
