/** A link whose questions are counted and timed for the operator. Passes everything on as it is. */
import type { EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import type { EnclaveOutcome, Metrics } from "../../base/observe/metrics.ts";
import type { EnclaveLink } from "./link.ts";

/** `place`: of the enclave in the configuration. */
export function timedLink(link: EnclaveLink, place: number, metrics: Pick<Metrics, "enclave">): EnclaveLink {
  return {
    async ask(request) {
      const startedAt = performance.now();
      const count = (outcome: EnclaveOutcome): void =>
        metrics.enclave(place, request.type, outcome, (performance.now() - startedAt) / 1000);
      try {
        const reply = await link.ask(request);
        count(outcomeOf(reply));
        return reply;
      } catch (error) {
        count("unreachable");
        throw error;
      }
    },
    close: () => link.close(),
  };
}

function outcomeOf(reply: EnclaveReply): EnclaveOutcome {
  if (reply.type !== "refused") return "answered";
  return reply.code === "BUSY" ? "busy" : "refused";
}
