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
import { addressBytes, ByteReader, concatBytes, toAddress, uintToBytes, word } from "./bytes.ts";
import { keccak256, keccakHex } from "./hash.ts";

export type Kind = "deposit-shield" | "spend";

export interface KindShape {
  /** On the wire, in `context`, in `statementHash` and in Solidity. 3 spend9, 4 private-swap, 5 exit-spend, 6 exit-spend9 are reserved. */
  readonly id: number;
  readonly inputs: number;
  readonly outputs: number;
  /** Public signals in circuit order; a count above one is that many consecutive signals. */
  readonly signals: readonly { readonly name: SignalName; readonly count: number }[];
}

export type SignalName =
  "context" | "root" | "asset" | "amountIn" | "amountOut" | "nullifiers" | "commitments";

/** The one place where a signal's position is written. */
export const KINDS: Readonly<Record<Kind, KindShape>> = {
  "deposit-shield": {
    id: 1,
    inputs: 0,
    outputs: 3,
    signals: [
      { name: "context", count: 1 },
      { name: "asset", count: 1 },
      { name: "amountIn", count: 1 },
      { name: "commitments", count: 3 },
    ],
  },
  spend: {
    id: 2,
    inputs: 2,
    outputs: 4,
    signals: [
      { name: "context", count: 1 },
      { name: "root", count: 1 },
      { name: "asset", count: 1 },
      { name: "amountOut", count: 1 },
      { name: "nullifiers", count: 2 },
      { name: "commitments", count: 4 },
    ],
  },
};

export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

export function kindById(id: number): Kind | undefined {
  return KIND_NAMES.find((kind) => KINDS[kind].id === id);
}

/** How many public signals a proof of this kind has, exactly. */
export function signalCount(kind: Kind): number {
  return KINDS[kind].signals.reduce((sum, signal) => sum + signal.count, 0);
}

/** `["context", "root", …, "nullifiers[0]", …]`, as the compiler's symbol file names them. */
export function signalNames(kind: Kind): string[] {
  return KINDS[kind].signals.flatMap(({ name, count }) =>
    count === 1 ? [name] : Array.from({ length: count }, (_, i) => `${name}[${String(i)}]`),
  );
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

/** Names the signals after checking their exact number and that each is canonical. */
export function readSignals(kind: Kind, untrusted: readonly bigint[]): Facts | SignalFault {
  if (untrusted.length !== signalCount(kind)) return "SIGNAL_COUNT";
  const signals: Field[] = [];
  for (const value of untrusted) {
    const field = asField(value);
    if (field === undefined) return "SIGNAL_RANGE";
    signals.push(field);
  }
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
    amount: one(kind === "deposit-shield" ? "amountIn" : "amountOut"),
    nullifiers: all("nullifiers"),
    commitments: all("commitments"),
  };
}

/** Facts back to signals, in circuit order. */
export function writeSignals(kind: Kind, facts: Facts): Field[] {
  return KINDS[kind].signals.flatMap(({ name }): readonly Field[] => {
    switch (name) {
      case "context":
        return [facts.context];
      case "root":
        return facts.root === undefined ? [] : [facts.root];
      case "asset":
        return [facts.asset];
      case "amountIn":
      case "amountOut":
        return [facts.amount];
      case "nullifiers":
        return facts.nullifiers;
      case "commitments":
        return facts.commitments;
    }
  });
}

// ---------------------------------------------------------------- ext

/** Bytes of every output's ciphertext, dummies included: 32 ephemeral key, 1 view tag, 68 sealed note, 16 tag. */
export const CIPHERTEXT_BYTES = 117;

export interface DepositExt {
  readonly kind: "deposit-shield";
  readonly depositor: Address;
  /** EIP-3009 bounds, Unix seconds, below 2^64: valid strictly after / strictly before. */
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  /** One a commitment, in order. */
  readonly ciphertexts: readonly Uint8Array[];
}

