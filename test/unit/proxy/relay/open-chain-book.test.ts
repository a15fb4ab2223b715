// The book of an instance with real records in a real store; every node that its settings name is away.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { bookOptions, openBook } from "../../../../proxy/relay/open-chain-book.ts";
import { createChain } from "../../../../proxy/base/chain/provider.ts";
import { createLogger } from "../../../../proxy/base/logging.ts";
import { embeddedStores } from "../../../../proxy/base/store/instance.ts";
import { openDatabase } from "../../../../proxy/base/store/lmdb/database.ts";
import { bridgeDraft, bridgeSettings, BRIDGE_USDC, madeAddress } from "../../../support/bridges.ts";
import { until } from "../../../support/until.ts";

const NOWHERE = createChain("http://127.0.0.1:1", 31_337n);
const home = { chain: NOWHERE, confirmations: 2, blockSecs: 1, pollIntervalMs: 20 };

describe("relay out of the settings", () => {
  it("follows every chain that they name, each by its own contracts", () => {
    const { chains, altchain, bridgingSecs } = bookOptions({
      settings: bridgeSettings(),
      home,
      logger: createLogger("silent"),
    });
    assert.deepEqual(
      chains.map(({ name, where, confirmations }) => [name, where, confirmations]),
      [
        ["home", "home", 2],
        ["second", "source", 2],
        ["other", "source", 2],
        ["perpvenue", "source", 2],
      ],
    );
    assert.deepEqual(chains[0]!.contracts.tokens, [BRIDGE_USDC]);
    assert.equal(chains[1]!.contracts.cctp!.messenger, madeAddress(0x601));
    assert.equal(chains[3]!.contracts.exchange, madeAddress(0x1901));
    assert.equal(chains[0]!.contracts.cctp!.senders[6], `0x${madeAddress(0x601).slice(2).padStart(64, "0")}`);
    assert.equal(altchain!.domain, 5);
    assert.equal(bridgingSecs, 1_200);
  });

  it("has the open requests of the store and follows their changes, and says who is away", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-book-"));
    const database = openDatabase(folder);
    const store = embeddedStores(database).bridges;
    const limits = { openPerUser: 10, openPerDeveloper: 10, openPerInstance: 10 };
    const [before, later] = [bridgeDraft(1, {}), bridgeDraft(2, {})];
    await store.make(before, limits);
    const { book, stop } = await openBook({
      settings: bridgeSettings(),
      home,
      store,
      logger: createLogger("silent"),
    });
    try {
      assert.ok(book.recordOf(before.id));
      await store.make(later, limits);
      await until("the newer one to be watched", () => book.recordOf(later.id) !== undefined);
      await store.screen(later.id, true, 1);
      await until("its change", () => book.recordOf(later.id)?.screening?.isRefused);
      await store.close(before.id, before.watchUntil + 1);
      await until("the end of the watch", () => book.recordOf(before.id) === undefined);
      await until("the chains to be found away", () => book.unreachable().length === 5);
      assert.deepEqual([...book.unreachable()].sort(), ["altchain", "home", "other", "perpvenue", "second"]);
      assert.equal(book.isComplete(later.id), false);
      assert.equal(book.progressOf(later).state, "awaiting_funds");
      assert.deepEqual(book.heads(), {});
    } finally {
      await stop();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
