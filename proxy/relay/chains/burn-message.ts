/** A burn out of the bytes of its message. What it says is only ever compared with a burn; no money is counted by it. */
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import { fromHex } from "../../../shared/protocol/host/text.ts";
import {
  parseBurn,
  parseMessage,
  type BurnBody,
  type CctpMessage,
} from "../../../shared/protocol/host/cctp.ts";
import type { BurnTerms } from "./events.ts";

export interface ParsedBurn {
  readonly header: CctpMessage;
  readonly body: BurnBody;
  readonly terms: BurnTerms;
}

/** Undefined for a message of another kind. */
export function readBurnMessage(hex: string): ParsedBurn | undefined {
  const header = parseMessage(fromHex(hex));
  const body = header && parseBurn(header.body);
  if (header === undefined || body === undefined) return undefined;
  return { header, body, terms: termsOf(header, body) };
}

/** The terms out of what `MessageReceived` says. */
export function readReceived(
  domains: { readonly sourceDomain: number; readonly destinationDomain: number },
  hexBody: string,
): BurnTerms | undefined {
  const body = parseBurn(fromHex(hexBody));
  return body && termsOf(domains, body);
}

/**
 * Whether an attested message is this one, filled in: all that the sender wrote is the same, and the fee within what he
 * allowed. Another message with a good attestation is no use, and delivering it for this one would hide a loss.
 */
export function fillsIn(attested: ParsedBurn, emitted: ParsedBurn): boolean {
  return (
    blank(attested) === blank(emitted) &&
    attested.body.feeExecuted <= emitted.body.maxFee &&
    attested.header.nonce !== ZERO
  );
}

const ZERO = `0x${"00".repeat(32)}`;

function blank({ header, body }: ParsedBurn): string {
  const { nonce: _nonce, finalityThresholdExecuted: _executed, body: _body, ...sent } = header;
  const { feeExecuted: _fee, expirationBlock: _expires, hookData, ...burned } = body;
  const text = (_key: string, value: unknown): unknown =>
    typeof value === "bigint" ? value.toString() : value;
  return JSON.stringify([sent, burned, Buffer.from(hookData).toString("hex")], text);
}

function termsOf(
  { sourceDomain, destinationDomain }: { readonly sourceDomain: number; readonly destinationDomain: number },
  body: {
    readonly messageSender: Bytes32;
    readonly mintRecipient: Bytes32;
    readonly amount: bigint;
    readonly maxFee: bigint;
  },
): BurnTerms {
  const { messageSender: burner, mintRecipient: recipient, amount, maxFee } = body;
  return { sourceDomain, destinationDomain, burner, recipient, amount, maxFee };
}
