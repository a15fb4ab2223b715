// Burns on the other blockchain: one transaction that burns the token by its owner's signature and says in a memo where
// the money goes. The attester writes the message that no contract emits there.
import {
  getAddressEncoder,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Address as AltAddress,
} from "@solana/kit";
import { TOKEN_PROGRAM_ADDRESS } from "@solana-program/token";
import { z } from "zod";
import { isOrder, MEMO_PROGRAM, parseOrderMemo } from "../../../../shared/altchain/memo.ts";
import { ZERO_BYTES32, type Bytes32 } from "../../../../shared/protocol/brands.ts";
import { asBytes32 } from "../../../../shared/protocol/host/text.ts";
import { toBytes32 } from "../../../../shared/protocol/bytes.ts";
import {
  addressToWord,
  encodeBurn,
  FINALITY,
  type CctpMessage,
} from "../../../../shared/protocol/host/cctp.ts";
import { JsonRpc } from "../json-rpc.ts";
import type { Altchain, EvmChain } from "./settings.ts";
import type { Look, Sighted, Source } from "./sources.ts";

const PAGE = 1_000;

const signaturesShape = z.array(
  z.object({
    signature: z.string(),
    err: z.unknown(),
    confirmationStatus: z.enum(["processed", "confirmed", "finalized"]).nullish(),
  }),
);
type Signature = z.output<typeof signaturesShape>[number];

const transactionShape = z.object({ transaction: z.tuple([z.string(), z.literal("base64")]) }).nullable();

export function altchainSource(altchain: Altchain, destinations: readonly EvmChain[]): Source {
  const rpc = new JsonRpc(altchain.rpc);
  // A transaction is what its signature signs, so what was read once need not be read again.
  const read = new Map<string, CctpMessage | undefined>();

  async function messageOf(signature: string): Promise<CctpMessage | undefined> {
    if (read.has(signature)) return read.get(signature);
    const options = { encoding: "base64", commitment: "confirmed", maxSupportedTransactionVersion: 0 };
    const found = await rpc.call(transactionShape, "getTransaction", [signature, options]);
    // Undone between the two questions.
    if (found === null) return undefined;
    const burn = burnIn(getBase64Encoder().encode(found.transaction[0]), altchain.mint);
    const message = burn === undefined ? undefined : messageFor(burn, altchain, destinations);
    read.set(signature, message);
    return message;
  }

  async function look(position: string | undefined): Promise<Look> {
    const block = await rpc.call(z.int().min(0), "getSlot", [{ commitment: "confirmed" }]);
    const signatures = await signaturesAbove(rpc, altchain.mint, position);
    const sighted: Sighted[] = [];
    for (const { signature, err, confirmationStatus } of signatures) {
      if (err !== null && err !== undefined) continue;
      const message = await messageOf(signature);
      if (message === undefined) continue;
      const depth = confirmationStatus === "finalized" ? "final" : "fast";
      const content = new Uint8Array(0);
      sighted.push({ transaction: signature, ordinal: 0, message, content, isBurn: true, depth });
    }
    // Up to the first that can still be undone.
    const undoable = signatures.findIndex(({ confirmationStatus }) => confirmationStatus !== "finalized");
    const final = undoable === -1 ? signatures : signatures.slice(0, undoable);
    for (const { signature } of final) read.delete(signature);
    return { sighted, position: final.at(-1)?.signature ?? position ?? "", block };
  }

  return { domain: altchain.domain, look };
}

/** Oldest first. */
async function signaturesAbove(
  rpc: JsonRpc,
  mint: string,
  position: string | undefined,
): Promise<Signature[]> {
  const until = position === undefined || position === "" ? {} : { until: position };
  const all: Signature[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await rpc.call(signaturesShape, "getSignaturesForAddress", [
      mint,
      {
        limit: PAGE,
        commitment: "confirmed",
        ...until,
        ...(last === undefined ? {} : { before: last.signature }),
      },
    ]);
    all.push(...page);
    if (page.length < PAGE) return all.toReversed();
  }
}

