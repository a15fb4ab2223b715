// What each operation of the pool costs, measured on anvil in the state of a pool in use: recycled
// checkpoints, known signers, accounts that hold a balance. The pool does not look into proofs, so these are random bytes of their size.
import { randomBytes } from "node:crypto";
import {
  Contract,
  HDNodeWallet,
  Interface,
  JsonRpcProvider,
  NonceManager,
  type ContractTransactionReceipt,
  type LogDescription,
  type Signer,
} from "ethers";
import { signAuthorization } from "../../shared/client/statements/authorization.ts";
import {
  prepareDeposit,
  prepareSpend,
  prepareSwap,
  type SpendPlan,
} from "../../shared/client/statements/statements.ts";
import { newSeed, SpendingKey } from "../../shared/notes/keys.ts";
import { randomField } from "../../shared/notes/note.ts";
import { POOL_ABI, TOKEN_ABI } from "../../shared/contracts/abi.ts";
import { ZERO_ADDRESS, type Address, type Bytes32, type Field } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { word } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { readExecuted } from "../../shared/protocol/host/executed-log.ts";
import { COMPRESSED_PROOF_BYTES } from "../../shared/protocol/host/proofs.ts";
import type { Home, Kind, Statement } from "../../shared/protocol/statements.ts";
import { digitAt, emptyNode, nextHead, TREE_DEPTH } from "../../shared/protocol/tree.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil } from "../stand-ins/anvil.ts";
import {
  attested,
  type Attester,
  attester,
  NO_UPDATE,
  type PoolRootUpdate,
  type PoolTransaction,
  sealUpdate,
  unsigned,
} from "../stack/pool-transaction.ts";
import { nobodysNote } from "./bench/client/statements.ts";
import { createUniswapPool, deployUniswap, mustAddress, wrapCoins } from "../stand-ins/uniswap.ts";
import { committedKeyHashes, deployContract, deployTestUsdc } from "../deploy/pool.ts";
import { deployPoolWithSigners } from "../stack/development-registration.ts";
import { describeMachine, jsonLine, type Figure, type Figures } from "./bench/figures.ts";
import { measureAlone, transact } from "./gas-alone.ts";
import { measureCredits } from "./gas-credit.ts";
import { measureForwarders } from "./gas-forwarders.ts";
import { runCommand } from "../base/command.ts";
import { loadArtifact } from "../build/contracts.ts";

const HELP = `Usage: npm run gas [-- --json]

Deploys pool, test dollar and Uniswap v3 on a fresh anvil and prints gas per operation, calldata and root update included.

  --json   one JSON object last, as described for benchmarks
  --help   this text`;

const BATCH = 16;
const DEADLINE = 4_000_000_000;

interface Member {
  readonly statement: Statement;
  /** Of a deposit. */
  readonly authorization?: string;
}

interface Setting {
  readonly home: Home;
  readonly verifyingKeyHashes: Readonly<Record<Kind, Bytes32>>;
  readonly attesters: readonly Attester[];
}

export async function measureGas(): Promise<Figures> {
  const anvil = await startAnvil();
  const provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
  try {
    const wallet = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/0");
    const sender = new NonceManager(wallet.connect(provider));
    return {
      ...(await measureOn(sender, wallet, BigInt(anvil.chainId))),
      ...figuresOf(await measureAlone(provider, sender, BigInt(anvil.chainId))),
      ...figuresOf(await measureForwarders(sender, BigInt(anvil.chainId))),
    };
  } finally {
    provider.destroy();
    await anvil.stop();
  }
}

