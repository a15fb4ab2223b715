// The main job, shown: two people, one deposit, one private payment, one withdrawal, with real proofs on
// the running stack or on one it starts. Exit code 0 only if every balance is exact to the last unit.
import { JsonRpcProvider, Wallet as EthereumWallet } from "ethers";
import { parseArgs } from "node:util";
import { createClient, createProver, memoryStorage, newSeed, type Wallet } from "../shared/client/index.ts";
import { folderArtefacts, readManifest } from "../shared/client/node/index.ts";
import type { FeeOperation } from "../shared/protocol/fees.ts";
import { feeOf } from "../shared/protocol/fees.ts";
import { fromHex } from "../shared/protocol/bytes.ts";
import { DEFAULT_FOLDER, startStack, SERVICE_WALLET_SECRET, type Stack } from "./dev/local-stack.ts";
import { StackFolder, type StackFile } from "./dev/stack-folder.ts";
import { openStackWallet } from "./dev/stack-wallet.ts";
import { showUsdc, TestUsdc } from "./dev/usdc.ts";

const HELP = `Usage: npm run demo -- [options]

Two fresh wallets on the local stack: the first deposits 100 USDC, pays 30 privately to the second, who
withdraws 12.5 to a public address. Starts the stack itself when none runs, and stops it again.

  --only payments   what to show; payments is all there is so far
  --json            print the result as one JSON object, last on standard output
  --folder <path>   folder of the stack (default ${DEFAULT_FOLDER})
  --help            this text

Exit code: 0 when every balance is exact, 1 when one is not or a step failed, 2 for wrong arguments.`;

const DEPOSIT = 100n * TestUsdc.unit;
const PAYMENT = 30n * TestUsdc.unit;
const WITHDRAWAL = (125n * TestUsdc.unit) / 10n;

interface Check {
  readonly name: string;
  readonly expected: bigint;
  readonly actual: bigint;
}

interface Timing {
  readonly operation: string;
  readonly step: string;
  readonly ms: number;
}

interface Result {
  readonly checks: readonly Check[];
  readonly timings: readonly Timing[];
  readonly transactions: readonly {
    readonly operation: string;
    readonly ticket_id: string;
    readonly tx_hash: string | null;
  }[];
}

async function main(): Promise<number> {
  const options = readArguments();
  if (options === undefined) return 2;
  if (options === "help") {
    console.log(HELP);
    return 0;
  }
  // With --json, standard output carries the result alone.
  const say = options.json ? (text: string): void => void process.stderr.write(`${text}\n`) : console.log;
  const folder = new StackFolder(options.folder);
  const running = await folder.running();
  let own: Stack | undefined;
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= own?.stop() ?? Promise.resolve());
  const interrupted = (): void => void stop().finally(() => process.exit(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    if (running === undefined) {
      say("No stack is running here: starting one.");
      own = await startStack({ folder: options.folder, say });
    } else {
      say(`Using the running stack at ${running.networks.first.base_url}.`);
    }
    const stack = running ?? own?.file;
    if (stack === undefined) throw new Error("no stack");
    const result = await payments(stack, folder, say);
    const exact = result.checks.every(({ expected, actual }) => expected === actual);
    report(result, exact, say);
    if (options.json) console.log(JSON.stringify(asData(result, exact)));
    return exact ? 0 : 1;
  } finally {
    await stop();
  }
}

