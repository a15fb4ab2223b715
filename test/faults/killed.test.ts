/**
 * A proxy that is killed (SIGKILL) at each step of a ticket's life, as a process of its own with a real enclave, chain
 * and proofs: after its restart every ticket that was answered is executed once and in its place, and asks for nothing.
 */
import assert from "node:assert/strict";
import { choosePorts } from "../../scripts/stack/ports.ts";
import type { DepositBody, Ticket } from "../../shared/api/transactions.ts";
import { capture, capturing } from "../support/captured.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { startRpcRelay, type RpcRelay } from "../../scripts/stand-ins/between/node-relay.ts";
import type { Moment } from "../../scripts/stand-ins/between/trap.ts";

const UNIT = 1_000_000n;

interface Step {
  readonly what: string;
  readonly method: string;
  readonly moment: Moment;
  /** Which question by this method. Default: the first. */
  readonly nth?: number;
  /** Set only when the ticket is in a chain transaction that is not mined. */
  readonly isLate?: true;
}

/** In the order in which a ticket passes them. */
const STEPS: readonly Step[] = [
  { what: "chosen, not yet simulated", method: "eth_simulateV1", moment: "before" },
  { what: "simulated", method: "eth_simulateV1", moment: "after" },
  { what: "its whole call not yet simulated", method: "eth_simulateV1", moment: "before", nth: 2 },
  { what: "its whole call simulated", method: "eth_simulateV1", moment: "after", nth: 2 },
  { what: "about to be signed", method: "eth_maxPriorityFeePerGas", moment: "after" },
  { what: "signed and stored, not sent", method: "eth_sendRawTransaction", moment: "before" },
  { what: "sent, the node's answer lost", method: "eth_sendRawTransaction", moment: "after" },
  { what: "mined, the block not yet read", method: "eth_getLogs", moment: "before", isLate: true },
  { what: "mined, the block's logs under way", method: "eth_getLogs", moment: "after", isLate: true },
  {
    what: "executed, the receipt not read",
    method: "eth_getTransactionReceipt",
    moment: "before",
    isLate: true,
  },
  {
    what: "executed, the receipt under way",
    method: "eth_getTransactionReceipt",
    moment: "after",
    isLate: true,
  },
];

describe("a proxy that is killed at each step of a ticket's life", function () {
  let on: TestStack;
  let relay: RpcRelay;
  const green: string[] = [];

  before(async () => {
    const [chainPort] = (await choosePorts([{ wanted: 0, usual: 0, option: "chain" }])) as [number];
    relay = await startRpcRelay(`http://127.0.0.1:${String(chainPort)}`);
    on = await startTestStack({ chainPort, proxySettings: { CLOISTER_RPC_URL: relay.url } });
  });
  after(async () => {
    await on.stop();
    await relay.close();
    console.log(
      ["", "      killed when a ticket was …", ...green.map((what) => `        ok  ${what}`)].join("\n"),
    );
  });
  afterEach(() => on.setMining(true));

  async function aDeposit(): Promise<DepositBody> {
    const wallet = await on.wallet({ through: capturing(on.client) });
    const depositor = await on.depositor(10n * UNIT);
    return capture<DepositBody>(wallet, () => wallet.deposit(10n * UNIT, depositor));
  }

  /** Both are final, each executed by one chain transaction, the first one in front. */
  async function requireBoth(tickets: readonly [Ticket, Ticket]): Promise<void> {
    const leaves: number[] = [];
    for (const { ticket_id, statement } of tickets) {
      const final = await until("the ticket to become final", async () => {
        const now = await on.client.ticket(ticket_id);
        assert.ok(now.state !== "failed" && now.state !== "expired", now.state);
        return now.state === "finalized" && now;
      });
      assert.equal((await on.executions(statement)).length, 1);
      leaves.push(final.leaf_index[0]!);
    }
    assert.ok(leaves[0]! < leaves[1]!, "in order of acceptance");
  }

  const kill = (): void => void process.kill(on.local.proxy().pid, "SIGKILL");

  it("not answered: its key is free again at once, and gives the one ticket from then on", async () => {
    const body = await aDeposit();
    const { statement } = await on.client.attestDeposit(body);
    const post = async (): Promise<{ status: number; told: Ticket & { code?: string } }> => {
      const response = await fetch(`${on.entry.base_url}/sequence/deposit-shield`, {
        method: "POST",
        headers: {
          "X-API-Key": on.stack.file.api_key,
          "Content-Type": "application/json",
          "Idempotency-Key": statement,
        },
        body: JSON.stringify(body),
      });
      return { status: response.status, told: (await response.json()) as Ticket };
    };
    const { ended } = on.local.proxy();
    // Asked of the token after the claim, and by nobody but a deposit that came in.
    relay.trap("eth_call", "before", kill);
    await assert.rejects(post());
    assert.equal(await ended, "SIGKILL");
    await on.local.restartProxy();
    await assert.rejects(on.client.ticket(statement), { code: "TICKET_UNKNOWN" });
    const { status, told: first } = await post();
    assert.equal(status, 202, JSON.stringify(first));
    assert.equal((await post()).told.ticket_id, first.ticket_id);
    assert.equal((await on.client.ticket(statement)).ticket_id, first.ticket_id);
    const second = await on.client.sequenceDeposit(await aDeposit());
    await requireBoth([first, second]);
    green.push("not answered");
  });

  it("just answered", async () => {
    const bodies = [await aDeposit(), await aDeposit()] as const;
    const tickets = [
      await on.client.sequenceDeposit(bodies[0]),
      await on.client.sequenceDeposit(bodies[1]),
    ] as const;
    const { ended } = on.local.proxy();
    kill();
    assert.equal(await ended, "SIGKILL");
    await on.local.restartProxy();
    await requireBoth([...tickets]);
    green.push("just answered");
  });

  for (const { what, method, moment, nth, isLate } of STEPS) {
    it(what, async () => {
      const bodies = [await aDeposit(), await aDeposit()] as const;
      await on.setMining(false);
      const { ended } = on.local.proxy();
      if (isLate !== true) relay.trap(method, moment, kill, nth);
      const first = await on.client.sequenceDeposit(bodies[0]);
      if (isLate === true) {
        await until(
          "it to be sent",
          async () => (await on.client.ticket(first.ticket_id)).state === "submitted",
        );
        relay.trap(method, moment, kill, nth);
        await on.mine();
      }
      assert.equal(await ended, "SIGKILL");
      await on.local.restartProxy();
      const again = await on.client.sequenceDeposit(bodies[0]);
      assert.equal(again.ticket_id, first.ticket_id, "it is known still");
      const second = await on.client.sequenceDeposit(bodies[1]);
      await on.setMining(true);
      await requireBoth([first, second]);
      green.push(what);
    });
  }

  it("confirmed, not final", async () => {
    const bodies = [await aDeposit(), await aDeposit()] as const;
    await on.setMining(false);
    const first = await on.client.sequenceDeposit(bodies[0]);
    await until("it to be sent", async () => (await on.client.ticket(first.ticket_id)).state === "submitted");
    await on.mine();
    await until(
      "it to be confirmed",
      async () => (await on.client.ticket(first.ticket_id)).state === "confirmed",
    );
    const { ended } = on.local.proxy();
    kill();
    assert.equal(await ended, "SIGKILL");
    await on.local.restartProxy();
    assert.equal((await on.client.ticket(first.ticket_id)).state, "confirmed");
    const second = await on.client.sequenceDeposit(bodies[1]);
    await on.setMining(true);
    await requireBoth([first, second]);
    green.push("confirmed, not final");
  });
});
