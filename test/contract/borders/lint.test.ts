// What import rules cannot see (globals, computed imports, random numbers) is forbidden by ESLint.
// Each restriction is planted in a skeleton and must be reported, also where a comment denies it.
import assert from "node:assert/strict";
import { readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { ESLint } from "eslint";
import { PROJECT_ROOT, plantTree } from "../../support/tree.ts";

interface Plant {
  readonly file: string;
  readonly rule: string;
  readonly code: string;
}

const GLOBALS: Record<string, string> = {
  globalThis: "export const seen = globalThis;",
  global: "export const seen = global;",
  fetch: 'export const seen = fetch("https://example.org/");',
  process: "export const seen = process.env;",
  console: 'console.log("seen");\nexport {};',
  Date: "export const seen = Date.now();",
  performance: "export const seen = performance.now();",
  setTimeout: "export const seen = setTimeout(() => undefined, 1);",
  setInterval: "export const seen = setInterval(() => undefined, 1);",
  WebSocket: "export const seen = WebSocket;",
  crypto: "export const seen = crypto;",
  require: 'export const seen: unknown = require("node:http");',
  WebAssembly: "export const seen = WebAssembly;",
};

const MEASURED_PLANTS: readonly [name: string, rule: string, code: string][] = [
  ...Object.entries(GLOBALS).map(([name, code]): [string, string, string] => [
    name,
    "no-restricted-globals",
    code,
  ]),
  ["disabled", "no-restricted-globals", "// eslint-disable-next-line\nexport const seen = process.env;"],
  ["random", "no-restricted-properties", "export const seen = Math.random();"],
  ["constructor", "no-restricted-properties", 'export const seen = "".constructor;'],
  ["eval", "no-eval", 'export const seen: unknown = eval("1");'],
  ["function", "no-new-func", 'export const seen = new Function("return 1");'],
  ["computed-import", "no-restricted-syntax", "export const seen = (name: string) => import(name);"],
  ["import-meta", "no-restricted-syntax", "export const seen = import.meta.url;"],
];

const PLANTED: readonly Plant[] = [
  ...["enclave", "shared/protocol"].flatMap((folder) =>
    MEASURED_PLANTS.map(([name, rule, code]): Plant => ({ file: `${folder}/${name}.ts`, rule, code })),
  ),
  // The exceptions are for named globals in named files, not for the files.
  { file: "enclave/run.ts", rule: "no-restricted-globals", code: GLOBALS["fetch"]! },
  { file: "enclave/nitro.ts", rule: "no-restricted-globals", code: GLOBALS["globalThis"]! },
  { file: "enclave/main.ts", rule: "no-restricted-globals", code: GLOBALS["process"]! },
  { file: "enclave/second/process.ts", rule: "no-restricted-globals", code: GLOBALS["process"]! },
  { file: "enclave/second/judge/judge.ts", rule: "no-restricted-globals", code: GLOBALS["process"]! },
  {
    file: "enclave/nested/run.ts",
    rule: "no-restricted-globals",
    code: GLOBALS["process"]!,
  },

  { file: "proxy/random.ts", rule: "no-restricted-properties", code: "export const seen = Math.random();" },
  {
    file: "scripts/lab/random.ts",
    rule: "no-restricted-properties",
    code: "const { random } = Math;\nexport { random };",
  },
  { file: "proxy/console.ts", rule: "no-console", code: GLOBALS["console"]! },
  { file: "shared/notes/console.ts", rule: "no-console", code: GLOBALS["console"]! },
  {
    file: "proxy/floating.ts",
    rule: "@typescript-eslint/no-floating-promises",
    code: "const later = async () => 1;\nlater();",
  },
  {
    file: "test/sleeping.ts",
    rule: "no-restricted-syntax",
    code: "export const seen = new Promise((resolve) => setTimeout(resolve, 300));",
  },
  {
    file: "test/sleeping-otherwise.ts",
    rule: "no-restricted-syntax",
    code: 'import { setTimeout as sleep } from "node:timers/promises";\nexport const seen = sleep(300);',
  },
  {
    file: "test/elapsed.ts",
    rule: "no-restricted-syntax",
    code: "export const seen = (at: number): boolean => performance.now() - at < 1_000;",
  },
  {
    file: "test/elapsed-otherwise.ts",
    rule: "no-restricted-syntax",
    code: "export const seen = (step: { ms: number }): boolean => step.ms < 1_000;",
  },
  {
    file: "test/memory.ts",
    rule: "no-restricted-syntax",
    code: "export const seen = process.memoryUsage();",
  },
  ...[
    "export const seen = { timeoutMs: 5_000 };",
    "export const seen = (deadlineMs = 10_000): number => deadlineMs;",
    "export const READY_WITHIN_MS = 20000;",
  ].map((code, i) => ({ file: `test/faults/seeded/limit-${i}.ts`, rule: "no-restricted-syntax", code })),
  {
    file: "test/floating.ts",
    rule: "@typescript-eslint/no-floating-promises",
    code: "const later = async () => 1;\nlater();",
  },
  {
    file: "proxy/misused.ts",
    rule: "@typescript-eslint/no-misused-promises",
    code: "[1].forEach(async () => 1);",
  },
  {
    file: "proxy/switch.ts",
    rule: "@typescript-eslint/switch-exhaustiveness-check",
    code: [
      'export function seen(kind: "a" | "b"): number {',
      '  switch (kind) { case "a": return 1; default: return 2; }',
      "}",
    ].join("\n"),
  },
  { file: "proxy/any.ts", rule: "@typescript-eslint/no-explicit-any", code: "export const seen: any = 1;" },
  {
    file: "proxy/silenced.ts",
    rule: "@typescript-eslint/ban-ts-comment",
    code: '// @ts-expect-error because\nexport const seen: number = "1";',
  },
  {
    file: "proxy/types.ts",
    rule: "@typescript-eslint/consistent-type-imports",
    code: 'import { Server } from "node:net";\nexport type Seen = Server;',
  },
];

const ALLOWED: readonly (readonly [file: string, code: string])[] = [
  ["enclave/plain.ts", "export const seen = 1;\n"],
  ["test/random.ts", "export const seen = Math.random();\n"],
  ["test/runs-out.ts", "export const seen = { timeoutMs: 300 };\n"],
];

describe("borders: planted lint faults", () => {
  let reported: Map<string, ESLint.LintResult>;
  let removeTree: () => Promise<void>;

  before(async function () {
    const copied = await Promise.all(
      ["eslint.config.js", "tsconfig.json", "package.json"].map(
        async (name) => [name, await readFile(path.join(PROJECT_ROOT, name), "utf8")] as const,
      ),
    );
    const planted = PLANTED.map(({ file, code }) => [file, `${code}\n`] as const);
    const tree = await plantTree(new Map([...copied, ...planted, ...ALLOWED]));
    removeTree = tree.remove;
    await symlink(path.join(PROJECT_ROOT, "node_modules"), path.join(tree.root, "node_modules"), "dir");
    const results = await new ESLint({ cwd: tree.root }).lintFiles(["."]);
    reported = new Map(
      results.map((result) => [path.relative(tree.root, result.filePath).replaceAll(path.sep, "/"), result]),
    );
  });
  after(() => removeTree());

  for (const { file, rule } of PLANTED) {
    it(`${rule} reports ${file}`, () => {
      const messages = reported.get(file)?.messages ?? [];
      assert.ok(
        messages.some((message) => message.ruleId === rule && message.severity === 2),
        `reported instead: ${messages.map(({ ruleId, message }) => `${ruleId ?? "parser"}: ${message}`).join("; ")}`,
      );
    });
  }

  for (const [file] of ALLOWED) {
    it(`says nothing about ${file}`, () => {
      assert.deepEqual(reported.get(file)?.messages, []);
    });
  }
});
