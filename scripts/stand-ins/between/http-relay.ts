/**
 * Stands between a program and a party that is asked over HTTP: passes questions on, falls silent, or lies as a stranger's
 * server may. Also the moment at which a program is killed, as between a program and its node.
 */
import { Agent, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import { Hanging, listenBefore, Struck, textOf } from "./listening.ts";
import type { Mood } from "./mood.ts";
import { Trap, type Moment } from "./trap.ts";

/** What any of them can do to any question. */
export const HTTP_FAULTS = [
  "lost-question",
  "lost-answer",
  "http-429",
  "http-500",
  "garbage",
  "hang",
] as const;
export type HttpFault = (typeof HTTP_FAULTS)[number];

export interface HttpRelay<Lie extends string, Question extends string> {
  readonly url: string;
  arm(fault: HttpFault | Lie, times: number): void;
  /** From now on it lies by chance, too; without a mood no more. Healing does not end it. */
  setMood(mood: Mood | undefined): void;
  /** Calls back once, at the next such question, or at any; neither it nor its answer is passed on. */
  trap(question: Question | undefined, moment: Moment, act: () => void): void;
  /** Ends every fault; true when a trap was still set. */
  heal(): boolean;
  takeStruck(): Map<HttpFault | Lie, number>;
  close(): Promise<void>;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface Party<Lie extends string, Question extends string> {
  readonly lies: readonly Lie[];
  /** The first words of an answer that is cut off. */
  readonly cut: string;
  questionOf(asked: Asked): Question;
  /** Undefined where it is no answer that this can be a lie about. */
  lied(lie: Lie, question: Question, answer: Answer): Answer | undefined;
}

export async function startHttpRelay<Lie extends string, Question extends string>(
  target: string,
  party: Party<Lie, Question>,
): Promise<HttpRelay<Lie, Question>> {
  type Fault = HttpFault | Lie;
  interface Entry {
    readonly fault: Fault;
    left: number;
  }
  let armed: Entry[] = [];
  const struck = new Struck<Fault>();
  let mood: Mood | undefined;
  const trap = new Trap();
  const hanging = new Hanging();
  const agent = new Agent({ keepAlive: false });
  const isLie = (fault: Fault): fault is Lie => party.lies.some((lie) => lie === fault);

  function take(entry: Entry): void {
    entry.left -= 1;
    struck.count(entry.fault);
  }

  function faultFor(moody: readonly Entry[]): HttpFault | undefined {
    const found = [...armed, ...moody].find(({ fault, left }) => left > 0 && !isLie(fault));
    if (found === undefined) return undefined;
    take(found);
    return found.fault as HttpFault;
  }

  /** One that is armed waits for an answer that it can be about. */
  function lieFor(question: Question, told: Answer, moody: readonly Entry[]): Answer {
    for (const entry of [...armed, ...moody]) {
      if (entry.left === 0 || !isLie(entry.fault)) continue;
      const lie = party.lied(entry.fault, question, told);
      if (lie === undefined) continue;
      take(entry);
      return lie;
    }
    return told;
  }

  function ask({ method, path, body }: Asked): Promise<Answer> {
    const headers = {
      "content-type": "application/json",
      ...(body === "" ? {} : { "content-length": Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      send(new URL(path, target), { method, agent, headers }, (response) => {
        textOf(response).then((text) => resolve({ status: response.statusCode ?? 500, text }), reject);
      })
        .on("error", reject)
        .end(body);
    });
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
    const asked = { method: request.method ?? "GET", path: request.url ?? "/", body };
    const question = party.questionOf(asked);
    const drop = (): void => void request.socket.destroy();
    const answer = ({ status, text }: Answer): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(text);
    };
    if (trap.catches(question, "before")) {
      drop();
      return;
    }
    const drawn = mood?.draw([...HTTP_FAULTS, ...party.lies]);
    const moody = drawn === undefined ? [] : [{ fault: drawn, left: 1 }];
    switch (faultFor(moody)) {
      case "lost-question":
        drop();
        return;
      case "http-429":
        answer({ status: 429, text: '{"code":429,"message":"Too many requests"}' });
        return;
      case "http-500":
        answer({ status: 500, text: "<h1>upstream</h1>" });
        return;
      case "garbage":
        answer({ status: 200, text: party.cut });
        return;
      case "hang":
        await hanging.hang();
        break;
      case "lost-answer":
        await ask(asked);
        drop();
        return;
      case undefined:
    }
    const told = await ask(asked);
    if (trap.catches(question, "after")) {
      drop();
      return;
    }
    answer(lieFor(question, told, moody));
  }

  const listening = await listenBefore(agent, serve);
  return {
    url: listening.url,
    arm: (fault, times) => void armed.push({ fault, left: times }),
    setMood: (its) => void (mood = its),
    trap: (question, moment, act) => trap.set(question, moment, act),
    heal() {
      armed = [];
      hanging.letGo();
      return trap.clear();
    },
    takeStruck: () => struck.take(),
    close: listening.close,
  };
}
