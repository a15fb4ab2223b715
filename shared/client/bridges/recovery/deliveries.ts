/**
 * What of one address's burns can be minted now, own and strangers'. Everything is read from the chains but the attestation;
 * whether it is one, the contract that mints decides. Each burn is a line by itself, whatever becomes of it.
 */
import { ZERO_BYTES32, type Address, type Bytes32 } from "../../../protocol/brands.ts";
import { wordToAddress } from "../../../protocol/host/cctp.ts";
import { paddedAddress } from "../../../protocol/host/forwarders.ts";
import { worthwhile } from "../../../protocol/host/worthwhile.ts";
import { contractAbi } from "../../statements/execute-call.ts";
import type { Attestations, Attested } from "./attestations.ts";
import type { BurnFound, CctpPlace } from "./burns.ts";
import type { Attempt } from "./evm-chain.ts";
import type { ForeignChain } from "./foreign-chain.ts";
import type { Held } from "./held.ts";
import { vaultsOf } from "./places.ts";

const CCTP = contractAbi([
  "function usedNonces(bytes32) view returns (uint256)",
  "function receiveMessage(bytes message, bytes attestation) returns (bool)",
  // Of Circle's contract before the exchange, which alone may deliver what goes there.
  "function mintAndForward(bytes message, bytes attestation)",
  "error Error(string)",
]);

export type Delivery =
  | { readonly state: "waiting"; readonly transaction: string; readonly reason: string }
  | {
      readonly state: "attempted";
      /** Null: the other blockchain. */
      readonly from: number | null;
      readonly recipient: Bytes32;
      readonly amount: bigint;
      readonly attempt: Attempt;
    };

export class Deliveries {
  readonly #attestations: Attestations;
  readonly #places: ReadonlyMap<number, CctpPlace>;
  readonly #foreign: ForeignChain | undefined;
  readonly #taken = new Set<Attested>();

  /** `places` by domain. */
  constructor(
    attestations: Attestations,
    places: ReadonlyMap<number, CctpPlace>,
    foreign: ForeignChain | undefined,
  ) {
    this.#attestations = attestations;
    this.#places = places;
    this.#foreign = foreign;
  }

  /** `held`: what lies at home at the address; `burns`: also others'. */
  async *of(held: Held, burns: readonly BurnFound[]): AsyncGenerator<Delivery> {
    const { at, deposit } = held.place;
    const own = vaultsOf(held.place);
    // What the message itself names is a stranger's word: where no contract stands, every call succeeds and does nothing.
    const word = at.direction === "out" ? at.terms.exit.caller : ZERO_BYTES32;
    const caller = word === ZERO_BYTES32 ? undefined : wordToAddress(word);
    for (const burn of burns.filter(({ depositor }) => own.includes(depositor))) {
      const found = await this.#messageOf(burn);
      yield* this.#bring(burn.transaction, found, burn.domain, caller);
    }
    if (deposit !== undefined && this.#foreign !== undefined)
      for (const transaction of await this.#foreign.transactions(deposit)) {
        // Others bring money, and are no burns: nobody attests those, nor is to be waited for.
        if (!(await this.#foreign.isBy(transaction, deposit))) continue;
        const { domain } = this.#foreign;
        const { attested, reason } = await this.#attestations.of(domain, transaction);
        const minted = attested.filter(({ burn }) => burn.mintRecipient === paddedAddress(at.address));
        for (const found of minted.length === 0 ? [reason] : minted)
          yield* this.#bring(transaction, found, domain, undefined);
      }
    yield* this.#strange(
      held,
      burns.filter(({ depositor }) => !own.includes(depositor)),
    );
  }

  /** Of those that name the address: each is asked about only once its amount makes it worth its delivery. */
  async *#strange(
    { chain, token, vault, minimum }: Held,
    burns: readonly BurnFound[],
  ): AsyncGenerator<Delivery> {
    const here = burns.filter(
      ({ recipient, destination, caller }) =>
        recipient === paddedAddress(vault) &&
        this.#places.get(destination)?.chain === chain &&
        caller === ZERO_BYTES32,
    );
    if (here.length === 0) return;
    const balance = await chain.balance(token, vault);
    const attested = new Map<BurnFound, Attested>();
    const out = new Set<BurnFound>();
    for (;;) {
      const left = here.filter((burn) => !out.has(burn));
      const chosen = worthwhile(left, minimum, balance);
      const next = chosen.filter((burn) => !attested.has(burn));
      for (const burn of next) {
        const found = await this.#messageOf(burn);
        if (typeof found !== "string" && !(await this.#isMinted(found))) {
          attested.set(burn, found);
          continue;
        }
        out.add(burn);
        yield* this.#bring(burn.transaction, found, burn.domain, undefined);
      }
      if (next.length > 0) continue;
      for (const burn of chosen)
        yield* this.#bring(burn.transaction, attested.get(burn)!, burn.domain, undefined);
      return;
    }
  }

  /** A text says why there is none. Two burns of one transaction may be alike. */
  async #messageOf({ domain, transaction, ...burn }: BurnFound): Promise<Attested | string> {
    const { attested, reason } = await this.#attestations.of(domain, transaction);
    const found = attested.find(
      (one) =>
        !this.#taken.has(one) &&
        one.burn.messageSender === paddedAddress(burn.depositor) &&
        one.burn.mintRecipient === burn.recipient &&
        one.burn.amount === burn.amount,
    );
    if (found !== undefined) this.#taken.add(found);
    return found ?? reason;
  }

  /** Nothing where it was brought already. */
  async *#bring(
    transaction: string,
    found: Attested | string,
    domain: number,
    caller: Address | undefined,
  ): AsyncGenerator<Delivery> {
    const waiting = (reason: string): Delivery => ({ state: "waiting", transaction, reason });
    if (typeof found === "string") {
      yield waiting(found);
      return;
    }
    const { text, attestation, message, burn } = found;
    const to = this.#places.get(message.destinationDomain);
    if (to === undefined) {
      yield waiting(`no node of the chain of domain ${message.destinationDomain} was given`);
      return;
    }
    if (await this.#isMinted(found)) return;
    const attempt =
      caller === undefined
        ? await to.chain.attempt(CCTP, to.transmitter, "receiveMessage", [text, attestation])
        : await to.chain.attempt(CCTP, caller, "mintAndForward", [text, attestation]);
    // Whether it has run out, only the contract knows: its blocks need not be those that nodes number.
    if (attempt.state === "refused" && burn.expirationBlock !== 0n) {
      await this.#attestations.reattest(found);
      yield waiting(`${attempt.reason}; it was asked for to be attested again`);
      return;
    }
    const from = this.#places.get(domain)?.chain.chainId ?? null;
    yield { state: "attempted", from, recipient: burn.mintRecipient, amount: burn.amount, attempt };
  }

  async #isMinted({ message }: Attested): Promise<boolean> {
    const to = this.#places.get(message.destinationDomain);
    const used = to && (await to.chain.read(CCTP, to.transmitter, "usedNonces", [message.nonce]));
    return used !== undefined && used[0] !== 0n;
  }
}
