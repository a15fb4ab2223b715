/**
 * What all scenarios of a run begin with: a real chain with the pool on it, a real enclave, wallets with notes, and
 * transactions that the client library made with real proofs and nobody sent. Made once; `reset` brings the chain back
 * to this moment. Blocks come only when a scenario makes them.
 */
import { cp } from "node:fs/promises";
import { JsonRpcProvider, Wallet as EthereumWallet } from "ethers";
import { SERVICE_WALLET_SECRET } from "../../../scripts/stack/local-network.ts";
import { localProxySettings } from "../../../scripts/stack/proxy-settings.ts";
import type { NetworkEntry } from "../../../scripts/base/stack-file.ts";
import { pepperFile } from "../../../scripts/stack/development-credential.ts";
import type { DepositBody, SpendBody } from "../../../shared/api/transactions.ts";
import { executeCall } from "../../../shared/client/statements/execute-call.ts";
import { newSeed, type Client, type Wallet } from "../../../shared/client/index.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { capture, capturing } from "../../support/captured.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";
import { toTransaction } from "../../../proxy/api/payments/transaction.ts";
import { giveCoins } from "../../../scripts/stand-ins/local-chain.ts";
import { admitThieves, forge, prove, type Forgery, type Proved } from "./alone.ts";
import type { Effects } from "./observations.ts";

export type { Forgery } from "./alone.ts";

const UNIT = 1_000_000n;
/** The attested path is closed for so long after a refutation, which no deadline here passes in. */
const CHANGE_DELAY_SECS = 600;
const PROVED_DELAY_SECS = 60;
/** The deadlines of what is signed for after a pause of three days lie so much later. */
const AFTER_PAUSE_SECS = 70 * 3_600;
const COINS = 10n ** 22n;
const DEADLINE_SECS = 23 * 3_600;
/** Empty blocks above the world's transactions; a scenario takes back none but its own (`ChainMoves`). */
const REST_BLOCKS = 3;
export const CONFIRMATIONS = 7;

/** A transaction that a client made and nobody sent. */
export interface Prebuilt {
  readonly name: string;
  readonly path: "/sequence/deposit-shield" | "/sequence/spend";
  readonly body: DepositBody | SpendBody;
  readonly statement: string;
  /** Others that spend the same note: one of them can win. */
  readonly rivals: readonly string[];
  readonly effects: Effects;
  /** Calldata of a call with this transaction alone, which anybody may send. */
  readonly call: string;
}

/** What of it is plain data. */
export interface WorldFacts {
  readonly entry: NetworkEntry;
  readonly apiKey: string;
  /** Of the stack whose secrets the proxies use. */
  readonly stackFolder: string;
  /** For the proxy to carry. */
  readonly prebuilt: readonly Prebuilt[];
  /** For the proxy, too, when a pause is over: its deadlines lie too far ahead before. */
  readonly late: readonly Prebuilt[];
  /** Deposits that a stranger sends to the pool himself. */
  readonly foreign: readonly Prebuilt[];
  /** Some are rivals of what the proxy carries. */
  readonly proved: readonly Proved[];
  readonly forgeries: readonly Forgery[];
  /** Seeds by name; together they own every note. */
  readonly wallets: ReadonlyMap<string, Uint8Array>;
  /** Public accounts whose dollars are counted, by name. */
  readonly accounts: ReadonlyMap<string, string>;
  readonly stranger: string;
  readonly guardian: string;
  /** Who sends what is proved. */
  readonly lone: string;
  readonly sender: string;
  /** Of a proxy on the embedded store, without where its data and relays are. */
  readonly settings: Readonly<Record<string, string>>;
  /** Of each enclave. */
  readonly vsockPaths: readonly string[];
  /** The proxy's data folder as it is at the snapshot. */
  readonly template: string;
  /** For what scenarios leave behind. */
  readonly folder: string;
  /** Block of the snapshot. */
  readonly height: number;
  /** When it is older, its transactions are near their deadline. Milliseconds since 1970. */
  readonly goodUntil: number;
}

export interface World extends WorldFacts {
  /** The chain as it is at the snapshot. */
  reset(): Promise<void>;
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
  stop(): Promise<void>;
}

const DEPOSITS = 7;
const PAYMENTS = 3;
const WITHDRAWALS = 2;
/** Pairs that spend the same note. */
const RIVALRIES = 2;
const FOREIGN = 8;
/** Payers whose notes nobody but they spend. */
const ALONE = 2;
const LATE = 2;
const FORGERIES = 2;
const RECIPIENTS = 3;

