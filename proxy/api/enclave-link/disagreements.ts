/**
 * Stops attestation when verifiers of two kinds give two verdicts: one of them is wrong, and nobody knows which. The
 * case is kept for whoever finds out, and an operator settles it; every proxy of the instance stops meanwhile.
 */
import type { Disagreement, DisagreementStore } from "../../base/store/disagreements.ts";
import type { Logger } from "../../base/logging.ts";

export interface Disagreements {
  /** Cases that are open, as this proxy last knew: while there is one, no enclave is asked. */
  open(): number;
  /** Stops at once, also where the store cannot keep the case. */
  report(found: Omit<Disagreement, "at" | "isOpen">): Promise<void>;
  /** Reads the store before anything is asked, then again and again. Throws StoreUnavailable. */
  start(): Promise<void>;
  stop(): void;
}

export interface DisagreementParts {
  readonly store: Pick<DisagreementStore, "keep" | "list">;
  readonly logger: Pick<Logger, "fatal" | "warn" | "info">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How often what other proxies found, and operators settled, is read. */
  readonly everyMs?: number;
}

export function createDisagreements({
  store,
  logger,
  now,
  everyMs = 2_000,
}: DisagreementParts): Disagreements {
  let known: ReadonlySet<string> = new Set();
  /** Not kept yet: the store could not be reached. */
  const unkept = new Map<string, Omit<Disagreement, "isOpen">>();
  let timer: NodeJS.Timeout | undefined;

  async function keep(found: Omit<Disagreement, "isOpen">): Promise<void> {
    unkept.set(found.id, found);
    await store.keep(found);
    unkept.delete(found.id);
  }

  async function refresh(): Promise<void> {
    for (const found of unkept.values()) await keep(found);
    const now = (await store.list()).filter(({ isOpen }) => isOpen).map(({ id }) => id);
    if (known.size > 0 && now.length === 0)
      logger.info({}, "the verifiers' disagreements are settled, and attestation goes on");
    known = new Set(now);
  }

  return {
    open: () => new Set([...known, ...unkept.keys()]).size,
    async report(found) {
      const { id, answers } = found;
      known = new Set([...known, id]);
      const said = answers.map(({ enclave, kind, refusal }) => ({
        enclave,
        kind,
        said: refusal ?? "signed",
      }));
      logger.fatal({ case: id, answers: said }, "the verifiers disagree, and nothing is attested any more");
      await keep({ ...found, at: now() }).catch((err: unknown) =>
        logger.fatal({ case: id, err }, "the case could not be kept yet"),
      );
    },
    async start() {
      await refresh();
      timer = setInterval(
        () =>
          void refresh().catch((err: unknown) =>
            logger.warn({ err }, "the verifiers' disagreements could not be read"),
          ),
        everyMs,
      );
    },
    stop: () => clearInterval(timer),
  };
}
