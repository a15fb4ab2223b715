// Bad input, endpoint by endpoint: every row of the table is sent every way in which a request can be wrong.
// On an instance without swaps and bridges and on one with them. Each answer names its own reason and is in the
// document: the edge holds it against that.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { mintSessionToken } from "../../../proxy/base/auth/session-tokens.ts";
import { ENDPOINTS, type Endpoint } from "../../../shared/api/endpoints.ts";
import {
  goodRequest,
  KINDS,
  offCodeOf,
  ROWS,
  unexpected,
  unfinished,
  valueAt,
  type BadRequest,
  type GoodRequests,
} from "../../support/bad-requests.ts";
import { document } from "../../support/documented.ts";
import { placesIn, validValue } from "../../support/requests.ts";
import { dribble } from "../../support/slow-callers.ts";
import { CHAIN_ID, type Answer, type Edge } from "../../support/edge.ts";
import { startReadingEdge } from "./reading-edge.ts";

const holdsNothing = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const shapeOf = (path: string): Endpoint["body"] =>
  Object.values<Endpoint>(ENDPOINTS).find((endpoint) => endpoint.path === path)?.body;

/** Of the right form; whether it means anything is decided behind the border. */
const bodies = new Map(
  ROWS.filter(({ hasBody }) => hasBody).map(({ path }) => {
    const schema = document.paths[path]?.["post"]?.requestBody?.content["application/json"]?.schema;
    assert.ok(schema !== undefined, path);
    const drawn = fc.sample(validValue(schema), { seed: 7, numRuns: 400 }) as Record<string, unknown>[];
    // Of what the schema has no words for (sums, orders, each permission once) the service's own decides; of a kind that
    // no instance has switched off, with something in each list; and the leanest, since every place is tried in every way.
    const isRight = (body: unknown): boolean => shapeOf(path)?.safeParse(body).success === true;
    // What may be missing is left out: without it the request is no bad one.
    const lean = (body: Record<string, unknown>): Record<string, unknown> =>
      Object.keys(body).reduce((left, name) => {
        const { [name]: _one, ...rest } = left;
        return isRight(rest) ? rest : left;
      }, body);
    const [leanest] = drawn
      .filter((body) => body["kind"] !== "private-swap" && isRight(body))
      .map(lean)
      .filter((body) => placesIn(body).every((way) => !holdsNothing(valueAt(body, way))))
      .sort((one, other) => placesIn(one).length - placesIn(other).length);
    assert.ok(leanest !== undefined, path);
    return [path, leanest] as const;
  }),
);

for (const isOn of [false, true]) {
  const features = { swaps: isOn, bridges: isOn };
  describe(`bad input, endpoint by endpoint, swaps and bridges ${isOn ? "on" : "off"}`, function () {
    let edge: Edge;
    let good: GoodRequests;
    before(async () => {
      edge = await startReadingEdge({ features });
      const claims = {
        developerId: "test",
        sub: "u",
        epoch: 1,
        userEpoch: 0,
        perms: ["read", "write"] as const,
      };
      const exp = Math.floor(edge.now() / 1000) - 1;
      good = {
        ...features,
        apiKey: edge.key,
        sessions: {
          both: await edge.session(),
          reader: await edge.session({ perms: ["read"] }),
          writer: await edge.session({ perms: ["write"] }),
          expired: mintSessionToken(edge.keyRing, CHAIN_ID, { ...claims, exp }),
        },
        bodyOf: ({ path }) => bodies.get(path) ?? assert.fail(path),
      };
    });
    after(() => edge.stop());

    it("a ticket is named by its id or a statement hash, and by nothing else", async () => {
      const hash = `0x${"ab".repeat(32)}`;
      for (const [name, status] of [
        ["0198c0de-0000-7000-8000-000000000001", 503],
        [hash, 503],
        [hash.toUpperCase().replace("0X", "0x"), 400],
        [hash.slice(2), 400],
        [hash.slice(0, -1), 400],
        [`${hash}0`, 400],
        [`${hash}%00`, 400],
        ["1", 400],
      ] as const) {
        const answer = await edge.call("GET", `/sequence/ticket/${name}`);
        assert.equal(answer.status, status, name);
        if (status === 400) assert.equal(answer.body.errors[0].path, "ticket_id", name);
      }
    });

    const send = ({ method, path, headers, body }: BadRequest): Promise<Answer> =>
      edge.call(method, path, {
        credential: false,
        headers: { ...headers },
        ...(body === undefined ? {} : { raw: body }),
      });

    for (const [what, kind] of Object.entries(KINDS)) {
      it(`each endpoint: ${what}`, async () => {
        const requests = ROWS.flatMap((row) => kind(row, good));
        assert.ok(requests.length > 0);
        assert.deepEqual(await unexpected(requests, send), []);
      });
    }

    it("each endpoint that runs lets the same request in when nothing is wrong with it", async () => {
      for (const row of ROWS.filter((each) => offCodeOf(each, features) === undefined)) {
        const { status, body } = await send(goodRequest(row, good));
        // Behind the border there is no stage, and no app has the drawn id.
        const isIn = status < 300 || [...ENDS].some((code) => body.code === code);
        assert.ok(isIn, `${row.path}: ${String(status)} ${String(body.code)}`);
      }
    });

    it("a caller who leaves in the middle of a body, or says too little, is let go and harms nobody", async () => {
      for (const start of ["", "POST /relay HTTP/1.1\r\nHos", "POST /relay HTTP/1.1\r\nHost: x\r\n"]) {
        const socket = connect(edge.port, "127.0.0.1");
        await once(socket, "connect");
        socket.write(start);
        socket.destroy();
      }
      const socket = connect(edge.port, "127.0.0.1");
      socket.write(
        `POST /relay HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
      );
      await once(socket, "connect");
      socket.destroy();
      assert.equal((await edge.call("GET", "/whoami")).status, 200);
    });

    it("each endpoint: a request that never comes to its end is ended, and answered", async () => {
      const soon = { request: 600, headers: 300, look: 50, idle: 60_000, linger: 600 };
      const impatient = await startReadingEdge({ features, deadlines: soon });
      try {
        const theirs = { ...good, apiKey: impatient.key };
        const requests = ROWS.map((row) => unfinished(row, theirs));
        assert.deepEqual(
          await unexpected(requests, (request) => dribble(impatient.url, request), ROWS.length),
          [],
        );
        assert.doesNotMatch(impatient.log(), FAULT);
      } finally {
        await impatient.stop();
      }
    });

    it("and no fault of ours was behind any of it", () => {
      assert.doesNotMatch(edge.log(), FAULT);
    });
  });
}

const FAULT = /"level":(50|60|"error"|"fatal")/;
/** What a request that was let in receives here. */
const ENDS = new Set(["CHAIN_UNAVAILABLE", "APP_UNKNOWN"]);
