/** What the watcher shows the pool, and what both make of it: see refuter.tree. The pool, its verifiers and every honest proof are real. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HDNodeWallet, JsonRpcProvider } from "ethers";
import { committedKeyHashes } from "../../../scripts/deploy/pool.ts";
import { Account, memoryBook, type SentBook } from "../../../scripts/watch/account.ts";
import type { FalseStatement } from "../../../scripts/watch/evidence.ts";
import type { Finding } from "../../../scripts/watch/findings.ts";
import { memoryJournal, type Journal } from "../../../scripts/watch/journal.ts";
import { Ledger } from "../../../scripts/watch/ledger.ts";
import { Refuter, reportLine, type RefuterOptions, type Report } from "../../../scripts/watch/refuter.ts";
import { refutationOf } from "../../../scripts/watch/refutation.ts";
import type { Watcher } from "../../../scripts/watch/watcher.ts";
import { NO_UPDATE, type PoolTransaction, type Unsigned } from "../../../scripts/stack/pool-transaction.ts";
import { mustField, ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { kindById, KIND_NAMES, KINDS, type Kind } from "../../../shared/protocol/statements.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import {
  FAR_DEADLINE,
  freshAddress,
  freshKeys,
  leavesOf,
  mustAddress,
  poolEvents,
  send,
} from "../../support/adversary.ts";
import { runProgram } from "../../support/program.ts";
import { DEVELOPMENT_MNEMONIC } from "../../support/chain.ts";
import { seal, spendDraft, swapDraft } from "../../support/drafts.ts";
import { BOND, commitmentsOf, Field, PROVED_DELAY_SECS } from "./field.ts";

const DAY_SECS = 86_400;
/** A quarter of the cap is the proved way's own, and all of it while nobody attests. */
const CAP = 10n ** 12n;

