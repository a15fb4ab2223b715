// A wallet on the command line, for the local stack: what an app does with the client library, one step at
// a time. With --print-request it stops before sending and prints the request's body, for curl.
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { parseArgs } from "node:util";
import { parseEther, parseUnits, Wallet as EthereumWallet, type JsonRpcProvider } from "ethers";
import {
  bridgePinsFrom,
  bridgeStatusText,
  createClient,
  newSeed,
  type BridgePins,
  type BridgeProgress,
  type Client,
  type Payment,
  type ServingEnclave,
  type StepEvent,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { fileStorage } from "../../shared/client/node/index.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { fromHex } from "../../shared/protocol/host/text.ts";
import {
  DEFAULT_FOLDER,
  NETWORK_NAMES,
  type NetworkEntry,
  networkOf,
  runningStack,
} from "../base/stack-file.ts";
import { quoted } from "../base/quoted.ts";
import { UsageError } from "../base/command.ts";
import { messageOf, runStackCommand } from "./command.ts";
import { Intercepted, intercepting } from "../stand-ins/intercepting.ts";
import { chainOf, giveCoins } from "../stand-ins/local-chain.ts";
import { openStackWallet } from "./stack-wallet.ts";
import { wrapCoins } from "../stand-ins/uniswap.ts";
import { show, showUnits, TestUsdc, type Token } from "../stand-ins/usdc.ts";

const HELP = `Usage: npm run wallet -- <command> [options]        (needs a running stack: npm start)

  address                    this wallet's shielded address
  balance                    what it holds
  enclaves                   who signs for the service, and what the pool says of them
  deposit <amount>           give its public account test money and deposit it
  pay <address> <amount>     pay another shielded address
  withdraw <to> <amount>     pay a public address, 0x…
  consolidate                merge up to nine notes into one, for a transfer's fee
  bridge in | source | alt   a new address for money from the exchange, another chain, or the other blockchain
  bridge out <account> <amount> [<chain>]
                             withdraw to an account on the exchange, or to a recipient on another chain
  bridge status | wait <id or address>   what became of it; wait also signs what there is to sign
  bridge list                every address that this wallet has made
  bridge refund-key <address>  the private key of the account that got a refund, where --refund named no other
  swap <amount> <from> <to>  give so much of one token and take another, such as: swap 50 USDC WETH

  --name <name>      which wallet (default alice); made when it does not exist
  --network <name>   first or second (default first; for swap: second, where swaps are)
  --asset <symbol>   the token of a deposit, payment or withdrawal (default USDC)
  --plain            deposit: the public account approves and sends it, for tokens without EIP-3009 such as WETH
  --consolidate      pay, withdraw, swap: where the amount lies in too many notes, merge them first, for a fee each time
  --refund <address> bridge: gets back what cannot become a note (default: an account of this wallet's own key)
  --floor <amount>   swap: take no less than this (default: 1 % below what the service quotes now)
  --path <hex>       swap: Uniswap's packed path (default: the best over listed tokens)
  --print-request    print the body of the request instead of sending it, for curl
  --folder <path>    folder of the stack (default ${DEFAULT_FOLDER})
  --help             this text

A payment spends at most nine notes, a swap two. Amounts are decimal, such as 12.5. DEVELOPMENT ONLY: keys lie in files.`;

const COMMAND = {
  help: HELP,
  failure: messageOf,
  allowPositionals: true,
  options: {
    name: { type: "string", default: "alice" },
    network: { type: "string" },
    asset: { type: "string", default: "USDC" },
    plain: { type: "boolean", default: false },
    consolidate: { type: "boolean", default: false },
    floor: { type: "string" },
    refund: { type: "string" },
    path: { type: "string" },
    "print-request": { type: "boolean", default: false },
    folder: { type: "string", default: DEFAULT_FOLDER },
    help: { type: "boolean" },
  },
} as const;

const FLOOR_TOLERANCE_BPS = 100;
const GAS_MONEY = parseEther("1");

/** What a command works with. */
interface Bench {
  readonly wallet: Wallet;
  readonly chain: JsonRpcProvider;
  readonly network: NetworkEntry;
  readonly options: ReturnType<typeof parseArgs<typeof COMMAND>>["values"];
  /** The wallet's public account, holding at least so much of the token. */
  readonly publicAddress: () => Promise<string>;
  readonly fund: (token: Token, amount: bigint) => Promise<EthereumWallet>;
}

await runStackCommand(COMMAND, async ({ values, positionals: [command, ...args] }) => {
  if (command === undefined) {
    console.log(HELP);
    return 0;
  }
  if (!/^[a-z0-9-]{1,32}$/.test(values.name))
    throw new UsageError("--name takes lower-case letters, digits and dashes");
  const wanted = values.network ?? (command === "swap" ? "second" : "first");
  const name = NETWORK_NAMES.find((known) => known === wanted);
  if (name === undefined) throw new UsageError(`--network is one of ${NETWORK_NAMES.join(", ")}`);
  const stack = await runningStack(values.folder);
  if (stack === undefined) throw new UsageError("no stack runs here; start one with npm start");
  const network = networkOf(stack, name);
  const chain = chainOf(network);
  const prover = await developmentProver();
  const folder = path.join(path.resolve(values.folder), name, "wallets", values.name);
  const client = createClient({ baseUrl: network.base_url, credential: { apiKey: stack.api_key } });
  const wallet = await openStackWallet(network, {
    seed: await secret(folder, "seed"),
    client: values["print-request"] ? intercepting(client) : client,
    prover,
    storage: fileStorage(path.join(folder, "state")),
    ...(command === "bridge" ? await bridgePins(client) : {}),
  });
  const publicAddress = async (): Promise<string> =>
    new EthereumWallet(toHex(await secret(folder, "public-account.key"))).address;
  const fund = async (token: Token, amount: bigint): Promise<EthereumWallet> => {
    const account = new EthereumWallet(toHex(await secret(folder, "public-account.key")), chain);
    await give(chain, account, token, amount);
    return account;
  };
  try {
    await run({ wallet, chain, network, options: values, publicAddress, fund }, command, args);
  } catch (error) {
    if (!(error instanceof Intercepted)) throw error;
    console.log(JSON.stringify(error.body, undefined, 2));
  } finally {
    await wallet.close();
    await prover.close();
    chain.destroy();
  }
  return 0;
});

async function run(bench: Bench, command: string, args: readonly string[]): Promise<void> {
  const { wallet, network, options } = bench;
  const [first, second] = args;
  const token = tokenOf(network, options.asset);
  const paying = { asset: token.address, consolidate: options.consolidate, progress };
  switch (command) {
    case "address":
      console.log(wallet.address);
      return;
    case "balance":
      await wallet.sync();
      for (const listed of network.tokens) showBalance(wallet, listed, listed === network.tokens[0]);
      return;
    case "enclaves":
      for (const enclave of await wallet.enclaves()) showEnclave(enclave);
      return;
    case "deposit":
      await deposit(bench, token, readAmount(first, token));
      return;
    case "pay":
      done(token, await wallet.pay(first ?? "", readAmount(second, token), paying));
      return;
    case "withdraw":
      done(token, await wallet.withdraw(first ?? "", readAmount(second, token), paying));
      return;
    case "consolidate":
      done(token, await wallet.consolidate({ asset: token.address, progress }));
      return;
    case "swap":
      await swap(bench, args);
      return;
    case "bridge":
      await bridge(bench, token, args);
      return;
    default:
      throw new UsageError(`there is no command ${command}`);
  }
}

function showEnclave({ signer, measurement, registration }: ServingEnclave): void {
  const row = (name: string, text: string): void => console.log(`  ${name.padEnd(12)}${text}`);
  console.log(`signer ${signer}`);
  if (measurement !== undefined)
    for (const name of ["pcr0", "pcr1", "pcr2"] as const) row(name.toUpperCase(), measurement[name]);
  if (registration === undefined) return;
  const { image, verifier, since, admission } = registration;
  const { proposal } = admission;
  // All three in one, as the pool knows them.
  row("image", `${image}, with the ${verifier === 1 ? "first" : "second"} of the two verifiers`);
  row("believed", `since ${time(since)}, by the pool`);
  row("admitted", `${time(admission.since)}${proposal === undefined ? ", when the pool was made" : ""}`);
  if (proposal === undefined) return;
  row("announced", `${time(proposal.at)} by the pool's owner, in whose words it is`);
  row("  source", quoted(proposal.commit));
  row("  built with", quoted(proposal.buildCommand));
}

function time(secs: number): string {
  return new Date(secs * 1000).toISOString();
}

async function deposit({ wallet, chain, options, fund }: Bench, token: Token, amount: bigint): Promise<void> {
  const depositing = { asset: token.address, progress };
  if (!options.plain) {
    if (token.symbol === "WETH") throw new UsageError("WETH has no EIP-3009; give --plain");
    done(token, await wallet.deposit(amount, await fund(token, amount), depositing));
    return;
  }
  const account = await fund(token, amount);
  await giveCoins(chain, account.address, GAS_MONEY);
  const { transactionHash, fees } = await wallet.depositPlain(amount, account, depositing);
  console.log(`confirmed: transaction ${transactionHash}, fee ${show(fees, token)}`);
}

async function swap(
  { wallet, network, options }: Bench,
  [given, from, to]: readonly string[],
): Promise<void> {
  if (from === undefined || to === undefined) throw new UsageError("swap takes an amount and two tokens");
  const [tokenIn, tokenOut] = [tokenOf(network, from), tokenOf(network, to)];
  const wanted = {
    ...{ tokenIn: tokenIn.address, tokenOut: tokenOut.address },
    amount: readAmount(given, tokenIn),
  };
  let { path: way } = options;
  let floor = options.floor === undefined ? undefined : readAmount(options.floor, tokenOut);
  if (way === undefined || floor === undefined) {
    if (network.swaps === undefined) throw new UsageError("this network has no swaps; give --network second");
    const offer = await wallet.quote({ ...wanted, toleranceBps: FLOOR_TOLERANCE_BPS });
    console.error(`  the service quotes ${show(offer.amountOut, tokenOut)}`);
    way ??= offer.path;
    floor ??= offer.floor;
  }
  const { consolidate } = options;
  const made = await wallet.swap({ ...wanted, floor, path: way }, { consolidate, progress });
  console.log(`received ${show(made.received ?? 0n, tokenOut)}`);
  done(tokenIn, made);
}

/** Of the local stack, which nobody has to distrust: an application ships its pins. */
async function bridgePins(client: Client): Promise<{ bridges?: BridgePins }> {
  const { bridges } = await client.info();
  return bridges === null ? {} : { bridges: bridgePinsFrom(bridges) };
}

async function bridge(
  { wallet, options }: Bench,
  token: Token,
  [what = "", to, amount, chain]: readonly string[],
): Promise<void> {
  const { bridges } = wallet;
  const onStatus = (status: BridgeProgress): void => console.error(`  ${bridgeStatusText(status)}`);
  const { refund: refundAddress } = options;
  const asked = { asset: token.address, ...(refundAddress === undefined ? {} : { refundAddress }) };
  switch (what) {
    case "in":
      console.log(jsonOf(await bridges.fromExchange(asked)));
      return;
    case "source":
      console.log(jsonOf(await bridges.fromChain(asked)));
      return;
    case "alt":
      console.log(jsonOf(await bridges.fromOtherBlockchain(asked)));
      return;
    case "out": {
      const units = readAmount(amount, token);
      const { consolidate } = options;
      const paying = { asset: token.address, consolidate, progress, onStatus };
      const made =
        chain === undefined
          ? await bridges.withdrawToExchange(to ?? "", units, paying)
          : await bridges.withdrawToChain(Number(chain), to ?? "", units, paying);
      done(token, made);
      console.log(jsonOf(made.status));
      return;
    }
    case "status": {
      await wallet.sync();
      const status = await bridges.status(to ?? "");
      onStatus(status);
      console.log(jsonOf(status));
      return;
    }
    case "wait":
      console.log(jsonOf(await bridges.wait(to ?? "", { onStatus })));
      return;
    case "refund-key":
      // Asked for by name: whoever reads this terminal can take what was refunded.
      console.log((await bridges.refundKey(to ?? "")).exportPrivateKey());
      return;
    case "list":
      await wallet.sync();
      console.log(jsonOf(await bridges.list()));
      return;
    default:
      throw new UsageError("bridge takes in, source, alt, out, status, wait, list or refund-key");
  }
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one), 2);
}

