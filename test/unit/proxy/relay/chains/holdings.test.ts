// What addresses hold against what was seen of them: whose turn it is, who is looked for again, and how often.
import assert from "node:assert/strict";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { keyOf, type Key } from "../../../../../proxy/relay/chains/events.ts";
import { Holdings, type Holding } from "../../../../../proxy/relay/chains/holdings.ts";
import { Ledger, type Block } from "../../../../../proxy/relay/chains/ledger.ts";
import { Watched, type Newcomers } from "../../../../../proxy/relay/chains/watched.ts";
import { madeAddress, madeHash } from "../../../../support/bridges.ts";

const TOKEN = madeAddress(0xc01);
const STRANGER = keyOf(madeAddress(0xbad));
const key = (n: number): Key => keyOf(madeAddress(n));
const blockAt = (number: number): Block => ({ number, hash: madeHash(number), timestamp: number });
const holding = (account: Key, amount: bigint): Holding => ({ account, token: TOKEN, amount });

describe("relay/chains/holdings", () => {
  let watched: Watched;
  let ledger: Ledger;
  let newcomers: Newcomers;
  let holdings: Holdings;

  beforeEach(async () => {
    watched = new Watched();
    ledger = new Ledger({
      ...{ confirmations: 1, onChange: () => undefined },
      isKept: (one, event) => watched.keeps("home", one, event),
    });
    for (let n = 1; n <= 5; n++)
      watched.add({ bridgeId: String(n), madeAt: 0, since: {}, keys: [{ key: key(n), where: "home" }] });
    newcomers = watched.newcomers();
    await newcomers.welcome(async () => undefined);
    holdings = new Holdings({ where: "home", watched, ledger, newcomers, logger: createLogger("silent") });
  });

  /** A block in which that moved to the address. */
  function grow(number: number, to: Key, amount: bigint): void {
    const event = { kind: "moved", token: TOKEN, from: STRANGER, to, amount } as const;
    ledger.append([blockAt(number)], [{ block: blockAt(number), tx: "0x", logIndex: 0, part: 0, event }]);
  }
  const lookedFor = async (): Promise<string[]> => {
    const found: string[] = [];
    await newcomers.welcome(async (fresh) => void found.push(...fresh.map(({ bridgeId }) => bridgeId)));
    return found;
  };

  it("asks about every address in turn, also about one that came meanwhile", async () => {
    const asked: Key[][] = [];
    const ask = () =>
      holdings.ask(2, async (keys) => {
        asked.push([...keys]);
      });
    for (let i = 0; i < 3; i++) await ask();
    watched.add({ bridgeId: "6", madeAt: 0, since: {}, keys: [{ key: key(6), where: "home" }] });
    for (let i = 0; i < 3; i++) await ask();
    const round = [1, 2, 3, 4, 5].map(key);
    assert.deepEqual(asked.flat(), [...round, ...round, key(6)]);
  });

  it("a node that does not tell is asked again after more and more blocks, and holds up nothing", async () => {
    const asked: number[] = [];
    for (let tip = 1; tip <= 20; tip++) {
      ledger.append([blockAt(tip)], []);
      const answer = await holdings.ask(9, async (): Promise<string> => {
        asked.push(tip);
        throw new Error("no");
      });
      assert.equal(answer, undefined);
    }
    assert.deepEqual(asked, [1, 2, 4, 8, 16]);
  });

  it("an address that holds more, or less, than was seen is looked for again, and no other", async () => {
    grow(1, key(1), 10n);
    grow(2, key(2), 10n);
    holdings.compare([holding(key(1), 10n), holding(key(2), 7n), holding(key(3), 1n)], 2);
    assert.deepEqual(await lookedFor(), ["2", "3"]);
  });

  it("as long as it does not fit, ever less often; once it fits, at once again", async () => {
    const again: number[] = [];
    for (let tip = 1; tip <= 20; tip++) {
      holdings.compare([holding(key(1), 1n)], tip);
      if ((await lookedFor()).length > 0) again.push(tip);
    }
    assert.deepEqual(again, [1, 2, 4, 8, 16]);
    holdings.compare([holding(key(1), 0n)], 21);
    holdings.compare([holding(key(1), 1n)], 22);
    assert.deepEqual(await lookedFor(), ["1"]);
  });

  it("counts no movement of a later block, and judges none that is new or gone", async () => {
    grow(1, key(1), 10n);
    grow(2, key(1), 5n);
    holdings.compare([holding(key(1), 10n)], 1);
    assert.deepEqual(await lookedFor(), []);
    watched.remove("2");
    holdings.compare([holding(key(2), 3n)], 2);
    watched.add({ bridgeId: "2", madeAt: 0, since: {}, keys: [{ key: key(2), where: "home" }] });
    holdings.compare([holding(key(2), 3n)], 2);
    assert.deepEqual(await lookedFor(), ["2"], "as the newcomer that it is");
    holdings.compare([holding(key(2), 3n)], 2);
    assert.deepEqual(await lookedFor(), ["2"], "which was not held against it");
  });
});
