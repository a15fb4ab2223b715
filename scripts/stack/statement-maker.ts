// Statements attested by keys that we hold, without any proof: for gas figures and for tests of the pool,
// which never looks into a proof. Everything it hashes goes through shared/protocol, so a difference
// between that and Solidity shows at once. DEVELOPMENT ONLY.
import { computeAddress, SigningKey, type Signer } from "ethers";
import {
  addressFromField,
  asAddress,
  mustField,
  ZERO_ADDRESS,
  ZERO_BYTES32,
  type Address,
  type Bytes32,
  type Field,
} from "../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex, uintToBytes, word } from "../../shared/protocol/bytes.ts";
import { attestationDigest, rootUpdateDigest, type RootUpdate } from "../../shared/protocol/attestation.ts";
import { keccak256, keccakHex } from "../../shared/protocol/hash.ts";
import { COMPRESSED_PROOF_BYTES } from "../../shared/protocol/host/proofs.ts";
import {
  CIPHERTEXT_BYTES,
  contextOf,
  decodeExt,
  KINDS,
  statementHashOf,
  type Home,
  type Kind,
  type SignalName,
  type SwapPath,
} from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";

/** `Transaction` of IPool.sol. */
export interface PoolTransaction {
  kind: number;
  deadline: bigint;
  signals: bigint[];
  ext: string;
  proof: string;
  authorization: string;
  attestations: string;
}

/** `RootUpdate` of IPool.sol. */
export interface PoolRootUpdate {
  oldRoot: bigint;
  newRoot: bigint;
  fromIndex: bigint;
  toIndex: bigint;
  headBefore: string;
  headAfter: string;
  attestations: string;
}

/** For a call that has no update. */
export const NO_UPDATE: PoolRootUpdate = {
  oldRoot: 0n,
  newRoot: 0n,
  fromIndex: 0n,
  toIndex: 0n,
  headBefore: toHex(new Uint8Array(32)),
  headAfter: toHex(new Uint8Array(32)),
  attestations: "0x",
};

export interface Attester {
  readonly address: Address;
  readonly key: SigningKey;
}

/** The n-th test signer, always the same. Worthless: anybody can compute its key. */
export function attester(n: number): Attester {
  const key = new SigningKey(keccakHex(new TextEncoder().encode(`attester ${String(n)}`)));
  const address = asAddress(computeAddress(key));
  if (address === undefined) throw new Error("not an address");
  return { address, key };
}

let drawn = 0n;
/** Bytes that look random, never twice the same in a process, and the same in every run: gas depends on zero bytes. */
export function drawBytes(length: number): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (let have = 0; have < length; have += 32) blocks.push(keccak256(word(drawn++)));
  return concatBytes(...blocks).slice(0, length);
}

export function drawField(): Field {
  return mustField(BigInt(toHex(drawBytes(31))));
}

/** A statement before it is sealed. Every part may be bent by a test. */
export interface Draft {
  readonly home: Home;
  readonly kind: Kind;
  readonly deadline: bigint;
  readonly root: bigint;
  readonly asset: bigint;
  readonly amount: bigint;
  readonly nullifiers: readonly bigint[];
  readonly commitments: readonly bigint[];
  readonly ext: Uint8Array;
  readonly proof: Uint8Array;
  readonly authorization: Uint8Array;
  readonly verifyingKeyHash: Bytes32;
  readonly attesters: readonly Attester[];
  /** Instead of the right one. */
  readonly context?: bigint;
}

export interface Sealed {
  readonly transaction: PoolTransaction;
  readonly statementHash: Bytes32;
  readonly draft: Draft;
}

/** What all statements of one pool have in common. */
export interface Setting {
  readonly home: Home;
  readonly deadline: bigint;
  readonly verifyingKeyHashes: Readonly<Record<Kind, Bytes32>>;
  readonly attesters: readonly Attester[];
}

export function draftOf(setting: Setting, kind: Kind, ext: Uint8Array): Draft {
  const { inputs, outputs } = KINDS[kind];
  return {
    home: setting.home,
    kind,
    deadline: setting.deadline,
    root: 0n,
    asset: 0n,
    amount: 0n,
    nullifiers: Array.from({ length: inputs }, drawField),
    commitments: Array.from({ length: outputs }, drawField),
    ext,
    proof: drawBytes(COMPRESSED_PROOF_BYTES),
    authorization: new Uint8Array(0),
    verifyingKeyHash: setting.verifyingKeyHashes[kind],
    attesters: setting.attesters,
  };
}

export function drawCiphertexts(kind: Kind): Uint8Array[] {
  return Array.from({ length: KINDS[kind].leaves }, () => drawBytes(CIPHERTEXT_BYTES));
}

export function spendDraft(
  setting: Setting,
  root: bigint,
  payout: { readonly asset: Address; readonly amount: bigint; readonly recipient: Address } | undefined,
  kind: "spend" | "spend9" = "spend",
): Draft {
  const ext = encodeExt({
    kind,
    recipient: payout?.recipient ?? ZERO_ADDRESS,
    ciphertexts: drawCiphertexts(kind),
  });
  return {
    ...draftOf(setting, kind, ext),
    root,
    asset: payout === undefined ? 0n : BigInt(payout.asset),
    amount: payout?.amount ?? 0n,
  };
}

