/** Errors with the numbers and words that the chain's nodes use, so that its client library names them. */
import type { Json } from "./json.ts";

export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const invalidParams = (why: string): RpcError => new RpcError(-32602, `Invalid params: ${why}`);
export const badSignatures = (): RpcError =>
  new RpcError(-32003, "Transaction signature verification failure");
export const noBlock = (slot: bigint): RpcError =>
  new RpcError(-32004, `Block not available for slot ${String(slot)}`);
export const skippedSlot = (slot: bigint): RpcError =>
  new RpcError(-32007, `Slot ${String(slot)} was skipped, or missing due to ledger jump to recent snapshot`);
export const versionUnsupported = (): RpcError =>
  new RpcError(
    -32015,
    'Transaction version (0) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 0',
  );
export const tooEarly = (slot: bigint): RpcError =>
  new RpcError(-32016, "Minimum context slot has not been reached", { contextSlot: slot });
