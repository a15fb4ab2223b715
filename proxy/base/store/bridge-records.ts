/**
 * A request for a bridge's address as it is kept: whose it is, the full terms that the address commits to, and since
 * which block each chain has to be looked at. What became of it is nowhere in it: that is read from the chains.
 */
import { z } from "zod";
import { jsonForm, type RecordOf } from "./records.ts";
import {
  storedAddress,
  storedBigint,
  storedBytes,
  storedBytes32,
  storedField,
  toStoredBytes,
} from "./values.ts";

const receiver = z.strictObject({ npk: storedField, ephemeralKey: storedBytes, ciphertext: storedBytes });
type StoredReceiver = RecordOf<typeof receiver>;

const inTerms = z.strictObject({
  pool: storedAddress,
  asset: storedAddress,
  receiver,
  feeCeiling: storedBigint,
  minimum: storedBigint,
  collector: storedAddress,
  refund: storedAddress,
});
const lane = z.strictObject({
  chainId: storedBigint,
  token: storedAddress,
  messenger: storedAddress,
  domain: z.int(),
  minimum: storedBigint,
  feeCeiling: storedBigint,
});
const sourceTerms = z.strictObject({
  recipient: storedBytes32,
  lanes: z.array(lane).min(1),
  refund: storedAddress,
});
const exit = z.strictObject({
  messenger: storedAddress,
  domain: z.int(),
  recipient: storedBytes32,
  caller: storedBytes32,
  hook: storedBytes,
});
const outTerms = z.strictObject({
  pool: storedAddress,
  asset: storedAddress,
  exit,
  feeCeiling: storedBigint,
  minimum: storedBigint,
  refund: receiver,
});

/** Where the money comes from or goes to, with what each address on the way commits to. */
const way = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("from-evm"),
    venue: z.literal("perpvenue"),
    direction: z.literal("in"),
    home: inTerms,
    /** The same address on every other EVM chain that was configured; absent when there was none. */
    source: z.strictObject({ address: storedAddress, terms: sourceTerms }).exactOptional(),
  }),
  z.strictObject({
    kind: z.literal("from-altchain"),
    venue: z.literal("altchain"),
    direction: z.literal("in"),
    home: inTerms,
    /** Both in that chain's spelling. The key is the user's own. */
    depositKey: z.string(),
    tokenAccount: z.string(),
  }),
  z.strictObject({
    kind: z.literal("to-exchange"),
    venue: z.literal("perpvenue"),
    direction: z.literal("out"),
    home: outTerms,
    account: storedAddress,
  }),
  z.strictObject({
    kind: z.literal("to-chain"),
    venue: z.literal("chain"),
    direction: z.literal("out"),
    home: outTerms,
    to: z.strictObject({ chainId: z.int(), recipient: storedAddress }),
  }),
]);
export type BridgeWay = RecordOf<typeof way>;

const owner = z
  .strictObject({ developerId: z.string(), sub: z.string().exactOptional() })
  .transform(({ developerId, sub }) => ({ developerId, sub }));

const shape = z.strictObject({
  /** UUID version 7. */
  id: z.string(),
  owner,
  way,
  /** On the pool's chain: the in-forwarder, or the out-forwarder. */
  address: storedAddress,
  /** By chain's name (`HOME_CHAIN` is the pool's): the newest block, or slot, that was final when the address was made. */
  since: z.record(z.string(), z.int()),
  /** Milliseconds since 1970. */
  createdAt: z.int(),
  watchUntil: z.int(),
  /** Once its watch has ended. Asking for it takes it up again. */
  closedAt: z.int().exactOptional(),
  /** The operator, or the screening provider, refuses to sweep it: the refund is left, which needs nobody's consent. */
  screening: z.strictObject({ isRefused: z.boolean(), at: z.int() }).exactOptional(),
  /** When an operator last asked for the next step to be tried at once. */
  resendAt: z.int().exactOptional(),
});
export type BridgeRecord = RecordOf<typeof shape>;

/** Name of the pool's chain among those of the settings. */
export const HOME_CHAIN = "home";

export const bridgeForm = jsonForm<BridgeRecord>(shape, ({ way: chosen, ...record }) => ({
  ...record,
  way: writeWay(chosen),
}));

function writeWay(chosen: BridgeWay): unknown {
  if (chosen.direction === "out") {
    const { home } = chosen;
    return {
      ...chosen,
      home: {
        ...home,
        ...amountsOf(home),
        exit: { ...home.exit, hook: toStoredBytes(home.exit.hook) },
        refund: writeReceiver(home.refund),
      },
    };
  }
  const home = { ...chosen.home, ...amountsOf(chosen.home), receiver: writeReceiver(chosen.home.receiver) };
  if (chosen.kind === "from-altchain" || chosen.source === undefined) return { ...chosen, home };
  const { address, terms } = chosen.source;
  const lanes = terms.lanes.map((one) => ({ ...one, ...amountsOf(one), chainId: String(one.chainId) }));
  return { ...chosen, home, source: { address, terms: { ...terms, lanes } } };
}

const amountsOf = ({ feeCeiling, minimum }: { readonly feeCeiling: bigint; readonly minimum: bigint }) => ({
  feeCeiling: String(feeCeiling),
  minimum: String(minimum),
});

const writeReceiver = ({ npk, ephemeralKey, ciphertext }: StoredReceiver) => ({
  npk: String(npk),
  ephemeralKey: toStoredBytes(ephemeralKey),
  ciphertext: toStoredBytes(ciphertext),
});
