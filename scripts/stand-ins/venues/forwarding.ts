// The words by which a burn's hook asks the attester's company to deliver it, for a fee that is kept at the mint.
import { concatBytes, equalBytes } from "../../../shared/protocol/bytes.ts";

export const FORWARDING = concatBytes(new TextEncoder().encode("cctp-forward"), new Uint8Array(12));

export const asksForForwarding = (hook: Uint8Array): boolean =>
  hook.length >= FORWARDING.length && equalBytes(hook.subarray(0, FORWARDING.length), FORWARDING);
