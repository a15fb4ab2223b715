/**
 * Fetches a small document from a host that the operator approved. Its name is resolved once, every address is
 * checked, and the connection goes to the address that was checked, so that a name server cannot answer
 * differently the second time and lead us into our own network. Trusts nothing that comes back.
 */
import { lookup } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { isLoopback, isPublicAddress } from "./public-address.ts";

/** Why there is no document. For our log: no upstream text in it. */
export class FetchRefused extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "FetchRefused";
  }
}

export interface PinnedFetchOptions {
  /** Development only: loopback addresses, and http to them. */
  readonly allowLoopback: boolean;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** For tests: name resolution, and an authority that no public list knows. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly ca?: string;
}

/** The document's text. Throws FetchRefused. */
export type PinnedFetch = (url: string, approvedHost: string) => Promise<string>;

const TIMEOUT_MS = 3_000;
const MAX_BYTES = 65_536;

export function createPinnedFetch(options: PinnedFetchOptions): PinnedFetch {
  const { allowLoopback, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, resolve = resolveAll, ca } = options;

  async function checkedAddress(host: string, mustBeLoopback: boolean): Promise<string> {
    const addresses = await resolve(host).catch(() => []);
    const [first] = addresses;
    if (first === undefined) throw new FetchRefused("the host's name does not resolve");
    // All of them: one good address beside a bad one is what a rebinding name server answers.
    const isAllowed = (address: string): boolean =>
      (allowLoopback && isLoopback(address)) || (!mustBeLoopback && isPublicAddress(address));
    if (!addresses.every(isAllowed))
      throw new FetchRefused("the host resolves to an address that is not public");
    return first;
  }

  async function fetchText(url: string, approvedHost: string, signal: AbortSignal): Promise<string> {
    const target = URL.canParse(url) ? new URL(url) : undefined;
    if (target?.host !== approvedHost) throw new FetchRefused("the address is not at the approved host");
    const isPlain = target.protocol === "http:";
    if (target.protocol !== "https:" && !(isPlain && allowLoopback)) throw new FetchRefused("not https");
    const name = target.hostname.replace(/^\[(.*)\]$/, "$1");
    const address = await checkedAddress(name, isPlain);
    signal.throwIfAborted();
    return textAt(target, address, { name, isPlain, signal, maxBytes, ca });
  }

  return async (url, approvedHost) => {
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      // A name server that does not answer cannot be cut off; it is left alone.
      timer = setTimeout(() => {
        reject(new FetchRefused("it took too long"));
        late.abort();
      }, timeoutMs);
    });
    const work = fetchText(url, approvedHost, late.signal);
    try {
      return await Promise.race([work, tooLong]);
    } finally {
      clearTimeout(timer);
      work.catch(() => undefined);
    }
  };
}

interface Terms {
  readonly name: string;
  readonly isPlain: boolean;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  readonly ca: PinnedFetchOptions["ca"];
}

/** What this address answers. Throws FetchRefused. */
function textAt(target: URL, host: string, { name, isPlain, signal, maxBytes, ca }: Terms): Promise<string> {
  return new Promise((settle, reject) => {
    const terms = {
      host,
      port: target.port === "" ? undefined : target.port,
      path: `${target.pathname}${target.search}`,
      headers: { Host: target.host, Accept: "application/json", "Accept-Encoding": "identity" },
      agent: false as const,
      signal,
    };
    // The certificate is checked against the name, never the address. SNI must not hold an address (RFC 6066).
    const request = isPlain
      ? httpRequest(terms)
      : httpsRequest({
          ...terms,
          ...(isIP(name) === 0 ? { servername: name } : {}),
          ...(ca === undefined ? {} : { ca }),
          rejectUnauthorized: true,
        });
    const refuse = (reason: string): void => {
      reject(new FetchRefused(reason));
      request.destroy();
    };
    request.once("error", () => refuse(signal.aborted ? "it took too long" : "the connection failed"));
    request.once("response", (response) => {
      const { statusCode, headers } = response;
      // Redirects come here too: where they lead, nobody has approved.
      if (statusCode !== 200) {
        refuse(`the answer has status ${String(statusCode)}`);
        return;
      }
      if ((headers["content-encoding"] ?? "identity") !== "identity") {
        refuse("the answer is encoded");
        return;
      }
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBytes) refuse("the answer is too large");
        else chunks.push(chunk);
      });
      response.once("end", () => settle(Buffer.concat(chunks).toString("utf8")));
      response.once("error", () => refuse(signal.aborted ? "it took too long" : "the answer broke off"));
    });
    request.end();
  });
}

async function resolveAll(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
