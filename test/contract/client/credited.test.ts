// A note that a contract's money was credited by: found from the service's stream and from the chain alone, and spent with a real proof.
import assert from "node:assert/strict";
import { Pool } from "../../../proxy/base/chain/pool.ts";
import type { Chain, RawLog } from "../../../proxy/base/chain/provider.ts";
import { frameOfLogged } from "../../../proxy/api/events/frames.ts";
import { Expansion } from "../../../proxy/api/merkle/expansion.ts";
import { EVENTS, type StreamEvent } from "../../../shared/api/data.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import type { Prover } from "../../../shared/client/index.ts";
import { applyEvent } from "../../../shared/client/history/scanner.ts";
import { WalletState } from "../../../shared/client/state/state.ts";
import { nobody } from "../../../shared/notes/encryption.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";
import { CreditSource, drawOpenNote, openNoteFor, type OpenNote } from "../../support/credit-source.ts";
import { LonePool, PROVED_DELAY_SECS, SILENCE_SECS } from "../../support/lone-pool.ts";

const SEED = 7;

describe("credited notes", function () {
  let prover: Prover;
  let lone: LonePool;
  let source: CreditSource;
  const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(SEED));
  before(async () => {
    prover = await developmentProver();
    lone = await LonePool.start(prover);
    source = await CreditSource.start(await lone.provider.getSigner(0), lone.pool, lone.asset);
  });
  after(async () => {
    await lone.stop();
    await prover.close();
  });

  const mine = (value: bigint): OpenNote => openNoteFor(keys.viewing.address, lone.asset, value);

  /** As the service streams what is on the chain now. */
  async function streamed(): Promise<StreamEvent[]> {
    const logs = await lone.provider.getLogs({
      address: lone.pool,
      fromBlock: lone.block,
      toBlock: "latest",
    });
    const expansion = new Expansion(new Pool({ chainId: 1n } as Chain, lone.pool), () => undefined);
    const raw = logs.map((log): RawLog => ({
      ...{ address: asAddress(log.address)!, topics: [...log.topics], data: log.data },
      ...{ blockNumber: log.blockNumber, blockHash: asBytes32(log.blockHash)! },
      ...{ txHash: asBytes32(log.transactionHash)!, logIndex: log.index },
    }));
    return raw
      .flatMap((log) => expansion.take(log))
      .flatMap((logged) => {
        const frame = frameOfLogged(logged);
        if (frame?.kind !== "leaf") return [];
        const [, id = "", data = ""] = /\nid: (.*)\ndata: (.*)\n/.exec(frame.bytes.toString()) ?? [];
        return [{ kind: "leaf" as const, id, data: EVENTS.leaf.parse(JSON.parse(data)) }];
      });
  }

  it("is found from the stream and from the chain alone, and spent by a proof", async () => {
    await source.credit([
      drawOpenNote({ value: 3n }),
      mine(40n),
      openNoteFor(nobody(), lone.asset, 5n),
      mine(2n),
    ]);

    const events = await streamed();
    const state = new WalletState();
    const found = events.map((event) => applyEvent(state, keys.viewing, event).type);
    assert.deepEqual(found, ["nothing", "received", "nothing", "received"]);
    const notes = [...state.notes.values()];
    assert.deepEqual(
      notes.map(({ value, asset, leafIndex, source: from }) => [value, asset, leafIndex, from]),
      [
        [40n, lone.asset, 1, "forwarder"],
        [2n, lone.asset, 3, "forwarder"],
      ],
    );

    const wallet = await lone.wallet({ seed: SEED });
    await wallet.sync();
    assert.equal(wallet.balance().total, 42n);
    const account = await lone.account();
    const alone = await wallet.withoutService(account);
    await lone.pass(SILENCE_SECS);
    assert.equal((await alone.advance())?.leafCount, 4);
    if ((await alone.outlook())[0]?.provable !== 42n) await lone.pass(PROVED_DELAY_SECS);
    await alone.withdraw(account.address, 41n);
    assert.equal(await lone.publicBalance(account.address), 41n);
    assert.equal(wallet.balance().total, 1n);
    await wallet.close();
  });

  it("of one address as often as money comes: each is a note of its own, and all are spent", async () => {
    const wallet = await lone.wallet({ seed: SEED });
    await wallet.sync();
    const before = wallet.balance().total;
    const one = mine(10n);
    await source.credit([one]);
    await source.credit([one, { ...one, value: 11n }]);
    await wallet.sync();
    assert.equal(wallet.balance().total, before + 31n);
    const account = await lone.account();
    const alone = await wallet.withoutService(account);
    await lone.pass(SILENCE_SECS);
    await alone.advance();
    if ((await alone.outlook())[0]?.provable !== before + 31n) await lone.pass(PROVED_DELAY_SECS);
    await alone.withdraw(account.address, before + 31n);
    assert.equal(await lone.publicBalance(account.address), before + 31n);
    await wallet.close();
  });

  it("whose key is another's, or whose ciphertext was copied from a stranger's note, is nobody's money here", async () => {
    const wallet = await lone.wallet({ seed: SEED });
    await wallet.sync();
    const before = wallet.balance().total;
    const [own, other] = [mine(100n), openNoteFor(nobody(), lone.asset, 100n)];
    await source.credit([
      { ...own, npk: other.npk },
      { ...other, npk: own.npk },
    ]);
    await wallet.sync();
    assert.equal(wallet.balance().total, before);
    await wallet.close();
  });

  it("is not worth more because the service says so", async () => {
    await source.credit([mine(9n)]);
    const events = await streamed();
    const last = events.at(-1)!;
    assert.ok(last.kind === "leaf");
    for (const lie of [
      { value: "10" },
      { asset: `0x${"22".repeat(20)}` },
      { npk: `0x${"00".repeat(31)}07` },
      { npk: undefined },
      { output: 1 },
    ]) {
      const state = new WalletState();
      const told = events.with(-1, { ...last, data: { ...last.data, ...lie } });
      const found = told.map((event) => applyEvent(state, keys.viewing, event).type);
      assert.equal(found.at(-1), "nothing", JSON.stringify(lie));
    }
  });
});
