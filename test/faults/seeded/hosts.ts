/**
 * Proxies as processes that can be killed, held still, and started again on the same data. A loaded process waits in
 * reserve, so that a restart takes as long as the proxy's own start and not as long as the loading.
 */
import { fork, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { childEnvironment } from "../../../scripts/base/service.ts";
import type { Order, Report } from "./host.ts";
import type { Program } from "./program.ts";

/** Which of the two programs a host has loaded, and what it logs when it is up. */
const UP = { main: '"msg":"listening"', relay: '"msg":"relaying"' } as const;
type Which = keyof typeof UP;

/** A process that runs one proxy, or one relay, after the other. */
class Host {
  readonly #child: ChildProcess;
  readonly loaded: Promise<void>;
  readonly gone: Promise<void>;
  isGone = false;
  /** It takes a moment to be gone, and what it had said before is read meanwhile. */
  isKilled = false;
  #onLine: (line: string) => void = () => undefined;
  #onEnd: () => void = () => undefined;

  constructor(program: Program, which: Which) {
    const child = fork(program.host, [program[which]], {
      execArgv: [],
      env: childEnvironment(),
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on("line", (line) => this.#onLine(line));
    this.gone = new Promise((resolve) => {
      child.once("exit", () => {
        this.isGone = true;
        this.#onEnd();
        resolve();
      });
    });
    this.loaded = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("a proxy's program did not load")), PATIENCE_MS);
      child.on("message", (report: Report) => {
        if (report.is === "loaded") {
          clearTimeout(timer);
          resolve();
        } else this.#onEnd();
      });
    });
    this.loaded.catch(() => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  tell(order: Order): void {
    if (!this.isGone && this.#child.connected) this.#child.send(order, () => undefined);
  }

  hear(onLine: (line: string) => void, onEnd: () => void): void {
    this.#onLine = onLine;
    this.#onEnd = onEnd;
  }

  signal(name: NodeJS.Signals): void {
    if (name === "SIGKILL") this.isKilled = true;
    this.#child.kill(name);
  }
}

/** Loaded processes, one more than are in use. */
export class Reserve {
  readonly #idle: Host[] = [];
  #isClosed = false;
  readonly #all = new Set<Host>();
  readonly #program: Program;
  readonly which: Which;

  constructor(program: Program, which: Which = "main") {
    this.#program = program;
    this.which = which;
    this.#refill();
  }

  #refill(): void {
    if (this.#isClosed) return;
    const host = new Host(this.#program, this.which);
    this.#all.add(host);
    this.#idle.push(host);
    void host.gone.then(() => {
      this.#all.delete(host);
      const at = this.#idle.indexOf(host);
      if (at >= 0) this.#idle.splice(at, 1);
    });
  }

  async take(): Promise<Host> {
    for (;;) {
      const host = this.#idle.shift();
      if (this.#idle.length === 0) this.#refill();
      if (host === undefined || host.isGone) continue;
      await host.loaded;
      return host;
    }
  }

  /** Hosts that are neither gone nor given back. */
  get lent(): number {
    return this.#all.size - this.#idle.length;
  }

  giveBack(host: Host): void {
    if (!host.isGone) this.#idle.unshift(host);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#all];
    for (const host of all) host.signal("SIGKILL");
    await Promise.all(all.map(({ gone }) => gone));
  }
}

let runs = 0;

/** The place of one proxy, or one relay: its settings, and whatever process runs it now. */
export class Place {
  readonly #reserve: Reserve;
  readonly #environment: Readonly<Record<string, string>>;
  readonly log: string[] = [];
  #host: Host | undefined;
  #port = 0;
  #aheadMs = 0;
  #starting: Promise<void> = Promise.resolve();
  #isClosing = false;
  #isFrozen = false;
  #isStarting = false;
  kills = 0;
  /** Waits this long before it starts a killed one again. */
  pauseMs = 0;
  /** After a kill, before the restart: what the passing of time does to a lease whose holder is dead. */
  onKilled: () => Promise<void> = () => Promise.resolve();

  constructor(reserve: Reserve, environment: Readonly<Record<string, string>>) {
    this.#reserve = reserve;
    this.#environment = environment;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${String(this.#port)}`;
  }
  get isUp(): boolean {
    return this.#host?.isGone === false && this.#port !== 0 && !this.#isFrozen;
  }

  start(): Promise<void> {
    this.#starting = this.#startUntilUp();
    return this.#starting;
  }

  /** Resolves when it serves, also when it was killed meanwhile. */
  async serving(): Promise<void> {
    for (;;) {
      await this.#starting;
      if (this.#host?.isGone === false && this.#port !== 0) return;
      // Of those that were killed, who waits to start them again knows.
      if (this.#host?.isGone === true && !this.#isStarting)
        throw new Error(`a proxy ended by itself:\n${this.log.slice(-15).join("\n")}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** A proxy whose node is unreachable at its start ends, and its supervisor starts it again. */
  async #startUntilUp(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    this.#isStarting = true;
    try {
      while (!this.#isClosing) {
        const host = await this.#reserve.take();
        if (await this.#startOn(host)) return;
        await host.gone;
        await this.onKilled();
        this.log.push("-- the start failed, again");
        if (performance.now() > deadline)
          throw new Error(`a proxy did not start:\n${this.log.slice(-15).join("\n")}`);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  #startOn(host: Host): Promise<boolean> {
    this.#host = host;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        host.signal("SIGKILL");
        resolve(false);
      }, PATIENCE_MS);
      const settle = (isUp: boolean): void => {
        clearTimeout(timer);
        resolve(isUp);
      };
      host.hear(
        (line) => {
          this.log.push(line);
          if (host.isKilled || !line.includes(UP[this.#reserve.which])) return;
          // A relay listens for nobody.
          this.#port = (JSON.parse(line) as { port?: number }).port ?? -1;
          settle(true);
        },
        () => {
          this.#port = 0;
          settle(false);
        },
      );
      host.tell({ do: "clock", aheadMs: this.#aheadMs });
      host.tell({ do: "run", number: ++runs, environment: this.#environment });
    });
  }

  /** SIGKILL, at once; it is started again on the same data. */
  kill(): void {
    const host = this.#host;
    if (host === undefined || host.isGone || this.#isClosing) return;
    this.kills += 1;
    this.log.push("-- killed");
    this.#port = 0;
    this.#isFrozen = false;
    host.signal("SIGKILL");
    // One that is killed in its start is started again by who waits for it.
    if (this.#isStarting) return;
    // It takes a moment to be gone: killed again meanwhile, it would be started twice, and one of them never stopped.
    this.#host = undefined;
    this.#starting = host.gone
      .then(() => this.onKilled())
      .then(() => new Promise((resolve) => setTimeout(resolve, this.pauseMs)))
      .then(() => this.#startUntilUp());
    this.#starting.catch(() => undefined);
  }

  freeze(): void {
    if (this.#host === undefined || this.#host.isGone) return;
    this.log.push("-- held still");
    this.#isFrozen = true;
    this.#host.signal("SIGSTOP");
  }
  thaw(): void {
    if (!this.#isFrozen) return;
    this.log.push("-- let go");
    this.#isFrozen = false;
    this.#host?.signal("SIGCONT");
  }

  setClock(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    this.#host?.tell({ do: "clock", aheadMs });
  }

  /** An orderly stop; the process goes back to the reserve. True when it went as it should. */
  async stop(): Promise<boolean> {
    this.thaw();
    await this.#starting.catch(() => undefined);
    this.#isClosing = true;
    const host = this.#host;
    if (host === undefined || host.isGone) return true;
    const hasStopped = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), PATIENCE_MS);
      host.hear(
        (line) => this.log.push(line),
        () => {
          clearTimeout(timer);
          resolve(true);
        },
      );
      host.tell({ do: "stop" });
    });
    host.tell({ do: "clock", aheadMs: 0 });
    if (hasStopped) this.#reserve.giveBack(host);
    else {
      host.signal("SIGKILL");
      await host.gone;
    }
    return hasStopped;
  }
}
