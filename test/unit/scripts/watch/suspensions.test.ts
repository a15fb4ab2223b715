// What the watcher says of suspensions and confirmations that no honest pool makes: the pool's words are made up here.
import assert from "node:assert/strict";
import { ownerEventOf } from "../../../../proxy/base/chain/owner-events.ts";
import { poolInterface, type Handed, type Member } from "../../../../scripts/watch/calls.ts";
import { Contradiction } from "../../../../scripts/watch/findings.ts";
import { judge } from "../../../../scripts/watch/judge.ts";
import { Ledger } from "../../../../scripts/watch/ledger.ts";
import type { Log } from "../../../../scripts/watch/node.ts";
import {
  mustField,
  ZERO_ADDRESS,
  ZERO_BYTES32,
  type Address,
  type Bytes32,
} from "../../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex, word } from "../../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../../shared/protocol/hash.ts";
import { poseidon3 } from "../../../../shared/protocol/host/poseidon.ts";
import { emptyFrontier } from "../../../../shared/protocol/host/frontier.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import {
  CIPHERTEXT_BYTES,
  decodeExt,
  EPHEMERAL_KEY_BYTES,
  KIND_NAMES,
  KINDS,
  type Kind,
} from "../../../../shared/protocol/statements.ts";
import { draftAgain } from "../../../support/draft-again.ts";
import {
  depositDraft,
  drawBytes,
  drawField,
  seal,
  spendDraft,
  swapDraft,
  type Draft,
  type Sealed,
} from "../../../support/drafts.ts";
import { executedLog } from "../../../support/oracle.ts";

const address = (byte: string): Address => asAddress(`0x${byte.repeat(20)}`)!;
const [POOL, ASSET, OTHER] = [address("c1"), address("a5"), address("a6")];
const [PARTY, SIGNER] = [address("b7"), address("51")];
const home = { chainId: 7n, pool: POOL };
const eachKind = <T>(of: (kind: Kind) => T) =>
  Object.fromEntries(KIND_NAMES.map((kind) => [kind, of(kind)])) as Record<Kind, T>;
const setting = {
  ...{ home, deadline: 4_000n, attesters: [] },
  verifyingKeyHashes: eachKind(() => ZERO_BYTES32),
};
const pool = {
  ...{ home, threshold: 1, provedDelay: 0, keyHashes: setting.verifyingKeyHashes },
  ...{ attestationRoot: ZERO_BYTES32, maxDocumentAgeSecs: 1 },
};
/** keccak256 of `Transfer(address,address,uint256)` (EIP-20). */
const TRANSFER = keccakHex(new TextEncoder().encode("Transfer(address,address,uint256)"));
const BOUGHT = 55n;
const WORD_BYTES = 32;
const LEAVES_OF_DEPOSIT = KINDS["deposit-shield"].leaves;
const DIRECT = { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 };

type Words = { readonly topics: readonly string[]; readonly data: string; readonly of?: Address };
const says = (name: string, ...args: unknown[]): Words =>
  poolInterface.encodeEventLog(poolInterface.getEvent(name)!, args);

/** What a token says when so much of it leaves the pool, or comes in. */
function moves(of: Address, amount: bigint, isOut: boolean): Words {
  const [from, to] = (isOut ? [POOL, PARTY] : [PARTY, POOL]).map((one) => toHex(word(BigInt(one))));
  return { of, topics: [TRANSFER, from!, to!], data: toHex(word(amount)) };
}

/** Proved, and vouched for by nobody; the proof is believed here. */
const proved = (draft: Draft): Sealed => seal({ ...draft, proof: drawBytes(256) });

const noteOf = ({ draft: { kind, ext } }: Sealed, value = BOUGHT): bigint => {
  const terms = decodeExt(kind, ext);
  assert.ok(terms?.kind === "private-swap");
  return poseidon3(mustField(terms.npkOut), BigInt(OTHER), value);
};

class Stage {
  readonly ledger = new Ledger();
  #blocks = 0;

  constructor() {
    this.ledger.change(ownerEventOf("SignerRegistered", { signer: SIGNER })!, 0);
  }

