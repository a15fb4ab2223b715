import assert from "node:assert/strict";
import { ClientError } from "../../../../../shared/client/base/errors.ts";
import { askedAgain } from "../../../../../shared/client/chain/asking-again.ts";
import { NodeRefused } from "../../../../../shared/client/chain/json-rpc.ts";
import { doubted, Elsewhere } from "../../../../../shared/client/chain/nodes.ts";

const TRIES = 4;

describe("client/chain/asking-again", () => {
  async function triesOf(error: Error, failures = Infinity) {
    let tries = 0;
    const ask = (): Promise<string> =>
      ++tries <= failures ? Promise.reject(error) : Promise.resolve("answer");
    const outcome = await askedAgain(ask, 0, undefined).catch((thrown: unknown) => thrown);
    return { tries, outcome };
  }

  it("gives what fits in the end", async () => {
    assert.deepEqual(await triesOf(doubted("gap"), TRIES - 1), { tries: TRIES, outcome: "answer" });
    const refused = new NodeRefused("header not found", undefined);
    assert.deepEqual(await triesOf(refused, 1), { tries: 2, outcome: "answer" });
  });

  it("throws what does not fit time and again, and says of a refusal that the node cannot be used", async () => {
    const error = doubted("gap");
    assert.deepEqual(await triesOf(error), { tries: TRIES, outcome: error });
    const { tries, outcome } = await triesOf(new NodeRefused("header not found", undefined));
    assert.ok(outcome instanceof ClientError && outcome.code === "NODE_UNREACHABLE");
    assert.equal(tries, TRIES);
  });

  it("asks once where another answer cannot come", async () => {
    const silent = new ClientError("NODE_UNREACHABLE");
    for (const error of [new Elsewhere("another chain"), silent, new Error("fault")])
      assert.deepEqual(await triesOf(error), { tries: 1, outcome: error });
  });

  it("ends a pause when its caller leaves", async () => {
    const leaving = new AbortController();
    const asked = askedAgain(() => Promise.reject(doubted("gap")), 2_000_000_000, leaving.signal);
    leaving.abort();
    await assert.rejects(asked, { name: "AbortError" });
  });
});
