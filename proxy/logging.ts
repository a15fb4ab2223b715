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

/** Lines go to `destination`, by default standard output. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service: "proxy" },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: NEVER_LOGGED.flatMap((name) => [`["${name}"]`, `*["${name}"]`]),
      censor: "(not logged)",
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