async function measureOn(sender: Signer, depositor: Signer, chainId: bigint): Promise<Figures> {
  const usdc = (await deployTestUsdc(sender)).address;
  const token = new Contract(usdc, [...TOKEN_ABI, "function mint(address to, uint256 value)"], sender);
  await transact(token, "mint", await sender.getAddress(), 10n ** 14n);
  const { weth, last, executor } = await openMarket(sender, usdc);
  const verifyingKeyHashes = await committedKeyHashes();
  const attesters = [attester(0)];
  const { address: pool } = await deployPoolWithSigners(sender, {
    signers: attesters.map((a) => a.address),
    threshold: 1,
    changeDelay: 60,
    assets: [usdc, weth, last],
    executor,
  });
  const home: Home = { chainId, pool };
  const setting: Setting = { home, verifyingKeyHashes, attesters };
  const bench = new Bench(setting, new Contract(pool, POOL_ABI, sender));

  const holder = mustAddress(await depositor.getAddress());
  const recipients = Array.from({ length: 64 }, (_, i) => payee(i));
  for (const account of [holder, ...recipients]) await transact(token, "mint", account, 10n ** 12n);

  const tokens = { usdc, weth, last };
  const { deposit, transfer, transfer9, withdrawal, swap } = users(home, tokens, depositor, holder, bench);
  const many = async <T>(count: number, make: (i: number) => T | Promise<T>): Promise<T[]> => {
    const made: T[] = [];
    for (let i = 0; i < count; i++) made.push(await make(i));
    return made;
  };

  // A pool in use: some history of roots, and money.
  for (let i = 0; i < 20; i++) await bench.execute([await deposit()]);
  for (let i = 0; i < 4; i++) await bench.execute([swap(i % 2 === 1)]);

  // A pool of its own that asks for both kinds of verifier, as much in use.
  const two = await openByTwo(sender, { chainId, usdc, verifyingKeyHashes });
  const byTwo = users(two.home, tokens, depositor, holder, two.bench);
  for (let i = 0; i < 24; i++) await two.bench.execute([byTwo.transfer()]);

  const older = bench.roots.slice(-BATCH);
  const figures: Record<string, number> = {
    private_transfer_batch16: (await bench.execute(await many(BATCH, () => transfer()))) / BATCH,
    private_transfer_batch16_distinct_roots:
      (await bench.execute(older.map((root) => transfer(root)))) / BATCH,
    private_transfer_batch16_threshold_2:
      (await two.bench.execute(await many(BATCH, () => byTwo.transfer()))) / BATCH,
    private_transfer_alone: await bench.execute([transfer()]),
    deposit: (await bench.execute(await many(BATCH, deposit))) / BATCH,
    deposit_alone: await bench.execute([await deposit()]),
    withdrawal: (await bench.execute(await many(BATCH, (i) => withdrawal(payee(i))))) / BATCH,
    withdrawal_alone: await bench.execute([withdrawal(payee(BATCH))]),
    swap: (await bench.execute(await many(BATCH, () => swap()))) / BATCH,
    swap_alone: await bench.execute([swap()]),
    swap_two_hops: (await bench.execute(await many(BATCH, () => swap(true)))) / BATCH,
    spend9_batch16: (await bench.execute(await many(BATCH, transfer9))) / BATCH,
    spend9_alone: await bench.execute([transfer9()]),
    private_transfer_without_update: await bench.execute([transfer()], false),
    root_update: await bench.execute([]),
    ...(await measureCredits(sender, pool, token)),
    ...(await measureTree(sender)),
  };
  return figuresOf(figures);
}

async function openByTwo(
  sender: Signer,
  {
    chainId,
    usdc,
    verifyingKeyHashes,
  }: Pick<Setting, "verifyingKeyHashes"> & { chainId: bigint; usdc: Address },
): Promise<{ readonly home: Home; readonly bench: Bench }> {
  const attesters = [attester(0), attester(1)];
  const { address: pool } = await deployPoolWithSigners(sender, {
    signers: attesters.map(({ address }) => address),
    threshold: 2,
    changeDelay: 60,
    assets: [usdc],
  });
  const home: Home = { chainId, pool };
  const setting: Setting = { home, verifyingKeyHashes, attesters };
  return { home, bench: new Bench(setting, new Contract(pool, POOL_ABI, sender)) };
}

function figuresOf(gas: Readonly<Record<string, number>>): Figures {
  const named = Object.entries(gas).map(([name, value]): [string, Figure] => [
    name,
    { value: Math.ceil(value), unit: "gas" },
  ]);
  return Object.fromEntries(named);
}

