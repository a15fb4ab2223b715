/** A value that screens watch. */
import { useEffect, useState } from "preact/hooks";

export class Cell<T> {
  #value: T;
  readonly #watchers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    for (const watcher of this.#watchers) watcher();
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function useCell<T>(cell: Cell<T>): T {
  const [value, set] = useState(() => cell.value);
  useEffect(() => {
    const take = (): void => {
      set(() => cell.value);
    };
    take();
    return cell.watch(take);
  }, [cell]);
  return value;
}
