// An image file as the builder makes it, for a machine that is emulated: our init, our program, Node and its libraries,
// put together by the builder's own code. Other than in an image for Nitro are the kernel, which is Debian's, and a
// first process that loads what that kernel has as modules (first.c).
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { buildImage } from "../../../scripts/image/assemble.ts";
import { composeEif } from "../../../scripts/image/compose.ts";
import type { ProgramName } from "../../../scripts/image/measurement.ts";
import { entriesOf } from "../../../scripts/image/ramdisk.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

/** AWS's, but for `rdinit`, which names the first process. */
const CMDLINE = "reboot=k panic=30 pci=off nomodules console=ttyS0 random.trust_cpu=on rdinit=/first";
const NODE_IN_IMAGE = "usr/local/bin/node";

const run = promisify(execFile);

export interface ImageOptions {
  /** Of test/boot/machine/make.sh. */
  readonly machine: string;
  /** Text of configuration.json. */
  readonly configuration: string;
  /** For what goes into the ramdisks; made here. */
  readonly folder: string;
  readonly program: ProgramName;
}

export interface TestImage {
  /** Of the program in the second ramdisk, before it is put together. */
  readonly enclaveFolder: string;
  /** The image file of what the folders hold now. */
  file(): Promise<Buffer>;
}

/** Of the sources of this tree and the Node that runs this. */
export async function testImage({
  machine,
  configuration,
  folder,
  program: name,
}: ImageOptions): Promise<TestImage> {
  const [boot, program] = [path.join(folder, "boot"), path.join(folder, "image")];
  const enclaveFolder = path.join(program, "enclave");
  await mkdir(boot, { recursive: true });
  const header = path.join(PROJECT_ROOT, `enclave/init/${name}.h`);
  await compile(
    path.join(boot, "init"),
    ["-include", header],
    "enclave/init/init.c",
    "enclave/init/bridge.c",
  );
  await compile(path.join(boot, "first"), [], "test/boot/machine/first.c");
  const modules = path.join(machine, "modules");
  await cp(modules, path.join(boot, "modules"), { recursive: true });
  await rm(path.join(boot, "modules/nsm.ko"));

  await buildImage({ to: enclaveFolder, program: name, configuration });
  await cp(process.execPath, path.join(program, NODE_IN_IMAGE), { dereference: true });
  for (const library of await librariesOf(process.execPath))
    await cp(library, path.join(program, library), { dereference: true });

  return {
    enclaveFolder,
    file: async () =>
      composeEif({
        kernel: await readFile(path.join(machine, "bzImage")),
        cmdline: Buffer.from(CMDLINE),
        module: await readFile(path.join(modules, "nsm.ko")),
        boot: await entriesOf(boot),
        program: await entriesOf(program),
      }),
  };
}

async function compile(to: string, flags: readonly string[], ...sources: string[]): Promise<void> {
  const inTree = (file: string): string => path.join(PROJECT_ROOT, file);
  await run("cc", [`@${inTree("enclave/init/compile.args")}`, ...flags, "-o", to, ...sources.map(inTree)]);
}

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run("ldd", [program]);
  return [...stdout.matchAll(/\/\S+/g)].map(([file]) => file);
}
