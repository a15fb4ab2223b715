/**
 * Runs the real enclave program on a machine without Nitro hardware. The program is the same bytes as
 * in an image; this file is the platform around it: the simulated security module, the host's end of
 * vsock, and the measurement of the very files that run. No isolation: whoever owns this machine can read the enclave's
 * memory. Development only.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { lstat, mkdir, readFile, rm } from "node:fs/promises";
import { createConnection, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FrameSplitter, type EnclavePhase } from "../../../shared/protocol/enclave-messages.ts";
import { decodeReply, ENCLAVE_PORT, encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { copyImage } from "../../image/assemble.ts";
import { developmentConfiguration } from "../../image/configuration.ts";
import {
  ENCLAVE_FOLDER,
  measureImage,
  programNamed,
  PROGRAMS,
  type Measurement,
  type ProgramName,
} from "../../image/measurement.ts";
import { toPem, type Authority } from "../../image/certificates.ts";
import { developmentRoot } from "../../image/development-keys.ts";
import { PATIENCE_MS, poll } from "../../base/poll.ts";
import { serveModule, simulatedModule } from "./nsm.ts";
import { verifierLauncher } from "./verifier-launcher.ts";
import { vsockBridge } from "./vsock-bridge.ts";
import { dieWithOwner } from "../../base/watchdog.ts";

export interface SimulatedEnclaveOptions {
  /** Holds the copy of the image that runs, and the sockets. */
  readonly folder: string;
  /** Default: the first. */
  readonly program?: ProgramName | undefined;
  /** Where package.json, dist/ and node_modules/ are taken from. */
  readonly enclaveFolder?: string;
  /** Text of the image's configuration.json. Default: the program's development configuration. */
  readonly configuration?: string;
  /** Under which this platform's documents are. Default: the development root. */
  readonly root?: Authority;
  /** Documents as an enclave in debug mode has them: PCR0 to 2 all zero. */
  readonly debugMode?: boolean;
}

