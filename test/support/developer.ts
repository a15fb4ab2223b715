/** A developer as an operator adds one and sets its fee rules, beside the running proxy. */
import { createApiKey } from "../../proxy/base/auth/api-keys.ts";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import { loadPepper } from "../../proxy/base/auth/secret-files.ts";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../proxy/base/store/instance.ts";
import { pepperFile } from "../../scripts/stack/development-credential.ts";
import { createClient, type Client, type NoteOpening } from "../../shared/client/index.ts";
import { runProgram } from "./program.ts";
import { documentedFetch } from "./documented.ts";
import type { TestStack } from "./stack.ts";

export interface Developer {
  /** With this developer's API key. */
  readonly client: Client;
  /** `npm run operator -- fees …`. `minutesAgo` is when the operator typed it: earlier terms are honoured for a while. */
  fees(words: readonly string[], minutesAgo?: number): Promise<string>;
  /** Openings of the fee notes that this developer's sinks were paid. */
  received(): Promise<(NoteOpening & { readonly ticket: string; readonly statement: string })[]>;
}

/** On the stack's own network, the first that was asked for. */
export async function addTestDeveloper({ stack, local, entry }: TestStack, id: string): Promise<Developer> {
  const store = local.folder.inside("store");
  const database = openDatabase(store);
  const keys = embeddedStores(database).keys;
  await addDeveloper(keys, { id, name: id, limits: { keyPerMinute: 6_000, keyPerDay: 100_000 } });
  const pepper = await loadPepper(await pepperFile(stack.folder.secrets));
  const { key } = await createApiKey(keys, pepper, id, "test");
  await database.close();

  const fees: Developer["fees"] = async (words, minutesAgo = 0) => {
    const clock = `const now = Date.now; Date.now = () => now() - ${minutesAgo * 60_000};`;
    const flags = ["--import", `data:text/javascript,${encodeURIComponent(clock)}`];
    const args = ["--data", store, "fees", ...words];
    const { code, out, err } = await runProgram("scripts/operator/main.ts", args, { flags });
    if (code !== 0) throw new Error(err);
    return out;
  };
  return {
    client: createClient({
      baseUrl: entry.base_url,
      credential: { apiKey: key },
      fetch: documentedFetch(entry.base_url),
    }),
    fees,
    async received() {
      const lines = (await fees(["received", id])).split("\n").filter((line) => line !== "");
      return lines.map((line) => JSON.parse(line) as Awaited<ReturnType<Developer["received"]>>[number]);
    },
  };
}
