// A small service for tests of the client library: speaks the HTTP interface over a real socket, checks
// statements and verifies proofs for real. Its chain is in memory, so that tests can reorganise it. Towards pages it has
// the proxy's own manners, by the proxy's own code: nothing that a browser refuses there may pass here.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Wallet as EthereumWallet } from "ethers";
import Koa from "koa";
import { cors } from "../../../proxy/base/http/cors.ts";
import { errorHandler } from "../../../proxy/base/http/error-handler.ts";
import { requestId } from "../../../proxy/base/http/request-id.ts";
import { apiVersion, responseHeaders } from "../../../proxy/base/http/response-headers.ts";
import type { RequestState } from "../../../proxy/base/http/state.ts";
import { createLogger } from "../../../proxy/base/logging.ts";
import { createMetrics } from "../../../proxy/base/observe/metrics.ts";
import type { ErrorCode } from "../../../shared/api/errors.ts";
import type { SwapQuote, SwapQuoteRequest } from "../../../shared/api/swaps.ts";
import type { AttestResponse, Ticket } from "../../../shared/api/transactions.ts";
import { encodeUniswapPath } from "../../../shared/api/uniswap-path.ts";
import { DEVELOPMENT_KEYS } from "../../../shared/client/node/development.ts";
import { readManifest } from "../../../shared/client/node/index.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress, fromHex } from "../../../shared/protocol/host/text.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { feeOf } from "../../../shared/protocol/host/fees.ts";
import { parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { signalNames } from "../../../shared/protocol/host/statements.ts";
import { compressProof } from "../../../shared/protocol/proof.ts";
import { KIND_NAMES, KINDS, type Kind, type Statement } from "../../../shared/protocol/statements.ts";
import { voucher, type Vouching } from "../../support/vouching.ts";
import { json, problem, Refused } from "./answers.ts";
import { BridgeDesk } from "./bridge-desk.ts";
import { CHAIN_ID, hex, POOL, POOL_INTERFACE, TestChain, txHashOf, USDC, WETH } from "./chain.ts";
import { checkAuthorization, FLAT_FEE, PREFIX, readStatement, SWAP_BPS, verifyProof } from "./checks.ts";
import { EventStreams } from "./streams.ts";

export const API_KEY = "ck_test_key";

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
}

