import assert from "node:assert/strict";
import {
  signAuthorization,
  type DepositSigner,
} from "../../../../../shared/client/statements/authorization.ts";
import {
  prepareDeposit,
  prepareSpend,
  prepareSwap,
  type Prepared,
  type SpendInput,
  type SpendPlan,
} from "../../../../../shared/client/statements/statements.ts";
import { nobody, openOutput } from "../../../../../shared/notes/encryption.ts";
import { SpendingKey, type IncomingViewingKey } from "../../../../../shared/notes/keys.ts";
import { NoteTree } from "../../../../../shared/notes/merkle.ts";
import { newNote, noteCommitment, npkOf, type Note } from "../../../../../shared/notes/note.ts";
import { ZERO_ADDRESS, type Address } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { KINDS } from "../../../../../shared/protocol/statements.ts";
import type { Ciphertexts } from "../../../../../shared/protocol/host/statements.ts";
import * as oracle from "../../../../support/oracle.ts";

const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(4));
const ASSET = "0x00000000000000000000000000000000000000bb" as Address;
const TOKEN_OUT = "0x00000000000000000000000000000000000000cc" as Address;
const HOME = { chainId: 7n, pool: "0x00000000000000000000000000000000000000aa" as Address };
const nobodys = nobody();
const fee = (value: bigint) => ({ to: nobodys, value, enforced: true });
const FEES = { service: fee(3n), developer: fee(2n), total: 5n };
const COMMON = { home: HOME, keys, asset: ASSET, deadline: 99, fees: FEES };

function spent(values: readonly bigint[]): Pick<SpendPlan, "root" | "inputs"> {
  const tree = new NoteTree();
  const notes = values.map((value) => newNote(ASSET, value));
  for (const note of notes) tree.append(noteCommitment(keys.owner, note));
  const inputs = notes.map((note, leafIndex): SpendInput => ({
    note: { ...note, leafIndex },
    path: tree.path(leafIndex, notes.length),
  }));
  return { root: tree.root(), inputs };
}
const values = (witness: Readonly<Record<string, unknown>>, name: string): string[] =>
  witness[name] as string[];

/** By their places. */
function openedBy(reader: IncomingViewingKey, { ephemeralKey, ciphertexts }: Ciphertexts): Map<number, Note> {
  const found = new Map<number, Note>();
  for (const [output, ciphertext] of ciphertexts.entries()) {
    const note = openOutput(reader, { ephemeralKey, output, ciphertext });
    if (note !== undefined) found.set(output, note);
  }
  return found;
}

/** What the oracle makes of the secrets in a witness, and of the terms. */
function assertAsTheOracle({ statement, witness, openings }: Prepared): void {
  const { home, kind, deadline, ext, extBytes, signals, hash } = statement;
  const terms = { ...ext, ...("path" in ext ? ext.path : {}) };
  const bytes = oracle.extOf(kind, terms, toHex(ext.ephemeralKey), ext.ciphertexts.map(toHex));
  assert.equal(toHex(extBytes), bytes);
  assert.equal(hash, oracle.statementHashOf(kind, deadline, signals, bytes));

  const numbers = (name: string): bigint[] => values(witness, name).map(BigInt);
  const number = (name: string): bigint => BigInt(witness[name] as string);
  const context = oracle.contextOf(home, kind, deadline, bytes);
  const made = numbers("outNpks").map((npk, i) => ({ npk, value: numbers("outValues")[i]! }));
  if (kind === "deposit-shield") {
    const [asset, amountIn] = [number("asset"), number("amountIn")];
    const { commitments } = oracle.depositInputs({ context, asset, amountIn, made });
    assert.deepEqual(signals, [context, asset, amountIn, ...commitments]);
  } else {
    const spent = spendPlanOf(context, made);
    const { root, asset, amountOut, nullifiers, commitments } = oracle.spendInputs(spent);
    assert.deepEqual(signals, [context, root, asset, amountOut, ...nullifiers, ...commitments]);
  }

  for (const opening of openings) {
    const npk = oracle.npkOf(nobodys.owner, BigInt(opening.blinding));
    const note = oracle.commitmentOf(npk, BigInt(opening.asset), BigInt(opening.value));
    assert.equal(note, statement.facts.commitments[opening.output]);
  }

  function spendPlanOf(bound: bigint, outputs: readonly oracle.MadeNote[]): oracle.SpendPlan {
    const [spendingKey, noteAsset] = [number("spendingKey"), number("noteAsset")];
    const spent = numbers("inValues").map((value, i) => {
      const [blinding, leafIndex] = [numbers("inBlindings")[i]!, numbers("inLeafIndices")[i]!];
      const npk = oracle.npkOf(oracle.ownerOf(spendingKey), blinding);
      const leaf = value === 0n ? undefined : oracle.commitmentOf(npk, noteAsset, value);
      return { value, blinding, leafIndex, leaf };
    });
    return { context: bound, spendingKey, noteAsset, spent, made: outputs, amountOut: number("amountOut") };
  }
}

