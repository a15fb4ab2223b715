/** The watcher against a real pool: see watcher.tree. Every lie here is one that the pool accepts. */
import assert from "node:assert/strict";
import {
  developmentDocument,
  imageNamed,
  measurementNamed,
  registerDevelopmentSigner,
} from "../../../scripts/stack/development-registration.ts";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { keccak256 } from "ethers";
import { ChainUnreachable } from "../../../proxy/base/chain/json-rpc.ts";
import { committedKeyHashes } from "../../../scripts/deploy/pool.ts";
import { seal, swapDraft } from "../../support/drafts.ts";
import {
  type Attester,
  NO_UPDATE,
  type PoolRootUpdate,
  type PoolTransaction,
  type Unsigned,
} from "../../../scripts/stack/pool-transaction.ts";
import type { Finding } from "../../../scripts/watch/findings.ts";
import { JournalError, fileJournal, memoryJournal } from "../../../scripts/watch/journal.ts";
import { SetUpError } from "../../../scripts/watch/watcher.ts";
import {
  mustField,
  ZERO_ADDRESS,
  type Address,
  type Field as FieldElement,
} from "../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import { readExecuted } from "../../../shared/protocol/host/executed-log.ts";
import { kindById } from "../../../shared/protocol/statements.ts";
import { FAR_DEADLINE, freshAddress, freshKeys, mustAddress, send } from "../../support/adversary.ts";
import { commitmentsOf, Field, IMAGE_NAMES, IMAGES } from "./field.ts";

/** What the issuer of a token can do: it takes balances away. */
async function takeFromPool({ provider, home, usdc, usdcAddress, liar }: Field): Promise<void> {
  await provider.send("anvil_impersonateAccount", [home.pool]);
  await provider.send("anvil_setBalance", [home.pool, "0xde0b6b3a7640000"]);
  const data = usdc.interface.encodeFunctionData("transfer", [liar.address, 1n]);
  await provider.send("eth_sendTransaction", [{ from: home.pool, to: usdcAddress, data }]);
  await provider.send("anvil_mine", ["0x1"]);
}

/** Of the right length, and nobody's. */
const NO_SIGNATURE = `0x${"11".repeat(65)}`;
/** Zeros that the ABI puts behind the 65 bytes of one attestation. */
const PADDING_OF_65 = 31;
/** What the pool began with; no asset comes back with less. */
const MINIMUM_CAP = 10n ** 24n;
/** How long a proposal may be admitted. */
const WEEK_SECS = 7 * 86_400;

