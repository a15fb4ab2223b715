/**
 * What this instance bridges: a JSON file that CLOISTER_BRIDGES names, read whole at start, with all its faults at once.
 * Most of it goes into addresses that users are given, so a wrong line here is money at a wrong place.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { ZERO_ADDRESS, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";
import { address as addressText, amount as amountText, bytes32 } from "../../../shared/api/values.ts";
import { HOME_CHAIN } from "../store/bridge-records.ts";
import { ConfigError } from "../settings.ts";

/** Names that other parts of the file have already, or the status says of its own. */
const TAKEN = [HOME_CHAIN, "altchain", "perpvenue", "attester"];

const address = addressText
  .transform((text): Address => asAddress(text) ?? z.NEVER)
  .refine((found) => found !== ZERO_ADDRESS, "must not be the zero address");
const hash = bytes32.transform((text): Bytes32 => asBytes32(text) ?? z.NEVER);
const amount = amountText.transform(BigInt);
const url = z.url({ protocol: /^https?$/, error: "must be an http or https URL" });
/** Several nodes of one chain, with spaces between them. */
const urls = z.string().refine((text) => text.split(/\s+/).every((one) => url.safeParse(one).success), {
  error: "must be http or https URLs with spaces between them",
});
const path = z.string().min(1);
const uint32 = z.int().min(0).max(0xffff_ffff);
const chainId = z.int().min(1);
const foreignKey = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, "base58 of 32 bytes");
const bounds = { minimum: amount, feeCeiling: amount };
const estimatedSecs = z.int().min(1).max(604_800);

/** About. */
const blockSecs = z.number().positive().max(3_600).default(12);

/** How another EVM chain is reached, and who pays for what we send there. */
const evmChain = {
  chainId,
  rpcUrl: urls,
  confirmations: z.int().min(1).max(10_000),
  blockSecs,
  transmitter: address,
  token: address,
  senderKeyFile: path,
};

const shape = z.strictObject({
  factory: address,
  /** Of the vault behind each address; with the factory all that CREATE2 takes beside the terms. */
  vaultCodeHash: hash,
  collector: address,
  home: z.strictObject({ domain: uint32, messenger: address, transmitter: address, blockSecs }),
  assets: z.array(z.strictObject({ asset: address, ...bounds })).min(1),
  chains: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "1 to 32 lower-case letters, digits and hyphens"),
        ...evmChain,
        messenger: address,
        /** CCTP's number of this chain. */
        domain: uint32,
        /** Of the pool; default the first. */
        asset: address.optional(),
        ...bounds,
        /** Absent: nothing is withdrawn to this chain. */
        exit: z.strictObject(bounds).optional(),
        estimatedSecs: estimatedSecs.default(1_200),
      }),
    )
    .default([]),
  perpvenue: z
    .strictObject({
      apiUrl: url,
      /** The exchange's own chain. */
      chain: z.strictObject({
        ...evmChain,
        /** Absent: as on the pool's chain; the real ones have one address on most chains. */
        messenger: address.optional(),
      }),
      exit: z.strictObject({
        domain: uint32,
        /** The contract there that is paid and credits the account in the hook; it alone may deliver. */
        forwarder: address,
        destination: z.enum(["perps", "spot"]).default("perps"),
      }),
      ...bounds,
      estimatedSecs: estimatedSecs.default(120),
    })
    .optional(),
  altchain: z
    .strictObject({
      rpcUrl: url,
      mint: foreignKey,
      decimals: z.int().min(0).max(36),
      domain: uint32,
      ...bounds,
      feePayerKeyFile: path,
      /** How often its blocks are asked for. */
      blockSecs: z.number().positive().max(3_600).default(1),
      estimatedSecs: estimatedSecs.default(120),
    })
    .optional(),
  attesterUrl: url,
  limits: z
    .strictObject({
      openPerUser: z.int().min(1).max(100_000).default(100),
      openPerDeveloper: z.int().min(1).max(1_000_000).default(5_000),
      openPerInstance: z.int().min(1).max(1_000_000).default(10_000),
      watchDays: z.int().min(1).max(3_650).default(30),
    })
    .prefault({}),
  /** Absent: everything is swept. */
  screening: z.strictObject({ url }).optional(),
});
type Read = z.output<typeof shape>;

