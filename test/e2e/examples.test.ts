/**
 * Every example request of the OpenAPI document, sent to a running service: what can be asked again is answered as
 * the example says; what was bound to another pool's notes and to a time that is over is refused in its own words.
 */
import assert from "node:assert/strict";
import { ENDPOINTS, type EndpointName } from "../../shared/api/endpoints.ts";
import type { BridgeAddress } from "../../shared/api/bridges.ts";
import type { BridgeStatus } from "../../shared/api/bridge-status.ts";
import { EXAMPLES, type Example } from "../../shared/api/examples.ts";
import type { Info } from "../../shared/api/service.ts";
import type { SwapQuote } from "../../shared/api/swaps.ts";
import { openExampleAccount } from "../../scripts/examples/bridges.ts";
import { answerOf, requestOf, type Target } from "../../scripts/examples/recorder.ts";
import { documentedFetch } from "../support/documented.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const NETWORKS = ["first", "second"] as const;
/** What a statement of another day and another tree may receive. */
const STALE = ["INVALID_REQUEST", "ROOT_UNKNOWN", "AUTHORIZATION_INVALID", "CONTEXT_MISMATCH", "FEE_MISSING"];
/** Answered by a refusal here, of necessity: the app is not registered; the ticket and the request are another store's. */
const REFUSED: Readonly<Partial<Record<EndpointName, readonly [name: RegExp, code: string]>>> = {
  sessionExchange: [/./, "APP_UNKNOWN"],
  ticket: [/./, "TICKET_UNKNOWN"],
  bridgeFromChain: [/^signed$/, "BRIDGE_UNKNOWN"],
  bridgeStatus: [/./, "BRIDGE_UNKNOWN"],
};

const all = (Object.keys(ENDPOINTS) as EndpointName[]).flatMap((endpoint) =>
  (EXAMPLES[endpoint] ?? []).map((example) => ({ endpoint, ...example })),
);
type Shown = (typeof all)[number];

function infoOf(network: Example["network"]): Info {
  const found = all.find((example) => example.endpoint === "info" && example.network === network);
  assert.ok(found !== undefined, network);
  return found.response.body as Info;
}

/** Names and types, and of a list its first member: one tree has more leaves than another. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  const entries = Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

describe("examples of the OpenAPI document on a running service", function () {
  this.timeout(360_000);
  let on: TestStack;
  const targets = new Map<Example["network"], Target>();
  before(async () => {
    on = await startTestStack({ networks: NETWORKS, bridges: true });
    await openExampleAccount(on.network("first").entry);
    for (const name of NETWORKS) {
      const { entry, client } = on.network(name);
      const wanted = { sub: "user-1", perms: ["read" as const, "write" as const], ttl_secs: 900 };
      const { token } = await client.createSession(wanted);
      targets.set(name, { baseUrl: entry.base_url, apiKey: on.stack.file.api_key, session: token });
    }
  });
  after(() => on.stop());

  /** A local stack's contracts lie elsewhere each time: the same token, and the same pool, of this one. */
  async function here(shown: Shown, body: unknown): Promise<unknown> {
    const then = infoOf(shown.network);
    const now = await on.network(shown.network).client.info();
    let text = JSON.stringify(body);
    const pairs = then.assets.map(({ symbol, address }) => [
      address,
      now.assets.find((asset) => asset.symbol === symbol)?.address ?? "",
    ]);
    for (const [old = "", other = ""] of [...pairs, [then.pool, now.pool]])
      text = text.replaceAll(new RegExp(old, "gi"), other);
    return JSON.parse(text);
  }

  async function send(shown: Shown): Promise<Example["response"]> {
    const target = targets.get(shown.network);
    assert.ok(target !== undefined);
    const { body = EXAMPLES[shown.endpoint]?.find(({ name }) => name === shown.bodyOf)?.body, ...rest } =
      shown;
    const sent = body === undefined ? {} : { body: await here(shown, body) };
    const { url, init } = requestOf(target, { ...rest, ...sent });
    return answerOf(await documentedFetch(target.baseUrl)(url, init));
  }
  const isStatement = ({ endpoint }: Shown): boolean => /^(sequence|attest|relay)/.test(endpoint);

  for (const shown of all.filter((example) => !isStatement(example))) {
    const { endpoint, name, response } = shown;
    // Nothing is broken here.
    if (response.status === 503) continue;
    it(`${endpoint}, ${name}`, async () => {
      const answer = await send(shown);
      const { code } = answer.body as { code?: string };
      const [refused, expected] = REFUSED[endpoint] ?? [];
      if (refused?.test(name) === true) {
        assert.equal(code, expected);
        return;
      }
      assert.deepEqual([answer.status, answer.type], [response.status, response.type]);
      if (answer.type === "text/event-stream") {
        assert.match(String(answer.body), /^(:[^\n]*\n+|retry: 3000\n+)*event: ready\n/m);
        return;
      }
      // A new tree has no leaves to show.
      if (endpoint !== "merkleTree") assert.deepEqual(shapeOf(answer.body), shapeOf(response.body));
    });
  }

  for (const shown of all.filter(isStatement)) {
    it(`${shown.endpoint}, ${shown.name}: refused, since its time and its tree are others`, async () => {
      const { status, body } = await send(shown);
      const { code } = body as { code: string };
      assert.ok(STALE.includes(code), `${String(status)} ${code}`);
    });
  }

  it("bridgeStatus of a request of this service: everything that the example has", async () => {
    const made = all.find(({ endpoint, name }) => endpoint === "bridgeFromVenue" && name === "new");
    const shown = all.find(({ endpoint }) => endpoint === "bridgeStatus");
    assert.ok(made !== undefined && shown !== undefined);
    const { bridge_id: id } = (await send(made)).body as BridgeAddress;
    const { status, body } = await send({ ...shown, query: { id } });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body as object), Object.keys(shown.response.body as object));
    assert.deepEqual([(body as BridgeStatus).bridge_id, (body as BridgeStatus).reason], [id, null]);
  });

  it("says the same words wherever they do not depend on the day", async () => {
    for (const network of NETWORKS) {
      const [now, then] = [await on.network(network).client.info(), infoOf(network)];
      for (const field of [
        ...(["api_version", "network", "chain_id", "address_prefix", "confirmations"] as const),
        ...(["features", "circuits", "threshold"] as const),
      ])
        assert.deepEqual(now[field], then[field], field);
    }
    const shown = all.find(({ endpoint }) => endpoint === "swapQuote");
    assert.ok(shown !== undefined);
    const [now, then] = [(await send(shown)).body as SwapQuote, shown.response.body as SwapQuote];
    const tiers = ({ route }: SwapQuote): number[] => route.map(({ fee_bps }) => fee_bps);
    assert.deepEqual(tiers(now), tiers(then));
    assert.equal(now.price_impact_bps, then.price_impact_bps);
    assert.deepEqual([now.shares_in, now.fees.service], [then.shares_in, then.fees.service]);
  });
});
