/**
 * P3, swaps. Whoever carries a swap can send what it buys to nobody else, lower no floor, lead it along no other
 * path and prolong nothing. The enclave is asked to sign the changed swap; then the pool is sent it, under the
 * attestation of the honest one and under one that a stranger forged.
 */
import assert from "node:assert/strict";
import { computeAddress, SigningKey, Wallet } from "ethers";
import { committedKeyHashes } from "../../scripts/deploy/pool.ts";
import { type PoolTransaction, signatureBytes } from "../../scripts/stack/pool-transaction.ts";
import { attestationDigest } from "../../shared/protocol/attestation.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { contextOf, statementHashOf, type SwapExt } from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";
import { npkOf } from "../../shared/notes/note.ts";
import {
  attestRequest,
  flipped,
  freshAddress,
  freshKeys,
  poolTransaction,
  positionOf,
  withSignal,
  type Battlefield,
  type Restored,
  type Signed,
} from "../support/adversary.ts";
import { Bazaar, DOLLAR, notesOf } from "../support/swaps.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

const CONTEXT = positionOf("private-swap", "context");
const AMOUNT = positionOf("private-swap", "amountOut");
/** Bytes of an ext before its ephemeral key. */
const TERMS = 94;
const EPHEMERAL_KEY = 32;

