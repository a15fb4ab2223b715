/**
 * Builds the statement of a deposit, transfer, withdrawal or swap: fresh notes, their ciphertexts, everything
 * the proof must bind, and the circuit's private inputs. What it returns has passed the same rules that
 * proxy, enclave and pool apply.
 */
import { randomBytes } from "@noble/hashes/utils.js";
import type { DepositBody } from "../../api/transactions.ts";
import { ZERO_ADDRESS, type Address, type Field } from "../../protocol/brands.ts";
import { addressToField } from "../../protocol/host/text.ts";
import { toHex, word } from "../../protocol/bytes.ts";
import {
  checkStatement,
  contextOf,
  KINDS,
  type Ext,
  type Facts,
  type Home,
  type Kind,
  type Statement,
  type SwapPath,
} from "../../protocol/statements.ts";
import { type Ciphertexts, encodeExt, writeSignals } from "../../protocol/host/statements.ts";
import { TREE_DEPTH } from "../../protocol/tree.ts";
import type { ShieldedAddress } from "../../notes/address.ts";
import { nobody, OutputSealer } from "../../notes/encryption.ts";
import type { SpendingKey } from "../../notes/keys.ts";
import { sealUnmeasured } from "../../notes/measured-note.ts";
import { SENDER_SALTS, senderSecret } from "../../notes/sender-key.ts";
import { commitmentOf, newNote, noteCommitment, npkOf, nullifierOf, type Note } from "../../notes/note.ts";
import type { Fees } from "./fees.ts";
import type { Drawn } from "../state/payment-record.ts";
import { sumOf } from "../state/selection.ts";

type FeeOpening = DepositBody["fees"][number];

/** Circuit inputs by name: decimal strings, nested as the circuit declares them. Holds secrets. */
export type Witness = Readonly<Record<string, unknown>>;

export interface Prepared {
  readonly statement: Statement;
  readonly witness: Witness;
  /** The wire's `fees`. */
  readonly openings: readonly FeeOpening[];
  /** Value of the note that comes back to this wallet: the deposit itself, or the change. */
  readonly own: bigint;
  /** Of a private transfer: what its ephemeral secret was derived with, besides what the payment itself says. */
  readonly salt?: number;
  /** Of what spends notes: what was drawn for it, and without which nobody can prove it again. */
  readonly drawn?: Drawn;
  /** Blinding of the note that a swap's bought tokens become: by it the wallet knows that note again. */
  readonly boughtBlinding?: Field;
}

interface Common {
  readonly home: Home;
  readonly keys: SpendingKey;
  readonly asset: Address;
  readonly fees: Fees;
  /** Unix seconds. */
  readonly deadline: number;
}

export interface DepositPlan extends Common {
  /** What the depositor pays; the user's note is this less the fees. */
  readonly amount: bigint;
  readonly depositor: Address;
  readonly validAfter: number;
  readonly validBefore: number;
}

export interface SpendInput {
  readonly note: Note & { readonly leafIndex: number };
  /** Siblings under the plan's root: 16 × 3. */
  readonly path: readonly (readonly Field[])[];
}

/** What a statement that spends notes begins with. */
interface FromNotes extends Common {
  readonly root: Field;
  readonly inputs: readonly SpendInput[];
}

/** `spend` or, with more than two inputs, `spend9`. */
export interface SpendPlan extends FromNotes {
  /** Whether an earlier payment of this wallet has that leaf. */
  readonly isKnownLeaf?: (commitment: Field) => boolean;
  /** A private payment (to oneself: merging notes), or a public one. */
  readonly payment:
    | { readonly type: "transfer"; readonly to: ShieldedAddress; readonly value: bigint }
    | { readonly type: "withdraw"; readonly recipient: Address; readonly value: bigint };
}

/** `asset` is what is given. The bought note is this wallet's own. */
export interface SwapPlan extends FromNotes {
  /** Gross: what goes to the venue is this less the fees. */
  readonly sharesIn: bigint;
  readonly tokenOut: Address;
  /** With less of `tokenOut` than this the swap fails. */
  readonly floor: bigint;
  readonly path: SwapPath;
}

/** One output: undefined stands for a dummy. */
type Wanted =
  { readonly to: ShieldedAddress; readonly value: bigint; readonly enforced?: boolean } | undefined;

