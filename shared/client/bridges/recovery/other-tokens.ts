/**
 * Tokens that an address does not wait for: dollars of another chain sent to the right address on the wrong one, or anything
 * else that somebody sent. They go to the refund address at once, or where the out-address's terms say. Tokens that are
 * named, and those that bridges are made for, are sent back; others are shown alone: anybody can send a token of his own
 * making, and whoever moves it pays for what its code does.
 */
import type { Address } from "../../../protocol/brands.ts";
import { asAddress } from "../../../protocol/host/text.ts";
import { paddedAddress } from "../../../protocol/host/forwarders.ts";
import { contractAbi } from "../../statements/execute-call.ts";
import { requireAddress } from "../../base/pins.ts";
import { lanesOf } from "../bridge-pins.ts";
import type { EvmChain } from "./evm-chain.ts";
import { inArgument, outArgument, sourceArgument } from "./held.ts";
import type { RecoveryOptions, StrayMoney } from "./options.ts";
import type { Place } from "./places.ts";

const TOKENS = contractAbi(["event Transfer(address indexed from, address indexed to, uint256 value)"]);
const TRANSFER = TOKENS.getEvent("Transfer")!.topicHash;

export interface OtherHeld {
  readonly chain: EvmChain;
  readonly place: Place;
  readonly vault: Address;
  readonly token: Address;
  readonly amount: bigint;
  readonly call: readonly [name: string, args: readonly unknown[]];
}

/** One address of a place, with the tokens that leave it by other calls. */
interface Vault {
  readonly address: Address;
  readonly own: readonly Address[];
  readonly call: (token: Address) => OtherHeld["call"];
}

export class OtherTokens {
  readonly #chains: readonly EvmChain[];
  /** By chain: the zero address is its coin. */
  readonly #sentBack = new Map<EvmChain, Set<Address>>();

  constructor(options: RecoveryOptions, home: EvmChain, others: ReadonlyMap<number, EvmChain>) {
    this.#chains = [home, ...others.values()];
    for (const chain of this.#chains) this.#sentBack.set(chain, new Set());
    for (const asset of options.assets) this.#add(home, asset);
    for (const { chainId, token } of lanesOf(options.bridges)) this.#add(others.get(Number(chainId)), token);
    for (const { chainId, address } of options.tokens ?? [])
      this.#add(
        this.#chains.find((chain) => chain.chainId === chainId),
        address,
      );
  }

  #add(chain: EvmChain | undefined, token: string): void {
    if (chain !== undefined) this.#sentBack.get(chain)!.add(requireAddress(token, "token"));
  }

  /** What can be sent back of one place, on every chain: its addresses are the same on all. */
  async of(place: Place): Promise<OtherHeld[]> {
    const held: OtherHeld[] = [];
    for (const chain of this.#chains)
      for (const { address: vault, own, call } of vaultsOn(chain, place))
        for (const token of this.#sentBack.get(chain)!) {
          if (own.includes(token)) continue;
          const amount = await chain.balance(token, vault);
          if (amount > 0n) held.push({ chain, place, vault, token, amount, call: call(token) });
        }
    return held;
  }

  /** Everything else that a Transfer log shows. */
  async strays(places: readonly Place[]): Promise<StrayMoney[]> {
    const found: StrayMoney[] = [];
    for (const chain of this.#chains) {
      const vaults = places.flatMap((place) => vaultsOn(chain, place));
      if (vaults.length === 0) continue;
      const topics = [TRANSFER, null, vaults.map(({ address }) => paddedAddress(address))];
      const seen = new Set<string>();
      for (const { by: token, topics: words } of await chain.logs(undefined, topics)) {
        const address = asAddress(`0x${words[2]?.slice(26)}`);
        const vault = vaults.find((one) => one.address === address);
        if (vault === undefined || seen.has(`${token} ${vault.address}`)) continue;
        seen.add(`${token} ${vault.address}`);
        if (vault.own.includes(token) || this.#sentBack.get(chain)!.has(token)) continue;
        const amount = await chain.balance(token, vault.address);
        if (amount > 0n) found.push({ chainId: chain.chainId, address: vault.address, token, amount });
      }
    }
    return found;
  }
}

function vaultsOn({ chainId }: EvmChain, { at }: Place): Vault[] {
  if (at.direction === "out") {
    const terms = outArgument(at);
    const call = (token: Address): OtherHeld["call"] => ["returnOtherOut", [terms, token]];
    return [{ address: at.address, own: [at.terms.asset], call }];
  }
  const terms = inArgument(at);
  const vault: Vault = {
    ...{ address: at.address, own: [at.terms.asset] },
    call: (token) => ["refundOther", [terms, token]],
  };
  if (at.source === undefined) return [vault];
  const source = sourceArgument(at.source);
  const lanes = at.source.terms.lanes.filter((lane) => lane.chainId === BigInt(chainId));
  return [
    vault,
    {
      ...{ address: at.source.address, own: lanes.map(({ token }) => token) },
      call: (token) => ["refundOtherSource", [source, token]],
    },
  ];
}
