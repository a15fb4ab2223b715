/**
 * A pool that asks for two attestations, with two enclaves and one proxy, as `npm start -- --threshold 2` runs them:
 * every kind of payment, and one enclave lost and back. The second network: it has swaps besides.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Contract, parseEther, toBeHex } from "ethers";
import { committedKeyHashes } from "../../scripts/deploy/pool.ts";
import { handedTo } from "../../scripts/watch/calls.ts";
import { connectNode } from "../../scripts/watch/node.ts";
import { signersOf, type Recovered } from "../../scripts/watch/signatures.ts";
import { StackError } from "../../scripts/base/stack-file.ts";
import { auditService } from "../../scripts/audit/service.ts";
import { PROGRAM_NAMES } from "../../scripts/image/measurement.ts";
import { readImages, readSigners } from "../../scripts/operator/pool-signers.ts";
import { createLink } from "../../proxy/api/enclave-link/link.ts";
import { developmentImage } from "../../scripts/stack/development-signer.ts";
import { startStack } from "../../scripts/stack/local-stack.ts";
import type { Problem } from "../../shared/api/errors.ts";
import type { Health, Info } from "../../shared/api/service.ts";
import type { SpendBody, Ticket } from "../../shared/api/transactions.ts";
import { createClient, newSeed, type Wallet } from "../../shared/client/index.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { verifyAttestation } from "../../shared/protocol/attestation-document.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { feeOf } from "../../shared/protocol/host/fees.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { kindById, KINDS, type Kind } from "../../shared/protocol/statements.ts";
import { audited } from "../support/auditor.ts";
import { capture, capturing } from "../support/captured.ts";
import type { TestStack } from "../support/stack.ts";
import { FLAT, startTrading, usd, type Trading } from "../support/trading.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { until } from "../support/until.ts";
import { ETHER_TIER, type LocalVenue } from "../support/venue.ts";

const FREE_PORTS = { proxy: 0, chain: 0 };
const PUBLIC = "0x00000000000000000000000000000000000000cf";
const SWAPPED = usd(50);
const SWAP_FEE = feeOf({ flat: 0n, bps: 15 }, SWAPPED);

describe("a pool that asks for two attestations", function () {
  let on: TestStack;
  let venue: LocalVenue;
  let walletWith: Trading["walletWith"];
  let pool: Contract;
  let payee: Wallet;

  before(async () => {
    ({ on, venue, walletWith } = await startTrading({ threshold: 2 }));
    pool = new Contract(on.entry.pool, POOL_ABI, on.chain);
    payee = await on.wallet();
    await mineAtOnce();
  });
  after(() => on.stop());

  /** A block for each transaction, besides the one of every second. */
  async function mineAtOnce(): Promise<void> {
    await on.setMining(true);
    await on.chain.send("evm_setAutomine", [true]);
  }

  /** What of the queue no root covers yet. */
  async function unrooted(): Promise<number> {
    const [[leaves], [, rooted]] = await Promise.all([
      pool.getFunction("queue")() as Promise<[bigint]>,
      pool.getFunction("currentRoot")() as Promise<[bigint, bigint]>,
    ]);
    return Number(leaves - rooted);
  }

  async function post(body: SpendBody): Promise<{ status: number; answer: unknown }> {
    const response = await fetch(`${on.entry.base_url}/sequence/spend`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": on.stack.file.api_key },
      body: JSON.stringify(body),
    });
    return { status: response.status, answer: await response.json() };
  }

  async function health(): Promise<Health> {
    const response = await fetch(`${on.entry.base_url}/health`, {
      headers: { "X-API-Key": on.stack.file.api_key },
    });
    return (await response.json()) as Health;
  }

  async function depositFor(seed: Uint8Array): Promise<void> {
    const wallet = await on.wallet({ seed });
    await wallet.deposit(usd(30) + FLAT, await on.depositor(usd(30) + FLAT));
    await wallet.close();
  }

  const now = ({ ticket_id }: Ticket): Promise<Ticket> => on.client.ticket(ticket_id);

  const finalized = (ticket: Ticket): Promise<Ticket> =>
    until("the ticket to become final", async () => {
      const seen = await now(ticket);
      assert.ok(seen.state !== "failed" && seen.state !== "expired", seen.state);
      // In a block: nothing is learned from waiting for the next ones.
      if (seen.state === "confirmed") await on.mine();
      return seen.state === "finalized" && seen;
    });

  /** Who signed each member and each root update that was handed to the pool; and the kinds of the members. */
  async function handedToPool() {
    const { pool: address, chain_rpc, deployment_block: fromBlock, chain_id } = on.entry;
    const home = { chainId: BigInt(chain_id), pool: asAddress(address)! };
    const keyHashes = await committedKeyHashes();
    const node = connectNode(chain_rpc);
    const logs = await node.logs(home.pool, fromBlock, await on.chain.getBlockNumber());
    const members: Recovered[] = [];
    const updates: Recovered[] = [];
    const kinds = new Set<Kind | undefined>();
    for (const hash of new Set(logs.map(({ txHash }) => txHash))) {
      const handed = await handedTo(home.pool, (await node.transaction(hash))!, node);
      if (typeof handed === "string") throw new Error(handed);
      for (const each of handed) {
        (each.type === "member" ? members : updates).push(signersOf({ home, keyHashes }, each));
        if (each.type === "member") kinds.add(kindById(each.kindId));
      }
    }
    return { members, updates, kinds };
  }

  const gasWallet = async (): Promise<unknown> => {
    const sender = await on.sender();
    return [await on.chain.getBalance(sender), await on.chain.getTransactionCount(sender)];
  };

  it("has two enclaves with a key each, and says so", async () => {
    const { enclave_signers: signers, threshold } = on.entry;
    assert.deepEqual([threshold, new Set(signers).size], [2, 2]);
    assert.equal(await pool.getFunction("threshold")(), 2n);
    const info: Info = await on.client.info();
    assert.equal(info.threshold, 2);
    assert.deepEqual(
      info.enclaves.map(({ signer, accepted }) => [signer, accepted]),
      signers.map((signer) => [signer, true]),
    );
    assert.equal((await health()).status, "ok");
  });

  it("has them run the two programs, each with its own image, KMS key and kind in the pool", async () => {
    const [first, second] = [
      await developmentImage(),
      await developmentImage(undefined, undefined, "second"),
    ];
    assert.notEqual(imageOf(first.measurement), imageOf(second.measurement));
    assert.notEqual(first.configuration.kmsKeyHash, second.configuration.kmsKeyHash);
    const { entry } = on;
    assert.deepEqual(entry.enclave.measurement, first.measurement);
    assert.deepEqual(entry.second_enclave?.measurement, second.measurement);
    for (const [i, { measurement, configuration }] of [first, second].entries()) {
      const link = createLink({
        path: String(on.local.enclave(i).ready["vsockPath"]),
        port: ENCLAVE_PORT,
      });
      const nonce = new Uint8Array(32).fill(i);
      const reply = await link.ask({ type: "attestation", nonce });
      link.close();
      assert.ok(reply.type === "attestation");
      const roots = [configuration.attestationRoot];
      const policy = { roots, at: Date.now(), measurements: [measurement], nonce, type: "live" } as const;
      const read = verifyAttestation(reply.document, policy);
      assert.ok(typeof read !== "string");
      assert.equal(read.claims?.configurationHash, configuration.hash);
      const known = (await readSigners(on.chain, asAddress(entry.pool.toLowerCase())!)).find(
        ({ signer }) => signer === entry.enclave_signers[i]!.toLowerCase(),
      );
      assert.deepEqual([known?.standing, known?.image], ["admitted", imageOf(measurement)]);
      const images = await readImages(on.chain, asAddress(entry.pool.toLowerCase())!);
      assert.equal(images.find(({ image }) => image === imageOf(measurement))?.kind, i + 1);
    }
  });

  it("is what the auditor finds, and not what one finds who expects another second image", async () => {
    const whole = await audited("--folder", on.stack.folder.path);
    assert.equal(whole.code, 0, JSON.stringify(whole.findings));
    assert.deepEqual(whole.about(/run an audited image, now/), [true]);
    assert.deepEqual(whole.about(/has the audited configuration of its image/), [true, true]);
    assert.deepEqual(whole.about(/was registered by a document of an audited image/), [true, true]);
    assert.deepEqual(whole.about(/, admitted, is an audited image/), [true, true]);

    // With the first's configuration: its key is not the second's, and a document of the second image names another one.
    const images = await Promise.all(
      PROGRAM_NAMES.map((program) => developmentImage(undefined, undefined, program)),
    );
    const { configuration } = images[0]!;
    const at = {
      ...{ baseUrl: on.entry.base_url, apiKey: on.stack.file.api_key },
      ...{ rpc: on.entry.chain_rpc, fromBlock: on.entry.deployment_block },
    };
    const found = await auditService(
      at,
      images.map((image) => ({ ...image, configuration })),
    );
    const about = (words: RegExp) =>
      found.filter(({ what }) => words.test(what)).map(({ ok, detail }) => [ok, detail]);
    assert.deepEqual(about(/run an audited image, now/), [[true, ""]]);
    const [good, bad] = [
      [true, ""],
      [false, "CONFIGURATION_MISMATCH"],
    ];
    assert.deepEqual(about(/has the audited configuration of its image/), [good, bad]);
    assert.deepEqual(about(/was registered by a document of an audited image/), [good, bad]);
    // One of the two alone is known to the auditor.
    const alone = await auditService(at, images.slice(0, 1));
    assert.ok(alone.some(({ what, ok }) => /run the audited image, now/.test(what) && !ok));
  });

  it("deposits, pays, swaps and withdraws, to the last unit", async () => {
    const trader = await walletWith(100);
    await trader.pay(payee.address, usd(30));
    const path = venue.path(venue.usdc, ETHER_TIER, venue.weth);
    const quoted = await venue.quote(path, SWAPPED - SWAP_FEE);
    const order = { tokenIn: venue.usdc, tokenOut: venue.weth, amount: SWAPPED, floor: quoted, path };
    assert.equal((await trader.swap(order)).received, quoted);
    // Sent by its owner's account, with what /attest gave.
    const account = await on.depositor(usd(7));
    await on.chain.send("anvil_setBalance", [account.address, toBeHex(parseEther("1"))]);
    await payee.depositPlain(usd(7), account);
    await payee.withdraw(PUBLIC, usd(10));

    assert.equal(trader.balance(venue.usdc).total, usd(100 - 30) - SWAPPED - FLAT);
    assert.equal(trader.balance(venue.weth).total, quoted);
    assert.equal(payee.balance(venue.usdc).total, usd(30 + 7 - 10) - 2n * FLAT);
    assert.equal(await on.usdc.balanceOf(PUBLIC), usd(10));
  });

  it("takes nothing while one enclave is lost, goes on with what it had taken, and is whole when it is back", async () => {
    const seed = newSeed();
    const refusedPayer = await on.wallet({ seed, through: capturing(on.client) });
    // One after the other: one account mints for all three, and two at once may take one nonce.
    const [first, second] = [await walletWith(30), await walletWith(30)];
    await depositFor(seed);
    await payee.sync();
    const before = payee.balance(venue.usdc).total;
    const body = await capture<SpendBody>(refusedPayer, (wallet) => wallet.pay(payee.address, usd(5)));
    await until("a root over all leaves", async () => (await unrooted()) === 0);

    // One under way with its root update, and one behind it, both attested; then the enclave ends.
    await on.setMining(false);
    const taken = [await first.pay(payee.address, usd(20), { until: "queued" })];
    await until("it to be sent", async () => (await now(taken[0]!.ticket)).state === "submitted");
    taken.push(await second.pay(payee.address, usd(10), { until: "queued" }));
    await on.local.enclave(1).kill();

    const wallet = await gasWallet();
    const refused = await post(body);
    assert.deepEqual([refused.status, (refused.answer as Problem).code], [503, "ENCLAVE_UNAVAILABLE"]);
    const { checks } = await health();
    assert.equal(checks?.enclave.state, "down");
    assert.match(checks.enclave.detail ?? "", /^1 of 2 serve, 2 needed/);
    // With a nonce: without one the service may show what it had learnt up to ten seconds before.
    const { enclaves, threshold } = await on.client.info({ nonce: `0x${"5a".repeat(32)}` });
    assert.deepEqual([enclaves.length, threshold], [1, 2]);
    assert.deepEqual(await gasWallet(), wallet, "a refusal costs nothing");

    // The second goes without a root, since one signature is too few for it; its leaves wait.
    await mineAtOnce();
    await on.mine();
    for (const { ticket } of taken) await finalized(ticket);
    assert.equal(await unrooted(), KINDS.spend.leaves);
    const sent = await gasWallet();
    assert.deepEqual([refused.status, (await post(body)).status], [503, 503]);

    await on.local.restartEnclave(1);
    await until("a root over all leaves", async () => (await unrooted()) === 0);
    assert.notDeepEqual(await gasWallet(), sent, "the update goes alone");
    const again = await until("it to be taken", async () => {
      const { status, answer } = await post(body);
      return status === 202 && (answer as Ticket);
    });
    await finalized(again);
    for (const { statement } of [...taken.map(({ ticket }) => ticket), again])
      assert.equal((await on.executions(statement)).length, 1);
    await payee.sync();
    assert.equal(payee.balance(venue.usdc).total - before, usd(20 + 10 + 5));
    assert.equal((await health()).status, "ok");
  });

  it("was given two attestations by distinct signers for each member and each root, and the watcher finds nothing", async () => {
    await until("a root over all leaves", async () => (await unrooted()) === 0);
    const signers = on.entry.enclave_signers.map((signer) => signer.toLowerCase()).toSorted();
    const { members, updates, kinds } = await handedToPool();
    assert.ok(members.length === 11 && updates.length >= 5, `${members.length}, ${updates.length}`);
    for (const signed of [...members, ...updates]) assert.deepEqual(signed.toSorted(), signers);
    assert.deepEqual(kinds, new Set(["deposit-shield", "spend", "private-swap"]));

    const folder = on.stack.folder.path;
    const args = ["scripts/build/run.mjs", "scripts/watch/main.ts", "--once", "--json"];
    const watch = spawn(process.execPath, [...args, "--stack", folder, "--network", "second"], {
      cwd: PROJECT_ROOT,
    });
    let said = "";
    for (const stream of [watch.stdout, watch.stderr])
      stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(watch, "close")) as [number];
    assert.equal(code, 0, said);
    assert.match(said, new RegExp(`"statements":${String(members.length)}\\b`));
  });

  it("is resumed as it was made, and with no other threshold", async () => {
    const { folder } = on.stack;
    const { enclave_signers: signers } = on.entry;
    await on.stack.stop();
    const options = { folder: folder.path, networks: ["second"], ports: { second: FREE_PORTS } } as const;
    await assert.rejects(
      startStack({ ...options, size: { threshold: 1 } }),
      (error: unknown) => error instanceof StackError && /asks for 2 attestations/.test(error.message),
    );
    const again = await startStack(options);
    try {
      const { entry } = again.network("second");
      assert.deepEqual([entry.threshold, entry.enclave_signers], [2, signers]);
      const client = createClient({ baseUrl: entry.base_url, credential: { apiKey: again.file.api_key } });
      assert.equal((await client.health()).status, "ok");
    } finally {
      await again.stop();
    }
  });
});
