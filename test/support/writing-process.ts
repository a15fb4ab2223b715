/** A program beside the proxy that writes without end, several steps at once, until somebody kills it. */
import { SocketEngine } from "../../proxy/base/store/lmdb/socket-engine.ts";

const [folder = ""] = process.argv.slice(2);
const engine = new SocketEngine(folder);
const text = "x".repeat(2_000);
await Promise.all(
  Array.from({ length: 8 }, async (_, line) => {
    for (;;) {
      const puts = Array.from(
        { length: 20 },
        (_, i) => ["put", "t", `${String(line)}-${String(i)}`, text] as const,
      );
      await engine.commit({ writes: [...puts, ["add", "t", "written", 1]] });
    }
  }),
);
