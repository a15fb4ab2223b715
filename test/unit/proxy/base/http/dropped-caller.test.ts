// A caller whose connection ends within the body: nobody's fault, so nothing that wakes an operator.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection } from "node:net";
import { startEdge, type Edge } from "../../../../support/edge.ts";
import { until } from "../../../../support/until.ts";

describe("base/http: a caller that drops within the body", () => {
  let edge: Edge;
  beforeEach(async () => {
    edge = await startEdge();
  });
  afterEach(() => edge.stop());

  interface Line {
    readonly level: string;
    readonly msg?: string;
  }
  const log = (): Line[] =>
    edge
      .log()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);

  for (const how of ["end", "resetAndDestroy"] as const) {
    it(`is told at debug level, without a stack (${how})`, async () => {
      const socket = createConnection(edge.port, "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      socket.write(
        `POST /session HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\nExpect: 100-continue\r\n` +
          'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"sub":',
      );
      // 100 Continue: the request is under way.
      await once(socket, "data");
      socket[how]();
      await until("the end of the request", () => log().some(({ msg }) => msg === "request"));
      const told = log().filter(({ msg }) => msg !== "request");
      assert.ok(
        told.every((line) => line.level === "debug" && !("err" in line)),
        JSON.stringify(told),
      );
    });
  }
});
