/**
 * The composition root: settings, collaborators, listen, orderly stop. Everything that the proxy is made of
 * is put together here and nowhere else.
 */
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KIND_NAMES } from "../shared/protocol/statements.ts";
import { createApp } from "./app.ts";
import { attestRoutes } from "./attest/attest.routes.ts";
import { createAttest } from "./attest/attest.service.ts";
import { createAuth } from "./auth/auth.ts";
import { loadKeyRing, loadPepper } from "./auth/secret-files.ts";
import { createBalances } from "./balances/balances.service.ts";
import { createPool, type Pool } from "./chain/pool.ts";
import { ChainAway, createChain, type Chain } from "./chain/provider.ts";
import { createTokens, recoverSigner } from "./chain/token.ts";
import { ConfigError, configHelp, readConfig, type Config } from "./config.ts";
import { createAttestor } from "./enclave-link/attestor.ts";
import { createDirectory, type EnclaveDirectory } from "./enclave-link/directory.ts";
import { createLink } from "./enclave-link/link.ts";
import { eventsRoutes } from "./events/events.routes.ts";
import { createHub } from "./events/hub.ts";
import { createFees } from "./fees/fee-rules.ts";
import { Limits } from "./limits/limits.ts";
import { createLogger, type Logger } from "./logging.ts";
import { createIndexer, type Indexer } from "./merkle/indexer.ts";
import { merkleRoutes } from "./merkle/merkle.routes.ts";
import { createMerkle } from "./merkle/merkle.service.ts";
import { relayRoutes } from "./relay/relay.routes.ts";
import { createRelay } from "./relay/relay.service.ts";
import { sequenceRoutes } from "./sequence/sequence.routes.ts";
import { createSequence } from "./sequence/sequence.service.ts";
import { createSessions } from "./sessions/sessions.service.ts";
import { loadCircuits, type Circuits } from "./status/circuits.ts";
import { createStatus, type HealthChecks } from "./status/status.service.ts";
import { openChainDataStore } from "./store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "./store/lmdb/database.ts";
import { openIdempotencyStore } from "./store/lmdb/idempotency.ts";
import { openKeyStore } from "./store/lmdb/keys.ts";
import { openTicketStore } from "./store/lmdb/tickets.ts";
import { createAdmission } from "./submission/admission.ts";
import { createGasWallet } from "./submission/gas-wallet.ts";
import { loadSenderKey } from "./submission/sender-key.ts";
import { createSubmitter, type Submitter } from "./submission/submitter.ts";
import { createTickets } from "./submission/tickets.ts";

/** Tickets that may wait before QUEUE_FULL. */
const MAX_WAITING = 2_000;
/** How long requests under way may take when the process is asked to stop. */
const DRAIN_MS = 10_000;
/** Older than this, what the indexer or the submitter last did is no sign of life. */
const STALE_MS = 30_000;
const VERIFICATION_KEYS = new URL("../shared/protocol/verification-keys/", import.meta.url);

async function start(config: Config, logger: Logger): Promise<() => Promise<void>> {
  const now = Date.now;
  const [senderKey, keyRing, pepper, circuits] = await Promise.all([
    loadSenderKey(config.senderKeyFile),
    loadKeyRing(config.sessionKeysFile),
    loadPepper(config.pepperFile),
    loadCircuits(config.artefactManifestFile, VERIFICATION_KEYS, config.production),
  ]);

  const chain = createChain(config.rpcUrl, BigInt(config.chainId));
  const pool = createPool(chain, config.pool);
  const tokens = createTokens(chain);
  await requireSamePool(chain, pool, circuits, logger);

  const database = openDatabase(config.dataDir);
  const data = openChainDataStore(database);
  const ticketStore = openTicketStore(database);

  const links = config.enclaves.map((address) => createLink(address));
  const directory = createDirectory(links, (signer) => pool.isSigner(signer));
  const attestor = createAttestor(links, {
    home: pool.home,
    threshold: () => pool.threshold(),
    isSigner: (signer) => pool.isSigner(signer),
    verifyingKeyHash: (kind) => pool.verifyingKeyHash(kind),
    recover: recoverSigner,
  });

  const indexer = createIndexer(chain, pool, data, logger.child({ part: "indexer" }), {
    deploymentBlock: config.deploymentBlock,
    pollIntervalMs: config.blockPollMs,
  });
  const tickets = createTickets(ticketStore, {
    maxWaiting: MAX_WAITING,
    tipNumber: () => data.tip()?.number,
    blockedBy: () => submitter.state().blockedBy,
    now,
  });
  const submitter: Submitter = createSubmitter(
    {
      chain,
      pool,
      tokens,
      attestor,
      tickets,
      store: ticketStore,
      data,
      frontierAt: (leafCount) => indexer.tree.frontier(leafCount),
      sync: () => indexer.sync(),
      wallet: createGasWallet(senderKey, chain.chainId),
      logger: logger.child({ part: "submitter" }),
      now,
    },
    { confirmations: config.confirmations, pollIntervalMs: config.blockPollMs },
  );
  tickets.onChange(({ status }) => {
    if (status.state === "queued") submitter.wake();
  });
  indexer.onChange(() => submitter.wake());

  const fees = createFees(config);
  const limits = new Limits(config.limits);
  const auth = createAuth({
    store: openKeyStore(database),
    pepper,
    keyRing,
    chainId: config.chainId,
    onFault: (error) => logger.error({ err: error }, "a key's use was not recorded"),
  });
  const admission = createAdmission({ pool, tokens, fees, tickets, data, now });
  const attest = createAttest(admission, attestor, pool);
  const hub = createHub(indexer, data, tickets, { chainId: config.chainId, pool: config.pool, now });
  const app = createApp({
    config,
    logger: logger.child({ part: "http" }),
    auth,
    limits,
    idempotency: openIdempotencyStore(database),
    sessions: createSessions(auth),
    status: createStatus({
      config,
      circuits,
      fees,
      limits,
      describeEnclaves: (nonce) => directory.describe(nonce),
      threshold: () => pool.threshold(),
      checks: healthChecks(chain, database, indexer, submitter, directory),
      randomBytes: (length) => randomBytes(length),
    }),
    balances: createBalances(chain, tokens, config.assets[0]),
    routers: {
      merkle: merkleRoutes(createMerkle(indexer, data, config.confirmations)),
      events: eventsRoutes(hub, { openStream: (principal) => limits.openStream(principal) }),
      sequence: sequenceRoutes(createSequence(admission, attest, tickets), tickets),
      attest: attestRoutes(attest),
      relay: relayRoutes(
        createRelay(admission, attestor, tickets, () => pool.threshold()),
        tickets,
      ),
    },
  });

  await indexer.start();
  submitter.start();
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response));
  await listen(server, config);
  const { address, port } = server.address() as AddressInfo;
  logger.info({ host: address, port, chain_id: config.chainId, pool: config.pool }, "listening");

  return async () => {
    hub.close();
    await drain(server);
    await submitter.stop();
    await indexer.stop();
    for (const link of links) link.close();
    await database.close();
  };
}

