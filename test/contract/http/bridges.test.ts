// The bridge endpoints, row by row, over both stores: addresses that follow from what the answer says, one request for
// one owner's terms, limits, other people's requests, what is away, and what is not set.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { bridgeRoutes } from "../../../proxy/api/bridge/bridge.routes.ts";
import { bridgeSettingsOf, type BridgeSettings } from "../../../proxy/base/bridge/bridge.settings.ts";
import type { Book, BurnDesk } from "../../../proxy/relay/requests.ts";
import type { BridgeFacts, Burn } from "../../../proxy/relay/fold/facts.ts";
import { arrivalOf, factsAbout, seenOf, spotOf, vaultOf } from "../../support/bridge-facts.ts";
import { closeUnused } from "../../../proxy/relay/closing.ts";
import { openBridges } from "../../../proxy/api/bridge/open-bridges.ts";
import { progressFrom } from "../../../proxy/relay/fold/progress.ts";
import { setRule } from "../../../proxy/base/fees/developer-rules.ts";
import type { Fees } from "../../../proxy/api/fees/fee-rules.ts";
import type { BridgeStore } from "../../../proxy/base/store/bridges.ts";
import { embeddedStores, storesIn, type InstanceStores } from "../../../proxy/base/store/instance.ts";

import { openDurableRedis } from "../../../proxy/base/store/redis/durable.ts";
import { HOME_CHAIN } from "../../../proxy/base/store/bridge-records.ts";
import { bridgeAddress, type BridgeAddress } from "../../../shared/api/bridges.ts";
import { bridgeStatus } from "../../../shared/api/bridge-status.ts";
import { info } from "../../../shared/api/service.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { mustField, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { encodeForward } from "../../../shared/protocol/host/cctp-forward.ts";
import {
  inAddress,
  inSalt,
  outAddress,
  outSalt,
  paddedAddress,
  sourceAddress,
  sourceSalt,
  TIMEOUT_SECS,
  type Receiver,
} from "../../../shared/protocol/host/forwarders.ts";
import {
  BRIDGE_HOME,
  BRIDGES_FILE,
  DAY_MS,
  FOREIGN_KEYS,
  madeAddress,
  bridgeDraft,
} from "../../support/bridges.ts";
import { temporaryDatabase, testFees } from "../../support/fees.ts";
import { startDurableRedis } from "../../support/redis.ts";
import { startRelayDesk } from "../../support/relay-desk.ts";
import { until } from "../../support/until.ts";
import { POOL, startEdge, USDC, type Answer, type Edge } from "../../support/edge.ts";

const HEAD = 42;
const OWN_FILE = { ...BRIDGES_FILE, assets: [{ ...BRIDGES_FILE.assets[0]!, asset: USDC }] };
const settingsOf = (change: object = {}): BridgeSettings =>
  bridgeSettingsOf({ ...OWN_FILE, ...change }, { ...BRIDGE_HOME, assets: [{ address: USDC, decimals: 6 }] });
const RECEIVER = {
  npk: `0x${"07".repeat(32)}`,
  ephemeral_key: `0x${"aB".repeat(32)}`,
  ciphertext: `0x${"Cd".repeat(53)}`,
};
const REFUND = "0x00000000000000000000000000000000000000aa";
const ACCOUNT = "0x00000000000000000000000000000000000000bb";
const IN_PATH = "/bridge/perpvenue/in-address";
const OUT_PATH = "/bridge/perpvenue/out-address";
const ALT_PATH = "/bridge/altchain/deposit-address";
const inBody = (change: object = {}) => ({ ...RECEIVER, refund_address: REFUND, ...change });

const STORES: readonly (readonly [
  string,
  () => Promise<{ stores: InstanceStores; close(): Promise<void> }>,
])[] = [
  [
    "LMDB",
    async () => {
      const database = temporaryDatabase();
      return { stores: embeddedStores(database), close: () => database.close() };
    },
  ],
  [
    "Redis",
    async () => {
      const server = await startDurableRedis();
      const link = await openDurableRedis({
        ...{ url: server.url, instance: { chainId: 1, pool: "0xPool" }, deadlineMs: PATIENCE_MS },
      });
      const stores = storesIn(link);
      return {
        stores,
        close: async () => {
          stores.close();
          await server.kill();
        },
      };
    },
  ],
];