/** `threshold`: of how many enclaves, one of each kind in turn, the pool asks for an attestation. */
export async function makeWorld(
  say: (text: string) => void,
  { threshold = 1 }: { readonly threshold?: number } = {},
): Promise<World> {
  const guardian = EthereumWallet.createRandom().address.toLowerCase() as Address;
  const on = await startTestStack({
    threshold,
    poolTerms: { changeDelay: CHANGE_DELAY_SECS, provedDelay: PROVED_DELAY_SECS, guardian },
  });
  try {
    const facts = await fill(on, guardian, say);
    return openWorld(facts, { stop: () => on.stop() });
  } catch (error) {
    await on.stop();
    throw error;
  }
}

/** The chain's first block of its own has the fee of a chain that is at rest. */
export async function calmFees(rpc: World["rpc"]): Promise<void> {
  await rpc("anvil_setNextBlockBaseFeePerGas", ["0x3b9aca00"]);
}

/** `renew`: puts a new chain where this one is, which stands as the world's does. */
export function openWorld(
  facts: WorldFacts,
  {
    stop = () => Promise.resolve(),
    renew = () => Promise.reject(new Error("this world's chain is played on by nobody")),
  }: { readonly stop?: () => Promise<void>; readonly renew?: () => Promise<void> } = {},
): World {
  const { chain_rpc, chain_id } = facts.entry;
  const chain = new JsonRpcProvider(chain_rpc, chain_id, { staticNetwork: true, cacheTimeout: -1 });
  const rpc = (method: string, params: readonly unknown[] = []): Promise<unknown> =>
    chain.send(method, [...params]) as Promise<unknown>;
  return {
    ...facts,
    rpc,
    async reset() {
      await renew();
      await calmFees(rpc);
    },
    async stop() {
      chain.destroy();
      await stop();
    },
  };
}

