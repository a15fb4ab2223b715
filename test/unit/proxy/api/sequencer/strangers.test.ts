/** Depositors whose own code behaves in every simulation and burns its gas in a block, beside deposits of others. */
import assert from "node:assert/strict";
import { deployContract } from "../../../../../scripts/deploy/pool.ts";
import type { TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { depositDraft } from "../../../../support/drafts.ts";
import { Money, type MadeStatement } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";

const BURNERS = 3;
const OTHERS = 5;
const AMOUNT = 5_000_000n;
/** Which only an account's own code takes. */
const NO_KEYS_SIGNATURE = new Uint8Array(130);

describe("sequencer with depositors that run code of their own", function () {
  let on: Money;
  let calls: Map<number, readonly string[]>;

  beforeEach(async () => {
    on = await Money.start();
    calls = new Map();
    await on.seed();
    await on.mine(3);
    await until("nothing to be under way", async () => (await on.store.outgoing()).length === 0);
  });
  afterEach(() => on.stop());

  const times = async <T>(count: number, make: () => Promise<T>): Promise<T[]> => {
    const all: T[] = [];
    for (let i = 0; i < count; i++) all.push(await make());
    return all;
  };

  /** Accepted while another call is in flight, so that they wait together; from here on blocks are made by `goOn` alone. */
  async function acceptTogether(made: readonly MadeStatement[]): Promise<TicketRecord[]> {
    await on.rpc("evm_setAutomine", [false]);
    await on.accept(on.spend(on.rooted().root));
    await until("a call to be in flight", async () => (await on.store.outgoing()).length === 1);
    const tickets: TicketRecord[] = [];
    for (const one of made) tickets.push(await on.accept(one));
    return tickets;
  }

  async function goOn(): Promise<void> {
    for (const { nonce, ticketIds } of await on.store.outgoing()) calls.set(nonce, ticketIds);
    await on.mine();
  }

  /** Of all that was mined. */
  async function failedCalls(): Promise<number> {
    const { number } = (await on.chain.header("latest"))!;
    let failed = 0;
    for (let block = 0; block <= number; block++) {
      const { transactions } = (await on.provider.getBlock(block))!;
      const receipts = await Promise.all(transactions.map((hash) => on.provider.getTransactionReceipt(hash)));
      failed += receipts.filter((receipt) => receipt?.status === 0).length;
    }
    return failed;
  }

  it("sends one such deposit in a call at most; it burns its own share, and its neighbours are executed", async () => {
    const burning = await times(BURNERS, async () => {
      const { address } = await deployContract(on.owner, "GasBurner", []);
      await (await on.usdc.getFunction("mint")(address, AMOUNT)).wait();
      const terms = { asset: on.usdcAddress, amount: AMOUNT, depositor: address };
      return { ...on.stated(depositDraft(on.setting, terms)), authorization: NO_KEYS_SIGNATURE };
    });
    const honest = await times(OTHERS, () => on.deposit(AMOUNT));
    const tickets = await acceptTogether([...burning, ...honest]);
    const [burners, others] = [tickets.slice(0, BURNERS), tickets.slice(BURNERS)];
    for (const ticket of others) await on.isDone(ticket, goOn);
    await until("each burner to be refused on chain", async () => {
      await goOn();
      const now = await Promise.all(burners.map(({ id }) => on.store.get(id)));
      return now.every((ticket) => "error" in ticket!.status);
    });
    assert.equal(await failedCalls(), 0);
    const ids = new Set(burners.map(({ id }) => id));
    for (const carried of calls.values()) assert.ok(carried.filter((id) => ids.has(id)).length <= 1);
    assert.ok([...calls.values()].some((carried) => carried.length === OTHERS + 1));
  });

  it("puts off the guilty alone where accounts get such code when the call is under way, and it fails as a whole", async () => {
    const burner = await deployContract(on.owner, "GasBurner", []);
    const code = await on.provider.getCode(burner.address);
    const depositors = await times(BURNERS, () => on.depositor(AMOUNT));
    const burning: MadeStatement[] = [];
    for (const depositor of depositors) burning.push(await on.deposit(AMOUNT, { depositor }));
    const honest = await times(OTHERS, () => on.deposit(AMOUNT));
    const tickets = await acceptTogether([...burning, ...honest]);
    await goOn();
    const whole = await until("all of them to be in one call", async () =>
      (await on.store.outgoing()).find(({ ticketIds }) => ticketIds.length === BURNERS + OTHERS),
    );
    for (const { address } of depositors) await on.rpc("anvil_setCode", [address, code]);
    await on.mine();
    const others = tickets.slice(BURNERS);
    for (const ticket of others) await on.isDone(ticket, goOn);
    assert.equal(await failedCalls(), 1);
    const next = calls.get(whole.nonce + 1)!;
    for (const { id } of others) assert.ok(next.includes(id));
    for (const { id } of others) assert.ok(!("error" in (await on.store.get(id))!.status));
  });
});