describe("refuter", function () {
  let field: Field;
  let provider: JsonRpcProvider;
  const alice = freshKeys();
  const account = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/5");
  let transfer: Unsigned;
  let deposit: Unsigned;
  let otherDeposit: Unsigned;

  before(async () => {
    field = await Field.start();
    provider = new JsonRpcProvider(field.node.url, field.chain.chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 10,
    });
    await field.settle(await field.deposit(alice, 50_000_000n));
    const wallet = await field.restore(alice);
    const to = freshKeys().viewing.address;
    transfer = await field.spend(wallet, { type: "transfer", to, value: 1_000_000n }, wallet.notes);
    deposit = await field.deposit(alice, 5n);
    otherDeposit = await field.deposit(alice, 6n);
  });
  after(async () => {
    provider.destroy();
    await field.stop();
  });
  afterEach(() => field.node.straighten());

  interface Hand {
    readonly watcher: Watcher;
    readonly journal: Journal;
    readonly found: Finding[];
    readonly reports: Report[];
    follow(): Promise<void>;
    work(): Promise<boolean>;
  }

  async function hand(advanceTo?: RefuterOptions["advanceTo"], book: SentBook = memoryBook()): Promise<Hand> {
    const journal = memoryJournal();
    const { watcher, found } = await field.watcher({ journal });
    const reports: Report[] = [];
    const refuter = new Refuter({
      account: new Account(account.privateKey, provider, field.home.pool, book),
      advanceTo,
      onReport: (report) => reports.push(report),
    });
    const work = (): Promise<boolean> => refuter.work(watcher.ledger);
    const follow = async (): Promise<void> => {
      do await watcher.pass();
      while (await work());
    };
    return { watcher, journal, found, reports, follow, work };
  }

  const ask = (name: string, ...args: unknown[]): Promise<unknown> =>
    field.pool.getFunction(name)(...args) as Promise<unknown>;
  const codes = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code).sort();
  const lie = (member: Unsigned): PoolTransaction => field.attested(member, [field.liar]);

  async function setting() {
    return {
      home: field.home,
      deadline: BigInt(FAR_DEADLINE),
      verifyingKeyHashes: await committedKeyHashes(),
      attesters: [],
    };
  }

  /** One of each kind that the pool executes on a liar's word. */
  async function forged(kind: Kind): Promise<Unsigned> {
    const [root] = (await ask("currentRoot")) as [bigint];
    switch (kind) {
      case "deposit-shield":
        return { ...deposit, proof: transfer.proof };
      case "spend":
        return { ...transfer, proof: deposit.proof };
      case "spend9":
        return seal(spendDraft(await setting(), root, undefined, "spend9")).transaction;
      case "private-swap": {
        await send(field.executor, "setPayout", 777n);
        const tokenOut = mustAddress(await field.otherToken.getAddress());
        const path = { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 };
        const terms = { asset: field.usdcAddress, amount: 1_000_000n, tokenOut, minAmountOut: 777n, path };
        return seal(swapDraft(await setting(), root, terms)).transaction;
      }
    }
  }

  describe("given a false statement that was executed", () => {
    for (const kind of KIND_NAMES) {
      it(`of kind ${kind}: signer and image are out, leaves void, nullifiers unspent, roots revoked, the bond comes`, async () => {
        await field.undone(async () => {
          const [first] = (await ask("queue")) as [bigint];
          const [good] = (await ask("currentRoot")) as [bigint];
          const member = await forged(kind);
          assert.equal(kindById(member.kind), kind);
          await field.execute([lie(member)]);
          await field.execute([], await field.rootUpdate());
          const [bad] = (await ask("currentRoot")) as [bigint];
          const before = await field.provider.getBalance(account.address);
          const { watcher, found, reports, follow } = await hand();
          await follow();

          assert.equal(await ask("isSigner", field.liar.address), false);
          assert.equal(await ask("isSigner", field.signer.address), true);
          const { leaves, inputs } = KINDS[kind];
          for (let leaf = first; leaf < first + BigInt(leaves); leaf++)
            assert.equal(await ask("isVoid", leaf), true);
          for (const nullifier of member.signals.slice(4, 4 + inputs))
            assert.equal(await ask("isSpent", nullifier), false);
          assert.equal(await ask("rootSequence", bad), 0n);
          assert.equal(((await ask("currentRoot")) as [bigint])[0], good);
          assert.ok((await field.provider.getBalance(account.address)) > before + BOND - BOND / 100n);
          assert.deepEqual(
            reports.map(({ act, outcome }) => [act, outcome]),
            [["refutation", "mined"]],
          );
          assert.match(
            reportLine(reports[0]!),
            new RegExp(`signer ${field.liar.address} is out; .*${BOND} wei of bonds came`),
          );
          assert.deepEqual(watcher.ledger.openEvidence, []);
          const told = new Set(codes(found));
          for (const code of [
            "PROOF_FORGED",
            "REFUTED",
            "VOIDED",
            "REVOKED",
            "REMOVED",
            "IMAGE_REVOKED",
            "BOND",
          ])
            assert.ok(told.has(code), code);
          const standing = codes(watcher.alarms).filter(
            (code) => code !== "PROOF_FORGED" && code !== "REFUTED",
          );
          const short = kind === "private-swap" ? ["BALANCE_SHORT"] : [];
          assert.deepEqual(standing, ["ATTESTED_PATH_CLOSED", ...short, "TREE_ROLLED_BACK"]);
          // From the beginning it comes to the same.
          assert.deepEqual(codes(await field.alarms()), codes(watcher.alarms));
        });
      });
    }

    for (const proof of [`0x${"ff".repeat(128)}`, `0x${"00".repeat(128)}`]) {
      it(`whose proof stands for no points (${proof.slice(0, 4)}…), and no root covers it yet`, async () => {
        await field.undone(async () => {
          await field.execute([lie({ ...transfer, proof })]);
          const { watcher, reports, follow } = await hand();
          await follow();
          assert.deepEqual(
            reports.map(({ outcome }) => outcome),
            ["mined"],
          );
          assert.equal(await ask("isSigner", field.liar.address), false);
          assert.deepEqual(watcher.ledger.openEvidence, []);
          assert.ok(watcher.ledger.isRolledBack);
        });
      });
    }
  });

  it("given one that the pool refused, its signer is out and nothing else is undone", async () => {
    await field.undone(async () => {
      await field.settle(transfer);
      const [root] = (await ask("currentRoot")) as [bigint];
      const data = field.pool.interface.encodeFunctionData("execute", [
        [lie({ ...transfer, proof: deposit.proof })],
        NO_UPDATE,
      ]);
      await field.sendTo(field.home.pool, data, ["Rejected"]);
      const { found, reports, follow } = await hand();
      await follow();
      assert.ok(codes(found).includes("PROOF_FORGED"));
      assert.match(reports[0]?.subject ?? "", /not executed/);
      assert.equal(await ask("isSigner", field.liar.address), false);
      assert.equal(((await ask("currentRoot")) as [bigint])[0], root);
    });
  });

  it("given a false root, it is revoked and its signer out, and `advance` brings the true one", async () => {
    await field.undone(async () => {
      const update = await field.rootUpdate(commitmentsOf(deposit), { newRoot: mustField(12_345n) }, [
        field.liar,
      ]);
      await field.execute([field.attested(deposit)], update);
      const { watcher, found, reports, follow } = await hand("end");
      await follow();
      assert.deepEqual(
        reports.map(({ act, outcome }) => [act, outcome]),
        [
          ["refutation", "mined"],
          ["advance", "mined"],
        ],
      );
      const [root, rooted] = (await ask("currentRoot")) as [bigint, bigint];
      assert.deepEqual([root, rooted], [watcher.ledger.tree.root(), watcher.ledger.leafCount]);
      assert.deepEqual(codes(found.filter(({ code }) => code === "ROOT_FORGED" || code === "VOIDED")), [
        "ROOT_FORGED",
      ]);
      assert.deepEqual(codes(watcher.alarms), ["ATTESTED_PATH_CLOSED", "REFUTED", "ROOT_FORGED"]);
    });
  });

  describe("given honest leaves behind void ones", () => {
    it("`advance` goes past the void ones, the root has them empty, and a proof on it is taken when it is old enough", async () => {
      await field.undone(async () => {
        const [note] = (await field.restore(alice)).notes;
        await field.execute([lie({ ...transfer, proof: deposit.proof }), field.attested(deposit)]);
        await field.execute(
          [field.attested(otherDeposit)],
          await field.rootUpdate(commitmentsOf(otherDeposit)),
        );
        const { watcher, journal, follow, reports } = await hand("doubtful");
        await follow();
        assert.deepEqual(
          reports.map(({ act }) => act),
          ["refutation", "advance", "advance"],
        );
        assert.equal(watcher.ledger.isRolledBack, false);
        const { tree, roots, rootedCount, doubtfulUpTo } = watcher.ledger;
        // First to the end of the call that brought them: its checkpoint is older than the end of the queue.
        assert.match(reports[1]!.subject, /^leaves 3 to 10$/);
        assert.deepEqual([doubtfulUpTo, rootedCount], [13, 13n]);
        assert.equal(((await ask("currentRoot")) as [bigint])[0], tree.root());

        const input = { note: note!, path: tree.path(note!.leafIndex) };
        const payment = { type: "withdraw", recipient: freshAddress(), value: 7n } as const;
        const early = await field.provedOn(alice, mustField(roots.newest.announced), [input], payment);
        await field.sendTo(field.home.pool, executeOf(early), ["Rejected"]);
        await field.passTime(PROVED_DELAY_SECS);
        await field.sendTo(field.home.pool, executeOf(early), ["Executed"]);
        // From the records alone it comes to the same.
        const kept = await Ledger.from(journal.records());
        assert.deepEqual(
          [
            kept.tree.root(),
            kept.rootedHead,
            kept.rootedCount,
            kept.owed,
            kept.openEvidence,
            kept.roots.sequence,
          ],
          [tree.root(), watcher.ledger.rootedHead, 13n, watcher.ledger.owed, [], roots.sequence],
        );
        const before = codes(watcher.alarms);
        await watcher.pass();
        assert.deepEqual(codes(watcher.alarms), before);
      });
    });
  });

  describe("given a true statement with a false proof", () => {
    const delay = async (): Promise<void> => field.passTime(Number(await ask("changeDelay")) + 1);

    it("of a payment: when its maker proves it again, that is told", async () => {
      await field.undone(async () => {
        await field.execute([lie({ ...transfer, proof: deposit.proof })]);
        const { watcher, found, follow, reports } = await hand("doubtful");
        await follow();
        assert.match(reports[0]!.subject, /its maker proves it again$/);
        await delay();
        await field.execute([field.attested(transfer)]);
        await watcher.pass();
        assert.ok(codes(found).includes("PROVED_AGAIN"));
        assert.ok(!codes(found).includes("NULLIFIER_TWICE"));
      });
    });

    it("of a deposit: when it goes back to its depositor, that is told, and the sums are exact", async () => {
      await field.undone(async () => {
        await field.execute([lie({ ...deposit, proof: transfer.proof })]);
        const { watcher, journal, found, follow, reports } = await hand("doubtful");
        await follow();
        assert.match(reports[0]!.subject, /or its depositor has the money back/);
        const owed = watcher.ledger.owed.get(field.usdcAddress)!;
        await delay();
        await send(field.pool, "returnDeposit", deposit.signals, deposit.deadline, deposit.ext);
        await watcher.pass();
        assert.ok(codes(found).includes("DEPOSIT_RETURNED"));
        assert.ok(!codes(found).includes("DEPOSIT_RETURN_WRONG"));
        assert.equal(watcher.ledger.owed.get(field.usdcAddress), owed - 5n);
        assert.ok(!codes(watcher.alarms).includes("BALANCE_SHORT"));
        const kept = await Ledger.from(journal.records());
        assert.deepEqual(kept.owed, watcher.ledger.owed);
      });
    });
  });

  describe("given what is true", () => {
    it("the pool says so, and nothing is sent", async () => {
      await field.undone(async () => {
        await field.execute([field.attested(transfer)]);
        const { watcher } = await hand();
        await watcher.pass();
        const member = field.attested(transfer);
        const evidence: FalseStatement = {
          ...{
            type: "statement",
            digest: `0x${"00".repeat(32)}` as never,
            signers: [],
            statement: `0x${"00".repeat(32)}` as never,
          },
          ...{ kindId: member.kind, deadline: String(member.deadline), signals: member.signals.map(String) },
          ...{
            extHash: keccakHex(mustFromHex(member.ext)),
            proof: member.proof,
            attestations: member.attestations,
          },
          firstLeaf: undefined,
        };
        const own = new Account(account.privateKey, provider, field.home.pool, memoryBook());
        const outcome = await own.act("try", refutationOf(evidence, watcher.ledger));
        assert.deepEqual(outcome, { type: "refused", reason: "StatementTrue()" });
        assert.equal(await ask("isSigner", field.signer.address), true);
      });
    });
  });

  describe("given other watchers, and one that was stopped", () => {
    it("another's refutation in between is as good, and has the bond", async () => {
      await field.undone(async () => {
        await field.execute([lie({ ...transfer, proof: deposit.proof })]);
        const [first, second] = [await hand(), await hand()];
        await second.watcher.pass();
        await first.follow();
        assert.equal(await second.work(), true);
        assert.match(second.reports[0]!.detail, /no bond/);
        await second.watcher.pass();
        assert.equal(await second.work(), false);
        // And who has read it sends nothing.
        const third = await hand();
        await third.follow();
        assert.deepEqual(third.reports, []);
      });
    });

    it("what was signed and not sent is sent later, once", async () => {
      await field.undone(async () => {
        await field.execute([lie({ ...transfer, proof: deposit.proof })]);
        const book = memoryBook();
        const count = await field.provider.getTransactionCount(account.address);
        field.node.bend("eth_sendRawTransaction", () => {
          throw new Error("cut off");
        });
        const stopped = await hand(undefined, book);
        await stopped.watcher.pass();
        // The bent node passes the transaction on and loses its answer: the worst of the two ways.
        await assert.rejects(stopped.work());
        field.node.straighten();
        const again = await hand(undefined, book);
        await again.watcher.pass();
        await again.work();
        assert.equal(await field.provider.getTransactionCount(account.address), count + 1);
        assert.equal(await ask("isSigner", field.liar.address), false);
      });
    });
  });

  describe("given the command", () => {
    /** Of a child: its exit code, and the objects that it printed. */
    async function watch(args: readonly string[], key?: string) {
      const { code, out } = await runProgram(
        "scripts/watch/main.ts",
        [
          ...["--once", "--json", "--rpc", field.chain.url],
          ...["--pool", field.home.pool, "--from-block", String(field.fromBlock), ...args],
        ],
        key === undefined ? {} : { env: { REFUTER_KEY: key } },
      );
      const lines = out.split("\n").filter((line) => line.startsWith("{"));
      return { code, said: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
    }

    it("refutes with a key of the environment and goes past the void leaves; the next run has nothing to do", async () => {
      const folder = await mkdtemp(path.join(tmpdir(), "cloister-refuter-"));
      try {
        await field.undone(async () => {
          await field.execute(
            [lie({ ...transfer, proof: deposit.proof })],
            await field.rootUpdate(commitmentsOf(transfer)),
          );
          const options = ["--refute", "--advance", "--state", folder];
          const acts = (said: readonly Record<string, unknown>[]) =>
            said
              .filter(({ type }) => type === "refutation" || type === "advance")
              .map(({ type, outcome }) => [type, outcome]);
          const first = await watch(options, account.privateKey);
          assert.deepEqual(acts(first.said), [
            ["refutation", "mined"],
            ["advance", "mined"],
          ]);
          // What was found stays an alarm.
          assert.equal(first.code, 2);
          const [root, rooted] = (await ask("currentRoot")) as [bigint, bigint];
          assert.deepEqual([rooted, root], [7n, await emptyBehind(3)]);
          assert.deepEqual(acts((await watch(options, account.privateKey)).said), []);
        });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

    it("does not begin without a key, and pays for nothing unasked", async () => {
      assert.equal((await watch(["--refute"])).code, 1);
      assert.equal((await watch(["--advance"], account.privateKey)).code, 1);
    });

    /** The root of the first leaves with nothing behind them, void or not there: an empty leaf is an empty leaf. */
    async function emptyBehind(count: number): Promise<bigint> {
      const frontier = emptyFrontier();
      for (const leaf of leavesOf(await poolEvents(field.provider, field.pool)).slice(0, count))
        frontier.append(mustField(leaf));
      return frontier.root();
    }
  });

  describe("given proofs that need no signer", () => {
    it("finds nothing in a payment and a withdrawal by proof", async () => {
      await field.undone(async () => {
        await field.passTime(PROVED_DELAY_SECS);
        const wallet = await field.restore(alice);
        const payment = { type: "withdraw", recipient: freshAddress(), value: 9n } as const;
        const member = await field.proved(wallet, payment, wallet.notes);
        await field.execute([member]);
        assert.deepEqual(await field.alarms(), []);
      });
    });

    it("follows a claim until it is paid, and its sums are exact", async () => {
      await field.undone(async () => {
        await field.settle(await field.deposit(alice, CAP));
        await field.passTime(PROVED_DELAY_SECS);
        const wallet = await field.restore(alice);
        const note = wallet.notes.find(({ value }) => value === CAP)!;
        const recipient = freshAddress();
        const amount = CAP / 2n;
        const member = await field.proved(wallet, { type: "withdraw", recipient, value: amount }, [note]);
        await field.sendTo(field.home.pool, executeOf(member), ["Executed", "ClaimAdded"]);
        const { watcher, found } = await field.watcher({ journal: memoryJournal() });
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        assert.ok(codes(found).includes("CLAIM_MADE"));
        assert.equal(watcher.ledger.claims.owed(field.usdcAddress), amount);
        assert.equal(watcher.ledger.owed.get(field.usdcAddress), CAP + 50_000_000n);

        // In parts, as room comes back.
        let left = amount;
        while (left > 0n) {
          const [, room] = (await field.pool.getFunction("room")(field.usdcAddress)) as bigint[];
          await send(field.pool, "payClaim", field.usdcAddress, 0);
          left -= left < room! ? left : room!;
          await watcher.pass();
          assert.deepEqual(watcher.alarms, []);
          const waiting = watcher.ledger.claims.owed(field.usdcAddress);
          assert.ok(waiting <= left && waiting >= left - amount / 10_000n, String(waiting));
          left = waiting;
          await field.passTime(DAY_SECS / 2);
        }
        assert.equal(await field.usdc.getFunction("balanceOf")(recipient), amount);
        assert.equal(watcher.ledger.owed.get(field.usdcAddress), CAP + 50_000_000n - amount);
      });
    });
  });

  function executeOf(member: PoolTransaction): string {
    return field.pool.interface.encodeFunctionData("execute", [[member], NO_UPDATE]);
  }
});
