/**
 * The whole table of bad input at the running service, on both networks: real bodies that would be taken, each with
 * one fault. Every one is refused for its fault, and the store and the chain stay as they were, record by record.
 * Then the same bodies without a fault are taken, so that the table and the comparison could both have failed.
 */
import assert from "node:assert/strict";
import { createApiKey } from "../../proxy/base/auth/api-keys.ts";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import { loadKeyRing, loadPepper } from "../../proxy/base/auth/secret-files.ts";
import { mintSessionToken } from "../../proxy/base/auth/session-tokens.ts";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../proxy/base/store/instance.ts";
import { pepperFile } from "../../scripts/stack/development-credential.ts";
import { lineOfLog, loggedLines } from "../../scripts/base/service.ts";
import type { NetworkName } from "../../scripts/base/stack-file.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import type { AttestResponse, DepositBody, SpendBody, SwapBody } from "../../shared/api/transactions.ts";
import { newSeed, type Wallet } from "../../shared/client/index.ts";
import {
  goodRequest,
  KINDS,
  NO_TICKET,
  offCodeOf,
  ROWS,
  unexpected,
  unfinished,
  type BadRequest,
  type GoodRequests,
  type Heard,
} from "../support/bad-requests.ts";
import { capture, capturing } from "../support/captured.ts";
import { documentedFetch } from "../support/documented.ts";
import { dribble, takeNothing } from "../support/slow-callers.ts";
import { startTestStack, type TestNetwork, type TestStack } from "../support/stack.ts";
import {
  changedRecords,
  changedTables,
  isEmptyBlock,
  takeTrace,
  type StoreContent,
  type Trace,
} from "../support/traces.ts";
import { until } from "../support/until.ts";
import { ETHER_TIER, LocalVenue } from "../support/venue.ts";

const usd = (dollars: number): bigint => BigInt(dollars) * TestUsdc.unit;
const FLAT = 50_000n;
const PUBLIC = "0x00000000000000000000000000000000000000ce";
const NETWORKS: readonly [NetworkName, NetworkName] = ["first", "second"];
/** The table is more than anybody may send in a minute. */
const NO_LIMIT = { keyPerMinute: 1_000_000, keyPerDay: 10_000_000, sessionPerMinute: 1_000_000 };
const NO_THROTTLE = {
  CLOISTER_LIMIT_FAILURES_PER_MINUTE: "100000",
  CLOISTER_LIMIT_EXCHANGES_PER_MINUTE: "100000",
  CLOISTER_LIMIT_BAD_PROOFS_PER_MINUTE: "100000",
};
/** More than the buffers between the service and who does not read. */
const FLOOD = 200;

type Credential = Readonly<Record<string, string>>;
const bearer = (token: string): Credential => ({ Authorization: `Bearer ${token}` });

/** Proved and never sent, each of notes of its own. */
interface Bodies {
  readonly deposit: DepositBody;
  readonly transfer: SpendBody;
  readonly many: SpendBody;
  readonly relayed: SpendBody;
  readonly swap: SwapBody | undefined;
}

interface Scene {
  readonly on: TestNetwork;
  readonly good: GoodRequests;
  readonly bodies: Bodies;
  /** Of the developer whose key is in `good`: two users, and another developer. */
  readonly alice: Credential;
  readonly bob: Credential;
  readonly rival: Credential;
  readonly before: Trace;
  readonly slow: Promise<string[]>;
  readonly silent: readonly { leave(): void }[];
}

