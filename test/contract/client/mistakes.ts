// What developers write wrong, as one table: each mistake, the code that it ends with, after which waits, and what the
// words must help with. It is played in Node and in a browser, so it knows nothing but the client library, its stage and clocks.
import {
  ApiProblem,
  ClientError,
  createClient,
  createProver,
  createWallet,
  eip1193Sender,
  eip1193Signer,
  fetchArtefacts,
  identityProviderSession,
  memoryStorage,
  newPhrase,
  poolRootVerifier,
  type ArtefactManifest,
  type Client,
  type ClientErrorCode,
  type Pins,
  type Prover,
  type Wallet,
} from "../../../shared/client/index.ts";
import type { ErrorCode } from "../../../shared/api/errors.ts";
import { ranOut } from "../../support/clocks.ts";

/** Plain data, so that a page can be given it. */
export interface Stage {
  /** A good service, and one that has nothing to do with it: a page's server, one that keeps silent, and nobody. */
  readonly service: string;
  readonly website: string;
  readonly mute: string;
  readonly nobody: string;
  readonly token: string;
  readonly expiredToken: string;
  readonly pins: Omit<Pins, "feeCeiling">;
  readonly manifest: ArtefactManifest;
}

export interface Mistake {
  readonly name: string;
  readonly code: ClientErrorCode | ErrorCode;
  /** What the message must name. */
  readonly says: RegExp;
  /** How long the library may pause between tries, all pauses together. Default 0: most are refused at once. */
  readonly pausesMs?: number;
  play(scene: Scene): unknown;
}

/** Where one mistake is played: the stage, and the pauses that a client makes on it, which nobody waits for. */
interface Scene extends Stage {
  readonly wait: (ms: number) => Promise<void>;
}

/**
 * How a mistake ended. `isOurs`: by an error of this library. How long it took is told by what the library waited for,
 * not by the machine's speed: its pauses together, and the longest of its clocks that ran out.
 */
export interface Played {
  readonly code: string;
  readonly isOurs: boolean;
  readonly message: string;
  readonly pausedMs: number;
  readonly ranOutMs: number;
}

/** The stage's own limits for those who keep silent are half of it. */
export const LONGEST_CLOCK_MS = 1_000;

export async function play(mistake: Mistake, stage: Stage): Promise<Played> {
  let pausedMs = 0;
  const wait = async (ms: number): Promise<void> => void (pausedMs += ms);
  const { result, clocks } = await ranOut(async () => {
    try {
      await mistake.play({ ...stage, wait });
      return { code: "taken", isOurs: false, message: "" };
    } catch (error) {
      const isOurs = error instanceof ClientError || error instanceof ApiProblem;
      const { code = "none", message } = error as { code?: string; message: string };
      return { code, isOurs, message };
    }
  });
  return { ...result, pausedMs, ranOutMs: clocks.longestMs };
}

/** The network's own patience: four tries, less than four seconds of pauses. */
const NETWORK_MS = 4_000;

/** EIP-55's own example, and the same with the case of one letter changed. */
const GOOD = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const MISTYPED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD";
const CHECKSUM = /checksum \(EIP-55\)/;

/** For wrong values: what TypeScript would not let through. */
const wrong = <T>(value: unknown): T => value as T;

/** Nothing here comes to proving. */
const prover: Prover = {
  prepare: () => Promise.resolve(),
  prove: () => Promise.reject(new Error("came to proving")),
  checkInfo: () => undefined,
  close: () => Promise.resolve(),
};
const signer = { getAddress: async () => GOOD, signTypedData: async () => "0x" };

const clientOf = ({ service, token, wait }: Scene, changed: object = {}): Client =>
  createClient({
    ...{ baseUrl: service, credential: { sessionProvider: async () => token } },
    ...{ wait, streamTiming: { wait } },
    ...changed,
  });
const pinsOf = (stage: Stage, changed: object = {}): Pins => {
  const flat = { flat: 100_000n, bps: 0 };
  return {
    ...stage.pins,
    feeCeiling: { deposit: flat, transfer: flat, withdraw: flat, swap: flat },
    ...changed,
  };
};
const open = (stage: Scene, changed: object = {}): Promise<Wallet> =>
  createWallet({
    ...{ key: { seed: new Uint8Array(32).fill(3) }, client: clientOf(stage), storage: memoryStorage() },
    ...{ prover, pins: pinsOf(stage) },
    ...changed,
  });

