/** What people do on the chains of a scenario without any service: they pay, do a step that waits, and try to forge one. */
import { Interface, Transaction, type HDNodeWallet } from "ethers";
import { contractAbi } from "../../../../shared/client/statements/execute-call.ts";
import { FORWARDERS_ABI } from "../../../../shared/contracts/abi.ts";
import { ZERO_BYTES32 } from "../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../shared/protocol/bytes.ts";
import { addressToWord, encodeBurn } from "../../../../shared/protocol/host/cctp.ts";
import { Blocks } from "../blocks.ts";
import { readAlt } from "./alt-seen.ts";
import { readChain } from "./chain-seen.ts";
import type { LaneChain } from "./lane-chain.ts";
import type { StrangersAct } from "./steps.ts";
import type { Prebuilt } from "./requests.ts";
import type { Stage } from "./stage.ts";
import { PAYER, person, STRANGER } from "./persons.ts";
import { chainsOf, CONFIRMATIONS, type ChainFacts, type ChainName } from "./world.ts";

const GWEI = 1_000_000_000n;
/** More than any proxy bids, so that it comes first in its block. */
const FEES = { maxFeePerGas: 5_000n * GWEI, maxPriorityFeePerGas: 50n * GWEI };
const GAS = { transfer: 200_000n, call: 3_000_000n } as const;
const TOKEN = new Interface(["function transfer(address to, uint256 value)"]);
const FORWARDERS = contractAbi(FORWARDERS_ABI);
const TRANSMITTER = new Interface([
  "function receiveMessage(bytes message, bytes attestation)",
  "function sendMessage(uint32 destinationDomain, bytes32 recipient, bytes32 destinationCaller, uint32 minFinalityThreshold, bytes messageBody)",
]);
/** Of the exchange's contract, which alone may deliver what goes to an account there. */
const FORWARDER = new Interface(["function mintAndForward(bytes message, bytes attestation)"]);
const [FAST, FINAL] = [1_000, 2_000];
const FORTUNE = 1_000_000n * 1_000_000n;

/** A chain's newest blocks, with the burns that were in those which are gone. */
class BridgeBlocks extends Blocks {
  readonly orphaned = new Set<string>();
  readonly #look: () => Promise<readonly { readonly nonce: string }[]>;

  constructor(
    chain: LaneChain,
    { height, sender }: ChainFacts,
    sent: () => ReadonlyMap<string, string>,
    look: () => Promise<readonly { readonly nonce: string }[]>,
  ) {
    super({ rpc: chain.rpc, height, sender, confirmations: CONFIRMATIONS }, sent);
    this.#look = look;
  }

  protected override async beforeOrphaning(): Promise<void> {
    for (const { nonce } of await this.#look()) this.orphaned.add(nonce);
  }
}

interface AttestedMessage {
  readonly eventNonce: string;
  readonly message: string;
  readonly attestation: string;
  readonly status: string;
}

export class People {
  readonly blocks: Readonly<Record<ChainName, BridgeBlocks>>;
  /** Burns that stood on the other blockchain when blocks of it were taken back. */
  readonly orphanedAlt = new Set<string>();
  readonly #stage: Stage;
  /** Of people, by hash: a reorganisation may bring them again. */
  readonly #sent: Readonly<Record<ChainName, Map<string, string>>> = {
    ...{ home: new Map(), other: new Map(), exchange: new Map() },
  };
  readonly #payer = person(PAYER);
  readonly #stranger = person(STRANGER);

  constructor(stage: Stage) {
    this.#stage = stage;
    const { facts, parties, between } = stage;
    const blocksOf = (name: ChainName): BridgeBlocks =>
      new BridgeBlocks(
        parties.chains[name],
        facts.chains[name],
        () =>
          new Map([
            ...this.#sent[name],
            ...between.flatMap(({ rpc, secondNode }) => [
              ...[...rpc[name].sent, ...(name === "home" ? secondNode.sent : [])],
            ]),
          ]),
        async () => (await readChain(parties.chains[name], facts.chains[name], facts)).burns,
      );
    this.blocks = { home: blocksOf("home"), other: blocksOf("other"), exchange: blocksOf("exchange") };
  }