describe("bad input leaves no trace", function () {
  let stack: TestStack;
  const scenes = new Map<NetworkName, Scene>();

  before(async () => {
    stack = await startTestStack({ networks: NETWORKS, proxySettings: NO_THROTTLE });
    const set = async (name: NetworkName): Promise<void> =>
      void scenes.set(name, await setScene(stack, name));
    await Promise.all(NETWORKS.map(set));
  });
  after(async () => {
    for (const { silent } of scenes.values()) for (const caller of silent) caller.leave();
    await stack.stop();
  });

  for (const name of NETWORKS) {
    describe(`on the ${name} network`, () => {
      let scene: Scene;
      before(() => {
        scene = scenes.get(name) ?? assert.fail("it was set");
      });

      for (const [what, kind] of Object.entries(KINDS)) {
        it(`each endpoint: ${what}`, async () => {
          const requests = ROWS.flatMap((row) => kind(row, scene.good));
          assert.deepEqual(await unexpected(requests, (request) => send(scene.on, request)), []);
        });
      }

      it("each endpoint: a request that never comes to its end", async () => {
        assert.deepEqual(await scene.slow, []);
      });

      it("after all of it the store and the chain are what they were, in a block that comes now too", async () => {
        const { on, before } = scene;
        const after = await takeTrace(on);
        assert.deepEqual(changedRecords(before.store, after.store).filter(isNoHealthCheck), []);
        assert.deepEqual(after.chain, before.chain);
        // What the service had kept in its memory to send would be in these.
        await on.mine(3);
        const block = await on.chain.getBlockNumber();
        const seen = async (): Promise<number> => (await on.client.merkleRoot()).block_number;
        await until("the blocks to be indexed", async () => (await seen()) >= block);
        const later = await takeTrace(on);
        const records = changedRecords(before.store, later.store).filter(isNoHealthCheck);
        assert.notDeepEqual(records, [], "the comparison sees a block");
        assert.deepEqual(
          records.filter((record) => !isEmptyBlock(record)),
          [],
        );
        assert.deepEqual(later.chain, before.chain);
      });

      it("no fault of ours was behind any of it", async () => {
        const { on, alice } = scene;
        const last = await send(on, {
          ...{ what: "who asks", method: "GET", path: "/whoami", headers: alice },
          ...{ body: undefined, codes: [] },
        });
        const log = on.local.folder.log("proxy");
        const lastId = last.headers.get("x-request-id");
        // Its line comes behind those of all that was asked before.
        assert.ok(await lineOfLog(log, ({ request_id: id }) => id === lastId));
        const lines = await loggedLines(log);
        assert.ok(lines.length > 1_000);
        assert.deepEqual(lines.filter(({ level }) => level === "error" || level === "fatal").slice(0, 3), []);
      });

      it("a refusal under an Idempotency-Key is remembered, and nothing else is", async () => {
        const { on, good } = scene;
        const row = ROWS.find((each) => each.name === "sequenceSpend") ?? assert.fail("no such row");
        const request = goodRequest(row, good);
        const before = await takeTrace(on);
        const headers = { ...request.headers, "Idempotency-Key": "refused" };
        const { body } = await send(on, { ...request, headers, body: "{}" });
        assert.equal(body.code, "INVALID_REQUEST");
        const after = await takeTrace(on);
        assert.deepEqual(changedTables(before.store, after.store), ["idempotency", "idempotency-ends"]);
        assert.deepEqual(after.chain, before.chain);
      });

      it("the same bodies with nothing wrong are attested, which leaves the openings of their fees", async () => {
        const { on, good } = scene;
        const before = await takeTrace(on);
        for (const row of runningRows(good).filter(({ path }) => path.startsWith("/attest/"))) {
          const { status, body } = await send(on, goodRequest(row, good));
          assert.equal(status, 200, `${row.path}: ${String(body.code)}`);
        }
        const after = await takeTrace(on);
        assert.deepEqual(changedTables(before.store, after.store), ["fee-notes"]);
        assert.deepEqual(after.chain, before.chain);
      });

      it("and accepted, each with a ticket; another owner's id is no id, and another owner's statement no ticket", async () => {
        const { on, good, alice, bob, rival } = scene;
        const before = await takeTrace(on);
        const accepting = runningRows(good).filter(
          ({ path }) => path === "/relay" || path.startsWith("/sequence/"),
        );
        const tickets = new Map<string, string>();
        const statements: string[] = [];
        for (const row of accepting.filter(({ method }) => method === "POST")) {
          const answer = await send(on, as(alice, goodRequest(row, good)));
          assert.equal(answer.status, 202, `${row.path}: ${String(answer.body.code)}`);
          const { ticket_id, statement } = answer.body as { ticket_id: string; statement: string };
          tickets.set(row.path, ticket_id);
          statements.push(statement);
        }
        assert.equal(new Set(tickets.values()).size, good.swaps ? 5 : 4);
        const accepted = await takeTrace(on);
        assert.ok(changedTables(before.store, accepted.store).includes("tickets"));

        const others: Readonly<Record<string, Credential>> = {
          "another user of the developer": bob,
          "another developer": rival,
          "another developer's user": bearer(await session(on, rival, "alice")),
        };
        for (const [who, credential] of Object.entries(others)) {
          for (const name of [...tickets.values(), ...statements]) {
            const unknown = await ticketAs(on, credential, NO_TICKET);
            const theirs = await ticketAs(on, credential, name);
            assert.deepEqual([theirs.status, theirs.body.code], [404, "TICKET_UNKNOWN"], who);
            // An id or statement that is taken reads like one that nobody has.
            const { request_id: _one, ...said } = theirs.body;
            const { request_id: _other, ...saidOfNone } = unknown.body;
            assert.deepEqual(said, saidOfNone);
          }
          // A deposit spends no note and attesting reserves nothing: to attest it again gives nothing away.
          const writing = runningRows(good).filter(({ hasBody, access }) => hasBody && access === "write");
          for (const row of writing.filter((each) => each.name !== "attestDeposit")) {
            const { status, body } = await send(on, as(credential, goodRequest(row, good)));
            assert.deepEqual([status, body.code], [409, "NULLIFIER_PENDING"], `${who} at ${row.path}`);
            assert.ok(!("ticket_id" in body));
          }
          assert.deepEqual(await ticketsOnStream(on, credential), []);
        }
        for (const name of [...tickets.values(), ...statements]) {
          assert.equal((await ticketAs(on, alice, name)).status, 200);
          assert.equal((await ticketAs(on, { "X-API-Key": good.apiKey }, name)).status, 200);
        }
        const ids = (content: StoreContent): string[] =>
          [...content.keys()].filter((key) => key.startsWith('tickets ["ticket",'));
        const now = await takeTrace(on);
        assert.deepEqual(ids(now.store), ids(accepted.store), "nobody else has a ticket");

        // And it shows on the chain, by the same comparison.
        await on.setMining(true);
        for (const id of tickets.values()) {
          await until("the ticket to be executed", async () => {
            const { body } = await ticketAs(on, alice, id);
            return ["confirmed", "finalized"].includes((body as { state?: string }).state ?? "");
          });
        }
        const { chain } = await takeTrace(on);
        assert.ok(chain.nonce > before.chain.nonce);
        assert.ok(chain.gasMoney < before.chain.gasMoney);
        assert.notEqual(chain.poolStorage, before.chain.poolStorage);
      });
    });
  }
});

