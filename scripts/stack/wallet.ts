// A wallet on the command line, for the local stack: what an app does with the client library, one step at
// a time. With --print-request it stops before sending and prints the request's body, for curl.
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { JsonRpcProvider, parseEther, parseUnits, toBeHex, Wallet as EthereumWallet } from "ethers";
import {
  createClient,
  newSeed,
  type Client,
  type StepEvent,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { fileStorage } from "../../shared/client/node/index.ts";
import { asAddress, type Address } from "../../shared/protocol/brands.ts";
import { fromHex, toHex } from "../../shared/protocol/bytes.ts";
import { feeOf } from "../../shared/protocol/host/fees.ts";
import {
  DEFAULT_FOLDER,
  NETWORK_NAMES,
  type NetworkEntry,
  type NetworkName,
  networkOf,
} from "../product/stack-file.ts";
import { StackFolder } from "./stack-folder.ts";
import { openStackWallet } from "./stack-wallet.ts";
import { showUnits, TestUsdc } from "./usdc.ts";
import { bestRoute } from "./wallet/route.ts";

const HELP = `Usage: npm run wallet -- <command> [options]        (needs a running stack: npm start)

  address                    this wallet's shielded address
  balance                    what it holds
  deposit <amount>           give its public account test money and deposit it
  pay <address> <amount>     pay another shielded address
  withdraw <to> <amount>     pay a public address, 0x…
  consolidate                merge up to nine notes into one, for a transfer's fee
  swap <amount> <from> <to>  give so much of one token and take another, such as: swap 50 USDC WETH

  --name <name>      which wallet (default alice); made when it does not exist
  --network <name>   first or second (default first; for swap: second, where swaps are)
  --asset <symbol>   the token of a deposit, payment or withdrawal (default USDC)
  --plain            deposit: the public account approves and sends it, for tokens without EIP-3009 such as WETH
  --consolidate      pay, withdraw, swap: where the amount lies in too many notes, merge them first, for a fee each time
  --floor <amount>   swap: take no less than this (default: 1 % below what Uniswap's quoter says now)
  --path <hex>       swap: Uniswap's packed path (default: the best over listed tokens)
  --print-request    print the body of the request instead of sending it, for curl
  --folder <path>    folder of the stack (default ${DEFAULT_FOLDER})
  --help             this text

A payment spends at most nine notes, a swap two. Amounts are decimal, such as 12.5. DEVELOPMENT ONLY: keys lie in files.`;

const FLOOR_TOLERANCE_BPS = 100n;
const GAS_MONEY = parseEther("1");

class UsageError extends Error {}

/** Thrown in the place of sending; carries what would have been sent. */
class Intercepted extends Error {
  readonly body: unknown;
  constructor(body: unknown) {
    super("not sent");
    this.body = body;
  }
}

type Token = NetworkEntry["tokens"][number];
type Options = ReturnType<typeof readArguments>["values"];

/** What a command works with. */
interface Bench {
  readonly wallet: Wallet;
  readonly client: Client;
  readonly chain: JsonRpcProvider;
  readonly network: NetworkEntry;
  readonly options: Options;
  /** The wallet's public account, holding at least so much of the token. */
  readonly fund: (token: Token, amount: bigint) => Promise<EthereumWallet>;
}

async function main(): Promise<void> {
  const { values, positionals } = readArguments();
  const [command, ...args] = positionals;
  if (values.help || command === undefined) {
    console.log(HELP);
    return;
  }
  if (!/^[a-z0-9-]{1,32}$/.test(values.name))
    throw new UsageError("--name takes lower-case letters, digits and dashes");
  const name = values.network ?? (command === "swap" ? "second" : "first");
  if (!isNetwork(name)) throw new UsageError(`--network is one of ${NETWORK_NAMES.join(", ")}`);
  const stack = await new StackFolder(values.folder).running();
  if (stack === undefined) throw new UsageError("no stack runs here; start one with npm start");
  const network = networkOf(stack, name);
  const chain = new JsonRpcProvider(network.chain_rpc, network.chain_id, {
    staticNetwork: true,
    pollingInterval: 200,
  });
  const prover = await developmentProver();
  const folder = path.join(path.resolve(values.folder), name, "wallets", values.name);
  const sending = createClient({ baseUrl: network.base_url, credential: { apiKey: stack.api_key } });
  const client = values["print-request"] ? intercepting(sending) : sending;
  const wallet = await openStackWallet(network, {
    seed: await secret(folder, "seed"),
    client,
    prover,
    storage: fileStorage(path.join(folder, "state")),
  });
  const fund = async (token: Token, amount: bigint): Promise<EthereumWallet> => {
    const account = new EthereumWallet(toHex(await secret(folder, "public-account.key")), chain);
    if (token.symbol === "WETH") await wrap(account, token, amount);
    else await mint(account, token, amount, chain);
    return account;
  };
  try {
    await run({ wallet, client, chain, network, options: values, fund }, command, args);
  } catch (error) {
    if (!(error instanceof Intercepted)) throw error;
    console.log(JSON.stringify(error.body, undefined, 2));
  } finally {
    await wallet.close();
    await prover.close();
    chain.destroy();
  }
}

async function run(bench: Bench, command: string, args: readonly string[]): Promise<void> {
  const { wallet, network, options } = bench;
  const [first, second] = args;
  const token = tokenOf(network, options.asset);
  const asset = token.address;
  const { consolidate } = options;
  switch (command) {
    case "address":
      console.log(wallet.address);
      return;
    case "balance":
      await wallet.sync();
      for (const listed of network.tokens) showBalance(wallet, listed, listed === network.tokens[0]);
      return;
    case "deposit":
      await deposit(bench, token, readAmount(first, token));
      return;
    case "pay":
      done(token, await wallet.pay(first ?? "", readAmount(second, token), { asset, consolidate, progress }));
      return;
    case "withdraw":
      done(
        token,
        await wallet.withdraw(first ?? "", readAmount(second, token), { asset, consolidate, progress }),
      );
      return;
    case "consolidate":
      done(token, await wallet.consolidate({ asset, progress }));
      return;
    case "swap":
      await swap(bench, args);
      return;
    default:
      throw new UsageError(`there is no command ${command}`);
  }
}

async function deposit({ wallet, options, fund }: Bench, token: Token, amount: bigint): Promise<void> {
  const asset = token.address;
  if (!options.plain) {
    if (token.symbol === "WETH") throw new UsageError("WETH has no EIP-3009; give --plain");
    done(token, await wallet.deposit(amount, await fund(token, amount), { asset, progress }));
    return;
  }
  const account = await fund(token, amount);
  await giveCoins(account, GAS_MONEY);
  const { transactionHash, fees } = await wallet.depositPlain(amount, account, { asset, progress });
  console.log(`confirmed: transaction ${transactionHash}, fee ${show(fees, token)}`);
}

async function swap(bench: Bench, [given, from, to]: readonly string[]): Promise<void> {
  const { wallet, network, options } = bench;
  if (from === undefined || to === undefined) throw new UsageError("swap takes an amount and two tokens");
  const [tokenIn, tokenOut] = [tokenOf(network, from), tokenOf(network, to)];
  const amount = readAmount(given, tokenIn);
  let { path: way } = options;
  let floor = options.floor === undefined ? undefined : readAmount(options.floor, tokenOut);
  if (way === undefined || floor === undefined) {
    const route = await quote(bench, tokenIn, tokenOut, amount);
    console.error(`  Uniswap's quoter says ${show(route.amountOut, tokenOut)}`);
    way ??= route.path;
    floor ??= (route.amountOut * (10_000n - FLOOR_TOLERANCE_BPS)) / 10_000n;
  }
  const { consolidate } = options;
  const made = await wallet.swap(
    { tokenIn: tokenIn.address, tokenOut: tokenOut.address, amount, floor, path: way },
    { consolidate, progress },
  );
  console.log(`received ${show(made.received ?? 0n, tokenOut)}`);
  done(tokenIn, made);
}

/** Of what is left of `amount` after the fees that the service names now. */
async function quote(
  { client, chain, network }: Bench,
  tokenIn: Token,
  tokenOut: Token,
  amount: bigint,
): Promise<{ path: string; amountOut: bigint }> {
  const quoter = asAddress(network.swaps?.quoter);
  if (quoter === undefined) throw new UsageError("this network has no swaps; give --network second");
  const { fees } = await client.whoami();
  const rule = fees.find(
    (row) => row.operation === "swap" && asAddress(row.asset) === asAddress(tokenIn.address),
  );
  const charged = [rule?.service, rule?.developer].reduce(
    (sum, part) => sum + (part ? feeOf({ flat: BigInt(part.flat), bps: part.bps }, amount) : 0n),
    0n,
  );
  if (charged >= amount) throw new UsageError("the fees would take all of it");
  const route = await bestRoute(chain, quoter, {
    ...{ tokenIn: addressOf(tokenIn), tokenOut: addressOf(tokenOut), amountIn: amount - charged },
    listed: network.tokens.map(addressOf),
  });
  if (route === undefined)
    throw new UsageError(`there is no way from ${tokenIn.symbol} to ${tokenOut.symbol}`);
  return route;
}

function showBalance(wallet: Wallet, token: Token, always: boolean): void {
  const { total, spendable, pending, inFlight, unverified } = wallet.balance(token.address);
  if (total === 0n && !always) return;
  const amount = (value: bigint): string => showUnits(value, token.decimals);
  console.log(
    `${show(total, token)} (spendable ${amount(spendable)}, pending ${amount(pending)}, in flight ${amount(inFlight)}, unverified ${amount(unverified)})`,
  );
}

function done(
  token: Token,
  made: {
    ticket: { ticket_id: string; state: string; tx_hash: string | null };
    fees: bigint;
  },
): void {
  const { ticket, fees } = made;
  console.log(
    `${ticket.state}: ticket ${ticket.ticket_id}, transaction ${ticket.tx_hash ?? "–"}, fee ${show(fees, token)}`,
  );
}

function progress({ step, state, ms = 0 }: StepEvent): void {
  if (state === "end") console.error(`  ${step.padEnd(8)} ${(ms / 1000).toFixed(2)} s`);
}

/** Test tokens other than the wrapped coin are minted by anybody. */
async function mint(
  account: EthereumWallet,
  token: Token,
  amount: bigint,
  chain: JsonRpcProvider,
): Promise<void> {
  const faucet = await TestUsdc.at(token.address, chain);
  const held = await faucet.balanceOf(account.address);
  if (held < amount) await faucet.mint(account.address, amount - held);
}

/** The wrapped coin is bought with the coin, one for one, by sending it there (WETH9). */
async function wrap(account: EthereumWallet, token: Token, amount: bigint): Promise<void> {
  await giveCoins(account, amount + GAS_MONEY);
  await (await account.sendTransaction({ to: token.address, value: amount })).wait();
}

async function giveCoins({ address, provider }: EthereumWallet, coins: bigint): Promise<void> {
  await (provider as JsonRpcProvider).send("anvil_setBalance", [address, toBeHex(coins)]);
}

function intercepting(client: Client): Client {
  const stop = (body: unknown): Promise<never> => Promise.reject(new Intercepted(body));
  return {
    ...client,
    ...{ sequenceDeposit: stop, sequenceSpend: stop, sequenceSpend9: stop, sequenceSwap: stop },
    attestDeposit: stop,
  };
}

async function secret(folder: string, name: string): Promise<Uint8Array> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, name);
  if (!existsSync(file)) {
    await writeFile(file, `${toHex(newSeed())}\n`, { mode: 0o600, flag: "wx" });
    await chmod(file, 0o600);
  }
  const bytes = fromHex((await readFile(file, "utf8")).trim());
  if (bytes?.length !== 32) throw new Error(`${file} is damaged`);
  return bytes;
}

