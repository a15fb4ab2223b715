// Two chains with the real contracts, a real pool on the first and the attester's own process, and no service at all.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { base58 } from "@scure/base";
import { Contract, Interface, JsonRpcProvider, toBeHex, Wallet as Account, ZeroHash } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { deployForwarders } from "../../../scripts/deploy/forwarders.ts";
import { startAnvil, type Anvil } from "../../../scripts/stand-ins/anvil.ts";
import {
  attesterAddresses,
  startAttester,
  type RunningAttester,
} from "../../../scripts/stand-ins/venues/attester/start.ts";
import { poll } from "../../../scripts/base/poll.ts";
import { deployCctp, type CctpContracts } from "../../../scripts/stand-ins/venues/cctp-contracts.ts";
import { recoverBridges, type Recovery, type RecoveryOptions } from "../../../shared/client/chain.ts";
import type { Pins } from "../../../shared/client/index.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { openOutput } from "../../../shared/notes/encryption.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { completeNote } from "../../../shared/notes/measured-note.ts";
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { mustFromHex, toBytes32 } from "../../../shared/protocol/bytes.ts";
import { addressToWord } from "../../../shared/protocol/host/cctp.ts";
import type { Factory } from "../../../shared/protocol/host/forwarders.ts";
import type { TestAltchain } from "../../support/altchain.ts";
import { LonePool } from "../../support/lone-pool.ts";
import { standInProver } from "./stand-in.ts";

export type BridgePins = NonNullable<Pins["bridges"]>;

export const MINIMUM = 5_000_000n;
export const CEILING = 1_000_000n;
export const REFUND = "0x00000000000000000000000000000000000000d1" as Address;
export const ACCOUNT = "0x00000000000000000000000000000000000000d2" as Address;
export const PAYEE = "0x00000000000000000000000000000000000000d3" as Address;
const bounds = { minimum: MINIMUM, feeCeiling: CEILING };
const POOL = new Interface(POOL_ABI);

const ALT_DOMAIN = 5;
const ALT_MESSENGER = addressToWord("0x00000000000000000000000000000000000000a5" as Address);
const altToken = ({ token }: TestAltchain) => toBytes32(base58.decode(token.mint));

const DEPOSIT_FOR_BURN =
  "function depositForBurn(uint256 amount, uint32 domain, bytes32 recipient, address token, bytes32 caller, uint256 maxFee, uint32 finality)";

interface StrangersBurn {
  readonly caller: string;
  readonly maxFee: bigint;
  readonly finality: number;
}

export class RecoveryStage {
  readonly lone: LonePool;
  readonly second: JsonRpcProvider;
  readonly attester: RunningAttester;
  readonly factory: Factory;
  readonly pins: BridgePins;
  readonly #anvil: Anvil;
  readonly #cctp: readonly CctpContracts[];
  readonly #folder: string;
  /** Pay for gas, and are nobody's. */
  readonly #senders: readonly [Account, Account];

  private constructor(made: {
    readonly lone: LonePool;
    readonly second: JsonRpcProvider;
    readonly attester: RunningAttester;
    readonly factory: Factory;
    readonly anvil: Anvil;
    readonly cctp: readonly CctpContracts[];
    readonly folder: string;
    readonly senders: readonly [Account, Account];
    readonly altchain: TestAltchain | undefined;
  }) {
    this.lone = made.lone;
    this.second = made.second;
    this.attester = made.attester;
    this.factory = made.factory;
    this.#anvil = made.anvil;
    this.#cctp = made.cctp;
    this.#folder = made.folder;
    this.#senders = made.senders;
    const [home, second] = made.cctp as [CctpContracts, CctpContracts];
    this.pins = {
      ...{ factory: this.factory.address, vaultCodeHash: this.factory.vaultCodeHash },
      collector: "0x00000000000000000000000000000000000000d4",
      assets: { [this.lone.asset]: bounds },
      lanes: [
        {
          ...{ chainId: made.anvil.chainId, token: second.usdc, messenger: second.messenger },
          ...{ domain: home.domain, ...bounds },
        },
      ],
      exits: {
        // No contract there: a burn by it cannot come about.
        perpvenue: {
          ...{ messenger: PAYEE, domain: 19, caller: addressToWord(PAYEE) },
          ...bounds,
        },
        chains: [
          {
            ...{ chainId: made.anvil.chainId, messenger: home.messenger },
            ...{ domain: second.domain, ...bounds },
          },
        ],
      },
      ...(made.altchain === undefined ? {} : { altchain: { ...made.altchain.token, domain: home.domain } }),
    };
  }

