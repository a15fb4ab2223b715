// What each operation of the pool costs, measured on anvil in the state of a pool in use: recycled
// checkpoints, known signers, accounts that hold a balance. The pool does not look into proofs, so these are random bytes of their size.
import {
  Contract,
  HDNodeWallet,
  JsonRpcProvider,
  NonceManager,
  type ContractTransactionReceipt,
  type LogDescription,
  type ContractTransactionResponse,
  type Signer,
} from "ethers";
import { POOL_ABI, TOKEN_ABI } from "../../shared/contracts/abi.ts";
import {
  asAddress,
  mustField,
  ZERO_ADDRESS,
  type Address,
  type Bytes32,
} from "../../shared/protocol/brands.ts";
import { emptyNode, nextHead, TREE_DEPTH } from "../../shared/protocol/tree.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil } from "../stack/anvil.ts";
import {
  attester,
  authorize,
  depositDraft,
  drawBytes,
  drawField,
  NO_UPDATE,
  seal,
  sealUpdate,
  spendDraft,
  swapDraft,
  type PoolRootUpdate,
  type Draft,
  type Sealed,
  type Setting,
} from "../stack/statement-maker.ts";
import { createUniswapPool, deployUniswap, mustAddress, wrapCoins } from "../stack/uniswap.ts";
import { committedKeyHashes, deployContract, deployPool, deployTestUsdc } from "../product/deploy.ts";
import { describeMachine, jsonLine, type Figure, type Figures } from "./bench/figures.ts";
import { runCommand } from "./command.ts";

const HELP = `Usage: npm run gas [-- --json]

Deploys pool, test dollar and Uniswap v3 on a fresh anvil and prints gas per operation, calldata and root update included.

  --json   one JSON object last, as described for benchmarks
  --help   this text`;

const BATCH = 16;

