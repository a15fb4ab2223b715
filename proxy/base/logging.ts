/** JSON log lines. Callers pass facts they chose; the redaction below is the second line, not the first. */
import { writeSync } from "node:fs";
import { pino, type DestinationStream, type Logger as PinoLogger } from "pino";

export type Logger = PinoLogger;

/** Names under which a careless caller might hand over a credential or a body. */
const NEVER_LOGGED = [
  "authorization",
  "cookie",
  "x-api-key",
  "session",
  "token",
  "access_token",
  "secret",
  "password",
  "body",
  "query",
];

/** Of lines that nobody takes, this much is kept; then new ones are lost rather than the proxy's memory. */
const MAX_WAITING_BYTES = 16 << 20;
/** A write of its own for each line costs more than the line: so many characters go together, or all of so long. */
const TOGETHER_CHARS = 16 << 10;
const TOGETHER_MS = 100;
/** A process that ends waits so long for a slow reader; what is left then is lost. */
const AT_THE_END_MS = 2000;
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

/** A process has one. */
let output: DestinationStream | undefined;

/** Lines go to `destination`, by default standard output. */
export function createLogger(
  level: string,
  destination: DestinationStream = (output ??= standardOutput()),
  service = "proxy",
): Logger {
  const options = {
    level,
    base: { service },
    timestamp: timestamps(),
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: shownError },
    redact: {
      paths: NEVER_LOGGED.flatMap((name) => [`["${name}"]`, `*["${name}"]`]),
      censor: "(not logged)",
    },
  };
  return pino(options, destination);
}

/**
 * Of whatever was thrown. The library marks what looks like an error while it reads it, and throws where that is frozen, as
 * parts of other libraries' errors are: a node's answer must not end the process that only wanted to tell of it.
 */
function shownError(error: unknown): unknown {
  try {
    return pino.stdSerializers.err(error as Error);
  } catch {
    if (!(error instanceof Error)) return { message: String(error) };
    const { name: type, message, stack } = error;
    return { type, message, stack };
  }
}

/** RFC 3339. Several lines fall into one millisecond, whose text is made once. */
function timestamps(): () => string {
  let of = NaN;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== of) {
      of = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/**
 * Not written at once: a line for each request would wait each time for whoever reads the log, and measuring and copying each
 * costs as much as making it. No thread writes: what one has under way when the process ends would be lost, or come last.
 */
function standardOutput(): DestinationStream {
  // Asking for it makes a pipe or a socket one that refuses rather than holds up this process while its reader stands still.
  const { fd } = process.stdout;
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  let lines: string[] = [];
  let chars = 0;
  let soon: NodeJS.Timeout | undefined;

  const pass = (): void => {
    clearTimeout(soon);
    soon = undefined;
    const together = Buffer.from(lines.join(""));
    lines = [];
    chars = 0;
    if (together.length > 0 && waitingBytes + together.length <= MAX_WAITING_BYTES) {
      waiting.push(together);
      waitingBytes += together.length;
    }
    for (let first; (first = waiting[0]);) {
      const taken = takenOf(fd, first);
      waitingBytes -= taken;
      if (taken === first.length) waiting.shift();
      else {
        waiting[0] = first.subarray(taken);
        soon = setTimeout(pass, TOGETHER_MS).unref();
        return;
      }
    }
  };
  process.on("exit", () => {
    const end = Date.now() + AT_THE_END_MS;
    pass();
    while (waiting.length > 0 && Date.now() < end) {
      Atomics.wait(NEVER_WOKEN, 0, 0, 5);
      pass();
    }
  });
  return {
    write(line) {
      lines.push(line);
      chars += line.length;
      if (chars >= TOGETHER_CHARS) pass();
      else soon ??= setTimeout(pass, TOGETHER_MS).unref();
    },
  };
}

/** How many of the bytes are taken now. Of what it will never take (closed, a full disk), all: it is lost. */
function takenOf(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EAGAIN" ? 0 : bytes.length;
  }
}
