/**
 * Stands between one proxy and the attester: passes questions on, falls silent, or lies as a stranger's server may. Also the
 * moment at which a proxy is killed, as between a proxy and its node.
 */
import { Agent, createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mustFromHex, toHex } from "../../../../shared/protocol/bytes.ts";
import { encodeBurn, encodeMessage, parseBurn, parseMessage } from "../../../../shared/protocol/host/cctp.ts";
import { Trap, type Moment } from "../trap.ts";

export const ATTESTER_FAULTS = [
  "attester-lost-question",
  "attester-lost-answer",
  "attester-http-429",
  "attester-http-500",
  "attester-garbage",
  "attester-hang",
  "attester-unknown",
  "attester-pending",
  "attester-forged-signature",
  "attester-other-amount",
] as const;
export type AttesterFault = (typeof ATTESTER_FAULTS)[number];

export const ATTESTER_QUESTIONS = ["messages", "fees", "reattest"] as const;
export type AttesterQuestion = (typeof ATTESTER_QUESTIONS)[number];

/** Those that need a message to lie about. */
export const FAULTS_OF_MESSAGES = [
  "attester-unknown",
  "attester-pending",
  "attester-forged-signature",
  "attester-other-amount",
] as const satisfies readonly AttesterFault[];
const OF_MESSAGES: readonly AttesterFault[] = FAULTS_OF_MESSAGES;
/** As between a proxy and its node. */
const HANG_MS = 600;

export interface AttesterRelay {
  readonly url: string;
  arm(fault: AttesterFault, times: number): void;
  /** Calls back once, at the next such question, or at any; neither it nor its answer is passed on. */
  trap(question: AttesterQuestion | undefined, moment: Moment, act: () => void): void;
  /** Ends every fault; true when a trap was still set. */
  heal(): boolean;
  takeStruck(): Map<AttesterFault, number>;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

export async function startAttesterRelay(target: string): Promise<AttesterRelay> {
  let armed: { readonly fault: AttesterFault; left: number }[] = [];
  let struck = new Map<AttesterFault, number>();
  const trap = new Trap();
  const hanging = new Set<() => void>();
  const agent = new Agent({ keepAlive: false });

  const strike = (fault: AttesterFault): void => void struck.set(fault, (struck.get(fault) ?? 0) + 1);

  /** One that lies about a message waits for an answer that has one. */
  function faultFor(of: (fault: AttesterFault) => boolean): AttesterFault | undefined {
    const found = armed.find(({ fault, left }) => left > 0 && of(fault));
    if (found === undefined) return undefined;
    found.left -= 1;
    strike(found.fault);
    return found.fault;
  }

  function ask(method: string, path: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      send(new URL(path, target), { method, agent }, (response) => {
        textOf(response).then((text) => resolve({ status: response.statusCode ?? 500, text }), reject);
      })
        .on("error", reject)
        .end();
    });
  }

  function hang(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        hanging.delete(end);
        resolve();
      };
      const timer = setTimeout(end, HANG_MS);
      hanging.add(end);
    });
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const question = questionOf(path);
    const drop = (): void => {
      request.socket.destroy();
    };
    const answer = ({ status, text }: Answer): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(text);
    };
    if (trap.catches(question, "before")) {
      drop();
      return;
    }
    switch (faultFor((fault) => !OF_MESSAGES.includes(fault))) {
      case "attester-lost-question":
        drop();
        return;
      case "attester-http-429":
        answer({ status: 429, text: '{"code":429,"message":"Too many requests"}' });
        return;
      case "attester-http-500":
        answer({ status: 500, text: "<h1>upstream</h1>" });
        return;
      case "attester-garbage":
        answer({ status: 200, text: '{"messages":[{"message":"0x' });
        return;
      case "attester-hang":
        await hang();
        break;
      case "attester-lost-answer":
        await ask(request.method ?? "GET", path);
        drop();
        return;
      case "attester-unknown":
      case "attester-pending":
      case "attester-forged-signature":
      case "attester-other-amount":
      case undefined:
    }
    const told = await ask(request.method ?? "GET", path);
    if (trap.catches(question, "after")) {
      drop();
      return;
    }
    const isOfMessage = question === "messages" && told.status === 200 && told.text.includes('"complete"');
    const lie = isOfMessage ? faultFor((fault) => OF_MESSAGES.includes(fault)) : undefined;
    answer(lie === undefined ? told : lied(lie, told));
  }

  const server = createServer((request, response) => {
    void serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    arm: (fault, times) => void armed.push({ fault, left: times }),
    trap: (question, moment, act) => trap.set(question, moment, act),
    heal() {
      armed = [];
      for (const end of hanging) end();
      return trap.clear();
    },
    takeStruck() {
      const taken = struck;
      struck = new Map();
      return taken;
    },
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function questionOf(path: string): AttesterQuestion {
  if (path.startsWith("/v2/messages/")) return "messages";
  return path.startsWith("/v2/reattest/") ? "reattest" : "fees";
}

interface Shown {
  readonly messages: readonly { readonly message: string; readonly attestation: string }[];
}

function lied(fault: AttesterFault, { status, text }: Answer): Answer {
  if (fault === "attester-unknown")
    return { status: 404, text: '{"code":404,"message":"Message not found"}' };
  const { messages } = JSON.parse(text) as Shown;
  const changed = messages.map((one) => {
    if (fault === "attester-pending")
      return { ...one, message: "0x", attestation: "PENDING", status: "pending_confirmations" };
    if (fault === "attester-forged-signature") return { ...one, attestation: flipped(one.attestation) };
    return { ...one, message: withMore(one.message) };
  });
  return { status, text: JSON.stringify({ messages: changed }) };
}

/** Still signatures by their form. */
function flipped(attestation: string): string {
  const bytes = mustFromHex(attestation);
  bytes[20]! ^= 1;
  return toHex(bytes);
}

/** As if ten times as much had been burned. */
function withMore(text: string): string {
  const message = parseMessage(mustFromHex(text));
  const burn = message && parseBurn(message.body);
  if (burn === undefined) return text;
  return toHex(encodeMessage({ ...message!, body: encodeBurn({ ...burn, amount: burn.amount * 10n }) }));
}

function textOf(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    message
      .setEncoding("utf8")
      .on("data", (chunk: string) => (text += chunk))
      .on("end", () => resolve(text))
      .on("error", reject);
  });
}
