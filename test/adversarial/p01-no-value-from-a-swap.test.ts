/**
 * P1, swaps and many notes. Nobody makes value by changing one token into another: not inside the proof, where
 * all notes are of the given token, and not beside it, where the pool counts what arrived. After any series of
 * payments of all kinds the pool holds, of each token, exactly what all unspent notes are worth.
 */
import assert from "node:assert/strict";
import * as snarkjs from "snarkjs";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { folderArtefacts } from "../../shared/client/node/index.ts";
import type { Prepared } from "../../shared/client/statements/statements.ts";
import { commitmentOf, noteCommitment, nullifierOf } from "../../shared/notes/note.ts";
import { wrapCoins } from "../../scripts/stand-ins/uniswap.ts";
import { asField, FIELD_ORDER, type Address } from "../../shared/protocol/brands.ts";
import { addressToField } from "../../shared/protocol/host/text.ts";
import type { Proof } from "../../shared/protocol/proof.ts";
import { parseSnarkjsProof } from "../../shared/protocol/host/proofs.ts";
import {
  attestRequest,
  freshAddress,
  freshKeys,
  mustAddress,
  positionOf,
  send,
  withSignal,
  type Battlefield,
  type Restored,
  type Signed,
} from "../support/adversary.ts";
import { Bazaar, DOLLAR, notesOf, worth } from "../support/swaps.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

