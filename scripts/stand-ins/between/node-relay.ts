/**
 * Stands between a program and its node: passes questions on, and lies, falls silent or answers for an older block, where
 * it was told to or, in a mood, by chance. What it says of the past is true: a node may be behind or unreachable, it cannot
 * undo a block that somebody else can look up. Also the moment at which a program is killed: before the node receives a
 * question, or when it has answered and the program does not know.
 */
import { Agent, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import { keccak256 } from "ethers";
import { Hanging, listenBefore, Struck, textOf } from "./listening.ts";
import type { Mood } from "./mood.ts";
import { Trap, type Moment } from "./trap.ts";

export const RPC_FAULTS = [
  "lost-question",
  "lost-answer",
  "http-429",
  "http-500",
  "garbage",
  "no-result",
  "hang",
  "stale",
  "null-receipt",
  "forgets-transaction",
  "lacks-method",
  "nonce-too-low",
  "nonce-too-high",
  "already-known",
  "underpriced",
  /** Blocks are shown without what was said in them. */
  "omits-logs",
  /** The same logs, the last first. */
  "reorders-logs",
  /** States older than the newest are not there. */
  "prunes-states",
  /** The true answer, when others would ask again. */
  "late",
] as const;
export type RpcFault = (typeof RPC_FAULTS)[number];

export interface Arming {
  readonly fault: RpcFault;
  /** Any, when absent. */
  readonly method?: string;
  /** Questions that it strikes before it is over. */
  readonly times: number;
  /** Blocks that a stale node is behind. */
  readonly behind?: number;
}

/** The methods a fault can strike at all; any where nothing is said. */
const METHODS_OF: Readonly<Partial<Record<RpcFault, readonly string[]>>> = {
  stale: [
    "eth_getBlockByNumber",
    "eth_call",
    "eth_getTransactionCount",
    "eth_getBalance",
    "eth_simulateV1",
    "eth_getTransactionReceipt",
    "eth_getLogs",
  ],
  "null-receipt": ["eth_getTransactionReceipt"],
  "forgets-transaction": ["eth_getTransactionByHash"],
  "lacks-method": ["eth_simulateV1", "eth_maxPriorityFeePerGas"],
  "omits-logs": ["eth_getLogs"],
  "reorders-logs": ["eth_getLogs"],
  "prunes-states": ["eth_call"],
  "nonce-too-low": ["eth_sendRawTransaction"],
  "nonce-too-high": ["eth_sendRawTransaction"],
  "already-known": ["eth_sendRawTransaction"],
  underpriced: ["eth_sendRawTransaction"],
};

/** They strike, and count, where they change the answer: out of no logs nothing can be left. */
const BY_ANSWER: readonly RpcFault[] = ["omits-logs", "reorders-logs", "prunes-states"];

const WORDS: Readonly<Partial<Record<RpcFault, string>>> = {
  "nonce-too-low": "nonce too low: next nonce 7, tx nonce 6",
  "nonce-too-high": "nonce too high",
  "already-known": "already known",
  underpriced: "replacement transaction underpriced",
};

/** How vendors refuse what their nodes lack, by public reports, one after the other: codes of JSON-RPC, and of HTTP. */
const LACKING = [
  ...[{ code: -32_601 }, { code: -32_603 }, { http: 400 }, { code: -32_004 }, { code: -32_000 }],
  ...[{ http: 403 }, { code: -32_600 }, { code: -32_602 }],
] as const;

/** Longer than a block of the scenarios, shorter than a program's patience. */
const LATE_MS = 150;
/** A mood's stale node is so far behind, at most. */
const MOODY_BEHIND = 3;

interface Question {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface RpcRelay {
  readonly url: string;
  arm(arming: Arming): void;
  /** From now on it lies by chance, too; without a mood no more. Healing does not end it. */
  setMood(mood: Mood | undefined): void;
  /** Calls back once, at the next question of this method or the `nth` from now; neither it nor its answer is passed on. */
  trap(method: string | undefined, moment: Moment, act: () => void, nth?: number): void;
  /** Ends every fault; true when a trap was still set. */
  heal(): boolean;
  /** How often each struck since the last look. */
  takeStruck(): Map<RpcFault, number>;
  /** Bytes of the transactions that went through, by hash. */
  readonly sent: ReadonlyMap<string, string>;
  forget(): void;
  close(): Promise<void>;
}

export async function startRpcRelay(target: string): Promise<RpcRelay> {
  let armed: { readonly arming: Arming; left: number }[] = [];
  const trap = new Trap();
  const struck = new Struck<RpcFault>();
  const sent = new Map<string, string>();
  const hanging = new Hanging();
  const agent = new Agent({ keepAlive: true });

  let mood: Mood | undefined;
  const canStrike = (fault: RpcFault, method: string): boolean =>
    METHODS_OF[fault]?.includes(method) !== false;

  function faultFor(method: string) {
    const found = armed.find(
      ({ arming, left }) =>
        left > 0 &&
        (arming.method === undefined || arming.method === method) &&
        canStrike(arming.fault, method),
    );
    const arming = found?.arming ?? moodyArming(method);
    if (arming === undefined) return undefined;
    const strike = (): void => {
      if (found !== undefined) found.left -= 1;
      struck.count(arming.fault);
    };
    if (!BY_ANSWER.includes(arming.fault)) strike();
    return { arming, strike };
  }

  function moodyArming(method: string): Arming | undefined {
    const fault = mood?.draw(RPC_FAULTS.filter((one) => canStrike(one, method)));
    return fault && { fault, times: 1, behind: mood!.random.between(1, MOODY_BEHIND) };
  }

  let lacked = 0;
  function lack(answer: (text: string, status: number) => void, reply: (body: object) => void): void {
    const how = LACKING[lacked++ % LACKING.length]!;
    if ("code" in how) reply({ error: { code: how.code, message: "the method is not available" } });
    else answer("<h1>not on this plan</h1>", how.http);
  }

  /** With Node's own client: `fetch` takes more of the processor, and most of a lane's work is this. */
  function ask(question: Question): Promise<string> {
    const body = JSON.stringify({ jsonrpc: "2.0", ...question });
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      send(target, { method: "POST", agent, headers }, (response) => {
        textOf(response).then(resolve, reject);
      })
        .on("error", reject)
        .end(body);
    });
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const question = JSON.parse(await textOf(request)) as Question;
    const { id, method, params } = question;
    const answer = (text: string, status = 200): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(text);
    };
    const reply = (body: object): void => answer(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    const drop = (): void => void request.socket.destroy();

    if (trap.catches(method, "before")) {
      drop();
      return;
    }
    if (method === "eth_sendRawTransaction") {
      const raw = String(params[0]);
      sent.set(keccak256(raw), raw);
    }
    const { arming, strike } = faultFor(method) ?? {};
    switch (arming?.fault) {
      case "lost-question":
        drop();
        return;
      case "http-429":
        answer("too many requests", 429);
        return;
      case "http-500":
        answer("<h1>upstream</h1>", 500);
        return;
      case "garbage":
        answer(`{"jsonrpc":"2.0","id":${String(id)},"resu`);
        return;
      case "no-result":
        reply({});
        return;
      case "null-receipt":
      case "forgets-transaction":
        reply({ result: null });
        return;
      case "omits-logs":
      case "reorders-logs": {
        const told = JSON.parse(await ask(question)) as { result?: unknown[] };
        const isLeftOut = arming.fault === "omits-logs";
        const length = told.result?.length ?? 0;
        if (length > (isLeftOut ? 0 : 1)) strike?.();
        const result = isLeftOut ? [] : told.result?.reverse();
        answer(JSON.stringify({ ...told, ...(told.result && { result }) }));
        return;
      }
      case "prunes-states":
        if (params[1] === "latest") break;
        strike?.();
        reply({ error: { code: -32000, message: "missing trie node" } });
        return;
      case "late":
        await new Promise((resolve) => setTimeout(resolve, LATE_MS));
        break;
      case "lacks-method":
        lack(answer, reply);
        return;
      case "nonce-too-low":
      case "nonce-too-high":
      case "underpriced":
        // Not passed on: the node did not take it, whatever it says why.
        reply({ error: { code: -32000, message: WORDS[arming.fault] } });
        return;
      case "already-known":
        await ask(question);
        reply({ error: { code: -32000, message: WORDS[arming.fault] } });
        return;
      case "stale":
        answer(await staleAnswer(question, arming.behind ?? 1));
        return;
      case "hang":
        await hanging.hang();
        break;
      case "lost-answer":
        await ask(question);
        drop();
        return;
      case undefined:
    }
    const text = await ask(question);
    if (trap.catches(method, "after")) {
      drop();
      return;
    }
    answer(text);
  }

  /** What a node that is so many blocks behind would say. */
  async function staleAnswer(question: Question, behind: number): Promise<string> {
    const { id, method, params } = question;
    const head = JSON.parse(await ask({ id, method: "eth_blockNumber", params: [] })) as { result: string };
    const height = Math.max(0, Number(head.result) - behind);
    const tag = `0x${height.toString(16)}`;
    const nothing = JSON.stringify({ jsonrpc: "2.0", id, result: null });
    switch (method) {
      case "eth_getBlockByNumber":
        if (typeof params[0] === "string" && params[0] !== "latest" && Number(params[0]) > height)
          return nothing;
        break;
      case "eth_getTransactionReceipt": {
        const text = await ask(question);
        const { result } = JSON.parse(text) as { result: { blockNumber: string } | null };
        return result !== null && Number(result.blockNumber) > height ? nothing : text;
      }
      case "eth_getLogs": {
        const { blockHash } = (params[0] ?? {}) as { blockHash?: string };
        if (blockHash === undefined) break;
        const header = JSON.parse(
          await ask({ id, method: "eth_getBlockByHash", params: [blockHash, false] }),
        ) as { result: { number: string } | null };
        if (header.result !== null && Number(header.result.number) <= height) break;
        return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: "unknown block" } });
      }
    }
    return ask({ ...question, params: params.map((each) => (each === "latest" ? tag : each)) });
  }

  const listening = await listenBefore(agent, serve);
  return {
    url: listening.url,
    arm: (arming) => void armed.push({ arming, left: arming.times }),
    setMood: (its) => void (mood = its),
    trap: (method, moment, act, nth = 1) => trap.set(method, moment, act, nth),
    heal() {
      const wasSet = trap.clear();
      armed = [];
      hanging.letGo();
      return wasSet;
    },
    takeStruck: () => struck.take(),
    sent,
    forget: () => sent.clear(),
    close: listening.close,
  };
}
