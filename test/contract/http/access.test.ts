// Every endpoint with every kind of credential: who is let in is what the table says, and nothing else.
import assert from "node:assert/strict";
import { ENDPOINTS, type Access, type Endpoint } from "../../../shared/api/endpoints.ts";
import type { CallOptions, Edge } from "../../support/edge.ts";
import { startReadingEdge } from "./reading-edge.ts";

type Caller = "nobody" | "key" | "reader" | "writer" | "both";

/** The code that the caller's credential earns; undefined: it is let in, whatever the endpoint then says. */
const EARNS: Readonly<Record<Access, Readonly<Record<Caller, string | undefined>>>> = {
  none: {
    nobody: undefined,
    key: "INVALID_REQUEST",
    reader: "INVALID_REQUEST",
    writer: "INVALID_REQUEST",
    both: "INVALID_REQUEST",
  },
  "api-key": {
    nobody: "MISSING_CREDENTIAL",
    key: undefined,
    reader: "FORBIDDEN",
    writer: "FORBIDDEN",
    both: "FORBIDDEN",
  },
  read: {
    nobody: "MISSING_CREDENTIAL",
    key: undefined,
    reader: undefined,
    writer: "FORBIDDEN",
    both: undefined,
  },
  write: {
    nobody: "MISSING_CREDENTIAL",
    key: undefined,
    reader: "FORBIDDEN",
    writer: undefined,
    both: undefined,
  },
};

describe("access, by the table", () => {
  let edge: Edge;
  let credentials: Record<Caller, CallOptions>;
  before(async () => {
    edge = await startReadingEdge({ features: { swaps: true, bridges: true } });
    credentials = {
      nobody: { credential: false },
      key: {},
      reader: { session: await edge.session({ perms: ["read"] }) },
      writer: { session: await edge.session({ perms: ["write"] }) },
      both: { session: await edge.session() },
    };
  });
  after(() => edge.stop());

  for (const [name, { method, path, access }] of Object.entries<Endpoint>(ENDPOINTS)) {
    it(`${name}: ${method} ${path} is for ${access}`, async () => {
      const at = path.replace(/\{[a-z_]+\}/, "0190a0a0-0000-7000-8000-000000000000");
      // Well formed for the one endpoint that is open, so that its refusals are not the body's.
      const json = access === "none" ? { app_id: "app_none", access_token: "x" } : {};
      for (const [caller, wanted] of Object.entries(EARNS[access]) as [Caller, string | undefined][]) {
        const options = method === "POST" ? { ...credentials[caller], json } : credentials[caller];
        const { status, body } = await edge.call(method, at, options);
        if (wanted !== undefined) {
          assert.equal(body.code, wanted, caller);
          continue;
        }
        assert.ok(![401, 403].includes(status), `${caller}: ${String(status)} ${String(body.code)}`);
        if (access === "none") assert.equal(body.code, "APP_UNKNOWN");
      }
    });
  }
});