const COIN = 10n ** 18n;
const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe("P1 no value comes from a swap", function () {
  this.timeout(600_000);
  let bazaar: Bazaar;
  let field: Battlefield;
  const keys = freshKeys();
  let wallet: Restored;

  before(async () => {
    bazaar = await Bazaar.open();
    ({ field } = bazaar);
    const deposits: Signed[] = [];
    for (const dollars of [60n, 30n, 10n]) deposits.push(await field.deposit(keys, dollars * DOLLAR));
    await field.settle(...deposits);
    wallet = await field.restore(keys);
  });
  after(() => bazaar.stop());

  /** 30 dollars to the venue, 30 back as change: the material that the attacks bend. */
  const swap = (): Prepared =>
    bazaar.prepareSwap(wallet, {
      ...{ notes: wallet.notes.slice(0, 1), sharesIn: 30n * DOLLAR, floor: 1n },
      ...{ tokenOut: bazaar.weth, path: bazaar.oneHop },
    });

  const hasNoWitness = (prepared: Prepared, bent: Readonly<Record<string, unknown>>): Promise<void> =>
    assert.rejects(
      field.prover.prove(prepared.statement, { ...prepared.witness, ...bent }),
      refusal("PROOF_FAILED"),
    );

  /** Outputs of the honest swap with other values or another token: values and commitments that fit each other. */
  function outputs(
    { witness }: Prepared,
    change: (values: readonly bigint[]) => readonly bigint[],
    asset: Address = bazaar.usdc,
  ): { outValues: string[]; commitments: string[] } {
    const values = change((witness["outValues"] as string[]).map(BigInt));
    const npks = (witness["outNpks"] as string[]).map((npk) => asField(BigInt(npk))!);
    const commitments = values.map((value, at) => String(commitmentOf(npks[at]!, asset, value)));
    return { outValues: values.map(String), commitments };
  }

  it("P1 more to the venue than the notes hold, beside the change: no witness, and a broken one proves nothing", async () => {
    const prepared = swap();
    await hasNoWitness(prepared, { amountOut: String(31n * DOLLAR) });
    await hasNoWitness(prepared, { amountOut: String(60n * DOLLAR) });
    const amountOut = positionOf("private-swap", "amountOut");
    const signals = withSignal(prepared.statement.signals, amountOut, 60n * DOLLAR);
    const proof = await provedAnyway(prepared, signals);
    const signed = { statement: prepared.statement, proof, authorization: "0x" };
    assert.equal(codeOf(await field.enclave.ask(attestRequest(signed, { signals }))), "PROOF_INVALID");
  });

  it("P1 change above what is left, and a negative note that would balance it", async () => {
    const prepared = swap();
    await hasNoWitness(
      prepared,
      outputs(prepared, (values) => values.with(0, 31n * DOLLAR)),
    );
    await hasNoWitness(
      prepared,
      outputs(prepared, (values) => values.with(0, 30n * DOLLAR + 5n).with(1, FIELD_ORDER - 5n)),
    );
    // −5 to the venue: 60 = 60 + 5 − 5 modulo r.
    await hasNoWitness(prepared, {
      ...outputs(prepared, (values) => values.with(0, 60n * DOLLAR + 5n)),
      amountOut: String(FIELD_ORDER - 5n),
    });
  });

  it("P1 change in the bought token, and dollars called by the bought token's name", async () => {
    const prepared = swap();
    await hasNoWitness(
      prepared,
      outputs(prepared, (values) => values, bazaar.weth),
    );
    // 30 units of a dearer token for 30 units of a cheaper one: all of it fits, but for the leaf in the tree.
    const weth = String(addressToField(bazaar.weth));
    const renamed = {
      noteAsset: weth,
      asset: weth,
      nullifiers: nullifiersOf(prepared, { asset: bazaar.weth }),
    };
    await hasNoWitness(prepared, renamed);
    await hasNoWitness(prepared, {
      ...renamed,
      ...outputs(prepared, (values) => values, bazaar.weth),
    });
    await hasNoWitness(prepared, { asset: weth });
  });

  it("P1 nine places: more out than in, and a dummy that is worth something", async () => {
    const payment = { type: "transfer", to: freshKeys().viewing.address, value: 100n * DOLLAR } as const;
    const prepared = bazaar.preparePayment(wallet, { notes: wallet.notes, payment });
    assert.equal(prepared.statement.kind, "spend9");
    await hasNoWitness(
      prepared,
      outputs(prepared, (values) => values.with(1, 1n)),
    );
    const inValues = (prepared.witness["inValues"] as string[]).with(8, String(DOLLAR));
    const worthy = { inValues, nullifiers: nullifiersOf(prepared, { inValues }) };
    await hasNoWitness(prepared, { ...worthy, ...outputs(prepared, (values) => values.with(1, DOLLAR)) });
  });

  /** Nullifiers of the inputs as they would be under another token's name or with other values. */
  function nullifiersOf(
    { witness }: Prepared,
    { asset = bazaar.usdc, inValues = witness["inValues"] as string[] },
  ): string[] {
    const blindings = witness["inBlindings"] as string[];
    const indices = witness["inLeafIndices"] as string[];
    return inValues.map((value, at) => {
      const note = { asset, value: BigInt(value), blinding: asField(BigInt(blindings[at]!))! };
      const commitment = noteCommitment(keys.owner, note);
      return String(nullifierOf(keys.viewing.nullifierKey, commitment, Number(indices[at])));
    });
  }

  it("P1 of each token the pool holds what all notes are worth, after every kind of payment in both tokens", async () => {
    const payee = freshKeys();
    const owners = [keys, payee];
    const depositor = await field.account(1);

    async function balances(): Promise<void> {
      const wallets = await Promise.all(owners.map((owner) => field.restore(owner)));
      const notes = wallets.flatMap((each) => each.notes);
      const owed = [bazaar.usdc, bazaar.weth, bazaar.token].map((asset) =>
        worth(notes.filter((note) => note.asset === asset)),
      );
      assert.deepEqual(await bazaar.holdings(), owed);
    }

    // Dollars into ether.
    let now = wallet;
    await bazaar.settle(
      await bazaar.swap(now, {
        ...{ notes: now.notes.slice(0, 2), sharesIn: 70n * DOLLAR, floor: 1n },
        ...{ tokenOut: bazaar.weth, path: bazaar.oneHop },
      }),
    );
    await balances();

    // Ether deposited by its owner, without an authorization.
    await wrapCoins(depositor, bazaar.weth, COIN);
    await send(bazaar.contract(bazaar.weth, depositor), "approve", field.home.pool, COIN);
    const plain = bazaar.prepareDeposit(keys, bazaar.weth, COIN, mustAddress(depositor.address));
    await bazaar.settle(await field.prove(plain), depositor);
    await field.settle(await field.deposit(keys, 5n * DOLLAR));
    await balances();

    // Three notes of dollars at once, to somebody else.
    now = await field.restore(keys);
    const many = await bazaar.pay(now, {
      notes: notesOf(now, bazaar.usdc),
      payment: { type: "transfer", to: payee.viewing.address, value: 33n * DOLLAR },
    });
    assert.equal(many.statement.kind, "spend9");
    await bazaar.settle(many);
    await balances();

    // Ether back into dollars, bought and deposited together.
    now = await field.restore(keys);
    await bazaar.settle(
      await bazaar.swap(now, {
        ...{ notes: notesOf(now, bazaar.weth), asset: bazaar.weth, sharesIn: COIN / 2n, floor: 1n },
        ...{ tokenOut: bazaar.usdc, path: bazaar.oneHop },
      }),
    );
    await balances();

    // Ether out to a stranger.
    now = await field.restore(keys);
    const recipient = freshAddress();
    const out = COIN / 4n;
    await bazaar.settle(
      await bazaar.pay(now, {
        ...{ notes: notesOf(now, bazaar.weth), asset: bazaar.weth },
        payment: { type: "withdraw", recipient, value: out },
      }),
    );
    await balances();
    assert.equal(await bazaar.balance(bazaar.weth, recipient), out);
    assert.deepEqual(await bazaar.holdings(bazaar.market.executor), [0n, 0n, 0n]);
  });

  /** The honest witness with some public signals overwritten, proved by a prover that asks no questions. */
  async function provedAnyway(prepared: Prepared, signals: readonly bigint[]): Promise<Proof> {
    const { wasm, zkey } = await folderArtefacts(DEVELOPMENT_KEYS)(prepared.statement.kind);
    const file: { type: "mem"; data?: Uint8Array } = { type: "mem" };
    await snarkjs.wtns.calculate({ ...prepared.witness }, wasm, file);
    const bytes = file.data!;
    signals.forEach((signal, at) => {
      let rest = signal;
      for (let i = 0; i < 32; i++, rest >>= 8n) bytes[WITNESS_AT + 32 * (1 + at) + i] = Number(rest & 0xffn);
    });
    const made = await snarkjs.groth16.prove(zkey, bytes);
    assert.deepEqual(made.publicSignals, signals.map(String));
    return parseSnarkjsProof(made.proof)!;
  }
});

/** Bytes before the values in a .wtns file with a prime of 32 bytes: header 12, section one 12 + 40, section two 12. */
const WITNESS_AT = 76;