/** The slow readers' one good request that writes: when health was last asked for, of the folder and of the stores. */
const HEALTH_CHECKS: readonly string[] = ['health "last"', 'health ["health","last"]'];
const isNoHealthCheck = (record: string): boolean => !HEALTH_CHECKS.includes(record);

const runningRows = (good: GoodRequests): typeof ROWS =>
  ROWS.filter((row) => offCodeOf(row, good) === undefined);

const as = (credential: Credential, request: BadRequest): BadRequest => ({
  ...request,
  headers: { "Content-Type": "application/json", ...credential },
});

async function send(on: TestNetwork, { method, path, headers, body }: BadRequest): Promise<Heard> {
  const { base_url: baseUrl } = on.entry;
  const response = await documentedFetch(baseUrl)(baseUrl + path, {
    method,
    headers: { ...headers },
    ...(body === undefined ? {} : { body }),
  });
  if ((response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
    await response.body?.cancel();
    return { status: response.status, headers: response.headers, body: {} };
  }
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Heard["body"],
  };
}

const ticketAs = (on: TestNetwork, headers: Credential, id: string): Promise<Heard> =>
  send(on, {
    ...{ what: "a ticket", method: "GET", path: `/sequence/ticket/${id}`, headers },
    ...{ body: undefined, codes: [] },
  });

async function session(
  on: TestNetwork,
  credential: Credential,
  sub: string,
  perms = ["read", "write"],
): Promise<string> {
  const { status, body } = await send(on, {
    ...{ what: "a session", method: "POST", path: "/session", codes: [] },
    headers: { ...credential, "Content-Type": "application/json" },
    body: JSON.stringify({ sub, perms, ttl_secs: 900 }),
  });
  assert.equal(status, 201);
  return (body as { token: string }).token;
}

/** Open tickets that a stream tells of at its beginning. */
async function ticketsOnStream(on: TestNetwork, headers: Credential): Promise<string[]> {
  const abort = new AbortController();
  const response = await fetch(`${on.entry.base_url}/events/stream?types=ready,ticket,synced`, {
    headers,
    signal: abort.signal,
  });
  assert.ok(response.body !== null);
  let heard = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    heard += chunk;
    if (heard.includes("event: synced")) break;
  }
  abort.abort();
  assert.ok(heard.includes("event: ready"));
  return heard.split("\n").filter((line) => line === "event: ticket");
}