export interface SpendExt {
  readonly kind: "spend";
  /** Zero exactly when amountOut is zero. */
  readonly recipient: Address;
  readonly ciphertexts: readonly Uint8Array[];
}

export type Ext = DepositExt | SpendExt;

/**
 * The exact bytes that the pool decodes and obeys (tightly packed, fixed length by kind):
 *   deposit-shield: depositor[20] validAfter[8] validBefore[8] ciphertexts[3 × 117]
 *   spend:          recipient[20] ciphertexts[4 × 117]
 * Throws when a ciphertext has another length or number; borders check that first.
 */
export function encodeExt(ext: Ext): Uint8Array {
  if (
    ext.ciphertexts.length !== KINDS[ext.kind].outputs ||
    ext.ciphertexts.some((ciphertext) => ciphertext.length !== CIPHERTEXT_BYTES)
  ) {
    throw new RangeError("an ext carries one full ciphertext for each output");
  }
  const ciphertexts = concatBytes(...ext.ciphertexts);
  switch (ext.kind) {
    case "deposit-shield":
      return concatBytes(
        addressBytes(ext.depositor),
        uintToBytes(ext.validAfter, 8),
        uintToBytes(ext.validBefore, 8),
        ciphertexts,
      );
    case "spend":
      return concatBytes(addressBytes(ext.recipient), ciphertexts);
  }
}

/** Undefined unless `bytes` has exactly the length of its kind. Every such byte string is a valid ext. */
export function decodeExt(kind: Kind, bytes: Uint8Array): Ext | undefined {
  const reader = new ByteReader(bytes);
  const party = reader.take(20);
  const bounds =
    kind === "deposit-shield" ? { validAfter: reader.uint(8), validBefore: reader.uint(8) } : undefined;
  const ciphertexts = reader.list(KINDS[kind].outputs, CIPHERTEXT_BYTES);
  if (!reader.done()) return undefined;
  return bounds === undefined
    ? { kind: "spend", recipient: toAddress(party), ciphertexts }
    : { kind: "deposit-shield", depositor: toAddress(party), ...bounds, ciphertexts };
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
 * (asset < 2^160, amount < 2^128; a deposit moves something; asset is zero exactly when amountOut is;
 * recipient is zero exactly when amountOut is; validAfter < validBefore).
 */
export function checkStatement(
  home: Home,
  kind: Kind,
  deadline: bigint,
  untrustedSignals: readonly bigint[],
  extBytes: Uint8Array,
): Statement | StatementFault {
  const facts = readSignals(kind, untrustedSignals);
  if (typeof facts === "string") return facts;
  if (deadline < 0n || deadline >= UINT64_LIMIT) return "STATEMENT_INVALID";
  const ext = decodeExt(kind, extBytes);
  if (ext === undefined) return "EXT_MALFORMED";
  if (new Set(facts.nullifiers).size !== facts.nullifiers.length) return "NULLIFIERS_NOT_DISTINCT";
  if (facts.context !== contextOf(home, kind, deadline, extBytes)) return "CONTEXT_MISMATCH";
  if (addressFromField(facts.asset) === undefined || facts.amount >= VALUE_LIMIT) return "STATEMENT_INVALID";
  if ((facts.asset === 0n) !== (facts.amount === 0n)) return "STATEMENT_INVALID";
  switch (ext.kind) {
    case "deposit-shield":
      if (facts.amount === 0n || ext.depositor === ZERO_ADDRESS) return "STATEMENT_INVALID";
      if (ext.validAfter >= ext.validBefore) return "STATEMENT_INVALID";
      break;
    case "spend":
      if ((ext.recipient === ZERO_ADDRESS) !== (facts.amount === 0n)) return "STATEMENT_INVALID";
      break;
  }
  const signals = writeSignals(kind, facts);
  const hash = statementHashOf(kind, deadline, signals, extBytes);
  return { home, kind, deadline, signals, facts, ext, extBytes, hash };
}
