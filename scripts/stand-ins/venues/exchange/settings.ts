// The exchange's terms and where its contracts are: a JSON file that whoever starts it writes.
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { addressShape, httpShape } from "../shapes.ts";
import { readAmount } from "./amounts.ts";

const dollars = z.string().transform((text, context) => {
  const units = readAmount(text);
  if (units !== undefined) return units;
  context.addIssue({ code: "custom", message: "not an amount" });
  return z.NEVER;
});

const settings = z.strictObject({
  /** Its own EVM chain: the door by CCTP. */
  own: z.strictObject({
    rpc: httpShape,
    chain_id: z.int().min(1),
    usdc: addressShape,
    from_block: z.int().min(0).default(0),
    /** Blocks on top of one before the exchange takes it for done. */
    final_blocks: z.int().min(1).default(1),
    domain: z.int().min(0),
    messenger: addressShape,
    /** Mints arrive here with a hook that names the account. */
    forwarder: addressShape,
  }),
  fees: z
    .strictObject({
      new_account: dollars.default(1_000_000n),
      send_to_evm: dollars.default(200_000n),
      /** What it offers for delivery by the protocol's own service. */
      forward: dollars.default(200_000n),
    })
    .prefault({}),
  poll_ms: z.int().min(10).default(200),
});
export type ExchangeSettings = z.output<typeof settings>;
export type ExchangeSettingsFile = z.input<typeof settings>;

export function parseSettings(untrusted: unknown): ExchangeSettings {
  return settings.parse(untrusted);
}

export async function readSettings(file: string): Promise<ExchangeSettings> {
  return parseSettings(JSON.parse(await readFile(file, "utf8")));
}
