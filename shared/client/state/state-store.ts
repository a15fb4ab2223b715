/**
 * A wallet's state in its storage: what changed since the last save is written, and no save takes the place of one that
 * this wallet has not seen.
 */
import { ClientError, underCode } from "../base/errors.ts";
import {
  bundled,
  keptByBoth,
  openState,
  sealState,
  type OpenedState,
  type SealingKeys,
} from "./state-codec.ts";
import type { WalletState } from "./state.ts";
import type { WalletStorage } from "./storage.ts";

/** So often another tab may save while this one reads. */
const READ_TRIES = 20;

/** One for each wallet that is open: it remembers what the storage holds of its state. */
export class StateStore {
  readonly #storage: WalletStorage;
  readonly #keys: SealingKeys;
  /** Of the save that the state follows from; undefined for none. */
  #version: string | undefined;
  #kept: OpenedState["kept"] = new Map();

  constructor(storage: WalletStorage, keys: SealingKeys) {
    this.#storage = storage;
    this.#keys = keys;
  }

  /**
   * Undefined when the storage holds nothing. The next save takes the place of what was loaded. Throws STORAGE_FAILED,
   * STORAGE_CORRUPT or STORAGE_FOREIGN.
   */
  async load(): Promise<Pick<OpenedState, "state" | "isDamaged"> | undefined> {
    for (let attempt = 1; attempt <= READ_TRIES; attempt++) {
      const found = await this.#head();
      this.#version = found?.version;
      if (found === undefined) {
        this.#kept = new Map();
        return undefined;
      }
      const opened = await openState(found.bytes, this.#keys, (names) => this.#read(names)).catch(
        (error: unknown) => ({ error }),
      );
      // A part may be gone because another tab has saved since; then its head names others.
      const isWhole = "state" in opened && !opened.isDamaged;
      if (!isWhole && (await this.#head())?.version !== found.version) continue;
      if ("error" in opened) throw opened.error;
      this.#kept = keptByBoth(this.#kept, opened.kept);
      return opened;
    }
    throw new ClientError("STORAGE_FAILED", "load: it holds another version each time");
  }

  /** False when the storage holds another version by now: then nothing was saved. Throws STORAGE_FAILED. */
  async save(state: WalletState): Promise<boolean> {
    const { parts } = this.#storage;
    const sealed = await sealState(state, this.#keys, parts === undefined ? undefined : this.#kept);
    const version = await underCode("STORAGE_FAILED", "save", () =>
      parts === undefined
        ? this.#storage.save(bundled(sealed), this.#version)
        : parts.save(sealed.head, this.#version, sealed),
    );
    if (version === undefined) return false;
    this.#version = version;
    this.#kept = sealed.kept;
    return true;
  }

  #head(): ReturnType<WalletStorage["load"]> {
    return underCode("STORAGE_FAILED", "load", () => this.#storage.load());
  }

  #read(names: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const { parts } = this.#storage;
    if (parts === undefined)
      throw new ClientError(
        "STORAGE_FAILED",
        "load: the wallet was saved in parts, and this storage passes none on: see WalletStorage.parts",
      );
    return underCode("STORAGE_FAILED", "load", () => parts.read(names));
  }
}
