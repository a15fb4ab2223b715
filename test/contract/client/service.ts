// A small service for tests of the client library: speaks the HTTP interface over a real socket, checks
// statements and verifies proofs for real, and keeps its "chain" in memory so that tests can reorganise it.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile } from "node:fs/promises";
import { Interface, Wallet as EthereumWallet, verifyTypedData } from "ethers";
import * as snarkjs from "snarkjs";
import type { EventKind } from "../../../shared/api/data.ts";
import { ERRORS, type ErrorCode } from "../../../shared/api/errors.ts";
import {
  ATTEST_BODIES,
  SEQUENCE_BODIES,
  type AttestResponse,
  type Ticket,
} from "../../../shared/api/transactions.ts";
import type { SwapQuote, SwapQuoteRequest } from "../../../shared/api/swaps.ts";
import { decodeUniswapPath, encodeUniswapPath } from "../../../shared/api/uniswap-path.ts";
import { DEVELOPMENT_KEYS } from "../../../shared/client/node/development.ts";
import { readManifest } from "../../../shared/client/node/index.ts";
import { decodeShieldedAddress } from "../../../shared/notes/address.ts";
import { commitmentOf, npkOf } from "../../../shared/notes/note.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import {
  asAddress,
  mustField,
  parseField,
  ZERO_ADDRESS,
  type Address,
  type Field,
} from "../../../shared/protocol/brands.ts";
import { POOL_ABI, TOKEN_ABI } from "../../../shared/contracts/abi.ts";
import { fromHex, mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import { feeOf } from "../../../shared/protocol/host/fees.ts";
import { compressProof } from "../../../shared/protocol/proof.ts";
import { parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import {
  checkStatement,
  KIND_NAMES,
  KINDS,
  type Ext,
  type Home,
  type Kind,
  type Statement,
} from "../../../shared/protocol/statements.ts";
import { encodeExt, signalNames } from "../../../shared/protocol/host/statements.ts";
import { Frontier } from "../../../shared/protocol/tree.ts";
import { bodyFault, eventFault, throwUncaught } from "../../support/documented.ts";
import { voucher, type Vouching } from "../../support/vouching.ts";

export const CHAIN_ID = 31_337;
export const POOL = "0x00000000000000000000000000000000000000aa" as Address;
export const USDC = "0x00000000000000000000000000000000000000bb" as Address;
/** A token without EIP-3009. */
export const WETH = "0x00000000000000000000000000000000000000ee" as Address;
export const PREFIX = "cltest";
export const FLAT_FEE = 50_000n;
export const SWAP_BPS = 15;
export const API_KEY = "ck_test_key";

type LogKind = "leaf" | "nullifier" | "root";
interface LogEntry {
  readonly id: string;
  readonly kind: LogKind;
  readonly data: Record<string, unknown>;
}
interface Block {
  readonly number: number;
  readonly hash: string;
  readonly log: LogEntry[];
}

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
}

export class TestService {
  readonly home: Home = { chainId: BigInt(CHAIN_ID), pool: POOL };
  readonly serviceKeys = SpendingKey.fromSeed(new Uint8Array(32).fill(9));
  readonly requests: SeenRequest[] = [];
  readonly tickets = new Map<string, Ticket>();
  /** Answers of the next requests that match, before anything else is looked at. */
  readonly faults: ((request: SeenRequest) => ErrorCode | "hang-up" | undefined)[] = [];
  /** Tokens that count as expired, and those that are good. */
  readonly goodTokens = new Set<string>();
  readonly expiredTokens = new Set<string>();
  /** Served without a credential, for pages of browser tests. */
  readonly files = new Map<string, { readonly type: string; readonly body: string | Uint8Array }>();
  /** Mine and root each accepted statement at once. Off: the test calls `mine`. */
  automine = true;
  /** Rooting can be held back to show what a wallet does with leaves that no root covers. */
  autoroot = true;
  features = { swaps: true, bridges: false, spend9: true };
  /** What the venue pays for so much; less than the floor, and the swap waits. */
  venue: (amountIn: bigint) => bigint = (amountIn) => 3n * amountIn;
  /** What `/swap/quote` answers; honest, until a test says otherwise. */
  quote: (request: SwapQuoteRequest) => unknown = (request) => this.honestQuote(request);
  /** Off for quotes that are of no documented form. */
  hasHonestForm = true;
  /** Bends what the stream says about a bought note, as a liar would. */
  bendBought: (leaf: Record<string, unknown>) => Record<string, unknown> = (leaf) => leaf;
  /** Bends the answer to an attestation. */
  bendAttested: (answer: AttestResponse, statement: Statement) => AttestResponse = (answer) => answer;
  /** Off where no proof is the point: then any proof of the right form passes, such as `standInProver` makes. */
  verifiesProofs = true;
  readonly enclave = EthereumWallet.createRandom();
  /** ERC-20 approvals for the pool: `token/owner`. */
  readonly allowances = new Map<string, bigint>();
  #blocks: Block[] = [];
  #orphans = new Map<string, number>();
  #fork = 0;
  readonly #streams = new Map<ServerResponse, { sent: string | undefined }>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #queue: { statement: Statement; ticketId: string }[] = [];

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const response of this.#streams.keys()) response.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get openStreams(): number {
    return this.#streams.size;
  }
  get log(): LogEntry[] {
    return this.#blocks.flatMap((block) => block.log);
  }
  get leafCount(): number {
    return this.log.filter(({ kind }) => kind === "leaf").length;
  }

  // ---------------------------------------------------------------- chain

  /** Everything accepted so far becomes a block, and a root over all leaves if `autoroot`. */
  mine(): void {
    const block = this.#newBlock();
    for (const waiting of this.#queue.splice(0)) {
      const { statement, ticketId } = waiting;
      const { ext, facts } = statement;
      const bought = ext.kind === "private-swap" ? this.venue(facts.amount) : 0n;
      if (ext.kind === "private-swap" && bought < ext.minAmountOut) {
        this.#queue.push(waiting);
        const error = { code: "SLIPPAGE_EXCEEDED", detail: "in a test", retryable: true } as const;
        this.#changeTicket(ticketId, { state: "queued", error });
        continue;
      }
      const leafIndex = this.#execute(block, statement, bought);
      this.#changeTicket(ticketId, {
        state: "confirmed",
        tx_hash: txHashOf(block),
        block_number: block.number,
        confirmations: 1,
        leaf_index: leafIndex,
      });
    }
    this.#close(block);
  }

  #close(block: Block): void {
    this.#blocks.push(block);
    if (this.autoroot) this.root();
    else this.#pump();
  }

  #execute(block: Block, { ext, facts, kind }: Statement, bought: bigint): number[] {
    const first = this.leafCount + block.log.filter((entry) => entry.kind === "leaf").length;
    const txHash = txHashOf(block);
    for (const nullifier of facts.nullifiers)
      this.#push(block, "nullifier", { nullifier: hex(nullifier), tx_hash: txHash });
    const source = kind === "deposit-shield" ? "deposit" : kind === "private-swap" ? "swap" : "spend";
    const leaf = (at: number, commitment: Field): Record<string, unknown> => ({
      ...{ index: first + at, commitment: hex(commitment), ciphertext: toHex(ext.ciphertexts[at]!) },
      ...{ source, tx_hash: txHash },
    });
    facts.commitments.forEach((commitment, at) => this.#push(block, "leaf", leaf(at, commitment)));
    if (ext.kind === "private-swap") {
      const npk = mustField(ext.npkOut);
      const made = commitmentOf(npk, ext.tokenOut, bought);
      const measured = { npk: hex(npk), asset: ext.tokenOut, value: String(bought) };
      this.#push(block, "leaf", this.bendBought({ ...leaf(facts.commitments.length, made), ...measured }));
    }
    return Array.from({ length: KINDS[kind].leaves }, (_, at) => first + at);
  }

  /** A transaction of somebody's own account, as the chain would take it: an approval, or `execute` by a depositor. */
  send(from: string, { to, data }: { to: string; data: string }): SentReceipt {
    const token = new Interface(TOKEN_ABI).parseTransaction({ data });
    if (token?.name === "approve") {
      if (asAddress(token.args[0]) === POOL)
        this.allowances.set(`${to}/${from.toLowerCase()}`, token.args[1] as bigint);
      return { status: 1, logs: [] };
    }
    const [[member]] = POOL_INTERFACE.decodeFunctionData("execute", data) as unknown as [[Member]];
    const kind = KIND_NAMES.find((name) => BigInt(KINDS[name].id) === member[0])!;
    const statement = checkStatement(
      this.home,
      kind,
      member[1],
      [...member[2]],
      mustFromHex(member[3]),
    ) as Statement;
    const { ext, facts, hash } = statement;
    const key = `${hexAddress(facts.asset)}/${from.toLowerCase()}`;
    const executes =
      ext.kind === "deposit-shield" &&
      ext.depositor === from.toLowerCase() &&
      this.allowances.get(key) === facts.amount;
    const log = (name: string, values: readonly unknown[]): SentReceipt => ({
      status: 1,
      logs: [{ address: POOL, ...POOL_INTERFACE.encodeEventLog(name, values) }],
    });
    if (!executes) return log("Rejected", [hash, POOL_INTERFACE.encodeErrorResult("AuthorizationMalformed")]);
    this.allowances.delete(key);
    const block = this.#newBlock();
    const [first = 0] = this.#execute(block, statement, 0n);
    this.#close(block);
    return log("Executed", [hash, KINDS[kind].id, first, [], facts.commitments, "0x"]);
  }

  /** A root over the first `leafCount` leaves, in a block of its own. */
  root(leafCount = this.leafCount): void {
    const block = this.#newBlock();
    const frontier = Frontier.empty();
    for (const { kind, data } of this.log) {
      if (kind === "leaf" && Number(data["index"]) < leafCount)
        frontier.append(mustField(BigInt(data["commitment"] as string)));
    }
    this.#push(block, "root", { root: hex(frontier.root()), leaf_count: leafCount });
    this.#blocks.push(block);
    this.#pump();
  }

  /** A block of foreign or hand-made leaves. */
  addLeaves(leaves: readonly Record<string, unknown>[]): void {
    const block = this.#newBlock();
    const first = this.leafCount;
    leaves.forEach((leaf, at) =>
      this.#push(block, "leaf", { source: "spend", tx_hash: toHex(word(1n)), index: first + at, ...leaf }),
    );
    this.#blocks.push(block);
    if (this.autoroot) this.root();
    else this.#pump();
  }

  addNullifier(nullifier: Field): void {
    const block = this.#newBlock();
    this.#push(block, "nullifier", { nullifier: hex(nullifier), tx_hash: toHex(word(2n)) });
    this.#blocks.push(block);
    this.#pump();
  }

  /** The last `depth` blocks vanish. Streams hear of it at once; old ids are known as orphans. */
  reorg(depth: number): void {
    const gone = this.#blocks.splice(Math.max(0, this.#blocks.length - depth));
    const ancestor = this.#blocks.at(-1)?.number ?? 0;
    for (const block of gone) for (const { id } of block.log) this.#orphans.set(id, ancestor);
    this.#fork += 1;
    for (const [response, cursor] of this.#streams) {
      if (cursor.sent !== undefined && this.#orphans.has(cursor.sent))
        this.#sendReorg(response, cursor, cursor.sent);
    }
  }

  /** Ends every stream as an expired session does. */
  expireStreams(): void {
    for (const response of [...this.#streams.keys()]) {
      response.write("event: session_expired\ndata: {}\n\n");
      response.end();
      this.#streams.delete(response);
    }
  }

  dropStreams(): void {
    for (const response of [...this.#streams.keys()]) response.destroy();
    this.#streams.clear();
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

  #newBlock(): Block {
    const number = (this.#blocks.at(-1)?.number ?? 0) + 1;
    return { number, hash: `${number.toString(16).padStart(6, "0")}f${this.#fork}`, log: [] };
  }
  #push(block: Block, kind: LogKind, data: Record<string, unknown>): void {
    const id = `${block.number}-${block.hash}-${block.log.length}-0`;
    block.log.push({ id, kind, data: { ...data, block_number: block.number } });
  }

  // ---------------------------------------------------------------- http

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
    const file = this.files.get(url.pathname);
    if (file !== undefined) return void response.writeHead(200, { "Content-Type": file.type }).end(file.body);
    const bearer = /^Bearer (.*)$/.exec(request.headers.authorization ?? "")?.[1];
    const token = bearer ?? url.searchParams.get("session") ?? undefined;
    if (request.headers["x-api-key"] === undefined) {
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
    } else if (request.headers["x-api-key"] !== API_KEY || token !== undefined) {
      problem(response, "INVALID_CREDENTIAL");
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
        this.#stream(url, request, response);
        return;
      default:
        problem(response, "NOT_FOUND");
        return;
    }
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
    const amountOut = this.venue(given - service - developer);
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
      limits: { body_bytes: 262_144, minimums: [] },
    };
  }

  async #attest(kind: Kind, untrusted: unknown): Promise<AttestResponse> {
    const statement = this.check(kind, untrusted);
    const { proof } = await this.#verify(kind, untrusted);
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

  async #verify(kind: Kind, untrusted: unknown) {
    const body = untrusted as { proof: unknown; public_signals: string[]; authorization: string };
    if (!this.verifiesProofs) return body;
    const key: unknown = JSON.parse(
      await readFile(
        new URL(`../../../shared/protocol/verification-keys/${kind}.json`, import.meta.url),
        "utf8",
      ),
    );
    if (!(await snarkjs.groth16.verify(key, body.public_signals, body.proof)))
      throw new Refused("PROOF_INVALID");
    return body;
  }

  async #accept(kind: Kind, untrusted: unknown): Promise<Ticket> {
    const statement = this.check(kind, untrusted);
    const body = await this.#verify(kind, untrusted);
    if (statement.ext.kind === "deposit-shield") {
      const signer = verifyTypedData(
        { name: "USD Coin", version: "2", chainId: CHAIN_ID, verifyingContract: USDC },
        { ReceiveWithAuthorization: AUTHORIZATION },
        {
          from: statement.ext.depositor,
          to: POOL,
          value: statement.facts.amount,
          validAfter: statement.ext.validAfter,
          validBefore: statement.ext.validBefore,
          nonce: statement.hash,
        },
        body.authorization,
      );
      if (signer.toLowerCase() !== statement.ext.depositor) throw new Refused("AUTHORIZATION_INVALID");
    }
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

  /** The proxy's cheap checks, as far as a client can break them. */
  check(kind: Kind, untrusted: unknown): Statement {
    const isPlain = kind === "deposit-shield" && !Object.hasOwn(untrusted as object, "authorization");
    const parsed = (isPlain ? ATTEST_BODIES : SEQUENCE_BODIES)[kind].safeParse(untrusted);
    if (!parsed.success) throw new Refused("INVALID_REQUEST");
    const { data } = parsed;
    const signals = data.public_signals.map((signal) => parseField(signal)!);
    const ext = encodeExt(readExt(kind, data.ext));
    const statement = checkStatement(this.home, kind, BigInt(data.deadline), signals, ext);
    if (typeof statement === "string")
      throw new Refused(statement === "CONTEXT_MISMATCH" ? statement : "INVALID_REQUEST");
    const sink = decodeShieldedAddress(this.serviceAddress, PREFIX)!;
    const opened = data.fees.reduce((sum, { value }) => sum + BigInt(value), 0n);
    const due =
      kind === "private-swap"
        ? feeOf({ flat: 0n, bps: SWAP_BPS }, statement.facts.amount + opened)
        : FLAT_FEE;
    const paid = data.fees.some(({ output, asset, blinding, value }) => {
      const made = commitmentOf(
        npkOf(sink.owner, mustField(BigInt(blinding))),
        asAddress(asset)!,
        BigInt(value),
      );
      return BigInt(value) >= due && made === statement.facts.commitments[output];
    });
    if (!paid) throw new Refused("FEE_MISSING");
    const roots = this.log.filter((entry) => entry.kind === "root").map(({ data: root }) => root["root"]);
    if (statement.facts.root !== undefined && !roots.includes(hex(statement.facts.root)))
      throw new Refused("ROOT_UNKNOWN");
    const spent = this.log
      .filter((entry) => entry.kind === "nullifier")
      .map(({ data: spend }) => spend["nullifier"]);
    if (statement.facts.nullifiers.some((nullifier) => spent.includes(hex(nullifier))))
      throw new Refused("NULLIFIER_SPENT");
    const waiting = new Set(this.#queue.flatMap((entry) => entry.statement.facts.nullifiers));
    if (statement.facts.nullifiers.some((nullifier) => waiting.has(nullifier)))
      throw new Refused("NULLIFIER_PENDING");
    return statement;
  }

  // ---------------------------------------------------------------- events

  #stream(url: URL, request: IncomingMessage, response: ServerResponse): void {
    const from =
      (request.headers["last-event-id"] as string | undefined) ?? url.searchParams.get("from") ?? undefined;
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write("retry: 10\n\n");
    const cursor = { sent: from };
    this.#streams.set(response, cursor);
    response.on("close", () => this.#streams.delete(response));
    const blockNumber = this.#blocks.at(-1)?.number ?? 0;
    send(response, "ready", {
      chain_id: CHAIN_ID,
      pool: POOL,
      block_number: blockNumber,
      leaf_count: this.leafCount,
    });
    for (const ticket of this.tickets.values()) {
      if (ticket.state === "queued" || ticket.state === "submitted") send(response, "ticket", ticket);
    }
    if (from !== undefined && this.#orphans.has(from)) this.#sendReorg(response, cursor, from);
    this.#pump();
    send(response, "synced", { block_number: blockNumber, leaf_count: this.leafCount });
  }

  #sendReorg(response: ServerResponse, cursor: { sent: string | undefined }, id: string): void {
    const ancestor = this.#orphans.get(id)!;
    const last = this.log.filter((entry) => Number(entry.data["block_number"]) <= ancestor).at(-1);
    send(response, "reorg", { from_id: last?.id ?? null });
    cursor.sent = last?.id;
  }

  #pump(): void {
    const { log } = this;
    for (const [response, cursor] of this.#streams) {
      const next = cursor.sent === undefined ? 0 : log.findIndex(({ id }) => id === cursor.sent) + 1;
      for (const { id, kind, data } of log.slice(next)) {
        send(response, kind, data, id);
        cursor.sent = id;
      }
    }
  }

  #changeTicket(ticketId: string, change: Partial<Ticket>): void {
    const { position: _gone, ...ticket } = this.tickets.get(ticketId)!;
    const changed: Ticket = { ...ticket, ...change, updated_at: new Date().toISOString() };
    this.tickets.set(ticketId, changed);
    for (const response of this.#streams.keys()) send(response, "ticket", changed);
  }
}

