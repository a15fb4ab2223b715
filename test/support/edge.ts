// The real Koa app on an ephemeral port, with a real LMDB in a temporary folder. Only the money path's
// handlers are stand-ins that say so: these tests are about what happens before a route is reached.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, type FeatureEndpoint } from "../../proxy/api/app.ts";
import { createApiKey } from "../../proxy/base/auth/api-keys.ts";
import { createAuth } from "../../proxy/api/auth/auth.ts";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import type { KeyRing } from "../../proxy/base/auth/session-tokens.ts";
import type { Balances } from "../../proxy/api/balances/balances.service.ts";
import type { Asset, LimitDefaults } from "../../proxy/base/instance-config.ts";
import { createConnectionCap, type ConnectionLimits } from "../../proxy/base/http/connection-cap.ts";
import { ApiError } from "../../proxy/base/http/errors.ts";
import { listenerOf } from "../../proxy/base/http/listener.ts";
import { startHttpServer, type Deadlines } from "../../proxy/base/http/server.ts";
import type { Handlers } from "../../proxy/base/http/routes.ts";
import { createKeySets } from "../../proxy/api/identity/key-sets.ts";
import { createPinnedFetch } from "../../proxy/api/identity/pinned-fetch.ts";
import { Limits } from "../../proxy/base/limits/limits.ts";
import { LocalWindows } from "../../proxy/base/limits/local-windows.ts";
import { createLogger } from "../../proxy/base/logging.ts";
import type { Metrics } from "../../proxy/base/observe/metrics.ts";
import { ownHops } from "../../proxy/base/own-hops.ts";
import { createExchange } from "../../proxy/api/sessions/exchange.service.ts";
import { createSessions } from "../../proxy/api/sessions/sessions.service.ts";
import { loadCircuits } from "../../proxy/api/status/circuits.ts";
import { createStatus, type HealthChecks, type StatusParts } from "../../proxy/api/status/status.service.ts";
import { embeddedStores, type InstanceStores } from "../../proxy/base/store/instance.ts";
import { openDatabase, type Database } from "../../proxy/base/store/lmdb/database.ts";
import type { IdempotencyStore } from "../../proxy/base/store/idempotency.ts";
import type { WindowStore } from "../../proxy/base/store/windows.ts";
import { ENDPOINTS, type EndpointName } from "../../shared/api/endpoints.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { assertDocumented } from "./documented.ts";
import { testFees } from "./fees.ts";

export const CHAIN_ID = 31_337;
export const POOL = asAddress("0x5FbDB2315678afecb367f032d93F642f64180aa3") as Address;
export const USDC = asAddress("0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512") as Address;

/** What stand-ins say: the one answer that the document does not bind. */
const NOT_ON_STAGE = "this part is not on the stage of this test";

/** Those of a proxy without settings; `test/unit/proxy/api/config.test.ts` holds the two together. */
export const LIMITS: LimitDefaults = {
  sessionPerMinute: 120,
  keyPerMinute: 60,
  keyPerDay: 10_000,
  streamsPerUser: 5,
  streamsPerDeveloper: 50,
  failuresPerMinute: 30,
  exchangesPerMinute: 30,
  badProofsPerMinute: 20,
};

/** Whose handlers the app makes itself. */
const APP_ENDPOINTS: ReadonlySet<string> = new Set<Exclude<EndpointName, FeatureEndpoint>>([
  ...(["health", "info", "whoami", "openapi"] as const),
  ...(["createSession", "sessionExchange", "balance"] as const),
]);

export interface EdgeOptions {
  readonly limits?: Partial<LimitDefaults>;
  /** In the place of those that end the stage. */
  readonly handlers?: Partial<Handlers<FeatureEndpoint>>;
  readonly balances?: Balances;
  readonly checks?: Partial<HealthChecks>;
  readonly assets?: readonly [Asset];
  readonly trustedHops?: number;
  readonly trustedProxies?: readonly string[];
  /** Default: without a cap. */
  readonly connections?: ConnectionLimits;
  readonly swaps?: boolean;
  /** Default: off. With `bridges` the routes come with `handlers`. */
  readonly bridges?: StatusParts["bridges"];
  readonly origins?: readonly string[];
  /** Whether key sets may come from this machine, as in development. Default true. */
  readonly identityLoopback?: boolean;
  /** Default: in the edge's own folder. */
  readonly idempotency?: IdempotencyStore;
  /** Default: counted in this process. */
  readonly windows?: (now: () => number) => WindowStore;
  /** Default: counted for nobody. */
  readonly metrics?: Metrics;
  /** Default: the service's own. */
  readonly deadlines?: Deadlines;
}

