// The host's service files against each other and against what the enclave listens on.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { ENCLAVE_PORT } from "../../../../shared/protocol/host/enclave-host.ts";
import { PROJECT_ROOT, sourceFiles } from "../../../support/tree.ts";

const read = (file: string): Promise<string> => readFile(path.join(PROJECT_ROOT, file), "utf8");
const host = (file: string): Promise<string> => read(`scripts/image/host/${file}`);
/** What comes after `name`, up to the next space or quote. */
const after = (text: string, name: string): string =>
  new RegExp(`${name}[ =:]+([^\\s"';]+)`).exec(text)?.[1] ?? `no ${name}`;

describe("scripts/image/host", () => {
  it("runs the enclave at the address to which the bridge connects, on the port it listens on", async () => {
    const [enclave, bridge] = [
      await host("cloister-enclave.service"),
      await host("cloister-vsock-bridge.service"),
    ];
    const start = /^ExecStart=\S+ (\S+) (\d+) vsock:(\d+)$/m.exec(bridge);
    assert.ok(start);
    assert.equal(start[3], after(enclave, "--enclave-cid"));
    assert.equal(start[2], String(ENCLAVE_PORT));
    assert.match(
      await read("enclave/init/init.c"),
      new RegExp(`#define VSOCK_PORT ${String(ENCLAVE_PORT)}\\n`),
    );
    const setting = `CLOISTER_ENCLAVES=unix:${String(start[1])}:${String(ENCLAVE_PORT)}`;
    for (const text of [bridge, await read("scripts/image/README.md")]) assert.ok(text.includes(setting));
  });

  it("asks for no more than the allocator keeps, and never for debug mode", async () => {
    const [enclave, allocator] = [await host("cloister-enclave.service"), await host("allocator.yaml")];
    assert.ok(Number(after(enclave, "--memory")) <= Number(after(allocator, "memory_mib")));
    assert.ok(Number(after(enclave, "--cpu-count")) <= Number(after(allocator, "cpu_count")));
    const commands = (enclave.match(/^Exec.*$/gm) ?? []).join("\n");
    assert.equal(commands.match(/--enclave-name cloister/g)?.length, 2);
    assert.doesNotMatch(commands, /debug|console/);
  });

  it("every file of it is named in the steps", async () => {
    const steps = await read("scripts/image/README.md");
    const files = await sourceFiles(PROJECT_ROOT, "scripts/image/host");
    assert.ok(files.length >= 4);
    for (const file of files) assert.ok(steps.includes(path.basename(file)), file);
  });
});
