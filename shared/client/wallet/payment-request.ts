/**
 * Requests for a payment, as a link or a QR code carries them: who is to be paid, on which pool, in what, how much, until
 * when, and what for. The text stands behind the `#` of a page's address, which browsers send to no server. It is from a
 * stranger: nothing in it is paid before a person has seen it, and what is not understood in full is refused.
 */
import type { Address } from "../../protocol/brands.ts";
import { VALUE_LIMIT } from "../../protocol/brands.ts";
import { requireAmount } from "../paying/core.ts";
import { ClientError } from "../base/errors.ts";
import { assetsOf, homeOf, requireAddress, requireShielded, type Pins } from "../base/pins.ts";
import { MOST_MEMO_BYTES, requireText } from "../base/texts.ts";

/** What all readers of a link must know of the network; a wallet's `pins` have it. */
export type RequestPins = Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix">;

export interface PaymentRequest {
  /** Shielded address of who is to be paid. */
  readonly to: string;
  /** One of the pinned tokens. */
  readonly asset: string;
  /** The token's smallest units. */
  readonly amount: bigint;
  /** What it is for: one line of at most 140 bytes of UTF-8. Shown to the payer, kept in the payer's own activity, sent to nobody. */
  readonly memo?: string | undefined;
  /** Unix seconds after which it should not be paid. Absent: it stays good. */
  readonly expiresAt?: number | undefined;
}

/** As `readPaymentRequest` gives it: checked, and its asset in lower case. */
export interface ReadPaymentRequest extends PaymentRequest {
  readonly asset: Address;
}

const SCHEME = "cloister-pay/1?";
/** Long enough for every request, short enough for a QR code (version 22, error correction L, holds 1,003 bytes). */
export const MOST_REQUEST_CHARS = 800;
const NAMES = ["to", "chain", "pool", "asset", "amount", "until", "memo"] as const;
type Name = (typeof NAMES)[number];
const DECIMAL = /^(0|[1-9][0-9]*)$/;
const LOWER_ADDRESS = /^0x[0-9a-f]{40}$/;

/**
 * The text of a request, at most 800 characters, all of them allowed behind `#`. Throws ADDRESS_INVALID, AMOUNT_INVALID,
 * PIN_MISMATCH for a token that is not pinned, and REQUEST_INVALID for a memo or time that cannot stand there.
 */
export function writePaymentRequest(pins: RequestPins, request: PaymentRequest): string {
  const { chainId, pool } = homeOf(pins);
  requireShielded(request.to, pins.addressPrefix);
  requireAmount(request.amount);
  const asset = requireAddress(request.asset, "asset");
  if (!assetsOf(pins).includes(asset)) throw new ClientError("PIN_MISMATCH", "not a pinned asset");
  const fields: [Name, string][] = [
    ["to", request.to.toLowerCase()],
    ["chain", String(chainId)],
    ["pool", pool],
    ["asset", asset],
    ["amount", String(request.amount)],
  ];
  if (request.expiresAt !== undefined) {
    if (!Number.isSafeInteger(request.expiresAt) || request.expiresAt <= 0)
      throw invalid("expiresAt: whole Unix seconds");
    fields.push(["until", String(request.expiresAt)]);
  }
  if (request.memo !== undefined && request.memo !== "") {
    requireText(request.memo, MOST_MEMO_BYTES, (detail) => invalid(`memo: ${detail}`));
    fields.push(["memo", encodeURIComponent(request.memo)]);
  }
  return SCHEME + fields.map(([name, value]) => `${name}=${value}`).join("&");
}

/** The address of a wallet's page with a request behind its `#`. Throws REQUEST_INVALID for what is no http(s) address. */
export function paymentLink(page: string | URL, text: string): string {
  const url = URL.canParse(String(page)) ? new URL(page) : undefined;
  if (url === undefined || !["https:", "http:"].includes(url.protocol)) throw invalid("a page's address");
  url.hash = text;
  return url.href;
}