interface SentReceipt {
  readonly status: number;
  readonly logs: { readonly address: string; readonly topics: string[]; readonly data: string }[];
}

type Member = readonly [bigint, bigint, readonly bigint[], string, string, string, string];

const POOL_INTERFACE = new Interface(POOL_ABI);
const NO_ROOT_UPDATE = [0n, 0n, 0n, 0n, `0x${"00".repeat(32)}`, `0x${"00".repeat(32)}`, "0x"];

/** `untrusted` has passed its schema. */
function readExt(kind: Kind, untrusted: object): Ext {
  const ext = untrusted as Record<string, string> & { ciphertexts: string[] };
  const ciphertexts = ext.ciphertexts.map(mustFromHex);
  switch (kind) {
    case "deposit-shield":
      return {
        ...{ kind, ciphertexts, depositor: asAddress(ext["depositor"])! },
        ...{ validAfter: BigInt(ext["valid_after"]!), validBefore: BigInt(ext["valid_before"]!) },
      };
    case "spend":
    case "spend9":
      return { kind, ciphertexts, recipient: asAddress(ext["recipient"])! };
    case "private-swap": {
      const route = decodeUniswapPath(ext["path"]!);
      if (typeof route === "string") throw new Refused("INVALID_REQUEST");
      return {
        ...{ kind, ciphertexts, tokenOut: asAddress(ext["token_out"])!, path: route.path },
        ...{ minAmountOut: BigInt(ext["min_amount_out"]!), npkOut: BigInt(ext["npk_out"]!) },
      };
    }
  }
}

