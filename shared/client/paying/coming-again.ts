/**
 * Proves suspended payments of this wallet again and has the service carry them, one after the other. Nothing moves by it, and
 * nothing is paid: what fails is tried again with the next look.
 */
import { decodeExt } from "../../protocol/statements.ts";
import { mustFromHex } from "../../protocol/bytes.ts";
import { ApiProblem } from "../base/errors.ts";
import { verifiedRoot } from "../history/scanner.ts";
import { confirmable, type Suspended } from "../state/suspended.ts";
import type { RootMark } from "../state/state.ts";
import { spendBody, swapBody } from "../statements/bodies.ts";
import { prepareAgain, type Prepared } from "../statements/statements.ts";
import type { Core } from "./core.ts";
import { Operation } from "./operation.ts";

/** The same statement on another root. */
export function provedAnew(
  { parts: { home, keys, ledger } }: Core,
  { record, makings, notes }: Suspended,
  { root, leafCount }: Pick<RootMark, "root" | "leafCount">,
  deadline: number,
): Prepared {
  const { kind, amount, openings, drawn } = makings;
  const ext = decodeExt(kind, mustFromHex(makings.ext))!;
  const { tree } = ledger.state;
  const inputs = notes.map((note) => ({ note, path: tree.path(note.leafIndex, leafCount) }));
  const plan = { home, keys, asset: record.asset, deadline, root, inputs };
  return prepareAgain(plan, { ext, amount, openings, drawn });
}

/** Nothing moves by it, so it may wait long for its turn. */
const DEADLINE_SECS = 10_800;
/** A service that cannot take it now must not hold up the payments behind it. */
const SEND_MS = 10_000;
/** After that, twice as long each time: the pool may take no attestation for a week, and each try costs a proof. */
const [REST_MS, LONGEST_REST_MS] = [15_000, 3_600_000];

export class ComingAgain {
  readonly #core: Core;
  #working: Promise<void> | undefined;
  #restsUntil = 0;
  #rest = REST_MS;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Never throws. A second call while one works is that one. */
  work(): Promise<void> {
    if (performance.now() < this.#restsUntil) return Promise.resolve();
    this.#working ??= this.#all()
      .catch(() => undefined)
      .finally(() => (this.#working = undefined));
    return this.#working;
  }

  async #all(): Promise<void> {
    const { ledger, now } = this.#core.parts;
    const tried = new Set<string>();
    for (;;) {
      const mark = verifiedRoot(ledger.state);
      const next = confirmable(ledger.state, mark?.leafCount ?? 0).find(
        ({ record: { statement, again } }) => !tried.has(statement) && (again?.deadline ?? 0) < now(),
      );
      if (mark === undefined || next === undefined) return;
      tried.add(next.record.statement);
      try {
        await Operation.run({}, (call) =>
          this.#core.inTurn(call.signal, () => this.#confirm(next, mark, call)),
        );
        this.#rest = REST_MS;
      } catch (error) {
        // What is refused for good is that payment's, and the next one is tried. Else nothing goes now.
        this.#restsUntil = performance.now() + this.#rest;
        if (error instanceof ApiProblem && !error.retryable) continue;
        this.#rest = Math.min(2 * this.#rest, LONGEST_REST_MS);
        return;
      }
    }
  }

  async #confirm(suspended: Suspended, mark: RootMark, call: Operation): Promise<void> {
    const { client, ledger } = this.#core.parts;
    const { record, makings } = suspended;
    await this.#core.checkService(call);
    const deadline = this.#core.deadline({ deadlineSecs: DEADLINE_SECS });
    const prepared = provedAnew(this.#core, suspended, mark, deadline);
    const proof = await this.#core.prove(prepared, call);
    const earlier = { deadline: record.deadline, root: String(makings.root) };
    // Before it leaves: another tab, or the next look, waits for what becomes of it.
    await ledger.keepPayment({ ...record, again: { statement: prepared.statement.hash, deadline } });
    const send = async (options: Operation): Promise<void> => {
      if (makings.kind === "private-swap") {
        await client.sequenceSwap({ ...swapBody(prepared, proof), earlier }, options);
        return;
      }
      const body = { ...spendBody(prepared, proof), earlier };
      if (makings.kind === "spend9") await client.sequenceSpend9(body, options);
      else await client.sequenceSpend(body, options);
    };
    try {
      await Operation.run({ signal: call.signal, timeoutMs: SEND_MS }, send);
    } catch (error) {
      await ledger.keepPayment({ ...record, again: undefined });
      throw error;
    }
  }
}