/** A base address, told at once and without its text, which may hold a password. */
const baseUrl = (name: string, value: unknown, says: RegExp): Mistake => ({
  ...{ name: `a base address ${name}`, code: "OPTIONS_INVALID", says },
  play: (stage) => clientOf(stage, { baseUrl: value }),
});
const ofClient = (name: string, changed: object, says: RegExp): Mistake => ({
  ...{ name: `createClient with ${name}`, code: "OPTIONS_INVALID", says },
  play: (stage) => clientOf(stage, changed),
});
const ofWallet = (
  name: string,
  changed: object,
  says: RegExp,
  code: ClientErrorCode = "OPTIONS_INVALID",
): Mistake => ({ name: `createWallet with ${name}`, code, says, play: (stage) => open(stage, changed) });
const ofPins = (
  name: string,
  changed: object,
  says: RegExp,
  code: ClientErrorCode = "OPTIONS_INVALID",
): Mistake => ({
  ...{ name: `pins with ${name}`, code, says },
  play: (stage) => open(stage, { pins: pinsOf(stage, changed) }),
});
const onWallet = (
  name: string,
  code: Mistake["code"],
  says: RegExp,
  use: (wallet: Wallet, stage: Scene) => unknown,
): Mistake => ({ name, code, says, play: async (stage) => use(await open(stage), stage) });
const afterClose = (method: Exclude<keyof Wallet, "address" | "close">): Mistake => ({
  ...{ name: `${method} of a wallet that was closed`, code: "WALLET_CLOSED", says: /closed/ },
  async play(stage) {
    const wallet = await open(stage);
    await wallet.close();
    await (wallet[method] as (...given: unknown[]) => unknown)(wallet.address, 1n);
  },
});

const UNITS = /smallest units/;

