// The stage of suite "http": the whole local service with every party in a process of its own, credentials whose
// limits no measurement meets, and a signer of our own in the pool, so that events can be made by the hundred
// without proving each.

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, JsonRpcProvider, NonceManager, Wallet as EthereumWallet } from "ethers";
import { createApiKey } from "../../../../proxy/auth/api-keys.ts";
import { addDeveloper } from "../../../../proxy/auth/registration.ts";
import { loadPepper } from "../../../../proxy/auth/secret-files.ts";
import { openDatabase } from "../../../../proxy/store/lmdb/database.ts";
import { embeddedStores } from "../../../../proxy/store/instance.ts";
import { createClient, memoryStorage, newSeed, type Client } from "../../../../shared/client/index.ts";
import { prepareSpend } from "../../../../shared/client/statements.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { developmentProver } from "../../../../shared/client/node/development.ts";
import { POOL_ABI } from "../../../../shared/contracts/abi.ts";
import { asAddress, mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { COMPRESSED_PROOF_BYTES } from "../../../../shared/protocol/host/proofs.ts";
import type { Home, Statement } from "../../../../shared/protocol/statements.ts";
import { committedKeyHashes } from "../../../product/deploy.ts";
import { pepperFile } from "../../../stack/development-credential.ts";
import { startStack } from "../../../stack/local-stack.ts";
import { openStackWallet } from "../../../stack/stack-wallet.ts";
import { attested, attester, NO_UPDATE, unsigned } from "../../../stack/pool-transaction.ts";
import { TestUsdc } from "../../../stack/usdc.ts";
import { addSigner, proposeSigner, waitForTime } from "../../../product/operator/pool-signers.ts";

const NO_LIMIT = "1000000";
const PER_TRANSACTION = 16;

export interface Stage {
  readonly port: number;
  readonly proxyPid: number;
  readonly apiKey: string;
  session(sub: string): Promise<string>;
  /** Private transfers of nobody's notes, all in one block; resolves with how many events a stream shows of them. */
  transfers(count: number): Promise<number>;
  /** A deposit's request with a real proof, good for as many attestations as are asked for. */
  provenDeposit(): Promise<string>;
  stop(): Promise<void>;
}

/** `settings` are further ones of the proxy, for a profile. */
export async function openStage(settings: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-bench-"));
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const stack = await startStack({
    folder,
    networks: ["first"],
    ports: { first: { proxy: 0, chain: 0 } },
    proxySettings: {
      CLOISTER_LIMIT_SESSION_PER_MINUTE: NO_LIMIT,
      CLOISTER_LIMIT_KEY_PER_MINUTE: NO_LIMIT,
      CLOISTER_LIMIT_KEY_PER_DAY: "10000000",
      CLOISTER_LIMIT_STREAMS_PER_USER: "10000",
      CLOISTER_MAX_CONNECTIONS_PER_ADDRESS: NO_LIMIT,
      ...settings,
    },
  }).catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });
  const local = stack.network("first");
  const { entry } = local;
  const chain = new JsonRpcProvider(entry.chain_rpc, entry.chain_id, {
    staticNetwork: true,
    cacheTimeout: -1,
    pollingInterval: 50,
  });
  const stop = async (): Promise<void> => {
    chain.destroy();
    await stack.stop();
    await removeFolder();
  };
  try {
    const database = openDatabase(local.folder.inside("store"));
    const store = embeddedStores(database).keys;
    const pepper = await loadPepper(await pepperFile(stack.folder.shared()));
    const { id } = await addDeveloper(store, { name: "Benchmark" });
    const { key: apiKey } = await createApiKey(store, pepper, id, "benchmark");
    await database.close();
    const client = createClient({ baseUrl: entry.base_url, credential: { apiKey } });

    const owner = new NonceManager(new EthereumWallet(await local.folder.secrets.text("owner.key"), chain));
    const poolAddress = asAddress(entry.pool);
    if (poolAddress === undefined) throw new Error("the pool has no address");
    const own = attester(1);
    await proposeSigner(owner, poolAddress, own.address, new Uint8Array(0));
    await waitForTime(chain, ((await chain.getBlock("latest"))?.timestamp ?? 0) + 2);
    await addSigner(owner, poolAddress, own.address);
    const pool = new Contract(poolAddress, POOL_ABI, owner);
    const home: Home = { chainId: BigInt(entry.chain_id), pool: poolAddress };
    const keyHashes = await committedKeyHashes();

    return {
      port: Number(new URL(entry.base_url).port),
      proxyPid: local.proxy().pid,
      apiKey,
      session: async (sub) => (await client.createSession({ sub, perms: ["read"], ttl_secs: 3600 })).token,
      async transfers(count) {
        const { root } = await client.merkleRoot();
        const made = Array.from({ length: count }, () => nobodysTransfer(home, mustField(BigInt(root))));
        const sent = [];
        for (let i = 0; i < count; i += PER_TRANSACTION) {
          const members = made
            .slice(i, i + PER_TRANSACTION)
            .map((statement) =>
              attested(home, keyHashes.spend, unsigned(statement, randomBytes(COMPRESSED_PROOF_BYTES)), [
                own,
              ]),
            );
          sent.push(
            (await pool.getFunction("execute")(members, NO_UPDATE, { gasLimit: 25_000_000 })) as {
              wait(): Promise<unknown>;
            },
          );
        }
        for (const one of sent) await one.wait();
        return made.reduce((sum, { facts }) => sum + facts.nullifiers.length + facts.commitments.length, 0);
      },
      provenDeposit: () => provenDeposit(client, entry, chain),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Spends notes worth nothing, as every payment may: the pool cannot tell. */
function nobodysTransfer(home: Home, root: Field): Statement {
  const keys = SpendingKey.fromSeed(newSeed());
  return prepareSpend({
    ...{ home, keys, asset: home.pool, root, inputs: [], deadline: 4_000_000_000 },
    fees: { service: undefined, developer: undefined, total: 0n },
    payment: { type: "transfer", to: keys.viewing.address, value: 0n },
  }).statement;
}

/** Made by the client library, and kept from leaving the device. */
async function provenDeposit(
  client: Client,
  entry: Parameters<typeof openStackWallet>[0],
  chain: JsonRpcProvider,
): Promise<string> {
  const AMOUNT = 25_000_000n;
  let body: unknown;
  const kept: Client = {
    ...client,
    sequenceDeposit: (given) => {
      body = given;
      return Promise.reject(new Error("kept"));
    },
  };
  const prover = await developmentProver();
  const seed = newSeed();
  const wallet = await openStackWallet(entry, { seed, client: kept, prover, storage: memoryStorage() });
  const depositor = new EthereumWallet(EthereumWallet.createRandom().privateKey, chain);
  await (await TestUsdc.at(entry.usdc, chain)).mint(depositor.address, AMOUNT);
  await wallet.deposit(AMOUNT, depositor).catch((error: unknown) => {
    if (body === undefined) throw error;
  });
  await prover.close();
  return JSON.stringify(body);
}