export interface SimulatedEnclave {
  /** Speaks Firecracker's `CONNECT 5000\n`. The same path at every start from the same folder. */
  readonly vsockPath: string;
  readonly process: ChildProcess;
  /** Of the files that run, whatever the documents say. */
  readonly measurement: Measurement;
  /** PEM of the root to which this platform's attestation documents lead. */
  readonly rootCertificate: string;
  /** Resolves when the enclave's process has ended, for whatever reason, and everything is cleaned up. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** What a real image's init passes too: the program makes no code from strings, and JSON imports warn in Node 20. */
const NODE_FLAGS = ["--disallow-code-generation-from-strings", "--disable-warning=ExperimentalWarning"];
const POLL_MS = 20;

const NOTHING_MEASURED: Measurement = { pcr0: "00".repeat(48), pcr1: "00".repeat(48), pcr2: "00".repeat(48) };

/** Resolves when the enclave boots and waits for its key; rejects, leaving nothing behind, when it does not. */
export async function startSimulatedEnclave(options: SimulatedEnclaveOptions): Promise<SimulatedEnclave> {
  const folder = path.resolve(options.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const sockets = await socketFolder(folder);
  const vsockPath = path.join(sockets, "vsock.sock");
  const guestPath = path.join(sockets, "guest.sock");
  const nsmPath = path.join(sockets, "nsm.sock");
  const verifiersPath = path.join(sockets, "verifiers.sock");
  const made = [vsockPath, guestPath, nsmPath, verifiersPath];
  if (await isAnswered(vsockPath)) throw new Error("a simulated enclave is already running from this folder");
  for (const stale of made) await rm(stale, { force: true });

  // Measured is the copy that runs: a rebuild in the working tree changes neither.
  const image = path.join(folder, "image");
  const program = PROGRAMS[options.program ?? "first"];
  const configuration = options.configuration ?? (await developmentConfiguration(undefined, program.name));
  const assembly = { to: image, configuration, program: program.name };
  await copyImage(options.enclaveFolder ?? ENCLAVE_FOLDER, assembly);
  const measurement = await measureImage(image);
  const root = options.root ?? developmentRoot();
  const module = simulatedModule(root, options.debugMode === true ? NOTHING_MEASURED : measurement);

  const servers: Server[] = [];
  let stop: (() => Promise<void>) | undefined;
  const cleanUp = async (): Promise<void> => {
    for (const server of servers) server.close();
    for (const socket of made) await rm(socket, { force: true });
    await rm(image, { recursive: true, force: true });
  };
  try {
    servers.push(await listening(serveModule(module), nsmPath));
    const verifiers = verifierLauncher({ file: path.join(image, program.verifier) });
    servers.push(await listening(verifiers, verifiersPath));
    const words = [path.join(image, program.main), guestPath, nsmPath, verifiersPath];
    const child = spawn(process.execPath, [...NODE_FLAGS, ...words], {
      cwd: image,
      env: {},
      stdio: ["ignore", "ignore", "pipe"],
    });
    // Inside an image the init program is what the enclave dies with.
    const release = dieWithOwner(child.pid, { orderly: false });
    const ended = once(child, "exit").then(async () => {
      release();
      await cleanUp();
    });
    stop = async (): Promise<void> => {
      child.kill("SIGKILL");
      await ended;
    };
    await untilBooted(child, guestPath);
    servers.push(await listening(vsockBridge(new Map([[ENCLAVE_PORT, guestPath]])), vsockPath));
    return { vsockPath, process: child, measurement, rootCertificate: toPem(root.certificate), ended, stop };
  } catch (error) {
    // Whoever is told of the failure may start again at once, in the same folder.
    await (stop ?? cleanUp)();
    throw error;
  }
}

/** Unix socket paths end at 107 bytes on Linux and 103 elsewhere; a deep folder gets a short name beside it. */
async function socketFolder(folder: string): Promise<string> {
  if (Buffer.byteLength(path.join(folder, "verifiers.sock")) < 100) return folder;
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  const short = path.join(tmpdir(), `cloister-${name}`);
  await mkdir(short, { recursive: true, mode: 0o700 });
  // The name can be foreseen: somebody else's folder of that name would put them between us and the enclave.
  const { uid, mode } = await lstat(short);
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
    throw new Error(`${short} belongs to somebody else`);
  return short;
}

async function listening(server: Server, at: string): Promise<Server> {
  server.listen(at);
  await once(server, "listening");
  return server;
}

async function untilBooted(enclave: ChildProcess, guestPath: string): Promise<void> {
  let lastWords = "";
  enclave.stderr?.on("data", (chunk: Buffer) => (lastWords = (lastWords + chunk.toString()).slice(-2_000)));
  const look = (): Promise<EnclavePhase | undefined> => {
    if (enclave.exitCode !== null || enclave.signalCode !== null)
      throw new Error(`the enclave ended: ${lastWords}`);
    return phaseOf(guestPath);
  };
  const phase = await poll(look, PATIENCE_MS, POLL_MS);
  if (phase === undefined) throw new Error("the enclave does not boot in time");
  if (phase === "halted")
    throw new Error("the enclave halted at boot: its image or its platform is not as it should be");
}

/** Undefined while nobody listens. */
function phaseOf(guestPath: string): Promise<EnclavePhase | undefined> {
  return new Promise((resolve) => {
    const splitter = new FrameSplitter();
    const socket: Socket = createConnection(guestPath, () =>
      socket.write(encodeRequest(1, { type: "status" })),
    );
    socket.on("data", (chunk) => {
      const payload = splitter.push(chunk)?.[0];
      const reply = payload === undefined ? undefined : decodeReply(payload)?.message;
      if (reply?.type !== "status") return;
      resolve(reply.phase);
      socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(undefined));
  });
}

function isAnswered(at: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(at, () => {
      resolve(true);
      socket.destroy();
    });
    socket.on("error", () => resolve(false));
  });
}

// ---------------------------------------------------------------- as a program

const HELP = `Usage: node --import tsx scripts/stand-ins/platform/main.ts --folder <path>

Starts the built enclave on a simulated platform and prints one line of JSON when it has booted and waits
for its key: vsockPath, enclavePid, measurement, rootCertificate. Ends when the enclave ends (exit code 1),
on SIGINT and SIGTERM (0); the enclave never outlives it.

  --folder <path>         keeps the running image
  --program first|second  which of the two verifiers it is (default first)
  --enclave <path>        a built enclave (default enclave/)
  --configuration <file>  the image's configuration.json (default: the program's development configuration)
  --with-stdin            also end when standard input closes, that is with the program that started this
  --help                  this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      folder: { type: "string" },
      program: { type: "string" },
      enclave: { type: "string" },
      configuration: { type: "string" },
      "with-stdin": { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true || values.folder === undefined) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const enclave = await startSimulatedEnclave({
    folder: values.folder,
    program: programNamed(values.program),
    ...(values.enclave === undefined ? {} : { enclaveFolder: values.enclave }),
    ...(values.configuration === undefined
      ? {}
      : { configuration: await readFile(values.configuration, "utf8") }),
  });
  let exitCode = 1;
  const stop = (): void => {
    exitCode = 0;
    void enclave.stop();
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  if (values["with-stdin"] === true) process.stdin.once("end", stop).once("error", stop).resume();
  const { vsockPath, measurement, rootCertificate } = enclave;
  console.log(JSON.stringify({ vsockPath, enclavePid: enclave.process.pid, measurement, rootCertificate }));
  await enclave.ended;
  process.exit(exitCode);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: unknown) => {
    console.error(`simulated platform: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  });
}
