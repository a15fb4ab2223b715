/**
 * P10. The whole service as an operator runs it, and a caller with a good API key and bad intentions. What it
 * bends is refused by its own code, leaves no ticket and no reservation, and costs the service no gas; and the
 * proxy's end loses nothing of what it once attested (P7, against the real proxy).
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, HDNodeWallet, Interface, JsonRpcProvider, Wallet as ChainWallet } from "ethers";
import { startStack, type Stack } from "../../scripts/stack/local-stack.ts";
import { PATIENCE_MS } from "../../scripts/base/poll.ts";
import { ROOMY_KEYS } from "../../scripts/stack/proxy-settings.ts";
import type { DepositBody, RelayBody, SpendBody } from "../../shared/api/transactions.ts";
import { ClientError, createClient, createWallet, memoryStorage } from "../../shared/client/index.ts";
import type { Client, Pins, Prover, Wallet } from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { POOL_ABI, TOKEN_ABI } from "../../shared/contracts/abi.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { FIELD_ORDER } from "../../shared/protocol/brands.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { contextOf } from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";
import { until } from "../support/until.ts";
import {
  flipped,
  freshAddress,
  freshKeys,
  mustAddress,
  poolEvents,
  positionOf,
  restoreFrom,
} from "../support/adversary.ts";
import { readSealed } from "../support/sealed-notes.ts";

const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;
const POOL_EXECUTED = new Interface(POOL_ABI).getEvent("Executed")!.topicHash;
const AMOUNT = positionOf("spend", "amountOut");
const FEE = 50_000n;

describe("P10 a hostile caller of the real service", function () {
  let folder: string;
  let stack: Stack;
  let provider: JsonRpcProvider;
  let pool: Contract;
  let usdc: Contract;
  let client: Client;
  let prover: Prover;
  let wallet: Wallet;
  let sender: string;
  let depositor: HDNodeWallet;
  const seed = new Uint8Array(32).fill(10);
  const recipient = freshAddress();
  /** A valid withdrawal of 12.5 as the wallet would send it, kept back. */
  let spend: SpendBody;
  /** Another payment of the same note, kept back. */
  let rival: SpendBody;
  /** A valid deposit, kept back. */
  let deposit: DepositBody;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-caller-"));
    stack = await startStack({
      folder,
      networks: ["first"],
      ports: { first: { proxy: 0, chain: 0 } },
      proxySettings: ROOMY_KEYS,
    });
    const first = stack.network("first").entry;
    provider = new JsonRpcProvider(first.chain_rpc, first.chain_id, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 100,
    });
    pool = new Contract(first.pool, POOL_ABI, provider);
    const faucet = ["function mint(address,uint256)"];
    depositor = HDNodeWallet.createRandom();
    const rich = await provider.getSigner(0);
    await (
      (await new Contract(first.usdc, faucet, rich).getFunction("mint")(depositor.address, 200_000_000n)) as {
        wait(): Promise<unknown>;
      }
    ).wait();
    usdc = new Contract(first.usdc, TOKEN_ABI, provider);
    sender = new ChainWallet(await stack.network("first").folder.secrets.text("sender.key")).address;
    client = createClient({ baseUrl: first.base_url, credential: { apiKey: stack.file.api_key }, tries: 1 });
    prover = await developmentProver();
    wallet = await open(client);
    await wallet.deposit(100_000_000n, depositor);
    await wallet.sync();
    spend = await captured((caught) => caught.withdraw(recipient, 12_500_000n));
    rival = await captured((caught) => caught.withdraw(recipient, 12_600_000n));
    deposit = await captured((caught) => caught.deposit(20_000_000n, depositor));
  });
  after(async () => {
    await prover.close();
    provider.destroy();
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function open(through: Client): Promise<Wallet> {
    const first = stack.network("first").entry;
    const ceiling = { flat: FEE, bps: 0 };
    const pins: Pins = {
      ...{ chainId: first.chain_id, pool: first.pool, addressPrefix: first.address_prefix },
      enclaves: {
        measurements: [first.enclave.measurement],
        roots: [first.enclave.attestation_root],
      },
      assets: [first.usdc],
      ...{
        feeCeiling: { deposit: ceiling, transfer: ceiling, withdraw: ceiling },
        feeSinks: [first.service_address],
      },
    };
    return createWallet({
      key: { seed },
      client: through,
      storage: memoryStorage(),
      prover,
      pins,
      changeTimeoutMs: PATIENCE_MS,
    });
  }

  /** What a wallet would have sent, taken from its hand. */
  async function captured<T extends SpendBody | DepositBody>(
    work: (caught: Wallet) => Promise<unknown>,
  ): Promise<T> {
    let body: unknown;
    const keep = (sent: unknown): Promise<never> => {
      body = sent;
      return Promise.reject(new ClientError("PROOF_FAILED", "kept back"));
    };
    const caught = await open({ ...client, sequenceSpend: keep, sequenceDeposit: keep });
    await caught.sync();
    await assert.rejects(work(caught), refusal("PROOF_FAILED"));
    return body as T;
  }

  const cost = async (): Promise<unknown> => ({
    nonce: await provider.getTransactionCount(sender, "pending"),
    coins: await provider.getBalance(sender),
    leaves: (await pool.getFunction("queue")())[0] as bigint,
    pool: (await usdc.getFunction("balanceOf")(await pool.getAddress())) as bigint,
  });

  /** Refused on every way in, with the service as it was. */
  async function refuses(code: string, body: SpendBody): Promise<void> {
    const before = await cost();
    await assert.rejects(client.sequenceSpend(body), refusal(code));
    await assert.rejects(client.attestSpend(body), refusal(code));
    assert.deepEqual(await cost(), before);
  }

  const withSignals = (change: (signals: string[]) => string[]): SpendBody => ({
    ...spend,
    public_signals: change([...spend.public_signals]),
  });
  /** The context that the changed terms would need. */
  function refitted(ext: SpendBody["ext"]): SpendBody {
    const first = stack.network("first").entry;
    const home = { chainId: BigInt(first.chain_id), pool: mustAddress(first.pool) };
    const bytes = encodeExt({
      kind: "spend",
      recipient: mustAddress(ext.recipient),
      ...readSealed(ext),
    });
    const context = contextOf(home, "spend", BigInt(spend.deadline), bytes);
    return { ...spend, ext, public_signals: spend.public_signals.with(0, String(context)) };
  }

  it("P10 a changed proof: one digit, another's, its points swapped", async () => {
    const { pi_a, pi_c } = spend.proof;
    const bent = { ...spend.proof, pi_a: [String(BigInt(pi_a[0]) ^ 1n), pi_a[1], pi_a[2]] as typeof pi_a };
    await refuses("PROOF_INVALID", { ...spend, proof: bent });
    await refuses("PROOF_INVALID", { ...spend, proof: deposit.proof });
    await refuses("PROOF_INVALID", { ...spend, proof: { ...spend.proof, pi_a: pi_c, pi_c: pi_a } });
  });

  it("P10 a changed recipient, ciphertext or deadline, with the old context and with one made to fit", async () => {
    const [first, ...others] = spend.ext.ciphertexts;
    const ciphertext = `0x${Buffer.from(flipped(mustFromHex(first!), 30)).toString("hex")}`;
    for (const ext of [
      { ...spend.ext, recipient: freshAddress() },
      { ...spend.ext, ciphertexts: [ciphertext, ...others] },
      { ...spend.ext, ephemeral_key: `0x${"09".repeat(32)}` },
    ]) {
      await refuses("CONTEXT_MISMATCH", { ...spend, ext });
      await refuses("PROOF_INVALID", refitted(ext));
    }
    await refuses("CONTEXT_MISMATCH", { ...spend, deadline: spend.deadline + 1 });
  });

  it("P10 a changed amount, nullifier or commitment", async () => {
    await refuses(
      "PROOF_INVALID",
      withSignals((signals) => signals.with(AMOUNT, "13000000")),
    );
    await refuses(
      "PROOF_INVALID",
      withSignals((signals) => signals.with(positionOf("spend", "nullifiers"), "7")),
    );
    await refuses(
      "PROOF_INVALID",
      withSignals((signals) => signals.with(positionOf("spend", "commitments"), "7")),
    );
  });

  it("P10 signals spelled otherwise, a root that the pool never had, the pool itself as the recipient", async () => {
    const at = positionOf("spend", "nullifiers");
    await refuses(
      "INVALID_REQUEST",
      withSignals((signals) => signals.with(at, String(BigInt(signals[at]!) + FIELD_ORDER))),
    );
    await refuses(
      "INVALID_REQUEST",
      withSignals((signals) => signals.with(at, `0${signals[at]!}`)),
    );
    await refuses(
      "INVALID_REQUEST",
      withSignals((signals) => signals.with(at + 1, signals[at]!)),
    );
    await refuses(
      "ROOT_UNKNOWN",
      withSignals((signals) => signals.with(positionOf("spend", "root"), "7")),
    );
    await refuses(
      "INVALID_REQUEST",
      refitted({ ...spend.ext, recipient: stack.network("first").entry.pool }),
    );
  });

  it("P10 a fee that was not paid, opened to another sink's note, or claimed to be more", async () => {
    const [fee] = spend.fees;
    await refuses("FEE_MISSING", { ...spend, fees: [] });
    for (const lie of [{ value: "60000" }, { output: 0 }, { blinding: `0x${"01".padStart(64, "0")}` }]) {
      const before = await cost();
      const attempt = client.sequenceSpend({ ...spend, fees: [{ ...fee!, ...lie }] });
      await assert.rejects(
        attempt,
        (error: unknown) => refusal("FEE_MISSING")(error) || refusal("FEE_TOO_LOW")(error),
      );
      assert.deepEqual(await cost(), before);
    }
  });

  it("P10 an authorization for another statement", async () => {
    const other: DepositBody = await captured((caught) => caught.deposit(20_000_000n, depositor));
    const before = await cost();
    const attempt = client.sequenceDeposit({ ...deposit, authorization: other.authorization });
    await assert.rejects(attempt, refusal("AUTHORIZATION_INVALID"));
    assert.deepEqual(await cost(), before);
  });

  it("P10 a relayed attestation by a stranger, or the enclave's own over something else", async () => {
    const stranger = ChainWallet.createRandom();
    const { attestations } = await client.attestDeposit(deposit);
    const forged = [
      { signer: stranger.address, signature: stranger.signingKey.sign(`0x${"11".repeat(32)}`).serialized },
    ];
    const claimed = [
      { signer: stack.network("first").entry.enclave_signers[0]!, signature: forged[0]!.signature },
    ];
    for (const lie of [forged, claimed, attestations]) {
      const before = await cost();
      const body: RelayBody = { kind: "spend", ...spend, attestations: lie };
      await assert.rejects(client.relay(body), refusal("ATTESTATION_INVALID"));
      assert.deepEqual(await cost(), before);
    }
  });

  it("P7 killed, the proxy takes nothing along: anybody carries what it attested, and the wallet comes back from the chain", async () => {
    // Nothing above left a reservation: the honest payment is still attested.
    const { transaction } = await client.attestSpend(spend);
    await stack.network("first").proxy().kill();
    const stranger = ChainWallet.createRandom().connect(provider);
    await provider.send("anvil_setBalance", [stranger.address, "0xde0b6b3a7640000"]);
    await (await stranger.sendTransaction({ to: transaction.to, data: transaction.data })).wait();
    assert.equal(await usdc.getFunction("balanceOf")(recipient), 12_500_000n);
    const events = await poolEvents(provider, pool);
    const restored = restoreFrom(SpendingKey.fromSeed(seed), events);
    // 100 less the deposit's fee, less 12.5 and the withdrawal's fee.
    assert.equal(restored.balance, 100_000_000n - FEE - 12_500_000n - FEE);
    assert.equal(restoreFrom(freshKeys(), events).balance, 0n);
  });

  it("P2 started again, the proxy knows that the note is spent, and accepts no second payment of it", async () => {
    await stack.network("first").restartProxy();
    // The stranger's call brought no root update, so the proxy owes one: its own gas, not this refusal's.
    await until("the stranger's leaves to be rooted", async () => {
      const root = await client.merkleRoot().catch(() => undefined);
      return root?.pending === 0 && root.leaf_count === 7;
    });
    const before = await cost();
    await assert.rejects(client.sequenceSpend(rival), refusal("NULLIFIER_SPENT"));
    // The very payment that the stranger carried is answered with its outcome.
    const { statement, state, tx_hash } = await client.sequenceSpend(spend);
    assert.ok(state === "confirmed" || state === "finalized", state);
    const [executed] = await provider.getLogs({
      address: await pool.getAddress(),
      topics: [POOL_EXECUTED, statement],
      fromBlock: 0,
    });
    assert.equal(tx_hash, executed?.transactionHash);
    assert.deepEqual(await cost(), before);
  });
});
