/** The body of an answer as bytes. A service may send more than it was asked for, or for ever: no more than the bound is ever held. */

/** Undefined for a longer one. Ends early and short when the signal aborts; the caller looks at the signal. `received` is told after every piece how many bytes are here. */
export async function boundedBody(
  response: Response,
  maxBytes: number,
  signal: AbortSignal | undefined,
  received: (bytes: number) => void,
): Promise<Uint8Array | undefined> {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (reader === undefined) return new Uint8Array(0);
  const leave = (): void => void reader.cancel().catch(() => undefined);
  // Node 20 forgets the tie between signal and body once its own request object is collected.
  signal?.addEventListener("abort", leave, { once: true });
  const bytes = new Uint8Array(maxBytes);
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      received(length + (value?.length ?? 0));
      if (done) return bytes.subarray(0, length);
      if (length + value.length > maxBytes) return undefined;
      bytes.set(value, length);
      length += value.length;
    }
  } finally {
    signal?.removeEventListener("abort", leave);
    leave();
  }
}