  /** Judges one transaction. @returns what the watcher says of it */
  hears(words: readonly Words[], handed: readonly Handed[] = []): string[] {
    const { ledger } = this;
    const number = ++this.#blocks;
    const before = ledger.findings.length;
    const logs = words.map(
      ({ topics, data, of = POOL }, logIndex) => ({ topics, data, address: of, logIndex }) as unknown as Log,
    );
    judge({
      ...{ ledger, pool, verifier: { faultOf: () => undefined } },
      header: { number, hash: ZERO_BYTES32, parentHash: ZERO_BYTES32, timestamp: 1_000 + number },
      transaction: { hash: ZERO_BYTES32, logs, handed },
    });
    return ledger.findings.slice(before).map(({ code }) => code);
  }

  /** The pool's words for a statement that goes behind all others, as it is or as one that comes again. */
  executed(sealed: Sealed, isAgain = false, value = BOUGHT): Words[] {
    const { draft, statementHash } = sealed;
    const { kind, ext, amount, asset, nullifiers, commitments } = draft;
    const { id, leaves } = KINDS[kind];
    const first = this.ledger.leafCount;
    const carried = ext.slice(-(EPHEMERAL_KEY_BYTES + leaves * CIPHERTEXT_BYTES));
    const isSwap = kind === "private-swap";
    const moved = {
      ...{ asset: toHex(word(asset).slice(12)), amount },
      ...(isSwap ? {} : { party: toHex(ext.slice(0, 20)) }),
    };
    const log = executedLog({
      ...{ statementHash, kindId: id, firstLeafIndex: first, proofHash: keccakHex(draft.proof) },
      ...{ nullifiers, commitments, ephemeralKey: toHex(carried.slice(0, EPHEMERAL_KEY_BYTES)) },
      ciphertexts: [toHex(carried.slice(EPHEMERAL_KEY_BYTES))],
      ...(isAgain ? {} : { moved }),
    });
    if (!isSwap) return [log];
    const terms = decodeExt(kind, ext);
    assert.ok(terms?.kind === "private-swap");
    const place = first + BigInt(commitments.length);
    const parts = [place, noteOf(sealed, value), terms.npkOut, OTHER, value];
    return [
      log,
      ...(isAgain ? [] : [moves(OTHER, value, false)]),
      says("NoteHashed", statementHash, ...parts),
    ];
  }

  /** A deposit, and a root over all that there is. */
  root(): bigint {
    const deposit = proved(depositDraft(setting, { asset: ASSET, amount: 10n ** 6n, depositor: PARTY }));
    const codes = this.hears(
      [...this.executed(deposit), moves(ASSET, 10n ** 6n, false)],
      [memberOf(deposit)],
    );
    assert.deepEqual(codes, []);
    assert.deepEqual(this.hears(this.rooted(), [{ type: "advance" }]), []);
    return this.ledger.roots.newest.announced;
  }

  /** The pool's words for the true root. */
  rooted(): Words[] {
    const { ledger } = this;
    const frontier = emptyFrontier();
    for (const [i, leaf] of ledger.leavesBetween(0, Number(ledger.leafCount)).entries())
      frontier.append(ledger.isVoid(i) ? mustField(0n) : leaf);
    return [says("RootUpdated", frontier.root(), ledger.leafCount, ledger.roots.sequence + 1)];
  }

  /** Two roots; the second is revoked when these have been executed on it. */
  tainted(...drafts: readonly Draft[]): Sealed[] {
    this.root();
    const root = this.root();
    const members = drafts.map((draft) => proved({ ...draft, root }));
    for (const member of members) assert.deepEqual(this.hears(this.executed(member), [memberOf(member)]), []);
    this.revoke();
    return members;
  }

  revoke(): void {
    this.ledger.revoke(2, 2, LEAVES_OF_DEPOSIT);
  }

  get good(): bigint {
    return this.ledger.roots.newest.announced;
  }

  /** The pool's words, and what the watcher says of them. */
  comesAgain(earlier: Bytes32, sealed: Sealed, value = BOUGHT, more: readonly Words[] = []): string[] {
    const words = [says("Confirmed", sealed.statementHash, earlier), ...this.executed(sealed, true, value)];
    return this.hears([...words, ...more], [memberOf(sealed)]);
  }
}

