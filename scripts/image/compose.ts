/**
 * Puts the image file together from a kernel and what was built: which file lies in which ramdisk decides which
 * register covers it. The same parts give the same bytes.
 */
import { writeEif } from "./eif.ts";
import { makeRamdisk, type RamdiskEntry } from "./ramdisk.ts";

export interface Kernel {
  readonly kernel: Uint8Array;
  readonly cmdline: Uint8Array;
  /** The driver of the security module, where the kernel has it not in itself. */
  readonly module: Uint8Array | undefined;
}

export interface ImageParts extends Kernel {
  /** The init. PCR1 covers it, with the kernel. */
  readonly boot: readonly RamdiskEntry[];
  /** Node, its libraries, the program. PCR2 covers it. */
  readonly program: readonly RamdiskEntry[];
}

/** The init mounts these. */
const MOUNTED = ["dev", "proc", "run", "sys"];

export function composeEif({ kernel, cmdline, module, boot, program }: ImageParts): Buffer {
  const first = [
    ...boot,
    ...MOUNTED.map((name) => ({ name })),
    ...(module ? [{ name: "nsm.ko", content: module }] : []),
  ];
  return writeEif({
    architecture: "x86_64",
    sections: [
      { type: "kernel", content: kernel },
      { type: "cmdline", content: cmdline },
      { type: "metadata", content: metadata() },
      { type: "ramdisk", content: makeRamdisk(first) },
      { type: "ramdisk", content: makeRamdisk(program) },
    ],
  });
}

/** What nitro-cli shows; not measured. Nothing in it changes from one build to the next. */
function metadata(): Buffer {
  return Buffer.from(
    JSON.stringify({
      ImageName: "cloister-enclave",
      ImageVersion: "1",
      BuildMetadata: {
        BuildTime: "1970-01-01T00:00:00+00:00",
        BuildTool: "cloister",
        BuildToolVersion: "1",
        OperatingSystem: "Linux",
        KernelVersion: "see bzImage",
      },
      DockerInfo: null,
      CustomMetadata: null,
    }),
  );
}