/** What the exchange's own interface says of accounts. */
class Accounts {
  isAway = false;
  isRubbish = false;
  /** So many times the next account is denied, whoever it is. */
  denies = 0;
  readonly asked: string[] = [];
  readonly known = new Set<string>([ACCOUNT]);
  #server: Server | undefined;

  async start(): Promise<string> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const { type, user } = JSON.parse(Buffer.concat(parts).toString()) as Record<string, string>;
        this.asked.push(`${String(request.url)} ${String(type)} ${String(user)}`);
        response.statusCode = this.isAway ? 503 : 200;
        const isDenied = this.denies > 0 && this.denies-- > 0;
        const answer = { role: this.known.has(String(user)) && !isDenied ? "user" : "missing" };
        response.end(this.isRubbish ? "<html>" : JSON.stringify(answer));
      });
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  }
  stop(): void {
    this.#server?.close();
  }
}

for (const [name, openStores] of STORES) {
  describe(`bridge endpoints over ${name}`, function () {
    const accounts = new Accounts();
    let stores: InstanceStores;
    let close: () => Promise<void>;
    let store: BridgeStore;
    let settings: BridgeSettings;
    let fees: Fees;
    let edge: Edge;
    const facts = new Map<string, BridgeFacts>();
    const listeners = new Set<(id: string) => void>();
    const away: string[] = [];
    let isComplete = true;
    let isDisabled = false;
    const submitted: Uint8Array[] = [];
    let isAwaited = true;
    let taken = true;
    const book: Book = {
      progressOf: (record) =>
        progressFrom(record, seenOf(facts.get(record.id), { isComplete }), {
          ...{ timeoutSecs: TIMEOUT_SECS, bridgingSecs: 60, now: Math.floor(edge.now() / 1000) },
        }),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      isComplete: () => isComplete,
      heads: () => ({ home: HEAD, second: 7 }),
      unreachable: () => away,
    };
    const desk: BurnDesk = {
      submit: async (_, transaction) => {
        if (isAwaited) submitted.push(transaction);
        return isAwaited ? "sent" : "refused";
      },
    };
    let relay: Awaited<ReturnType<typeof startRelayDesk>>;

    const opened = (own: BridgeSettings, fee: Pick<Fees, "rulesFor"> = fees) =>
      openBridges({
        ...{ settings: own, store, relay: stores.relay, fees: fee, poolAddress: POOL },
        pool: { isAsset: async () => taken },
        now: () => edge.now(),
      });

    before(async () => {
      settings = settingsOf({ perpvenue: { ...OWN_FILE.perpvenue, apiUrl: await accounts.start() } });
      ({ stores, close } = await openStores());
      store = stores.bridges;
      const sink = SpendingKey.fromSeed(new Uint8Array(32).fill(1)).viewing;
      const assets = [{ address: USDC, symbol: "USDC", decimals: 6 }] as const;
      fees = testFees({
        ...{ assets, store: stores.feeRules },
        feeSchedule: [{ asset: USDC, operation: "deposit", flat: 50_000n, bps: 0 }],
        serviceFee: { text: sink.addressText("clo"), sink: { owner: sink.owner } },
      });
      await fees.refresh();
      // The clock of the edge is asked only when a request is there.
      const bridges = opened(settings);
      edge = await startEdge({ bridges, handlers: bridgeRoutes(bridges) });
      relay = await startRelayDesk({ stores, book, settings, desk, now: () => edge.now() });
    });
    after(async () => {
      await edge.stop();
      await relay.stop();
      await close();
      accounts.stop();
    });
    afterEach(() => {
      facts.clear();
      away.length = 0;
      [isComplete, isAwaited, taken] = [true, true, true];
      [accounts.isAway, accounts.isRubbish] = [false, false];
    });

    let users = 0;
    /** Of a user of its own, so that no test takes another's room. */
    const session = (): Promise<string> => edge.session({ sub: `${name}-${String(users++)}` });
    const post = (path: string, json: unknown, by: string, headers = {}): Promise<Answer> =>
      edge.call("POST", path, { json, session: by, headers });
    async function made(path: string, json: unknown, by: string, status = 201): Promise<BridgeAddress> {
      const answer = await post(path, json, by);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      return bridgeAddress.strict().parse(answer.body);
    }
    async function refused(
      path: string,
      json: unknown,
      by: string,
      status: number,
      code: string,
    ): Promise<Answer> {
      const answer = await post(path, json, by);
      assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
      return answer;
    }
    const statusOf = async (query: string, by: string): Promise<Answer> =>
      edge.call("GET", `/bridge/status?${query}`, { session: by });

    const fieldOf = (text: string) => mustField(BigInt(text));
    const addressOf = (text: string | null): Address => asAddress(text) ?? assert.fail(String(text));
    const factoryOf = ({ terms }: BridgeAddress) => ({
      address: addressOf(terms.factory),
      vaultCodeHash: asBytes32(terms.vault_code_hash) as Bytes32,
    });
    const receiverOf = ({ terms }: BridgeAddress): Receiver => ({
      npk: fieldOf(terms.npk),
      ephemeralKey: mustFromHex(terms.ephemeral_key),
      ciphertext: mustFromHex(terms.ciphertext),
    });
    const boundsOf = (answer: { minimum: string; fee_ceiling: string }) => ({
      ...{ minimum: BigInt(answer.minimum), feeCeiling: BigInt(answer.fee_ceiling) },
    });
    const inTermsOf = (answer: BridgeAddress) => ({
      ...{ pool: addressOf(answer.terms.pool), asset: addressOf(answer.asset), receiver: receiverOf(answer) },
      ...{ ...boundsOf(answer), collector: addressOf(answer.terms.collector) },
      refund: addressOf(answer.terms.refund_address),
    });

    it("in: 201 with all that both addresses are made of, and nothing of them that does not follow from it", async () => {
      const answer = await made(IN_PATH, inBody(), await session());
      const terms = inTermsOf(answer);
      assert.equal(addressOf(answer.address), inAddress(terms, factoryOf(answer)));
      assert.equal(answer.terms.salt, inSalt(terms));
      assert.deepEqual(
        [answer.venue, answer.direction, answer.state, answer.altchain],
        ["perpvenue", "in", "awaiting_funds", null],
      );
      assert.deepEqual([terms.pool, terms.collector, terms.refund], [POOL, settings.collector, REFUND]);
      assert.equal(answer.terms.npk, RECEIVER.npk);
      const source = answer.source ?? assert.fail("no source");
      const lanes = source.lanes.map((lane) => ({
        ...boundsOf(lane),
        ...{ chainId: BigInt(lane.chain_id), domain: lane.domain },
        ...{ token: addressOf(lane.token), messenger: addressOf(lane.messenger) },
      }));
      const sourceTerms = {
        ...{ recipient: paddedAddress(addressOf(answer.address)), lanes, refund: REFUND as Address },
      };
      assert.equal(addressOf(source.address), sourceAddress(sourceTerms, factoryOf(answer)));
      assert.deepEqual([source.salt, source.recipient], [sourceSalt(sourceTerms), sourceTerms.recipient]);
      assert.deepEqual(
        source.lanes.map((lane) => [lane.name, lane.chain_id, lane.domain]),
        [
          ["second", 31_338, 3],
          ["other", 31_339, 3],
        ],
        "the domain of a lane is the pool's chain",
      );
      assert.deepEqual(answer.fees, { service: "50000", developer: "0", capped: false });
      assert.equal((await store.get(answer.bridge_id))?.since["home"], HEAD);
      assert.equal(Date.parse(answer.watched_until) - Date.parse(answer.created_at), 30 * DAY_MS);
    });

    it("in: another asset, refund, note or ciphertext is another address", async () => {
      const by = await session();
      const seen = new Set<string>();
      for (const change of [
        {},
        { refund_address: ACCOUNT },
        { npk: `0x${"06".repeat(32)}` },
        { ciphertext: `0x${"01".repeat(53)}` },
        { ephemeral_key: `0x${"01".repeat(32)}` },
      ])
        seen.add((await made(IN_PATH, inBody(change), by)).address);
      assert.equal(seen.size, 5);
      const answer = await refused(
        IN_PATH,
        inBody({ asset: madeAddress(5) }),
        await session(),
        422,
        "ASSET_UNSUPPORTED",
      );
      assert.equal(answer.body.errors[0].path, "asset");
      assert.equal((await made(IN_PATH, inBody({ asset: USDC }), by, 200)).state, "awaiting_funds");
      taken = false;
      await refused(
        IN_PATH,
        inBody({ npk: `0x${"05".repeat(32)}` }),
        await session(),
        422,
        "ASSET_UNSUPPORTED",
      );
    });

    it("without other chains there is no source address", async () => {
      const lean = opened(settingsOf({ chains: [] }));
      const owner = { developerId: "test", sub: "lean" };
      const { address } = await lean.fromEvm(owner, inBody());
      assert.equal(address.source, null);
      assert.deepEqual(lean.info().chains, []);
    });

    it("repeated: 200 and the same id, also in other spelling, and only for the same owner", async () => {
      const [alice, bob] = [await session(), await session()];
      const first = await made(IN_PATH, inBody(), alice);
      const spelt = inBody({
        ephemeral_key: RECEIVER.ephemeral_key.toLowerCase(),
        ciphertext: `0x${"cD".repeat(53)}`,
      });
      edge.advance(1_000);
      const again = await made(IN_PATH, spelt, alice, 200);
      assert.deepEqual(
        { ...again, watched_until: first.watched_until },
        first,
        "and nothing of it but the end of its watch is another",
      );
      assert.ok(again.watched_until > first.watched_until);
      const theirs = await made(IN_PATH, inBody(), bob);
      assert.notEqual(theirs.bridge_id, first.bridge_id);
      assert.equal(theirs.address, first.address);
    });

    it("another user's id and address are unknown, a developer's key sees all of its own, another developer none", async () => {
      const [alice, bob] = [await session(), await session()];
      const { bridge_id, address, source } = await made(
        IN_PATH,
        inBody({ npk: `0x${"09".repeat(32)}` }),
        alice,
      );
      const queries = [
        `id=${bridge_id}`,
        `address=${address}`,
        `address=${address.toLowerCase()}`,
        `address=${source!.address}`,
      ];
      const another = await edge.newDeveloper({ name: "Another" });
      for (const query of queries) {
        const own = await statusOf(query, alice);
        assert.equal(own.status, 200);
        const status = bridgeStatus.strict().parse(own.body);
        assert.deepEqual(
          [status.bridge_id, status.state, status.amount],
          [bridge_id, "awaiting_funds", null],
        );
        const theirs = await statusOf(query, bob);
        assert.deepEqual([theirs.status, theirs.body.code], [404, "BRIDGE_UNKNOWN"]);
        assert.equal((await edge.call("GET", `/bridge/status?${query}`)).status, 200);
        const foreign = await edge.call("GET", `/bridge/status?${query}`, {
          ...{ credential: false, headers: { "X-API-Key": another.key } },
        });
        assert.equal(foreign.body.code, "BRIDGE_UNKNOWN");
      }
      for (const query of ["id=0190a0a0-0000-7000-8000-00000000dead", `address=${madeAddress(99)}`])
        assert.equal((await statusOf(query, alice)).body.code, "BRIDGE_UNKNOWN");
      for (const query of ["", `id=${bridge_id}&address=${address}`])
        assert.equal((await statusOf(query, alice)).body.code, "INVALID_REQUEST");
    });

    it("out, to the exchange: pays that account and nothing else, and comes back to that note", async () => {
      const by = await session();
      const answer = await made(OUT_PATH, { account: ACCOUNT, ...RECEIVER }, by);
      assert.equal(accounts.asked.at(-1), `/info userRole ${ACCOUNT}`);
      const exit = answer.terms.exit ?? assert.fail("no exit");
      const forwarder = paddedAddress(settings.perpvenue!.exit.forwarder);
      assert.deepEqual([exit.domain, exit.recipient, exit.caller], [19, forwarder, forwarder]);
      const hook = encodeForward({ recipient: ACCOUNT as Address, destination: "perps" });
      assert.deepEqual(mustFromHex(exit.hook), hook);
      const terms = {
        ...{ pool: POOL, asset: USDC, ...boundsOf(answer), refund: receiverOf(answer) },
        exit: {
          ...{ messenger: addressOf(exit.messenger), domain: exit.domain, hook },
          ...{ recipient: forwarder, caller: forwarder },
        },
      };
      assert.equal(addressOf(answer.address), outAddress(terms, factoryOf(answer)));
      assert.equal(answer.terms.salt, outSalt(terms));
      assert.deepEqual(
        [answer.direction, answer.terms.collector, answer.terms.refund_address, answer.source],
        ["out", null, null, null],
      );
      assert.deepEqual(answer.fees, { service: "0", developer: "0", capped: false });
      assert.equal(
        (await made(OUT_PATH, { account: ACCOUNT, ...RECEIVER }, by, 200)).bridge_id,
        answer.bridge_id,
      );
    });

    it("out, to the exchange: an account it does not know is refused, and so is everything while it is away", async () => {
      const by = await session();
      const before = (await store.openOf("test", undefined)).length;
      const body = { account: ACCOUNT, ...RECEIVER };
      const unknown = await refused(OUT_PATH, { ...body, account: REFUND }, by, 422, "ACCOUNT_UNKNOWN");
      assert.equal(unknown.body.errors[0].path, "account");
      const { chain, exit } = settings.perpvenue!;
      // Anybody can send money to them there, and make accounts of them.
      for (const contract of [chain.token, exit.forwarder, chain.transmitter]) {
        accounts.known.add(contract);
        await refused(OUT_PATH, { ...body, account: contract }, by, 422, "ACCOUNT_UNKNOWN");
      }
      for (const fault of ["isAway", "isRubbish"] as const) {
        accounts[fault] = true;
        const answer = await refused(OUT_PATH, body, by, 503, "VENUE_UNAVAILABLE");
        assert.ok(Number(answer.headers.get("retry-after")) > 0);
        assert.equal(answer.body.retryable, true);
        accounts[fault] = false;
      }
      assert.equal((await store.openOf("test", undefined)).length, before, "nothing is kept of it");
      // Said once, it is one answer's fault.
      accounts.denies = 1;
      await made(OUT_PATH, body, by);
    });

    it("out, to another chain: one that the instance withdraws to, and to nobody else there", async () => {
      const by = await session();
      const to = { chain_id: 31_338, recipient: ACCOUNT };
      const answer = await made(OUT_PATH, { to, ...RECEIVER }, by);
      const exit = answer.terms.exit ?? assert.fail("no exit");
      assert.deepEqual(
        [answer.venue, exit.domain, exit.recipient, exit.caller, exit.hook, answer.minimum],
        ["chain", 6, paddedAddress(ACCOUNT as Address), `0x${"00".repeat(32)}`, "0x", "2000000"],
      );
      for (const chain_id of [31_339, 31_337, 1]) {
        const wrong = await refused(
          OUT_PATH,
          { to: { ...to, chain_id }, ...RECEIVER },
          by,
          400,
          "INVALID_REQUEST",
        );
        assert.equal(wrong.body.errors[0].path, "to.chain_id");
      }
    });

    const altBody = { ...RECEIVER, deposit_key: FOREIGN_KEYS[0], refund_address: REFUND };
    it("from the other blockchain: the key that owns the account, the account, and where its burn is minted to", async () => {
      const by = await session();
      const answer = await made(ALT_PATH, altBody, by);
      const alt = answer.altchain ?? assert.fail("no altchain");
      assert.equal(addressOf(alt.home_address), inAddress(inTermsOf(answer), factoryOf(answer)));
      assert.deepEqual(
        [answer.address, alt.deposit_key, alt.mint, answer.source],
        [FOREIGN_KEYS[0], FOREIGN_KEYS[0], settings.altchain!.mint, null],
      );
      assert.equal((await statusOf(`id=${answer.bridge_id}`, by)).body.address, answer.address);
      const other = await made(ALT_PATH, { ...altBody, deposit_key: FOREIGN_KEYS[1] }, by);
      assert.notEqual(other.address, answer.address);
      for (const text of [alt.token_account, alt.deposit_key, alt.home_address]) {
        const found = await statusOf(`address=${text}`, by);
        assert.equal(found.status, 200, text);
      }
      assert.equal((await made(ALT_PATH, altBody, by, 200)).bridge_id, answer.bridge_id);
      for (const deposit_key of [
        "1".repeat(32),
        "1".repeat(44),
        "z".repeat(44),
        FOREIGN_KEYS[0].slice(0, 40),
        // Of these nobody has a key.
        alt.token_account,
        alt.mint,
        "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
      ])
        await refused(ALT_PATH, { ...altBody, deposit_key }, by, 400, "INVALID_REQUEST");
    });

    it("from the other blockchain: a signature is taken where one is awaited, of its owner alone", async () => {
      const [alice, bob] = [await session(), await session()];
      const { bridge_id } = await made(ALT_PATH, altBody, alice);
      const signed = { bridge_id, transaction: Buffer.from("signed").toString("base64") };
      assert.equal((await post(ALT_PATH, signed, bob)).body.code, "BRIDGE_UNKNOWN");
      const answer = await post(ALT_PATH, signed, alice);
      assert.equal(answer.status, 200);
      assert.equal(bridgeStatus.strict().parse(answer.body).bridge_id, bridge_id);
      assert.deepEqual(
        submitted.map((bytes) => Buffer.from(bytes).toString()),
        ["signed"],
      );
      isAwaited = false;
      await refused(ALT_PATH, signed, alice, 409, "BRIDGE_STATE");
      submitted.length = 0;
    });

    it("more open addresses than allowed: 429, retryable, and room again when unused ones end", async () => {
      const by = await session();
      const bodies = Array.from({ length: 8 }, (_, n) =>
        inBody({ npk: `0x${"00".repeat(31)}${String(n + 11)}` }),
      );
      const answers = await Promise.all(bodies.map((body) => post(IN_PATH, body, by)));
      assert.equal(answers.filter(({ status }) => status === 201).length, 5);
      for (const { status, body, headers } of answers.filter((one) => one.status !== 201)) {
        assert.deepEqual([status, body.code, body.retryable], [429, "BRIDGES_FULL", true]);
        assert.ok(Number(headers.get("retry-after")) > 0);
      }
      const open = answers.filter(({ status }) => status === 201).map(({ body }) => body as BridgeAddress);
      // What was used, or cannot be seen now, is not given up.
      edge.advance(31 * DAY_MS);
      isComplete = false;
      const factsOf = (id: string) => facts.get(id) ?? factsAbout(bridgeDraft(0, {}), {});
      const closing = {
        ...{ store, book: { ...book, factsOf }, now: () => edge.now(), isDisabled: async () => isDisabled },
      };
      assert.equal(await closeUnused(closing), 0);
      isComplete = true;
      const arrivals = [arrivalOf(9n, spotOf(1, { confirmations: 1, at: 1 }))];
      const home = vaultOf("home", { balance: 9n, minimum: 1n, confirmations: 1, arrivals });
      facts.set(open[0]!.bridge_id, factsAbout(bridgeDraft(0, {}), { home }));
      // A stranger's unit, here or on its way, keeps nothing open.
      const [draft, place] = [bridgeDraft(0, {}), spotOf(2, { confirmations: 1, at: 1 })];
      const dust = vaultOf("home", {
        balance: 1n,
        minimum: 2n,
        confirmations: 1,
        arrivals: [arrivalOf(1n, place)],
      });
      const grain: Burn = {
        ...{
          id: "grain",
          place,
          to: HOME_CHAIN,
          amount: 1n,
          sourceDomain: 3,
          destinationDomain: 0,
          burner: "",
        },
        ...{ recipient: "", maxFee: 0n, minFinality: 2000, message: undefined, delivery: undefined },
      };
      const under = { home: vaultOf("home", { minimum: 2n }), incoming: [grain] };
      facts.set(open[1]!.bridge_id, factsAbout(draft, { home: dust }));
      facts.set(open[2]!.bridge_id, factsAbout(draft, under));
      assert.ok((await closeUnused(closing)) >= 4);
      const closed = await Promise.all(
        open.map(async ({ bridge_id }) => (await store.get(bridge_id))?.closedAt),
      );
      assert.deepEqual(
        closed.map((at) => at !== undefined),
        [false, true, true, true, true],
      );
      const later = await edge.session({ sub: `${name}-${String(users - 1)}` });
      for (const listener of listeners) listener(open[0]!.bridge_id);
      const still = await until("its state", async () => {
        const answer = await statusOf(`id=${open[0]!.bridge_id}`, later);
        return answer.body.state === "shielding" && answer;
      });
      assert.equal(still.body.amount, "9");
      await made(IN_PATH, bodies[7], later);
      // Asking takes one up again, as long as there is room.
      for (const { bridge_id } of open.slice(1, 4)) {
        const answer = await statusOf(`id=${bridge_id}`, later);
        assert.equal(answer.status, 200);
        assert.ok(Date.parse(answer.body.watched_until) > edge.now() + 29 * DAY_MS);
      }
      // No room is no reason to refuse a status, and nothing is promised that is not done.
      const last = await statusOf(`id=${open[4]!.bridge_id}`, later);
      assert.deepEqual([last.status, last.body.reason.code, last.body.deposits], [200, "NOT_WATCHED", []]);
      assert.ok(Date.parse(last.body.watched_until) < edge.now());
      // RFC 9562: an id is read in any case.
      const spelled = await statusOf(`id=${open[4]!.bridge_id.toUpperCase()}`, later);
      assert.deepEqual([spelled.status, spelled.body.bridge_id], [200, open[4]!.bridge_id]);
      // Of a developer who is shut out only money on its way is watched.
      isDisabled = true;
      assert.ok((await closeUnused(closing)) >= 4);
      isDisabled = false;
      assert.equal((await store.get(open[0]!.bridge_id))?.closedAt, undefined);
    });

    it("fees above the ceiling are cut at it, and the answer says so", async () => {
      const sink = SpendingKey.fromSeed(new Uint8Array(32).fill(2)).viewing;
      await setRule(stores.feeRules, "test", {
        ...{ asset: USDC, operation: "deposit", flat: 1_000_000n, bps: 0 },
        sink: { owner: sink.owner, viewingKey: sink.viewingKey, text: sink.addressText("clo") },
      });
      const answer = await made(IN_PATH, inBody({ npk: `0x${"03".repeat(32)}` }), await session());
      assert.deepEqual(answer.fees, { service: "50000", developer: "450000", capped: true });
      assert.equal(answer.fee_ceiling, "500000");
    });

    it("an Idempotency-Key is answered the same, and no second body gets it", async () => {
      const by = await session();
      const headers = { "Idempotency-Key": "one" };
      const first = await post(IN_PATH, inBody(), by, headers);
      const again = await post(IN_PATH, inBody(), by, headers);
      assert.deepEqual([again.status, again.body], [201, first.body]);
      const other = await post(IN_PATH, inBody({ refund_address: ACCOUNT }), by, headers);
      assert.equal(other.body.code, "IDEMPOTENCY_MISMATCH");
    });

    it("bad input: each is refused at the border, by the name of its field", async () => {
      const by = await session();
      const before = (await store.openOf("test", undefined)).length;
      const order = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
      for (const [path, body, field] of [
        [IN_PATH, inBody({ npk: `0x${order.toString(16).padStart(64, "0")}` }), "npk"],
        [IN_PATH, inBody({ npk: `0x${"00".repeat(32)}` }), "npk"],
        [IN_PATH, inBody({ npk: `0x${"ff".repeat(32)}` }), "npk"],
        [IN_PATH, inBody({ ciphertext: `0x${"01".repeat(52)}` }), "ciphertext"],
        [IN_PATH, inBody({ ciphertext: `0x${"01".repeat(54)}` }), "ciphertext"],
        [IN_PATH, inBody({ ephemeral_key: `0x${"01".repeat(31)}` }), "ephemeral_key"],
        [IN_PATH, inBody({ refund_address: `0x${"00".repeat(20)}` }), "refund_address"],
        [IN_PATH, inBody({ refund_address: "0x5FbDB2315678afecb367f032d93F642f64180aA3" }), "refund_address"],
        [IN_PATH, inBody({ account: ACCOUNT }), "account"],
      ] as const) {
        const { body: answer } = await refused(path, body, by, 400, "INVALID_REQUEST");
        assert.equal(answer.errors[0].path, field, JSON.stringify(body));
      }
      // Whoever would be paid there could not give it back.
      const [chain] = settings.chains;
      for (const contract of [
        ...[
          POOL,
          USDC,
          settings.factory,
          settings.collector,
          settings.home.messenger,
          settings.home.transmitter,
        ],
        ...[chain!.token, chain!.messenger, chain!.transmitter, settings.perpvenue!.exit.forwarder],
      ]) {
        const { body: answer } = await refused(
          IN_PATH,
          inBody({ refund_address: contract }),
          by,
          400,
          "INVALID_REQUEST",
        );
        assert.equal(answer.errors[0].path, "refund_address", contract);
        const to = { chain_id: 31_338, recipient: contract };
        await refused(OUT_PATH, { to, ...RECEIVER }, by, 400, "INVALID_REQUEST");
      }
      // Its secret is everybody's.
      for (const low of ["00".repeat(32), `01${"00".repeat(31)}`, `ec${"ff".repeat(30)}7f`]) {
        const { body: answer } = await refused(
          IN_PATH,
          inBody({ ephemeral_key: `0x${low}` }),
          by,
          400,
          "INVALID_REQUEST",
        );
        assert.equal(answer.errors[0].path, "ephemeral_key", low);
      }
      for (const account of [
        "0x12",
        "",
        ACCOUNT.slice(0, -1),
        `${ACCOUNT}0`,
        `0x${"00".repeat(20)}`,
        FOREIGN_KEYS[0],
      ])
        await refused(OUT_PATH, { account, ...RECEIVER }, by, 400, "INVALID_REQUEST");
      const both = { account: ACCOUNT, to: { chain_id: 31_338, recipient: ACCOUNT }, ...RECEIVER };
      await refused(OUT_PATH, both, by, 400, "INVALID_REQUEST");
      await refused(OUT_PATH, RECEIVER, by, 400, "INVALID_REQUEST");
      assert.equal((await store.openOf("test", undefined)).length, before);
    });

    it("a session needs write for an address, and read for its status", async () => {
      const reader = await edge.session({ sub: "reader", perms: ["read"] });
      const writer = await edge.session({ sub: "reader", perms: ["write"] });
      await refused(IN_PATH, inBody(), reader, 403, "FORBIDDEN");
      const { bridge_id } = await made(IN_PATH, inBody(), writer);
      assert.equal((await statusOf(`id=${bridge_id}`, writer)).body.code, "FORBIDDEN");
      assert.equal((await statusOf(`id=${bridge_id}`, reader)).status, 200);
    });

    it("what is not set is off by itself: FEATURE_DISABLED", async () => {
      const lean = opened(settingsOf({ perpvenue: undefined, altchain: undefined }));
      const owner = { developerId: "test", sub: "lean-2" };
      const code = (work: Promise<unknown>): Promise<string> =>
        work.then(
          () => "nothing",
          (error: unknown) => (error as { code: string }).code,
        );
      assert.equal(await code(lean.toOutside(owner, { account: ACCOUNT, ...RECEIVER })), "FEATURE_DISABLED");
      assert.equal(await code(lean.fromAltchain(owner, altBody)), "FEATURE_DISABLED");
      assert.deepEqual([lean.info().perpvenue, lean.info().altchain], [null, null]);
    });

    it("/info tells what addresses are made of, /health tells of a dead venue and stays ok", async () => {
      const told = info.parse((await edge.call("GET", "/info")).body);
      assert.equal(told.features.bridges, true);
      const bridges = told.bridges ?? assert.fail("no bridges");
      const answer = await made(IN_PATH, inBody(), await session());
      assert.deepEqual(
        [bridges.factory, bridges.vault_code_hash, bridges.collector],
        [answer.terms.factory, answer.terms.vault_code_hash, answer.terms.collector],
      );
      assert.deepEqual(
        bridges.chains.map(({ exit: _exit, estimated_secs: _secs, ...lane }) => lane),
        answer.source?.lanes,
      );
      assert.equal(bridges.chains[0]?.exit?.domain, 6);
      away.push("attester");
      const health = await until("the attester to be missed", async () => {
        const answer = await edge.call("GET", "/health");
        return answer.body.bridges.detail !== undefined && answer;
      });
      assert.equal(health.status, 200);
      const { age_ms: age, ...shown } = health.body.bridges;
      assert.equal(typeof age, "number");
      assert.equal(health.body.status, "ok", "payments do not depend on it");
      assert.deepEqual(shown, { state: "degraded", detail: "no answer from attester" });
      // Frozen, or killed.
      await relay.stop();
      edge.advance(31_000);
      const { body } = await edge.call("GET", "/health");
      assert.deepEqual([body.status, body.bridges.detail], ["ok", "the relay says nothing"]);
      assert.ok(body.bridges.age_ms >= 31_000);
    });
  });
}

describe("bridge endpoints on the other instance", () => {
  let edge: Edge;
  before(async () => {
    edge = await startEdge();
  });
  after(() => edge.stop());
  it("answer FEATURE_DISABLED whatever is asked", async () => {
    for (const path of [IN_PATH, OUT_PATH, ALT_PATH])
      assert.equal((await edge.call("POST", path, { json: inBody() })).body.code, "FEATURE_DISABLED");
    assert.equal((await edge.call("GET", "/bridge/status?id=1")).body.code, "FEATURE_DISABLED");
  });
});
