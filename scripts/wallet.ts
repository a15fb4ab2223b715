// A wallet on the command line, for the local stack: what an app does with the client library, one step at
// a time. With --print-request it stops before sending and prints the request's body, for curl.
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { JsonRpcProvider, Wallet as EthereumWallet } from "ethers";
import { createClient, createProver, newSeed, type Client, type Wallet } from "../shared/client/index.ts";
import { fileStorage, folderArtefacts, readManifest } from "../shared/client/node/index.ts";
import { fromHex, toHex } from "../shared/protocol/bytes.ts";
import { DEFAULT_FOLDER } from "./dev/local-stack.ts";
import { StackFolder } from "./dev/stack-folder.ts";
import { openStackWallet } from "./dev/stack-wallet.ts";
import { parseUsdc, showUsdc, TestUsdc } from "./dev/usdc.ts";

const HELP = `Usage: npm run wallet -- <command> [options]        (needs a running stack: npm start)

  address                    this wallet's shielded address
  balance                    what it holds
  deposit <amount>           mint test USDC to its public account and deposit it
  pay <address> <amount>     pay another shielded address
  withdraw <to> <amount>     pay a public address, 0x…

  --name <name>      which wallet (default alice); made when it does not exist
  --print-request    print the body of the request instead of sending it, for curl
  --folder <path>    folder of the stack (default ${DEFAULT_FOLDER})
  --help             this text

Amounts are in USDC, such as 12.5. DEVELOPMENT ONLY: keys lie in files.`;

class UsageError extends Error {}

/** Thrown in the place of sending; carries what would have been sent. */
class Intercepted extends Error {
  readonly body: unknown;
  constructor(body: unknown) {
    super("not sent");
    this.body = body;
  }
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
  const stack = await new StackFolder(values.folder).running();
  if (stack === undefined) throw new UsageError("no stack runs here; start one with npm start");
  const network = stack.networks.first;
  const chain = new JsonRpcProvider(network.chain_rpc, network.chain_id, { staticNetwork: true });
  const prover = createProver({ source: folderArtefacts(), manifest: await readManifest() });
  const folder = path.join(path.resolve(values.folder), "first", "wallets", values.name);
  const sending = createClient({ baseUrl: network.base_url, credential: { apiKey: stack.api_key } });
  const client = values["print-request"] ? intercepting(sending) : sending;
  const wallet = await openStackWallet(network, {
    seed: await secret(folder, "seed"),
    client,
    prover,
    storage: fileStorage(path.join(folder, "state")),
  });
  try {
    await run(wallet, command, args, async (amount) => {
      const account = new EthereumWallet(toHex(await secret(folder, "public-account.key")), chain);
      const usdc = await TestUsdc.at(network.usdc, chain);
      const held = await usdc.balanceOf(account.address);
      if (held < amount) await usdc.mint(account.address, amount - held);
      return account;
    });
  } catch (error) {
    if (!(error instanceof Intercepted)) throw error;
    console.log(JSON.stringify(error.body, undefined, 2));
  } finally {
    await wallet.close();
    await prover.close();
    chain.destroy();
  }
}

async function run(
  wallet: Wallet,
  command: string,
  args: readonly string[],
  fund: (amount: bigint) => Promise<EthereumWallet>,
): Promise<void> {
  const progress = (step: string, ms: number): void =>
    console.error(`  ${step.padEnd(8)} ${(ms / 1000).toFixed(2)} s`);
  const [first, second] = args;
  switch (command) {
    case "address":
      console.log(wallet.address);
      return;
    case "balance": {
      await wallet.sync();
      const { total, spendable, pending, inFlight, unverified } = wallet.balance();
      console.log(
        `${showUsdc(total)} USDC (spendable ${showUsdc(spendable)}, pending ${showUsdc(pending)}, in flight ${showUsdc(inFlight)}, unverified ${showUsdc(unverified)})`,
      );
      return;
    }
    case "deposit": {
      const amount = readAmount(first);
      done(await wallet.deposit(amount, await fund(amount), { progress }));
      return;
    }
    case "pay":
      done(await wallet.pay(first ?? "", readAmount(second), { progress }));
      return;
    case "withdraw":
      done(await wallet.withdraw(first ?? "", readAmount(second), { progress }));
      return;
    default:
      throw new UsageError(`there is no command ${command}`);
  }
}

function done({
  ticket,
  fees,
}: {
  ticket: { ticket_id: string; state: string; tx_hash: string | null };
  fees: bigint;
}): void {
  console.log(
    `${ticket.state}: ticket ${ticket.ticket_id}, transaction ${ticket.tx_hash ?? "–"}, fee ${showUsdc(fees)} USDC`,
  );
}

function intercepting(client: Client): Client {
  const stop = (body: unknown): Promise<never> => Promise.reject(new Intercepted(body));
  return { ...client, sequenceDeposit: stop, sequenceSpend: stop };
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

function readAmount(text: string | undefined): bigint {
  const amount = text === undefined ? undefined : parseUsdc(text);
  if (amount === undefined || amount === 0n)
    throw new UsageError("an amount in USDC is needed, such as 12.5");
  return amount;
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        name: { type: "string", default: "alice" },
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