export function prepareDeposit(plan: DepositPlan): Prepared {
  const own = plan.amount - plan.fees.total;
  const sealer = new OutputSealer();
  const outputs = makeOutputs(sealer, plan.asset, [
    { to: plan.keys.viewing.address, value: own },
    plan.fees.service,
    plan.fees.developer,
  ]);
  const ext: Ext = {
    kind: "deposit-shield",
    depositor: plan.depositor,
    validAfter: BigInt(plan.validAfter),
    validBefore: BigInt(plan.validBefore),
    ...sealedBy(sealer),
  };
  const asset = addressToField(plan.asset);
  const statement = state(plan, ext, {
    root: undefined,
    asset,
    amount: plan.amount as Field,
    nullifiers: [],
    commitments: outputs.commitments,
  });
  const { context, commitments } = statement.facts;
  return {
    statement,
    witness: decimal({ context, asset, amountIn: plan.amount, commitments, ...outputs.witness }),
    openings: outputs.openings,
    own,
  };
}

/** A salt is one of a thousand: another one where the payment, made again, would look like the one before. */
const SALT_TRIES = 64;

export function prepareSpend(plan: SpendPlan): Prepared {
  for (let attempt = 1; ; attempt++) {
    const prepared = spendOf(plan);
    const [first] = prepared.statement.facts.commitments;
    if (attempt === SALT_TRIES || plan.isKnownLeaf?.(first!) !== true) return prepared;
  }
}

function spendOf(plan: SpendPlan): Prepared {
  const { payment, fees } = plan;
  const kind = plan.inputs.length > KINDS.spend.inputs ? "spend9" : "spend";
  const own = sumOf(plan.inputs.map(({ note }) => note)) - payment.value - fees.total;
  const salt = randomSalt();
  const secret = payment.type === "transfer" ? transferSecret(plan, payment, own, salt) : undefined;
  const sealer = new OutputSealer(secret);
  const outputs = makeOutputs(sealer, plan.asset, [
    payment.type === "transfer" ? payment : undefined,
    change(plan, own),
    fees.service,
    fees.developer,
  ]);
  const isPublic = payment.type === "withdraw";
  const ext: Ext = {
    kind,
    recipient: isPublic ? payment.recipient : ZERO_ADDRESS,
    ...sealedBy(sealer),
  };
  return {
    ...fromNotes(plan, ext, outputs, isPublic ? payment.value : 0n),
    own,
    ...(isPublic ? {} : { salt }),
  };
}

/** Of a transfer alone: what a withdrawal or swap did, its sender can read on the chain. */
function transferSecret(
  { keys, asset, inputs, fees }: FromNotes,
  { to, value }: Extract<SpendPlan["payment"], { type: "transfer" }>,
  change: bigint,
  salt: number,
): Uint8Array | undefined {
  // Of nothing, as only a test pays: then it is drawn.
  if (inputs.length === 0) return undefined;
  const nullifiers = inputs.map(({ note }) => nullifierOfInput(keys, note));
  return senderSecret(keys, { nullifiers, to, asset, value, change, fees: fees.total, salt });
}

function nullifierOfInput(keys: SpendingKey, note: SpendInput["note"]): Field {
  return nullifierOf(keys.viewing.nullifierKey, noteCommitment(keys.owner, note), note.leafIndex);
}

/** 1,024 divides 2^16: no bias. */
function randomSalt(): number {
  const [high, low] = randomBytes(2) as unknown as [number, number];
  return ((high << 8) | low) % SENDER_SALTS;
}

export function prepareSwap(plan: SwapPlan): Prepared {
  const { fees, tokenOut, floor, path } = plan;
  const own = sumOf(plan.inputs.map(({ note }) => note)) - plan.sharesIn;
  const sealer = new OutputSealer();
  const outputs = makeOutputs(sealer, plan.asset, [change(plan, own), fees.service, fees.developer]);
  const bought = sealUnmeasured(sealer, plan.keys.viewing.address, tokenOut);
  const ext: Ext = {
    ...{ kind: "private-swap", tokenOut, minAmountOut: floor, npkOut: bought.npk, path },
    ...sealedBy(sealer),
  };
  return {
    ...fromNotes(plan, ext, outputs, plan.sharesIn - fees.total),
    own,
    boughtBlinding: bought.blinding,
  };
}

function change({ keys }: FromNotes, value: bigint): Wanted {
  return value === 0n ? undefined : { to: keys.viewing.address, value };
}

