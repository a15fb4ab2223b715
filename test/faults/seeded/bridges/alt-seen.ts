/** What the other blockchain itself says of tokens that moved and of burns with an order, read without anything of the service's. */
import { base58 } from "@scure/base";
import { z } from "zod";
import { nonceOf } from "../../../../scripts/stand-ins/venues/attester/completing.ts";
import { unpaddedAddress } from "../../../../shared/protocol/host/forwarders.ts";
import { asBytes32 } from "../../../../shared/protocol/host/text.ts";
import type { Alt, AltFacts } from "./alt.ts";
import type { Act, Burned, ChainSeen, Moved } from "./observations.ts";
import { ISSUER, NOBODY } from "./observations.ts";

const COMMITMENT = { commitment: "confirmed" } as const;
const signatures = z.array(z.object({ signature: z.string(), err: z.unknown() }));
const balances = z.array(
  z.object({
    accountIndex: z.int(),
    mint: z.string(),
    uiTokenAmount: z.object({ amount: z.string() }),
  }),
);
const transaction = z
  .object({
    meta: z.object({ err: z.unknown(), preTokenBalances: balances, postTokenBalances: balances }),
    transaction: z.object({
      message: z.object({
        accountKeys: z.array(z.string()),
        instructions: z.array(z.object({ programIdIndex: z.int(), data: z.string() })),
      }),
    }),
  })
  .nullable();
type Transaction = NonNullable<z.output<typeof transaction>>;

const ORDER = /^cctp1:[0-9]+:(0x[0-9a-f]{64}):[0-9]+:[0-9]+$/;
/** Of one call; no scenario has as many. */
const MOST = 1_000;

export async function readAlt(alt: Alt, { mint, domain }: AltFacts): Promise<ChainSeen> {
  const transfers: Moved[] = [];
  const burns: Burned[] = [];
  const acts: Act[] = [];
  const found = await alt.call(signatures, "getSignaturesForAddress", [mint, { limit: MOST, ...COMMITMENT }]);
  if (found.length === MOST) throw new Error("too many transactions of the token");
  for (const { signature: tx, err } of found.toReversed()) {
    if (err !== null) continue;
    const config = { encoding: "json", maxSupportedTransactionVersion: 0, ...COMMITMENT };
    const read = await alt.call(transaction, "getTransaction", [tx, config]);
    // Taken back between the two questions.
    if (read === null) continue;
    const recipient = recipientIn(read);
    for (const { account, change } of changesIn(read, mint)) {
      if (change > 0n) transfers.push({ from: ISSUER, to: account, amount: change, tx });
      if (change >= 0n) continue;
      transfers.push({ from: account, to: NOBODY, amount: -change, tx });
      // Without an order it is no departure, and the account has less than it says.
      if (recipient === undefined) continue;
      burns.push({ nonce: nonceOf(domain, tx, 0, new Uint8Array(0)), recipient, amount: -change, tx });
      acts.push({
        ...{ kind: "Forwarded", vault: account, amount: -change, fees: 0n, tx },
        ...{ token: undefined, to: undefined, leafIndex: undefined },
      });
    }
  }
  return { transfers, burns, acts, wrong: [], mints: [], credits: [], named: [] };
}

/** By the balances around it, whatever the transaction says it does. */
function changesIn({ meta, transaction: { message } }: Transaction, mint: string) {
  const changes = new Map<number, bigint>();
  const take = (all: z.output<typeof balances>, sign: bigint): void => {
    for (const { accountIndex, mint: its, uiTokenAmount } of all)
      if (its === mint)
        changes.set(accountIndex, (changes.get(accountIndex) ?? 0n) + sign * BigInt(uiTokenAmount.amount));
  };
  take(meta.preTokenBalances, -1n);
  take(meta.postTokenBalances, 1n);
  return [...changes].map(([index, change]) => ({ account: message.accountKeys[index]!, change }));
}

function recipientIn({ transaction: { message } }: Transaction): string | undefined {
  for (const { data } of message.instructions) {
    const [, recipient] = ORDER.exec(new TextDecoder().decode(base58.decode(data))) ?? [];
    const padded = asBytes32(recipient);
    if (padded !== undefined) return unpaddedAddress(padded) ?? padded;
  }
  return undefined;
}

export async function altSupply(alt: Alt, { mint }: AltFacts): Promise<bigint> {
  const shape = z.object({ value: z.object({ amount: z.string() }) });
  return BigInt((await alt.call(shape, "getTokenSupply", [mint, COMMITMENT])).value.amount);
}

/** Amount stands behind mint and owner in a token account; zero for one that there is not. */
export async function altBalance(alt: Alt, account: string): Promise<bigint> {
  const shape = z.object({
    value: z.object({ data: z.tuple([z.string(), z.literal("base64")]) }).nullable(),
  });
  const config = { encoding: "base64", ...COMMITMENT };
  const { value } = await alt.call(shape, "getAccountInfo", [account, config]);
  if (value === null) return 0n;
  const bytes = Buffer.from(value.data[0], "base64");
  return bytes.length < 72 ? 0n : bytes.readBigUInt64LE(64);
}
