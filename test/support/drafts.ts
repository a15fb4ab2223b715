// Statements that a test may bend: each is one of the client library's, and any part of it may be changed before it is
// sealed, also into what the client refuses to make. Attested by keys that we hold, without any proof.
import type { Signer } from "ethers";
import { nobodysNote } from "../../scripts/lab/bench/client/statements.ts";
import { attested, type Attester, type PoolTransaction } from "../../scripts/stack/pool-transaction.ts";
import { prepareDeposit, prepareSpend, prepareSwap } from "../../shared/client/statements/statements.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import {
  addressFromField,
  mustField,
  ZERO_ADDRESS,
  type Address,
  type Bytes32,
  type Field,
} from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { concatBytes, toHex, word } from "../../shared/protocol/bytes.ts";
import { keccak256 } from "../../shared/protocol/hash.ts";
import { COMPRESSED_PROOF_BYTES } from "../../shared/protocol/host/proofs.ts";
import { encodeExt, signalOrder } from "../../shared/protocol/host/statements.ts";
import {
  contextOf,
  decodeExt,
  KINDS,
  statementHashOf,
  type Home,
  type Kind,
  type SignalName,
  type SpendExt,
  type Statement,
  type SwapExt,
} from "../../shared/protocol/statements.ts";
import { authorizationType } from "./oracle.ts";

let drawn = 0n;
/** Bytes that look random, never twice the same in a process, and the same in every run. */
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

/** Of nobody's notes: the pool would not know whether they are in its tree. */
export function spendDraft(
  setting: Setting,
  root: bigint,
  payout: { readonly asset: Address; readonly amount: bigint; readonly recipient: Address } | undefined,
  kind: "spend" | "spend9" = "spend",
): Draft {
  const { statement } = prepareSpend({
    ...common(setting, ANY_TOKEN),
    inputs: kind === "spend" ? [] : [1, 2, 3].map(() => nobodysNote(ANY_TOKEN, 0n)),
    payment: { type: "transfer", to: KEYS.viewing.address, value: 0n },
  });
  const transfer = { ...draftOf(setting, statement), root };
  if (payout === undefined) return transfer;
  const ext = encodeExt({ ...(statement.ext as SpendExt), recipient: payout.recipient });
  return { ...transfer, ext, asset: BigInt(payout.asset), amount: payout.amount };
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
  const { statement } = prepareDeposit({
    ...common(setting, terms.asset),
    amount: terms.amount,
    depositor: terms.depositor,
    validAfter: Number(terms.validAfter ?? 0n),
    validBefore: Number(terms.validBefore ?? setting.deadline),
  });
  return draftOf(setting, statement);
}

export function swapDraft(
  setting: Setting,
  root: bigint,
  terms: Pick<SwapExt, "tokenOut" | "path"> &
    Partial<Pick<SwapExt, "minAmountOut" | "npkOut">> & { readonly asset: Address; readonly amount: bigint },
): Draft {
  const { asset, amount, ...changes } = terms;
  const { statement } = prepareSwap({
    ...common(setting, ANY_TOKEN),
    inputs: [nobodysNote(ANY_TOKEN, 1n)],
    sharesIn: 1n,
    tokenOut: ANOTHER_TOKEN,
    floor: 1n,
    path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
  });
  const ext = encodeExt({ ...(statement.ext as SwapExt), ...changes });
  return { ...draftOf(setting, statement), ext, root, asset: BigInt(asset), amount };
}

const KEYS = SpendingKey.fromSeed(new Uint8Array(32).fill(7));
const ANY_TOKEN = asAddress(`0x${"70".repeat(20)}`)!;
const ANOTHER_TOKEN = asAddress(`0x${"71".repeat(20)}`)!;

function common({ home, deadline }: Setting, asset: Address) {
  const fees = { service: undefined, developer: undefined, total: 0n };
  return { home, keys: KEYS, asset, fees, deadline: Number(deadline), root: 0n as Field };
}

function draftOf(setting: Setting, { kind, facts, extBytes }: Statement): Draft {
  return {
    home: setting.home,
    kind,
    deadline: setting.deadline,
    root: 0n,
    asset: facts.asset,
    amount: facts.amount,
    nullifiers: facts.nullifiers,
    commitments: facts.commitments,
    ext: extBytes,
    proof: drawBytes(COMPRESSED_PROOF_BYTES),
    authorization: new Uint8Array(0),
    verifyingKeyHash: setting.verifyingKeyHashes[kind],
    attesters: setting.attesters,
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
  return signalOrder(draft.kind).flatMap((name) => valuesOf[name]);
}

/** Computes context, statement hash and attestations. */
export function seal(draft: Draft): Sealed {
  const transaction = {
    kind: KINDS[draft.kind].id,
    deadline: draft.deadline,
    signals: signalsOf(draft),
    ext: toHex(draft.ext),
    proof: toHex(draft.proof),
    authorization: toHex(draft.authorization),
    attestations: "0x",
  };
  return reattested({ draft, transaction });
}

/** Named and signed for the signals that its transaction carries now, as a lying signer would do. */
export function reattested({ draft, transaction }: Pick<Sealed, "draft" | "transaction">): Sealed {
  return {
    draft,
    statementHash: statementHashOf(draft.kind, draft.deadline, transaction.signals, draft.ext),
    transaction: attested(draft.home, draft.verifyingKeyHash, transaction, draft.attesters),
  };
}

/** Signs the EIP-3009 authorization whose nonce is the statement's hash, and puts it beside the statement. */
export async function authorize(
  depositor: Signer,
  sealed: Sealed,
  bent: Partial<Record<"from" | "to" | "value" | "nonce", unknown>> = {},
): Promise<Sealed> {
  const { draft, statementHash, transaction } = sealed;
  const terms = decodeExt(draft.kind, draft.ext);
  if (terms?.kind !== "deposit-shield") throw new TypeError("only a deposit is authorized");
  const asset = addressFromField(draft.asset) ?? ZERO_ADDRESS;
  const authorization = await depositor.signTypedData(...authorizationType(draft.home.chainId, asset), {
    from: terms.depositor,
    to: draft.home.pool,
    value: draft.amount,
    validAfter: terms.validAfter,
    validBefore: terms.validBefore,
    nonce: statementHash,
    ...bent,
  });
  return { ...sealed, transaction: { ...transaction, authorization } };
}
