/** Lets whoever waits for the event loop go first: long work pauses here now and then, so that no request waits for all of it. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
