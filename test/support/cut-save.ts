// A process that saves a wallet and is killed at one of its writes: `cut-save.ts FILE NUMBER`. It says how many there were
// when it was not.
import { fileStorage } from "../../shared/client/node/index.ts";
import { StateStore } from "../../shared/client/state/state-store.ts";
import { watchWrites } from "./cut-disk.ts";
import { HOME, KEY, paid } from "./whole-state.ts";

const [file = "", cutAt = ""] = process.argv.slice(2);
const store = new StateStore(fileStorage(file), { home: HOME, key: KEY });
const state = (await store.load())!.state;
paid(state);
const writes = await watchWrites(async (count, half) => {
  if (count !== Number(cutAt)) return;
  await half?.();
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => undefined);
});
await store.save(state);
process.stdout.write(String(writes.count()));