/** One template for all kinds that spend notes, as the circuits have one; `amountOut` leaves the pool in public. */
function fromNotes(
  plan: Omit<FromNotes, "fees">,
  ext: Ext,
  outputs: Outputs,
  amountOut: bigint,
): Pick<Prepared, "statement" | "witness" | "openings"> & { readonly drawn: Drawn } {
  const { keys } = plan;
  const inputs = [...plan.inputs];
  while (inputs.length < KINDS[ext.kind].inputs) inputs.push(dummyInput(newNote(plan.asset, 0n)));
  const nullifiers = inputs.map(({ note }) => nullifierOfInput(keys, note));
  const noteAsset = addressToField(plan.asset);
  const statement = state(plan, ext, {
    root: plan.root,
    asset: amountOut === 0n ? (0n as Field) : noteAsset,
    amount: amountOut as Field,
    nullifiers,
    commitments: outputs.commitments,
  });
  const { context, asset, amount, commitments } = statement.facts;
  return {
    statement,
    witness: decimal({
      context,
      root: plan.root,
      asset,
      amountOut: amount,
      nullifiers,
      commitments,
      spendingKey: keys.scalar(),
      noteAsset,
      inValues: inputs.map(({ note }) => note.value),
      inBlindings: inputs.map(({ note }) => note.blinding),
      inLeafIndices: inputs.map(({ note }) => note.leafIndex),
      inPathElements: inputs.map(({ path }) => path),
      ...outputs.witness,
    }),
    openings: outputs.openings,
    drawn: {
      npks: outputs.witness.outNpks,
      values: outputs.witness.outValues,
      dummies: inputs.slice(plan.inputs.length).map(({ note }) => note.blinding),
    },
  };
}

/** A statement that was made before, over the same notes and with the same outputs: on another root, for another deadline. */
export function prepareAgain(
  plan: Omit<FromNotes, "fees">,
  {
    ext,
    amount,
    openings,
    drawn,
  }: Pick<Prepared, "openings"> & {
    readonly ext: Ext;
    /** What left the pool in public. */
    readonly amount: bigint;
    readonly drawn: Drawn;
  },
): Prepared {
  const commitments = drawn.npks.map((npk, i) => commitmentOf(npk, plan.asset, drawn.values[i]!));
  const dummies = drawn.dummies.map((blinding) => dummyInput({ asset: plan.asset, value: 0n, blinding }));
  const witness = { outNpks: [...drawn.npks], outValues: [...drawn.values] };
  const inputs = [...plan.inputs, ...dummies];
  return {
    ...fromNotes({ ...plan, inputs }, ext, { commitments, openings: [...openings], witness }, amount),
    own: 0n,
  };
}

type Outputs = ReturnType<typeof makeOutputs>;

function makeOutputs(sealer: OutputSealer, asset: Address, wanted: readonly Wanted[]) {
  const made = wanted.map((output) => {
    const to = output?.to ?? nobody();
    const note = sealer.seal(to, asset, output?.value ?? 0n);
    const npk = npkOf(to.owner, note.blinding);
    return { note, npk, commitment: commitmentOf(npk, asset, note.value) };
  });
  const opening = ({ note }: { readonly note: Note }, output: number): FeeOpening[] =>
    wanted[output]?.enforced === true
      ? [{ output, asset, blinding: toHex(word(note.blinding)), value: String(note.value) }]
      : [];
  return {
    commitments: made.map(({ commitment }) => commitment),
    openings: made.flatMap(opening),
    witness: { outNpks: made.map(({ npk }) => npk), outValues: made.map(({ note }) => note.value) },
  };
}

/** Once every output is sealed. */
function sealedBy({ ephemeralKey, ciphertexts }: OutputSealer): Ciphertexts {
  return { ephemeralKey, ciphertexts };
}

/** A fresh blinding makes its nullifier unlike any other, so nobody can tell how many notes a payment spends. */
function dummyInput(note: Note): SpendInput {
  const path = Array.from({ length: TREE_DEPTH }, () => Array.from({ length: 3 }, () => 0n as Field));
  return { note: { ...note, leafIndex: 0 }, path };
}

function state(
  { home, deadline }: Pick<Common, "home" | "deadline">,
  ext: Ext,
  facts: Omit<Facts, "context">,
): Statement {
  const kind: Kind = ext.kind;
  const extBytes = encodeExt(ext);
  const seconds = BigInt(deadline);
  const signals = writeSignals(kind, { ...facts, context: contextOf(home, kind, seconds, extBytes) });
  const statement = checkStatement(home, kind, seconds, signals, extBytes);
  if (typeof statement === "string") throw new RangeError(`the statement breaks its own rules: ${statement}`);
  return statement;
}

function decimal(value: unknown): Witness {
  const text = (item: unknown): unknown => (Array.isArray(item) ? item.map(text) : String(item));
  return Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, text(item)]));
}