  async mine(blocks: number): Promise<void> {
    const extras = this.#stage.extras();
    await Promise.all([
      ...chainsOf(extras).map((name) => this.blocks[name].mine(blocks)),
      ...(extras.alt ? [this.#stage.parties.alt.pass(blocks)] : []),
    ]);
  }

  /** On the other blockchain: other blocks in place of the newest, with what was in them or without. */
  async reorganiseAlt(depth: number, content: "empty" | "later"): Promise<boolean> {
    const { parties, facts } = this.#stage;
    const { burns } = await readAlt(parties.alt, facts.alt);
    for (const { nonce } of burns) this.orphanedAlt.add(nonce);
    return parties.alt.reorganise(depth, content === "later");
  }

  /** Mined with the next block. */
  async pay(chain: ChainName, to: string, amount: bigint, token: "right" | "wrong"): Promise<void> {
    const { usdc, wrong } = this.#stage.facts.chains[chain];
    const data = TOKEN.encodeFunctionData("transfer", [to, amount]);
    await this.#send(chain, this.#payer, {
      to: token === "right" ? usdc : wrong,
      data,
      gasLimit: GAS.transfer,
    });
  }

  /** Grains of dust from a stranger, all in the next block. */
  async flood({ place }: Prebuilt, times: number): Promise<void> {
    for (let i = 0; i < times; i++) await this.pay("home", place.address, 1n, "right");
    await this.blocks.home.mine(1);
  }