export function depositDraft(
  setting: Setting,
  terms: {
    readonly asset: Address;
    readonly amount: bigint;
    readonly depositor: Address;
    readonly validAfter?: bigint;
    readonly validBefore?: bigint;
  },
): Draft {
  const ext = encodeExt({
    kind: "deposit-shield",
    depositor: terms.depositor,
    validAfter: terms.validAfter ?? 0n,
    validBefore: terms.validBefore ?? setting.deadline,
    ciphertexts: drawCiphertexts("deposit-shield"),
  });
  return { ...draftOf(setting, "deposit-shield", ext), asset: BigInt(terms.asset), amount: terms.amount };
}

export function swapDraft(
  setting: Setting,
  root: bigint,
  terms: {
    readonly asset: Address;
    readonly amount: bigint;
    readonly tokenOut: Address;
    readonly minAmountOut?: bigint;
    readonly npkOut?: bigint;
    readonly path: SwapPath;
  },
): Draft {
  const ext = encodeExt({
    kind: "private-swap",
    tokenOut: terms.tokenOut,
    minAmountOut: terms.minAmountOut ?? 1n,
    npkOut: terms.npkOut ?? drawField(),
    path: terms.path,
    ciphertexts: drawCiphertexts("private-swap"),
  });
  return {
    ...draftOf(setting, "private-swap", ext),
    root,
    asset: BigInt(terms.asset),
    amount: terms.amount,
  };
}

/** `writeSignals` for numbers that need not be in the field: tests send such. */
export function signalsOf(draft: Draft): bigint[] {
  const valuesOf: Readonly<Record<SignalName, readonly bigint[]>> = {
    context: [draft.context ?? contextOf(draft.home, draft.kind, draft.deadline, draft.ext)],
    root: [draft.root],
    asset: [draft.asset],
    amountIn: [draft.amount],
    amountOut: [draft.amount],
    nullifiers: draft.nullifiers,
    commitments: draft.commitments,
  };
  return KINDS[draft.kind].signals.flatMap(({ name }) => valuesOf[name]);
}

/** Computes context, statement hash and attestations. */
export function seal(draft: Draft): Sealed {
  return reattested({
    draft,
    statementHash: ZERO_BYTES32,
    transaction: {
      kind: KINDS[draft.kind].id,
      deadline: draft.deadline,
      signals: signalsOf(draft),
      ext: toHex(draft.ext),
      proof: toHex(draft.proof),
      authorization: toHex(draft.authorization),
      attestations: "0x",
    },
  });
}

/** Named and signed for the signals that its transaction carries now, as a lying signer would do. */
export function reattested(sealed: Sealed): Sealed {
  const { draft, transaction } = sealed;
  const statementHash = statementHashOf(draft.kind, draft.deadline, transaction.signals, draft.ext);
  const digest = attestationDigest(draft.home, {
    kind: draft.kind,
    verifyingKeyHash: draft.verifyingKeyHash,
    statementHash,
    proofHash: keccakHex(draft.proof),
    deadline: draft.deadline,
  });
  const attestations = toHex(signAll(digest, draft.attesters));
  return { draft, statementHash, transaction: { ...transaction, attestations } };
}

export function sealUpdate(home: Home, message: RootUpdate, attesters: readonly Attester[]): PoolRootUpdate {
  return { ...message, attestations: toHex(signAll(rootUpdateDigest(home, message), attesters)) };
}

/** Signatures in ascending order of their signers, as the pool wants them. */
export function signAll(digest: Uint8Array, attesters: readonly Attester[]): Uint8Array {
  const ascending = [...attesters].sort((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
  return concatBytes(...ascending.map(({ key }) => signatureBytes(key, digest)));
}

/** r ‖ s ‖ v. */
export function signatureBytes(key: SigningKey, digest: Uint8Array): Uint8Array {
  const { r, s, v } = key.sign(digest);
  return concatBytes(mustFromHex(r), mustFromHex(s), uintToBytes(BigInt(v), 1));
}

/** Signs the EIP-3009 authorization whose nonce is the statement's hash, and puts it beside the statement. */
export async function authorize(
  depositor: Signer,
  sealed: Sealed,
  bent: Partial<Record<"from" | "to" | "value" | "nonce", unknown>> = {},
): Promise<Sealed> {
  const { draft, statementHash } = sealed;
  const terms = decodeExt(draft.kind, draft.ext);
  if (terms?.kind !== "deposit-shield") throw new TypeError("only a deposit is authorized");
  const signature = await depositor.signTypedData(
    {
      name: "USD Coin",
      version: "2",
      chainId: draft.home.chainId,
      verifyingContract: addressFromField(draft.asset) ?? ZERO_ADDRESS,
    },
    RECEIVE_WITH_AUTHORIZATION,
    {
      from: terms.depositor,
      to: draft.home.pool,
      value: draft.amount,
      validAfter: terms.validAfter,
      validBefore: terms.validBefore,
      nonce: statementHash,
      ...bent,
    },
  );
  return { ...sealed, transaction: { ...sealed.transaction, authorization: signature } };
}

/** EIP-3009, "receiveWithAuthorization". */
export const RECEIVE_WITH_AUTHORIZATION = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};