export async function measureGas(): Promise<Figures> {
  const anvil = await startAnvil();
  const provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
  try {
    const wallet = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/0");
    return await measureOn(new NonceManager(wallet.connect(provider)), wallet, BigInt(anvil.chainId));
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
  const { address: pool } = await deployPool(sender, {
    signers: attesters.map((a) => a.address),
    threshold: 1,
    changeDelay: 60,
    assets: [usdc, weth, last],
    executor,
  });
  const setting: Setting = {
    home: { chainId, pool },
    deadline: 4_000_000_000n,
    verifyingKeyHashes,
    attesters,
  };
  const bench = new Bench(setting, new Contract(pool, POOL_ABI, sender));

  const holder = mustAddress(await depositor.getAddress());
  const recipients = Array.from({ length: 64 }, (_, i) => payee(i));
  for (const account of [holder, ...recipients]) await transact(token, "mint", account, 10n ** 12n);

  const deposit = (): Promise<Sealed> =>
    authorize(
      depositor,
      seal(depositDraft(setting, { asset: usdc, amount: 25_000_000n, depositor: holder })),
    );
  const given = { asset: usdc, amount: 1_500_000n };
  const oneHop = { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 };
  const twoHops = { feeFirst: 500, middle: weth, feeSecond: 3_000 };
  return measureKinds(bench, deposit, {
    transfer: (root) => spendDraft(setting, root, undefined),
    transfer9: (root) => spendDraft(setting, root, undefined, "spend9"),
    withdrawal: (root, i) => spendDraft(setting, root, { ...given, recipient: recipients[i]! }),
    swap: (root) => swapDraft(setting, root, { ...given, tokenOut: weth, path: oneHop }),
    swapTwoHops: (root) => swapDraft(setting, root, { ...given, tokenOut: last, path: twoHops }),
  });
}

type Kind = "transfer" | "transfer9" | "withdrawal" | "swap" | "swapTwoHops";

async function measureKinds(
  bench: Bench,
  deposit: () => Promise<Sealed>,
  drafts: Readonly<Record<Kind, (root: bigint, i: number) => Draft>>,
): Promise<Figures> {
  const members = (kind: Kind, count: number, from = 0): Sealed[] =>
    Array.from({ length: count }, (_, i) => seal(drafts[kind](bench.newestRoot, from + i)));
  const alone = (kind: Kind): Promise<number> => bench.execute(members(kind, 1, BATCH));
  const batched = async (kind: Kind): Promise<number> => (await bench.execute(members(kind, BATCH))) / BATCH;
  const deposits = (count: number): Promise<Sealed[]> => Promise.all(Array.from({ length: count }, deposit));

  // A pool in use: some history of roots, and money.
  for (let i = 0; i < 20; i++) await bench.execute(await deposits(1));
  for (const kind of ["swap", "swapTwoHops", "swap", "swapTwoHops"] as const) await alone(kind);

  const older = bench.roots.slice(-BATCH);
  const onOlder = (): Sealed[] => older.map((root) => seal(drafts.transfer(root, 0)));
  const figures: Record<string, number> = {
    private_transfer_batch16: await batched("transfer"),
    private_transfer_batch16_distinct_roots: (await bench.execute(onOlder())) / BATCH,
    private_transfer_alone: await alone("transfer"),
    deposit: (await bench.execute(await deposits(BATCH))) / BATCH,
    deposit_alone: await bench.execute(await deposits(1)),
    withdrawal: await batched("withdrawal"),
    withdrawal_alone: await alone("withdrawal"),
    swap: await batched("swap"),
    swap_alone: await alone("swap"),
    swap_two_hops: await batched("swapTwoHops"),
    spend9_batch16: await batched("transfer9"),
    spend9_alone: await alone("transfer9"),
    private_transfer_without_update: await bench.execute(members("transfer", 1), false),
    root_update: await bench.execute([]),
  };
  const named = Object.entries(figures).map(([name, value]): [string, Figure] => [
    name,
    { value: Math.ceil(value), unit: "gas" },
  ]);
  return Object.fromEntries(named);
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
  readonly roots: bigint[] = [emptyNode(TREE_DEPTH)];
  readonly #setting: Setting;
  readonly #pool: Contract;
  #rooted: { count: bigint; head: Bytes32 } = { count: 0n, head: `0x${"00".repeat(32)}` as Bytes32 };
  #queue = this.#rooted;

  constructor(setting: Setting, pool: Contract) {
    this.#setting = setting;
    this.#pool = pool;
  }

  get newestRoot(): bigint {
    return this.roots.at(-1) ?? 0n;
  }

  /**
   * Gas used; throws when anything in the call was refused. The last leaf of a swap is known only afterwards, so
   * the update travels in a call of its own then, and counts.
   */
  async execute(members: readonly Sealed[], withUpdate = true): Promise<number> {
    const isKnown = members.every(({ draft }) => draft.kind !== "private-swap");
    if (isKnown) {
      for (const { draft } of members) draft.commitments.forEach((commitment) => this.#append(commitment));
    }
    const receipt = await this.#send(members, withUpdate && isKnown);
    if (isKnown) return Number(receipt.gasUsed);
    for (const log of this.#logsOf(receipt)) {
      if (log.name === "Executed")
        (log.args["commitments"] as bigint[]).forEach((leaf) => this.#append(leaf));
      if (log.name === "NoteHashed") this.#append(log.args["commitment"] as bigint);
    }
    const update = withUpdate ? (await this.#send([], true)).gasUsed : 0n;
    return Number(receipt.gasUsed + update);
  }

  async #send(members: readonly Sealed[], withUpdate: boolean): Promise<ContractTransactionReceipt> {
    const update = withUpdate ? this.#update() : NO_UPDATE;
    const receipt = await transact(
      this.#pool,
      "execute",
      members.map(({ transaction }) => transaction),
      update,
    );
    const names = this.#logsOf(receipt).map(({ name }) => name);
    const wanted = [
      ...members.flatMap(({ draft }) =>
        draft.kind === "private-swap" ? ["Executed", "NoteHashed"] : ["Executed"],
      ),
      ...(withUpdate ? ["RootUpdated"] : []),
    ];
    if (String(names) !== String(wanted)) throw new Error(`the pool answered ${String(names)}`);
    return receipt;
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
    const newRoot = drawField();
    const update = sealUpdate(
      this.#setting.home,
      {
        oldRoot: mustField(this.newestRoot),
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

async function transact(
  contract: Contract,
  name: string,
  ...args: readonly unknown[]
): Promise<ContractTransactionReceipt> {
  const sent = (await contract.getFunction(name)(...args)) as ContractTransactionResponse;
  const receipt = await sent.wait();
  if (receipt === null) throw new Error(`${name} was not mined`);
  return receipt;
}

function payee(i: number): Address {
  return mustAddress(`0x${Buffer.from(drawBytes(19)).toString("hex")}${String(10 + i).slice(0, 2)}`);
}

if (import.meta.filename === process.argv[1]) {
  await runCommand(HELP, { options: { json: { type: "boolean" } } }, async ({ values }) => {
    const figures = await measureGas();
    if (values.json === true) console.log(jsonLine("gas", describeMachine(), figures));
    else {
      for (const [name, { value }] of Object.entries(figures))
        console.log(`${name.padEnd(42)} ${value.toLocaleString("en-US").padStart(9)} gas`);
    }
    return 0;
  });
}
