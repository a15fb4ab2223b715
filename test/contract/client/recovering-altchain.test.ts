// A deposit on the other blockchain, brought home by its key alone: that chain's own process, the attester's, and nobody else.
import assert from "node:assert/strict";
import { lamports } from "@solana/kit";
import type { Recovery, RecoveryOptions } from "../../../shared/client/chain.ts";
import { keyFromSeed } from "../../../shared/altchain/signing.ts";
import { parseAltchainAddress, tokenAccountOf } from "../../../shared/altchain/token.ts";
import { tokenBalances } from "../../../shared/altchain/balances.ts";
import { DepositKey } from "../../../shared/notes/bridge-keys.ts";
import { startTestAltchain, type TestAltchain } from "../../support/altchain.ts";
import { MINIMUM, RecoveryStage, show } from "./recovery-stage.ts";

const AMOUNT = 9_000_000n;
const acts = ({ steps }: Recovery): string[] => steps.map(({ what, state }) => `${what} ${state}`);

describe("recovery of money on the other blockchain", function () {
  let chain: TestAltchain;
  let stage: RecoveryStage;
  let altchain: NonNullable<RecoveryOptions["altchain"]>;
  const payer = new Uint8Array(32).fill(0x77);

  before(async () => {
    chain = await startTestAltchain();
    stage = await RecoveryStage.open(chain);
    altchain = { rpc: chain.url, payer };
    await chain.node.requestAirdrop((await keyFromSeed(payer)).address, lamports(1_000_000_000n)).send();
    await slots(1);
  });
  after(async () => {
    await (stage as RecoveryStage | undefined)?.stop();
    await (chain as TestAltchain | undefined)?.stop();
  });

  const slots = (count: number) => chain.develop("slots", { count });
  /** To the token account of that number's key. */
  async function deposit(seed: number, index: number, amount: bigint): Promise<string> {
    const owner = new DepositKey(stage.keys(seed), index).text;
    await chain.develop("mint", { to: owner, amount: String(amount) });
    await slots(1);
    return tokenAccountOf(parseAltchainAddress(owner), chain.token.mint);
  }
  const recover = (seed: number, changes: Partial<RecoveryOptions> = {}) =>
    stage.recover(seed, { altchain, refundAddresses: [], ...changes });

  it("the device burns and sends by itself; anybody delivers with the attestation; it becomes a note", async () => {
    const account = await deposit(1, 0, AMOUNT);
    const first = await recover(1);
    assert.deepEqual(acts(first), ["burn done"], show(first));
    assert.deepEqual(
      first.found.map(({ kind, address, amount, chainId }) => [kind, address, amount, chainId]),
      [["altchain", account, AMOUNT, null]],
    );
    await slots(1);
    // Nobody has attested it, so it is on its way: to say that nothing is left would be to lose it.
    const waiting = await recover(1);
    assert.deepEqual(acts(waiting), []);
    assert.equal(waiting.waitingFor.length, 1, show(waiting));
    await slots(40);
    const last = await stage.recoverUntil(1, ({ steps }) => steps.length > 0, {
      ...{ altchain, refundAddresses: [] },
    });
    assert.deepEqual(acts(last), ["deliver done", "sweep done"], show(last));
    assert.deepEqual(await stage.notes(1), [AMOUNT]);
    const again = await recover(1);
    assert.deepEqual([again.found, again.steps, again.waitingFor], [[], [], []]);
  });

  it("finds each number's key from the seed alone, and burns each by itself", async () => {
    const accounts = [await deposit(2, 0, AMOUNT), await deposit(2, 7, 2n * AMOUNT)];
    const recovery = await recover(2);
    assert.deepEqual(acts(recovery), ["burn done", "burn done"], show(recovery));
    assert.deepEqual(recovery.steps.map(({ address }) => address).sort(), accounts.sort());
    await slots(40);
    const done = (seen: Recovery): boolean => seen.steps.filter(({ what }) => what === "sweep").length === 2;
    await stage.recoverUntil(2, done, { altchain, refundAddresses: [] });
    assert.deepEqual((await stage.notes(2)).sort(), [AMOUNT, 2n * AMOUNT].sort());
    assert.deepEqual((await recover(3)).found, [], "another key finds none of it");
  });

  it("without coins for that chain's fee it says what could be done, and moves nothing", async () => {
    const account = await deposit(4, 0, AMOUNT);
    const recovery = await recover(4, { altchain: { rpc: chain.url } });
    assert.deepEqual(acts(recovery), ["burn possible"]);
    const address = parseAltchainAddress(account);
    const { amounts } = await tokenBalances(chain.node, chain.token, [address], "confirmed");
    assert.equal(amounts.get(address), AMOUNT);
  });

  it("less than the minimum is not burned: it stays under the key, and that is said", async () => {
    await deposit(5, 0, MINIMUM - 1n);
    const recovery = await recover(5);
    assert.deepEqual(recovery.steps, []);
    assert.match(recovery.waitingFor[0]?.what ?? "", /below the minimum/);
  });
});
