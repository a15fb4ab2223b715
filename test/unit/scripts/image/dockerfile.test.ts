// The image's Dockerfile as text, since no test here can run it: what comes in, from where, and what is left.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { PROGRAM_NAMES, PROGRAMS } from "../../../../scripts/image/measurement.ts";
import { PROJECT_ROOT, sourceFiles } from "../../../support/tree.ts";

const BASE =
  "node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0";

const read = (file: string): Promise<string> => readFile(path.join(PROJECT_ROOT, "enclave", file), "utf8");

describe("enclave/Dockerfile", () => {
  let instructions: (readonly [name: string, rest: string])[];
  before(async () => {
    const text = (await read("Dockerfile")).replaceAll(/^#.*\n/gm, "").replaceAll("\\\n", " ");
    instructions = text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1).trim()] as const);
  });
  const all = (name: string): string[] =>
    instructions.filter(([found]) => found === name).map(([, rest]) => rest);

  it("starts from one image, named by its digest, and leaves nothing of it but what is copied", () => {
    assert.deepEqual(all("FROM"), [
      `${BASE} AS build`,
      ...PROGRAM_NAMES.map((name) => `build AS build-${name}`),
      ...PROGRAM_NAMES.map((name) => `scratch AS ${name}`),
    ]);
    const last = instructions.slice(instructions.findIndex(([, rest]) => rest.startsWith("scratch")));
    assert.deepEqual(
      last,
      PROGRAM_NAMES.flatMap((name) => [
        ["FROM", `scratch AS ${name}`],
        ["COPY", `--from=build-${name} /boot/cloister/ /boot/`],
        ["COPY", `--from=build-${name} /image/ /image/`],
      ]),
    );
  });

  it("leaves out of each program's image what the other alone has, as every other way to an image does", () => {
    const programs = all("RUN").slice(-PROGRAM_NAMES.length);
    for (const [i, name] of PROGRAM_NAMES.entries()) {
      const [, removed = ""] = /&& cd \/image\/enclave\s+&& rm -r (.*)$/.exec(programs[i] ?? "") ?? [];
      assert.deepEqual(removed.split(/\s+/), PROGRAMS[name].without);
    }
  });

  it("takes in the enclave, the protocol and what building needs; the configuration from beside the tree", () => {
    assert.deepEqual(all("COPY").slice(0, -4), [
      "package.json package-lock.json tsconfig.json ./",
      "enclave/package.json enclave/package-lock.json enclave/",
      "enclave/*.ts enclave/bn254.wasm enclave/tsconfig.json enclave/",
      "enclave/init/ enclave/init/",
      "enclave/second/ enclave/second/",
      "shared/protocol/ shared/protocol/",
      "shared/types/webassembly.d.ts shared/types/",
      "--from=configuration configuration.json /image/enclave/",
    ]);
  });

  it("knows these instructions only: nothing is fetched by an address, passed in, or run later", () => {
    assert.deepEqual([...new Set(instructions.map(([name]) => name))].sort(), [
      "COPY",
      "ENV",
      "FROM",
      "RUN",
      "WORKDIR",
    ]);
    assert.deepEqual(all("ENV"), ["SOURCE_DATE_EPOCH=0 LC_ALL=C"]);
    const run = all("RUN").join("\n");
    assert.doesNotMatch(
      run,
      /curl|wget|git |ssh|--mount|secret|token|password|npm (install|i|run|exec)|npx/i,
    );
    assert.deepEqual(run.match(/https?:\/\/\S+/g), [
      "http://snapshot.debian.org/archive/${suite%:*}/20261101T000000Z",
    ]);
    assert.deepEqual(run.match(/npm ci[^&]*--ignore-scripts/g)?.length, run.match(/npm /g)?.length);
    assert.match(run, /npm ci --prefix enclave --omit=dev /);
  });

  it("compiles the init with the flags that are tested here", async () => {
    const sources = "-o /boot/cloister/init enclave/init/init.c enclave/init/bridge.c";
    assert.deepEqual(
      all("RUN").flatMap((run) => /gcc @.*\.c /.exec(run)?.[0].trim() ?? []),
      PROGRAM_NAMES.map(
        (name) => `gcc @enclave/init/compile.args -include enclave/init/${name}.h ${sources}`,
      ),
    );
    const flags = (await read("init/compile.args")).trim().split(/\s+/);
    for (const flag of ["-static-pie", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"])
      assert.ok(flags.includes(flag), flag);
    assert.deepEqual(await sourceFiles(PROJECT_ROOT, "enclave/init"), [
      "enclave/init/bridge.c",
      "enclave/init/bridge.h",
      "enclave/init/compile.args",
      "enclave/init/first.h",
      "enclave/init/init.c",
      "enclave/init/second.h",
    ]);
  });

  it("is sent nothing that it does not copy", async () => {
    const lines = (await read("Dockerfile.dockerignore")).split("\n").filter((line) => /^[^#]/.test(line));
    assert.equal(lines[0], "*");
    const sent = lines.slice(1).map((line) => line.replace(/^!/, ""));
    assert.ok(lines.slice(1).every((line) => line.startsWith("!")));
    const copied = all("COPY")
      .slice(0, -5)
      .flatMap((rest) => rest.split(" ").slice(0, -1))
      .map((source) => source.replace(/\/$/, ""));
    assert.deepEqual(sent.sort(), copied.sort());
  });
});