/**
 * Reads a link, or what stands behind its `#`, or a scanned text. Throws
 * - REQUEST_INVALID for what is no request of this version, has an unknown, repeated, missing or malformed field,
 * - REQUEST_ELSEWHERE for another chain, pool, or a token that is not pinned,
 * - ADDRESS_INVALID for a recipient of another network or with a wrong checksum,
 * - REQUEST_AMOUNT for an amount that is not written as a plain whole number above zero that a note can hold,
 * - REQUEST_EXPIRED when its time is over.
 * @param now Unix seconds
 */
export function readPaymentRequest(
  text: string,
  pins: RequestPins,
  now: number = Math.floor(Date.now() / 1000),
): ReadPaymentRequest {
  const fields = fieldsOf(text);
  const home = homeOf(pins);
  const chain = required(fields, "chain");
  const pool = required(fields, "pool");
  const token = required(fields, "asset");
  const decimal = required(fields, "amount");
  const to = required(fields, "to");
  if (!DECIMAL.test(chain)) throw invalid("chain");
  for (const [name, value] of [["pool", pool] as const, ["asset", token] as const])
    if (!LOWER_ADDRESS.test(value)) throw invalid(name);
  if (chain !== String(home.chainId))
    throw new ClientError("REQUEST_ELSEWHERE", `of chain ${chain.slice(0, 20)}`);
  if (pool !== home.pool) throw new ClientError("REQUEST_ELSEWHERE", "of another pool");
  const asset = assetsOf(pins).find((known) => known === token);
  if (asset === undefined)
    throw new ClientError("REQUEST_ELSEWHERE", "in a token that this wallet does not hold");
  requireShielded(to, pins.addressPrefix);
  if (to !== to.toLowerCase()) throw invalid("to: lower case");
  const amount = DECIMAL.test(decimal) && decimal.length <= 39 ? BigInt(decimal) : 0n;
  if (amount === 0n || amount >= VALUE_LIMIT) throw new ClientError("REQUEST_AMOUNT");
  const expiresAt = timeOf(fields.get("until"));
  if (expiresAt !== undefined && expiresAt < now) throw new ClientError("REQUEST_EXPIRED");
  const memo = memoOf(fields.get("memo"));
  return {
    to,
    asset,
    amount,
    ...(memo === undefined ? {} : { memo }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function fieldsOf(text: unknown): Map<Name, string> {
  if (typeof text !== "string") throw invalid("a text");
  const behind = text.includes("#") ? text.slice(text.indexOf("#") + 1) : text;
  if (behind.length > MOST_REQUEST_CHARS) throw invalid("too long");
  if (!behind.startsWith(SCHEME)) throw invalid(`it begins with ${SCHEME}`);
  const fields = new Map<Name, string>();
  for (const part of behind.slice(SCHEME.length).split("&")) {
    const at = part.indexOf("=");
    const name = NAMES.find((known) => known === part.slice(0, at));
    // Of two readers one may take the first of two amounts and the other the last.
    if (name === undefined || fields.has(name)) throw invalid("an unknown or repeated field");
    fields.set(name, part.slice(at + 1));
  }
  return fields;
}

function required(fields: ReadonlyMap<Name, string>, name: Name): string {
  const value = fields.get(name);
  if (value === undefined) throw invalid(`no ${name}`);
  return value;
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = DECIMAL.test(text) ? Number(text) : 0;
  if (time === 0 || !Number.isSafeInteger(time)) throw invalid("until");
  return time;
}

function memoOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  let memo: string;
  try {
    memo = decodeURIComponent(text);
  } catch (cause) {
    throw invalid("memo", cause);
  }
  // One spelling for one request, so that nothing can be hidden in another.
  if (memo === "" || encodeURIComponent(memo) !== text) throw invalid("memo");
  return requireText(memo, MOST_MEMO_BYTES, (detail) => invalid(`memo: ${detail}`));
}

function invalid(detail: string, cause?: unknown): ClientError {
  return new ClientError("REQUEST_INVALID", detail, { cause });
}