export interface AltchainBurn {
  /** Who signed for the tokens. */
  readonly owner: Bytes32;
  readonly amount: bigint;
  readonly destinationDomain: number;
  readonly mintRecipient: Bytes32;
  readonly maxFee: bigint;
  readonly finality: number;
}

/** Undefined unless the transaction burns this token once and says once where it goes. */
export function burnIn(transaction: Parameters<Decode>[0], mint: string): AltchainBurn | undefined {
  const { messageBytes } = getTransactionDecoder().decode(transaction);
  const compiled = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (!("instructions" in compiled)) return undefined;
  const account = (index: number | undefined): AltAddress | undefined =>
    index === undefined ? undefined : compiled.staticAccounts[index];
  const burns: Pick<AltchainBurn, "owner" | "amount">[] = [];
  const orders: string[] = [];
  for (const { programAddressIndex, accountIndices = [], data } of compiled.instructions) {
    const bytes = Uint8Array.from(data ?? []);
    const program = account(programAddressIndex);
    if (program === MEMO_PROGRAM) {
      const text = new TextDecoder().decode(bytes);
      if (isOrder(text)) orders.push(text);
    }
    const owner = account(accountIndices[2]);
    if (program === TOKEN_PROGRAM_ADDRESS && account(accountIndices[1]) === mint && owner !== undefined) {
      const amount = burntBy(bytes);
      if (amount !== undefined)
        burns.push({ owner: toBytes32(Uint8Array.from(getAddressEncoder().encode(owner))), amount });
    }
  }
  const [burn] = burns;
  const order = orderIn(orders[0]);
  if (burns.length !== 1 || orders.length !== 1 || burn === undefined || order === undefined)
    return undefined;
  return { ...burn, ...order };
}
type Decode = ReturnType<typeof getTransactionDecoder>["decode"];

/** Of `BurnChecked`: its number, the amount with the lowest byte first, decimals. */
function burntBy(data: Uint8Array): bigint | undefined {
  if (data.length !== 10 || data[0] !== 15) return undefined;
  return new DataView(data.buffer).getBigUint64(1, true);
}

/** Undefined for an order that asks for a finality which nobody here waits for. */
function orderIn(memo: string | undefined): Omit<AltchainBurn, "owner" | "amount"> | undefined {
  const order = memo === undefined ? undefined : parseOrderMemo(memo);
  const mintRecipient = asBytes32(order?.recipient);
  if (order === undefined || mintRecipient === undefined) return undefined;
  const { domain: destinationDomain, maxFee, finality } = order;
  if (finality !== FINALITY.fast && finality !== FINALITY.final) return undefined;
  return { destinationDomain, mintRecipient, maxFee, finality };
}

/** As a token messenger would have written it. Undefined for a chain that nobody here follows. */
function messageFor(
  burn: AltchainBurn,
  { domain, mint, messenger }: Altchain,
  destinations: readonly EvmChain[],
): CctpMessage | undefined {
  const destination = destinations.find((chain) => chain.domain === burn.destinationDomain);
  if (destination === undefined) return undefined;
  return {
    sourceDomain: domain,
    destinationDomain: destination.domain,
    nonce: ZERO_BYTES32,
    sender: messenger,
    recipient: addressToWord(destination.messenger),
    destinationCaller: ZERO_BYTES32,
    minFinalityThreshold: burn.finality === FINALITY.fast ? FINALITY.fast : FINALITY.final,
    finalityThresholdExecuted: 0,
    body: encodeBurn({
      burnToken: mintWord(mint),
      mintRecipient: burn.mintRecipient,
      amount: burn.amount,
      messageSender: burn.owner,
      maxFee: burn.maxFee,
      feeExecuted: 0n,
      expirationBlock: 0n,
      hookData: new Uint8Array(0),
    }),
  };
}

/** A token of that chain, as messages name it. Throws for what is no address there. */
export function mintWord(mint: string): Bytes32 {
  return toBytes32(Uint8Array.from(getAddressEncoder().encode(mint as AltAddress)));
}
