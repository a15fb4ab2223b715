import assert from "node:assert/strict";
import { EnclaveUnreachable, type EnclaveLink } from "../../../../../proxy/api/enclave-link/link.ts";
import { timedLink } from "../../../../../proxy/api/enclave-link/timed-link.ts";
import { createMetrics } from "../../../../../proxy/base/observe/metrics.ts";
import type { EnclaveReply } from "../../../../../shared/protocol/enclave-messages.ts";
import { readExposition } from "../../../../support/exposition.ts";

describe("enclave-link/timed-link", () => {
  it("passes questions, replies and faults on as they are, and counts each by how it went", async () => {
    const away = new EnclaveUnreachable("gone");
    const replies: (EnclaveReply | EnclaveUnreachable)[] = [
      { type: "attestation", document: new Uint8Array([7]) },
      { type: "refused", code: "BUSY" },
      { type: "refused", code: "WRONG_PHASE" },
      away,
    ];
    const asked: unknown[] = [];
    let closed = 0;
    const link: EnclaveLink = {
      ask: (request) => {
        asked.push(request);
        const reply = replies[asked.length - 1]!;
        return reply instanceof EnclaveUnreachable ? Promise.reject(reply) : Promise.resolve(reply);
      },
      close: () => void (closed += 1),
    };
    const metrics = createMetrics();
    const timed = timedLink(link, 1, metrics);
    const request = { type: "attestation", nonce: new Uint8Array(16) } as const;
    for (const reply of replies.slice(0, 3)) assert.equal(await timed.ask(request), reply);
    await assert.rejects(timed.ask(request), (error) => error === away);
    assert.ok(asked.length === 4 && asked.every((one) => one === request));
    timed.close();
    assert.equal(closed, 1);

    const { value } = readExposition(await metrics.text());
    const labels = { enclave: "1", request: "attestation" };
    for (const outcome of ["answered", "busy", "refused", "unreachable"])
      assert.equal(value("cloister_enclave_requests_total", { ...labels, outcome }), 1, outcome);
    assert.equal(value("cloister_enclave_seconds_count", labels), 4);
  });
});