/** The tree on chain: a transaction that calls the hasher alone, calldata included, on an index in the middle of its parent. */
async function measureTree(sender: Signer): Promise<Record<string, number>> {
  const { address: to } = await deployContract(sender, "TreeHasher", []);
  const { abi } = await loadArtifact("TreeHasher");
  const fromIndex = 54_321n;
  const digits = Array.from({ length: TREE_DEPTH }, (_, level) => digitAt(fromIndex, level));
  const perLeaf = async (count: number): Promise<number> => {
    const nodes = Array.from({ length: digits.reduce((sum, digit) => sum + digit) }, randomField);
    const leaves = Array.from({ length: count }, randomField);
    const data = new Interface(abi).encodeFunctionData("append", [nodes, fromIndex, leaves]);
    const receipt = await (await sender.sendTransaction({ to, data })).wait();
    return Number(receipt!.gasUsed) / count;
  };
  return { tree_append_64_per_leaf: await perLeaf(64), tree_append_256_per_leaf: await perLeaf(256) };
}

/** What devices of users make, of notes that nobody has, under the newest root unless told. */
function users(
  home: Home,
  { usdc, weth, last }: Readonly<Record<"usdc" | "weth" | "last", Address>>,
  depositor: Signer,
  holder: Address,
  bench: Bench,
) {
  const common = {
    ...{ home, keys: SpendingKey.fromSeed(newSeed()), asset: usdc, deadline: DEADLINE },
    fees: { service: undefined, developer: undefined, total: 0n },
  };
  const spend = (payment: SpendPlan["payment"], root = bench.newestRoot, notes = 2): Member => {
    const inputs = Array.from({ length: notes }, () => nobodysNote(usdc, payment.value));
    return prepareSpend({ ...common, root, inputs, payment });
  };
  const payment = { type: "transfer", to: common.keys.viewing.address, value: 1n } as const;
  return {
    deposit: async (): Promise<Member> => {
      const terms = { amount: 25_000_000n, depositor: holder, validAfter: 0, validBefore: DEADLINE };
      const { statement } = prepareDeposit({ ...common, ...terms });
      const token = { name: "USD Coin", version: "2" };
      return { statement, authorization: await signAuthorization(depositor, statement, usdc, token) };
    },
    transfer: (root?: Field): Member => spend(payment, root),
    transfer9: (): Member => spend(payment, undefined, 9),
    withdrawal: (recipient: Address): Member => spend({ type: "withdraw", recipient, value: 1_500_000n }),
    swap: (isTwoHops = false): Member =>
      prepareSwap({
        ...common,
        root: bench.newestRoot,
        inputs: [nobodysNote(usdc, 1_500_000n)],
        sharesIn: 1_500_000n,
        tokenOut: isTwoHops ? last : weth,
        floor: 1n,
        path: isTwoHops
          ? { feeFirst: 500, middle: weth, feeSecond: 3_000 }
          : { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
      }),
  };
}

/** Uniswap v3: dollars – 500 – wrapped ether – 3000 – another token, whose liquidity no figure here exhausts. */
async function openMarket(
  sender: Signer,
  usdc: Address,
): Promise<{ weth: Address; last: Address; executor: Address }> {
  const uniswap = await deployUniswap(sender);
  const { weth } = uniswap;
  const last = (await deployContract(sender, "TestToken", ["Test Token", "TEST", 18])).address;
  const printed = new Contract(last, ["function mint(address to, uint256 value)"], sender);
  await transact(printed, "mint", await sender.getAddress(), 10n ** 24n);
  await wrapCoins(sender, weth, 2n * 10n ** 21n);
  await createUniswapPool(sender, uniswap, {
    tokenA: usdc,
    amountA: 2_500_000_000_000n,
    tokenB: weth,
    amountB: 10n ** 21n,
    fee: 500,
  });
  await createUniswapPool(sender, uniswap, {
    tokenA: weth,
    amountA: 10n ** 21n,
    tokenB: last,
    amountB: 10n ** 23n,
    fee: 3_000,
  });
  const { address: executor } = await deployContract(sender, "UniswapV3Executor", [uniswap.factory]);
  return { weth, last, executor };
}

/** The pool with the queue as everybody can follow it, so that each call brings the root update for its own leaves. */
class Bench {
  readonly roots: Field[] = [emptyNode(TREE_DEPTH)];
  readonly #setting: Setting;
  readonly #pool: Contract;
  #rooted: { count: bigint; head: Bytes32 } = { count: 0n, head: `0x${"00".repeat(32)}` as Bytes32 };
  #queue = this.#rooted;

  constructor(setting: Setting, pool: Contract) {
    this.#setting = setting;
    this.#pool = pool;
  }

  get newestRoot(): Field {
    return this.roots.at(-1)!;
  }

  /**
   * Gas used; throws when anything in the call was refused. The last leaf of a swap is known only afterwards, so
   * the update travels in a call of its own then, and counts.
   */
  async execute(members: readonly Member[], withUpdate = true): Promise<number> {
    const isKnown = members.every(({ statement }) => statement.kind !== "private-swap");
    if (isKnown) {
      for (const { statement } of members) statement.facts.commitments.forEach((leaf) => this.#append(leaf));
    }
    const receipt = await this.#send(members, withUpdate && isKnown);
    if (isKnown) return Number(receipt.gasUsed);
    for (const log of receipt.logs) {
      readExecuted(log)?.commitments.forEach((leaf) => this.#append(leaf));
      const event = this.#pool.interface.parseLog(log);
      if (event?.name === "NoteHashed") this.#append(event.args["commitment"] as bigint);
    }
    const update = withUpdate ? (await this.#send([], true)).gasUsed : 0n;
    return Number(receipt.gasUsed + update);
  }

  async #send(members: readonly Member[], withUpdate: boolean): Promise<ContractTransactionReceipt> {
    const update = withUpdate ? this.#update() : NO_UPDATE;
    const receipt = await transact(
      this.#pool,
      "execute",
      members.map((member) => this.#attested(member)),
      update,
    );
    const names = this.#logsOf(receipt).map(({ name }) => name);
    const wanted = [
      ...members.flatMap(({ statement }) =>
        statement.kind === "private-swap" ? ["Executed", "NoteHashed"] : ["Executed"],
      ),
      ...(withUpdate ? ["RootUpdated"] : []),
    ];
    if (String(names) !== String(wanted)) throw new Error(`the pool answered ${String(names)}`);
    return receipt;
  }

  #attested({ statement, authorization }: Member): PoolTransaction {
    const { home, verifyingKeyHashes, attesters } = this.#setting;
    const member = unsigned(statement, randomBytes(COMPRESSED_PROOF_BYTES), authorization);
    return attested(home, verifyingKeyHashes[statement.kind], member, attesters);
  }

  #logsOf(receipt: ContractTransactionReceipt): LogDescription[] {
    return receipt.logs
      .filter((log) => asAddress(log.address) === this.#setting.home.pool)
      .flatMap((log) => this.#pool.interface.parseLog(log) ?? []);
  }

  #append(commitment: bigint): void {
    this.#queue = { count: this.#queue.count + 1n, head: nextHead(this.#queue.head, commitment) };
  }

  #update(): PoolRootUpdate {
    const newRoot = randomField();
    const update = sealUpdate(
      this.#setting.home,
      {
        oldRoot: this.newestRoot,
        newRoot,
        fromIndex: this.#rooted.count,
        toIndex: this.#queue.count,
        headBefore: this.#rooted.head,
        headAfter: this.#queue.head,
      },
      this.#setting.attesters,
    );
    this.roots.push(newRoot);
    this.#rooted = this.#queue;
    return update;
  }
}

function payee(i: number): Address {
  return mustAddress(keccakHex(word(BigInt(i))).slice(0, 42));
}

if (import.meta.filename === process.argv[1]) {
  await runCommand(
    { help: HELP, options: { json: { type: "boolean" }, help: { type: "boolean" } } },
    async ({ values }) => {
      const figures = await measureGas();
      if (values.json === true) console.log(jsonLine("gas", describeMachine(), figures));
      else {
        for (const [name, { value }] of Object.entries(figures))
          console.log(`${name.padEnd(42)} ${value.toLocaleString("en-US").padStart(9)} gas`);
      }
      return 0;
    },
  );
}
