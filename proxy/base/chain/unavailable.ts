/** Turns "the node could not be asked" into the answer that callers get for it. */
import { ApiError } from "../http/errors.ts";
import { ChainUnreachable } from "./json-rpc.ts";

export async function orUnavailable<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (cause) {
    if (!(cause instanceof ChainUnreachable)) throw cause;
    throw new ApiError("CHAIN_UNAVAILABLE", "the chain cannot be asked at the moment", {
      retryAfterSecs: 5,
      cause,
    });
  }
}
