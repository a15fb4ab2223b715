/**
 * P1. Nobody makes value: not a prover that breaks the circuit's rules, not one that skips the checks of the
 * witness program and proves a broken witness all the same, not a depositor whose token does not move.
 */
import assert from "node:assert/strict";
import * as snarkjs from "snarkjs";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { folderArtefacts } from "../../shared/client/node/index.ts";
import type { Prepared } from "../../shared/client/statements/statements.ts";
import { commitmentOf, newNote, noteCommitment, nullifierOf } from "../../shared/notes/note.ts";
import { asField, FIELD_ORDER, type Address } from "../../shared/protocol/brands.ts";
import { addressToField } from "../../shared/protocol/host/text.ts";
import type { Proof } from "../../shared/protocol/proof.ts";
import { parseSnarkjsProof } from "../../shared/protocol/host/proofs.ts";
import { contextOf, type Kind } from "../../shared/protocol/statements.ts";
import {
  attestRequest,
  Battlefield,
  freshAddress,
  freshKeys,
  poolTransaction,
  positionOf,
  withParty,
  withSignal,
  type Restored,
  type Signed,
} from "../support/adversary.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe("P1 no value comes from nothing", function () {
  this.timeout(600_000);
  let field: Battlefield;
  const rich = freshKeys();
  const thief = freshKeys();
  let wallet: Restored;

  before(async () => {
    field = await Battlefield.start();
    await field.settle(await field.deposit(rich, 100_000_000n));
    wallet = await field.restore(rich);
  });
  after(() => field.stop());

  /** A transfer of everything to the thief, not proved: the material that the attacks bend. */
  const transfer = (): Prepared =>
    field.prepareSpend(wallet, {
      notes: wallet.notes,
      payment: { type: "transfer", to: thief.viewing.address, value: 100_000_000n },
    });

  /** What the witness program says to other inputs, under whatever signals they lead to. */
  const proveWith = (prepared: Prepared, witness: Readonly<Record<string, unknown>>): Promise<unknown> =>
    field.prover.prove(prepared.statement, { ...prepared.witness, ...witness });

  /**
   * A witness that satisfies the circuit with some public signals overwritten, and a proof made from it by a
   * prover that asks no questions. The enclave must see that it proves nothing.
   */
  async function provedAnyway(kind: Kind, witness: unknown, signals: readonly bigint[]): Promise<Proof> {
    const { wasm, zkey } = await folderArtefacts(DEVELOPMENT_KEYS)(kind);
    const file: { type: "mem"; data?: Uint8Array } = { type: "mem" };
    await snarkjs.wtns.calculate(witness as Record<string, unknown>, wasm, file);
    const bytes = file.data!;
    signals.forEach((signal, at) => {
      let rest = signal;
      for (let i = 0; i < 32; i++, rest >>= 8n) bytes[WITNESS_AT + 32 * (1 + at) + i] = Number(rest & 0xffn);
    });
    const made = await snarkjs.groth16.prove(zkey, bytes);
    assert.deepEqual(made.publicSignals, signals.map(String));
    return parseSnarkjsProof(made.proof)!;
  }

  async function enclaveRefuses(signed: Signed, signals: readonly bigint[], ext?: Uint8Array): Promise<void> {
    const changes = ext === undefined ? { signals } : { signals, ext };
    assert.equal(codeOf(await field.enclave.ask(attestRequest(signed, changes))), "PROOF_INVALID");
  }

  it("P1 a note worth more than the deposit pays: no witness, and a broken witness proves nothing", async () => {
    const prepared = field.prepareDeposit(thief, 100_000_000n);
    await assert.rejects(proveWith(prepared, { amountIn: "1" }), refusal("PROOF_FAILED"));
    const signals = withSignal(prepared.statement.signals, positionOf("deposit-shield", "amountIn"), 1n);
    const proof = await provedAnyway("deposit-shield", prepared.witness, signals);
    await enclaveRefuses({ statement: prepared.statement, proof, authorization: "0x" }, signals);
  });

  it("P1 a withdrawal out of no note at all", async () => {
    const nothing = field.prepareSpend(wallet, {
      notes: [],
      payment: { type: "transfer", to: thief.viewing.address, value: 0n },
    });
    const victim = freshAddress();
    const ext = withParty(nothing.statement.extBytes, victim);
    const context = contextOf(field.home, "spend", nothing.statement.deadline, ext);
    const asset = addressToField(field.usdcAddress);
    await assert.rejects(
      proveWith(nothing, { context: String(context), asset: String(asset), amountOut: "100000000" }),
      refusal("PROOF_FAILED"),
    );
    let signals = withSignal(nothing.statement.signals, positionOf("spend", "context"), context);
    signals = withSignal(signals, positionOf("spend", "asset"), asset);
    signals = withSignal(signals, positionOf("spend", "amountOut"), 100_000_000n);
    const proof = await provedAnyway("spend", { ...nothing.witness, context: String(context) }, signals);
    await enclaveRefuses({ statement: nothing.statement, proof, authorization: "0x" }, signals, ext);
  });

  it("P1 outputs worth more than the inputs, and a negative output that would balance them", async () => {
    const prepared = transfer();
    const values = (prepared.witness["outValues"] as string[]).map(BigInt);
    const npks = (prepared.witness["outNpks"] as string[]).map((npk) => asField(BigInt(npk))!);
    const commit = (at: number, value: bigint): string =>
      String(commitmentOf(npks[at]!, field.usdcAddress, value));

    const more = values.with(1, 5n);
    const moreCommitments = more.map((value, at) => commit(at, value));
    await assert.rejects(
      proveWith(prepared, { outValues: more.map(String), commitments: moreCommitments }),
      refusal("PROOF_FAILED"),
    );
    // −5 in the field: 100 + 5 − 5 = 100 holds modulo r, and only the range check stands against it.
    const wrapped = values.with(0, 100_000_005n).with(1, FIELD_ORDER - 5n);
    const wrappedCommitments = wrapped.map((value, at) => commit(at, value));
    await assert.rejects(
      proveWith(prepared, { outValues: wrapped.map(String), commitments: wrappedCommitments }),
      refusal("PROOF_FAILED"),
    );
    const signals = withSignal(
      prepared.statement.signals,
      positionOf("spend", "commitments") + 1,
      BigInt(moreCommitments[1]!),
    );
    const proof = await provedAnyway("spend", prepared.witness, signals);
    await enclaveRefuses({ statement: prepared.statement, proof, authorization: "0x" }, signals);
  });

  it("P1 a note that is in no tree, another's note, and a note called by another asset", async () => {
    const prepared = transfer();
    const invented = { ...newNote(field.usdcAddress, 100_000_000n), leafIndex: 3 };
    await assert.rejects(
      proveWith(prepared, {
        inBlindings: (prepared.witness["inBlindings"] as string[]).with(0, String(invented.blinding)),
        nullifiers: (prepared.witness["nullifiers"] as string[]).with(
          0,
          String(nullifierOf(rich.viewing.nullifierKey, noteCommitment(rich.owner, invented), 0)),
        ),
      }),
      refusal("PROOF_FAILED"),
    );
    // The thief knows the whole note, as its payer does, and puts its own key in.
    const note = wallet.notes[0]!;
    const own = nullifierOf(thief.viewing.nullifierKey, noteCommitment(thief.owner, note), note.leafIndex);
    const victims = nullifierOf(thief.viewing.nullifierKey, note.commitment, note.leafIndex);
    for (const nullifier of [own, victims, note.nullifier]) {
      await assert.rejects(
        proveWith(prepared, {
          spendingKey: String(thief.scalar()),
          nullifiers: (prepared.witness["nullifiers"] as string[]).with(0, String(nullifier)),
        }),
        refusal("PROOF_FAILED"),
      );
    }
    const dear: Address = freshAddress();
    await assert.rejects(
      proveWith(prepared, { noteAsset: String(addressToField(dear)) }),
      refusal("PROOF_FAILED"),
    );
  });

  it("P1 a deposit that the depositor cannot pay, or signed for less, makes no note", async () => {
    const held = (await field.usdc.getFunction("balanceOf")(field.depositor.address)) as bigint;
    const before = await field.snapshot();
    const tooMuch = await field.transaction(await field.deposit(thief, held + 1n));
    assert.equal(await field.executeOne(tooMuch), "TransferRefused");
    const honest = await field.deposit(thief, 50n);
    const cheap = await field.deposit(thief, 49n);
    const { signature } = await field.attest(honest);
    const swapped = poolTransaction(honest, signature, { authorization: cheap.authorization });
    assert.equal(await field.executeOne(swapped), "TransferRefused");
    assert.deepEqual(await field.snapshot(), before);
  });

  it("P1 the pool holds what all notes are worth, after every kind of payment", async () => {
    const payee = freshKeys();
    const out = freshAddress();
    const now = await field.restore(rich);
    await field.settle(
      await field.spend(now, {
        notes: now.notes,
        payment: { type: "transfer", to: payee.viewing.address, value: 30_000_000n },
      }),
    );
    const paid = await field.restore(payee);
    await field.settle(
      await field.spend(paid, {
        notes: paid.notes,
        payment: { type: "withdraw", recipient: out, value: 12_500_000n },
      }),
    );
    const [a, b, c] = await Promise.all([rich, payee, thief].map((keys) => field.restore(keys)));
    assert.deepEqual([a!.balance, b!.balance, c!.balance], [70_000_000n, 17_500_000n, 0n]);
    assert.equal(await field.usdc.getFunction("balanceOf")(out), 12_500_000n);
    assert.equal(await field.usdc.getFunction("balanceOf")(field.home.pool), a!.balance + b!.balance);
  });
});

/** Bytes before the values in a .wtns file with a prime of 32 bytes: header 12, section one 12 + 40, section two 12. */
const WITNESS_AT = 76;
