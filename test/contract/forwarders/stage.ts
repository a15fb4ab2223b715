// Forwarders beside a real pool, with CCTP's stand-in on the same chain or on a second one, and terms that a test may bend.
import { randomBytes } from "node:crypto";
import {
  Contract,
  Interface,
  JsonRpcProvider,
  toQuantity,
  type ContractTransactionReceipt,
  type JsonRpcSigner,
  type LogDescription,
} from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract, deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { deployForwarders } from "../../../scripts/deploy/forwarders.ts";
import { acceptRemote, asRemote, deployCctp, type Cctp } from "../../../scripts/stand-ins/cctp.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { FORWARDERS_ABI, POOL_ABI } from "../../../shared/contracts/abi.ts";
import { ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import {
  inAddress,
  outAddress,
  paddedAddress,
  sourceAddress,
  type Factory,
  type InTerms,
  type Lane,
  type OutTerms,
  type Receiver,
  type SourceTerms,
} from "../../../shared/protocol/host/forwarders.ts";
import { CIPHERTEXT_BYTES } from "../../../shared/protocol/statements.ts";
import { drawField } from "../../support/drafts.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { freshAddress, mustAddress, World, type WorldOptions } from "../pool/world.ts";

export const MINIMUM = 1_000_000n;
export const CEILING = 200_000n;
export const DAY = 86_400;
export const HOME_DOMAIN = 3;
export const SECOND_DOMAIN = 6;
/** Of the attesters: rising order of address is theirs to keep. */
export const ATTESTERS = [attester(0), attester(1)];

/** A fault by the name that its selector has in pool, forwarders or CCTP; the latter's words. */
const ERRORS = new Interface([...fragmentsOf("error"), "error Refused(address account)"]);
const EVENTS = new Interface(fragmentsOf("event"));

function fragmentsOf(type: "error" | "event"): string[] {
  const fragments = new Set([...POOL_ABI, ...FORWARDERS_ABI]);
  return [...fragments].filter((fragment) => fragment.startsWith(`${type} `));
}

export interface Fault {
  readonly error: string;
  readonly args: readonly unknown[];
}

export function faultOf(data: string): Fault {
  const parsed = ERRORS.parseError(data);
  if (parsed === null) return { error: data, args: [] };
  return { error: parsed.name, args: [...(parsed.args as unknown as unknown[])] };
}

export function someone(changes: Partial<Receiver> = {}): Receiver {
  return {
    npk: drawField(),
    ephemeralKey: Uint8Array.from(randomBytes(32)),
    ciphertext: Uint8Array.from(randomBytes(CIPHERTEXT_BYTES)),
    ...changes,
  };
}

/** One chain's forwarders and token. */
export class Place {
  readonly provider: JsonRpcProvider;
  readonly owner: JsonRpcSigner;
  readonly factory: Factory;
  readonly forwarders: Contract;
  readonly usdc: Contract;
  readonly cctp: Cctp;

  private constructor(
    provider: JsonRpcProvider,
    owner: JsonRpcSigner,
    factory: Factory,
    usdc: Contract,
    cctp: Cctp,
  ) {
    this.provider = provider;
    this.owner = owner;
    this.factory = factory;
    this.forwarders = new Contract(factory.address, FORWARDERS_ABI, owner);
    this.usdc = usdc;
    this.cctp = cctp;
  }

  static async open(provider: JsonRpcProvider, domain: number, usdc?: Address): Promise<Place> {
    const owner = await provider.getSigner(0);
    const token = usdc ?? (await deployTestUsdc(owner)).address;
    const factory = await deployForwarders(owner);
    const attesters = ATTESTERS.map(({ address }) => address);
    const feeRecipient = mustAddress(owner.address);
    const cctp = await deployCctp(owner, { domain, token, attesters, threshold: 2, feeRecipient });
    const { abi } = await loadArtifact("TestUSDC");
    return new Place(provider, owner, factory, new Contract(token, abi, owner), cctp);
  }

  get token(): Address {
    return this.cctp.token;
  }

  account(n: number): Promise<JsonRpcSigner> {
    return this.provider.getSigner(n);
  }

  balance(account: string, token: Contract = this.usdc): Promise<bigint> {
    return token.getFunction("balanceOf")(account);
  }

  async mint(to: Address, amount: bigint, token: Contract = this.usdc): Promise<void> {
    await (await token.getFunction("mint")(to, amount)).wait();
  }

  async deploy(name: string, ...args: unknown[]): Promise<Contract> {
    const { address } = await deployContract(this.owner, name, args);
    return new Contract(address, (await loadArtifact(name)).abi, this.owner);
  }

  /** Events of pool and forwarders, in order. */
  async call(name: string, ...args: readonly unknown[]): Promise<LogDescription[]> {
    return this.callAs(this.owner, name, ...args);
  }

  async callAs(sender: JsonRpcSigner, name: string, ...args: readonly unknown[]): Promise<LogDescription[]> {
    return eventsOf(await this.receiptOf(sender, name, ...args));
  }

  async receiptOf(
    sender: JsonRpcSigner,
    name: string,
    ...args: readonly unknown[]
  ): Promise<ContractTransactionReceipt> {
    const contract = new Contract(this.forwarders.target, FORWARDERS_ABI, sender);
    const method = contract.getFunction(name);
    // An estimate is of this second: in the next one the pool's bucket may write a word more.
    const gasLimit = ((await method.estimateGas(...args)) * 3n) / 2n;
    return (await method(...args, { gasLimit })).wait();
  }

  /** The fault with which a call reverts. */
  async fault(name: string, ...args: readonly unknown[]): Promise<Fault> {
    return this.faultAs(this.owner, name, ...args);
  }

  async faultAs(sender: JsonRpcSigner, name: string, ...args: readonly unknown[]): Promise<Fault> {
    try {
      await this.receiptOf(sender, name, ...args);
    } catch (error) {
      const { data } = error as { data?: string };
      if (typeof data === "string") return faultOf(data);
      throw error;
    }
    throw new Error(`${name} did not revert`);
  }

  async since(vault: Address, token = this.token): Promise<readonly [at: bigint, amount: bigint]> {
    const [at, amount] = (await this.forwarders.getFunction("since")(vault, token)) as [bigint, bigint];
    return [at, amount];
  }

  async pass(seconds: number): Promise<void> {
    await this.provider.send("evm_increaseTime", [seconds]);
    await this.provider.send("evm_mine", []);
  }

  /** The result brings the chain back, once. */
  async remember(): Promise<() => Promise<void>> {
    const id = (await this.provider.send("evm_snapshot", [])) as string;
    return async () => {
      await this.provider.send("evm_revert", [id]);
    };
  }
}

/** The pool's chain. */
export class Stage {
  readonly world: World;
  readonly home: Place;

  private constructor(world: World, home: Place) {
    this.world = world;
    this.home = home;
  }

  /** A burn needs somebody on the other side: here it is nobody. */
  static async open(options: WorldOptions = {}): Promise<Stage> {
    const stage = await Stage.openAlone(options);
    const far = { domain: SECOND_DOMAIN, messenger: paddedAddress(freshAddress()), token: ZERO_BYTES32 };
    await acceptRemote(stage.home.owner, stage.home.cctp, far);
    return stage;
  }

  static async openAlone(options: WorldOptions = {}): Promise<Stage> {
    const world = await World.start(options);
    try {
      return new Stage(world, await Place.open(world.provider, HOME_DOMAIN, world.usdcAddress));
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  get pool(): Address {
    return this.world.setting.home.pool;
  }

  stop(): Promise<void> {
    return this.world.stop();
  }

  inTerms(changes: Partial<InTerms> = {}): InTerms {
    return {
      ...{ pool: this.pool, asset: this.home.token, receiver: someone(), feeCeiling: CEILING },
      ...{ minimum: MINIMUM, collector: mustAddress(this.home.owner.address), refund: freshAddress() },
      ...changes,
    };
  }

  /** With that much at its address. */
  async paidIn(amount: bigint, changes: Partial<InTerms> = {}): Promise<readonly [InTerms, Address]> {
    const terms = this.inTerms(changes);
    const vault = inAddress(terms, this.home.factory);
    await this.home.mint(vault, amount);
    return [terms, vault];
  }

  outTerms(changes: Partial<OutTerms> = {}, exit: Partial<OutTerms["exit"]> = {}): OutTerms {
    return {
      ...{
        pool: this.pool,
        asset: this.home.token,
        feeCeiling: CEILING,
        minimum: MINIMUM,
        refund: someone(),
      },
      exit: {
        ...{ messenger: this.home.cctp.messenger, domain: SECOND_DOMAIN },
        ...{ recipient: paddedAddress(freshAddress()), caller: ZERO_BYTES32, hook: new Uint8Array() },
        ...exit,
      },
      ...changes,
    };
  }

  async paidOut(
    amount: bigint,
    changes: Partial<OutTerms> = {},
    exit: Partial<OutTerms["exit"]> = {},
  ): Promise<readonly [OutTerms, Address]> {
    const terms = this.outTerms(changes, exit);
    const vault = outAddress(terms, this.home.factory);
    await this.home.mint(vault, amount);
    return [terms, vault];
  }
}

/** A second chain whose burns arrive at home. */
export class Second {
  readonly place: Place;
  readonly #anvil: Anvil;

  private constructor(place: Place, anvil: Anvil) {
    this.place = place;
    this.#anvil = anvil;
  }

  static async open(chainId = 31_338): Promise<Second> {
    const anvil = await startAnvil({ chainId });
    const options = { staticNetwork: true, cacheTimeout: -1, pollingInterval: 10 };
    const provider = new JsonRpcProvider(anvil.url, anvil.chainId, options);
    return new Second(await Place.open(provider, SECOND_DOMAIN), anvil);
  }

  async stop(): Promise<void> {
    this.place.provider.destroy();
    await this.#anvil.stop();
  }

  lane(changes: Partial<Lane> = {}): Lane {
    const { token, messenger } = this.place.cctp;
    return {
      ...{ chainId: BigInt(this.#anvil.chainId), token, messenger },
      ...{ domain: HOME_DOMAIN, minimum: MINIMUM, feeCeiling: CEILING },
      ...changes,
    };
  }

  /** To that recipient, with that much at its address. */
  async paid(
    amount: bigint,
    recipient: Address,
    lanes: readonly Lane[] = [this.lane()],
  ): Promise<readonly [SourceTerms, Address]> {
    const terms = { recipient: paddedAddress(recipient), lanes, refund: freshAddress() };
    const vault = sourceAddress(terms, this.place.factory);
    await this.place.mint(vault, amount);
    return [terms, vault];
  }
}

/** Each mints for what the other burns. */
export async function link(here: Place, there: Place): Promise<void> {
  await acceptRemote(there.owner, there.cctp, asRemote(here.cctp));
  await acceptRemote(here.owner, here.cctp, asRemote(there.cctp));
}

export function eventsOf({ logs }: { readonly logs: ContractTransactionReceipt["logs"] }): LogDescription[] {
  return logs.flatMap((log) => EVENTS.parseLog(log) ?? []);
}

export function named(events: readonly LogDescription[], name: string): LogDescription[] {
  return events.filter((event) => event.name === name);
}

export interface SimulatedCall {
  readonly isDone: boolean;
  /** Of pool and forwarders. */
  readonly said: readonly LogDescription[];
  /** Every contract's. */
  readonly log: string;
  readonly logs: readonly { readonly address: string; readonly topics: string[]; readonly data: string }[];
  readonly after: readonly string[];
}

/** eth_simulateV1: a call to the forwarders, and what the calls in `then` answer after it. Nothing is kept. */
export async function simulateCall(
  place: Place,
  data: string,
  then: readonly { readonly to: string; readonly data: string }[],
): Promise<SimulatedCall> {
  const from = place.owner.address;
  const calls = [
    { from, to: place.factory.address, data, gas: toQuantity(8_000_000) },
    ...then.map((each) => ({ from, ...each })),
  ];
  const answer: unknown = await place.provider.send("eth_simulateV1", [
    { blockStateCalls: [{ calls }], validation: false },
    "latest",
  ]);
  type Answer = { status: string; returnData: string; logs: SimulatedCall["logs"] };
  const [call, ...rest] = (answer as [{ calls: Answer[] }])[0].calls;
  const logs = call!.logs.map(({ address, topics, data: bytes }) => ({ address, topics, data: bytes }));
  return {
    isDone: call!.status === "0x1",
    said: logs.flatMap((log) => EVENTS.parseLog(log) ?? []),
    log: JSON.stringify(logs),
    logs,
    after: rest.map(({ returnData }) => returnData),
  };
}