describe("statements from notes", () => {
  const payment = { type: "transfer", to: nobody(), value: 10n } as const;

  it("are of the smallest kind that has places for the notes, with dummies in the others", () => {
    for (const [count, kind] of [
      [1, "spend"],
      [2, "spend"],
      [3, "spend9"],
      [9, "spend9"],
    ] as const) {
      const notes = spent(Array.from({ length: count }, () => 20n));
      const { statement, witness, own } = prepareSpend({ ...COMMON, ...notes, payment });
      assert.equal(statement.kind, kind);
      assert.equal(statement.facts.nullifiers.length, KINDS[kind].inputs);
      assert.equal(statement.ext.ciphertexts.length, KINDS[kind].leaves);
      assert.deepEqual(
        values(witness, "inValues"),
        Array.from({ length: KINDS[kind].inputs }, (_, at) => (at < count ? "20" : "0")),
      );
      assert.equal(own, 20n * BigInt(count) - 10n - 5n);
      assert.deepEqual(values(witness, "outValues"), ["10", String(own), "3", "2"]);
      assert.equal(statement.facts.asset, 0n);
    }
    assert.throws(() =>
      prepareSpend({ ...COMMON, ...spent(Array.from({ length: 10 }, () => 20n)), payment }),
    );
  });

  it("let every reader find its note and no other, and open fees with the blinding that their sink derives", () => {
    const [payee, sink] = [5, 6].map((n) => SpendingKey.fromSeed(new Uint8Array(32).fill(n)).viewing);
    const readers = [payee!, keys.viewing, sink!];
    const fees = { service: { ...fee(3n), to: sink!.address }, developer: undefined, total: 3n };
    const to = payee!.address;
    const { statement, openings } = prepareSpend({
      ...{ ...COMMON, fees, ...spent([50n]), payment: { type: "transfer", to, value: 10n } },
    });
    for (const [place, reader] of readers.entries()) {
      const found = openedBy(reader, statement.ext);
      assert.deepEqual([...found.keys()], [place]);
      const note = found.get(place)!;
      assert.equal(noteCommitment(reader.owner, note), statement.facts.commitments[place]);
      if (reader === sink) assert.equal(openings[0]?.blinding, toHex(word(note.blinding)));
    }
  });

  describe("are what the oracle makes of the same secrets", () => {
    const deposit = { ...COMMON, amount: 90n, depositor: TOKEN_OUT, validAfter: 3, validBefore: 98 };
    const recipient = TOKEN_OUT;
    const swap = { ...COMMON, ...spent([70n, 50n]), sharesIn: 100n, tokenOut: TOKEN_OUT, floor: 7n };
    const middle = "0x00000000000000000000000000000000000000dd" as Address;
    for (const [what, make] of Object.entries<() => Prepared>({
      "a deposit": () => prepareDeposit(deposit),
      "a transfer": () => prepareSpend({ ...COMMON, ...spent([20n, 30n]), payment }),
      "a withdrawal": () =>
        prepareSpend({ ...COMMON, ...spent([50n]), payment: { type: "withdraw", recipient, value: 9n } }),
      "a payment of many notes": () =>
        prepareSpend({ ...COMMON, ...spent(Array.from({ length: 9 }, () => 20n)), payment }),
      "a swap through one pool": () =>
        prepareSwap({ ...swap, path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 } }),
      "a swap through two pools": () =>
        prepareSwap({ ...swap, path: { feeFirst: 500, middle, feeSecond: 3_000 } }),
    })) {
      it(what, () => assertAsTheOracle(make()));
    }

    it("a deposit's authorization", async () => {
      const { statement } = prepareDeposit(deposit);
      const asked: string[] = [];
      const signer: DepositSigner = {
        getAddress: () => Promise.resolve(TOKEN_OUT),
        signTypedData(domain, types, message) {
          asked.push(oracle.digestOf([domain, types], message));
          return Promise.resolve(`0x${"11".repeat(65)}`);
        },
      };
      await signAuthorization(signer, statement, ASSET, { name: "USD Coin", version: "2" });
      const message = {
        ...{ from: TOKEN_OUT, to: HOME.pool, value: 90n, validAfter: 3n, validBefore: 98n },
        nonce: statement.hash,
      };
      assert.deepEqual(asked, [oracle.digestOf(oracle.authorizationType(HOME.chainId, ASSET), message)]);
    });
  });

  it("two plans over the same notes have the same nullifiers of them, so only one can be executed", () => {
    const notes = spent([20n, 20n]);
    const [first, second] = [1, 2].map(() => prepareSpend({ ...COMMON, ...notes, payment }).statement);
    assert.deepEqual(first?.facts.nullifiers, second?.facts.nullifiers);
    assert.notEqual(first?.hash, second?.hash);
  });

  describe("of a swap", () => {
    const plan = {
      ...{ ...COMMON, ...spent([70n, 50n]), sharesIn: 100n, tokenOut: TOKEN_OUT, floor: 7n },
      path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
    };

    it("give the gross amount less the fees to the venue, and keep the change", () => {
      const { statement, witness, own, openings } = prepareSwap(plan);
      assert.equal(statement.kind, "private-swap");
      assert.equal(statement.facts.amount, 95n);
      assert.equal(statement.facts.asset, BigInt(ASSET));
      assert.equal(own, 20n);
      assert.deepEqual(values(witness, "outValues"), ["20", "3", "2"]);
      assert.deepEqual(
        openings.map(({ output, value }) => [output, value]),
        [
          [1, "3"],
          [2, "2"],
        ],
      );
    });

    it("name a fresh own note for what is bought, and carry its ciphertext last", () => {
      const [first, second] = [prepareSwap(plan), prepareSwap(plan)];
      for (const { statement, boughtBlinding } of [first, second]) {
        assert.ok(statement.ext.kind === "private-swap" && boughtBlinding !== undefined);
        assert.equal(statement.ext.npkOut, npkOf(keys.owner, boughtBlinding));
        const bought = { asset: TOKEN_OUT, value: 0n, blinding: boughtBlinding };
        assert.deepEqual(openedBy(keys.viewing, statement.ext).get(3), bought);
        assert.equal(statement.ext.ciphertexts.length, statement.facts.commitments.length + 1);
      }
      assert.notEqual(first.boughtBlinding, second.boughtBlinding);
    });

    it("are not made against their own rules", () => {
      assert.throws(() => prepareSwap({ ...plan, floor: 0n }), RangeError);
      assert.throws(() => prepareSwap({ ...plan, tokenOut: ASSET }), RangeError);
      assert.throws(() => prepareSwap({ ...plan, sharesIn: 5n }), RangeError);
      assert.throws(() => prepareSwap({ ...plan, path: { ...plan.path, feeFirst: 501 } }), RangeError);
    });
  });
});
