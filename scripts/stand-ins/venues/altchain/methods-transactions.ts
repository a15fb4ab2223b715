/** JSON-RPC: sending, trying and finding transactions. */
import {
  getBase58Encoder,
  getBase64Encoder,
  getPublicKeyFromAddress,
  getSignatureFromTransaction,
  getTransactionDecoder,
  isAddress,
  verifySignature,
  type Transaction,
} from "@solana/kit";
import { z } from "zod";
import { FEE_A_SIGNATURE, type Simulation } from "./bank.ts";
import type { TransactionFailure } from "./failures.ts";
import type { Json } from "./json.ts";
import type { Commitment, Landed } from "./ledger.ts";
import { inContext, method, mustHaveReached, type Methods } from "./method.ts";
import {
  address,
  commitmentLevel,
  context,
  historyContext,
  newestVersion,
  signature,
  slotNumber,
  transactionEncoding,
  wireEncoding,
} from "./params.ts";
import { memosOf, transactionJson } from "./rendering.ts";
import { badSignatures, invalidParams, RpcError, versionUnsupported } from "./rpc-errors.ts";

const MOST_BYTES = 1232;
const MOST_SIGNATURES = 1000;
const MOST_STATUSES = 256;
const RANK: Record<Commitment, number> = { processed: 0, confirmed: 1, finalized: 2 };

const sending = z
  .looseObject({
    encoding: wireEncoding,
    skipPreflight: z.boolean().default(false),
    preflightCommitment: commitmentLevel,
    minContextSlot: slotNumber.optional(),
  })
  .prefault({});
const simulating = z
  .looseObject({
    encoding: wireEncoding,
    sigVerify: z.boolean().default(false),
    replaceRecentBlockhash: z.boolean().default(false),
    commitment: commitmentLevel,
    minContextSlot: slotNumber.optional(),
  })
  .prefault({});
const finding = z
  .looseObject({
    commitment: commitmentLevel,
    encoding: transactionEncoding,
    maxSupportedTransactionVersion: newestVersion,
  })
  .prefault({});
const paging = historyContext
  .unwrap()
  .extend({
    before: signature.nullish(),
    until: signature.nullish(),
    limit: z.number().int().min(1).max(MOST_SIGNATURES).default(MOST_SIGNATURES),
  })
  .prefault({});

