/**
 * A proxy that is told to stop (SIGTERM), as a process of its own with a real enclave, chain and proofs. Parties are
 * held still with SIGSTOP, so that "the answer is still out" is certain and not a matter of luck.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingHttpHeaders } from "node:http";
import { createConnection, type Socket } from "node:net";
import type { DepositBody, Ticket } from "../../shared/api/transactions.ts";
import { capture, capturing } from "../support/captured.ts";
import { assertDocumented } from "../support/documented.ts";
import { frozenProcesses } from "../support/frozen.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;
const DEPOSIT = "/sequence/deposit-shield";
/** Not by a signal, and not in vain. */
const WELL = "exit code 0";
/** A supervisor's usual 10 s, less what one slow answer may still take after the turn under way. */
const PATIENCE_MS = 8_000;

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly ticket: Ticket;
}
interface Posted {
  /** Rejects when the connection ends without an answer. */
  readonly answer: Promise<Answered>;
}
interface Caller {
  readonly socket: Socket;
  text(): string;
  /** Whether the connection was ended in order (true) or broken. */
  readonly ended: Promise<boolean>;
}

describe("a proxy that is told to stop", function () {
  let on: TestStack;
  const sockets: Socket[] = [];
  const { freeze, thaw } = frozenProcesses();

  before(async () => {
    on = await startTestStack();
  });
  after(async () => {
    thaw();
    await on.stop();
  });
  beforeEach(async () => {
    if (!(await isListening())) await on.local.restartProxy();
  });
  afterEach(async () => {
    thaw();
    for (const socket of sockets.splice(0)) socket.destroy();
    await on.setMining(true);
  });

  const tell = (): void => void process.kill(on.local.proxy().pid, "SIGTERM");
  const port = (): number => Number(new URL(on.entry.base_url).port);

  async function connect(): Promise<Caller> {
    const socket = createConnection(port(), "127.0.0.1");
    sockets.push(socket);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    let isBroken = false;
    socket.on("error", () => (isBroken = true));
    const ended = new Promise<boolean>((resolve) => socket.once("close", () => resolve(!isBroken)));
    await once(socket, "connect");
    return { socket, text: () => text, ended };
  }
  async function isListening(): Promise<boolean> {
    const socket = createConnection(port(), "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    return isOpen;
  }
  const refusing = (): Promise<true> =>
    until("no connection to be taken any more", async () => !(await isListening()));
  const get = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${on.stack.file.api_key}\r\n\r\n`;

  async function aDeposit(): Promise<DepositBody> {
    const wallet = await on.wallet({ through: capturing(on.client) });
    const depositor = await on.depositor(10n * UNIT);
    return capture<DepositBody>(wallet, () => wallet.deposit(10n * UNIT, depositor));
  }

  /** Resolves when the proxy has the request: it answered `Expect: 100-continue`. */
  async function post(body: DepositBody, headers: Record<string, string> = {}): Promise<Posted> {
    const sent = request(`${on.entry.base_url}${DEPOSIT}`, {
      method: "POST",
      agent: false,
      headers: {
        "X-API-Key": on.stack.file.api_key,
        "Content-Type": "application/json",
        Expect: "100-continue",
        ...headers,
      },
    });
    const answer = new Promise<Answered>((resolve, reject) => {
      sent.once("error", reject);
      sent.once("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.once("error", reject);
        response.once("end", () => {
          const bytes = Buffer.concat(chunks);
          const { statusCode: status = 0 } = response;
          const headers = new Headers();
          for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
          assertDocumented({ method: "POST", url: DEPOSIT, status, headers, body: bytes });
          resolve({ status, headers: response.headers, ticket: JSON.parse(bytes.toString()) as Ticket });
        });
      });
    });
    // Read by the test later; until then a broken connection is nobody's unhandled fault.
    answer.catch(() => undefined);
    sent.flushHeaders();
    await once(sent, "continue");
    sent.end(JSON.stringify(body));
    return { answer };
  }

  async function requireOnce({ ticket_id, statement }: Ticket): Promise<void> {
    await until("the ticket to become final", async () => {
      const { state } = await on.client.ticket(ticket_id);
      assert.ok(state !== "failed" && state !== "expired");
      return state === "finalized";
    });
    assert.equal((await on.executions(statement)).length, 1);
  }

  it("answers a proof that is at the enclave with its ticket, takes nothing new and ends well", async () => {
    const body = await aDeposit();
    const idle = await connect();
    idle.socket.write(get("/whoami"));
    await until("the answer", () => idle.text().endsWith("}"));
    freeze(on.local.enclave().pid);
    const { answer } = await post(body);
    const proxy = on.local.proxy();
    tell();
    await refusing();
    assert.equal(await idle.ended, true, "what is kept alive for later is let go in order");
    thaw();
    const { status, headers, ticket } = await answer;
    assert.deepEqual([status, headers.connection], [202, "close"]);
    assert.equal(headers.location, `/sequence/ticket/${ticket.ticket_id}`);
    assert.equal(await proxy.ended, WELL);
    await on.local.restartProxy();
    await requireOnce(ticket);
  });

  it("answers who waits with the ticket as it stands, and ends event streams in order", async () => {
    const body = await aDeposit();
    await on.setMining(false);
    const stream = await connect();
    stream.socket.write(get("/events/stream?types=ticket"));
    const { answer } = await post(body, { Prefer: "wait=30" });
    await until("the ticket to be told", () => stream.text().includes("event: ticket\n"));
    const proxy = on.local.proxy();
    tell();
    const { status, headers, ticket } = await answer;
    assert.deepEqual([status, headers["preference-applied"]], [202, "wait=30"]);
    assert.ok(["queued", "submitted"].includes(ticket.state), ticket.state);
    assert.equal(await stream.ended, true);
    assert.ok(stream.text().endsWith("\n\n"), "an event is whole or absent");
    assert.equal(await proxy.ended, WELL);
    await on.local.restartProxy();
    await on.setMining(true);
    await requireOnce(ticket);
  });

  it("does not wait for those who read nothing", async () => {
    for (const asked of [get("/openapi.json").repeat(100), get("/events/stream")]) {
      const { socket } = await connect();
      socket.pause();
      socket.write(asked);
    }
    // Their requests came before this one, and it is answered.
    const later = await connect();
    later.socket.write(get("/whoami"));
    await until("the answer", () => later.text().endsWith("}"));
    await on.local.proxy().stop();
    assert.equal(await on.local.proxy().ended, WELL);
  });

  it("does not wait for a silent enclave and a silent chain; who was at them posts again", async () => {
    const body = await aDeposit();
    freeze(on.local.enclave().pid);
    const { answer } = await post(body);
    freeze(on.local.chain.pid);
    await on.local.proxy().stop();
    assert.equal(await on.local.proxy().ended, WELL);
    await assert.rejects(answer);
    thaw();
    await on.local.restartProxy();
    await requireOnce((await (await post(body)).answer).ticket);
  });

  it("does not wait for the enclave's signature under a root either", async () => {
    const [first, second] = [await aDeposit(), await aDeposit()];
    await on.setMining(false);
    const sent = await (await post(first)).answer;
    const waiting = await (await post(second)).answer;
    await until(
      "the first to be sent",
      async () => (await on.client.ticket(sent.ticket.ticket_id)).state === "submitted",
    );
    freeze(on.local.enclave().pid);
    await on.mine();
    // The turn that sees it mined goes on to the second one, and asks for a root.
    await until(
      "the first to be mined",
      async () => (await on.client.ticket(sent.ticket.ticket_id)).state === "confirmed",
    );
    const proxy = on.local.proxy();
    tell();
    const supervisor = setTimeout(() => process.kill(proxy.pid, "SIGKILL"), PATIENCE_MS);
    assert.equal(await proxy.ended, WELL);
    clearTimeout(supervisor);
    thaw();
    await on.local.restartProxy();
    await on.setMining(true);
    await requireOnce(sent.ticket);
    await requireOnce(waiting.ticket);
  });

  it("ends at once when it is told a second time; what was under way can be posted again", async () => {
    const body = await aDeposit();
    freeze(on.local.enclave().pid);
    const { answer } = await post(body);
    const proxy = on.local.proxy();
    tell();
    await refusing();
    tell();
    assert.equal(await proxy.ended, "exit code 1");
    await assert.rejects(answer);
    thaw();
    await on.local.restartProxy();
    await requireOnce((await (await post(body)).answer).ticket);
  });
});
