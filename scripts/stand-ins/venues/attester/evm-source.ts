// Messages of an EVM chain: the logs of its one transmitter. Everything that is not yet final is read again at every
// look, so a reorganised block takes its messages with it.
import { id } from "ethers";
import { z } from "zod";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { ByteReader } from "../../../../shared/protocol/bytes.ts";
import { wordToAddress } from "../../../../shared/protocol/host/cctp.ts";
import { JsonRpc, quantity } from "../json-rpc.ts";
import { bytesShape } from "../shapes.ts";
import { readEmitted } from "./completing.ts";
import type { EvmChain } from "./settings.ts";
import type { Look, Sighted, Source } from "./sources.ts";

const MESSAGE_SENT = id("MessageSent(bytes)");
/** Nodes refuse more at once. */
const MAX_RANGE = 10_000;

const log = z.object({
  address: z.string(),
  blockNumber: quantity,
  logIndex: quantity,
  transactionHash: z.string().regex(/^0x[0-9a-f]{64}$/),
  data: bytesShape,
  removed: z.boolean().optional(),
});
type Log = z.output<typeof log>;

export function evmSource(chain: EvmChain): Source {
  const rpc = new JsonRpc(chain.rpc);

  async function look(position: string | undefined): Promise<Look> {
    const from = position === undefined ? chain.from_block : Number(position);
    // Asked first: a log's depth is then never overstated by a block that came in between.
    const block = await rpc.call(quantity, "eth_blockNumber", []);
    const to = Math.min(block, from + MAX_RANGE - 1);
    if (to < from) return { sighted: [], position: String(from), block };
    const logs = await rpc.call(z.array(log), "eth_getLogs", [
      {
        address: chain.transmitter,
        topics: [MESSAGE_SENT],
        fromBlock: `0x${from.toString(16)}`,
        toBlock: `0x${to.toString(16)}`,
      },
    ]);
    const next = Math.min(to, block - chain.final_blocks) + 1;
    return { sighted: sightings(chain, logs, block), position: String(Math.max(from, next)), block };
  }

  return { domain: chain.domain, look };
}

function sightings(chain: EvmChain, logs: readonly Log[], block: number): Sighted[] {
  const ordinals = new Map<string, number>();
  const sorted = logs.toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  return sorted.flatMap((each): Sighted[] => {
    if (asAddress(each.address) !== chain.transmitter || each.removed === true) return [];
    const ordinal = ordinals.get(each.transactionHash) ?? 0;
    ordinals.set(each.transactionHash, ordinal + 1);
    const bytes = bytesOfEvent(each.data);
    const message = bytes === undefined ? undefined : readEmitted(bytes, chain.domain);
    if (bytes === undefined || message === undefined) return [];
    const above = block - each.blockNumber;
    return [
      {
        transaction: each.transactionHash,
        ordinal,
        message,
        content: bytes,
        isBurn: wordToAddress(message.sender) === chain.messenger,
        depth: above >= chain.final_blocks ? "final" : above >= chain.fast_blocks ? "fast" : "seen",
      },
    ];
  });
}

/** One dynamic `bytes`, as the ABI encodes it. */
function bytesOfEvent(data: Uint8Array): Uint8Array | undefined {
  const reader = new ByteReader(data);
  const offset = reader.uint(32);
  const length = reader.uint(32);
  if (offset !== 32n || length > BigInt(data.length)) return undefined;
  const bytes = reader.take(Number(length));
  reader.take((32 - (bytes.length % 32)) % 32);
  return reader.done() ? bytes : undefined;
}