const txHashOf = ({ number }: Block): string => toHex(word(BigInt(number)));
const hexAddress = (asset: bigint): string => `0x${asset.toString(16).padStart(40, "0")}`;

const AUTHORIZATION = [
  { name: "from", type: "address" },
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" },
  { name: "validBefore", type: "uint256" },
  { name: "nonce", type: "bytes32" },
];

class Refused extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode) {
    super(code);
    this.code = code;
  }
}

export const hex = (value: bigint): string => toHex(word(value));

function send(response: ServerResponse, kind: EventKind, data: unknown, id?: string): void {
  const text = JSON.stringify(data);
  requireDocumented(kind, eventFault(kind, text));
  response.write(`event: ${kind}\n${id === undefined ? "" : `id: ${id}\n`}data: ${text}\n\n`);
}

/** A stand-in that answers as the service never does would prove nothing about the client. */
function requireDocumented(what: string, fault: string | undefined): void {
  if (fault !== undefined) throwUncaught(new Error(`the stand-in is not as documented: ${what}: ${fault}`));
}

function json(response: ServerResponse, status: number, body: unknown, isHonest = true): void {
  const { method = "", url = "" } = response.req;
  if (isHonest) requireDocumented(`${method} ${url}`, bodyFault(method, url, status, body));
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

function problem(response: ServerResponse, code: ErrorCode): void {
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
