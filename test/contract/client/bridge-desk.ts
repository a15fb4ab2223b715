// The bridge desk of the service of these tests: honest terms by the protocol's own functions, until a test bends an answer.
import { randomUUID } from "node:crypto";
import type { BridgeAddress } from "../../../shared/api/bridges.ts";
import type { BridgeStatus } from "../../../shared/api/bridge-status.ts";
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { Pins } from "../../../shared/client/index.ts";
import { commitmentOf } from "../../../shared/notes/note.ts";
import { mustField, ZERO_BYTES32, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress, fromHex } from "../../../shared/protocol/host/text.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { encodeForward } from "../../../shared/protocol/host/cctp-forward.ts";
import {
  inAddress,
  inSalt,
  outAddress,
  outSalt,
  paddedAddress,
  sourceAddress,
  sourceSalt,
  TIMEOUT_SECS,
  type Exit,
  type Factory,
  type Lane,
} from "../../../shared/protocol/host/forwarders.ts";
import { hex, POOL, USDC, type TestChain } from "./chain.ts";

type BridgePins = NonNullable<Pins["bridges"]>;

const digits = (byte: string, count: number): string => `0x${byte.repeat(count)}`;
const address = (byte: string): Address => digits(byte, 20) as Address;

export const FACTORY: Factory = { address: address("f1"), vaultCodeHash: digits("f2", 32) as Bytes32 };
export const MINT = "So11111111111111111111111111111111111111112";
export const TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
export const ACCOUNT = address("a1");
export const OTHER = address("a2");
export const REFUND = address("a3");
export const MINIMUM = 5_000_000n;
export const CEILING = 1_000_000n;

const LANE: Lane = {
  ...{ chainId: 31_338n, token: address("c1"), messenger: address("c2"), domain: 3 },
  ...{ minimum: MINIMUM, feeCeiling: CEILING },
};
const SECOND: Lane = {
  ...LANE,
  chainId: 31_339n,
  token: address("c3"),
  messenger: address("c4"),
};
const CALLER = paddedAddress(address("c5"));
const COLLECTOR = address("c6");
const MESSENGER = address("c7");
const bounds = { minimum: MINIMUM, feeCeiling: CEILING };

export const BRIDGE_PINS: BridgePins = {
  ...{ factory: FACTORY.address, vaultCodeHash: FACTORY.vaultCodeHash, collector: COLLECTOR },
  assets: { [USDC]: bounds },
  lanes: [LANE, SECOND].map((lane) => ({ ...lane, chainId: Number(lane.chainId) })),
  exits: {
    perpvenue: { messenger: MESSENGER, domain: 19, caller: CALLER, ...bounds },
    chains: [{ chainId: 31_338, messenger: MESSENGER, domain: 6, ...bounds }],
  },
  altchain: { mint: MINT, decimals: 6, domain: 3 },
};

interface Body {
  readonly npk: string;
  readonly ephemeral_key: string;
  readonly ciphertext: string;
  readonly refund_address?: string;
  readonly account?: string;
  readonly to?: { readonly chain_id: number; readonly recipient: string };
  readonly deposit_key?: string;
}

export interface Deal {
  readonly body: Body;
  readonly answer: BridgeAddress;
  status: BridgeStatus;
}

/** What the desk's addresses are made of. */
export interface DeskSetting {
  readonly factory: Factory;
  readonly pool: Address;
  readonly asset: Address;
  readonly collector: Address;
}

export class BridgeDesk {
  readonly #of: DeskSetting;
  readonly deals = new Map<string, Deal>();
  /** Signed transactions that came back. */
  readonly signed: string[] = [];
  bend: (answer: BridgeAddress) => unknown = (answer) => answer;
  bendStatus: (status: BridgeStatus) => unknown = (status) => status;
  /** Where a deposit key has its tokens, as the honest service would find it. */
  tokenAccount: (depositKey: string) => string = () => MINT;
  /** Which lanes and exits this service has. */
  lanes: readonly Lane[] = [LANE, SECOND];

  constructor(of: DeskSetting = { factory: FACTORY, pool: POOL, asset: USDC, collector: COLLECTOR }) {
    this.#of = of;
  }

  open(path: string, untrusted: unknown): { readonly status: number; readonly body: unknown } {
    const body = untrusted as Body;
    const known = [...this.deals.values()].find((deal) => JSON.stringify(deal.body) === JSON.stringify(body));
    if (known !== undefined) return { status: 200, body: this.bend(known.answer) };
    const answer = path.endsWith("out-address") ? this.#out(body) : this.#in(body);
    this.deals.set(answer.bridge_id, { body, answer, status: statusOf(answer) });
    return { status: 201, body: this.bend(answer) };
  }

  sign(bridgeId: string, transaction: string): unknown {
    this.signed.push(transaction);
    const deal = this.deals.get(bridgeId)!;
    deal.status = { ...deal.status, state: "confirming", sign: null };
    return deal.status;
  }

  statusOf(query: URLSearchParams): BridgeStatus | undefined {
    const [id, at] = [query.get("id"), asAddress(query.get("address"))];
    return [...this.deals.values()].find(
      ({ answer }) =>
        answer.bridge_id === id ||
        (at !== undefined &&
          [answer.address, answer.source?.address, answer.altchain?.home_address].some(
            (one) => asAddress(one) === at,
          )),
    )?.status;
  }

