/**
 * Starts an image file in QEMU's machine nitro-enclave, and is the parent instance around it: the parent's side of
 * vsock, its answer to the heartbeat, the host's own bridge, and in the place of AWS who signs the documents of the
 * virtual security module, under the development root. Kernel, init and program are in the guest; nothing here is.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { Authority } from "../../../scripts/image/certificates.ts";
import { documentSigner, serveModule, type Payload } from "../../../scripts/stand-ins/platform/nsm.ts";
import { dieWithOwner } from "../../../scripts/base/watchdog.ts";
import { decodeCbor, itemsOf } from "../../../shared/protocol/cbor.ts";
import { ENCLAVE_PORT } from "../../../shared/protocol/host/enclave-host.ts";
import { CompiledPrograms } from "../../support/init/compiled.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";
import { until } from "../../support/until.ts";

const MODULE_ID = "i-0emulated-enc0cloister";
/** Port and byte are AWS's. */
const HEARTBEAT_PORT = 9000;
const HEARTBEAT = 0xb7;
/** As vsock-backend.c names them. */
const GUEST_SOCKET = `guest-${String(ENCLAVE_PORT)}.sock`;
const parentSocket = (port: number): string => `host-${String(port)}.sock`;

export interface MachineOptions {
  /** Of make.sh. */
  readonly machine: string;
  /** Path of the image file. */
  readonly eif: string;
  /** Signs the module's documents, which QEMU makes without a signature. */
  readonly root: Authority;
  /** What the parent answers to the heartbeat. Default: the same byte. */
  readonly heartbeat?: number;
}

export interface Machine {
  /** Of the host's bridge: speaks `CONNECT 5000\n`. */
  readonly vsockPath: string;
  /** Resolves with what the guest sent as its heartbeat. */
  readonly heartbeat: Promise<Buffer>;
  /** Resolves when QEMU has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** What kernel and init have written so far. */
  console(): Promise<string>;
  stop(): Promise<void>;
}

/** Throws where make.sh has not made one. */
export async function machineFolder(): Promise<string> {
  const make = path.join(PROJECT_ROOT, "test/boot/machine/make.sh");
  const { stdout } = await promisify(execFile)(make, ["--if-made"]);
  return stdout.trim();
}

export async function startMachine(options: MachineOptions): Promise<Machine> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-machine-"));
  const at = (name: string): string => path.join(folder, name);
  const programs = await CompiledPrograms.make();
  const servers: Server[] = [];
  const children: ChildProcess[] = [];
  const complaints: string[] = [];

  const serve = async (server: Server, name: string): Promise<void> => {
    server.listen(at(name));
    servers.push(server);
    await once(server, "listening");
  };
  const start = (program: string, ...args: string[]): ChildProcess => {
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], env: {} });
    child.stderr.on("data", (chunk: Buffer) => void complaints.push(chunk.toString()));
    const release = dieWithOwner(child.pid, { orderly: false });
    child.once("exit", release);
    children.push(child);
    return child;
  };
  const listening = (name: string): Promise<unknown> =>
    until(`${name}: ${complaints.join("")}`, () =>
      access(at(name)).then(
        () => true,
        () => false,
      ),
    );
  const stop = async (): Promise<void> => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    for (const server of servers) server.close();
    await programs.remove();
    await rm(folder, { recursive: true, force: true });
  };

  try {
    const parent = heartbeatServer(options.heartbeat ?? HEARTBEAT);
    const heartbeat = once(parent, "heartbeat").then(([bytes]) => bytes as Buffer);
    await serve(parent, parentSocket(HEARTBEAT_PORT));
    await serve(signerOf(options.root), "signer.sock");
    start(path.join(options.machine, "vsock-backend"), folder, String(ENCLAVE_PORT));
    await listening(GUEST_SOCKET);
    await listening("qemu.sock");
    const bridge = await programs.compile("vsock-bridge", "image");
    const guest = `unix:${at(GUEST_SOCKET)}`;
    start(bridge, at("enclave.sock"), String(ENCLAVE_PORT), guest);
    await listening("enclave.sock");
    const qemu = start(
      path.join(options.machine, "qemu-system-x86_64"),
      ...["-M", `nitro-enclave,vsock=parent,id=${MODULE_ID},acpi=on`],
      // Emulated wherever it runs: KVM inside of a virtual machine did not get through this kernel's first steps.
      ...["-accel", "tcg,thread=multi", "-append", await clock()],
      ...["-cpu", "max", "-smp", "2", "-m", "2048M", "-L", path.join(options.machine, "firmware")],
      ...["-kernel", options.eif, "-no-reboot", "-nodefaults", "-display", "none"],
      ...["-global", "virtio-mmio.force-legacy=false"],
      ...["-global", `virtio-nsm-device.signer=${at("signer.sock")}`],
      ...["-chardev", `socket,id=parent,path=${at("qemu.sock")}`],
      ...["-serial", `file:${at("console.log")}`],
    );
    const ended = once(qemu, "exit").then(() => undefined);
    return {
      vsockPath: at("enclave.sock"),
      heartbeat,
      ended,
      console: async () =>
        [await readFile(at("console.log"), "latin1").catch(() => ""), ...complaints].join(""),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * For the guest's kernel, beside the image's own command line. Its processor's counter is that of this machine; the
 * kernel finds out how fast it is with a timer, fails where others use the processors too, and then waits for ever.
 */
async function clock(): Promise<string> {
  const [, mhz] = /^cpu MHz\s*: ([0-9.]+)$/m.exec(await readFile("/proc/cpuinfo", "latin1")) ?? [];
  return `tsc=reliable tsc_early_khz=${String(Math.round(Number(mhz ?? "2000") * 1_000))}`;
}

/** QEMU's documents are whole but for what only AWS has: certificates and signature. */
function signerOf(root: Authority): Server {
  const signed = documentSigner(root, MODULE_ID);
  return serveModule({
    answer: (document) => {
      const payload = itemsOf(decodeCbor(document))[2];
      if (!(payload instanceof Uint8Array)) throw new Error("no document came from QEMU");
      return signed(decodeCbor(payload) as Payload);
    },
  });
}

/** Emits "heartbeat" with what came. */
function heartbeatServer(answer: number): Server {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", (bytes) => {
      server.emit("heartbeat", bytes);
      socket.write(Uint8Array.of(answer));
    });
  });
  return server;
}