export type BridgeSettings = Readonly<Read> & {
  /** Of everything else to speak of: where the money becomes notes. */
  readonly homeChainId: number;
};
export type BridgeChain = Read["chains"][number];

/** What the rest of the configuration has to say to it. */
export interface BridgeHome {
  readonly chainId: number;
  /** It alone may take the fees of a sweep. Undefined where it is not known: the proxies look at it. */
  readonly gasWallet: Address | undefined;
  readonly assets: readonly { readonly address: Address; readonly decimals: number }[];
}

/** Throws ConfigError with every fault; values are not repeated. */
export function readBridgeSettings(file: string, home: BridgeHome): BridgeSettings {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    // The parser's own words quote the text.
    const why = error instanceof SyntaxError ? "is not JSON" : "cannot be read";
    throw new ConfigError([`CLOISTER_BRIDGES: ${file} ${why}`]);
  }
  return bridgeSettingsOf(json, home);
}

export function bridgeSettingsOf(json: unknown, home: BridgeHome): BridgeSettings {
  const result = shape.safeParse(json);
  if (!result.success)
    throw new ConfigError(
      result.error.issues.map(
        ({ path: place, message, code, ...issue }) =>
          `CLOISTER_BRIDGES: ${[...place, ...(code === "unrecognized_keys" && "keys" in issue ? [issue.keys] : [])].join(".")} ${code === "unrecognized_keys" ? "is unknown" : message}`,
      ),
    );
  const faults = faultsOf(result.data, home);
  if (faults.length > 0) throw new ConfigError(faults.map((fault) => `CLOISTER_BRIDGES: ${fault}`));
  return Object.freeze({ ...result.data, homeChainId: home.chainId });
}

/** What no single line can be seen to be wrong by. */
function faultsOf(read: Read, { chainId: homeId, gasWallet, assets }: BridgeHome): string[] {
  const { chains, perpvenue, altchain } = read;
  const faults: string[] = [];
  const fault = (text: string): void => void faults.push(text);
  if (gasWallet !== undefined && read.collector !== gasWallet)
    fault("collector must be the gas wallet's address: nobody else's fees could be taken");

  const decimals = new Map(assets.map((asset) => [asset.address, asset.decimals]));
  const bridged = read.assets.map(({ asset }) => asset);
  for (const [i, asset] of bridged.entries())
    if (!decimals.has(asset)) fault(`assets.${String(i)}.asset is not listed by this instance`);
  if (new Set(bridged).size !== bridged.length) fault("assets has one asset twice");
  for (const [i, { asset }] of chains.entries())
    if (asset !== undefined && !bridged.includes(asset))
      fault(`chains.${String(i)}.asset is not among assets`);
  // The amounts of both sides are compared with one another.
  if (altchain !== undefined && altchain.decimals !== decimals.get(bridged[0]!))
    fault("altchain.decimals are not those of the first of assets");

  const names = chains.map(({ name }) => name);
  if (new Set(names).size !== names.length) fault("chains has one name twice");
  for (const [i, name] of names.entries())
    if (TAKEN.includes(name)) fault(`chains.${String(i)}.name is the name of something else`);
  const ids = [homeId, ...chains.map((one) => one.chainId), ...(perpvenue ? [perpvenue.chain.chainId] : [])];
  if (new Set(ids).size !== ids.length) fault("two chains have one chainId, the pool's among them");
  const domains = [
    read.home.domain,
    ...chains.map(({ domain }) => domain),
    ...(perpvenue ? [perpvenue.exit.domain] : []),
    ...(altchain ? [altchain.domain] : []),
  ];
  if (new Set(domains).size !== domains.length) fault("two chains have one domain, the pool's among them");

  for (const [where, { minimum, feeCeiling }] of [
    ...read.assets.map((one, i) => [`assets.${String(i)}`, one] as const),
    ...chains.map((one, i) => [`chains.${String(i)}`, one] as const),
    ...chains.flatMap(({ exit }, i) => (exit ? [[`chains.${String(i)}.exit`, exit] as const] : [])),
    ...(perpvenue ? [["perpvenue", perpvenue] as const] : []),
    ...(altchain ? [["altchain", altchain] as const] : []),
  ])
    // What is moved on must be more than what may be taken of it.
    if (minimum <= feeCeiling) fault(`${where}.minimum must be more than its feeCeiling`);
  return faults;
}