describe("P3 a swap is executed as its user signed it, or not at all", function () {
  this.timeout(600_000);
  let bazaar: Bazaar;
  let field: Battlefield;
  const keys = freshKeys();
  const thief = freshKeys();
  let wallet: Restored;
  let promised: bigint;
  let swap: Signed;
  let terms: SwapExt;
  let attestation: Uint8Array;
  /** Listed too, so that no rule but the signature stands against it. */
  let other: Address;
  let changes: readonly (readonly [what: string, ext: Uint8Array])[];
  const stranger = new SigningKey(Wallet.createRandom().privateKey);

  before(async () => {
    bazaar = await Bazaar.open();
    ({ field } = bazaar);
    other = await bazaar.listToken();
    await field.settle(await field.deposit(keys, 100n * DOLLAR));
    wallet = await field.restore(keys);
    const { usdc, twoHops: path, token: tokenOut } = bazaar;
    promised = await bazaar.quote(usdc, path, tokenOut, 60n * DOLLAR);
    const wanted = { sharesIn: 60n * DOLLAR, tokenOut, floor: promised, path };
    swap = await bazaar.swap(wallet, { ...wanted, notes: wallet.notes });
    assert.ok(swap.statement.ext.kind === "private-swap");
    terms = swap.statement.ext;
    ({ signature: attestation } = await field.attest(swap));
    const bent = (part: Partial<SwapExt>): Uint8Array => encodeExt({ ...terms, ...part });
    const along = (part: Partial<SwapExt["path"]>): Uint8Array => bent({ path: { ...path, ...part } });
    changes = [
      ["tokenOut", bent({ tokenOut: other })],
      ["floor, by one unit", bent({ minAmountOut: promised - 1n })],
      ["floor, to nearly nothing", bent({ minAmountOut: 1n })],
      ["npk, to the thief's", bent({ npkOut: npkOf(thief.owner, wallet.notes[0]!.blinding) })],
      ["first tier", along({ feeFirst: 10_000 })],
      ["middle", along({ middle: other })],
      ["second tier", along({ feeSecond: 100 })],
      ["one hop instead of two", along({ middle: ZERO_ADDRESS, feeSecond: 0 })],
      ["ephemeral key", flipped(swap.statement.extBytes, TERMS)],
      ...terms.ciphertexts.map(
        (_, leaf) =>
          [
            `ciphertext ${String(leaf)}`,
            flipped(swap.statement.extBytes, TERMS + EPHEMERAL_KEY + leaf * 53 + 40),
          ] as const,
      ),
    ];
  });
  after(() => bazaar.stop());

  const ask = async (bent: Parameters<typeof attestRequest>[1]): Promise<string> =>
    codeOf(await field.enclave.ask(attestRequest(swap, bent)));
  /** Context as an attacker recomputes it for terms of its own. */
  const recomputed = (ext: Uint8Array, deadline = swap.statement.deadline): bigint[] =>
    withSignal(swap.statement.signals, CONTEXT, contextOf(field.home, "private-swap", deadline, ext));
  const later = (): bigint => swap.statement.deadline + 86_400n;

  it("P3 enclave: every changed term of a swap, with the old context and with one recomputed for it", async () => {
    for (const [what, ext] of changes) {
      assert.equal(await ask({ ext }), "CONTEXT_MISMATCH", what);
      assert.equal(await ask({ ext, signals: recomputed(ext) }), "PROOF_INVALID", what);
    }
  });

  it("P3 enclave: no floor at all, nobody's npk, half a hop: not even as a statement", async () => {
    for (const ext of [
      encodeExt({ ...terms, minAmountOut: 0n }),
      encodeExt({ ...terms, npkOut: 2n ** 256n - 1n }),
      encodeExt({ ...terms, path: { ...terms.path, middle: ZERO_ADDRESS } }),
      encodeExt({ ...terms, tokenOut: bazaar.usdc }),
    ]) {
      assert.equal(await ask({ ext, signals: recomputed(ext) }), "STATEMENT_INVALID");
    }
  });

  it("P3 enclave: any byte of a swap's terms, its deadline, any signal", async () => {
    for (let at = 0; at < TERMS; at++) {
      assert.equal(await ask({ ext: flipped(swap.statement.extBytes, at) }), "CONTEXT_MISMATCH");
    }
    assert.equal(await ask({ deadline: later() }), "CONTEXT_MISMATCH");
    const prolonged = recomputed(swap.statement.extBytes, later());
    assert.equal(await ask({ deadline: later(), signals: prolonged }), "PROOF_INVALID");
    for (const at of swap.statement.signals.keys()) {
      const signals = withSignal(swap.statement.signals, at, swap.statement.signals[at]! + 1n);
      assert.equal(
        await ask({ signals }),
        at === CONTEXT ? "CONTEXT_MISMATCH" : "PROOF_INVALID",
        `signal ${String(at)}`,
      );
    }
  });

  it("P3 enclave: still attests the honest swap after all that", async () => {
    assert.deepEqual((await field.attest(swap)).signature, attestation);
  });

  const honest = (bent: Partial<PoolTransaction> = {}): PoolTransaction =>
    poolTransaction(swap, attestation, bent);
  /** Signed by a stranger over exactly what the changed transaction says. */
  async function forged(changed: PoolTransaction): Promise<PoolTransaction> {
    const { deadline, signals } = changed;
    const statementHash = statementHashOf("private-swap", deadline, signals, mustFromHex(changed.ext));
    const digest = attestationDigest(field.home, {
      kind: "private-swap",
      verifyingKeyHash: (await committedKeyHashes())["private-swap"],
      statementHash,
      proofHash: keccakHex(mustFromHex(changed.proof)),
      deadline,
    });
    return { ...changed, attestations: toHex(signatureBytes(stranger, digest)) };
  }
  /** Sends all of them in one batch, and demands that nothing whatever changed. Error and its first argument of each. */
  async function refusals(changed: readonly PoolTransaction[]): Promise<(readonly [string, unknown])[]> {
    const { nullifiers } = swap.statement.facts;
    const before = await bazaar.snapshot(nullifiers);
    const { members, reasons } = await field.execute(changed);
    assert.deepEqual(await bazaar.snapshot(nullifiers), before);
    assert.equal(members.length, changed.length);
    return members.map((error, at) => [error, reasons[at]?.[0]] as const);
  }

  /** Under the honest swap's attestation, which then names nobody, and under the stranger's. */
  async function refusedBothWays(changed: readonly PoolTransaction[]): Promise<void> {
    for (const [error, named] of await refusals(changed)) {
      assert.equal(error, "SignerUnknown");
      assert.notEqual(String(named).toLowerCase(), field.signer);
    }
    const strangers = await Promise.all(changed.map(forged));
    for (const outcome of await refusals(strangers)) {
      assert.deepEqual(outcome, ["SignerUnknown", computeAddress(stranger)]);
    }
  }

  it("P3 pool: every changed term of a swap, attested for another one or by a stranger", async () => {
    const kept = changes.map(([, ext]) => honest({ ext: toHex(ext) }));
    for (const [error] of await refusals(kept)) assert.equal(error, "ContextMismatch");
    await refusedBothWays(changes.map(([, ext]) => honest({ ext: toHex(ext), signals: recomputed(ext) })));
  });

  it("P3 pool: a changed amount or deadline of a swap, and what the payer could have added", async () => {
    const plain = await refusals([honest({ deadline: later() }), honest({ authorization: "0x00" })]);
    assert.deepEqual(
      plain.map(([error]) => error),
      ["ContextMismatch", "AuthorizationMalformed"],
    );
    await refusedBothWays([
      honest({ signals: withSignal(swap.statement.signals, AMOUNT, 90n * DOLLAR) }),
      honest({ deadline: later(), signals: recomputed(swap.statement.extBytes, later()) }),
    ]);
  });

  it("P3 pool: still executes the honest swap, and what it bought is the user's, to the unit, and can be spent", async () => {
    await bazaar.settle(swap);
    assert.deepEqual(await bazaar.holdings(), [40n * DOLLAR, 0n, promised]);
    assert.equal((await field.restore(thief)).notes.length, 0);
    const restored = await field.restore(keys);
    const bought = notesOf(restored, bazaar.token);
    assert.deepEqual(
      bought.map(({ value, source }) => [value, source]),
      [[promised, "swap"]],
    );
    const said = (await field.events()).flatMap((event) =>
      event.kind === "leaf" ? [event.data.ciphertext] : [],
    );
    assert.deepEqual(said.slice(-4), terms.ciphertexts.map(toHex));

    const out = freshAddress();
    const payment = { type: "withdraw", recipient: out, value: promised } as const;
    await bazaar.settle(await bazaar.pay(restored, { notes: bought, asset: bazaar.token, payment }));
    assert.equal(await bazaar.balance(bazaar.token, out), promised);
    assert.deepEqual(await bazaar.holdings(), [40n * DOLLAR, 0n, 0n]);
  });
});
