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

/** Lines go to `destination`, by default standard output. */
export function createLogger(
  level: string,
  destination: DestinationStream = standardOutput(),
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
 * Not written at once: a line for each request would wait each time for whoever reads the log. What is under way
 * when the process ends by itself is written then.
 */
function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES });
}