/** A pool with other circuits would refuse everything we send; a node that is away may come back. */
async function requireSamePool(chain: Chain, pool: Pool, circuits: Circuits, logger: Logger): Promise<void> {
  try {
    if (!(await chain.isConfiguredChain()))
      throw new Error("the chain's node serves another chain than CLOISTER_CHAIN_ID");
    for (const kind of KIND_NAMES) {
      const ours = circuits.find((circuit) => circuit.kind === kind)?.verification_key_hash;
      if ((await pool.verifyingKeyHash(kind)) !== ours)
        throw new Error(`the pool was made for another circuit ${kind}`);
    }
  } catch (error) {
    if (!(error instanceof ChainAway)) throw error;
    logger.warn({ reason: error.message }, "the chain cannot be asked; starting all the same");
  }
}

function healthChecks(
  chain: Chain,
  database: Database,
  indexer: Indexer,
  submitter: Submitter,
  directory: EnclaveDirectory,
): HealthChecks {
  const age = (at: number | undefined): number => (at === undefined ? 0 : Date.now() - at);
  const table = database.table("health");
  return {
    enclave: async () => {
      const phases = await directory.phases();
      const serving = phases.filter((phase) => phase === "serving").length;
      if (serving === phases.length) return { state: "ok", ageMs: 0 };
      return {
        state: serving === 0 ? "down" : "degraded",
        ageMs: 0,
        detail: `${serving} of ${phases.length} serve`,
      };
    },
    chain: async () =>
      (await chain.isConfiguredChain())
        ? { state: "ok", ageMs: 0 }
        : { state: "down", ageMs: 0, detail: "the node serves another chain" },
    store: async () => {
      await database.transaction(() => table.putSync("last", Date.now()));
      return { state: "ok", ageMs: 0 };
    },
    sequencer: () => {
      const { blockedBy, lastTurnAt } = submitter.state();
      if (blockedBy !== undefined)
        return { state: "degraded", ageMs: age(lastTurnAt), detail: `blocked by ${blockedBy}` };
      const isAlive = lastTurnAt !== undefined && age(lastTurnAt) < STALE_MS;
      return { state: isAlive ? "ok" : "degraded", ageMs: age(lastTurnAt) };
    },
    indexer: () => {
      const { syncedAt, fault } = indexer.state();
      if (fault !== undefined) return { state: "down", ageMs: age(syncedAt), detail: fault };
      const isAlive = syncedAt !== undefined && age(syncedAt) < STALE_MS;
      return { state: isAlive ? "ok" : "degraded", ageMs: age(syncedAt) };
    },
  };
}

function listen(server: Server, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Takes no new request, lets those under way end, and cuts what takes too long. */
function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    // A connection whose last answer just ended would else be kept open for a next request.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
  });
}

async function main(): Promise<void> {
  if (process.argv.includes("--help")) {
    process.stdout.write(`Usage: node --import tsx proxy/main.ts\n\n${configHelp()}`);
    return;
  }
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return;
  }
  const logger = createLogger(config.logLevel);
  let stop: (() => Promise<void>) | undefined;
  try {
    stop = await start(config, logger);
  } catch (error) {
    logger.fatal({ err: error }, "the proxy cannot start");
    process.exit(1);
  }
  let isStopping = false;
  const end = (signal: NodeJS.Signals): void => {
    // A second signal means now.
    if (isStopping) process.exit(1);
    isStopping = true;
    logger.info({ signal }, "stopping");
    stop().then(
      () => {
        logger.info("stopped");
        process.exit(0);
      },
      (error: unknown) => {
        logger.fatal({ err: error }, "the stop failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}

await main();
