/** Lua that Redis runs as one step: nothing comes between its looking and its writing. */
import { hash } from "node:crypto";

export interface Sender {
  send(args: readonly string[]): Promise<unknown>;
}

export type Script = (keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** By its hash; the whole text only for a Redis that has not seen it since it started. */
export function redisScript(connection: Sender, text: string): Script {
  const sha = hash("sha1", text);
  return async (keys, args) => {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await connection.send(["EVALSHA", sha, ...rest]);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return connection.send(["EVAL", text, ...rest]);
    }
  };
}
