/** What an application calls to read a disclosure. The rest comes when it is called: it brings the pool's ABI. */
import { checkOptions, verifyDisclosureOptions, type Lists } from "../base/options.ts";
import type { DisclosedPayment, VerifyDisclosureOptions } from "./disclosure.ts";

export type { DisclosedPayment, Discloser, DiscloseOptions, VerifyDisclosureOptions } from "./disclosure.ts";

/**
 * What the disclosure shows, held against the chain. Throws
 * - DISCLOSURE_INVALID for what is none, was changed, or was made by somebody without the payer's or payee's secret,
 * - DISCLOSURE_ELSEWHERE, DISCLOSURE_NOT_FOR_YOU and DISCLOSURE_EXPIRED, before any node is asked,
 * - DISCLOSURE_UNFOUNDED where the pool has no such leaf in its tree, or has it no more,
 * - NODE_UNREACHABLE and CHAIN_DOUBTED, as every reading of the chain.
 */
export async function verifyDisclosure(
  text: string,
  options: VerifyDisclosureOptions,
): Promise<DisclosedPayment> {
  checkOptions(verifyDisclosureOptions satisfies Lists<VerifyDisclosureOptions>, options, "verifyDisclosure");
  const { verify } = await import("./verifying.ts");
  return verify(text, options);
}
