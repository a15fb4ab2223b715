/** From a request and the settings to terms, and from terms to addresses: all that an address commits to is chosen here. */
import {
  ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
  findAssociatedTokenPda,
  TOKEN_PROGRAM_ADDRESS,
} from "@solana-program/token";
import { isAddress, isOffCurveAddress } from "@solana/kit";
import { ZERO_ADDRESS, ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { encodeForward } from "../../../shared/protocol/host/cctp-forward.ts";
import {
  inAddress,
  outAddress,
  paddedAddress,
  sourceAddress,
  type Exit,
  type Factory,
  type InTerms,
  type Lane,
  type OutTerms,
  type Receiver,
  type SourceTerms,
} from "../../../shared/protocol/host/forwarders.ts";
import type { BridgeWay } from "../../base/store/bridge-records.ts";
import type { BridgeChain, BridgeSettings } from "../../base/bridge/bridge.settings.ts";

export const TOKEN_PROGRAM: string = TOKEN_PROGRAM_ADDRESS;
const SYSTEM_PROGRAM = "1".repeat(32);
const NO_KEYS: ReadonlySet<string> = new Set([
  ...[SYSTEM_PROGRAM, TOKEN_PROGRAM, ASSOCIATED_TOKEN_PROGRAM_ADDRESS],
]);

/** Where an address is, and what is on the way to it. */
export interface Planned {
  readonly address: Address;
  readonly way: BridgeWay;
}

export class Terms {
  readonly #settings: BridgeSettings;
  readonly #pool: Address;
  readonly factory: Factory;
  readonly first: Address;
  readonly #deadEnds: ReadonlySet<Address>;

  constructor(settings: BridgeSettings, pool: Address) {
    this.#settings = settings;
    this.#pool = pool;
    this.factory = { address: settings.factory, vaultCodeHash: settings.vaultCodeHash };
    this.first = settings.assets[0]!.asset;
    const { factory, collector, home, assets, chains, perpvenue } = settings;
    const far = [...chains, ...(perpvenue === undefined ? [] : [perpvenue.chain, perpvenue.exit])];
    this.#deadEnds = new Set([
      ZERO_ADDRESS,
      pool,
      factory,
      collector,
      ...assets.map(({ asset }) => asset),
      ...[home, ...far].flatMap(addressesIn),
    ]);
  }

  /** Money that is paid to one of our own contracts, to a token's or to a bridge's, on whatever chain, is lost. */
  isDeadEnd(address: Address): boolean {
    return this.#deadEnds.has(address);
  }

  isBridged(asset: Address): boolean {
    return this.#boundsOf(asset) !== undefined;
  }

  fromEvm(asset: Address, receiver: Receiver, refund: Address): Planned | undefined {
    const terms = this.#home(asset, receiver, refund);
    if (terms === undefined) return undefined;
    const address = inAddress(terms, this.factory);
    const lanes = this.#lanesOf(asset);
    const base = { kind: "from-evm", venue: "perpvenue", direction: "in", home: terms } as const;
    if (lanes.length === 0) return { address, way: base };
    const source: SourceTerms = { recipient: paddedAddress(address), lanes, refund };
    return {
      address,
      way: { ...base, source: { address: sourceAddress(source, this.factory), terms: source } },
    };
  }

  /** Undefined where the key is no public key of that chain. */
  async fromAltchain(
    mint: string,
    receiver: Receiver,
    depositKey: string,
    refund: Address,
  ): Promise<Planned | undefined> {
    const terms = this.#home(this.first, receiver, refund);
    const tokenAccount = await tokenAccountOf(depositKey, mint);
    if (terms === undefined || tokenAccount === undefined) return undefined;
    return {
      address: inAddress(terms, this.factory),
      way: {
        kind: "from-altchain",
        venue: "altchain",
        direction: "in",
        home: terms,
        depositKey,
        tokenAccount,
      },
    };
  }

  toExchange(account: Address, refund: Receiver): Planned | undefined {
    const { perpvenue, home: own } = this.#settings;
    if (perpvenue === undefined) return undefined;
    const { domain, forwarder, destination } = perpvenue.exit;
    const caller = paddedAddress(forwarder);
    const hook = encodeForward({ recipient: account, destination });
    const exit: Exit = {
      ...{ messenger: own.messenger, domain },
      ...{ recipient: caller, caller, hook },
    };
    const terms = this.#planOut(this.first, exit, perpvenue, refund);
    return {
      address: outAddress(terms, this.factory),
      way: { kind: "to-exchange", venue: "perpvenue", direction: "out", home: terms, account },
    };
  }

  toChain(chainId: number, recipient: Address, refund: Receiver): Planned | undefined {
    const chain = this.#settings.chains.find((one) => one.chainId === chainId);
    if (chain?.exit === undefined) return undefined;
    const exit: Exit = {
      ...{ messenger: this.#settings.home.messenger, domain: chain.domain },
      ...{ recipient: paddedAddress(recipient), caller: ZERO_BYTES32 },
      hook: new Uint8Array(0),
    };
    const terms = this.#planOut(chain.asset ?? this.first, exit, chain.exit, refund);
    return {
      address: outAddress(terms, this.factory),
      way: {
        kind: "to-chain",
        venue: "chain",
        direction: "out",
        home: terms,
        to: { chainId, recipient },
      },
    };
  }

  #boundsOf(asset: Address) {
    return this.#settings.assets.find((one) => one.asset === asset);
  }

  #home(asset: Address, receiver: Receiver, refund: Address): InTerms | undefined {
    const bounds = this.#boundsOf(asset);
    if (bounds === undefined) return undefined;
    const { minimum, feeCeiling } = bounds;
    return {
      pool: this.#pool,
      asset,
      receiver,
      feeCeiling,
      minimum,
      collector: this.#settings.collector,
      refund,
    };
  }

  #lanesOf(asset: Address): Lane[] {
    return this.#settings.chains
      .filter((chain) => (chain.asset ?? this.first) === asset)
      .map((chain) => laneOf(chain, this.#settings.home.domain));
  }

  #planOut(
    asset: Address,
    exit: Exit,
    bounds: { readonly minimum: bigint; readonly feeCeiling: bigint },
    refund: Receiver,
  ): OutTerms {
    const { minimum, feeCeiling } = bounds;
    return { pool: this.#pool, asset, exit, feeCeiling, minimum, refund };
  }
}

/** Of contracts, whatever each is for. */
function addressesIn(part: object): Address[] {
  return Object.values(part).flatMap((value) => asAddress(value) ?? []);
}

export function laneOf(chain: BridgeChain, homeDomain: number): Lane {
  const { chainId, token, messenger, minimum, feeCeiling } = chain;
  return { chainId: BigInt(chainId), token, messenger, domain: homeDomain, minimum, feeCeiling };
}

/** The associated token account of a key; undefined for what is no key. */
export async function tokenAccountOf(owner: string, mint: string): Promise<string | undefined> {
  if (!isAddress(owner) || !isAddress(mint)) return undefined;
  // What is no point is a program's own account, and nobody has a key for it; programs themselves sign nothing.
  if (isOffCurveAddress(owner) || NO_KEYS.has(owner) || owner === mint) return undefined;
  const [account] = await findAssociatedTokenPda({
    owner,
    mint,
    tokenProgram: TOKEN_PROGRAM_ADDRESS,
  });
  return account;
}
