/**
 * What an image's init does for the program, on a machine without one: a verifying process for each connection, with the
 * same file, flags and descriptor, which ends with the connection. The user is this process's own. Development only.
 */
import { spawn } from "node:child_process";
import { createServer, type Server, type Socket } from "node:net";
import { setPriority } from "node:os";

/** As init.c has them: no code from strings, and a bound for the heap. */
const VERIFIER_FLAGS = ["--disallow-code-generation-from-strings", "--max-old-space-size=128"];
/** As `nice` counts: larger is more patient. */
const VERIFIER_NICENESS = 10;

export interface VerifierFile {
  readonly file: string;
  /** Node's, before those that an image has too: a loader, for sources. */
  readonly flags?: readonly string[];
}

export function verifierLauncher({ file, flags = [] }: VerifierFile): Server {
  return createServer((program) => {
    const child = spawn(process.execPath, [...flags, ...VERIFIER_FLAGS, file], {
      env: {},
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    // A real enclave has processors of its own. Here its verifiers shall not make the proxy wait for one.
    if (child.pid !== undefined) setPriority(child.pid, VERIFIER_NICENESS);
    const stream = child.stdio[3] as Socket;
    stream.on("error", () => undefined);
    // An error is that it could not start; "exit" does not follow.
    child.once("exit", () => program.destroy()).once("error", () => program.destroy());
    program.on("error", () => undefined).once("close", () => child.kill("SIGKILL"));
    program.pipe(stream).pipe(program);
  });
}