describe("watcher", function () {
  let field: Field;
  const alice = freshKeys();
  /** Proved once, executed in many tests: each of those is undone. */
  let transfer: Unsigned;
  let withdrawal: Unsigned;
  let deposit: Unsigned;
  let otherDeposit: Unsigned;

  before(async () => {
    field = await Field.start();
    await field.settle(await field.deposit(alice, 50_000_000n), await field.deposit(alice, 7_000_000n));
    const wallet = await field.restore(alice);
    const [large, small] = wallet.notes;
    const to = freshKeys().viewing.address;
    transfer = await field.spend(wallet, { type: "transfer", to, value: 1_000_000n }, [large!]);
    const recipient = freshAddress();
    withdrawal = await field.spend(wallet, { type: "withdraw", recipient, value: 3_000_000n }, [small!]);
    deposit = await field.deposit(alice, 5n);
    otherDeposit = await field.deposit(alice, 6n);
  });
  after(() => field.stop());
  afterEach(() => field.node.straighten());

  const lie = (member: Unsigned): PoolTransaction => field.attested(member, [field.liar]);
  const calldata = (members: readonly unknown[], update: PoolRootUpdate = NO_UPDATE): string =>
    field.pool.interface.encodeFunctionData("execute", [members, update]);
  const told = (findings: readonly Finding[]): string[] =>
    findings.map(({ code, detail }) => `${code} ${detail}`);
  const isoOf = (unixSecs: number): string => new Date(unixSecs * 1_000).toISOString();
  const codes = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code);

  describe("given honest payments", () => {
    it("finds nothing, in deposits, transfers and withdrawals, alone and in batches", async () => {
      await field.undone(async () => {
        await field.settle(transfer);
        // A payment whose root comes in a later call.
        await field.execute([field.attested(deposit)]);
        await field.execute([], await field.rootUpdate());
        await field.settle(withdrawal, otherDeposit);
        const { watcher, found } = await field.watcher();
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        assert.ok(
          found.every(({ code }) => code === "ADMITTED" || code === "BOND"),
          codes(found).join(),
        );
        const [leafCount] = (await field.pool.getFunction("queue")()) as [bigint];
        assert.equal(watcher.ledger.statements, 6);
        assert.equal(watcher.ledger.leafCount, leafCount);
      });
    });

    it("finds nothing in a spend of many notes and in a swap", async () => {
      await field.undone(async () => {
        await field.settle(deposit, otherDeposit);
        const wallet = await field.restore(alice);
        const to = freshKeys().viewing.address;
        const many = await field.spend(wallet, { type: "transfer", to, value: 11n }, wallet.notes.slice(1));
        assert.equal(kindById(many.kind), "spend9");
        await send(field.executor, "setPayout", 777n);
        const swap = await field.swap(wallet, wallet.notes[0]!, 777n);
        await field.execute([field.attested(many), field.attested(swap)]);
        await field.execute([], await field.rootUpdate());
        assert.deepEqual(await field.alarms(), []);
      });
    });

    it("finds nothing in what was refused beside them", async () => {
      await field.undone(async () => {
        const unknown = { ...field.attested(deposit), kind: 77 };
        const bad = { ...field.attested(deposit), attestations: NO_SIGNATURE };
        const twice = field.attested(transfer);
        const members = [bad, twice, unknown, twice, field.attested(deposit)];
        const answers = ["Rejected", "Executed", "Rejected", "Rejected", "Executed"];
        await field.sendTo(field.home.pool, calldata(members), answers);
        assert.deepEqual(await field.alarms(), []);
      });
    });

    it("reads a call that leaves out the padding at its end, as the pool does", async () => {
      await field.undone(async () => {
        // The update's attestation comes last: 65 bytes and their padding.
        const update = await field.rootUpdate(commitmentsOf(deposit));
        const unpadded = calldata([field.attested(deposit)], update).slice(0, -2 * PADDING_OF_65);
        await field.sendTo(field.home.pool, unpadded, ["Executed", "RootUpdated"]);
        assert.deepEqual(await field.alarms(), []);
      });
    });

    it("announces the owner's acts, and does not call them alarms", async () => {
      await field.undone(async () => {
        const [image, token] = [imageNamed("another"), mustAddress(await field.otherToken.getAddress())];
        await send(field.pool, "proposeImage", image, 2, "0123abcd", "npm run build-image");
        const { watcher, found } = await field.watcher();
        await watcher.pass();
        const [proposal] = watcher.ledger.pending;
        assert.deepEqual([proposal!.role, proposal!.subject], ["image", image]);
        assert.equal(proposal!.expiresAt - proposal!.admissibleAt, WEEK_SECS);
        assert.ok(
          told(found).includes(
            `PROPOSED image ${image}, admissible from ${isoOf(proposal!.admissibleAt)}, ` +
              `expires at ${isoOf(proposal!.expiresAt)}, verifier 2 of "0123abcd", built by "npm run build-image"`,
          ),
        );

        const venue = mustAddress(await field.executor.getAddress());
        await send(field.pool, "revokeImage", image);
        await send(field.pool, "removeSigner", field.liar.address);
        await send(field.pool, "delistAsset", token);
        await send(field.pool, "removeExecutor", venue);
        await send(field.pool, "proposeAsset", token, MINIMUM_CAP);
        await send(field.pool, "proposeExecutor", venue);
        await send(field.pool, "delistAsset", token);
        await field.passTime(100);
        await send(field.pool, "setExecutor", venue);
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        assert.deepEqual(watcher.ledger.pending, []);
        const rest = told(found).slice(told(found).findIndex((line) => line.startsWith("PROPOSED")) + 1);
        assert.deepEqual(
          rest.map((line) => line.split(",")[0]),
          [
            `IMAGE_REVOKED image ${image}`,
            `REMOVED signer ${field.liar.address}`,
            `REMOVED asset ${token}`,
            `REMOVED executor ${venue}`,
            `PROPOSED asset ${token}`,
            `PROPOSED executor ${venue}`,
            `WITHDRAWN asset ${token}`,
            `ADMITTED executor ${venue}`,
          ],
        );
      });
    });

    it("alarms where a proposed minimum cap is more than the tenth of what the pool has", async () => {
      await field.undone(async () => {
        await field.settle(await field.deposit(freshKeys(), 50_000_000n));
        await send(field.pool, "delistAsset", field.usdcAddress);
        await send(field.pool, "proposeAsset", field.usdcAddress, 2n * 10n ** 12n);
        const { watcher } = await field.watcher();
        await watcher.pass();
        assert.deepEqual(codes(watcher.alarms), ["CAP_RAISED"]);
      });
    });

    it("announces once that a proposal has expired, and when it is made again, that it is pending again", async () => {
      await field.undone(async () => {
        const image = imageNamed("another");
        await send(field.pool, "proposeImage", image, 1, "", "");
        const journal = memoryJournal();
        const { watcher, found } = await field.watcher({ journal });
        await watcher.pass();
        const { expiresAt } = watcher.ledger.pending[0]!;
        await field.mineAt(expiresAt - 1);
        await watcher.pass();
        assert.equal(watcher.ledger.pending.length, 1);
        await field.mineAt(expiresAt);
        await watcher.pass();
        await field.passTime(1);
        await watcher.pass();
        assert.deepEqual(watcher.ledger.pending, []);
        const expired = found.filter(({ code }) => code === "EXPIRED");
        assert.deepEqual(
          expired.map(({ detail }) => detail.split(",")[0]),
          [`image ${image}`],
        );
        // Another run has the same memory, and does not say it again; one without memory finds it too.
        const again = await field.watcher({ journal });
        await again.watcher.pass();
        assert.deepEqual([again.watcher.ledger.pending, again.found], [[], []]);
        await send(field.pool, "proposeImage", image, 1, "", "");
        const fresh = await field.watcher();
        await fresh.watcher.pass();
        assert.deepEqual(
          fresh.found.map(({ code }) => code).filter((code) => code === "PROPOSED" || code === "EXPIRED"),
          ["PROPOSED", "EXPIRED", "PROPOSED"],
        );
        assert.equal(fresh.watcher.ledger.pending.length, 1);
        await again.watcher.pass();
        assert.equal(again.watcher.ledger.pending.length, 1);
      });
    });

    it("alarms as long as fewer signers are left than the pool asks for", async () => {
      await field.undone(async () => {
        const { watcher } = await field.watcher();
        await send(field.pool, "removeSigner", field.liar.address);
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        await send(field.pool, "removeSigner", field.signer.address);
        await watcher.pass();
        assert.deepEqual(told(watcher.alarms), ["SIGNERS_SHORT 0 left of 0 kinds, 1 of 1 needed"]);
        const [successor, measurement] = [freshAddress(), measurementNamed(IMAGE_NAMES[0]!)];
        await registerDevelopmentSigner(field.owner, {
          pool: field.home.pool,
          signer: successor,
          measurement,
        });
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        const again = await field.watcher();
        await again.watcher.pass();
        assert.ok(
          told(again.found).includes(`ADMITTED signer ${successor} of image ${IMAGES[0]!}, verifier 1`),
          told(again.found).join(),
        );
      });
    });

    it("refuses to begin with other verification keys than the pool's", async () => {
      const keys = { ...field.keys, spend: field.keys["deposit-shield"] };
      await assert.rejects(field.watcher({ keys }), SetUpError);
      const nowhere = { ...field.home, pool: freshAddress() };
      await assert.rejects(field.watcher({ home: nowhere }), SetUpError);
    });
  });

  describe("given an accepted signer that lies", () => {
    /** A withdrawal of money that its notes do not hold, under the proof of an honest one. */
    const theft = (): Unsigned => ({ ...withdrawal, signals: withdrawal.signals.with(3, 40_000_000n) });

    it("names who signed a false proof of a withdrawal, and what was claimed", async () => {
      await field.undone(async () => {
        const txHash = await field.execute([field.attested(deposit), lie(theft())]);
        const alarms = await field.alarms();
        assert.deepEqual(codes(alarms), ["PROOF_FORGED"]);
        assert.equal(alarms[0]?.txHash, txHash);
        assert.deepEqual(alarms[0].signers, [field.liar.address]);
        assert.match(alarms[0].detail, /EQUATION_FAILS, spend, 40000000 of 0x/);
        assert.match(alarms[0].statement ?? "", /^0x[0-9a-f]{64}$/);
      });
    });

    it("names everybody who signed it", async () => {
      await field.undone(async () => {
        const both = [field.liar, field.signer];
        await field.execute([field.attested(theft(), both)]);
        const [alarm] = await field.alarms();
        assert.deepEqual([...(alarm?.signers ?? [])].sort(), both.map(({ address }) => address).sort());
      });
    });

    it("judges the member that was executed, where an honest twin was refused before it", async () => {
      await field.undone(async () => {
        const refused = { ...field.attested(withdrawal), attestations: NO_SIGNATURE };
        const forged = lie({ ...withdrawal, proof: transfer.proof });
        await field.sendTo(field.home.pool, calldata([refused, forged]), ["Rejected", "Executed"]);
        const alarms = await field.alarms();
        assert.deepEqual(codes(alarms), ["PROOF_FORGED"]);
        assert.deepEqual(alarms[0]?.signers, [field.liar.address]);
      });
    });

    for (const [proof, fault] of [
      [`0x${"ff".repeat(128)}`, "PROOF_MALFORMED"],
      [`0x${"00".repeat(128)}`, "PROOF_NOT_ON_CURVE"],
    ] as const) {
      it(`names who signed bytes that are no proof (${fault})`, async () => {
        await field.undone(async () => {
          await field.execute([lie({ ...transfer, proof })]);
          const alarms = await field.alarms();
          assert.deepEqual(codes(alarms), ["PROOF_FORGED"]);
          assert.ok(alarms[0]?.detail.startsWith(fault), alarms[0]?.detail);
        });
      });
    }

    it("names who signed a false root, and finds the spend that used it", async () => {
      await field.undone(async () => {
        const newRoot = mustField(12_345n);
        const update = await field.rootUpdate(commitmentsOf(deposit), { newRoot }, [field.liar]);
        const txHash = await field.execute([field.attested(deposit)], update);
        await field.execute([lie({ ...transfer, signals: transfer.signals.with(1, newRoot) })]);
        const alarms = await field.alarms();
        assert.deepEqual(codes(alarms), ["ROOT_FORGED", "PROOF_FORGED", "ROOT_UNKNOWN_TO_LOG"]);
        assert.equal(alarms[0]?.txHash, txHash);
        for (const { signers } of alarms) assert.deepEqual(signers, [field.liar.address]);
      });
    });

    it("finds a false root that is no field element", async () => {
      await field.undone(async () => {
        await field.execute([field.attested(deposit)]);
        const newRoot = (2n ** 256n - 1n) as FieldElement;
        await field.execute([], await field.rootUpdate([], { newRoot }, [field.liar]));
        const alarms = await field.alarms();
        assert.deepEqual(codes(alarms), ["ROOT_FORGED"]);
        assert.deepEqual(alarms[0]?.signers, [field.liar.address]);
      });
    });
  });

  describe("given two attestations that must be there", () => {
    const THRESHOLD = (): string => field.pool.interface.getFunction("threshold")!.selector;
    const both = (): Attester[] => [field.signer, field.liar];

    /** What is found in one call by a watcher that reads of a pool that asks for two; ours takes one. */
    async function foundIn(txHash: string): Promise<string[]> {
      field.node.bend("eth_call", (result, [call]) =>
        (call as { data: string }).data.startsWith(THRESHOLD()) ? toHex(word(2n)) : result,
      );
      return told((await field.alarms()).filter((finding) => finding.txHash === txHash));
    }

    it("finds nothing where two distinct signers signed members and root", async () => {
      await field.undone(async () => {
        const update = await field.rootUpdate(commitmentsOf(transfer), {}, both());
        assert.deepEqual(await foundIn(await field.execute([field.attested(transfer, both())], update)), []);
      });
    });

    it("finds a member and a root that one signer signed", async () => {
      await field.undone(async () => {
        const leaves = [transfer, deposit].flatMap(commitmentsOf);
        const members = [field.attested(transfer, both()), field.attested(deposit)];
        const txHash = await field.execute(members, await field.rootUpdate(leaves));
        const lack = "ATTESTATION_INVALID 1 accepted signers of 1, of 1 kinds, needed 2 of 2";
        assert.deepEqual(await foundIn(txHash), [lack, lack]);
      });
    });

    it("finds a member and a root that one signer signed twice", async () => {
      await field.undone(async () => {
        const root = (by: readonly Attester[]) => field.rootUpdate(commitmentsOf(transfer), {}, by);
        const twice = [field.signer, field.signer];
        const input = calldata([field.attested(transfer, twice)], await root(twice));
        const txHash = await field.execute([field.attested(transfer, both())], await root(both()));
        // No pool of ours takes it: the node shows it in the place of what was taken.
        field.node.bend("eth_getTransactionByHash", (result) => {
          const transaction = result as { hash: string };
          return transaction.hash === txHash ? { ...transaction, input } : result;
        });
        const lack = "ATTESTATION_INVALID 1 accepted signers of 2, of 1 kinds, needed 2 of 2";
        assert.deepEqual(await foundIn(txHash), [lack, lack]);
      });
    });
  });

  describe("given a registration", () => {
    /** Nobody but the pool's contracts reads a document on chain, so the node shows another one than they were given. */
    const shown = async (signer: Address, document: Uint8Array): Promise<readonly Finding[]> => {
      const { interface: words } = field.pool;
      const registered = words.getEvent("SignerRegistered")!;
      field.node.bend("eth_getTransactionReceipt", (result) => {
        const receipt = result as { logs: { topics: string[]; data: string }[] };
        for (const log of receipt.logs) {
          if (log.topics[0] !== registered.topicHash) continue;
          const told = words.decodeEventLog(registered, log.data, log.topics);
          if (mustAddress(String(told["signer"])) !== signer) continue;
          const values = [...told].with(-1, toHex(document));
          log.data = words.encodeEventLog(registered, values).data;
        }
        return receipt;
      });
      return field.alarms();
    };

    it("finds a document that does not verify, or is of another image, signer or type", async () => {
      await field.undone(async () => {
        const [signer, measurement] = [freshAddress(), measurementNamed(IMAGE_NAMES[0]!)];
        const wanted = { pool: field.home.pool, signer, measurement };
        await registerDevelopmentSigner(field.owner, wanted);
        assert.deepEqual(await field.alarms(), []);
        const document = await developmentDocument(field.owner, wanted);
        assert.deepEqual(await shown(signer, document), []);

        const other = measurementNamed(IMAGE_NAMES[1]!);
        const last = document.at(-1)!;
        for (const [fault, told] of [
          ["SIGNATURE_INVALID", document.with(-1, last ^ 1)],
          ["MALFORMED", document.slice(0, -1)],
          ["FROM_FUTURE", await developmentDocument(field.owner, wanted, { aheadMs: 3_600_000 })],
          ["STALE", await developmentDocument(field.owner, wanted, { aheadMs: -7_200_000 })],
          ["of another image", await developmentDocument(field.owner, { ...wanted, measurement: other })],
          [
            "of another signer",
            await developmentDocument(field.owner, { ...wanted, signer: freshAddress() }),
          ],
          ["of another signer", await developmentDocument(field.owner, wanted, { type: "release" })],
          [
            "of another signer",
            await developmentDocument(field.owner, wanted, { userData: new Uint8Array(70) }),
          ],
        ] as const) {
          const alarms = await shown(signer, told);
          const words = `REGISTRATION_FALSE ${signer}: ${fault}; document of ${told.length} bytes`;
          assert.deepEqual(
            alarms.map(({ code, detail }) => `${code} ${detail}`),
            [words],
          );
        }
      });
    });
  });

  describe("given a swap", () => {
    const swap = async (floor: bigint): Promise<Unsigned> => {
      const setting = {
        home: field.home,
        deadline: BigInt(FAR_DEADLINE),
        verifyingKeyHashes: await committedKeyHashes(),
        attesters: [],
      };
      const [root] = (await field.pool.getFunction("currentRoot")()) as [bigint];
      const { transaction } = seal(
        swapDraft(setting, root, {
          asset: field.usdcAddress,
          amount: 1_000_000n,
          tokenOut: mustAddress(await field.otherToken.getAddress()),
          minAmountOut: floor,
          path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
        }),
      );
      return transaction;
    };

    it("finds nothing wrong with its note but the lie that it rests on", async () => {
      await field.undone(async () => {
        await send(field.executor, "setPayout", 777n);
        await field.execute([lie(await swap(777n)), field.attested(deposit)]);
        await field.execute([], await field.rootUpdate());
        assert.deepEqual(codes(await field.alarms()), ["PROOF_FORGED"]);
      });
    });

    it("finds a note that is worth something else than what came in", async () => {
      await field.undone(async () => {
        await send(field.executor, "setPayout", 777n);
        const txHash = await field.execute([lie(await swap(1n))]);
        const other = await field.otherToken.getAddress();
        field.node.bend("eth_getTransactionReceipt", (result) => {
          const receipt = result as { logs: { address: string; data: string }[] };
          for (const log of receipt.logs) {
            if (mustAddress(log.address) === mustAddress(other)) log.data = toHex(word(776n));
          }
          return receipt;
        });
        const alarms = await field.alarms();
        assert.deepEqual(codes(alarms), ["PROOF_FORGED", "NOTE_FORGED"]);
        assert.equal(alarms[1]?.txHash, txHash);
        assert.match(alarms[1].detail, /value 777, received 776$/);
      });
    });
  });

  describe("given money that a contract brought", () => {
    /** Of the pool's own event in a receipt, as the node will show it. */
    const bendCredits = (change: (told: Record<string, unknown>) => Record<string, unknown>): void =>
      field.node.bend("eth_getTransactionReceipt", (result) => {
        const receipt = result as { logs: { topics: string[]; data: string }[] };
        for (const log of receipt.logs) {
          const event = field.pool.interface.parseLog(log);
          if (event?.name !== "Credited") continue;
          const told = change(event.args.toObject());
          const args = event.fragment.inputs.map(({ name }) => told[name]);
          log.data = field.pool.interface.encodeEventLog("Credited", args).data;
        }
        return receipt;
      });

    it("finds nothing, alone, twice in a call, and beside payments and their root", async () => {
      await field.undone(async () => {
        const source = await field.source();
        await source.credit([5n, 7n]);
        await source.creditTwice([1n], [2n, 3n]);
        await field.execute([], await field.rootUpdate());
        await field.settle(withdrawal);
        await source.credit([11n]);
        await field.execute([field.attested(deposit)]);
        const { watcher } = await field.watcher();
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        const [leafCount] = (await field.pool.getFunction("queue")()) as [bigint];
        assert.equal(watcher.ledger.leafCount, leafCount);
        const held = await field.usdc.getFunction("balanceOf")(field.home.pool);
        assert.equal(watcher.ledger.owed.get(field.usdcAddress), held);
      });
    });

    it("finds nothing where one contract carries a payment and then brings money, or the other way round", async () => {
      await field.undone(async () => {
        const source = await field.source();
        const payment = calldata([field.attested(withdrawal)]);
        await source.creditAfter(payment, [5n]);
        await source.creditBefore(calldata([field.attested(deposit)], NO_UPDATE), [6n]);
        assert.deepEqual(await field.alarms(), []);
      });
    });

    it("finds a note that is not the hash of its parts", async () => {
      await field.undone(async () => {
        const txHash = await (await field.source()).credit([5n]);
        for (const change of [{ value: 4n }, { npk: 77n }]) {
          bendCredits((told) => ({ ...told, ...change }));
          const [alarm, ...others] = await field.alarms();
          assert.deepEqual([alarm?.code, alarm?.txHash, others], ["NOTE_FORGED", txHash, []]);
        }
      });
    });

    it("finds notes for which less came in than they say, alone and behind a payment", async () => {
      await field.undone(async () => {
        const source = await field.source();
        const hashes = [
          await source.credit([5n, 7n]),
          await source.creditAfter(calldata([field.attested(transfer)]), [9n]),
          await source.creditAfter(calldata([field.attested(withdrawal)]), [9n]),
        ];
        const toPool = toHex(word(BigInt(field.home.pool)));
        field.node.bend("eth_getTransactionReceipt", (result) => {
          const receipt = result as { logs: { topics: string[]; data: string }[] };
          for (const log of receipt.logs) {
            const amount = log.topics.length === 3 && log.topics[2] === toPool ? BigInt(log.data) : 0n;
            if (amount === 12n || amount === 9n) log.data = toHex(word(amount - 1n));
          }
          return receipt;
        });
        const alarms = await field.alarms();
        assert.deepEqual(
          alarms.map(({ code, txHash }) => [code, txHash]),
          hashes.map((hash) => ["TRANSFER_MISMATCH", hash]),
        );
        assert.match(alarms[0]!.detail, /moved 11, credited 12$/);
      });
    });

    it("a hidden note is a gap, another leaf is none of the pool's, and what it owes is counted", async () => {
      await field.undone(async () => {
        const source = await field.source();
        const txHash = await source.credit([5n]);
        bendCredits((told) => ({ ...told, leafIndex: 99n }));
        assert.deepEqual(codes(await field.alarms()), ["LEAF_GAP"]);
        bendCredits((told) => ({ ...told, commitment: 1n }));
        assert.deepEqual(codes(await field.alarms()), ["LOG_CONTRADICTION"]);
        field.node.straighten();
        field.node.bend("eth_getLogs", (result) =>
          (result as { transactionHash: string }[]).filter(
            ({ transactionHash }) => transactionHash !== txHash,
          ),
        );
        assert.deepEqual(codes(await field.alarms()), ["LOG_CONTRADICTION"]);
        field.node.straighten();
        const held = (await field.usdc.getFunction("balanceOf")(field.home.pool)) as bigint;
        const short = toHex(word(held - 1n));
        const ofPool = field.usdc.interface.encodeFunctionData("balanceOf", [field.home.pool]);
        field.node.bend("eth_call", (result, [call]) =>
          (call as { data: string }).data === ofPool ? short : result,
        );
        assert.deepEqual(codes(await field.alarms()), ["BALANCE_SHORT"]);
      });
    });
  });

  describe("given a statement that another contract carried", () => {
    it("finds the calldata in the trace, and judges it", async () => {
      await field.undone(async () => {
        const carrier = await field.carrier();
        await field.sendTo(carrier, calldata([field.attested(transfer)]), ["Executed"]);
        assert.deepEqual(await field.alarms(), []);
        const forged = lie({ ...withdrawal, proof: transfer.proof });
        const txHash = await field.sendTo(carrier, calldata([forged]), ["Executed"]);
        const alarms = await field.alarms();
        assert.deepEqual(codes(alarms), ["PROOF_FORGED"]);
        assert.deepEqual([alarms[0]?.txHash, alarms[0]?.signers], [txHash, [field.liar.address]]);
      });
    });

    it("where the node does not trace, it says that it has not seen it", async () => {
      await field.undone(async () => {
        const update = await field.rootUpdate(commitmentsOf(transfer));
        const data = calldata([field.attested(transfer)], update);
        const txHash = await field.sendTo(await field.carrier(), data, ["Executed", "RootUpdated"]);
        field.node.bend("debug_traceTransaction", () => {
          throw new Error("the method does not exist");
        });
        const alarms = await field.alarms();
        assert.deepEqual(codes(alarms), ["CALLDATA_UNSEEN", "CALLDATA_UNSEEN"]);
        assert.ok(alarms.every((alarm) => alarm.txHash === txHash));
        assert.ok(alarms[0]?.detail.includes(`a private transfer, proof ${keccak256(transfer.proof)}`));
      });
    });

    it("where the node does not trace, it still knows what moved, to whom, and what the pool owes", async () => {
      await field.undone(async () => {
        await field.sendTo(await field.carrier(), calldata([field.attested(withdrawal)]), ["Executed"]);
        field.node.bend("debug_traceTransaction", () => {
          throw new Error("the method does not exist");
        });
        const [alarm, ...others] = await field.alarms();
        assert.deepEqual([alarm?.code, others], ["CALLDATA_UNSEEN", []]);
        const party = withdrawal.ext.slice(0, 42);
        const moved = `spend, 3000000 of ${field.usdcAddress}, party ${party}, proof ${keccak256(withdrawal.proof)}`;
        assert.ok(alarm?.detail.endsWith(moved), alarm?.detail);
        // The payment is in the sum: what is missing now is what was taken besides.
        await takeFromPool(field);
        assert.deepEqual(codes(await field.alarms()), ["CALLDATA_UNSEEN", "BALANCE_SHORT"]);
      });
    });

    it("does not believe a trace that shows another proof of the same statement", async () => {
      await field.undone(async () => {
        const forged = lie({ ...withdrawal, proof: transfer.proof });
        await field.sendTo(await field.carrier(), calldata([forged]), ["Executed"]);
        const input = calldata([field.attested(withdrawal)]);
        field.node.bend("debug_traceTransaction", () => ({ type: "CALL", to: field.home.pool, input }));
        assert.deepEqual(codes(await field.alarms()), ["LOG_CONTRADICTION"]);
      });
    });

    it("does not believe a trace that shows other calls", async () => {
      await field.undone(async () => {
        await field.sendTo(await field.carrier(), calldata([field.attested(transfer)]), ["Executed"]);
        const input = calldata([field.attested(withdrawal)]);
        field.node.bend("debug_traceTransaction", () => ({ type: "CALL", to: field.home.pool, input }));
        assert.deepEqual(codes(await field.alarms()), ["CALLDATA_UNSEEN"]);
      });
    });
  });

  describe("given a pool that loses money", () => {
    it("says so as long as it lasts", async () => {
      await field.undone(async () => {
        const { watcher, found } = await field.watcher();
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        await takeFromPool(field);
        for (let time = 0; time < 2; time++) {
          await field.provider.send("anvil_mine", ["0x1"]);
          await watcher.pass();
          assert.deepEqual(
            watcher.alarms.map(({ code }) => code),
            ["BALANCE_SHORT"],
          );
        }
        assert.equal(found.filter(({ code }) => code === "BALANCE_SHORT").length, 1, "told once");

        await send(field.usdc, "mint", field.home.pool, 1n);
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
      });
    });
  });

  describe("given a node that hides or invents", () => {
    const isExecuted = (log: unknown): boolean =>
      (log as { topics: string[] }).topics[0] === field.pool.interface.getEvent("Executed")!.topicHash;
    const txOf = (log: unknown): string => (log as { transactionHash: string }).transactionHash;

    it("a hidden event is a gap, or a queue that does not fit", async () => {
      await field.undone(async () => {
        for (let i = 0; i < 2; i++)
          await field.execute([field.attested(await field.deposit(freshKeys(), 1n))]);
        const logs = await field.provider.send("eth_getLogs", [
          { address: field.home.pool, fromBlock: "0x0", toBlock: "latest" },
        ]);
        const executed = [...new Set((logs as unknown[]).filter(isExecuted).map(txOf))];
        for (const [hidden, code] of [
          [executed.at(-2), "LEAF_GAP"],
          [executed.at(-1), "LOG_CONTRADICTION"],
        ]) {
          field.node.bend("eth_getLogs", (result) =>
            (result as unknown[]).filter((log) => txOf(log) !== hidden),
          );
          assert.deepEqual(
            (await field.alarms()).map((alarm) => alarm.code),
            [code],
          );
        }
        // All of it hidden: nothing was ever said, yet the pool has leaves.
        field.node.bend("eth_getLogs", () => []);
        assert.deepEqual(
          (await field.alarms()).map((alarm) => alarm.code),
          ["LOG_CONTRADICTION"],
        );
      });
    });

    it("another leaf is no leaf of the pool", async () => {
      field.node.bend("eth_getTransactionReceipt", (result) => {
        const receipt = result as { logs: { topics: string[]; data: string }[] };
        for (const log of receipt.logs) {
          if (!isExecuted(log)) continue;
          // The last commitment ends before the ephemeral key, the ciphertexts and, here, what moved.
          const { ciphertexts, moved } = readExecuted(log)!;
          const end = log.data.length - 2 * (32 + 53 * ciphertexts.length + (moved === undefined ? 0 : 56));
          log.data = `${log.data.slice(0, end - 64)}${"0".repeat(63)}1${log.data.slice(end)}`;
        }
        return receipt;
      });
      assert.deepEqual(
        (await field.alarms()).map(({ code }) => code),
        ["LOG_CONTRADICTION"],
      );
    });

    it("words that do not decode are not the pool's", async () => {
      field.node.bend("eth_getTransactionReceipt", (result) => {
        const receipt = result as { logs: { topics: string[]; data: string }[] };
        for (const log of receipt.logs) if (isExecuted(log)) log.data = log.data.slice(0, 130);
        return receipt;
      });
      const alarms = await field.alarms();
      assert.deepEqual(codes(alarms), ["LOG_CONTRADICTION"]);
      assert.match(alarms[0]?.txHash ?? "", /^0x/);
    });

    it("a lag that heals is no alarm", async () => {
      let lies = 2;
      field.node.bend("eth_getLogs", (result) => (lies-- > 0 ? [] : result));
      assert.deepEqual(await field.alarms(), []);
      assert.ok(lies <= 0);
    });

    it("failures and limits are overcome", async () => {
      const { watcher } = await field.watcher();
      field.node.failNext(2);
      // No more than two blocks an answer.
      field.node.bend("eth_getLogs", (result, [filter]) => {
        const { fromBlock, toBlock } = filter as Record<string, string>;
        if (Number(toBlock) - Number(fromBlock) > 1) throw new Error("block range is too wide");
        return result;
      });
      await watcher.pass();
      assert.deepEqual(watcher.alarms, []);
      const head = await field.provider.getBlockNumber();
      assert.equal(watcher.position, head);

      field.node.failNext(1_000);
      await assert.rejects(watcher.pass(), ChainUnreachable);
      field.node.straighten();
      await watcher.pass();
      assert.deepEqual(watcher.alarms, []);
    });

    it("a walk that begins too late cannot be all good", async () => {
      await field.undone(async () => {
        await field.settle(transfer);
        const [first] = await field.pool.queryFilter(field.pool.filters["Executed"]!());
        const codesFound = codes(await field.alarms({ fromBlock: first!.blockNumber + 1 }));
        assert.ok(codesFound.includes("LEAF_GAP"), codesFound.join());
      });
      await assert.rejects(field.alarms({ confirmations: 10_000 }), ChainUnreachable);
    });
  });

  describe("given a state folder", () => {
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(path.join(tmpdir(), "cloister-watch-"));
    });
    afterEach(() => rm(folder, { recursive: true, force: true }));
    const onDisk = async () => ({ journal: await fileJournal(folder, field.home, field.fromBlock) });

    it("goes on where it stopped, and keeps its alarms", async () => {
      await field.undone(async () => {
        const { watcher } = await field.watcher(await onDisk());
        await watcher.pass();
        const [read, statements] = [
          field.node.asked.get("eth_getTransactionByHash"),
          watcher.ledger.statements,
        ];
        assert.ok((read ?? 0) > 0);

        await field.execute([lie({ ...transfer, proof: withdrawal.proof })]);
        await field.settle(deposit);
        field.node.straighten();
        const second = await field.watcher(await onDisk());
        assert.equal(second.watcher.ledger.statements, statements);
        await second.watcher.pass();
        assert.equal(field.node.asked.get("eth_getTransactionByHash"), 2, "only what is new");
        assert.deepEqual(
          second.watcher.alarms.map(({ code }) => code),
          ["PROOF_FORGED"],
        );

        // Nothing new, and not forgotten.
        const third = await field.watcher(await onDisk());
        await third.watcher.pass();
        assert.deepEqual(
          third.found.map(({ code }) => code),
          ["PROOF_FORGED"],
        );
        assert.equal(third.watcher.alarms.length, 1);
      });
    });

    it("refuses the folder of another pool", async () => {
      const { watcher } = await field.watcher(await onDisk());
      await watcher.pass();
      const other = { ...field.home, pool: freshAddress() };
      await assert.rejects(fileJournal(folder, other, field.fromBlock), JournalError);
      await assert.rejects(fileJournal(folder, field.home, field.fromBlock + 1), JournalError);
    });

    it("drops what a killed run left half written", async () => {
      const { watcher } = await field.watcher(await onDisk());
      await watcher.pass();
      const file = path.join(folder, "blocks.jsonl");
      const before = await readFile(file, "utf8");
      await appendFile(
        file,
        `${before
          .trimEnd()
          .split("\n")
          .at(-1)!
          .replace(/"number":\d+/, '"number":99999')}\n{"numb`,
      );
      const again = await field.watcher(await onDisk());
      await again.watcher.pass();
      assert.deepEqual(again.watcher.alarms, []);
      assert.equal(await readFile(file, "utf8"), before);
    });

    it("takes back replaced blocks, and their alarms", async () => {
      await field.undone(async () => {
        await field.settle(deposit);
        const { watcher, found } = await field.watcher(await onDisk());
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        const { statements } = watcher.ledger;

        await field.execute([lie({ ...transfer, proof: withdrawal.proof })]);
        await watcher.pass();
        assert.equal(watcher.alarms.length, 1);

        await field.provider.send("anvil_reorg", [1, []]);
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        assert.equal(watcher.ledger.statements, statements);
        assert.equal(found.filter(({ code }) => code === "REORGANISED").length, 1);
        // And what comes instead is judged on the tree of the blocks that count.
        await field.settle(withdrawal);
        await watcher.pass();
        assert.deepEqual(watcher.alarms, []);
        assert.equal(watcher.ledger.statements, statements + 1);
      });
    });
  });
});