export const MISTAKES: readonly Mistake[] = [
  // The service's address.
  baseUrl("without a scheme", "api.example", /baseUrl: it begins with https/),
  baseUrl("of a host and a port alone", "localhost:8787", /baseUrl: it begins with https/),
  baseUrl("that is a path", "/api", /baseUrl: it begins with https/),
  baseUrl("of a web socket", "wss://api.example", /baseUrl: it begins with https/),
  baseUrl("that is missing", undefined, /baseUrl: an address like https/),
  baseUrl("that is a URL object", new URL("https://api.example"), /baseUrl: an address like https/),
  baseUrl(
    "with a password in it",
    "https://user:hidden@api.example",
    /baseUrl: a credential does not belong/,
  ),
  baseUrl("with a query", "https://api.example/?session=hidden", /baseUrl: it has neither query/),
  {
    ...{
      name: "an address where nobody listens",
      code: "NETWORK",
      says: /GET http:.*:\d+\/whoami: .*not|nothing/,
    },
    ...{ pausesMs: NETWORK_MS, play: (stage) => clientOf(stage, { baseUrl: stage.nobody }).whoami() },
  },
  {
    ...{ name: "a stream where nobody listens", code: "NETWORK", says: /GET http:.*\/events\/stream: / },
    pausesMs: NETWORK_MS,
    play: (stage) => clientOf(stage, { baseUrl: stage.nobody }).events().next(),
  },
  {
    ...{ name: "sync with a service that is not there", code: "NETWORK", says: /\/history: / },
    pausesMs: NETWORK_MS,
    play: async (stage) => (await open(stage, { client: clientOf(stage, { baseUrl: stage.nobody }) })).sync(),
  },
  {
    ...{
      name: "the address of a website",
      code: "UNEXPECTED_ANSWER",
      says: /text\/html from http.*service's address/,
    },
    play: (stage) => clientOf(stage, { baseUrl: stage.website }).whoami(),
  },
  {
    ...{ name: "a stream of a website", code: "UNEXPECTED_ANSWER", says: /text\/html from http/ },
    play: (stage) => clientOf(stage, { baseUrl: stage.website }).events().next(),
  },
  {
    ...{ name: "a service that keeps silent", code: "NETWORK", says: /nothing was received/ },
    play: (stage) => clientOf(stage, { baseUrl: stage.mute, answerMs: 500 }).whoami(),
  },
  {
    ...{ name: "a stream that keeps silent", code: "NETWORK", says: /nothing was received/ },
    play: (stage) => clientOf(stage, { baseUrl: stage.mute, answerMs: 500 }).events().next(),
  },
  {
    ...{ name: "a path that the service does not have", code: "NOT_FOUND", says: /NOT_FOUND/ },
    play: (stage) => clientOf(stage, { baseUrl: `${stage.service}/v1` }).whoami(),
  },

  // Credentials.
  ofClient("no options", { baseUrl: undefined, credential: undefined }, /createClient\.credential/),
  ofClient("no credential", { credential: undefined }, /credential: .*sessionProvider/),
  ofClient("an empty credential", { credential: {} }, /credential: either/),
  ofClient("both credentials", { credential: { apiKey: "ck_a", sessionProvider: async () => "" } }, /either/),
  ofClient(
    "an API key from a file, with its line break",
    { credential: { apiKey: "ck_a_b\n" } },
    /line breaks/,
  ),
  ofClient("a session token as API key", { credential: { apiKey: "sst_hidden" } }, /sessionProvider/),
  ofClient(
    "a token in the place of a provider",
    { credential: { sessionProvider: "sst_hidden" } },
    /a function/,
  ),
  ofClient("a misspelt option", { timeout: 5 }, /timeout/),
  ofClient("tries that are a text", { tries: "4" }, /tries/),
  {
    ...{ name: "a provider that throws", code: "SESSION_PROVIDER_FAILED", says: /gave no token/ },
    play: (stage) =>
      clientOf(stage, {
        credential: { sessionProvider: () => Promise.reject(new Error("hidden")) },
      }).whoami(),
  },
  {
    ...{ name: "a provider that returns the whole answer", code: "SESSION_PROVIDER_FAILED", says: /sst_…/ },
    play: (stage) =>
      clientOf(stage, { credential: { sessionProvider: async () => ({ token: stage.token }) } }).whoami(),
  },
  {
    ...{ name: "a provider that never answers", code: "SESSION_PROVIDER_FAILED", says: /no answer in/ },
    play: (stage) =>
      clientOf(stage, {
        ...{ credential: { sessionProvider: () => new Promise(() => undefined) }, providerMs: 500 },
      })
        .events()
        .next(),
  },
  {
    ...{ name: "a provider that keeps an old token", code: "SESSION_EXPIRED", says: /SESSION_EXPIRED/ },
    play: (stage) =>
      clientOf(stage, { credential: { sessionProvider: async () => stage.expiredToken } })
        .events()
        .next(),
  },
  {
    ...{ name: "a made-up token", code: "INVALID_CREDENTIAL", says: /INVALID_CREDENTIAL/ },
    play: (stage) =>
      clientOf(stage, { credential: { sessionProvider: async () => "sst_made_up" } })
        .events()
        .next(),
  },
  {
    ...{
      name: "an identity provider without its function",
      code: "OPTIONS_INVALID",
      says: /accessToken: a function/,
    },
    play: (stage) =>
      identityProviderSession({ baseUrl: stage.service, appId: "app_a", accessToken: wrong("hidden") }),
  },
  {
    ...{ name: "a request with a bigint", code: "OPTIONS_INVALID", says: /decimal strings/ },
    play: (stage) => clientOf(stage).relay(wrong({ value: 1n })),
  },

  // What a wallet is made of.
  ofWallet("no key", { key: undefined }, /createWallet\.key/),
  ofWallet("an empty key", { key: {} }, /either \{ seed \} or \{ phrase \}/, "KEY_INVALID"),
  ofWallet("a seed of 16 bytes", { key: { seed: new Uint8Array(16) } }, /32 bytes/, "KEY_INVALID"),
  ofWallet("a seed in hex", { key: { seed: "ab".repeat(32) } }, /Uint8Array/, "KEY_INVALID"),
  ofWallet(
    "a seed of numbers",
    { key: { seed: Array.from({ length: 32 }, () => 1) } },
    /Uint8Array/,
    "KEY_INVALID",
  ),
  ofWallet("a phrase with a word too few", { key: { phrase: newPhrase().split(" ").slice(1).join(" ") } }, /BIP-39/, "KEY_INVALID"), // prettier-ignore
  ofWallet("a phrase that is a list", { key: { phrase: newPhrase().split(" ") } }, /texts/, "KEY_INVALID"),
  ofWallet("no client", { client: undefined }, /client: what createClient returns/),
  ofWallet("options in the place of a client", { client: { baseUrl: "https://a.example" } }, /client: what/),
  ofWallet(
    "localStorage itself",
    { storage: { getItem: () => null, setItem: () => undefined } },
    /storage: a WalletS/,
  ),
  ofWallet("no prover", { prover: undefined }, /prover: what createProver returns/),
  ofWallet("no pins", { pins: undefined }, /createWallet\.pins/),
  ofWallet("a misspelt option", { verifyroot: async () => true }, /verifyroot/),
  ofPins("a chain id that is a text", { chainId: "31337" }, /pins\.chainId: a number/),
  ofPins("a chain id that is a bigint", { chainId: 31_337n }, /pins\.chainId: a number/),
  ofPins(
    "a pool that is no address",
    { pool: "pool.eth" },
    /pins\.pool: an address is 0x/,
    "ADDRESS_INVALID",
  ),
  ofPins("a mistyped pool", { pool: MISTYPED }, CHECKSUM, "ADDRESS_INVALID"),
  ofPins("a mistyped token", { assets: [MISTYPED] }, CHECKSUM, "ADDRESS_INVALID"),
  ofPins("no token", { assets: [] }, /at least one token/),
  ofPins("one token in the place of a list", { assets: GOOD }, /a list of addresses/),
  ofPins(
    "a mistyped token among the ceilings",
    { feeCeilings: { [MISTYPED]: {} } },
    CHECKSUM,
    "ADDRESS_INVALID",
  ),
  ofPins("no word about enclaves", { enclaves: undefined }, /pins\.enclaves: .*unverified/),
  ofPins(
    "a measurement with 0x",
    { enclaves: { measurements: [{ pcr0: "0x00" }] } },
    /hex digits without 0x/,
  ),
  ofPins(
    "a ceiling in numbers",
    { feeCeiling: { transfer: { flat: 1, bps: 0 } } },
    /transfer\.flat: a bigint/,
  ),
  ofPins("a misspelt key", { feeCeiling: {}, feeSink: [] }, /feeSink/),
  ...[{ chainId: 5 }, { pool: GOOD }].map((changed): Mistake => ({
    ...{ name: `pins with another ${Object.keys(changed).join("")}`, code: "PIN_MISMATCH", says: /another/ },
    play: async (stage) => (await open(stage, { pins: pinsOf(stage, changed) })).sync(),
  })),
  {
    ...{ name: "a prover without a manifest", code: "OPTIONS_INVALID", says: /createProver\.manifest/ },
    play: (stage) => createProver(wrong({ source: fetchArtefacts(stage.website) })),
  },
  {
    ...{
      name: "a prover with one circuit's part of the manifest",
      code: "OPTIONS_INVALID",
      says: /manifest\.circuits/,
    },
    play: (stage) =>
      createProver({
        source: fetchArtefacts(stage.website),
        manifest: wrong(stage.manifest.circuits["spend"]),
      }),
  },
  {
    ...{ name: "a root verifier without a scheme", code: "OPTIONS_INVALID", says: /rpcUrl: it begins with/ },
    play: () => poolRootVerifier("localhost:8545", 1, GOOD),
  },
  {
    ...{ name: "a root verifier with a mistyped pool", code: "ADDRESS_INVALID", says: CHECKSUM },
    play: () => poolRootVerifier("http://localhost:8545", 1, MISTYPED),
  },
  {
    ...{ name: "no browser wallet to sign with", code: "OPTIONS_INVALID", says: /EIP-1193 provider/ },
    play: () => eip1193Signer(wrong(undefined), GOOD),
  },
  {
    ...{ name: "no browser wallet to send with", code: "OPTIONS_INVALID", says: /EIP-1193 provider/ },
    play: () => eip1193Sender(wrong(undefined), GOOD),
  },

  // Amounts.
  ...[5, 1.5, "5", "5.0", undefined, null].map((amount) =>
    onWallet(
      `a payment of ${amount === undefined ? "nothing" : JSON.stringify(amount)}`,
      "AMOUNT_INVALID",
      UNITS,
      (wallet) => wallet.pay(wallet.address, wrong(amount)),
    ),
  ),
  onWallet("a payment of zero", "AMOUNT_INVALID", /above zero/, (wallet) => wallet.pay(wallet.address, 0n)),
  onWallet("a negative payment", "AMOUNT_INVALID", /above zero/, (wallet) => wallet.pay(wallet.address, -5n)),
  onWallet("a payment of 2^128", "AMOUNT_INVALID", /no note holds/, (wallet) =>
    wallet.pay(wallet.address, 1n << 128n),
  ),
  onWallet("a deposit of a number", "AMOUNT_INVALID", UNITS, (wallet) => wallet.deposit(wrong(5), signer)),
  onWallet("a withdrawal of a text", "AMOUNT_INVALID", UNITS, (wallet) => wallet.withdraw(GOOD, wrong("5"))),
  onWallet("more than there is", "INSUFFICIENT_FUNDS", /does not hold that much|no note/, (wallet) =>
    wallet.pay(wallet.address, 5n),
  ),
  onWallet("a quote for a number", "AMOUNT_INVALID", UNITS, (wallet, { pins }) =>
    wallet.quote({ tokenIn: pins.assets[0]!, tokenOut: pins.assets[1]!, amount: wrong(5), toleranceBps: 50 }),
  ),
  onWallet("a quote with a tolerance in percent", "AMOUNT_INVALID", /basis points/, (wallet, { pins }) =>
    wallet.quote({ tokenIn: pins.assets[0]!, tokenOut: pins.assets[1]!, amount: 5n, toleranceBps: 0.5 }),
  ),
  onWallet("a swap with a floor in numbers", "AMOUNT_INVALID", UNITS, (wallet, { pins }) =>
    wallet.swap({
      tokenIn: pins.assets[0]!,
      tokenOut: pins.assets[1]!,
      amount: 5n,
      floor: wrong(5),
      path: "0x",
    }),
  ),

  // Addresses.
  onWallet("a withdrawal to a mistyped address", "ADDRESS_INVALID", CHECKSUM, (wallet) =>
    wallet.withdraw(MISTYPED, 5n),
  ),
  onWallet("a withdrawal to a name", "ADDRESS_INVALID", /0x and 40 hex digits/, (wallet) =>
    wallet.withdraw("alice.eth", 5n),
  ),
  onWallet("a withdrawal to the zero address", "ADDRESS_INVALID", /nobody has/, (wallet) =>
    wallet.withdraw(`0x${"00".repeat(20)}`, 5n),
  ),
  onWallet("a withdrawal to the pool", "ADDRESS_INVALID", /pins\.pool; .*stuck/, (wallet, { pins }) =>
    wallet.withdraw(pins.pool, 5n),
  ),
  onWallet("a withdrawal to a token", "ADDRESS_INVALID", /pins\.assets; .*stuck/, (wallet, { pins }) =>
    wallet.withdraw(pins.assets[0]!, 5n),
  ),
  onWallet("a withdrawal to a shielded address", "ADDRESS_INVALID", /0x and 40 hex digits/, (wallet) =>
    wallet.withdraw(wallet.address, 5n),
  ),
  onWallet("a payment to a public address", "ADDRESS_INVALID", /withdraw/, (wallet) => wallet.pay(GOOD, 5n)),
  onWallet("a payment to nobody", "ADDRESS_INVALID", /shielded address/, (wallet) =>
    wallet.pay(wrong(undefined), 5n),
  ),
  onWallet("a payment to a shortened address", "ADDRESS_INVALID", /shielded address/, (wallet) =>
    wallet.pay(wallet.address.slice(0, -1), 5n),
  ),
  onWallet("a payment to another network", "ADDRESS_INVALID", /shielded address/, (wallet) =>
    wallet.pay(`other1${wallet.address.split("1").slice(1).join("1")}`, 5n),
  ),
  onWallet("a mistyped token", "ADDRESS_INVALID", CHECKSUM, (wallet) =>
    wallet.pay(wallet.address, 5n, { asset: MISTYPED }),
  ),
  onWallet("a balance of a mistyped token", "ADDRESS_INVALID", CHECKSUM, (wallet) =>
    wallet.balance(MISTYPED),
  ),
  onWallet("a token that is not pinned", "PIN_MISMATCH", /not a pinned asset/, (wallet) =>
    wallet.pay(wallet.address, 5n, { asset: GOOD }),
  ),
  onWallet("a swap of a mistyped token", "ADDRESS_INVALID", CHECKSUM, (wallet, { pins }) =>
    wallet.swap({ tokenIn: MISTYPED, tokenOut: pins.assets[1]!, amount: 5n, floor: 5n, path: "0x" }),
  ),
  onWallet("a quote into a mistyped token", "ADDRESS_INVALID", CHECKSUM, (wallet, { pins }) =>
    wallet.quote({ tokenIn: pins.assets[0]!, tokenOut: MISTYPED, amount: 5n, toleranceBps: 50 }),
  ),
  onWallet("a swap without a path", "PATH_INVALID", /path/, (wallet, { pins }) =>
    wallet.swap({
      tokenIn: pins.assets[0]!,
      tokenOut: pins.assets[1]!,
      amount: 5n,
      floor: 5n,
      path: wrong(undefined),
    }),
  ),
  onWallet("a depositor with a mistyped address", "ADDRESS_INVALID", CHECKSUM, (wallet) =>
    wallet.deposit(1_000_000n, { ...signer, getAddress: async () => MISTYPED }),
  ),

  // Signers and options.
  onWallet("a deposit without a signer", "OPTIONS_INVALID", /signer: .*eip1193Signer/, (wallet) =>
    wallet.deposit(5n, wrong(undefined)),
  ),
  onWallet("a deposit signed by an address", "OPTIONS_INVALID", /signer: .*eip1193Signer/, (wallet) =>
    wallet.deposit(5n, wrong(GOOD)),
  ),
  onWallet("a plain deposit with a mere signer", "OPTIONS_INVALID", /sender: .*eip1193Sender/, (wallet) =>
    wallet.depositPlain(5n, wrong(signer)),
  ),
  onWallet("a signer whose owner says no", "SIGNER_FAILED", /signTypedData/, (wallet) =>
    wallet.deposit(1_000_000n, { ...signer, signTypedData: () => Promise.reject(new Error("rejected")) }),
  ),
  onWallet("a wait for a state that does not exist", "OPTIONS_INVALID", /until/, (wallet) =>
    wallet.waitForTicket("t", wrong("mined")),
  ),
  onWallet("a payment until a state that does not exist", "OPTIONS_INVALID", /pay\.until/, (wallet) =>
    wallet.pay(wallet.address, 5n, { until: wrong("mined") }),
  ),
  onWallet("a ticket that the service does not know", "TICKET_UNKNOWN", /TICKET_UNKNOWN/, (wallet) =>
    wallet.waitForTicket("0190a0a0-0000-7000-8000-000000000000"),
  ),
  onWallet("no ticket at all", "OPTIONS_INVALID", /ticketId/, (wallet) =>
    wallet.waitForTicket(wrong(undefined)),
  ),
  onWallet("a time limit without an end", "OPTIONS_INVALID", /timeoutMs/, (wallet) =>
    wallet.sync({ timeoutMs: Infinity }),
  ),
  onWallet("a time limit that is a text", "OPTIONS_INVALID", /timeoutMs/, (wallet) =>
    wallet.sync({ timeoutMs: wrong("5") }),
  ),
  onWallet("a misspelt time limit", "OPTIONS_INVALID", /timeout/, (wallet) =>
    wallet.sync(wrong({ timeout: 5 })),
  ),
  onWallet("a controller in the place of its signal", "OPTIONS_INVALID", /an AbortSignal/, (wallet) =>
    wallet.sync({ signal: wrong(new AbortController()) }),
  ),
  onWallet("a deadline in milliseconds", "OPTIONS_INVALID", /deadlineSecs/, (wallet) =>
    wallet.pay(wallet.address, 5n, { deadlineSecs: 900_000 }),
  ),
  onWallet("a listener that is no function", "OPTIONS_INVALID", /a function/, (wallet) =>
    wallet.watch(wrong("balance")),
  ),
  {
    ...{ name: "a clock that is a day behind", code: "CLOCK_WRONG", says: /8\d{4} seconds behind/ },
    play: async (stage) => {
      const wallet = await open(stage, { now: () => Math.floor(Date.now() / 1000) - 86_400 });
      await wallet.deposit(1_000_000n, signer);
    },
  },
  {
    ...{ name: "a page of nodes that no level has", code: "OPTIONS_INVALID", says: /level/ },
    play: (stage) => clientOf(stage).treeLevel({ level: 99, leafCount: 1 }).next(),
  },

  // A wallet that was closed: every method but `close`.
  ...(
    [
      ...["sync", "rescan", "watch", "balances", "balance", "notes", "deposit", "depositPlain", "pay"],
      ...["withdraw", "quote", "swap", "consolidate", "adopt", "waitForTicket"],
    ] as const satisfies (keyof Wallet)[]
  ).map(afterClose),
];
