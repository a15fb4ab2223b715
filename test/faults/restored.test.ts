/**
 * A store that is restored from an older copy, with real proxies, proofs and both stores: whoever repeats what was
 * executed meanwhile is told its outcome, under the same key, while the index still reads on.
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import type { Problem } from "../../shared/api/errors.ts";
import type { Ticket } from "../../shared/api/transactions.ts";
import { until } from "../support/until.ts";
import { Reserve, type Place } from "./seeded/hosts.ts";
import { makeProgram, type Program } from "./seeded/program.ts";
import { openStage, type Stage } from "./seeded/stage.ts";
import { STORES } from "./seeded/stores.ts";
import { hasRedis } from "./seeded/suite.ts";
import { makeWorld, type Prebuilt, type World } from "./seeded/world.ts";

interface Answer {
  readonly status: number;
  readonly body: Ticket & Partial<Problem>;
}

describe("a store restored from an older copy", function () {
  this.timeout(300_000);
  let world: World;
  let program: Program;
  let reserve: Reserve;
  before(async () => {
    // One chain for both: it goes on, and only the stores go back.
    world = { ...(await makeWorld(() => undefined)), reset: () => Promise.resolve() };
    program = await makeProgram("restored");
    reserve = new Reserve(program);
  });
  after(async () => {
    await reserve.close();
    await world.stop();
    await rm(program.folder, { recursive: true, force: true });
  });

  const named = (name: string): Prebuilt => world.prebuilt.find((each) => each.name === name)!;
  async function ask(place: Place, method: string, path: string, what?: Prebuilt): Promise<Answer> {
    const response = await fetch(`${place.baseUrl}${path}`, {
      method,
      headers: {
        "X-API-Key": world.apiKey,
        ...(what === undefined
          ? {}
          : { "Content-Type": "application/json", "Idempotency-Key": `pay ${what.name}` }),
      },
      ...(what === undefined ? {} : { body: JSON.stringify(what.body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  }
  const post = (place: Place, what: Prebuilt): Promise<Answer> => ask(place, "POST", what.path, what);
  const look = (place: Place, { statement }: Prebuilt): Promise<Answer> =>
    ask(place, "GET", `/sequence/ticket/${statement}`);

  for (const [i, name] of STORES.entries()) {
    describe(`on the ${name} store`, () => {
      let stage: Stage | undefined;
      before(async function () {
        if (name === "redis" && !hasRedis()) this.skip();
        stage = await openStage(world, name, reserve);
      });
      after(() => stage?.close());

      it("answers a repeated deposit, payment and withdrawal with their outcome, and a rival as before", async () => {
        const number = String(i + 1);
        const all = [
          `deposit ${number}`,
          `payment ${number}`,
          `withdrawal ${number}`,
          `rival ${number}a`,
        ].map(named);
        const rival = named(`rival ${number}b`);
        const executed: Ticket[] = [];
        assert.ok(stage !== undefined);
        const [first] = await stage.places(1);
        await first!.start();
        for (const what of all) assert.equal((await post(first!, what)).status, 202, what.name);
        for (const what of all)
          executed.push(
            await until(`${what.name} to be final`, async () => {
              await world.rpc("anvil_mine", ["0x1"]);
              const { body } = await look(first!, what);
              return body.state === "finalized" && body;
            }),
          );
        assert.equal(await first!.stop(), true);

        const [restored] = await stage.places(1);
        await restored!.start();
        const nonce = await world.rpc("eth_getTransactionCount", [world.sender, "pending"]);
        for (const [at, what] of all.entries()) {
          const unknown = await look(restored!, what);
          assert.deepEqual([unknown.status, unknown.body.code], [404, "TICKET_UNKNOWN"], "the copy is older");
          const { status, body } = await until("an answer", async () => {
            const answer = await post(restored!, what);
            return answer.status !== 503 && answer;
          });
          assert.equal(status, 202, `${what.name}: ${String(body.code)}`);
          const { tx_hash, block_number, leaf_index, statement } = executed[at]!;
          assert.notEqual(body.ticket_id, executed[at]!.ticket_id);
          assert.deepEqual(
            [body.state, body.tx_hash, body.block_number, body.leaf_index, body.statement],
            ["confirmed", tx_hash, block_number, leaf_index, statement],
          );
          assert.deepEqual((await post(restored!, what)).body, body, "kept for its key");
          const final = await until("it to be final", async () => {
            const now = await look(restored!, what);
            return now.body.state === "finalized" && now.body;
          });
          assert.deepEqual([final.ticket_id, final.tx_hash], [body.ticket_id, tx_hash]);
        }
        const { status, body } = await post(restored!, rival);
        assert.deepEqual([status, body.code], [409, "NULLIFIER_SPENT"]);
        assert.equal(await world.rpc("eth_getTransactionCount", [world.sender, "pending"]), nonce);
        assert.equal(await restored!.stop(), true);
      });
    });
  }
});