function tokenOf(network: NetworkEntry, symbol: string): Token {
  const token = network.tokens.find((listed) => listed.symbol === symbol.toUpperCase());
  if (token !== undefined) return token;
  const known = network.tokens.map((listed) => listed.symbol).join(", ");
  throw new UsageError(`no token ${symbol} on this network; it lists ${known}`);
}

function addressOf({ address }: Token): Address {
  const parsed = asAddress(address);
  if (parsed === undefined) throw new Error("the stack's own file names no address");
  return parsed;
}

function show(amount: bigint, { decimals, symbol }: Token): string {
  return `${showUnits(amount, decimals)} ${symbol}`;
}

/** Decimal, without sign or exponent, with no more places than the token has. */
function readAmount(text: string | undefined, { decimals, symbol }: Token): bigint {
  const [, fraction = ""] = /^(?:0|[1-9][0-9]{0,20})(?:\.([0-9]+))?$/.exec(text ?? "") ?? [
    undefined,
    "x".repeat(99),
  ];
  const amount = fraction.length <= decimals ? parseUnits(text ?? "", decimals) : 0n;
  if (amount === 0n) throw new UsageError(`an amount in ${symbol} is needed, such as 12.5`);
  return amount;
}

function isNetwork(name: string): name is NetworkName {
  return (NETWORK_NAMES as readonly string[]).includes(name);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        name: { type: "string", default: "alice" },
        network: { type: "string" },
        asset: { type: "string", default: "USDC" },
        plain: { type: "boolean", default: false },
        consolidate: { type: "boolean", default: false },
        floor: { type: "string" },
        path: { type: "string" },
        "print-request": { type: "boolean", default: false },
        folder: { type: "string", default: DEFAULT_FOLDER },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error);
    console.error(error instanceof UsageError ? `${text}\n\n${HELP}` : text);
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
