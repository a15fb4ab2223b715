// The README's example of the client library is code that the compiler accepts, not prose.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
/** As if it lay beside the README, so that its imports resolve. */
const EXAMPLE = path.join(ROOT, "readme-example.ts");
/** What the reader brings. */
const GIVEN = 'declare const signer: import("./shared/client/index.ts").DepositSigner;\n';

function faultsOf(source: string): string[] {
  const { config } = ts.readConfigFile(path.join(ROOT, "tsconfig.json"), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  const host = ts.createCompilerHost(options);
  const { readFile: read, fileExists } = host;
  host.readFile = (file) => (path.resolve(file) === EXAMPLE ? source : read(file));
  host.fileExists = (file) => path.resolve(file) === EXAMPLE || fileExists(file);
  const types = path.join(ROOT, "shared", "types");
  const program = ts.createProgram(
    [EXAMPLE, ...readdirSync(types).map((file) => path.join(types, file))],
    options,
    host,
  );
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
}

describe("README", function () {
  it("shows an example of the client library that compiles", async () => {
    const [, example] =
      /```ts\n([\s\S]*?)```/.exec(await readFile(path.join(ROOT, "README.md"), "utf8")) ?? [];
    assert.ok(example !== undefined && example.includes("createWallet"));
    assert.deepEqual(faultsOf(GIVEN + example), []);
    const bent = example.replace("wallet.pay(", "wallet.payy(");
    assert.equal(faultsOf(GIVEN + bent).length, 1, "the check can fail");
  });
});
