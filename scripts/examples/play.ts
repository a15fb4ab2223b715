/**
 * What the examples show: each endpoint asked once for each way in which it succeeds, with real proofs of the
 * client library, on a stack that was started for it.
 */
import { readFileSync } from "node:fs";
import { type JsonRpcProvider, parseUnits, Wallet as Account } from "ethers";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import type { EndpointName } from "../../shared/api/endpoints.ts";
import { PLACEHOLDERS, type Example } from "../../shared/api/examples.ts";
import type { AttestResponse, Ticket } from "../../shared/api/transactions.ts";
import type { Kind } from "../../shared/protocol/statements.ts";
import { EXAMPLE_APP, startExampleIdentity } from "../stack/example-identity.ts";
import { signIn } from "../stand-ins/identity/sign-in.ts";
import { chainOf } from "../stand-ins/local-chain.ts";
import type { Stack } from "../stack/local-stack.ts";
import type { NetworkName } from "../base/stack-file.ts";
import { openStackWallet } from "../stack/stack-wallet.ts";
import { TestUsdc } from "../stand-ins/usdc.ts";
import { playBridges } from "./bridges.ts";
import { Recorder, type Asked } from "./recorder.ts";

const SUB = "user-1";
const WAIT = { Prefer: "wait=25" };
const RECIPIENT = "0x00000000000000000000000000000000000000CE";
const usd = (text: string): bigint => parseUnits(text, TestUsdc.decimals);

type Submitting = "sequenceDeposit" | "sequenceSpend" | "sequenceSpend9" | "sequenceSwap";
const KINDS: Readonly<
  Record<Submitting, { readonly kind: Kind; readonly attest: EndpointName; readonly what: string }>
> = {
  sequenceDeposit: { kind: "deposit-shield", attest: "attestDeposit", what: "A deposit of 100 USDC" },
  sequenceSpend: { kind: "spend", attest: "attestSpend", what: "A transfer" },
  sequenceSpend9: { kind: "spend9", attest: "attestSpend9", what: "A transfer that spends three notes" },
  sequenceSwap: { kind: "private-swap", attest: "attestSwap", what: "A swap of 50 USDC" },
};

/** As requests.json has it: of the first network, by API key and answered with 200, unless it says otherwise. */
type PlainRequest = Pick<Asked, "endpoint" | "name" | "summary"> &
  Partial<Asked> & { readonly status?: number };

const REQUESTS = JSON.parse(readFileSync(new URL("requests.json", import.meta.url), "utf8")) as Readonly<
  Record<"service" | "sessions" | "quote" | "data" | "degraded", readonly PlainRequest[]>
>;

export async function playExamples(stack: Stack, prover: Prover): Promise<ReturnType<Recorder["kept"]>> {
  const identity = await startExampleIdentity(stack);
  const play = await Play.open(stack, prover);
  try {
    await play.requests("service");
    const { access_token } = await signIn(identity.issuer, SUB);
    await play.requests("sessions", { sub: SUB, app_id: EXAMPLE_APP, access_token });
    await play.payments();
    await play.swap();
    await play.bridges();
    await play.data();
    await play.degraded();
    return play.recorder.kept();
  } finally {
    await identity.stop();
    play.close();
  }
}

/** What `createSession` and `sessionExchange` are given and give stays here; a balance's `token` is an address. */
function withoutCredentials(example: Example): Example {
  const text = JSON.stringify(example)
    .replaceAll(/"token":"sst_[^"]*"/g, `"token":"${PLACEHOLDERS.session}"`)
    .replaceAll(/"access_token":"[^"]*"/g, `"access_token":"${PLACEHOLDERS.accessToken}"`);
  return JSON.parse(text) as Example;
}

function clientOf(stack: Stack, name: NetworkName): Client {
  const { base_url: baseUrl } = stack.network(name).entry;
  return createClient({ baseUrl, credential: { apiKey: stack.file.api_key } });
}

class Play {
  readonly #stack: Stack;
  readonly #prover: Prover;
  readonly #chains: Readonly<Record<NetworkName, JsonRpcProvider>>;
  readonly recorder: Recorder;
  #lastTicket: Pick<Ticket, "ticket_id" | "statement"> | undefined;

  private constructor(stack: Stack, prover: Prover, recorder: Recorder) {
    this.#stack = stack;
    this.#prover = prover;
    this.recorder = recorder;
    const chain = (name: NetworkName): JsonRpcProvider => chainOf(stack.network(name).entry);
    this.#chains = { first: chain("first"), second: chain("second") };
  }

  static async open(stack: Stack, prover: Prover): Promise<Play> {
    const target = async (name: NetworkName) => {
      const { token } = await clientOf(stack, name).createSession({
        ...{ sub: SUB, perms: ["read", "write"], ttl_secs: 3600 },
      });
      const { base_url: baseUrl } = stack.network(name).entry;
      return { baseUrl, apiKey: stack.file.api_key, session: token };
    };
    const recorder = new Recorder({ first: await target("first"), second: await target("second") });
    return new Play(stack, prover, recorder);
  }