async function setScene(stack: TestStack, name: NetworkName): Promise<Scene> {
  const on = stack.network(name);
  const swaps = name === "second";
  const developers = await addDevelopers(stack, on, name);
  const shop = { "X-API-Key": developers.shop };
  const rival = { "X-API-Key": developers.rival };
  const bodies = await proveBodies(on, swaps);
  const { attestations } = await attest(on, shop, bodies.relayed);
  const byPath: Readonly<Record<string, object | undefined>> = {
    "/session": { sub: "user-1", perms: ["read", "write"], ttl_secs: 900 },
    "/session/exchange": { app_id: "app_none", access_token: "e30.e30.e30", perms: ["read"], ttl_secs: 900 },
    "deposit-shield": bodies.deposit,
    spend: bodies.transfer,
    spend9: bodies.many,
    "private-swap": bodies.swap,
    "/relay": { kind: "spend", ...bodies.relayed, attestations },
    "/swap/quote": {
      ...{ token_in: on.entry.usdc, token_out: PUBLIC },
      ...{ shares_in: "50000000", tolerance_bps: 100 },
    },
  };
  const ring = await loadKeyRing(on.local.folder.secrets.path("session-keys.json"));
  const exp = Math.floor(Date.now() / 1000) - 1;
  const claims = {
    developerId: "shop",
    sub: "user-1",
    perms: ["read", "write"] as const,
    epoch: 1,
    userEpoch: 0,
  };
  const good: GoodRequests = {
    swaps,
    bridges: false,
    apiKey: developers.shop,
    sessions: {
      both: await session(on, shop, "user-1"),
      reader: await session(on, shop, "user-1", ["read"]),
      writer: await session(on, shop, "user-1", ["write"]),
      expired: mintSessionToken(ring, on.entry.chain_id, { ...claims, exp }),
    },
    // Where an endpoint is off it is never read.
    bodyOf: ({ path }) => (byPath[path] ?? byPath[path.split("/")[2] ?? ""] ?? {}) as Record<string, unknown>,
  };
  const alice = bearer(await session(on, shop, "alice"));
  const bob = bearer(await session(on, shop, "bob"));

  await until("every deposit to be final", async () => {
    const heard = await ticketsOnStream(on, { "X-API-Key": stack.stack.file.api_key });
    return heard.length === 0;
  });
  // From here on nothing moves by itself: what the chain or the store has new, a request has left.
  await on.setMining(false);
  const block = await on.chain.getBlockNumber();
  await until(
    "the last block to be indexed",
    async () => (await on.client.merkleRoot()).block_number >= block,
  );
  const before = await takeTrace(on);

  const { base_url: baseUrl } = on.entry;
  const readers = ROWS.filter(({ method }) => method === "GET").map((row) =>
    takeNothing(baseUrl, goodRequest(row, good), row.name === "openapi" ? FLOOD : 1),
  );
  const slow = unexpected(
    ROWS.map((row) => unfinished(row, good)),
    (request) => dribble(baseUrl, request),
    ROWS.length,
  );
  return { on, good, bodies, alice, bob, rival, before, slow, silent: await Promise.all(readers) };
}

async function addDevelopers(
  { stack: { folder } }: TestStack,
  on: TestNetwork,
  name: NetworkName,
): Promise<Readonly<Record<"shop" | "rival", string>>> {
  const database = openDatabase(on.local.folder.inside("store"));
  try {
    const store = embeddedStores(database).keys;
    const pepper = await loadPepper(await pepperFile(folder.secrets));
    const add = async (id: string): Promise<string> => {
      await addDeveloper(store, { id, name: `${id} of ${name}`, limits: NO_LIMIT });
      return (await createApiKey(store, pepper, id, "test")).key;
    };
    return { shop: await add("shop"), rival: await add("rival") };
  } finally {
    await database.close();
  }
}

async function proveBodies(on: TestNetwork, swaps: boolean): Promise<Bodies> {
  /** A wallet that holds these notes and sends nothing: what it is told to do is caught. */
  const silent = async (...dollars: number[]): Promise<Wallet> => {
    const seed = newSeed();
    const rich = await on.wallet({ seed });
    for (const each of dollars) {
      const amount = usd(each) + FLAT;
      await rich.deposit(amount, await on.depositor(amount));
    }
    return on.wallet({ seed, through: capturing(on.client) });
  };
  const depositor = await on.depositor(usd(40));
  const deposit = await capture<DepositBody>(await silent(), (from) => from.deposit(usd(40), depositor));
  const [payee, one, many, other, trader] = await Promise.all([
    on.wallet(),
    silent(20),
    silent(2, 2, 2),
    silent(20),
    swaps ? silent(20) : undefined,
  ]);
  return {
    deposit,
    transfer: await capture(one, (from) => from.pay(payee.address, usd(5))),
    many: await capture(many, (from) => from.pay(payee.address, usd(5))),
    relayed: await capture(other, (from) => from.withdraw(PUBLIC, usd(5))),
    swap: trader === undefined ? undefined : await proveSwap(on, trader),
  };
}

async function proveSwap(on: TestNetwork, wallet: Wallet): Promise<SwapBody> {
  const venue = new LocalVenue(on);
  const path = venue.path(venue.usdc, ETHER_TIER, venue.weth);
  // What is left of ten dollars is more than nine.
  const floor = await venue.quote(path, usd(9));
  const order = { tokenIn: venue.usdc, tokenOut: venue.weth, amount: usd(10), floor, path };
  return capture<SwapBody>(wallet, (from) => from.swap(order));
}

async function attest(on: TestNetwork, credential: Credential, body: SpendBody): Promise<AttestResponse> {
  const { status, body: answer } = await send(on, {
    ...{ what: "an attestation", method: "POST", path: "/attest/spend", codes: [] },
    headers: { ...credential, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(status, 200);
  return answer as unknown as AttestResponse;
}
