// How the service of these tests answers.
import type { ServerResponse } from "node:http";
import { ERRORS, type ErrorCode } from "../../../shared/api/errors.ts";
import { bodyFault, requireDocumented } from "../../support/documented.ts";

export class Refused extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode) {
    super(code);
    this.code = code;
  }
}

/** `isHonest` is off for answers of no documented form. */
export function json(response: ServerResponse, status: number, body: unknown, isHonest = true): void {
  const { method = "", url = "" } = response.req;
  if (isHonest) requireDocumented(`${method} ${url}`, bodyFault(method, url, status, body));
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

export function problem(response: ServerResponse, code: ErrorCode): void {
  const { status, retryable, title } = ERRORS[code];
  const headers = {
    "Content-Type": "application/problem+json",
    ...(status === 429 ? { "Retry-After": "7" } : {}),
  };
  response.writeHead(status, headers).end(
    JSON.stringify({
      type: "about:blank",
      title,
      status,
      detail: title,
      code,
      retryable,
      request_id: "r-1",
    }),
  );
}