  close(): void {
    for (const chain of Object.values(this.#chains)) chain.destroy();
  }

  /** The requests of one group of requests.json, with these in the places of `{name}`. */
  async requests(group: keyof typeof REQUESTS, values: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const request of REQUESTS[group]) {
      const text = JSON.stringify(request).replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
        const value = values[name];
        if (value === undefined) throw new Error(`${group}: nothing stands for {${name}}`);
        return value;
      });
      const { status = 200, ...asked } = JSON.parse(text) as PlainRequest;
      await this.recorder.ask(
        { network: "first", credential: "api-key", ...asked },
        status,
        withoutCredentials,
      );
    }
  }

  async payments(): Promise<void> {
    const wallet = await this.#wallet("first", this.#sequencing("first"));
    await wallet.deposit(usd("100"), await this.#depositor("first", usd("100")));
    await wallet.pay((await this.#wallet("first")).address, usd("30"));

    const seed = newSeed();
    const many = await this.#wallet("first", this.#client("first"), seed);
    const account = await this.#depositor("first", usd("30"));
    for (let note = 0; note < 3; note++) await many.deposit(usd("10"), account);
    const combining = await this.#wallet("first", this.#sequencing("first"), seed);
    await combining.pay(wallet.address, usd("25"));

    const leaving = await this.#wallet("first", this.#relaying("first"), seed);
    await leaving.withdraw(RECIPIENT, usd("2"));
  }

  async swap(): Promise<void> {
    const [usdc, weth] = ["USDC", "WETH"].map((symbol) => {
      const { tokens } = this.#stack.network("second").entry;
      return tokens.find((token) => token.symbol === symbol)?.address ?? "";
    });
    if (usdc === undefined || weth === undefined) throw new Error("the second network lacks a token");
    await this.requests("quote", { usdc, weth });
    const seed = newSeed();
    const rich = await this.#wallet("second", this.#client("second"), seed);
    await rich.deposit(usd("60"), await this.#depositor("second", usd("60")));
    const trader = await this.#wallet("second", this.#sequencing("second"), seed);
    const wanted = { tokenIn: usdc, tokenOut: weth, amount: usd("50"), toleranceBps: 100 };
    await trader.swap(await trader.quote(wanted));
  }

  async bridges(): Promise<void> {
    await playBridges({
      ...{ entry: this.#stack.network("first").entry, client: this.#client("first") },
      ...{ recorder: this.recorder, wallet: (client) => this.#wallet("first", client) },
    });
  }

  async data(): Promise<void> {
    if (this.#lastTicket === undefined) throw new Error("nothing was paid");
    const { ticket_id, statement } = this.#lastTicket;
    await this.requests("data", { ticket_id, statement, recipient: RECIPIENT });
  }

  /** Last: the first network is no good afterwards. */
  async degraded(): Promise<void> {
    await this.#stack.network("first").enclave().stop();
    await this.requests("degraded");
  }

  /** A client whose submissions are attested, sent, and sent again to wait for the execution; each is recorded. */
  #sequencing(network: NetworkName): Client {
    const submit =
      (endpoint: Submitting) =>
      async (body: object): Promise<Ticket> => {
        const { attest, what } = KINDS[endpoint];
        const asked = { network, credential: "session", body } as const;
        await this.recorder.ask({ ...asked, endpoint: attest, name: "attested", summary: what }, 200);
        return this.#submitted({ ...asked, endpoint, name: "accepted", summary: what });
      };
    return {
      ...this.#client(network),
      ...{ sequenceDeposit: submit("sequenceDeposit"), sequenceSpend: submit("sequenceSpend") },
      ...{ sequenceSpend9: submit("sequenceSpend9"), sequenceSwap: submit("sequenceSwap") },
    };
  }

  /** A client that has its payments attested and takes them to `/relay`. */
  #relaying(network: NetworkName): Client {
    const client = this.#client(network);
    const relay =
      (endpoint: "sequenceSpend" | "sequenceSpend9") =>
      async (body: Parameters<Client["attestSpend"]>[0]): Promise<Ticket> => {
        const { kind } = KINDS[endpoint];
        const { attestations }: AttestResponse = await (kind === "spend"
          ? client.attestSpend(body)
          : client.attestSpend9(body));
        return this.#submitted({
          ...{ network, credential: "session", endpoint: "relay", name: "accepted" },
          summary: "A withdrawal with its attestations",
          body: { kind, ...body, attestations },
        });
      };
    return { ...client, sequenceSpend: relay("sequenceSpend"), sequenceSpend9: relay("sequenceSpend9") };
  }

  async #submitted(asked: Asked): Promise<Ticket> {
    const ticket = await this.recorder.ask<Ticket>(asked, 202);
    await this.recorder.ask(
      { ...asked, name: "executed", summary: `${asked.summary}, waited for`, headers: WAIT },
      200,
      ({ body: _body, ...example }) => ({ ...example, bodyOf: asked.name }),
    );
    if (asked.network === "first") this.#lastTicket = ticket;
    return ticket;
  }

  #client(name: NetworkName): Client {
    return clientOf(this.#stack, name);
  }

  #wallet(name: NetworkName, client = this.#client(name), seed = newSeed()): Promise<Wallet> {
    const storage = memoryStorage();
    return openStackWallet(this.#stack.network(name).entry, { seed, client, prover: this.#prover, storage });
  }

  async #depositor(name: NetworkName, amount: bigint): Promise<Account> {
    const chain = this.#chains[name];
    const account = new Account(Account.createRandom().privateKey, chain);
    const { usdc } = this.#stack.network(name).entry;
    await (await TestUsdc.at(usdc, chain)).mint(account.address, amount);
    return account;
  }
}