function memberOf({ transaction: { kind, deadline, signals, ext, proof, authorization } }: Sealed): Member {
  const [extBytes, proofBytes, shown] = [ext, proof, authorization].map(mustFromHex);
  return {
    ...{ type: "member", kindId: kind, deadline, signals, ext: extBytes!, proof: proofBytes! },
    ...{ authorization: shown!, attestations: new Uint8Array(0) },
  };
}

const payment = (amount = 5n): Draft => spendDraft(setting, 0n, { asset: ASSET, amount, recipient: PARTY });
const trade = (): Draft =>
  swapDraft(setting, 0n, { asset: ASSET, amount: 5n, tokenOut: OTHER, path: DIRECT });
const suspends = (first: number, count = 4): Words => says("LeavesSuspended", first, count);
/** Where the first statement of `tainted` is. */
const FIRST = 2 * LEAVES_OF_DEPOSIT;

describe("scripts/watch: suspensions and confirmations", () => {
  it("finds no fault in a payment and a swap that were suspended and come again", async () => {
    const stage = new Stage();
    const [paid, swapped] = stage.tainted(payment(), trade()) as [Sealed, Sealed];
    const owed = [stage.ledger.owed.get(ASSET), stage.ledger.owed.get(OTHER)];
    const advanced = [suspends(FIRST), suspends(FIRST + 4)];
    assert.deepEqual(stage.hears(advanced), ["SUSPENDED", "SUSPENDED"]);
    assert.deepEqual(stage.hears(stage.rooted(), [{ type: "advance" }]), []);
    assert.equal(stage.ledger.isRolledBack, false);
    for (const one of [paid, swapped])
      assert.deepEqual(stage.comesAgain(one.statementHash, proved(draftAgain(one, stage.good))), [
        "CONFIRMED",
      ]);
    assert.deepEqual([stage.ledger.owed.get(ASSET), stage.ledger.owed.get(OTHER)], owed);
  });

  describe("a suspension", () => {
    const isWrong = (words: readonly Words[], stage: Stage): void =>
      assert.deepEqual(stage.hears(words), ["SUSPENSION_WRONG"]);

    it("of what was proved on a root that stands, of a deposit, or of what is no statement, is wrong", () => {
      const stage = new Stage();
      const member = proved({ ...payment(), root: stage.root() });
      stage.hears(stage.executed(member), [memberOf(member)]);
      isWrong([suspends(LEAVES_OF_DEPOSIT)], stage);
      isWrong([suspends(0, LEAVES_OF_DEPOSIT)], stage);
      isWrong([suspends(LEAVES_OF_DEPOSIT + 1, 2)], stage);
      assert.throws(() => stage.hears([suspends(FIRST, 40)]), Contradiction);
    });

    it("twice is wrong", () => {
      const stage = new Stage();
      stage.tainted(payment());
      assert.deepEqual(stage.hears([suspends(FIRST)]), ["SUSPENDED"]);
      isWrong([suspends(FIRST)], stage);
    });

    it("that is left out, where `advance` takes the leaves, is wrong", () => {
      const stage = new Stage();
      stage.tainted(payment());
      assert.deepEqual(stage.hears(stage.rooted(), [{ type: "advance" }]), ["SUSPENSION_WRONG"]);
    });
  });

  describe("a confirmation", () => {
    function suspended(draft = payment()): { stage: Stage; member: Sealed } {
      const stage = new Stage();
      const [member] = stage.tainted(draft);
      stage.hears([suspends(FIRST)]);
      return { stage, member: member! };
    }

    it("of nothing, of what is not suspended, or a second one, is wrong", () => {
      const { stage, member } = suspended();
      const stranger = draftAgain(proved(payment()), stage.good);
      assert.deepEqual(stage.comesAgain(ZERO_BYTES32, proved(stranger)), ["CONFIRMATION_WRONG"]);
      const other = proved({ ...payment(), root: stage.good });
      assert.deepEqual(stage.hears(stage.executed(other), [memberOf(other)]), []);
      const again = (of: Sealed) => stage.comesAgain(of.statementHash, proved(draftAgain(of, stage.good)));
      assert.deepEqual(again(other), ["CONFIRMATION_WRONG"]);
      assert.deepEqual([again(member), again(member)], [["CONFIRMED"], ["CONFIRMATION_WRONG"]]);
    });

    it("with other notes, of another amount, or for another deadline than it was executed with, is wrong", () => {
      for (const change of [
        { nullifiers: [drawField(), drawField()] },
        { commitments: [drawField(), drawField(), drawField(), drawField()] },
        { amount: 6n },
      ]) {
        const { stage, member } = suspended();
        const bent = proved({ ...draftAgain(member, stage.good), ...change });
        assert.deepEqual(stage.comesAgain(member.statementHash, bent), ["CONFIRMATION_WRONG"]);
      }
      const { stage, member } = suspended();
      const shown = draftAgain(member, stage.good);
      const authorization = concatBytes(word(3_999n), shown.authorization.slice(WORD_BYTES));
      assert.deepEqual(stage.comesAgain(member.statementHash, proved({ ...shown, authorization })), [
        "CONFIRMATION_WRONG",
      ]);
    });

    it("of a swap with another value than came in is wrong", () => {
      const { stage, member } = suspended(trade());
      const bent = proved(draftAgain(member, stage.good, BOUGHT + 1n));
      assert.deepEqual(stage.comesAgain(member.statementHash, bent, BOUGHT + 1n), ["CONFIRMATION_WRONG"]);
    });

    it("for which money leaves is wrong", () => {
      const { stage, member } = suspended();
      const again = proved(draftAgain(member, stage.good));
      const codes = stage.comesAgain(member.statementHash, again, BOUGHT, [moves(ASSET, 5n, true)]);
      assert.deepEqual(codes, ["CONFIRMED", "TRANSFER_MISMATCH"]);
    });

    it("without its statement, or a statement that moves nothing without it, is no word of the pool", () => {
      const { stage, member } = suspended();
      const again = proved(draftAgain(member, stage.good));
      const said = says("Confirmed", again.statementHash, member.statementHash);
      assert.throws(() => stage.hears([said]), Contradiction);
      for (const draft of [payment(), trade()]) {
        const one = proved({ ...draft, root: stage.good });
        assert.throws(() => stage.hears(stage.executed(one, true), [memberOf(one)]), Contradiction);
      }
      assert.throws(() => stage.hears([said, ...stage.executed(again)], [memberOf(again)]), Contradiction);
    });
  });

  describe("a claim", () => {
    const rooted = (number: number): Words => says("ClaimRooted", ASSET, 0, number);

    it("counts again with its statement and not with another; refuted, it is on its revoked root as before", () => {
      const stage = new Stage();
      stage.root();
      const member = proved({ ...payment(), root: stage.root() });
      const made = says("ClaimAdded", member.statementHash, ASSET, 0, PARTY, 5n, 2);
      assert.deepEqual(stage.hears([...stage.executed(member), made], [memberOf(member)]), ["CLAIM_MADE"]);
      stage.revoke();
      const removed = says("ClaimRemoved", ASSET, 0, 5n);
      assert.deepEqual(stage.hears([suspends(FIRST), removed]), ["SUSPENDED", "CLAIM_REMOVED"]);

      const claim = () => stage.ledger.claims.of(ASSET)[0]!;
      const first = Number(stage.ledger.leafCount);
      const again = proved(draftAgain(member, stage.good));
      const codes = stage.comesAgain(member.statementHash, again, BOUGHT, [rooted(1)]);
      assert.deepEqual(codes, ["CONFIRMED", "CLAIM_ROOTED"]);
      assert.deepEqual([claim().rootNumber, claim().isRemoved], [1, false]);

      const voided = says("LeavesVoided", again.statementHash, first, 4);
      assert.deepEqual(stage.hears([rooted(2), voided]), ["CLAIM_ROOTED", "REFUTATION_FALSE", "VOIDED"]);
      assert.equal(claim().rootNumber, 2);
      assert.deepEqual(stage.hears([rooted(1)]), ["CLAIM_WRONG", "CLAIM_ROOTED"]);

      const third = proved(draftAgain(member, stage.good));
      const wrong = stage.comesAgain(member.statementHash, third, BOUGHT, [rooted(0)]);
      // The very statement that was refuted, with a true proof.
      assert.deepEqual(wrong, ["CONFIRMED", "PROVED_AGAIN", "CLAIM_WRONG", "CLAIM_ROOTED"]);
    });
  });
});
