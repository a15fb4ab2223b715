// Twenty thousand requests drawn from the OpenAPI document at the real app: no fault of ours, and no answer
// that is not documented. Always the same ones, so that a change alone can turn this red;
// `npm run fuzz:http -- --seed N --runs N` draws others. The money path's routes read and refuse as they do in
// the service; behind them stand-ins answer.
import assert from "node:assert/strict";
import fc from "fast-check";
import { anyRequest, type FuzzedRequest } from "../../support/requests.ts";
import type { Answer, Edge } from "../../support/edge.ts";
import { startReadingEdge } from "./reading-edge.ts";

const seed = Number(process.env["CLOISTER_FUZZ_SEED"] ?? 5);
const runs = Number(process.env["CLOISTER_FUZZ_RUNS"] ?? 20_000);
/** Sent at once, which is also how they find each other's half-done work. */
const TOGETHER = 20;

for (const swaps of [false, true]) {
  describe(`requests drawn from the document, swaps and bridges ${swaps ? "on" : "off"} (seed ${String(seed)})`, function () {
    this.timeout(600_000);
    let edge: Edge;
    const sessions = { reader: "", writer: "" };
    /** How often each status was heard, so that a fuzz that only ever meets one refusal is noticed. */
    const heard = new Map<string, number>();

    before(async () => {
      edge = await startReadingEdge({ features: { swaps, bridges: swaps } });
      sessions.reader = await edge.session({ perms: ["read"], ttl_secs: 3600 });
      sessions.writer = await edge.session({ perms: ["write"], ttl_secs: 3600 });
    });
    after(() => edge.stop());

    async function send({ method, path, caller, headers, body }: FuzzedRequest): Promise<Answer> {
      const credentials =
        caller === "reader" || caller === "writer"
          ? { session: sessions[caller] }
          : caller === "key"
            ? {}
            : { credential: false as const };
      const stranger = caller === "stranger" ? { Authorization: "Bearer sst_x.y.z" } : {};
      const hasBody = body !== undefined && method !== "GET" && method !== "HEAD";
      return edge.call(method, path, {
        ...credentials,
        headers: { ...headers, ...stranger },
        ...(hasBody ? { raw: body } : {}),
      });
    }

    it(`${String(runs / 2)} times: each answer is documented and none is a 500`, async () => {
      const property = fc.asyncProperty(
        fc.array(anyRequest, { minLength: TOGETHER, maxLength: TOGETHER }),
        async (requests) => {
          const answers = await Promise.all(requests.map(send));
          for (const [index, { status, body }] of answers.entries()) {
            const { operation = "" } = requests[index] ?? {};
            assert.notEqual(status, 500, operation);
            const said = (body as { code?: string }).code ?? String(status);
            heard.set(said, (heard.get(said) ?? 0) + 1);
          }
        },
      );
      await fc.assert(property, { seed, numRuns: Math.ceil(runs / 2 / TOGETHER), endOnFailure: true });
    });

    it("got past the border, and was refused there in every way", () => {
      const expected = ["INVALID_REQUEST", "FORBIDDEN", "MISSING_CREDENTIAL", "INVALID_CREDENTIAL"];
      const others = ["METHOD_NOT_ALLOWED", "UNSUPPORTED_MEDIA_TYPE", "CHAIN_UNAVAILABLE", "APP_UNKNOWN"];
      const said = Object.fromEntries(heard);
      for (const code of [...expected, ...others, "200", "201", "204"]) {
        assert.ok((heard.get(code) ?? 0) >= runs / 2_000, `${code}: ${JSON.stringify(said)}`);
      }
      for (const code of ["SWAPS_DISABLED", "FEATURE_DISABLED"]) assert.equal(heard.has(code), !swaps, code);
    });

    it("left nothing but the log, and no fault in that", () => {
      const faults = edge
        .log()
        .split("\n")
        .filter((line) => /"level":(50|60|"error"|"fatal")/.test(line));
      assert.deepEqual(faults.slice(0, 3), []);
    });
  });
}