  /** With the other blockchain where one is given: its burns are attested, too. */
  static async open(altchain?: TestAltchain): Promise<RecoveryStage> {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-recovery-"));
    const lone = await LonePool.start(standInProver);
    const anvil = await startAnvil({ chainId: 31_338 });
    const second = new JsonRpcProvider(anvil.url, anvil.chainId, {
      ...{ staticNetwork: true, cacheTimeout: -1, pollingInterval: 20 },
    });
    const owners = [await lone.provider.getSigner(0), await second.getSigner(0)] as const;
    const usdc = (await deployTestUsdc(owners[1])).address;
    const factory = await deployForwarders(owners[0]);
    await deployForwarders(owners[1]);
    const cctp = await deployCctp({
      chains: [
        { domain: 3, owner: owners[0], usdc: lone.asset },
        { domain: 6, owner: owners[1], usdc },
      ],
      attesters: await attesterAddresses(folder),
      foreign: [
        { domain: 19, messenger: addressToWord(PAYEE), token: addressToWord(PAYEE) },
        ...(altchain === undefined
          ? []
          : [{ domain: ALT_DOMAIN, messenger: ALT_MESSENGER, token: altToken(altchain) }]),
      ],
    });
    const urls = [lone.anvil.url, anvil.url];
    const attester = await startAttester({
      ...{ folder, logFile: path.join(folder, "log") },
      settings: {
        chains: cctp.map(({ domain, transmitter, messenger }, at) => ({
          ...{ domain, transmitter, messenger, rpc: urls[at]!, final_blocks: 2 },
        })),
        ...(altchain === undefined
          ? {}
          : {
              altchain: {
                ...{ domain: ALT_DOMAIN, messenger: ALT_MESSENGER },
                ...{ rpc: altchain.url, mint: altchain.token.mint },
              },
            }),
        poll_ms: 50,
      },
    });
    const senders = [await lone.account(), new Account(Account.createRandom().privateKey, second)] as const;
    await second.send("anvil_setBalance", [senders[1].address, toBeHex(10n ** 20n)]);
    return new RecoveryStage({ lone, second, attester, factory, anvil, cctp, folder, senders, altchain });
  }