  /** Money of the address becomes its note, as the pool's credit does it. */
  credit(chain: TestChain, { body }: Deal, value: bigint): void {
    const npk = mustField(BigInt(body.npk));
    const told = { ephemeral_key: body.ephemeral_key, output: 0, ciphertext: body.ciphertext };
    const measured = { npk: body.npk, asset: USDC, value: String(value), source: "forwarder" };
    chain.addLeaves([{ commitment: hex(commitmentOf(npk, USDC, value)), ...told, ...measured }]);
  }

  #in(body: Body): BridgeAddress {
    const { factory, pool, asset, collector } = this.#of;
    const refund = asAddress(body.refund_address)!;
    const terms = {
      ...{ pool, asset, receiver: receiverOf(body), ...bounds, collector, refund },
    };
    const home = inAddress(terms, factory);
    const source = { recipient: paddedAddress(home), lanes: this.lanes, refund };
    const isForeign = body.deposit_key !== undefined;
    const tokenAccount = isForeign ? this.tokenAccount(body.deposit_key) : "";
    return {
      ...common(asset, isForeign ? "altchain" : "perpvenue", "in"),
      address: body.deposit_key ?? checksumAddress(home),
      terms: {
        ...termsOf(this.#of, body, inSalt(terms)),
        ...{ collector: checksumAddress(collector), refund_address: checksumAddress(refund) },
      },
      source:
        isForeign || this.lanes.length === 0
          ? null
          : {
              address: checksumAddress(sourceAddress(source, factory)),
              salt: sourceSalt(source),
              recipient: source.recipient,
              refund_address: checksumAddress(refund),
              lanes: this.lanes.map(laneOf),
            },
      altchain: isForeign
        ? {
            ...{ deposit_key: body.deposit_key, token_account: tokenAccount, mint: MINT, program: TOKEN },
            home_address: checksumAddress(home),
          }
        : null,
    };
  }

  #out(body: Body): BridgeAddress {
    const { factory, pool, asset } = this.#of;
    const isExchange = body.account !== undefined;
    const exit: Exit = isExchange
      ? {
          ...{ messenger: MESSENGER, domain: 19, recipient: CALLER, caller: CALLER },
          hook: encodeForward({ recipient: asAddress(body.account)!, destination: "perps" }),
        }
      : {
          ...{ messenger: MESSENGER, domain: 6, caller: ZERO_BYTES32, hook: new Uint8Array(0) },
          recipient: paddedAddress(asAddress(body.to!.recipient)!),
        };
    const terms = { pool, asset, exit, ...bounds, refund: receiverOf(body) };
    const salt = outSalt(terms);
    return {
      ...common(asset, isExchange ? "perpvenue" : "chain", "out"),
      address: checksumAddress(outAddress(terms, factory)),
      terms: {
        ...termsOf(this.#of, body, salt),
        ...{ collector: null, refund_address: null },
        exit: {
          ...exit,
          ...{ messenger: checksumAddress(exit.messenger), hook: toHex(exit.hook) },
        },
      },
      ...{ source: null, altchain: null },
    };
  }
}

function receiverOf({ npk, ephemeral_key, ciphertext }: Body) {
  return {
    npk: mustField(BigInt(npk)),
    ephemeralKey: mustFromHex(ephemeral_key),
    ciphertext: fromHex(ciphertext)!,
  };
}

function termsOf({ factory, pool }: DeskSetting, { npk, ephemeral_key, ciphertext }: Body, salt: Bytes32) {
  return {
    ...{ factory: checksumAddress(factory.address), vault_code_hash: factory.vaultCodeHash, salt },
    ...{ pool: checksumAddress(pool), npk, ephemeral_key, ciphertext },
  };
}

function laneOf(lane: Lane, at: number) {
  return {
    ...{ name: `chain ${at}`, chain_id: Number(lane.chainId), domain: lane.domain },
    ...{ token: checksumAddress(lane.token), messenger: checksumAddress(lane.messenger) },
    ...{ minimum: String(lane.minimum), fee_ceiling: String(lane.feeCeiling) },
  };
}

function common(
  asset: Address,
  venue: BridgeAddress["venue"],
  direction: BridgeAddress["direction"],
): Omit<BridgeAddress, "address" | "terms" | "source" | "altchain"> {
  return {
    ...{ bridge_id: randomUUID(), venue, direction, state: "awaiting_funds" },
    ...{ asset: checksumAddress(asset), minimum: String(MINIMUM), fee_ceiling: String(CEILING) },
    ...{ timeout_secs: TIMEOUT_SECS, fees: { service: "50000", developer: "0", capped: false } },
    venue_fees: [{ chain: "second", fee: "1", of: "the attester" }],
    ...{ estimated_secs: 30, watched_until: "2030-01-01T00:00:00Z", created_at: "2026-11-25T00:00:00Z" },
  };
}

function statusOf({ bridge_id, venue, direction, address: at }: BridgeAddress): BridgeStatus {
  return {
    ...{ bridge_id, venue, direction, state: "awaiting_funds", address: at, amount: null },
    ...{ received: "0", credited: "0", refunded: "0", deposits: [], transactions: [] },
    ...{ next: { text: "send to the address", by: null }, without_help: "npm run recover" },
    ...{ refundable_at: null, watched_until: "2030-01-01T00:00:00Z", sign: null, reason: null, error: null },
  };
}
