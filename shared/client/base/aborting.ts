/** The promise, or the signal's reason as soon as it is aborted; the work behind it goes on. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  let leave: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (leave !== undefined) signal.removeEventListener("abort", leave);
  }
}

export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return orAborted(elapsed, signal).finally(() => clearTimeout(timer));
}

/** The work, or what `late` answers or throws once `ms` have passed; the work behind it goes on. */
export async function inTime<T>(work: Promise<T>, ms: number, late: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    return await Promise.race([work, passed.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
