/**
 * Reads a JSON body of bounded size. Refuses what is no JSON, no UTF-8, ambiguous, too large or of another type
 * before anybody looks inside; what comes out is still `unknown`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware, ParameterizedContext } from "koa";
import { MAX_BODY_BYTES } from "../../../shared/api/endpoints.ts";
import { ApiError } from "./errors.ts";
import { headerValues } from "./header-values.ts";
import { fieldPath } from "./parse.ts";
import type { RequestState } from "./state.ts";
import { JsonRefusal, parseStrictJson } from "./strict-json.ts";

export function jsonBody(): Middleware<RequestState> {
  return (ctx, next) => readJson(ctx).then(next);
}

async function readJson(ctx: ParameterizedContext<RequestState>): Promise<void> {
  requireJson(ctx.req);
  let bytes: Buffer;
  try {
    bytes = await readBody(ctx.req, ctx.res);
  } catch (error) {
    // The rest of an oversize body is not waited for.
    if (error instanceof ApiError && error.code === "BODY_TOO_LARGE") ctx.set("Connection", "close");
    throw error;
  }
  ctx.state.json = parseJson(bytes);
}

function requireJson(request: IncomingMessage): void {
  // Of several Node keeps the first, and a filter in front of us may go by the last.
  const types = headerValues(request, "content-type");
  const [type = "", ...parameters] = (types[0] ?? "").split(";").map((part) => part.trim());
  const charsets = parameters.filter((parameter) => /^charset=/i.test(parameter));
  if (
    types.length !== 1 ||
    type.toLowerCase() !== "application/json" ||
    charsets.some((charset) => !/^charset="?utf-8"?$/i.test(charset)) ||
    (request.headers["content-encoding"] ?? "identity") !== "identity"
  ) {
    throw new ApiError(
      "UNSUPPORTED_MEDIA_TYPE",
      "The body must be application/json in UTF-8, said once, and not encoded",
    );
  }
}

async function readBody(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  const tooLarge = (): ApiError =>
    new ApiError("BODY_TOO_LARGE", `The body may have ${MAX_BODY_BYTES} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  // The server lets no other expectation pass, and HTTP/1.0 has none (RFC 9110, section 10.1.1).
  if (request.headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    // Events, not `for await`: leaving such a loop destroys the socket, and the answer with it.
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else finish(() => reject(tooLarge()));
    };
    const onEnd = (): void => finish(() => resolve(Buffer.concat(chunks)));
    const onGone = (): void =>
      finish(() => reject(new ApiError("INVALID_REQUEST", "The connection ended within the body")));
    const finish = (settle: () => void): void => {
      request.off("data", onData).off("end", onEnd).off("aborted", onGone).off("error", onGone);
      // Late errors of a connection we have given up on belong to nobody.
      request.on("error", () => undefined);
      request.resume();
      settle();
    };
    request.on("data", onData).on("end", onEnd).on("aborted", onGone).on("error", onGone);
  });
}

function parseJson(bytes: Buffer): unknown {
  try {
    // Fatal, and a byte order mark is not skipped: RFC 8259 section 8.1 forbids to send one.
    return parseStrictJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    if (error instanceof JsonRefusal) {
      const fields =
        error.field === undefined ? {} : { fields: [{ path: fieldPath([error.field]), message: "twice" }] };
      throw new ApiError("INVALID_REQUEST", `The body ${error.message}`, fields);
    }
    // The parser's own message quotes the body.
    throw new ApiError("INVALID_REQUEST", "The body is not valid JSON in UTF-8");
  }
}
