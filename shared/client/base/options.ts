/**
 * What an application passes in, read once where it comes in: TypeScript is not everybody's, and a wrong amount or
 * address must be refused before anything is made of it. OPTIONS_INVALID names the place and never the value, which may
 * be a secret.
 */
import * as z from "../../api/zod.ts";
import { KIND_NAMES } from "../../protocol/statements.ts";
import { ClientError } from "./errors.ts";

/** Said where a schema is used for a type: an option that the schema does not list does not compile there. */
export interface Lists<T> {
  readonly shape: Readonly<Record<keyof T, unknown>>;
}

/** Returns what it was given, or throws OPTIONS_INVALID with the first place that is wrong. */
export function checkOptions(schema: z.ZodType, given: unknown, name: string): void {
  const parsed = schema.safeParse(given);
  if (parsed.success) return;
  const { path, message } = parsed.error.issues[0]!;
  const place = [name, ...path.map(String)].join(".");
  throw new ClientError("OPTIONS_INVALID", `${place}: ${message}`);
}

export const aFunction = z.custom<(...given: never[]) => unknown>(
  (value) => typeof value === "function",
  "a function",
);
export const anObject = z.custom<object>((value) => typeof value === "object" && value !== null, "an object");
const methods = (names: readonly string[], what: string): z.ZodType =>
  z.custom(
    (value) =>
      typeof value === "object" &&
      value !== null &&
      names.every((name) => typeof (value as Record<string, unknown>)[name] === "function"),
    `${what}, with ${names.join(", ")}`,
  );

/** A timer takes no more (2^31 − 1), and fires at once for what it cannot take. */
const ms = z.number("milliseconds").int("whole milliseconds").min(0).max(2_147_483_647);
const signal = methods(["addEventListener", "throwIfAborted"], "an AbortSignal");
const deadlineSecs = z.number("seconds").int("whole seconds").min(1).max(86_400);

const waiting = { signal: signal.optional(), timeoutMs: ms.optional() };
const statement = { ...waiting, deadlineSecs: deadlineSecs.optional(), progress: aFunction.optional() };
const until = z.enum(["queued", "confirmed", "finalized"]).optional();
const asset = z.string("a token's address").optional();

export const waitOptions = z.strictObject(waiting);
export const syncOptions = z.strictObject({ ...waiting, progress: aFunction.optional() });
export const depositOptions = z.strictObject({ ...statement, until, asset });
const untilSent = z.enum(["sent", "confirmed"]).optional();
export const plainDepositOptions = z.strictObject({ ...statement, until: untilSent, asset });
const spending = { ...statement, until, consolidate: z.boolean().optional() };
export const spendOptions = z.strictObject(spending);
const memo = z.string("a line of text").optional();
export const paymentOptions = z.strictObject({ ...spending, asset, memo });
export const provedOptions = z.strictObject({ ...statement, until: untilSent, asset });
export const discloseOptions = z.strictObject({
  payment: z.union(
    [z.number().int().min(0), z.string().regex(/^0x[0-9a-f]{64}$/)],
    "a leaf's number, or a hash: 0x and 64 lower-case hex digits",
  ),
  reader: z.string("a name"),
  expiresAt: z.number("Unix seconds"),
  recipient: z.strictObject({ address: z.string(), amount: z.bigint() }).optional(),
  signal: signal.optional(),
});
export const verifyDisclosureOptions = z.strictObject({
  pins: z.object(
    { chainId: z.number().int().min(1), pool: z.string(), addressPrefix: z.string() },
    "chainId, pool and addressPrefix",
  ),
  reader: z.string("a name"),
  rpc: z.union([z.string(), z.array(z.string()).min(1)], "the address of a node, or several"),
  finality: z
    .union([z.number().int().min(0).max(100_000), z.literal("finalized")], 'blocks on top, or "finalized"')
    .optional(),
  fetch: aFunction.optional(),
  signal: signal.optional(),
  now: aFunction.optional(),
});
export const bridgeInOptions = z.strictObject({
  ...waiting,
  refundAddress: z.string("an address that you hold on every chain").optional(),
  asset,
  progress: aFunction.optional(),
});
export const bridgeOutOptions = z.strictObject({ ...waiting, asset, progress: aFunction.optional() });
export const bridgeWithdrawOptions = z.strictObject({
  ...spending,
  asset,
  until: z.enum(["sent", "completed"]).optional(),
  onStatus: aFunction.optional(),
});
export const bridgeWaitOptions = z.strictObject({
  ...waiting,
  until: z.enum(["detected", "completed"]).optional(),
  onStatus: aFunction.optional(),
});
export const bridgeHints = z.strictObject({
  ...waiting,
  refundAddresses: z.array(z.string()).optional(),
  accounts: z.array(z.string()).optional(),
  recipients: z.array(z.strictObject({ chainId: z.number().int().min(1), address: z.string() })).optional(),
});
export const bridgeName = z.string("a bridge's id, or an address").min(1).max(128);
export const ticketState = z.enum(["queued", "submitted", "confirmed", "finalized", "failed", "expired"]);

