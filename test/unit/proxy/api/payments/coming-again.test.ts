/** A payment whose root was revoked comes again through the service, on a real pool; and the index follows it both ways. */
import assert from "node:assert/strict";
import { Admission } from "../../../../../proxy/api/payments/admission.ts";
import type { Body } from "../../../../../proxy/api/payments/body.ts";
import { checkIndex } from "../../../../../proxy/api/merkle/index-check.ts";
import type { TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { attester } from "../../../../../scripts/stack/pool-transaction.ts";
import { testFees } from "../../../../support/fees.ts";
import { Money, OWNER, type MadeStatement } from "../../../../support/money.ts";
import { advance, deposited, refute } from "../../../../support/refuting.ts";
import { until } from "../../../../support/until.ts";
import { paymentsOn } from "./payments-on.ts";
import { posted } from "./posted.ts";

describe("payments: a suspended statement comes again", function () {
  let on: Money;
  /** Paid on a root that was revoked since. */
  let paid: MadeStatement;
  let good: bigint;

  beforeEach(async () => {
    on = await Money.start();
    await on.run();
    const [first, second] = [await deposited(on), await deposited(on)];
    paid = on.spend(second.root.root);
    await on.reaches(await on.accept(paid), "finalized", () => on.mine());
    await on.sequencer.stop();
    await refute(on, second.made, attester(1), [first.root.root, second.root.root]);
    await until("the refutation to be indexed", () => on.data.awaitsAdvance());
    await advance(on);
    await until("the tree to have grown", () => !on.data.awaitsAdvance());
    good = on.rooted().root;
    on.link.signer = attester(2);
    // Past the second for which the attested path is closed here.
    await on.rpc("evm_increaseTime", [5]);
    await on.mine();
    await on.restart();
    await on.indexer.start();
    on.sequencer.start();
    await until("the newest block to be read", async () => {
      const head = await on.chain.header("latest");
      return on.data.tip()?.hash === head!.hash;
    });
  });
  afterEach(() => on.stop());

  /** The same, on the root that is good. */
  const again = (bend: Partial<MadeStatement["draft"]> = {}): MadeStatement =>
    on.stated({ ...paid.draft, root: good, deadline: paid.draft.deadline + 1n, ...bend });

  function sequence(
    { draft }: MadeStatement,
    named: { readonly deadline?: number; readonly root?: string } = {},
  ): Promise<TicketRecord> {
    const { pool, tokens, store: tickets, data, usdcAddress: address } = on;
    const assets = [{ address, symbol: "USDC", decimals: 6 }];
    const admission = new Admission({
      deadEnds: [],
      ...{ pool, brakes: pool, tokens, tickets, data, assets, fees: testFees({ assets }) },
      ...{ isFresh: () => true, now: Date.now },
    });
    const { deadline, root } = paid.draft;
    const shown = { deadline: Number(deadline), root: String(root), ...named };
    return paymentsOn(on, admission).accept(OWNER, { ...posted(draft), earlier: shown } as Body);
  }

  async function agrees(): Promise<void> {
    assert.deepEqual((await checkIndex(on.chain, on.pool, on.data, 64)).differences, []);
  }

  it("is empty in the tree, and stays executed with its notes spent, until then", async () => {
    assert.deepEqual(on.data.voids(), [
      { firstLeafIndex: 3, leafCount: 3 },
      { firstLeafIndex: 6, leafCount: 4 },
    ]);
    assert.notEqual(on.data.execution(paid.statement.hash), undefined);
    for (const nullifier of paid.statement.facts.nullifiers)
      assert.equal(on.data.spender(nullifier)?.statement, paid.statement.hash);
    await agrees();
  });

  it("has its leaves anew, is in the tree, and is known by its notes also after a restart", async () => {
    const made = again();
    const ticket = await on.reaches(await sequence(made), "confirmed");
    assert.equal(ticket.confirms, paid.statement.hash);
    assert.deepEqual(on.data.execution(made.statement.hash)?.leafIndexes, [10, 11, 12, 13]);
    await until("a root over it", () => on.rooted().leafCount === 14);
    await agrees();
    await on.restart();
    await on.indexer.start();
    assert.equal(on.data.hasComeAgain(paid.statement.hash), true);
    // Said twice, it is the same ticket.
    assert.equal((await sequence(made)).id, ticket.id);
    await assert.rejects(sequence(again({ deadline: paid.draft.deadline + 2n })), {
      code: "NULLIFIER_SPENT",
    });
  });

  it("is the earlier one's again where the chain goes back across it", async () => {
    const made = again();
    await on.reaches(await sequence(made), "confirmed");
    await on.sequencer.stop();
    const block = on.data.execution(made.statement.hash)!.block;
    const height = (await on.chain.header("latest"))!.number;
    await on.rpc("anvil_reorg", [height - block + 1, []]);
    await until("the execution to be gone", () => on.data.execution(made.statement.hash) === undefined);
    assert.equal(on.data.hasComeAgain(paid.statement.hash), false);
    await agrees();
  });

  const refusals = {
    "another deadline than it had": { deadline: 1 },
    "another root": { root: "5" },
    "a root that is no field element": { root: String(2n ** 255n) },
  };
  for (const [name, named] of Object.entries(refusals))
    it(`refuses ${name}`, () => assert.rejects(sequence(again(), named), { code: "INVALID_REQUEST" }));

  it("refuses other outputs, and a statement that stands", async () => {
    const other = again({ commitments: [5n, ...paid.draft.commitments.slice(1)] });
    await assert.rejects(sequence(other), { code: "INVALID_REQUEST" });
    const standing = on.spend(on.rooted().root);
    await on.reaches(await on.accept(standing), "confirmed");
    const { deadline, root } = standing.draft;
    const same = on.stated({ ...standing.draft, deadline: deadline + 1n });
    const named = { deadline: Number(deadline), root: String(root) };
    await assert.rejects(sequence(same, named), { code: "INVALID_REQUEST" });
  });
});
