/** Hyperlane's validator and relayer between local chains, as a program of its own. */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { JsonRpcProvider, NonceManager, Wallet } from "ethers";
import { z } from "zod";
import { relayOnce } from "./relayer.ts";

const HELP = `Usage: node --import tsx scripts/stack/venues/hyperlane/main.ts --config <file>

Signs the checkpoints of the messages that leave the chains in the file and delivers them. Prints one line of JSON when
it runs. Keeps no state. Ends on SIGINT and SIGTERM.

  --config <file>   {validatorKey, senderKey, depth?, pollMs?, ends: [{rpc, domain, mailbox, merkleTreeHook}]}
  --help            this text`;

const key = z.string().regex(/^0x[0-9a-f]{64}$/);
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const config = z.strictObject({
  validatorKey: key,
  senderKey: key,
  depth: z.number().int().nonnegative().default(0),
  pollMs: z.number().int().positive().default(200),
  ends: z
    .array(
      z.strictObject({ rpc: z.url(), domain: z.number().int(), mailbox: address, merkleTreeHook: address }),
    )
    .min(2),
});

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { config: { type: "string" }, help: { type: "boolean" } } });
  if (values.help === true || values.config === undefined) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const settings = config.parse(JSON.parse(await readFile(values.config, "utf8")));
  const validator = new Wallet(settings.validatorKey);
  const ends = settings.ends.map(({ rpc, ...end }) => {
    const provider = new JsonRpcProvider(rpc, undefined, { cacheTimeout: -1, pollingInterval: 50 });
    return { ...end, provider, sender: new NonceManager(new Wallet(settings.senderKey, provider)) };
  });
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  console.log(JSON.stringify({ validator: validator.address, ends: ends.length }));
  while (!ending.signal.aborted) {
    try {
      for (const delivery of await relayOnce(ends, validator, settings.depth))
        console.log(JSON.stringify({ delivered: delivery.messageId, gas: String(delivery.gasUsed) }));
    } catch (error) {
      // A chain that is away for a moment: the next round asks again, and a nonce that was lost with it is read anew.
      for (const { sender } of ends) sender.reset();
      console.error(`hyperlane: ${error instanceof Error ? error.message.slice(0, 200) : "fault"}`);
    }
    await new Promise((resolve) => setTimeout(resolve, settings.pollMs));
  }
  process.exit(0);
}

main().catch((error: unknown) => {
  console.error(`hyperlane: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
