/** JSON log lines. Callers pass facts they chose; the redaction below is the second line, not the first. */
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
 * costs as much as making it. What is under way when the process ends by itself is written then.
 */
function standardOutput(): DestinationStream {
  const written = pino.destination({
    ...{ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES, periodicFlush: TOGETHER_MS },
    // More than what is passed on at the end of the process, so that it is not under way then, but written.
    ...{ minLength: 2 * TOGETHER_CHARS, maxWrite: 4 * TOGETHER_CHARS },
  });
  let lines: string[] = [];
  let chars = 0;
  let soon: NodeJS.Timeout | undefined;
  const pass = (): void => {
    clearTimeout(soon);
    soon = undefined;
    const together = lines.join("");
    lines = [];
    chars = 0;
    if (together !== "") written.write(together);
  };
  const passOn = (): void => {
    pass();
    written.flush();
  };
  // Before the library's own, which writes what it was passed.
  process.prependListener("exit", pass);
  return {
    write(line) {
      lines.push(line);
      chars += line.length;
      if (chars >= TOGETHER_CHARS) passOn();
      else soon ??= setTimeout(passOn, TOGETHER_MS).unref();
    },
  };
}