export interface Edge {
  readonly url: string;
  readonly port: number;
  /** A developer's API key, with limits far above what a test asks for. */
  readonly key: string;
  readonly keyRing: KeyRing;
  readonly pepper: Uint8Array;
  readonly folder: string;
  readonly database: Database;
  readonly store: InstanceStores["keys"];
  readonly apps: InstanceStores["apps"];
  readonly limits: Limits;
  /** Moves the clock of credentials, limits and idempotency. */
  advance(ms: number): void;
  now(): number;
  log(): string;
  session(options?: { sub?: string; perms?: string[]; ttl_secs?: number }): Promise<string>;
  /**
   * With the API key unless `headers` bring another credential or `credential` is false. Fails when the answer is
   * not one that the OpenAPI document names.
   */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  newDeveloper(options?: Parameters<typeof addDeveloper>[1]): Promise<{ id: string; key: string }>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  /** Sent as it is, as application/json unless `headers` say otherwise. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly credential?: false;
  readonly session?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- answers nobody has typed
}

export async function startEdge(options: EdgeOptions = {}): Promise<Edge> {
  const folder = await mkdtemp(join(tmpdir(), "cloister-edge-"));
  const database = openDatabase(folder);
  const store = embeddedStores(database).keys;
  const pepper = Uint8Array.from(randomBytes(32));
  const keyRing: KeyRing = { current: "k1", keys: new Map([["k1", Uint8Array.from(randomBytes(32))]]) };
  let offset = 0;
  const now = (): number => Date.now() + offset;
  const lines: string[] = [];
  const logger = createLogger("trace", { write: (line: string) => void lines.push(line) });
  const auth = createAuth({ store, pepper, keyRing, chainId: CHAIN_ID, now });
  const apps = embeddedStores(database).apps;
  const fetchText = createPinnedFetch({ allowLoopback: options.identityLoopback ?? true });
  const keySets = createKeySets(fetchText, now, (error, jwks_host) =>
    logger.warn({ err: error, jwks_host }, "a key set could not be fetched"),
  );
  const windows = options.windows?.(now) ?? new LocalWindows(now);
  const limits = new Limits({ ...LIMITS, ...options.limits }, windows);
  const assets = options.assets ?? [{ address: USDC, symbol: "USDC", decimals: 6 }];
  const { swaps = false } = options;
  const feeRules = embeddedStores(database).feeRules;
  const fees = testFees({ assets, store: feeRules, now });
  await feeRules.describe({ addressPrefix: "clo", assets });
  const ok = { state: "ok", ageMs: 0 } as const;
  const root = new URL("../../", import.meta.url);
  const status = createStatus({
    config: {
      network: "first",
      chainId: CHAIN_ID,
      pool: POOL,
      deploymentBlock: 3,
      addressPrefix: "clo",
      confirmations: 2,
      assets,
      swaps,
    },
    circuits: await loadCircuits(
      new URL("shared/circuits/keys/development/manifest.json", root).pathname,
      new URL("shared/protocol/verification-keys/", root),
      false,
    ),
    fees,
    limits,
    describeEnclaves: async () => [],
    threshold: async () => 1,
    bridges: options.bridges,
    checks: {
      enclave: () => ok,
      chain: () => ok,
      store: () => ok,
      sequencer: () => ok,
      indexer: () => ok,
      ...options.checks,
    },
    randomBytes: (length) => Uint8Array.from(randomBytes(length)),
    now,
  });
  const hops = ownHops(options.trustedHops ?? 0, options.trustedProxies);
  const close = async (): Promise<void> => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  };
  const app = await orClose(close, () =>
    createApp({
      config: { swaps, bridges: options.bridges !== undefined },
      hops,
      logger,
      auth,
      limits,
      idempotency: options.idempotency ?? embeddedStores(database).idempotency,
      sessions: createSessions(auth),
      exchange: createExchange({ apps, auth, keySets, logger, now }),
      status,
      balances: options.balances ?? { usdc: async () => absent() },
      handlers: { ...absentHandlers(), ...options.handlers },
      ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
      now,
    }),
  );
  const cap =
    options.connections === undefined
      ? undefined
      : createConnectionCap(options.connections, hops, (by) => options.metrics?.connectionRefused(by));
  const { deadlines } = options;
  const server = await startHttpServer(listenerOf(app), "127.0.0.1", 0, { deadlines, cap });
  const url = `http://127.0.0.1:${server.port}`;

  const newDeveloper: Edge["newDeveloper"] = async (wanted = { name: "Another" }) => {
    const developer = await addDeveloper(store, wanted);
    const { key } = await createApiKey(store, pepper, developer.id, "main");
    return { id: developer.id, key };
  };
  const { key } = await newDeveloper({
    name: "Test",
    id: "test",
    limits: { keyPerMinute: 1_000_000, keyPerDay: 1_000_000, sessionPerMinute: 1_000_000 },
    origins: options.origins ?? [],
  });

  const standIns = Object.keys(options.handlers ?? {}) as FeatureEndpoint[];
  const standInFolders = new Set(standIns.map((name) => ENDPOINTS[name].path.split("/")[1] ?? ""));

  const call: Edge["call"] = async (method, path, { headers = {}, json, raw, credential, session } = {}) => {
    const content = raw ?? (json === undefined ? undefined : JSON.stringify(json));
    const credentials =
      session !== undefined
        ? { Authorization: `Bearer ${session}` }
        : credential === false
          ? {}
          : { "X-API-Key": key };
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...credentials,
        ...(content === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(content === undefined ? {} : { body: content }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    // What a test put in the place of a feature answers in the test's own words.
    const isStandIn = response.ok && standInFolders.has(path.split(/[/?]/)[1] ?? "");
    // A HEAD is answered without its words.
    const isOffStage = text.includes(NOT_ON_STAGE) || (method === "HEAD" && response.status === 503);
    if (!isStandIn && !isOffStage) {
      const seen = { method, url: path, status: response.status, headers: response.headers };
      assertDocumented({ ...seen, body: bytes });
    }
    const isJson = /json$/.test(response.headers.get("content-type")?.split(";")[0] ?? "");
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== "" ? JSON.parse(text) : text,
    };
  };

  return {
    url,
    port: server.port,
    key,
    keyRing,
    pepper,
    folder,
    database,
    store,
    apps,
    limits,
    advance: (ms) => {
      offset += ms;
    },
    now,
    log: () => lines.join(""),
    session: async ({ sub = "user-1", perms = ["read", "write"], ttl_secs = 900 } = {}) => {
      const { body } = await call("POST", "/session", { json: { sub, perms, ttl_secs } });
      return body.token as string;
    },
    call,
    newDeveloper,
    stop: async () => {
      await server.stop(0);
      limits.close();
      await close();
    },
  };
}

/** An app that refuses to start must not leave its store open. */
async function orClose<T>(close: () => Promise<void>, make: () => T): Promise<T> {
  try {
    return make();
  } catch (error) {
    await close();
    throw error;
  }
}

function absentHandlers(): Handlers<FeatureEndpoint> {
  return Object.fromEntries(
    Object.keys(ENDPOINTS)
      .filter((name): name is FeatureEndpoint => !APP_ENDPOINTS.has(name))
      .map((name) => [name, () => absent()]),
  ) as unknown as Handlers<FeatureEndpoint>;
}

/** Reached only when everything before let the request pass; takes what was read, to drop it. */
export function absent(_read?: unknown): never {
  throw new ApiError("CHAIN_UNAVAILABLE", NOT_ON_STAGE);
}
