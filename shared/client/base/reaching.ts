/**
 * The address of a service: checked before anything is sent to it, named in errors without what may be secret in it,
 * and what probably keeps this program from it. A browser says of a failed request nothing at all, so a developer who
 * forgot to register an origin must learn of it here.
 */
import { ClientError } from "./errors.ts";

/** An http or https address without credentials, query and fragment, and without a slash at its end. */
export function readBaseUrl(untrusted: unknown, name: string): string {
  const refuse = (why: string): never => {
    throw new ClientError("OPTIONS_INVALID", `${name}: ${why}`);
  };
  if (typeof untrusted !== "string" || untrusted === "") return refuse("an address like https://api.example");
  if (!/^https?:\/\//i.test(untrusted)) return refuse("it begins with https:// or http://");
  // What it says is not repeated: it may hold a password.
  if (!URL.canParse(untrusted)) return refuse("it is not an address");
  const { username, password, search, hash } = new URL(untrusted);
  if (username !== "" || password !== "") return refuse("a credential does not belong into an address");
  if (search !== "" || hash !== "") return refuse("it has neither query nor fragment");
  return untrusted.replace(/\/+$/, "");
}

/** Without the query, in which a stream carries its session. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** No answer came from `url`. */
export function unreachable(method: string, url: string, cause: unknown): ClientError {
  return new ClientError("NETWORK", `${method} ${shownUrl(url)}: ${likelyCause(new URL(url), cause)}`, {
    cause,
  });
}

/** The reason with which an exchange ends that nobody answers. */
export function silenceFor(ms: number): DOMException {
  return new DOMException(`nothing was received for ${Math.round(ms / 1000)} s`, "TimeoutError");
}

/** Whether `error` says that the other side took a request and kept silent. */
export function isSilence(error: unknown): boolean {
  return (
    error instanceof ClientError && error.cause instanceof DOMException && error.cause.name === "TimeoutError"
  );
}

function likelyCause(url: URL, cause: unknown): string {
  if (cause instanceof DOMException && cause.name === "TimeoutError") return cause.message;
  const page = pageOrigin();
  if (page === undefined) return systemCause(cause);
  if (page === url.origin)
    return "it is not reachable there, or the page's content security policy forbids it";
  if (page === "null")
    return "it is not reachable there, or does not allow a page without an origin (a file, a sandboxed frame); serve the page by http";
  if (page.startsWith("https:") && url.protocol === "http:" && !isLoopback(url.hostname))
    return "a page of https may not ask an address of http";
  return (
    `it is not reachable there, or it does not allow the origin ${page} of this page, which the service's operator ` +
    `registers (operator developers origins ID --origin ${page}), or it refused what the page sends (an API key is ` +
    "never allowed in a page), or the page's content security policy forbids it"
  );
}

/** Undefined outside of pages and their workers. */
function pageOrigin(): string | undefined {
  const { location } = globalThis as { location?: { readonly origin?: unknown } };
  return typeof location?.origin === "string" ? location.origin : undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || host.startsWith("127.");
}

const SYSTEM_CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the connection broke",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "the host's name cannot be looked up now",
  ETIMEDOUT: "nothing answers there",
  UND_ERR_CONNECT_TIMEOUT: "nothing answers there",
  UND_ERR_SOCKET: "the connection broke",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak https",
};

/** Node's fetch hides the system's own error one level below. Of it only the code is shown. */
function systemCause(error: unknown): string {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { code, message } = inner as Error & { readonly code?: unknown };
    if (message === "unexpected redirect")
      return "it redirects elsewhere, where a credential must not follow";
    if (typeof code !== "string" || !/^[A-Z][A-Z0-9_]{2,60}$/.test(code)) continue;
    const told = SYSTEM_CAUSES[code];
    return told === undefined ? code : `${told}, ${code}`;
  }
  return "it is not reachable there";
}