export const transactionMethods: Methods = {
  sendTransaction: method(z.tuple([z.string(), sending]), async ({ chain, ledger }, [text, config]) => {
    const transaction = decoded(text, config.encoding);
    mustHaveReached(ledger, {
      commitment: config.preflightCommitment,
      minContextSlot: config.minContextSlot,
    });
    if (!config.skipPreflight) {
      if (!(await isSigned(transaction))) throw badSignatures();
      const simulation = ledger.simulate(transaction, { verify: true, anyHash: false });
      if (simulation.failure !== null) throw preflightFailure(simulation, simulation.failure);
    }
    // Without a preflight a node passes on what can never land, and says nothing.
    chain.submit(transaction);
    return getSignatureFromTransaction(transaction);
  }),

  simulateTransaction: method(z.tuple([z.string(), simulating]), ({ ledger }, [text, config]) => {
    const transaction = decoded(text, config.encoding);
    const options = { verify: config.sigVerify, anyHash: config.replaceRecentBlockhash };
    return inContext(ledger, config, simulationJson(ledger.simulate(transaction, options)));
  }),

  requestAirdrop: method(
    z.tuple([address, z.number().int().positive(), context]),
    ({ airdrop }, [to, coins]) => airdrop(to, BigInt(coins)),
  ),

  getFeeForMessage: method(z.tuple([z.base64(), context]), ({ ledger }, [text, config]) => {
    const bytes = getBase64Encoder().encode(text);
    // The number of signers is the message's first byte, after the mark of a version.
    const signers = bytes[0] !== undefined && bytes[0] >= 0x80 ? bytes[1] : bytes[0];
    return inContext(ledger, config, signers === undefined ? null : FEE_A_SIGNATURE * BigInt(signers));
  }),

  getSignatureStatuses: method(
    z.tuple([z.array(signature).max(MOST_STATUSES), z.looseObject({}).optional()]),
    ({ ledger }, [all]) =>
      inContext(
        ledger,
        { commitment: "processed" },
        all.map((name) => {
          const landed = ledger.landed(name);
          if (landed === undefined) return null;
          const { failure } = landed.execution;
          const confirmationStatus = ledger.commitmentOf(landed.slot);
          const confirmations = ledger.slotAt("processed") - landed.slot;
          return {
            confirmationStatus,
            confirmations: confirmationStatus === "finalized" ? null : confirmations,
            err: failure,
            slot: landed.slot,
            status: failure === null ? { Ok: null } : { Err: failure },
          };
        }),
      ),
  ),

  getTransaction: method(z.tuple([signature, finding]), ({ ledger }, [name, config]) => {
    if (config.commitment === "processed")
      throw invalidParams("Method does not support commitment below `confirmed`");
    const landed = ledger.landed(name);
    if (landed === undefined || RANK[ledger.commitmentOf(landed.slot)] < RANK[config.commitment]) return null;
    const { version } = landed.message;
    const newest = config.maxSupportedTransactionVersion;
    if (newest === undefined && version !== "legacy") throw versionUnsupported();
    return {
      blockTime: ledger.timeOf(landed.slot),
      ...transactionJson(ledger, landed, config.encoding),
      slot: landed.slot,
      ...(newest === undefined ? {} : { version }),
    };
  }),

  getSignaturesForAddress: method(z.tuple([address, paging]), ({ ledger }, [of, config]) => {
    mustHaveReached(ledger, config);
    const newest = ledger.slotAt(config.commitment);
    const known = ledger
      .historyOf(of)
      .filter(({ slot }) => slot <= newest)
      .toReversed();
    const from = typeof config.before !== "string" ? 0 : placeOf(known, config.before) + 1;
    const to = typeof config.until !== "string" ? known.length : placeOf(known, config.until);
    return known.slice(from, Math.min(to, from + config.limit)).map((landed) => ({
      blockTime: ledger.timeOf(landed.slot),
      confirmationStatus: ledger.commitmentOf(landed.slot),
      err: landed.execution.failure,
      memo: memosOf(landed),
      signature: landed.signature,
      slot: landed.slot,
    }));
  }),
};

/** Past the end when it is not there. */
function placeOf(known: readonly Landed[], name: string): number {
  const place = known.findIndex(({ signature: one }) => one === name);
  return place < 0 ? known.length : place;
}

function decoded(text: string, encoding: "base58" | "base64"): Transaction {
  try {
    const bytes = (encoding === "base64" ? getBase64Encoder() : getBase58Encoder()).encode(text);
    if (bytes.length > MOST_BYTES) throw invalidParams("transaction too large");
    return getTransactionDecoder().decode(bytes);
  } catch (error) {
    throw error instanceof RpcError ? error : invalidParams("failed to deserialize the transaction");
  }
}

async function isSigned({ signatures, messageBytes }: Transaction): Promise<boolean> {
  for (const [signer, bytes] of Object.entries(signatures)) {
    if (bytes === null || !isAddress(signer)) return false;
    if (!(await verifySignature(await getPublicKeyFromAddress(signer), bytes, messageBytes))) return false;
  }
  return true;
}

function preflightFailure(simulation: Simulation, failure: TransactionFailure): RpcError {
  const what = typeof failure === "string" ? failure : JSON.stringify(failure);
  return new RpcError(-32002, `Transaction simulation failed: ${what}`, simulationJson(simulation));
}

function simulationJson({ failure, logs, computeUnits }: Simulation) {
  return {
    accounts: null,
    err: failure,
    innerInstructions: null,
    logs,
    replacementBlockhash: null,
    returnData: null,
    unitsConsumed: computeUnits,
  } satisfies Json;
}
