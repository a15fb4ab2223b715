/** The store is an older copy than the chain: what was executed meanwhile is answered with its outcome, and nothing else is. */
import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Owner } from "../../../../../proxy/base/http/state.ts";
import type { TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { Admission } from "../../../../../proxy/api/payments/admission.ts";
import type { Body } from "../../../../../proxy/api/payments/body.ts";
import { spendDraft } from "../../../../support/drafts.ts";
import { toHex } from "../../../../../shared/protocol/bytes.ts";
import { testFees } from "../../../../support/fees.ts";
import { Money, NO_PROOF, OWNER, type MadeStatement } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";
import { paymentsOn } from "./payments-on.ts";
import { posted } from "./posted.ts";

const STRANGER: Owner = { developerId: "d2", sub: undefined };

describe("payments: after the restore of an older copy of the store", function () {
  let on: Money;
  let copy: string;

  beforeEach(async () => {
    on = await Money.start();
    await on.seed();
    await on.halt();
    copy = await mkdtemp(path.join(tmpdir(), "cloister-copy-"));
    await cp(on.folder, copy, { recursive: true });
    await reopen();
  });
  afterEach(async () => {
    await on.stop();
    await rm(copy, { recursive: true, force: true });
  });

  async function reopen(): Promise<void> {
    await on.reopen();
    await on.indexer.start();
    on.sequencer.start();
  }
  async function restore(): Promise<void> {
    await on.halt();
    await rm(on.folder, { recursive: true });
    await cp(copy, on.folder, { recursive: true });
  }

  function admission(isFresh = true): Admission {
    const { pool, tokens, store: tickets, data, usdcAddress: address } = on;
    const assets = [{ address, symbol: "USDC", decimals: 6 }];
    return new Admission({
      deadEnds: [],
      ...{ pool, brakes: pool, tokens, tickets, data, assets, fees: testFees({ assets }) },
      ...{ isFresh: () => isFresh, now: Date.now },
    });
  }
  const body = ({ draft, authorization }: MadeStatement): Body => posted({ ...draft, authorization });
  function sequence(made: MadeStatement, owner = OWNER, isFresh = true): Promise<TicketRecord> {
    return paymentsOn(on, admission(isFresh)).accept(owner, body(made));
  }
  async function relay(made: MadeStatement): Promise<TicketRecord> {
    const attested = await on.attestor.attest(made.statement, NO_PROOF);
    const attestations = attested.map(({ signer, signature }) => ({ signer, signature: toHex(signature) }));
    return paymentsOn(on, admission()).accept(OWNER, { ...body(made), attestations });
  }
  const spend9 = (): MadeStatement =>
    on.stated(spendDraft(on.setting, on.rooted().root, undefined, "spend9"));
  const refused = (attempt: Promise<TicketRecord>, code: string): Promise<void> =>
    assert.rejects(attempt, { code });

  /** Where and how it was executed, by the index. */
  const outcomeOf = (made: MadeStatement) =>
    until("the execution to be read", () => on.data.execution(made.statement.hash));

  /** Executed, and then the store is as it was before. */
  async function forgotten(...all: readonly MadeStatement[]): Promise<void> {
    for (const made of all) await on.reaches(await sequence(made), "confirmed");
    await restore();
    await reopen();
    for (const made of all) {
      assert.equal(await on.store.byStatement(made.statement.hash), undefined, "the copy is older");
      await outcomeOf(made);
    }
  }

  it("a repeated request gets a ticket with its outcome from the chain, of every kind, and nothing is sent", async () => {
    const relayed = on.spend(on.rooted().root);
    const all = [await on.deposit(), on.spend(on.rooted().root), spend9(), relayed];
    await forgotten(...all);
    const nonce = await until("an idle sequencer", async () => {
      const isRooted = on.data.currentRoot()?.leafCount === on.data.leafCount();
      return isRooted && (await on.store.outgoing()).length === 0 && (await on.chain.nonce(on.sender));
    });
    for (const made of all) {
      const ticket = await (made === relayed ? relay(made) : sequence(made));
      const outcome = await outcomeOf(made);
      assert.deepEqual(ticket.status, { state: "confirmed", outcome });
      assert.equal((await sequence(made)).id, ticket.id);
      assert.equal((await on.tickets.find(OWNER, made.statement.hash)).id, ticket.id);
      await on.mine(3);
      assert.deepEqual((await on.reaches(ticket, "finalized")).status, { state: "finalized", outcome });
      assert.equal(await on.executions(made), 1);
    }
    assert.equal(await on.chain.nonce(on.sender), nonce);
  });

  it("also when its deadline has passed and its depositor has nothing left", async () => {
    const made = [await on.deposit(), on.spend(on.rooted().root)];
    await forgotten(...made);
    await on.rpc("evm_increaseTime", [2 * 3600]);
    await on.mine();
    await until("the time to be read", () => BigInt(on.data.tip()!.timestamp) > on.setting.deadline);
    for (const one of made) assert.equal((await sequence(one)).status.state, "confirmed");
  });

  it("another statement over the same note is refused as before", async () => {
    const made = on.spend(on.rooted().root);
    await forgotten(made);
    const [nullifier] = made.statement.facts.nullifiers;
    const rival = on.spend(on.rooted().root, { nullifiers: [nullifier!, 5n] });
    await refused(sequence(rival), "NULLIFIER_SPENT");
    await sequence(made);
    await refused(sequence(rival), "NULLIFIER_SPENT");
    await refused(sequence(rival, STRANGER), "NULLIFIER_SPENT");
  });

  it("nobody gets another's ticket: neither by the statement's body nor by its hash", async () => {
    const made = on.spend(on.rooted().root);
    await forgotten(made);
    const ticket = await sequence(made);
    await refused(sequence(made, STRANGER), "NULLIFIER_PENDING");
    await on.mine(3);
    await on.reaches(ticket, "finalized");
    await refused(sequence(made, STRANGER), "NULLIFIER_SPENT");
    const unknown = { code: "TICKET_UNKNOWN", message: "no ticket of yours has this id or statement" };
    for (const name of [ticket.id, made.statement.hash, spend9().statement.hash])
      await assert.rejects(on.tickets.find(STRANGER, name), unknown);
    await assert.rejects(on.tickets.find({ ...OWNER, sub: "other" }, made.statement.hash), unknown);
    assert.equal((await on.tickets.find({ ...OWNER, sub: undefined }, made.statement.hash)).id, ticket.id);
  });

  it("a stranger who is first has what stands on the chain, and nothing of the ticket that was lost", async () => {
    const made = on.spend(on.rooted().root);
    const lost = await on.reaches(await sequence(made), "confirmed");
    await restore();
    await reopen();
    const outcome = await outcomeOf(made);
    const ticket = await sequence(made, STRANGER);
    assert.notEqual(ticket.id, lost.id);
    assert.ok(ticket.createdAt > lost.createdAt);
    assert.deepEqual([ticket.owner, ticket.status], [STRANGER, { state: "confirmed", outcome }]);
  });

  it("while the index is behind, nobody is told that it is too late", async () => {
    const made = [await on.deposit(), on.spend(on.rooted().root)];
    for (const one of made) await on.reaches(await sequence(one), "confirmed");
    await restore();
    await on.reopen();
    for (const one of made) await refused(sequence(one, OWNER, false), "CHAIN_UNAVAILABLE");
    await on.indexer.start();
    on.sequencer.start();
    for (const one of made) {
      const outcome = await outcomeOf(one);
      assert.deepEqual((await sequence(one, OWNER, false)).status, { state: "confirmed", outcome });
    }
  });

  it("executed while it is looked at: what refuses it is its own execution", async () => {
    const made = on.spend(on.rooted().root);
    const door = admission();
    const { calldata } = await paymentsOn(on, door).attest(OWNER.developerId, body(made));
    const stranger = await on.provider.getSigner(5);
    const seen: boolean[] = [];
    const accepted = await paymentsOn(on, {
      async admit(transaction, developerId, isExecuted) {
        seen.push(isExecuted);
        if (seen.length === 1) {
          const call = { to: on.pool.address, data: calldata, gasLimit: 2_000_000n };
          await (await stranger.sendTransaction(call)).wait();
          await outcomeOf(made);
        }
        return door.admit(transaction, developerId, isExecuted);
      },
    }).accept(OWNER, body(made));
    assert.deepEqual(accepted.status, { state: "confirmed", outcome: await outcomeOf(made) });
    assert.deepEqual(seen, [false, true]);
  });

  it("its block reorganised out, it is sent again and executed once", async () => {
    const made = on.spend(on.rooted().root);
    await on.mine(3);
    await forgotten(made);
    const ticket = await sequence(made);
    const { block } = await outcomeOf(made);
    const height = Number(await on.rpc("eth_blockNumber"));
    await on.rpc("anvil_reorg", [height - block + 1, []]);
    await until("it to be executed again", async () => {
      const outcome = on.data.execution(made.statement.hash);
      const now = await on.store.get(ticket.id);
      return outcome !== undefined && now?.status.state === "confirmed" && (await on.executions(made)) === 1;
    });
    await on.mine(3);
    await on.reaches(ticket, "finalized");
    assert.equal(await on.executions(made), 1);
  });
});
