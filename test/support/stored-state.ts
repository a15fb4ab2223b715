// A wallet's state as the next run finds it.
import { StateStore } from "../../shared/client/state/state-store.ts";
import type { WalletState } from "../../shared/client/state/state.ts";
import { memoryStorage } from "../../shared/client/state/storage.ts";
import type { Home } from "../../shared/protocol/statements.ts";

export async function storedAndOpened(state: WalletState, home: Home, key: Uint8Array): Promise<WalletState> {
  const storage = memoryStorage();
  if (!(await new StateStore(storage, { home, key }).save(state))) throw new Error("it was not saved");
  const opened = await new StateStore(storage, { home, key }).load();
  if (opened === undefined || opened.isDamaged) throw new Error("it was not found whole");
  return opened.state;
}
