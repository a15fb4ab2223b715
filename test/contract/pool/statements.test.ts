// Every refusal of a statement, each for its own reason, and that a refusal changes nothing. See statements.tree.
import assert from "node:assert/strict";
import type { JsonRpcSigner } from "ethers";
import {
  type Draft,
  drawBytes,
  drawField,
  reattested,
  seal,
  type Sealed,
  signalsOf,
} from "../../support/drafts.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { FIELD_ORDER, ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { mustFromHex, concatBytes, toHex, word } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { readExecuted } from "../../../shared/protocol/host/executed-log.ts";
import { KIND_NAMES, KINDS } from "../../../shared/protocol/statements.ts";
import { TREE_CAPACITY } from "../../../shared/protocol/tree.ts";
import { executedLogOf, fault, freshAddress, rawLog, World, type Fault } from "./world.ts";

describe("pool: rules of a statement", () => {
  let world: World;
  before(async () => {
    world = await World.start({ forAllKinds: true });
    await world.executeOne(await world.deposit({ amount: 1_000_000_000n }));
  });
  after(() => world.stop());

  /** Refused with that fault, the queue and the tokens as before. */
  async function assertRefused(member: Sealed, expected: Fault): Promise<void> {
    const state = async (): Promise<string> =>
      String([
        await world.pool.getFunction("queue")(),
        await world.usdc.getFunction("balanceOf")(world.pool),
      ]);
    const before = await state();
    assert.deepEqual(await world.executeOne(member), expected);
    assert.equal(await state(), before);
    for (const nullifier of member.draft.nullifiers.filter((value) => value < FIELD_ORDER)) {
      if (expected.error !== "NullifierSpent") {
        assert.equal(await world.pool.getFunction("isSpent")(nullifier), false);
      }
    }
  }

  /** Sealed rightly, then changed on its way: what an attacker without a signer can do. */
  function changed(member: Sealed, changes: Partial<Sealed["transaction"]>): Sealed {
    return { ...member, transaction: { ...member.transaction, ...changes } };
  }

  const payout = (recipient: Address, changes: Partial<Draft> = {}): Sealed =>
    seal({ ...world.withdrawalDraft(recipient, 1_000n), ...changes });

  it("executes a transfer, a deposit and a withdrawal that keep every rule", async () => {
    const recipient = freshAddress();
    const members = [world.transfer(), await world.deposit(), payout(recipient)];
    const first = world.queue.count;
    const { members: outcomes } = await world.execute(members);
    assert.deepEqual(outcomes, [first, first + 4n, first + 7n]);
    assert.equal(await world.usdc.getFunction("balanceOf")(recipient), 1_000n);
    assert.deepEqual([...(await world.pool.getFunction("queue")())], [world.queue.count, world.queue.head]);
  });

  it("says in the event which statement, what was spent and what was made", async () => {
    const member = world.transfer();
    const first = world.queue.count;
    const { receipt } = await world.execute([member]);
    assert.deepEqual(rawLog(world, receipt, "Executed"), executedLogOf(member, first));
    const log = readExecuted(receipt.logs[0]!);
    assert.equal(log?.statement, member.statementHash);
    assert.equal(log.kind, "spend");
    assert.deepEqual(log.nullifiers, member.draft.nullifiers);
    assert.deepEqual(log.commitments, member.draft.commitments);
    assert.equal(toHex(concatBytes(log.ephemeralKey, ...log.ciphertexts)), toHex(member.draft.ext.slice(20)));
    assert.equal(log.moved, undefined);
    assert.equal(receipt.logs[0]!.data.length, 2 + 2 * 477, "what a private transfer costs in the log");
  });

  it("names in the event the proof as it stood in calldata, whatever proof that was", async () => {
    const proof = new Uint8Array(128).fill(0xa5);
    const { receipt } = await world.execute([seal({ ...world.transfer().draft, proof })]);
    assert.equal(readExecuted(receipt.logs[0]!)?.proofHash, keccakHex(proof));
  });

  it("says in the event what moved and whose it is: of a deposit the depositor, of a withdrawal the recipient", async () => {
    const out = freshAddress();
    const deposit = await world.deposit();
    const moved = async (member: Sealed) => {
      const { receipt } = await world.execute([member]);
      const raw = rawLog(world, receipt, "Executed");
      return readExecuted(raw)?.moved;
    };
    const { asset, amount } = deposit.draft;
    assert.deepEqual(await moved(deposit), {
      ...{ asset: toHex(word(asset).slice(12)), amount, party: toHex(deposit.draft.ext.slice(0, 20)) },
    });
    const payment = payout(out);
    assert.deepEqual(await moved(payment), {
      ...{ asset: world.usdcAddress, amount: payment.draft.amount, party: out },
    });
  });

  it("UnknownKind: a kind that is not in the table", async () => {
    for (const kind of [0, 5, 6, 255]) {
      await assertRefused(changed(world.transfer(), { kind }), fault("UnknownKind", BigInt(kind)));
    }
  });

  it("DeadlinePassed: the user's deadline is over", async () => {
    const now = BigInt((await world.provider.getBlock("latest"))!.timestamp);
    await assertRefused(world.transfer({ deadline: now - 1n }), fault("DeadlinePassed", now - 1n));
    await assertRefused(world.transfer({ deadline: 0n }), fault("DeadlinePassed", 0n));
  });

  it("executes in the very second of the deadline", async () => {
    const at = (await world.provider.getBlock("latest"))!.timestamp + 100;
    await world.provider.send("evm_setNextBlockTimestamp", [at]);
    assert.equal(typeof (await world.executeOne(world.transfer({ deadline: BigInt(at) }))), "bigint");
  });

  it("SignalCount: one signal less, one more, none", async () => {
    const member = world.transfer();
    const { signals } = member.transaction;
    for (const bent of [signals.slice(1), [...signals, 0n], []]) {
      await assertRefused(changed(member, { signals: bent }), fault("SignalCount", BigInt(bent.length), 10n));
    }
  });

  it("SignalOutOfRange: every signal at or above r, also with a true attestation for it", async () => {
    const { signals } = world.transfer().transaction;
    for (const i of signals.keys()) {
      const member = world.transfer();
      const aliased = member.transaction.signals.map((value, j) => (i === j ? value + FIELD_ORDER : value));
      await assertRefused(changed(member, { signals: aliased }), fault("SignalOutOfRange", BigInt(i)));
    }
    await assertRefused(
      world.transfer({ nullifiers: [FIELD_ORDER, drawField()] }),
      fault("SignalOutOfRange", 4n),
    );
    const deposit = await world.deposit({ commitments: [1n, 2n, 2n ** 256n - 1n] });
    await assertRefused(deposit, fault("SignalOutOfRange", 5n));
  });

  it("ExtLength: a byte less, a byte more, the length of another kind", async () => {
    const { ext } = world.transferDraft();
    const other = world.depositDraft().ext;
    for (const bent of [ext.slice(1), concatBytes(ext, Uint8Array.of(0)), other, new Uint8Array(0)]) {
      await assertRefused(world.transfer({ ext: bent }), fault("ExtLength", BigInt(bent.length), 264n));
    }
    await assertRefused(
      await world.deposit({ ext: other }).then((m) => changed(m, { ext: toHex(ext) })),
      fault("ExtLength", 264n, 227n),
    );
  });

  it("ProofLength: anything but 128 bytes, or 256 without an attestation", async () => {
    for (const length of [0, 127, 129, 255, 257]) {
      await assertRefused(world.transfer({ proof: drawBytes(length) }), fault("ProofLength", BigInt(length)));
    }
    await assertRefused(world.transfer({ proof: drawBytes(256) }), fault("AttestationLength", 65n));
  });

  it("ContextMismatch: terms that the proof did not bind, even when a signer attests them", async () => {
    await assertRefused(world.transfer({ context: 1n }), fault("ContextMismatch"));
    const member = payout(freshAddress());
    const stolen = concatBytes(mustFromHex(freshAddress()), member.draft.ext.slice(20));
    await assertRefused(changed(member, { ext: toHex(stolen) }), fault("ContextMismatch"));
    await assertRefused(changed(member, { deadline: member.draft.deadline + 1n }), fault("ContextMismatch"));
    // An amount is a signal of its own: the attestation is for another one.
    const richer = changed(member, { signals: member.transaction.signals.with(3, 2_000n) });
    assert.equal(((await world.executeOne(richer)) as Fault).error, "SignerUnknown");
    const ciphertextChanged = Uint8Array.from(member.draft.ext);
    ciphertextChanged[263]! ^= 1;
    await assertRefused(changed(member, { ext: toHex(ciphertextChanged) }), fault("ContextMismatch"));
  });

  it("AssetOutOfRange: an asset of 161 bits", async () => {
    await assertRefused(payout(freshAddress(), { asset: 2n ** 160n }), fault("AssetOutOfRange"));
    await assertRefused(
      payout(freshAddress(), { asset: BigInt(world.usdcAddress) + 2n ** 160n }),
      fault("AssetOutOfRange"),
    );
  });

  it("AmountOutOfRange: an amount of 129 bits", async () => {
    await assertRefused(payout(freshAddress(), { amount: 2n ** 128n }), fault("AmountOutOfRange"));
    await assertRefused(await world.deposit({ amount: 2n ** 128n }), fault("AmountOutOfRange"));
  });

  it("ZeroAmount: a deposit of nothing", async () => {
    await assertRefused(await world.deposit({ amount: 0n }), fault("ZeroAmount"));
  });

  it("AssetMismatch: an asset without an amount, an amount without an asset", async () => {
    await assertRefused(world.transfer({ asset: BigInt(world.usdcAddress) }), fault("AssetMismatch"));
    await assertRefused(payout(freshAddress(), { asset: 0n }), fault("AssetMismatch"));
  });

  it("RecipientMismatch: a recipient without an amount, an amount without a recipient", async () => {
    const { ext } = world.withdrawalDraft(freshAddress(), 1n);
    await assertRefused(world.transfer({ ext }), fault("RecipientMismatch"));
    await assertRefused(payout(ZERO_ADDRESS), fault("RecipientMismatch"));
  });

  it("RecipientForbidden: the pool or the token, where the money would be stuck", async () => {
    for (const recipient of [world.setting.home.pool, world.usdcAddress]) {
      const { error, args } = (await world.executeOne(payout(recipient))) as Fault;
      assert.deepEqual([error, String(args[0]).toLowerCase()], ["RecipientForbidden", recipient]);
    }
  });

  it("AssetUnsupported: a token that is not listed, in and out", async () => {
    const stranger = freshAddress();
    for (const member of [
      payout(freshAddress(), { asset: BigInt(stranger) }),
      await world.deposit({ asset: BigInt(stranger) }),
    ]) {
      const { error, args } = (await world.executeOne(member)) as Fault;
      assert.deepEqual([error, String(args[0]).toLowerCase()], ["AssetUnsupported", stranger]);
    }
  });

  for (const kind of KIND_NAMES) {
    describe(`of every kind alike: ${kind}`, () => {
      const size = { "deposit-shield": 227n, spend: 264n, spend9: 264n, "private-swap": 338n }[kind];
      const sender = (): Promise<JsonRpcSigner> => world.account(kind === "deposit-shield" ? 1 : 0);
      const made = (changes: Partial<Draft> = {}): Sealed => seal({ ...world.draftOf(kind), ...changes });
      /** Sent by whoever may send the genuine one. */
      const outcomeOf = async (member: Sealed): Promise<bigint | Fault> =>
        world.executeOne(member, await sender());

      it("is executed when it keeps every rule, with all its leaves and ciphertexts", async () => {
        const first = world.queue.count;
        const member = made();
        const { members, receipt } = await world.execute([member], undefined, { sender: await sender() });
        assert.deepEqual(members, [first]);
        assert.equal(world.queue.count, first + BigInt(KINDS[kind].leaves));
        const log = rawLog(world, receipt, "Executed");
        assert.deepEqual(log, executedLogOf(member, first));
        assert.equal(readExecuted(log)?.kind, kind);
        assert.equal(readExecuted(log)?.ciphertexts.length, KINDS[kind].leaves);
        assert.deepEqual(readExecuted(log)?.nullifiers, member.draft.nullifiers);
        assert.deepEqual(
          [...(await world.pool.getFunction("queue")())],
          [world.queue.count, world.queue.head],
        );
      });

      it("SignalOutOfRange: the second spelling of each signal, also with a true attestation for it", async () => {
        for (const i of signalsOf(made().draft).keys()) {
          const { transaction } = made();
          const signals = transaction.signals.with(i, transaction.signals[i]! + FIELD_ORDER);
          const bent = reattested({ ...made(), transaction: { ...transaction, signals } });
          assert.deepEqual(await outcomeOf(bent), fault("SignalOutOfRange", BigInt(i)));
        }
      });

      it("SignalCount, ExtLength, ProofLength: a part less or more", async () => {
        const count = BigInt(signalsOf(made().draft).length);
        for (const change of [(all: bigint[]) => all.slice(1), (all: bigint[]) => [...all, 0n]]) {
          const member = made();
          const signals = change(member.transaction.signals);
          assert.deepEqual(
            await outcomeOf(changed(member, { signals })),
            fault("SignalCount", BigInt(signals.length), count),
          );
        }
        const { ext } = made().draft;
        for (const bent of [ext.slice(1), concatBytes(ext, Uint8Array.of(0))]) {
          assert.deepEqual(
            await outcomeOf(made({ ext: bent })),
            fault("ExtLength", BigInt(bent.length), size),
          );
        }
        assert.deepEqual(await outcomeOf(made({ proof: drawBytes(127) })), fault("ProofLength", 127n));
      });

      it("ContextMismatch: the last byte of ext, and the deadline", async () => {
        const member = made();
        const ext = Uint8Array.from(member.draft.ext);
        ext[ext.length - 1]! ^= 1;
        assert.deepEqual(await outcomeOf(changed(member, { ext: toHex(ext) })), fault("ContextMismatch"));
        const deadline = member.draft.deadline - 1n;
        assert.deepEqual(await outcomeOf(changed(member, { deadline })), fault("ContextMismatch"));
      });

      it("CommitmentZero: at any place", async () => {
        const { commitments } = made().draft;
        for (const i of commitments.keys()) {
          assert.deepEqual(
            await outcomeOf(made({ commitments: commitments.with(i, 0n) })),
            fault("CommitmentZero"),
          );
        }
      });

      if (KINDS[kind].inputs > 0) {
        it("NullifierSpent: by any of its notes; RootUnknown: for a root that never was", async () => {
          const spent = drawField();
          await world.executeOne(world.transfer({ nullifiers: [spent, drawField()] }));
          const { nullifiers } = made().draft;
          for (const i of nullifiers.keys()) {
            const member = made({ nullifiers: nullifiers.with(i, spent) });
            assert.deepEqual(await outcomeOf(member), fault("NullifierSpent", spent));
          }
          assert.deepEqual(await outcomeOf(made({ root: 1n })), fault("RootUnknown", 1n));
        });

        it("NullifiersNotDistinct: one note twice, at any two places", async () => {
          const { nullifiers } = made().draft;
          for (const i of nullifiers.keys()) {
            for (let j = 0; j < i; j++) {
              const member = made({ nullifiers: nullifiers.with(i, nullifiers[j]!) });
              assert.deepEqual(await outcomeOf(member), fault("NullifiersNotDistinct"));
            }
          }
        });
      }
    });
  }

  it("RootUnknown: a root that the pool never had", async () => {
    const root = drawField();
    await assertRefused(world.transfer({ root }), fault("RootUnknown", root));
    await assertRefused(world.transfer({ root: 0n }), fault("RootUnknown", 0n));
  });

  it("NullifierSpent: a note spent before, in another call and in the same one, at either place", async () => {
    const [a, b] = [drawField(), drawField()];
    await world.execute([world.transfer({ nullifiers: [a, b] })]);
    await assertRefused(world.transfer({ nullifiers: [a, drawField()] }), fault("NullifierSpent", a));
    await assertRefused(world.transfer({ nullifiers: [drawField(), b] }), fault("NullifierSpent", b));
    assert.equal(await world.pool.getFunction("isSpent")(a), true);

    const c = drawField();
    const twins = [
      world.transfer({ nullifiers: [c, drawField()] }),
      world.transfer({ nullifiers: [drawField(), c] }),
    ];
    const { members } = await world.execute(twins);
    assert.equal(typeof members[0], "bigint");
    assert.deepEqual(members[1], fault("NullifierSpent", c));
  });

  it("NullifiersNotDistinct: one note twice in one statement", async () => {
    const nullifier = drawField();
    await assertRefused(
      world.transfer({ nullifiers: [nullifier, nullifier] }),
      fault("NullifiersNotDistinct"),
    );
  });

  it("CommitmentZero: the empty leaf as a note", async () => {
    for (const i of [0, 1, 2, 3]) {
      const { commitments } = world.transferDraft();
      await assertRefused(world.transfer({ commitments: commitments.with(i, 0n) }), fault("CommitmentZero"));
    }
    await assertRefused(await world.deposit({ commitments: [1n, 0n, 2n] }), fault("CommitmentZero"));
  });

  it("AuthorizationMalformed: an authorization where none belongs", async () => {
    await assertRefused(
      changed(world.transfer(), { authorization: "0x00" }),
      fault("AuthorizationMalformed"),
    );
  });

  it("attestation faults: none, a part of one, by a stranger, for another statement, kind key or proof", async () => {
    const member = world.transfer();
    const signed = member.transaction.attestations;
    await assertRefused(changed(member, { attestations: "0x" }), fault("TooFewAttestations", 0n, 1n));
    await assertRefused(
      changed(member, { attestations: signed.slice(0, -2) }),
      fault("AttestationLength", 64n),
    );
    await assertRefused(changed(member, { attestations: `${signed}00` }), fault("AttestationLength", 66n));
    const unknown = (await world.executeOne(world.transfer({ attesters: [attester(99)] }))) as Fault;
    assert.deepEqual(
      [unknown.error, String(unknown.args[0]).toLowerCase()],
      ["SignerUnknown", attester(99).address],
    );

    const other = world.transfer().transaction;
    const keyOfDeposits = world.setting.verifyingKeyHashes["deposit-shield"];
    for (const forged of [
      changed(member, { attestations: other.attestations }),
      changed(member, { proof: other.proof }),
      changed(member, { signals: member.transaction.signals.with(9, drawField()) }),
      world.transfer({ verifyingKeyHash: keyOfDeposits }),
    ]) {
      assert.equal(((await world.executeOne(forged)) as Fault).error, "SignerUnknown");
    }
  });

  it("TreeFull: the last place of the tree stays empty", async () => {
    const restore = await world.remember();
    await world.pretendLeafCount(TREE_CAPACITY - 4n);
    await assertRefused(world.transfer(), fault("TreeFull"));
    await world.pretendLeafCount(TREE_CAPACITY - 5n);
    assert.equal(await world.executeOne(world.transfer()), TREE_CAPACITY - 5n);
    await restore();
  });
});
