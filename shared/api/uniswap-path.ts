/**
 * A swap's path as Uniswap v3 packs it, token[20] fee[3] token[20] …, in hex: how `ext.path` is spelt on HTTP
 * and in quotes. Inside a statement the first and last token are said once, elsewhere; this file goes between
 * the two. Every path has one spelling, so nothing can be signed in one form and shown in another.
 */
import { FEE_TIERS, type SwapPath } from "../protocol/statements.ts";
import { ZERO_ADDRESS, type Address } from "../protocol/brands.ts";
import { mustFromHex, ByteReader, concatBytes, toAddress, toHex, uintToBytes } from "../protocol/bytes.ts";
import { fromHex } from "../protocol/host/text.ts";

/** One or two pools with the tokens at their ends. */
export interface TokenPath {
  readonly tokenIn: Address;
  readonly path: SwapPath;
  readonly tokenOut: Address;
}

const ONE_HOP_BYTES = 20 + 3 + 20;
const TWO_HOP_BYTES = ONE_HOP_BYTES + 3 + 20;

export type PathFault = "PATH_LENGTH" | "PATH_TOKENS" | "PATH_FEE_TIER";

/** Lower-case hex. Throws for a path that `decodeUniswapPath` would refuse; that is a fault of the caller. */
export function encodeUniswapPath({ tokenIn, path, tokenOut }: TokenPath): string {
  const { feeFirst, middle, feeSecond } = path;
  const isOneHop = middle === ZERO_ADDRESS;
  if (isOneHop !== (feeSecond === 0)) throw new RangeError("a path has a second pool or it has none");
  const text = toHex(
    concatBytes(
      mustFromHex(tokenIn),
      uintToBytes(BigInt(feeFirst), 3),
      ...(isOneHop ? [] : [mustFromHex(middle), uintToBytes(BigInt(feeSecond), 3)]),
      mustFromHex(tokenOut),
    ),
  );
  const fault = decodeUniswapPath(text);
  if (typeof fault === "string") throw new RangeError(`no path of ours: ${fault}`);
  return text;
}

/**
 * Reads untrusted hex. Only whole paths of one or two pools come back, over tokens that are not zero and not
 * the same one twice, through fee tiers that exist.
 */
export function decodeUniswapPath(text: string): TokenPath | PathFault {
  const bytes = fromHex(text);
  if (bytes === undefined || (bytes.length !== ONE_HOP_BYTES && bytes.length !== TWO_HOP_BYTES)) {
    return "PATH_LENGTH";
  }
  const reader = new ByteReader(bytes);
  const tokenIn = toAddress(reader.take(20));
  const feeFirst = reader.number(3);
  const isOneHop = bytes.length === ONE_HOP_BYTES;
  const middle = isOneHop ? ZERO_ADDRESS : toAddress(reader.take(20));
  const feeSecond = isOneHop ? 0 : reader.number(3);
  const tokenOut = toAddress(reader.take(20));

  const tokens = isOneHop ? [tokenIn, tokenOut] : [tokenIn, middle, tokenOut];
  // A zero in the middle would read as "one pool" where the path is obeyed.
  if (tokens.includes(ZERO_ADDRESS) || new Set(tokens).size !== tokens.length) return "PATH_TOKENS";
  const tiers = isOneHop ? [feeFirst] : [feeFirst, feeSecond];
  if (!tiers.every((tier) => FEE_TIERS.includes(tier))) return "PATH_FEE_TIER";
  return { tokenIn, path: { feeFirst, middle, feeSecond }, tokenOut };
}
