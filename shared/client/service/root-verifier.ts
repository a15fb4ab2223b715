/**
 * Asks a chain node of the user's own whether the pool has a root. The node is trusted for that one answer;
 * the service has no part in it.
 */
import { keccak256 } from "../../protocol/hash.ts";
import { toHex, word } from "../../protocol/bytes.ts";
import type { Field } from "../../protocol/brands.ts";
import { inTime } from "../base/aborting.ts";
import { ClientError } from "../base/errors.ts";
import { requireAddress } from "../base/pins.ts";

/** True: the pool has this root. False or a throw: not known to, so what rests on it stays unverified. */
export type RootVerifier = (root: Field) => Promise<boolean>;

const ROOT_SEQUENCE = toHex(keccak256(new TextEncoder().encode("rootSequence(uint256)")).slice(0, 4));
const TIMEOUT_MS = 10_000;
/** For a verifier of the application's own, which may have no limit; longer than ours takes. */
const PATIENCE_MS = 12_000;

/**
 * Whether a verifier confirms a root. One that throws, answers anything but true, or keeps silent for `patienceMs` does not:
 * an application's own node must not hold a call or the stream.
 */
export async function confirms(
  verifyRoot: RootVerifier,
  root: Field,
  patienceMs = PATIENCE_MS,
): Promise<boolean> {
  // A verifier may also throw before it has a promise.
  const answer: Promise<unknown> = Promise.resolve().then(() => verifyRoot(root));
  try {
    return (await inTime(answer, patienceMs, () => false)) === true;
  } catch {
    return false;
  }
}

export interface PoolRootVerifierOptions {
  readonly fetch?: typeof fetch;
  /** How settled the block must be. Default `latest`; `finalized` makes income verified later, and permanently. */
  readonly block?: "latest" | "safe" | "finalized";
}

/** Throws OPTIONS_INVALID or ADDRESS_INVALID at once. By `eth_call` to the pool's `rootSequence`, zero for a root that it never had. The node must be on the pinned chain. */
export function poolRootVerifier(
  rpcUrl: string,
  chainId: number,
  pool: string,
  { fetch: send = (input, init) => fetch(input, init), block = "latest" }: PoolRootVerifierOptions = {},
): RootVerifier {
  const to = requireAddress(pool, "pool");
  // Whoever learns only from income that stays unverified would look for the fault elsewhere.
  if (typeof rpcUrl !== "string" || !/^https?:\/\//i.test(rpcUrl) || !URL.canParse(rpcUrl))
    throw new ClientError("OPTIONS_INVALID", "rpcUrl: it begins with https:// or http://");
  if (!Number.isSafeInteger(chainId) || chainId < 1)
    throw new ClientError("OPTIONS_INVALID", "chainId: a number such as 1");

  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    const response = await send(rpcUrl, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const answer = (await response.json()) as { result?: unknown } | null;
    return answer?.result;
  }

  return async (root) => {
    const data = `${ROOT_SEQUENCE}${toHex(word(root)).slice(2)}`;
    const [chain, sequence] = await Promise.all([
      ask("eth_chainId", []),
      ask("eth_call", [{ to, data }, block]),
    ]);
    // Another chain may have another pool at the same address.
    if (typeof chain !== "string" || !/^0x[0-9a-f]+$/i.test(chain) || BigInt(chain) !== BigInt(chainId))
      return false;
    // No contract at all answers "0x".
    return typeof sequence === "string" && /^0x[0-9a-f]{64}$/i.test(sequence) && BigInt(sequence) !== 0n;
  };
}