  /** False where there was nothing to do, or it reverted. */
  async act(act: StrangersAct, { place }: Prebuilt): Promise<boolean> {
    switch (act) {
      case "deliver":
        for (const from of chainsOf(this.#stage.extras()))
          if (await this.#deliver(from, from === "home" ? "other" : "home")) return true;
        return false;
      case "relay":
        // Longer: the relay may have to burn it first.
        return this.#deliver("home", "exchange", 120);
      case "sweep":
        if (place.direction !== "in") return false;
        return this.#call("home", "sweep", [[{ terms: place.terms, fees: [] }], []]);
      case "forward":
        if (place.direction !== "in" || place.source === undefined) return false;
        return this.#call("other", "forward", [place.source.terms, 0, 0n, FINAL]);
      case "flush":
        if (place.direction !== "out") return false;
        return this.#call("home", "flush", [place.terms, 0n, FINAL]);
      case "refund":
        if (place.direction === "out")
          return this.#sendBack("home", ["touchOut", "returnOut"], [place.terms]);
        if (await this.#sendBack("home", ["touch", "refund"], [place.terms])) return true;
        if (place.source === undefined) return false;
        return this.#sendBack("other", ["touchSource", "refundSource"], [place.source.terms, 0]);
    }
  }

  /** A message of somebody's that reads as a burn, attested as any message is. It must not be minted. */
  async forge({ place: { address } }: Prebuilt): Promise<boolean> {
    const { home, other } = this.#stage.facts.chains;
    const body = encodeBurn({
      ...{ burnToken: addressToWord(other.usdc), mintRecipient: addressToWord(address), amount: FORTUNE },
      messageSender: addressToWord(address),
      ...{ maxFee: 0n, feeExecuted: 0n, expirationBlock: 0n, hookData: new Uint8Array(0) },
    });
    const args = [home.domain, addressToWord(home.messenger), ZERO_BYTES32, FAST, toHex(body)];
    const data = TRANSMITTER.encodeFunctionData("sendMessage", args);
    const hash = await this.#mined("other", { to: other.transmitter, data });
    if (hash === undefined) return false;
    await this.blocks.other.mine(2);
    for (let i = 0; i < 20; i++) {
      const [attested] = await this.#attested(other, hash);
      if (attested?.status === "complete") {
        await this.#receive("home", attested);
        return true;
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return true;
  }

  /** Whatever is attested and not there yet; for a while, since the relay is after the same. */
  async #deliver(from: ChainName, to: ChainName, times = 20): Promise<boolean> {
    for (let i = 0; i < times; i++) {
      if (await this.#deliverNow(from, to)) return true;
      if (i % 5 === 4) await this.blocks[from].mine(1);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return false;
  }

  async #deliverNow(from: ChainName, to: ChainName): Promise<boolean> {
    const { facts, parties } = this.#stage;
    const isToExchange = to === "exchange";
    const [source, target] = await Promise.all(
      [from, to].map((name) => readChain(parties.chains[name], facts.chains[name], facts)),
    );
    const there = new Set(target!.mints.map(({ nonce }) => nonce));
    for (const { nonce, tx, recipient } of source!.burns) {
      if (there.has(nonce) || (recipient === facts.exchange.forwarder) !== isToExchange) continue;
      const all = await this.#attested(facts.chains[from], tx);
      for (const one of all)
        if (one.status === "complete" && one.eventNonce === nonce && (await this.#receive(to, one)))
          return true;
    }
    return false;
  }

  async #receive(chain: ChainName, { message, attestation }: AttestedMessage): Promise<boolean> {
    const { chains, exchange } = this.#stage.facts;
    const call =
      chain === "exchange"
        ? {
            to: exchange.forwarder,
            data: FORWARDER.encodeFunctionData("mintAndForward", [message, attestation]),
          }
        : {
            to: chains[chain].transmitter,
            data: TRANSMITTER.encodeFunctionData("receiveMessage", [message, attestation]),
          };
    return (await this.#mined(chain, call)) !== undefined;
  }

  /** The attester's own answer: nothing stands between it and people. Empty while it is away. */
  async #attested({ domain }: ChainFacts, tx: string): Promise<readonly AttestedMessage[]> {
    const url = `${this.#stage.parties.attesterUrl}/v2/messages/${String(domain)}?transactionHash=${tx}`;
    const response = await fetch(url).catch(() => undefined);
    if (response?.status !== 200) {
      await response?.body?.cancel();
      return [];
    }
    return ((await response.json()) as { messages: AttestedMessage[] }).messages;
  }

  /** The refund clock is started, runs out, and the money goes to whom it is due. */
  async #sendBack(
    chain: ChainName,
    [touch, back]: readonly [string, string],
    args: readonly unknown[],
  ): Promise<boolean> {
    await this.#call(chain, touch, args);
    await this.blocks[chain].passTime(DAY_AND_MORE);
    return this.#call(chain, back, args);
  }

  async #call(chain: ChainName, name: string, args: readonly unknown[]): Promise<boolean> {
    const data = FORWARDERS.encodeFunctionData(name, args);
    return (await this.#mined(chain, { to: this.#stage.facts.factory, data })) !== undefined;
  }

  /** Each burn with the attester's own answer. */
  async attestedInFull(): Promise<readonly string[]> {
    const { facts, parties, extras } = this.#stage;
    const all: string[] = [];
    for (const name of chainsOf(extras())) {
      const { burns } = await readChain(parties.chains[name], facts.chains[name], facts);
      for (const { tx } of burns)
        all.push(`${name} ${tx}: ${JSON.stringify(await this.#attested(facts.chains[name], tx))}`);
    }
    return all;
  }

  /** First in the next block, which is made. Undefined when it reverted. */
  async #mined(
    chain: ChainName,
    call: { readonly to: string; readonly data: string },
  ): Promise<string | undefined> {
    const hash = await this.#send(chain, this.#stranger, { ...call, gasLimit: GAS.call });
    await this.blocks[chain].mine(1);
    const { rpc } = this.#stage.parties.chains[chain];
    const receipt = (await rpc("eth_getTransactionReceipt", [hash])) as { status: string } | null;
    return receipt?.status === "0x1" ? hash : undefined;
  }

  async #send(
    chain: ChainName,
    from: HDNodeWallet,
    call: { readonly to: string; readonly data: string; readonly gasLimit: bigint },
  ): Promise<string> {
    const { rpc } = this.#stage.parties.chains[chain];
    const nonce = Number(await rpc("eth_getTransactionCount", [from.address, "pending"]));
    const { chainId } = this.#stage.facts.chains[chain];
    const raw = await from.signTransaction({ ...call, ...FEES, nonce, chainId, type: 2 });
    const { hash } = Transaction.from(raw);
    this.#sent[chain].set(hash!, raw);
    await rpc("eth_sendRawTransaction", [raw]);
    return hash!;
  }
}

const DAY_AND_MORE = 86_400 + 10;