  async stop(): Promise<void> {
    await this.attester.stop();
    this.second.destroy();
    await this.#anvil.stop();
    await this.lone.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  keys(seed: number): SpendingKey {
    return SpendingKey.fromSeed(new Uint8Array(32).fill(seed));
  }

  get urls(): readonly [string, string] {
    return [this.lone.anvil.url, this.#anvil.url];
  }
  get secondChain(): number {
    return this.#anvil.chainId;
  }

  /** Money from nowhere. */
  async pay(chain: "home" | "second", to: string, amount: bigint): Promise<void> {
    const provider = chain === "home" ? this.lone.provider : this.second;
    const { usdc } = this.#cctp[chain === "home" ? 0 : 1]!;
    const { abi } = await loadArtifact("TestUSDC");
    const token = new Contract(usdc, abi, await provider.getSigner(0));
    await ((await token.getFunction("mint")(to, amount)) as { wait(): Promise<unknown> }).wait();
  }

  /** On the second chain, towards any address of the first. */
  async burnByStranger(to: Address, amount: bigint, bend: Partial<StrangersBurn> = {}): Promise<void> {
    const { caller = ZeroHash, maxFee = 0n, finality = 2_000 } = bend;
    const [{ domain }, { usdc, messenger }] = this.#cctp as readonly [CctpContracts, CctpContracts];
    const stranger = await this.second.getSigner(0);
    await this.pay("second", await stranger.getAddress(), amount);
    const token = new Contract(usdc, ["function approve(address, uint256)"], stranger);
    await (await token.getFunction("approve").send(messenger, amount)).wait();
    const burner = new Contract(messenger, [DEPOSIT_FOR_BURN], stranger);
    const args = [amount, domain, addressToWord(to), usdc, caller, maxFee, finality];
    await (await burner.getFunction("depositForBurn").send(...args)).wait();
  }

  /** What the contract on the first chain takes of every burn, in ten-millionths. */
  async takeFee(fee: bigint): Promise<void> {
    const owner = await this.lone.provider.getSigner(0);
    const messenger = new Contract(this.messengers[0]!, ["function setMinFee(uint256)"], owner);
    await (await messenger.getFunction("setMinFee").send(fee)).wait();
  }

  get messengers(): readonly Address[] {
    return this.#cctp.map(({ messenger }) => messenger);
  }

  async balance(chain: "home" | "second", of: string): Promise<bigint> {
    const provider = chain === "home" ? this.lone.provider : this.second;
    const { usdc } = this.#cctp[chain === "home" ? 0 : 1]!;
    const { abi } = await loadArtifact("TestUSDC");
    return (await new Contract(usdc, abi as never, provider).getFunction("balanceOf")(of)) as bigint;
  }

  recover(seed: number, changes: Partial<RecoveryOptions> = {}): Promise<Recovery> {
    const [home, second] = this.urls;
    return recoverBridges({
      ...{ keys: this.keys(seed), pool: this.lone.pool, assets: [this.lone.asset], bridges: this.pins },
      home: { chainId: this.lone.anvil.chainId, rpc: home, sender: this.#senders[0] },
      chains: [{ chainId: this.secondChain, rpc: second, sender: this.#senders[1] }],
      attestations: this.attester.url,
      ...{ refundAddresses: [REFUND], accounts: [ACCOUNT] },
      recipients: [{ chainId: this.secondChain, address: PAYEE }],
      ...changes,
    });
  }

  /** Blocks on top of everything, on both chains. */
  async mine(): Promise<void> {
    for (const provider of [this.lone.provider, this.second]) await provider.send("anvil_mine", ["0x3"]);
  }

  /** The attester signs when it sees fit. */
  async recoverUntil(
    seed: number,
    isDone: (recovery: Recovery) => boolean,
    changes: Partial<RecoveryOptions> = {},
  ): Promise<Recovery> {
    let recovery: Recovery | undefined;
    const look = async (): Promise<Recovery | undefined> => {
      await this.mine();
      recovery = await this.recover(seed, changes);
      return isDone(recovery) ? recovery : undefined;
    };
    return (await poll(look)) ?? assert.fail(`it did not come about: ${show(recovery!)}`);
  }

  async sent(): Promise<readonly number[]> {
    return Promise.all(this.#senders.map((sender) => sender.getNonce()));
  }

  /** What the pool's credits are to that key: its own notes, opened as its wallet opens them. */
  async notes(seed: number): Promise<bigint[]> {
    const { viewing, owner } = this.keys(seed);
    const topics = [POOL.getEvent("Credited")!.topicHash];
    const logs = await this.lone.provider.getLogs({ address: this.lone.pool, topics, fromBlock: 0 });
    return logs.flatMap((log) => {
      const args = POOL.parseLog(log)!.args;
      const opened = openOutput(viewing, {
        ephemeralKey: mustFromHex(args["ephemeralKey"] as string),
        ...{ output: 0, ciphertext: mustFromHex(args["ciphertext"] as string) },
      });
      if (opened === undefined) return [];
      const measured = {
        ...{ npk: mustField(args["npk"] as bigint), value: args["value"] as bigint },
        asset: asAddress(args["asset"])!,
      };
      const leaf = mustField(args["commitment"] as bigint);
      return completeNote(owner, opened.blinding, measured, leaf)?.value ?? [];
    });
  }
}

export function show(recovery: Recovery): string {
  return JSON.stringify(recovery, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