export class TestService {
  readonly #streams = new EventStreams();
  readonly chain: TestChain = new TestChain(() => this.#streams.update(this.chain));
  readonly serviceKeys = SpendingKey.fromSeed(new Uint8Array(32).fill(9));
  readonly requests: SeenRequest[] = [];
  readonly tickets = new Map<string, Ticket>();
  /** Answers of the next requests that match, before anything else is looked at. */
  readonly faults: ((request: SeenRequest) => ErrorCode | "hang-up" | undefined)[] = [];
  /** Tokens that count as expired, and those that are good. */
  readonly goodTokens = new Set<string>();
  readonly expiredTokens = new Set<string>();
  /** Whose pages may use it. */
  readonly origins = new Set<string>();
  readonly bridges = new BridgeDesk();
  /** Mine and root each accepted statement at once. Off: the test calls `mine`. */
  automine = true;
  features = { swaps: true, bridges: false, spend9: true };
  /** What `/swap/quote` answers; honest, until a test says otherwise. */
  quote: (request: SwapQuoteRequest) => unknown = (request) => this.honestQuote(request);
  /** Off for quotes that are of no documented form. */
  hasHonestForm = true;
  /** Bends the answer to an attestation. */
  bendAttested: (answer: AttestResponse, statement: Statement) => AttestResponse = (answer) => answer;
  /** Off where no proof is the point: then any proof of the right form passes, such as `standInProver` makes. */
  verifiesProofs = true;
  readonly enclave = EthereumWallet.createRandom();
  readonly #handle = this.#app().callback();
  readonly #server = createServer((request, response) => void this.#handle(request, response));
  readonly #queue: { statement: Statement; ticketId: string }[] = [];

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#streams.drop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  // ---------------------------------------------------------------- tickets

  /** Everything accepted so far becomes a block; a swap that the venue pays too little for waits on. */
  mine(): void {
    const block = this.chain.open();
    for (const waiting of this.#queue.splice(0)) {
      const { statement, ticketId } = waiting;
      const leafIndex = this.chain.execute(block, statement);
      if (leafIndex === undefined) {
        this.#queue.push(waiting);
        const error = { code: "SLIPPAGE_EXCEEDED", detail: "in a test", retryable: true } as const;
        this.#changeTicket(ticketId, { state: "queued", error });
        continue;
      }
      this.#changeTicket(ticketId, {
        state: "confirmed",
        tx_hash: txHashOf(block),
        block_number: block.number,
        confirmations: 1,
        leaf_index: leafIndex,
      });
    }
    this.chain.close(block);
  }

  tellBridge(status: unknown): void {
    this.#streams.bridge(status);
  }
  expireStreams(): void {
    this.#streams.expire();
  }
  dropStreams(): void {
    this.#streams.drop();
  }

  /** `executeAllTheSame` is what a liar does: the next block has it. */
  failTicket(
    ticketId: string,
    code: "NULLIFIER_SPENT" | "INSUFFICIENT_FUNDS" | "SLIPPAGE_EXCEEDED" | "ROUTE_UNAVAILABLE",
    { executeAllTheSame = false } = {},
  ): void {
    const at = this.#queue.findIndex((waiting) => waiting.ticketId === ticketId);
    if (at !== -1 && !executeAllTheSame) this.#queue.splice(at, 1);
    this.#changeTicket(ticketId, { state: "failed", error: { code, detail: "in a test", retryable: false } });
  }

  // ---------------------------------------------------------------- http

  /** As in the proxy's app: what every request passes before anybody looks at what it wants. */
  #app(): Koa<RequestState> {
    const app = new Koa<RequestState>();
    app.use(requestId());
    app.use(responseHeaders());
    app.use(errorHandler(createLogger("silent"), createMetrics()));
    app.use(cors(async () => this.origins));
    app.use(apiVersion());
    app.use((ctx) => {
      ctx.respond = false;
      // A fault of this file is no answer: it ends the test.
      void this.#serve(ctx.req, ctx.res);
    });
    return app;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const seen = { method: request.method!, url: request.url!, headers: request.headers };
    this.requests.push(seen);
    for (const fault of [...this.faults]) {
      const code = fault(seen);
      if (code === "hang-up") return void request.socket.destroy();
      if (code !== undefined) {
        problem(response, code);
        return;
      }
    }
    const url = new URL(request.url!, "http://test");
    const bearer = /^Bearer (.*)$/.exec(request.headers.authorization ?? "")?.[1];
    const token = bearer ?? url.searchParams.get("session") ?? undefined;
    const { origin, "sec-fetch-site": site, "x-api-key": apiKey } = request.headers;
    if (apiKey === undefined) {
      if (token === undefined) {
        problem(response, "MISSING_CREDENTIAL");
        return;
      }
      if (this.expiredTokens.has(token)) {
        problem(response, "SESSION_EXPIRED");
        return;
      }
      if (!this.goodTokens.has(token)) {
        problem(response, "INVALID_CREDENTIAL");
        return;
      }
    } else if (origin !== undefined || site !== undefined) {
      problem(response, "FORBIDDEN");
      return;
    } else if (apiKey !== API_KEY || token !== undefined) {
      problem(response, "INVALID_CREDENTIAL");
      return;
    }
    if (origin !== undefined && !this.origins.has(origin)) {
      problem(response, "FORBIDDEN");
      return;
    }
    try {
      await this.#route(seen.method, url, Buffer.concat(chunks).toString(), request, response);
    } catch (error) {
      if (error instanceof Refused) {
        problem(response, error.code);
        return;
      }
      throw error;
    }
  }

  async #route(
    method: string,
    url: URL,
    body: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const ticketId = /^\/sequence\/ticket\/(.+)$/.exec(url.pathname)?.[1];
    if (method === "GET" && ticketId !== undefined) {
      const ticket = this.tickets.get(ticketId);
      if (ticket === undefined) problem(response, "TICKET_UNKNOWN");
      else json(response, 200, ticket);
      return;
    }
    const [, way, kind] = /^\/(sequence|attest)\/([a-z0-9-]+)$/.exec(url.pathname) ?? [];
    if (method === "POST" && KIND_NAMES.includes(kind as Kind)) {
      const posted: unknown = JSON.parse(body);
      if (kind === "private-swap" && !this.features.swaps) throw new Refused("SWAPS_DISABLED");
      if (way === "attest") json(response, 200, await this.#attest(kind as Kind, posted));
      else json(response, 202, await this.#accept(kind as Kind, posted));
      return;
    }
    if (url.pathname.startsWith("/bridge/")) {
      this.#bridge(url, body, response);
      return;
    }
    switch (`${method} ${url.pathname}`) {
      case "GET /health":
        json(response, 200, { status: "ok" });
        return;
      case "GET /info":
        json(response, 200, await this.#info(url.searchParams.get("nonce")));
        return;
      case "POST /swap/quote":
        if (!this.features.swaps) throw new Refused("SWAPS_DISABLED");
        json(response, 200, this.quote(JSON.parse(body) as SwapQuoteRequest), this.hasHonestForm);
        return;
      case "GET /whoami":
        json(response, 200, this.#whoami());
        return;
      case "GET /events/stream":
        this.#streams.open(
          this.chain,
          this.tickets.values(),
          response,
          (request.headers["last-event-id"] as string | undefined) ??
            url.searchParams.get("from") ??
            undefined,
        );
        return;
      default:
        problem(response, "NOT_FOUND");
        return;
    }
  }

  #bridge(url: URL, body: string, response: ServerResponse): void {
    if (!this.features.bridges) throw new Refused("FEATURE_DISABLED");
    if (url.pathname === "/bridge/status") {
      const status = this.bridges.statusOf(url.searchParams);
      if (status === undefined) throw new Refused("BRIDGE_UNKNOWN");
      json(response, 200, this.bridges.bendStatus(status), this.hasHonestForm);
      return;
    }
    const posted = JSON.parse(body) as { readonly bridge_id?: string; readonly transaction?: string };
    if (posted.bridge_id === undefined) {
      const answer = this.bridges.open(url.pathname, posted);
      json(response, answer.status, answer.body, this.hasHonestForm);
    } else json(response, 200, this.bridges.sign(posted.bridge_id, posted.transaction!), this.hasHonestForm);
  }

  /** A developer's rule for swaps. */
  developerFee: { flat: string; bps: number; sink: string; enforced: boolean } | null = null;

  get serviceAddress(): string {
    return this.serviceKeys.viewing.addressText(PREFIX);
  }

  honestQuote(request: SwapQuoteRequest): SwapQuote {
    const { token_in, token_out, shares_in, tolerance_bps } = request;
    const given = BigInt(shares_in);
    const service = feeOf({ flat: 0n, bps: SWAP_BPS }, given);
    const { flat = "0", bps = 0 } = this.developerFee ?? {};
    const developer = feeOf({ flat: BigInt(flat), bps }, given);
    const amountOut = this.chain.venue(given - service - developer);
    const [tokenIn, tokenOut] = [asAddress(token_in) as Address, asAddress(token_out) as Address];
    const path = { feeFirst: 3_000, middle: ZERO_ADDRESS, feeSecond: 0 };
    return {
      quote_id: "0190a0a0-0000-7000-8000-000000000000",
      ...{ token_in, token_out, shares_in },
      amount_out: String(amountOut),
      floor: String((amountOut * BigInt(10_000 - tolerance_bps)) / 10_000n),
      price_impact_bps: 3,
      route: [{ pool: POOL, fee_bps: 30, token_in, token_out }],
      path: encodeUniswapPath({ tokenIn, path, tokenOut }),
      fees: {
        service: { bps: SWAP_BPS, amount: String(service) },
        developer: { flat, bps, amount: String(developer) },
        asset: token_in,
      },
      block_number: 7,
      expires_at: "2030-01-01T00:00:00Z",
    };
  }

  #whoami(): unknown {
    const service = { flat: String(FLAT_FEE), bps: 0, sink: this.serviceAddress, enforced: true };
    return {
      kind: "api_key",
      developer: { id: "d", name: "Test" },
      limits: [],
      fees: [USDC, WETH].flatMap((asset) =>
        ["transfer", "deposit", "withdraw", "swap"].map((operation) => ({
          asset,
          operation,
          service: operation === "swap" ? { ...service, flat: "0", bps: SWAP_BPS } : service,
          developer: operation === "swap" ? this.developerFee : null,
          valid_until: "2030-01-01T00:00:00Z",
        })),
      ),
    };
  }

  /** What `/info` says of the enclaves over a nonce. One that proves itself, until a test says otherwise. */
  enclaves: (nonce: Uint8Array) => readonly unknown[] = (nonce) => [this.vouched(nonce)];
  threshold = 1;

  /** An entry of `/info`; its document says what `vouching` says. */
  vouched(nonce: Uint8Array, vouching: Vouching = {}, signer = this.enclaveAddress): Record<string, unknown> {
    return { signer, accepted: true, measurements: {}, attestation: voucher(signer, nonce, vouching) };
  }

  get enclaveAddress(): Address {
    return asAddress(this.enclave.address) as Address;
  }

  async #info(nonce: string | null): Promise<unknown> {
    const manifest = await readManifest(DEVELOPMENT_KEYS);
    return {
      api_version: "2026-11-20",
      network: "test",
      chain_id: CHAIN_ID,
      pool: POOL,
      deployment_block: 1,
      address_prefix: PREFIX,
      confirmations: 2,
      assets: [
        { address: USDC, symbol: "USDC", decimals: 6 },
        { address: WETH, symbol: "WETH", decimals: 18 },
      ],
      features: this.features,
      fees: { service_address: this.serviceAddress, schedule: [] },
      circuits: KIND_NAMES.filter((kind) => manifest.circuits[kind] !== undefined).map((kind) => ({
        kind,
        public_signals: signalNames(kind),
        verification_key_hash: hex(1n),
        artefacts: {
          zkey_sha256: manifest.circuits[kind]!.zkey.sha256,
          wasm_sha256: manifest.circuits[kind]!.wasm.sha256,
        },
      })),
      enclaves: this.enclaves(fromHex(nonce ?? "") ?? new Uint8Array(16)),
      threshold: this.threshold,
      bridges: null,
      limits: { body_bytes: 262_144, minimums: [] },
    };
  }

  async #attest(kind: Kind, untrusted: unknown): Promise<AttestResponse> {
    const statement = this.#check(kind, untrusted);
    if (this.verifiesProofs) await verifyProof(kind, untrusted);
    const { proof } = untrusted as { proof: unknown };
    const signature = this.enclave.signingKey.sign(statement.hash).serialized;
    const member = [
      KINDS[kind].id,
      ...[statement.deadline, statement.signals, toHex(statement.extBytes)],
      ...[toHex(compressProof(parseSnarkjsProof(proof)!)), "0x", signature],
    ];
    const answer: AttestResponse = {
      kind,
      statement: statement.hash,
      deadline: Number(statement.deadline),
      attestations: [{ signer: this.enclave.address, signature }],
      transaction: {
        to: POOL,
        data: POOL_INTERFACE.encodeFunctionData("execute", [[member], NO_ROOT_UPDATE]),
        chain_id: CHAIN_ID,
      },
    };
    return this.bendAttested(answer, statement);
  }

  async #accept(kind: Kind, untrusted: unknown): Promise<Ticket> {
    const statement = this.#check(kind, untrusted);
    if (this.verifiesProofs) await verifyProof(kind, untrusted);
    checkAuthorization(statement, untrusted);
    const now = new Date().toISOString();
    const ticket: Ticket = {
      ticket_id: randomUUID(),
      kind,
      state: "queued",
      statement: statement.hash,
      position: 0,
      created_at: now,
      updated_at: now,
      tx_hash: null,
      block_number: null,
      confirmations: 0,
      leaf_index: [],
      nullifiers: statement.facts.nullifiers.map(hex),
      error: null,
    };
    this.tickets.set(ticket.ticket_id, ticket);
    this.#queue.push({ statement, ticketId: ticket.ticket_id });
    if (this.automine) setImmediate(() => this.mine());
    return ticket;
  }

  #check(kind: Kind, untrusted: unknown): Statement {
    const statement = readStatement(kind, untrusted, this.serviceAddress);
    const { root, nullifiers } = statement.facts;
    if (root !== undefined && !this.chain.isRoot(root)) throw new Refused("ROOT_UNKNOWN");
    if (nullifiers.some((nullifier) => this.chain.isSpent(nullifier))) throw new Refused("NULLIFIER_SPENT");
    const waiting = new Set(this.#queue.flatMap((entry) => entry.statement.facts.nullifiers));
    if (nullifiers.some((nullifier) => waiting.has(nullifier))) throw new Refused("NULLIFIER_PENDING");
    return statement;
  }

  #changeTicket(ticketId: string, change: Partial<Ticket>): void {
    const { position: _gone, ...ticket } = this.tickets.get(ticketId)!;
    const changed: Ticket = { ...ticket, ...change, updated_at: new Date().toISOString() };
    this.tickets.set(ticketId, changed);
    this.#streams.ticket(changed);
  }
}

const NO_ROOT_UPDATE = [0n, 0n, 0n, 0n, `0x${"00".repeat(32)}`, `0x${"00".repeat(32)}`, "0x"];
