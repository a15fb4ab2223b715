/** What the chain itself, and strangers on it, do in a scenario; through anvil's own calls and ordinary transactions. */
import { Interface, Transaction } from "ethers";
import { NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { EXECUTED_TOPIC } from "../../../shared/protocol/host/executed-log.ts";
import { Blocks, hex } from "./blocks.ts";
import { CONFIRMATIONS, type Prebuilt, type World } from "./world.ts";

const POOL = new Interface(POOL_ABI);
const GWEI = 1_000_000_000n;
/** More than any proxy bids, so that a stranger's transaction comes first in its block. */
const STRANGERS_FEES = { maxFeePerGas: hex(5_000n * GWEI), maxPriorityFeePerGas: hex(50n * GWEI) };
const STRANGERS_GAS = hex(8_000_000);

export class ChainMoves extends Blocks {
  readonly #world: World;
  /** Raw bytes of the transactions that went through a relay, by hash. */
  readonly #sent: () => ReadonlyMap<string, string>;
  readonly #foreign: Prebuilt[];
  #racing = 0;
  /** Statements that the pool refused, or did not reach in a call that failed as a whole, in a block that stands or stood. */
  readonly rejected = new Set<string>();
  /** Statements that were executed when blocks were about to be taken back. */
  readonly executedBefore = new Set<string>();
  /** Transactions of strangers that went first. */
  races = 0;

  constructor(world: World, sent: () => ReadonlyMap<string, string>) {
    const { rpc, height, sender } = world;
    super({ rpc, height, sender, confirmations: CONFIRMATIONS }, sent);
    this.#world = world;
    this.#sent = sent;
    this.#foreign = [...world.foreign];
  }

  /** With a stranger's deposit in front of each block while he races. */
  override async mine(blocks: number): Promise<void> {
    let left = blocks;
    for (; left > 0 && this.#racing > 0; left--) {
      this.#racing -= 1;
      const foreign = this.#foreign.shift();
      if (foreign !== undefined) {
        await this.#send(this.#world.stranger, foreign.call);
        this.races += 1;
      }
      await super.mine(1);
    }
    if (left > 0) await super.mine(left);
  }

  race(blocks: number): void {
    this.#racing += blocks;
  }

  async #send(from: string, data: string): Promise<string> {
    const { pool: to } = this.#world.entry;
    return (await this.#world.rpc("eth_sendTransaction", [
      { from, to, data, gas: STRANGERS_GAS, ...STRANGERS_FEES },
    ])) as string;
  }

  /** Somebody's call of the pool, first in the next block, which is made. False when it reverted. */
  async act(from: string, data: string): Promise<boolean> {
    await this.#world.rpc("anvil_impersonateAccount", [from]);
    const hash = await this.#send(from, data);
    await this.mine(1);
    const receipt = (await this.#world.rpc("eth_getTransactionReceipt", [hash])) as { status: string } | null;
    return receipt?.status === "0x1";
  }

  /** Their owner's transaction, proved; mined with the next block. */
  async prove(name: string): Promise<void> {
    const proved = this.#world.proved.find((each) => each.name === name);
    if (proved === undefined) throw new RangeError(`nothing proved is ${name}`);
    await this.#world.rpc("anvil_impersonateAccount", [this.#world.lone]);
    await this.#send(this.#world.lone, proved.call);
  }

  /** A stranger's transaction with our call, or with its last member alone, mined before ours. False when nothing waited. */
  async copy(part: "whole" | "last-member"): Promise<boolean> {
    const waiting = await this.waiting();
    if (waiting === undefined) return false;
    await this.#send(this.#world.stranger, part === "whole" ? waiting.input : lastMemberOf(waiting.input));
    await this.mine(1);
    return true;
  }

  protected override async beforeOrphaning(): Promise<void> {
    await this.noteRejected();
    for (const { topics } of await this.logs(this.#world.height + 1))
      if (topics[0] === EXECUTED_TOPIC) this.executedBefore.add(topics[1]!);
  }

  async noteRejected(): Promise<void> {
    for (const { topics, data } of await this.logs(this.#world.height + 1)) {
      const event = POOL.parseLog({ topics: [...topics], data });
      if (event?.name === "Rejected") this.rejected.add(String(event.args["statementHash"]));
    }
    for (const [hash, raw] of this.#sent()) {
      const receipt = (await this.#world.rpc("eth_getTransactionReceipt", [hash])) as {
        status: string;
      } | null;
      if (receipt?.status !== "0x0") continue;
      const members = new Set(membersOf(Transaction.from(raw).data).map(String));
      for (const { call, statement } of this.#world.prebuilt)
        if (membersOf(call).some((member) => members.has(String(member)))) this.rejected.add(statement);
    }
  }

  async logs(fromBlock: number): Promise<
    readonly {
      readonly topics: readonly string[];
      readonly data: string;
      readonly blockNumber: string;
      readonly logIndex: string;
      readonly transactionHash: string;
    }[]
  > {
    const range = { address: this.#world.entry.pool, fromBlock: hex(fromBlock), toBlock: "latest" };
    return (await this.#world.rpc("eth_getLogs", [range])) as never;
  }
}

/** Of each member of a call, what it states; an `advance` has none. */
function membersOf(input: string): readonly bigint[][] {
  if (!isExecute(input)) return [];
  const [members] = POOL.decodeFunctionData("execute", input) as unknown as [{ signals: bigint[] }[]];
  return [...members].map(({ signals }) => [...signals]);
}

function lastMemberOf(input: string): string {
  if (!isExecute(input)) return input;
  const [members] = POOL.decodeFunctionData("execute", input) as unknown as [unknown[][]];
  const last = members.at(-1);
  // A root update alone has none: then it is copied as it is.
  return last === undefined ? input : POOL.encodeFunctionData("execute", [[[...last]], NO_UPDATE]);
}

function isExecute(input: string): boolean {
  return input.startsWith(POOL.getFunction("execute")!.selector);
}