async function fill(on: TestStack, guardian: string, say: (text: string) => void): Promise<WorldFacts> {
  const { chain, entry, local } = on;
  const wallets = new Map<string, Uint8Array>();
  const accounts = new Map<string, string>();
  const seedOf = (name: string): Uint8Array => {
    const seed = wallets.get(name) ?? newSeed();
    wallets.set(name, seed);
    return seed;
  };
  const open = (name: string): Promise<Wallet> =>
    on.wallet({ seed: seedOf(name), through: capturing(on.client) });
  const terms = { deadlineSecs: DEADLINE_SECS };
  const ALONE_TERMS = { ...terms, until: "sent" } as const;
  wallets.set("service", mustFromHex(await local.folder.secrets.text(SERVICE_WALLET_SECRET)));

  const feeOf = (body: DepositBody | SpendBody): bigint =>
    body.fees.reduce((sum, { value }) => sum + BigInt(value), 0n);

  /** Too far ahead for the service to attest it now. */
  const openLater = (name: string): Promise<Wallet> => {
    // A wallet compares its clock with the enclave's, and asks for its fees when that is done.
    let aheadSecs = 0;
    const client: Client = {
      ...capturing(on.client),
      whoami(options) {
        aheadSecs = AFTER_PAUSE_SECS;
        return on.client.whoami(options);
      },
    };
    const now = (): number => Math.floor(Date.now() / 1_000) + aheadSecs;
    return on.wallet({ seed: seedOf(name), through: client, now });
  };
  const home = { chainId: BigInt(entry.chain_id), pool: asAddress(entry.pool)! };
  const unattested = (body: DepositBody): Pick<Prebuilt, "statement" | "call"> => {
    const { statement, proof } = toTransaction({ kind: "deposit-shield", ...body }, home);
    return { statement: statement.hash, call: executeCall(statement, proof, [])! };
  };

  async function deposit(name: string, owner: string, amount: bigint, isLate = false): Promise<Prebuilt> {
    const wallet = await (isLate ? openLater(owner) : open(owner));
    const depositor = await on.depositor(amount);
    accounts.set(name, depositor.address);
    const body = await capture<DepositBody>(wallet, () => wallet.deposit(amount, depositor, terms));
    const { statement, call } = isLate ? unattested(body) : await attestedDeposit(body);
    const fee = feeOf(body);
    return {
      name,
      path: "/sequence/deposit-shield",
      body,
      statement,
      rivals: [],
      effects: {
        pool: amount,
        accounts: { [name]: -amount },
        wallets: { [owner]: amount - fee, service: fee },
      },
      call,
    };
  }

  async function attestedDeposit(body: DepositBody): Promise<Pick<Prebuilt, "statement" | "call">> {
    const { statement, transaction } = await on.client.attestDeposit(body);
    return { statement, call: transaction.data };
  }

  async function spend(
    name: string,
    payer: string,
    amount: bigint,
    to: { readonly wallet: string } | { readonly account: string },
    rivals: readonly string[] = [],
  ): Promise<Prebuilt> {
    const wallet = await open(payer);
    await wallet.sync();
    let effects: Effects;
    let body: SpendBody;
    if ("wallet" in to) {
      const address = (await open(to.wallet)).address;
      body = await capture<SpendBody>(wallet, () => wallet.pay(address, amount, terms));
      effects = { pool: 0n, accounts: {}, wallets: { [to.wallet]: amount } };
    } else {
      const account = EthereumWallet.createRandom().address;
      accounts.set(to.account, account);
      body = await capture<SpendBody>(wallet, () => wallet.withdraw(account, amount, terms));
      effects = { pool: -amount, accounts: { [to.account]: amount }, wallets: {} };
    }
    const fee = feeOf(body);
    const { statement, transaction } = await on.client.attestSpend(body);
    effects = { ...effects, wallets: { ...effects.wallets, [payer]: -(amount + fee), service: fee } };
    return { name, path: "/sequence/spend", body, statement, rivals, effects, call: transaction.data };
  }

  const payers = Array.from(
    { length: PAYMENTS + WITHDRAWALS + RIVALRIES + ALONE },
    (_, i) => `payer ${String(i + 1)}`,
  );
  say(`notes for ${String(payers.length)} payers`);
  const funding: Prebuilt[] = [];
  for (const payer of payers) funding.push(await deposit(`fund ${payer}`, payer, 20n * UNIT));
  await admitThieves(on, CHANGE_DELAY_SECS);
  const tickets = [];
  for (const { body } of funding) tickets.push(await on.client.sequenceDeposit(body as DepositBody));
  for (const { ticket_id } of tickets)
    await until(
      "a payer's note to be final",
      async () => (await on.client.ticket(ticket_id)).state === "finalized",
    );

  say("transactions with proofs");
  const recipient = (i: number): string => `recipient ${String((i % RECIPIENTS) + 1)}`;
  const prebuilt: Prebuilt[] = [];
  for (let i = 0; i < DEPOSITS; i++)
    prebuilt.push(await deposit(`deposit ${String(i + 1)}`, recipient(i), (10n + BigInt(i)) * UNIT));
  const rest = [...payers];
  for (let i = 0; i < PAYMENTS; i++)
    prebuilt.push(
      await spend(`payment ${String(i + 1)}`, rest.shift()!, (5n + BigInt(i)) * UNIT, {
        wallet: recipient(i),
      }),
    );
  for (let i = 0; i < WITHDRAWALS; i++) {
    const account = `withdrawn ${String(i + 1)}`;
    prebuilt.push(
      await spend(`withdrawal ${String(i + 1)}`, rest.shift()!, (3n + BigInt(i)) * UNIT, { account }),
    );
  }
  for (let i = 0; i < RIVALRIES; i++) {
    const [one, two] = [`rival ${String(i + 1)}a`, `rival ${String(i + 1)}b`] as const;
    const payer = rest.shift()!;
    prebuilt.push(await spend(one, payer, 7n * UNIT, { wallet: recipient(i) }, [two]));
    prebuilt.push(await spend(two, payer, 8n * UNIT, { account: `withdrawn by ${two}` }, [one]));
  }
  say("a stranger's deposits");
  const foreign: Prebuilt[] = [];
  for (let i = 0; i < FOREIGN; i++)
    foreign.push(await deposit(`foreign ${String(i + 1)}`, recipient(i), (30n + BigInt(i)) * UNIT));

  const late: Prebuilt[] = [];
  for (let i = 0; i < LATE; i++)
    late.push(await deposit(`late ${String(i + 1)}`, recipient(i), (50n + BigInt(i)) * UNIT, true));

  say("what is proved and forged");
  await on.passTime(PROVED_DELAY_SECS);
  const lone = await on.depositor(1_000n * UNIT);
  accounts.set("lone", lone.address);
  await giveCoins(chain, lone.address, COINS);
  await giveCoins(chain, guardian, COINS);
  const proved: Proved[] = [];
  for (const [payer, rivals] of [
    [rest.shift()!, []],
    [payers[0]!, ["payment 1"]],
    [payers[PAYMENTS + WITHDRAWALS]!, ["rival 1a", "rival 1b"]],
  ] as const) {
    const to = recipient(proved.length);
    const name = `proved by ${payer}`;
    const amount = 6n * UNIT;
    const { address } = await open(to);
    const made = await prove(on, seedOf(payer), lone, (alone) => alone.pay(address, amount, ALONE_TERMS));
    const moved = { pool: 0n, accounts: {}, wallets: { [to]: amount, [payer]: -amount } };
    proved.push({ ...{ name, rivals, effects: moved, proved: "transfer" }, ...made });
  }
  for (const [payer, rivals] of [
    [rest.shift()!, []],
    [payers[PAYMENTS]!, ["withdrawal 1"]],
  ] as const) {
    const account = EthereumWallet.createRandom().address;
    const name = `proved by ${payer}`;
    const amount = 4n * UNIT;
    accounts.set(name, account);
    const made = await prove(on, seedOf(payer), lone, (alone) =>
      alone.withdraw(account, amount, ALONE_TERMS),
    );
    const moved = { pool: -amount, accounts: { [name]: amount }, wallets: { [payer]: -amount } };
    proved.push({ ...{ name, rivals, effects: moved, proved: "withdrawal" }, ...made });
  }
  {
    const [name, owner, amount] = ["proved deposit", recipient(0), 11n * UNIT] as const;
    const made = await prove(on, seedOf(owner), lone, (alone) => alone.deposit(amount, ALONE_TERMS));
    const moved = { pool: amount, accounts: { lone: -amount }, wallets: { [owner]: amount } };
    proved.push({ ...{ name, rivals: [], effects: moved, proved: "deposit" }, ...made });
  }
  const forgeries: Forgery[] = [];
  const deadline = Math.floor(Date.now() / 1_000) + DEADLINE_SECS;
  for (let i = 0; i < FORGERIES; i++)
    forgeries.push(await forge(on, `forgery ${String(i + 1)}`, (await open(recipient(i))).address, deadline));

  await on.setMining(false);
  await on.mine(REST_BLOCKS);
  const height = await chain.getBlockNumber();
  await until("the index to be there", async () => (await on.client.merkleRoot()).block_number === height);
  const { folder } = local;
  await local.proxy().stop();
  await chain.send("anvil_setIntervalMining", [0]).catch(() => undefined);
  const template = folder.inside("template");
  await cp(folder.inside("store"), template, { recursive: true });

  const deployment = await folder.readDeployment();
  if (deployment === undefined) throw new Error("a stack without a deployment");
  const settings = {
    ...(await localProxySettings({
      name: "first",
      folder,
      rpcUrl: local.chain.url,
      ports: { proxy: 0 },
      deployment,
      pepperFile: await pepperFile(on.stack.folder.secrets),
      serviceAddress: entry.service_address,
    })),
    CLOISTER_CONFIRMATIONS: String(CONFIRMATIONS),
    CLOISTER_BLOCK_POLL_MS: "100",
    CLOISTER_LIMIT_KEY_PER_MINUTE: "1000000",
    CLOISTER_LIMIT_KEY_PER_DAY: "10000000",
    CLOISTER_LIMIT_BAD_PROOFS_PER_MINUTE: "100000",
  };
  const [, stranger] = (await chain.send("eth_accounts", [])) as string[];
  if (stranger === undefined) throw new Error("a chain without accounts");
  return {
    entry,
    apiKey: on.stack.file.api_key,
    stackFolder: on.stack.folder.path,
    prebuilt: prebuilt.map((each) => withRivals(each, proved)),
    late,
    foreign,
    proved,
    forgeries,
    wallets,
    accounts,
    stranger,
    guardian,
    lone: lone.address,
    sender: await on.sender(),
    settings,
    vsockPaths: Array.from({ length: entry.threshold }, (_, i) =>
      String(local.enclave(i).ready["vsockPath"]),
    ),
    template,
    folder: folder.path,
    height,
    goodUntil: Date.now() + (DEADLINE_SECS - 6 * 3_600) * 1_000,
  };
}

/** Those that are proved, too. */
function withRivals(one: Prebuilt, proved: readonly Proved[]): Prebuilt {
  const more = proved.filter(({ rivals }) => rivals.includes(one.name)).map(({ name }) => name);
  return { ...one, rivals: [...one.rivals, ...more] };
}