function showBalance(wallet: Wallet, token: Token, always: boolean): void {
  const { total, spendable, pending, inFlight, unverified } = wallet.balance(token.address);
  if (total === 0n && !always) return;
  const amount = (value: bigint): string => showUnits(value, token.decimals);
  console.log(
    `${show(total, token)} (spendable ${amount(spendable)}, pending ${amount(pending)}, in flight ${amount(inFlight)}, unverified ${amount(unverified)})`,
  );
}

function done(token: Token, { ticket, fees }: Payment): void {
  console.log(
    `${ticket.state}: ticket ${ticket.ticket_id}, transaction ${ticket.tx_hash ?? "–"}, fee ${show(fees, token)}`,
  );
}

function progress({ step, state, ms = 0 }: StepEvent): void {
  if (state === "end") console.error(`  ${step.padEnd(8)} ${(ms / 1000).toFixed(2)} s`);
}

/** Test tokens are minted by anybody; the wrapped coin is bought with the coin. */
async function give(
  chain: JsonRpcProvider,
  account: EthereumWallet,
  token: Token,
  amount: bigint,
): Promise<void> {
  if (token.symbol === "WETH") {
    await giveCoins(chain, account.address, amount + GAS_MONEY);
    await wrapCoins(account, token.address, amount);
    return;
  }
  const faucet = await TestUsdc.at(token.address, chain);
  const held = await faucet.balanceOf(account.address);
  if (held < amount) await faucet.mint(account.address, amount - held);
}

async function secret(folder: string, name: string): Promise<Uint8Array> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, name);
  if (!existsSync(file)) await writeFile(file, `${toHex(newSeed())}\n`, { mode: 0o600, flag: "wx" });
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
