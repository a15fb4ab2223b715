// Telling of an error must never be what ends the proxy, whatever a library has put into it.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createLogger } from "../../../../proxy/base/logging.ts";
import { altchainNode } from "../../../../shared/altchain/node.ts";

function logged(error: unknown): { readonly type: string; readonly message: string; readonly stack: string } {
  const lines: string[] = [];
  createLogger("info", { write: (line: string) => void lines.push(line) }).warn({ err: error }, "said");
  assert.equal(lines.length, 1);
  return (JSON.parse(lines[0]!) as { err: ReturnType<typeof logged> }).err;
}

describe("logging of errors", () => {
  it("says type, words, causes and where", () => {
    const { type, message, stack } = logged(new TypeError("outer", { cause: new Error("inner") }));
    assert.deepEqual([type, message], ["TypeError", "outer: inner"]);
    assert.match(stack, /caused by: Error: inner/);
  });

  it("survives one that is frozen, or holds what looks like one and is", () => {
    const held = Object.assign(new Error("held"), { context: Object.freeze({ message: "like an error" }) });
    for (const error of [Object.freeze(new Error("frozen")), held])
      assert.equal(logged(error).message, error.message);
  });

  it("survives what the other blockchain's library throws where a node answers with an HTTP status", async () => {
    for (const status of [429, 500]) {
      const server = createServer((_request, response) => response.writeHead(status).end("no"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      try {
        const node = altchainNode(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
        const error: unknown = await node
          .getSlot()
          .send()
          .catch((thrown: unknown) => thrown);
        assert.ok(error instanceof Error);
        assert.match(logged(error).message, new RegExp(String(status)));
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    }
  });
});

describe("logging to standard output", function () {
  /** A process that says so many lines and does this then. */
  function saying(lines: number, then: string, through = 'exec "$0" "$@"'): ChildProcess {
    const logging = new URL("../../../../proxy/base/logging.ts", import.meta.url).href;
    const program = `import { createLogger } from ${JSON.stringify(logging)};
      const logger = createLogger("info");
      for (let i = 0; i < ${String(lines)}; i++) logger.info({ i }, "said");
      ${then}`;
    const words = ["--import", "tsx", "--input-type=module", "--eval", program];
    return spawn("sh", ["-c", through, process.execPath, ...words], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
  }

  /** Numbers of the lines that it said until its end. */
  async function saidBy(child: ChildProcess): Promise<readonly number[]> {
    const chunks: Buffer[] = [];
    child.stdout!.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(child, "close");
    const lines = Buffer.concat(chunks).toString().trim().split("\n");
    return lines.map((line) => (JSON.parse(line) as { i: number }).i);
  }
  const countTo = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

  it("says one line by itself, though nothing follows it", async () => {
    const child = saying(1, "setInterval(() => undefined, 1000);");
    const [line] = (await once(child.stdout!, "data")) as [Buffer];
    child.kill("SIGKILL");
    assert.equal((JSON.parse(line.toString()) as { msg: string }).msg, "said");
  });

  const ways = {
    "a socket": undefined,
    "a pipe": '"$0" "$@" | cat',
    "a file": 'file=$(mktemp); "$0" "$@" >"$file"; cat "$file"; rm "$file"',
  };
  for (const [where, through] of Object.entries(ways))
    it(`loses nothing of what was said to ${where} before the process ended itself`, async () => {
      assert.deepEqual(await saidBy(saying(1000, "process.exit(1);", through)), countTo(1000));
    });

  it("is not held up by a reader who stands still, nor keeps more than its share for it", async () => {
    const all = 400_000;
    const child = saying(all, `process.send("all said"); process.once("message", () => process.exit(0));`);
    await once(child, "message");
    const said = saidBy(child);
    child.send("end");
    const taken = await said;
    assert.ok(taken.length < all, "some 35 MB were kept");
    assert.ok(taken.length > all / 10, `${String(taken.length)} lines were kept`);
    assert.deepEqual(taken.slice(0, all / 10), countTo(all / 10), "the oldest are kept, whole and in order");
    assert.equal(taken.at(-1), all - 1, "once the reader goes on, so do the lines");
  });

  it("ends, though its reader still stands still", async () => {
    const child = saying(50_000, "process.exit(0);");
    assert.deepEqual(await once(child, "exit"), [0, null]);
  });
});
