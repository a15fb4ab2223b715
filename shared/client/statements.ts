/**
 * Builds the statement of a deposit, transfer or withdrawal: fresh notes, their ciphertexts, everything
 * the proof must bind, and the circuit's private inputs. What it returns has passed the same rules that
 * proxy, enclave and pool apply.
 */
import type { DepositBody } from "../api/transactions.ts";
import { addressToField, ZERO_ADDRESS, type Address, type Field } from "../protocol/brands.ts";
import { toHex, word } from "../protocol/bytes.ts";
import {
  checkStatement,
  contextOf,
  encodeExt,
  writeSignals,
  type Ext,
  type Facts,
  type Home,
  type Kind,
  type Statement,
} from "../protocol/statements.ts";
import { TREE_DEPTH } from "../protocol/tree.ts";
import type { ShieldedAddress } from "../notes/address.ts";
import { encryptNote, nobody } from "../notes/encryption.ts";
import type { SpendingKey } from "../notes/keys.ts";
import { commitmentOf, newNote, noteCommitment, npkOf, nullifierOf, type Note } from "../notes/note.ts";
import type { Fees } from "./fees.ts";
import { MAX_INPUTS, sumOf } from "./selection.ts";

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

export interface SpendPlan extends Common {
  readonly root: Field;
  readonly inputs: readonly SpendInput[];
  /** A private payment, a public one, or neither (merging notes). */
  readonly payment:
    | { readonly type: "transfer"; readonly to: ShieldedAddress; readonly value: bigint }
    | { readonly type: "withdraw"; readonly recipient: Address; readonly value: bigint };
}

/** One output: undefined stands for a dummy. */
type Wanted = { readonly to: ShieldedAddress; readonly value: bigint } | undefined;

export function prepareDeposit(plan: DepositPlan): Prepared {
  const own = plan.amount - plan.fees.total;
  const outputs = makeOutputs(plan.asset, [
    { to: plan.keys.viewing.address, value: own },
    plan.fees.service,
    plan.fees.developer,
  ]);
  const ext: Ext = {
    kind: "deposit-shield",
    depositor: plan.depositor,
    validAfter: BigInt(plan.validAfter),
    validBefore: BigInt(plan.validBefore),
    ciphertexts: outputs.ciphertexts,
  };
  const asset = addressToField(plan.asset);
  const statement = state(plan, "deposit-shield", ext, {
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
    openings: openings(plan.asset, outputs.notes, [undefined, plan.fees.service, plan.fees.developer]),
    own,
  };
}

export function prepareSpend(plan: SpendPlan): Prepared {
  const { payment, fees, keys } = plan;
  const own = sumOf(plan.inputs.map(({ note }) => note)) - payment.value - fees.total;
  const outputs = makeOutputs(plan.asset, [
    payment.type === "transfer" ? payment : undefined,
    own === 0n ? undefined : { to: keys.viewing.address, value: own },
    fees.service,
    fees.developer,
  ]);
  const inputs = [...plan.inputs];
  while (inputs.length < MAX_INPUTS) inputs.push(dummyInput(plan.asset));
  const nullifiers = inputs.map(({ note }) =>
    nullifierOf(keys.viewing.nullifierKey, noteCommitment(keys.owner, note), note.leafIndex),
  );
  const isPublic = payment.type === "withdraw";
  const noteAsset = addressToField(plan.asset);
  const ext: Ext = {
    kind: "spend",
    recipient: isPublic ? payment.recipient : ZERO_ADDRESS,
    ciphertexts: outputs.ciphertexts,
  };
  const statement = state(plan, "spend", ext, {
    root: plan.root,
    asset: isPublic ? noteAsset : (0n as Field),
    amount: (isPublic ? payment.value : 0n) as Field,
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
    openings: openings(plan.asset, outputs.notes, [undefined, undefined, fees.service, fees.developer]),
    own,
  };
}

interface Outputs {
  readonly notes: readonly Note[];
  readonly commitments: readonly Field[];
  readonly ciphertexts: readonly Uint8Array[];
  readonly witness: { readonly outNpks: readonly Field[]; readonly outValues: readonly bigint[] };
}

function makeOutputs(asset: Address, wanted: readonly Wanted[]): Outputs {
  const made = wanted.map((output) => {
    const to = output?.to ?? nobody();
    const note = newNote(asset, output?.value ?? 0n);
    const npk = npkOf(to.owner, note.blinding);
    return { note, npk, commitment: commitmentOf(npk, asset, note.value), ciphertext: encryptNote(to, note) };
  });
  return {
    notes: made.map(({ note }) => note),
    commitments: made.map(({ commitment }) => commitment),
    ciphertexts: made.map(({ ciphertext }) => ciphertext),
    witness: { outNpks: made.map(({ npk }) => npk), outValues: made.map(({ note }) => note.value) },
  };
}

/** A fresh blinding makes its nullifier unlike any other, so nobody can tell how many notes a payment spends. */
function dummyInput(asset: Address): SpendInput {
  const path = Array.from({ length: TREE_DEPTH }, () => Array.from({ length: 3 }, () => 0n as Field));
  return { note: { ...newNote(asset, 0n), leafIndex: 0 }, path };
}

function state({ home, deadline }: Common, kind: Kind, ext: Ext, facts: Omit<Facts, "context">): Statement {
  const extBytes = encodeExt(ext);
  const seconds = BigInt(deadline);
  const signals = writeSignals(kind, { ...facts, context: contextOf(home, kind, seconds, extBytes) });
  const statement = checkStatement(home, kind, seconds, signals, extBytes);
  if (typeof statement === "string") throw new RangeError(`the statement breaks its own rules: ${statement}`);
  return statement;
}

function openings(
  asset: Address,
  notes: readonly Note[],
  fees: readonly ({ readonly enforced: boolean } | undefined)[],
): FeeOpening[] {
  return fees.flatMap((fee, output) => {
    const note = notes[output];
    if (fee?.enforced !== true || note === undefined) return [];
    return [{ output, asset, blinding: toHex(word(note.blinding)), value: String(note.value) }];
  });
}

function decimal(value: unknown): Witness {
  const text = (item: unknown): unknown => (Array.isArray(item) ? item.map(text) : String(item));
  return Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, text(item)]));
}
