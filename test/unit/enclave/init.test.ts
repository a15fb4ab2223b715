// The init's C with Unix sockets in the place of vsock and the simulated module in the place of the device. What
// is special to an enclave (mounts, devices, users, the end) is compiled here and runs on Nitro hardware only.
import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import path from "node:path";
import { constants } from "node:os";
import { promisify } from "node:util";
import { developmentRoot } from "../../../scripts/image/development-keys.ts";
import { serveModule, simulatedModule } from "../../../scripts/stand-ins/platform/nsm.ts";
import { copyImage } from "../../../scripts/image/assemble.ts";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { ENCLAVE_FOLDER, PROGRAMS } from "../../../scripts/image/measurement.ts";
import { concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { decodeCbor, encodeCbor, entryOf, type Cbor } from "../../../shared/protocol/cbor.ts";
import { encodeAttestationRequest, encodeRandomRequest } from "../../../enclave/nsm.ts";
import { COMPILER_IS_MISSING, CompiledPrograms } from "../../support/init/compiled.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";
import { codeOf, FrameClient } from "./support/frame-client.ts";
import { CHALLENGE, CONFIGURATION, releaseTo } from "./support/key-life.ts";
import { MEASUREMENT } from "./support/platforms.ts";
import { SocketFolder, until } from "./support/sockets.ts";

const MAX_CONNECTIONS = 64;
const NSM_MAX_REQUEST = 0x1000;
const NSM_MAX_RESPONSE = 0x3000;

describe(`enclave/init${COMPILER_IS_MISSING === undefined ? "" : ` (${COMPILER_IS_MISSING})`}`, function () {
  let programs: CompiledPrograms | undefined;
  let standIn: string;
  let folder: SocketFolder;
  before(async function () {
    if (COMPILER_IS_MISSING !== undefined) this.skip();
    programs = await CompiledPrograms.make();
    standIn = await programs.compile("stand-in", "watched");
  });
  after(() => programs?.remove());
  beforeEach(async () => {
    folder = await SocketFolder.make();
  });
  afterEach(async () => {
    await programs?.stop();
    await folder.remove();
  });

  const device = (answer: (request: Uint8Array) => Uint8Array): Promise<string> =>
    folder.listen("device.sock", serveModule({ answer }));
  const realDevice = (): Promise<string> => device(simulatedModule(developmentRoot(), MEASUREMENT).answer);
  /** Both servers of the init, ready. */
  const serve = async (): Promise<ChildProcess> => {
    const sockets = ["listen.sock", "program.sock", "nsm.sock", "device.sock"].map((name) => folder.at(name));
    const child = programs!.start(standIn, "serve", ...sockets);
    await once(child.stdout!, "data");
    return child;
  };
  const connect = async (name = "listen.sock"): Promise<Socket> => {
    const socket = createConnection({ path: folder.at(name), allowHalfOpen: true });
    folder.hold(socket);
    await once(socket, "connect");
    return socket;
  };
  /** Until the other side ends or resets, which it does where it was sent what it did not read. */
  const readAll = (socket: Socket): Promise<Buffer> =>
    new Promise((resolve) => {
      const chunks: Buffer[] = [];
      const end = (): void => {
        socket.destroy();
        resolve(Buffer.concat(chunks));
      };
      socket
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .once("end", end)
        .once("close", end)
        .resume();
    });
  const echo = (): Promise<string> => folder.serve("program.sock", (socket) => void socket.pipe(socket));
  const framed = (body: Uint8Array): Uint8Array => concatBytes(uintToBytes(BigInt(body.length), 4), body);
  /** What the module's socket says to these bytes, which may be none. */
  const nsm = async (bytes: Uint8Array): Promise<Buffer> => {
    const socket = await connect("nsm.sock");
    socket.end(bytes);
    return readAll(socket);
  };

  describe("compiled", () => {
    it("as the image has it, without a warning; and does nothing where it is not the first process", async () => {
      for (const { name, main, verifier } of Object.values(PROGRAMS)) {
        const init = await programs!.compile(`${name}-init`, "image");
        await assert.rejects(promisify(execFile)(init), { code: 2, stdout: "", stderr: "" });
        const bytes = await readFile(init, "latin1");
        for (const file of [main, verifier]) assert.ok(bytes.includes(`/enclave/${file}\0`), file);
      }
      await programs!.compile("stand-in", "image");
    });

    it("starts node with the flags of the simulated platform, and has no switch", async () => {
      const text = await readFile(path.join(PROJECT_ROOT, "enclave/init/init.c"), "utf8");
      const flags = (source: string): string[] => source.match(/"--[a-z][^"]*"/g) ?? [];
      const flagsOf = async (file: string): Promise<string[]> => {
        const source = await readFile(path.join(PROJECT_ROOT, "scripts/stand-ins/platform", file), "utf8");
        return flags(/_FLAGS = \[([^\]]*)\]/.exec(source)?.[1] ?? "");
      };
      const expected = [...(await flagsOf("main.ts")), ...(await flagsOf("verifier-launcher.ts"))];
      assert.equal(expected.length, 4);
      assert.deepEqual(flags(text), expected);
      assert.doesNotMatch(text, /getenv|argv|#\s*if|debug/i);
    });
  });

  describe("between vsock and the program", () => {
    it("carries megabytes both ways at once, unchanged", async () => {
      await echo();
      await serve();
      const sent = randomBytes(8 << 20);
      const socket = await connect();
      socket.end(sent);
      const got = await readAll(socket);
      const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
      assert.equal(got.length, sent.length);
      assert.equal(sha256(got), sha256(sent));
    });

    it("passes a half-close on, and the answer that comes after it", async () => {
      const heard: Buffer[] = [];
      await folder.serve("program.sock", (socket) => {
        socket.allowHalfOpen = true;
        socket.on("data", (chunk: Buffer) => heard.push(chunk));
        socket.once("end", () => socket.end(`heard ${String(Buffer.concat(heard).length)}`));
      });
      await serve();
      const socket = await connect();
      socket.write("one");
      socket.end("two");
      assert.equal((await readAll(socket)).toString(), "heard 6");
    });

    it("passes on that the program closed, to a client that is still sending", async () => {
      await folder.serve("program.sock", (socket) => socket.once("data", () => socket.destroy()));
      await serve();
      const socket = await connect();
      let failed: string | undefined;
      socket.once("error", ({ code }: NodeJS.ErrnoException) => (failed = code));
      const send = (): void => {
        if (!socket.destroyed) socket.write(Buffer.alloc(1 << 16), () => setImmediate(send));
      };
      send();
      await until("sending fails", () => failed !== undefined);
      assert.match(String(failed), /EPIPE|ECONNRESET/);
    });

    it("passes on that the client went away in the middle", async () => {
      let ended = false;
      await folder.serve("program.sock", (socket) => {
        socket.resume().once("close", () => (ended = true));
        socket.write(Buffer.alloc(4 << 20));
      });
      await serve();
      const socket = await connect();
      await once(socket, "data");
      socket.destroy();
      await until("the program's side ends", () => ended);
    });

    it("closes a client while no program listens, and serves the next one when it does", async () => {
      await serve();
      assert.equal((await readAll(await connect())).length, 0);
      await echo();
      const socket = await connect();
      socket.end("now");
      assert.equal((await readAll(socket)).toString(), "now");
    });

    it("serves others while one stalls in the middle of what it is sent", async () => {
      await folder.serve("program.sock", (socket) => socket.end(Buffer.alloc(4 << 20)));
      await serve();
      const stalled = await connect();
      stalled.pause();
      for (let i = 0; i < 3; i++) assert.equal((await readAll(await connect())).length, 4 << 20);
      assert.equal((await readAll(stalled)).length, 4 << 20);
    });

    it(`serves ${String(MAX_CONNECTIONS)} at a time, closes who comes beyond, and takes new ones after`, async () => {
      await echo();
      await serve();
      const ask = async (socket: Socket): Promise<string> => {
        const answer = once(socket, "data") as Promise<[Buffer]>;
        socket.write("here");
        return (await answer)[0].toString();
      };
      const held: Socket[] = [];
      for (let i = 0; i < MAX_CONNECTIONS; i++) held.push(await connect());
      assert.deepEqual(new Set(await Promise.all(held.map(ask))), new Set(["here"]));
      for (let i = 0; i < 200; i++) assert.equal((await readAll(await connect())).length, 0);
      assert.deepEqual(new Set(await Promise.all(held.map(ask))), new Set(["here"]));
      for (const socket of held) socket.destroy();
      await until("a place is free again", async () => {
        const socket = await connect();
        socket.end("again");
        return (await readAll(socket)).toString() === "again";
      });
    });
  });

  describe("between the program and the module", () => {
    it("carries random bytes and documents", async () => {
      await realDevice();
      await serve();
      const answerTo = async (request: Uint8Array): Promise<Cbor | undefined> => {
        const got = await nsm(framed(request));
        assert.equal(got.readUInt32BE(0), got.length - 4);
        return decodeCbor(new Uint8Array(got.subarray(4)));
      };
      const random = entryOf(entryOf(await answerTo(encodeRandomRequest()), "GetRandom"), "random");
      assert.equal((random as Uint8Array).length, 256);
      const asked = encodeAttestationRequest({ nonce: new Uint8Array(32), userData: new Uint8Array(70) });
      const document = entryOf(entryOf(await answerTo(asked), "Attestation"), "document");
      assert.ok((document as Uint8Array).length > 2_000);
    });

    it("takes a request to its last byte, and not one more", async () => {
      const seen: number[] = [];
      await device((request) => {
        seen.push(request.length);
        return Uint8Array.of(1);
      });
      await serve();
      assert.deepEqual(await nsm(framed(new Uint8Array(NSM_MAX_REQUEST))), Buffer.from([0, 0, 0, 1, 1]));
      for (const length of [NSM_MAX_REQUEST + 1, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0]) {
        const bytes = concatBytes(uintToBytes(BigInt(length), 4), new Uint8Array(NSM_MAX_REQUEST + 1));
        assert.equal((await nsm(bytes)).length, 0);
      }
      for (const part of [new Uint8Array(0), Uint8Array.of(0, 0), framed(new Uint8Array(9)).slice(0, 12)])
        assert.equal((await nsm(part)).length, 0);
      assert.deepEqual(seen, [NSM_MAX_REQUEST]);
    });

    it("gives an answer of every length the module may give, and none of a longer or empty one", async () => {
      let length = 0;
      await device(() => new Uint8Array(length).fill(7));
      await serve();
      for (length of [1, 255, 256, NSM_MAX_RESPONSE]) {
        assert.deepEqual(
          await nsm(framed(Uint8Array.of(1))),
          Buffer.from(framed(new Uint8Array(length).fill(7))),
        );
      }
      for (length of [0, NSM_MAX_RESPONSE + 1, 0x10000 + 1]) {
        assert.equal((await nsm(framed(Uint8Array.of(1)))).length, 0);
      }
    });

    it("answers others while one stalls and the module is unreachable for another", async () => {
      await serve();
      const stalled = await connect("nsm.sock");
      stalled.write(Uint8Array.of(0, 0));
      assert.equal((await nsm(framed(encodeRandomRequest()))).length, 0);
      await realDevice();
      assert.ok((await nsm(framed(encodeRandomRequest()))).length > 256);
      stalled.end(concatBytes(Uint8Array.of(0, 10), encodeRandomRequest()));
      assert.ok((await readAll(stalled)).length > 256);
    });
  });

  describe("the seed of the kernel's pool", () => {
    const seed = async (): Promise<string> =>
      (await promisify(execFile)(standIn, ["random", folder.at("device.sock")])).stdout;
    const answering = (value: Cbor | Uint8Array): Promise<string> =>
      device(() => (value instanceof Uint8Array ? value : encodeCbor(value)));
    const random = (bytes: Cbor): Cbor => new Map([["GetRandom", new Map([["random", bytes]])]]);

    it("is what the module gave, another each time", async () => {
      await realDevice();
      const [one, two] = [await seed(), await seed()];
      assert.match(one, /^[0-9a-f]{512}$/);
      assert.notEqual(one, two);
    });

    for (const length of [32, 255, 256]) {
      it(`is ${String(length)} bytes where the module gives so many`, async () => {
        const bytes = randomBytes(length);
        await answering(random(new Uint8Array(bytes)));
        assert.equal(await seed(), bytes.toString("hex"));
      });
    }

    const good = encodeCbor(random(new Uint8Array(256).fill(5)));
    const faults: Record<string, Cbor | Uint8Array> = {
      "too few bytes": random(new Uint8Array(31)),
      "too many bytes": random(new Uint8Array(257)),
      "a text": random("x".repeat(64)),
      "a text as long as the bytes would be": random("x".repeat(256)),
      "an error": new Map([["Error", "InternalError"]]),
      "something else of the same form": new Map([["GetSecret", new Map([["random", new Uint8Array(256)]])]]),
      "a byte less than announced": good.slice(0, -1),
      "a byte more than announced": concatBytes(good, Uint8Array.of(0)),
      "only the beginning": good.slice(0, 20),
      nothing: new Uint8Array(0),
      "more than it may": concatBytes(good, new Uint8Array(NSM_MAX_RESPONSE)),
    };
    for (const [what, answer] of Object.entries(faults)) {
      it(`is none when the module answers ${what}`, async () => {
        await answering(answer);
        await assert.rejects(seed(), { code: 1, stdout: "", stderr: "" });
      });
    }

    it("is none without a module", async () => {
      await assert.rejects(seed(), { code: 1, stdout: "", stderr: "" });
    });
  });

  describe("between the program and its verifiers", () => {
    /** Gives a process of `source` to each connection. */
    const launch = async (source: string): Promise<void> => {
      const file = folder.at("verifier.mjs");
      await writeFile(file, source);
      await chmod(folder.path, 0o755);
      const words = ["verifiers", "1002", folder.at("verifiers.sock"), process.execPath, file];
      await once(programs!.start(standIn, ...words).stdout!, "data");
    };
    const SOCKET = `
      import { Socket } from "node:net";
      const program = new Socket({ fd: 3, readable: true, writable: true });
    `;
    const isAlive = async (pid: number): Promise<boolean> =>
      !(await readFile(`/proc/${String(pid)}/stat`, "latin1").catch(() => ") Z")).includes(") Z");

    it("gives each connection a process of its own, whose stream to the program is all that it has", async () => {
      await launch(`${SOCKET}
        import { readdirSync, readlinkSync } from "node:fs";
        const files = readdirSync("/proc/self/fd").sort((a, b) => a - b).flatMap((fd) => {
          try { return [[fd, readlinkSync("/proc/self/fd/" + fd)]]; } catch { return []; }
        });
        program.once("data", (said) => {
          program.end(JSON.stringify({ said: String(said), pid: process.pid, env: process.env, files }));
        });
      `);
      const answers = await Promise.all(
        ["one", "two"].map(async (name) => {
          const socket = await connect("verifiers.sock");
          socket.write(name);
          return JSON.parse((await readAll(socket)).toString()) as {
            said: string;
            pid: number;
            env: Record<string, string>;
            files: [string, string][];
          };
        }),
      );
      assert.deepEqual(
        answers.map(({ said }) => said),
        ["one", "two"],
      );
      assert.equal(new Set(answers.map(({ pid }) => pid)).size, 2);
      for (const { env, files } of answers) {
        assert.deepEqual(env, {});
        for (const standard of files.slice(0, 3)) assert.equal(standard[1], "/dev/null");
        const sockets = files.filter(([, to]) => to.startsWith("socket:")).map(([fd]) => fd);
        assert.deepEqual(sockets, ["3"]);
        // All else is Node's own.
        for (const [, to] of files.slice(4)) assert.match(to, /^(anon_inode|pipe):|^\/dev\/null$|^\/proc\//);
      }
    });

    it("kills one that hangs when the program closes its connection", async () => {
      await launch(`${SOCKET}
        process.on("SIGTERM", () => undefined);
        program.write(String(process.pid), () => { for (;;); });
      `);
      const socket = await connect("verifiers.sock");
      const [pid] = (await once(socket, "data")) as [Buffer];
      assert.equal(await isAlive(Number(pid)), true);
      socket.destroy();
      await until("the process is gone", async () => !(await isAlive(Number(pid))));
    });

    it("closes the connection of one that ends or cannot begin, and takes the next", async () => {
      await launch(`${SOCKET} program.once("data", () => process.kill(process.pid, "SIGKILL"));`);
      for (let i = 0; i < 2; i++) {
        const socket = await connect("verifiers.sock");
        socket.write("now");
        assert.equal((await readAll(socket)).length, 0);
      }
      await writeFile(folder.at("verifier.mjs"), "throw new Error()");
      assert.equal((await readAll(await connect("verifiers.sock"))).length, 0);
    });

    it("takes them with it, however hard it is ended", async () => {
      await launch(`${SOCKET} program.write(String(process.pid), () => { for (;;); });`);
      const socket = await connect("verifiers.sock");
      const [pid] = (await once(socket, "data")) as [Buffer];
      await programs!.stop();
      await until("the process is gone", async () => !(await isAlive(Number(pid))));
    });

    describe("who are other users", () => {
      const [PROGRAM, BRIDGE, VERIFIER] = [1000, 1001, 1002];
      const SOCKETS = ["program.sock", "nsm.sock", "verifiers.sock"];
      let program: ChildProcess;
      let attach: string;
      before(function () {
        if (process.getuid?.() !== 0) this.skip();
      });
      /** Names and modes as init.c and the program make them. */
      beforeEach(async () => {
        const run = folder.at("run");
        await mkdir(run);
        await chmod(folder.path, 0o755);
        for (const name of SOCKETS.slice(0, 2)) {
          await folder.serve(`run/${name}`, (socket) => void socket.end("here"));
          await chown(`${run}/${name}`, PROGRAM, name === "program.sock" ? PROGRAM : 0);
          await chmod(`${run}/${name}`, name === "program.sock" ? 0o660 : 0o600);
        }
        await writeFile(folder.at("nsm"), "the device", { mode: 0o600 });
        attach = await programs!.compile("stand-in", "image");
        await chmod(path.dirname(attach), 0o755);
        program = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], {
          ...{ uid: PROGRAM, gid: PROGRAM, stdio: "ignore", env: {} },
        });
        await writeFile(folder.at("verifier.mjs"), PROBE);
        const words = ["verifiers", String(VERIFIER), `${run}/verifiers.sock`];
        const launcher = programs!.start(standIn, ...words, process.execPath, folder.at("verifier.mjs"));
        await once(launcher.stdout!, "data");
        await chown(run, PROGRAM, PROGRAM);
        await chmod(run, 0o750);
      });
      afterEach(() => void program.kill("SIGKILL"));

      /** Tries what somebody would who has taken it over. */
      const PROBE = `
        import { execFileSync } from "node:child_process";
        import { closeSync, openSync, readFileSync } from "node:fs";
        import { createConnection, Socket } from "node:net";
        const program = new Socket({ fd: 3, readable: true, writable: true });
        const codeOf = (run) => { try { run(); return "done"; } catch ({ code }) { return code; } };
        const connect = (at) => new Promise((resolve) => {
          const socket = createConnection(at, () => resolve("done"));
          socket.once("error", ({ code }) => resolve(code));
        });
        program.once("data", async (asked) => {
          const { pid, attach, device, sockets } = JSON.parse(asked);
          const status = readFileSync("/proc/self/status", "utf8");
          program.end(JSON.stringify({
            user: [process.getuid(), process.geteuid(), process.getgid(), process.getegid()],
            status: ["Groups", "NoNewPrivs", "CapEff", "CapPrm"].map((name) =>
              new RegExp("^" + name + ":(.*)$", "m").exec(status)[1].trim()),
            sockets: await Promise.all(sockets.map(connect)),
            signal: codeOf(() => process.kill(pid, "SIGKILL")),
            memory: codeOf(() => closeSync(openSync("/proc/" + pid + "/mem", "r"))),
            attach: String(execFileSync(attach, ["attach", String(pid)])),
            device: codeOf(() => closeSync(openSync(device, "r"))),
          }));
        });
      `;

      it("reach no socket, no device, no memory and no process of the program's", async () => {
        const socket = await connect("run/verifiers.sock");
        const sockets = SOCKETS.map((name) => folder.at(`run/${name}`));
        socket.write(JSON.stringify({ pid: program.pid, attach, device: folder.at("nsm"), sockets }));
        assert.deepEqual(JSON.parse((await readAll(socket)).toString()), {
          user: [VERIFIER, VERIFIER, VERIFIER, VERIFIER],
          status: ["", "1", "0".repeat(16), "0".repeat(16)],
          sockets: SOCKETS.map(() => "EACCES"),
          signal: "EPERM",
          memory: "EACCES",
          attach: String(constants.errno.EPERM),
          device: "EACCES",
        });
        assert.equal(program.exitCode ?? program.signalCode, null);
      });

      it("are had by the program alone", async () => {
        const CONNECT = `require("node:net").createConnection(process.argv[1], () => process.exit(0))
          .on("error", ({ code }) => process.exit(code === "EACCES" ? 13 : 1))`;
        const tried = async (uid: number, gid: number): Promise<unknown> => {
          const words = ["-e", CONNECT, folder.at("run/verifiers.sock")];
          const child = spawn(process.execPath, words, { uid, gid, stdio: "ignore", env: {} });
          return (await once(child, "exit"))[0];
        };
        assert.equal(await tried(PROGRAM, PROGRAM), 0);
        assert.equal(await tried(BRIDGE, PROGRAM), 13);
        assert.equal(await tried(VERIFIER, VERIFIER), 13);
      });
    });
  });

  it("carries a key's whole life: the real program, through the host's bridge and the init's", async () => {
    await copyImage(ENCLAVE_FOLDER, {
      to: folder.at("image"),
      configuration: await developmentConfiguration(),
    });
    await realDevice();
    const hostBridge = await programs!.compile("vsock-bridge", "watched");
    await serve();
    const verifiersPath = folder.at("verifiers.sock");
    const launcher = programs!.start(
      ...[
        standIn,
        "verifiers",
        "1002",
        verifiersPath,
        process.execPath,
        folder.at("image/dist/enclave/verifier.js"),
      ],
    );
    await once(launcher.stdout!, "data");
    // As whoever runs this is the program here, and not user 1000.
    if (process.getuid?.() === 0) await chown(verifiersPath, 0, 0);
    await chmod(folder.path, 0o755);
    const sockets = [folder.at("program.sock"), folder.at("nsm.sock"), verifiersPath];
    const main = folder.at("image/dist/enclave/main.js");
    const program = spawn(process.execPath, [main, ...sockets], { stdio: "ignore", env: {} });
    programs!.start(hostBridge, folder.at("host.sock"), "5000", `unix:${folder.at("listen.sock")}`);
    try {
      let client: FrameClient | undefined;
      await until("the enclave answers", async () => {
        client = await FrameClient.connect(folder.at("host.sock"), { handshake: true }).catch(
          () => undefined,
        );
        const status = await client?.ask({ type: "status" }).catch(() => undefined);
        return status?.type === "status";
      });
      folder.hold(client!.socket);
      const born = await client!.ask({ type: "genesis", challenge: CHALLENGE });
      assert.ok(born.type === "genesis");
      const asked = await client!.ask({ type: "release-request" });
      assert.ok(asked.type === "release-request");
      const { sealedKey, birthCertificate } = born;
      const envelope = releaseTo(asked.document, sealedKey);
      const restored = await client!.ask({ type: "restore", sealedKey, birthCertificate, envelope });
      assert.ok(restored.type === "restore", restored.type === "refused" ? codeOf(restored) : restored.type);
      const status = await client!.ask({ type: "status" });
      assert.deepEqual(status, {
        type: "status",
        phase: "serving",
        signer: restored.signer,
        configurationHash: CONFIGURATION.hash,
        circuitsHash: CONFIGURATION.circuitsHash,
      });
    } finally {
      program.kill("SIGKILL");
    }
  });
});