async function payments(stack: StackFile, folder: StackFolder, say: (text: string) => void): Promise<Result> {
  const network = stack.networks.first;
  const chain = new JsonRpcProvider(network.chain_rpc, network.chain_id, { staticNetwork: true });
  const client = createClient({ baseUrl: network.base_url, credential: { apiKey: stack.api_key } });
  const prover = createProver({ source: folderArtefacts(), manifest: await readManifest() });
  const open: Wallet[] = [];
  try {
    const wallet = async (seed: Uint8Array): Promise<Wallet> => {
      const made = await openStackWallet(network, { seed, client, prover, storage: memoryStorage() });
      open.push(made);
      return made;
    };
    const timings: Timing[] = [];
    const transactions: Result["transactions"][number][] = [];
    const run = async (
      operation: string,
      work: (
        progress: (step: string, ms: number) => void,
      ) => Promise<{ ticket: { ticket_id: string; tx_hash: string | null } }>,
    ): Promise<void> => {
      const { ticket } = await work((step, ms) => {
        timings.push({ operation, step, ms });
        say(`    ${step.padEnd(8)} ${(ms / 1000).toFixed(2).padStart(6)} s`);
      });
      transactions.push({ operation, ticket_id: ticket.ticket_id, tx_hash: ticket.tx_hash });
    };

    const secondSeed = newSeed();
    const first = await wallet(newSeed());
    const second = await wallet(secondSeed);
    const service = await wallet(bytesOf(await folder.secret(SERVICE_WALLET_SECRET)));
    await service.sync();
    const feesBefore = service.balance(network.usdc).total;
    say(`\nFirst wallet   ${first.address}\nSecond wallet  ${second.address}`);

    const depositor = EthereumWallet.createRandom().connect(chain);
    const recipient = EthereumWallet.createRandom().address;
    const usdc = await TestUsdc.at(network.usdc, chain);
    await usdc.mint(depositor.address, DEPOSIT);
    say(`\n1. ${showUsdc(DEPOSIT)} USDC in the public account ${depositor.address}, which holds no gas.`);

    say(`\n2. First wallet deposits ${showUsdc(DEPOSIT)}: signs an EIP-3009 authorization, proves, submits.`);
    await run("deposit", (progress) => first.deposit(DEPOSIT, depositor, { progress }));
    say(`   First wallet holds ${showUsdc(first.balance(network.usdc).total)} in private.`);

    say(
      `\n3. First wallet pays ${showUsdc(PAYMENT)} to the second. The chain sees neither amount, asset nor people.`,
    );
    await run("transfer", (progress) => first.pay(second.address, PAYMENT, { progress }));
    await second.sync();
    say(
      `   First wallet holds ${showUsdc(first.balance(network.usdc).total)}, second ${showUsdc(second.balance(network.usdc).total)}.`,
    );

    say(`\n4. Second wallet withdraws ${showUsdc(WITHDRAWAL)} to ${recipient}.`);
    await run("withdraw", (progress) => second.withdraw(recipient, WITHDRAWAL, { progress }));

    say("\n5. Second wallet restored from its key alone, in an empty storage.");
    const restored = await wallet(secondSeed);
    await Promise.all([first.sync(), second.sync(), service.sync(), restored.sync()]);

    const { fees } = await client.info();
    const fee = (operation: FeeOperation, amount: bigint): bigint => {
      const rule = fees.schedule.find(
        (row) => row.operation === operation && row.asset.toLowerCase() === network.usdc.toLowerCase(),
      );
      return rule === undefined ? 0n : feeOf({ flat: BigInt(rule.flat), bps: rule.bps }, amount);
    };
    const feeOfDeposit = fee("deposit", DEPOSIT);
    const feeOfTransfer = fee("transfer", PAYMENT);
    const feeOfWithdrawal = fee("withdraw", WITHDRAWAL);
    const held = (of: Wallet): bigint => of.balance(network.usdc).total;
    const secondExpected = PAYMENT - WITHDRAWAL - feeOfWithdrawal;
    const checks: Check[] = [
      {
        name: "first wallet",
        expected: DEPOSIT - feeOfDeposit - PAYMENT - feeOfTransfer,
        actual: held(first),
      },
      { name: "second wallet", expected: secondExpected, actual: held(second) },
      { name: "second wallet, restored", expected: secondExpected, actual: held(restored) },
      {
        name: "not verified on the chain",
        expected: 0n,
        actual: [first, second, restored].reduce((sum, of) => sum + of.balance(network.usdc).unverified, 0n),
      },
      { name: "depositor's public account", expected: 0n, actual: await usdc.balanceOf(depositor.address) },
      { name: "recipient's public account", expected: WITHDRAWAL, actual: await usdc.balanceOf(recipient) },
      {
        name: "service's fees of this demo",
        expected: feeOfDeposit + feeOfTransfer + feeOfWithdrawal,
        actual: held(service) - feesBefore,
      },
    ];
    return { checks, timings, transactions };
  } finally {
    for (const wallet of open) await wallet.close();
    await prover.close();
    chain.destroy();
  }
}

function report({ checks, timings }: Result, exact: boolean, say: (text: string) => void): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  say("\nBalances in USDC");
  for (const { name, expected, actual } of checks) {
    const verdict = expected === actual ? "exact" : `WRONG, expected ${showUsdc(expected)}`;
    say(`  ${name.padEnd(width)}  ${showUsdc(actual).padStart(12)}  ${verdict}`);
  }
  const proofs = timings.filter(({ step }) => step === "prove");
  say(
    `\nProofs: ${proofs.map(({ operation, ms }) => `${operation} ${(ms / 1000).toFixed(2)} s`).join(", ")}`,
  );
  say(exact ? "\nEvery balance is exact." : "\nA balance is not what it should be.");
}

function asData({ checks, timings, transactions }: Result, exact: boolean): unknown {
  return {
    ok: exact,
    decimals: TestUsdc.decimals,
    balances: checks.map(({ name, expected, actual }) => ({
      name,
      expected: String(expected),
      actual: String(actual),
      exact: expected === actual,
    })),
    timings,
    transactions,
  };
}

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex);
  if (bytes === undefined)
    throw new Error("a secret of the stack is damaged. Begin anew with: npm start -- --fresh");
  return bytes;
}

function readArguments(): { json: boolean; folder: string } | "help" | undefined {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", default: "payments" },
        json: { type: "boolean", default: false },
        folder: { type: "string", default: DEFAULT_FOLDER },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return "help";
    if (values.only !== "payments")
      throw new Error(`--only ${values.only}: only payments can be shown so far`);
    return { json: values.json, folder: values.folder };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  },
);
