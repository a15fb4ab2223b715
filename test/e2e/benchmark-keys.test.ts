// A stack for benchmarks: other verification keys in pool, enclave and proxy alike, under which proofs are simulated
// and real ones are worth nothing. Everything else is the stack that everybody runs.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { JsonRpcProvider, Wallet as EthereumWallet } from "ethers";
import { Pool } from "../../proxy/base/chain/pool.ts";
import { createChain } from "../../proxy/base/chain/provider.ts";
import { writeTrapdoorKeys } from "../../scripts/lab/bench/trapdoor/keys.ts";
import { openSimulator } from "../../scripts/lab/bench/trapdoor/simulator.ts";
import { committedKeyHashes, keyHashesIn } from "../../scripts/deploy/pool.ts";
import { developmentImage } from "../../scripts/stack/development-signer.ts";
import { startStack, type Stack } from "../../scripts/stack/local-stack.ts";
import { ROOMY_KEYS } from "../../scripts/stack/proxy-settings.ts";
import { type NetworkEntry, StackError } from "../../scripts/base/stack-file.ts";
import { openStackWallet } from "../../scripts/stack/stack-wallet.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { KIND_NAMES } from "../../shared/protocol/statements.ts";
import { simulatedProver } from "../support/simulated-prover.ts";

const DEPOSIT = 50_000_000n;

describe("a stack with the benchmarks' keys", function () {
  let folder: string;
  let keys: string;
  let stack: Stack | undefined;
  let entry: NetworkEntry;
  let client: Client;
  let chain: JsonRpcProvider;
  const start = (verificationKeys?: string): Promise<Stack> =>
    startStack({
      folder: path.join(folder, "stack"),
      networks: ["first"],
      ports: { first: { proxy: 0, chain: 0 } },
      proxySettings: ROOMY_KEYS,
      ...(verificationKeys === undefined ? {} : { verificationKeys }),
    });

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-benchmark-"));
    keys = path.join(folder, "keys");
    await writeTrapdoorKeys(keys);
    stack = await start(keys);
    ({ entry } = stack.network("first"));
    client = createClient({ baseUrl: entry.base_url, credential: { apiKey: stack.file.api_key } });
    chain = new JsonRpcProvider(entry.chain_rpc, entry.chain_id, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 100,
    });
  });
  after(async () => {
    chain.destroy();
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const walletOf = (prover: Prover): Promise<Wallet> =>
    openStackWallet(entry, { seed: newSeed(), client, prover, storage: memoryStorage() });
  const depositor = async (): Promise<EthereumWallet> => {
    const account = new EthereumWallet(EthereumWallet.createRandom().privateKey, chain);
    await (await TestUsdc.at(entry.usdc, chain)).mint(account.address, DEPOSIT);
    return account;
  };

  it("has them in the pool and in /info, and runs an enclave that measures as another than the usual one", async () => {
    const hashes = await keyHashesIn(keys);
    const pool = new Pool(createChain(entry.chain_rpc, BigInt(entry.chain_id)), asAddress(entry.pool)!);
    const { circuits } = await client.info();
    for (const kind of KIND_NAMES) {
      assert.equal(await pool.verifyingKeyHash(kind), hashes[kind]);
      assert.equal(circuits.find((circuit) => circuit.kind === kind)?.verification_key_hash, hashes[kind]);
      assert.notEqual(hashes[kind], (await committedKeyHashes())[kind]);
    }
    const [ours, usual] = [await developmentImage(undefined, keys), await developmentImage()];
    assert.deepEqual(entry.enclave.measurement, ours.measurement);
    assert.notEqual(entry.enclave.measurement.pcr0, usual.measurement.pcr0);
    assert.equal(entry.enclave.configuration_hash, ours.configuration.hash);
  });

  it("takes a deposit and a payment whose proofs are simulated", async () => {
    const prover = simulatedProver(await openSimulator());
    const [one, other] = [await walletOf(prover), await walletOf(prover)];
    await one.deposit(DEPOSIT, await depositor());
    const paid = 1_000_000n;
    await one.pay(other.address, paid);
    await other.sync();
    assert.equal(other.balance().spendable, paid);
  });

  it("refuses a real proof by the committed keys, and a simulated one from another phrase", async () => {
    const real = await developmentProver();
    try {
      for (const prover of [
        { ...real, checkInfo: () => undefined },
        simulatedProver(await openSimulator("another phrase")),
      ]) {
        const wallet = await walletOf(prover);
        await assert.rejects(wallet.deposit(DEPOSIT, await depositor()), { code: "PROOF_INVALID" });
      }
    } finally {
      await real.close();
    }
  });

  it("is resumed with these keys, and refuses to go on with the usual ones", async () => {
    await stack?.stop();
    stack = undefined;
    await assert.rejects(start(), StackError);
    stack = await start(keys);
    assert.equal(stack.network("first").entry.pool, entry.pool);
    assert.equal(stack.network("first").entry.enclave_signers[0], entry.enclave_signers[0]);
  });
});
