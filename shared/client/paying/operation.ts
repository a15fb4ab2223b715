/**
 * One call of a wallet's, from its beginning to its end: one clock for all that it waits for, one way to leave it, what
 * it tells while it works, and what may still happen when it ends early.
 */
import type { Ticket } from "../../api/transactions.ts";
import type { Bytes32 } from "../../protocol/brands.ts";
import { asBytes32 } from "../../protocol/host/text.ts";
import { ApiProblem, ClientError, type ClientErrorCode } from "../base/errors.ts";
import type { WaitOptions } from "../service/feed.ts";
import type { Progress, Step, StepEvent } from "./payment.ts";
import type { ProvingProgress } from "../prover/prover.ts";

/** How far a payment had come when its call ended. */
export interface Standing {
  /** False: nothing left this device, nothing can happen, and nothing is bound. */
  readonly sent: boolean;
  /** Of what was sent: until its deadline it may still happen, whether or not there is a ticket. */
  readonly statement: Bytes32 | undefined;
  /** As last received. */
  readonly ticket: Ticket | undefined;
  /** Of a plain deposit: what the depositor's account has sent. */
  readonly transactionHash: string | undefined;
}

/** The caller's signal ended the call; its reason is the `cause`. */
export class AbortError extends Error implements Standing {
  override readonly name = "AbortError";
  readonly code = "ABORTED";
  declare readonly sent: boolean;
  declare readonly statement: Bytes32 | undefined;
  declare readonly ticket: Ticket | undefined;
  declare readonly transactionHash: string | undefined;

  constructor(detail: string, standing: Standing, options: ErrorOptions) {
    super(`ABORTED: given up by the caller (${detail})`, options);
    Object.assign(this, standing);
  }
}

/** The call ended early, by its clock or by something that went wrong after it had sent. The `cause` says more. */
export class PaymentInterrupted extends ClientError implements Standing {
  declare readonly sent: boolean;
  declare readonly statement: Bytes32 | undefined;
  declare readonly ticket: Ticket | undefined;
  declare readonly transactionHash: string | undefined;

  constructor(code: ClientErrorCode, detail: string, standing: Standing, options?: ErrorOptions) {
    super(code, detail, options);
    Object.assign(this, standing);
  }
}

/** What ends the waits inside. No ClientError: nobody may take it for something that the service or storage said. */
class Interruption extends Error {
  readonly by: "caller" | "clock";
  constructor(by: Interruption["by"], cause?: unknown) {
    super(by, { cause });
    this.by = by;
  }
}

export class Operation {
  /** Ends everything that this call waits for. */
  readonly signal: AbortSignal;
  /** Of the statement that was sent, as last received. */
  ticket: Ticket | undefined;
  /** Of what the depositor's account has sent. */
  transactionHash: string | undefined;
  readonly #progress: Progress | undefined;
  #step: Step | undefined;
  #isOver = false;
  #statement: Bytes32 | undefined;

  private constructor(signal: AbortSignal, progress: Progress | undefined) {
    this.signal = signal;
    this.#progress = progress;
  }

  /** Throws AbortError, or TIMED_OUT as PaymentInterrupted. */
  static async run<T>(
    { signal, timeoutMs, progress }: WaitOptions & { readonly progress?: Progress },
    work: (operation: Operation) => Promise<T>,
  ): Promise<T> {
    const ending = new AbortController();
    const leave = (): void => ending.abort(new Interruption("caller", signal?.reason));
    const operation = new Operation(ending.signal, progress);
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => ending.abort(new Interruption("clock")), timeoutMs);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      if (signal?.aborted === true) leave();
      ending.signal.throwIfAborted();
      return await work(operation);
    } catch (error) {
      throw operation.#explained(error);
    } finally {
      operation.#isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
    }
  }

  /** One part of the call, told when it begins and when it has ended well. */
  async step<T>(step: Step, work: () => Promise<T>): Promise<T> {
    const outer = this.#step;
    this.#step = step;
    this.#tell({ step, state: "begin" });
    const began = performance.now();
    const result = await work();
    this.#tell({ step, state: "end", ms: Math.round(performance.now() - began) });
    this.#step = outer;
    return result;
  }

  /** For what a prover reports within the step `prove`: each other phase becomes a step inside of it. */
  provingProgress(): (at: ProvingProgress) => void {
    let inner: { readonly step: "download" | "load"; readonly began: number } | undefined;
    return ({ phase, fraction }) => {
      if (inner !== undefined && inner.step !== phase) {
        this.#tell({ step: inner.step, state: "end", ms: Math.round(performance.now() - inner.began) });
        inner = undefined;
      }
      if (inner === undefined && phase !== "prove") {
        inner = { step: phase, began: performance.now() };
        this.#tell({ step: phase, state: "begin" });
      }
      this.#tell({ step: phase, state: "working", fraction });
    };
  }

  /** For what a ledger tells within the step `sync`. */
  readonly reading = (fraction: number): void => this.#tell({ step: "sync", state: "working", fraction });

  /** From here on the statement may happen, whatever becomes of this call. */
  sent(statement: Bytes32): void {
    this.#statement = statement;
    this.ticket = undefined;
  }

  /** What was sent so far is no concern of the caller: a merge that has happened, or what did not leave after all. */
  forget(): void {
    this.#statement = undefined;
    this.ticket = undefined;
  }

  /** In a turn of its own: a caller's listener that throws must not end a payment under way. */
  #tell(event: StepEvent): void {
    const progress = this.#progress;
    if (progress !== undefined && !this.#isOver) queueMicrotask(() => progress(event));
  }

  #explained(error: unknown): unknown {
    const statement = this.#statement ?? asBytes32(this.ticket?.statement);
    const standing: Standing = {
      sent: statement !== undefined,
      statement,
      ticket: this.ticket,
      transactionHash: this.transactionHash,
    };
    const reason: unknown = this.signal.reason;
    // A prover or signer of the application's may say it in the platform's way.
    const isLeft = error === reason || (error as { name?: unknown } | null)?.name === "AbortError";
    if (reason instanceof Interruption && isLeft) {
      return reason.by === "caller"
        ? new AbortError(this.#inWords(), standing, { cause: reason.cause })
        : new PaymentInterrupted("TIMED_OUT", this.#inWords(), standing);
    }
    if (!standing.sent) return error;
    // A class of its own says more already.
    if (error instanceof ClientError && error.constructor === ClientError) {
      const [, detail] = / \((.*)\)$/s.exec(error.message) ?? [];
      const words = detail === undefined ? this.#inWords() : `${detail}; ${this.#inWords()}`;
      return new PaymentInterrupted(error.code, words, standing, { cause: error });
    }
    // Before there is a ticket, the service's no is an answer to the payment itself.
    return error instanceof ApiProblem && standing.ticket !== undefined
      ? new PaymentInterrupted("OUTCOME_UNKNOWN", this.#inWords(), standing, { cause: error })
      : error;
  }

  #inWords(): string {
    const where = this.#step === undefined ? "before it began" : `during ${this.#step}`;
    if (this.ticket !== undefined)
      return `${where}; sent, ticket ${this.ticket.ticket_id} is ${this.ticket.state}`;
    if (this.#statement !== undefined)
      return `${where}; sent, statement ${this.#statement} may happen until its deadline`;
    return `${where}; nothing was sent`;
  }
}