export const depositSigner = methods(["getAddress", "signTypedData"], "an ethers Signer or eip1193Signer(…)");
export const transactionSender = methods(
  ["getAddress", "sendTransaction"],
  "an ethers Signer with a provider or eip1193Sender(…)",
);
export const eip1193Provider = methods(["request"], "an EIP-1193 provider such as window.ethereum");

// ---------------------------------------------------------------- what a wallet is made of

const hex = (bytes: number, what: string): z.ZodType =>
  z
    .string(what)
    .regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`), `${what}: ${bytes * 2} lower-case hex digits without 0x`);
const measurement = z.object({ pcr0: hex(48, "a PCR"), pcr1: hex(48, "a PCR"), pcr2: hex(48, "a PCR") });
const enclaves = z.union(
  [
    z.literal("unverified"),
    z.strictObject({
      measurements: z.array(measurement),
      roots: z.array(hex(32, "a root's SHA-256")).optional(),
    }),
  ],
  '{ measurements: [{ pcr0, pcr1, pcr2 }], roots? }, each in lower-case hex digits without 0x, or "unverified"',
);
/** What is in them is read by `requireAddress`, with a code of its own. */
const publicAddress = z.string("an address");
const feeRule = z.strictObject({
  flat: z.bigint("a bigint of the token's smallest units").min(0n),
  bps: z.number("basis points").int().min(0).max(10_000),
});
const ceiling = z.strictObject({
  deposit: feeRule.optional(),
  transfer: feeRule.optional(),
  withdraw: feeRule.optional(),
  swap: feeRule.optional(),
});

const chainNumber = z.number("a number such as 1").int().min(1).max(Number.MAX_SAFE_INTEGER);
const units = z.bigint("a bigint of the token's smallest units").min(1n);
const bounds = { minimum: units, feeCeiling: units };
const isAbove = ({ minimum, feeCeiling }: { minimum: bigint; feeCeiling: bigint }): boolean =>
  minimum > feeCeiling;
const aboveFees = "minimum: more than feeCeiling, or the fees could take all of it";
const uint32 = z.number("a number").int().min(0).max(0xffff_ffff);
const exit = { messenger: publicAddress, domain: uint32, ...bounds };
const bridgePins = z.strictObject({
  factory: publicAddress,
  vaultCodeHash: z.string().regex(/^0x[0-9a-f]{64}$/, "0x and 64 lower-case hex digits"),
  collector: publicAddress,
  assets: z.record(publicAddress, z.strictObject(bounds).refine(isAbove, aboveFees)),
  lanes: z.array(
    z.strictObject({ chainId: chainNumber, token: publicAddress, ...exit }).refine(isAbove, aboveFees),
  ),
  exits: z.strictObject({
    perpvenue: z
      .strictObject({ ...exit, caller: z.string() })
      .refine(isAbove, aboveFees)
      .optional(),
    chains: z.array(z.strictObject({ ...exit, chainId: chainNumber }).refine(isAbove, aboveFees)),
  }),
  altchain: z
    .strictObject({ mint: z.string(), decimals: z.number().int().min(0).max(255), domain: uint32 })
    .optional(),
});

export const pinsOptions = z.strictObject({
  chainId: z.number("a number such as 1").int().min(1).max(Number.MAX_SAFE_INTEGER),
  pool: publicAddress,
  assets: z.array(publicAddress, "a list of addresses").min(1, "at least one token"),
  addressPrefix: z
    .string("the network's prefix such as clo")
    .regex(/^[a-z0-9]{1,32}$/, "lower-case letters and digits"),
  enclaves,
  feeCeiling: ceiling,
  feeCeilings: z.record(publicAddress, ceiling).optional(),
  feeSinks: z.array(z.string("a shielded address")).optional(),
  tokenDomains: z.record(publicAddress, z.strictObject({ name: z.string(), version: z.string() })).optional(),
  verifyingKeys: z
    .partialRecord(
      z.enum(KIND_NAMES),
      z.string().regex(/^0x[0-9a-f]{64}$/, "0x and 64 lower-case hex digits"),
    )
    .optional(),
  bridges: bridgePins.optional(),
});

export const walletOptions = z.strictObject({
  key: z.custom((value) => typeof value === "object" && value !== null, "{ seed } or { phrase }"),
  client: methods(["events", "info", "whoami"], "what createClient returns").optional(),
  chain: methods(["open", "withoutService"], "what poolChain returns").optional(),
  // Read by json-rpc.ts, which says more.
  rpc: z.union([z.string(), z.array(z.string()).min(1)], "the address of a node, or several").optional(),
  storage: methods(["load", "save"], "a WalletStorage such as indexedDbStorage(…)"),
  rebuild: z.boolean().optional(),
  prover: methods(["prove", "prepare", "checkInfo"], "what createProver returns"),
  worker: z.union([z.string(), z.instanceof(URL)], "the address of the worker's file").optional(),
  pins: anObject,
  verifyRoot: aFunction.optional(),
  changeTimeoutMs: ms.optional(),
  now: aFunction.optional(),
});

export const chainOptions = z.strictObject({
  // Read by json-rpc.ts, which says more.
  rpc: z.union([z.string(), z.array(z.string()).min(1)], "the address of a node, or several"),
  fromBlock: z.number("a block's number").int().min(0).optional(),
  finality: z
    .union([z.number().int().min(0).max(100_000), z.literal("finalized")], 'blocks on top, or "finalized"')
    .optional(),
  maxAgeSecs: z.number("seconds").min(1).optional(),
  pollMs: ms.min(1).optional(),
  fetch: aFunction.optional(),
  onProgress: aFunction.optional(),
});

// ---------------------------------------------------------------- what a client is made of

const service = {
  // Read by reaching.ts, which says more.
  baseUrl: z.unknown(),
  fetch: aFunction.optional(),
  tries: z.number("a number").int().min(1).max(100).optional(),
  maxWaitMs: ms.optional(),
  answerMs: ms.min(1).optional(),
  wait: aFunction.optional(),
};
/** What a header can carry: a key out of a file often ends with a line break. */
const apiKey = z
  .string("a string")
  .refine((text) => !text.startsWith("sst_"), "this is a session token: give it by sessionProvider")
  .regex(/^[\x21-\x7e]+$/, "it has neither spaces nor line breaks");
const credential = z
  .object(
    { apiKey: apiKey.optional(), sessionProvider: aFunction.optional() },
    "{ sessionProvider } in a browser, { apiKey } on a server",
  )
  .refine(
    (given) => (given.apiKey === undefined) !== (given.sessionProvider === undefined),
    "either { sessionProvider }, in a browser, or { apiKey }, on a server",
  );
const timing = z.strictObject({
  silenceMs: ms.optional(),
  maxPauseMs: ms.optional(),
  maxAwayMs: ms.optional(),
  wait: aFunction.optional(),
});

export const clientOptions = z.strictObject({
  ...service,
  credential,
  providerMs: ms.min(1).optional(),
  streamTiming: timing.optional(),
});

export const identityProviderOptions = z.strictObject({
  ...service,
  appId: z.string("the id that the service's operator gave").min(1),
  accessToken: aFunction,
  perms: z.array(z.enum(["read", "write"])).optional(),
  ttlSecs: z.number("seconds").int().min(1).optional(),
});

const file = z.object({ sha256: hex(32, "a SHA-256") });
export const proverOptions = z.object({
  source: aFunction,
  manifest: z.object(
    {
      circuits: z.record(
        z.string(),
        z.object({ zkey: file, wasm: file }),
        "the manifest's circuits, as readManifest gives them",
      ),
    },
    "the content of manifest.json",
  ),
  worker: z.union([z.string(), z.instanceof(URL)], "the address of the worker's file").optional(),
  threads: z.number("a number").int("a whole number").min(1).optional(),
});
