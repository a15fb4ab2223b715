/**
 * Loads chosen modules with a probe at every branch, through TypeScript's own tree, so that the fuzzer
 * sees which places a case reached. Development only; the code that is measured never carries a probe.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import ts from "typescript";
import type * as Probe from "./probe.ts";

const PROBE = fileURLToPath(new URL("./probe.ts", import.meta.url));

export interface Instrumented {
  /** What `entry` exports. */
  readonly exports: Readonly<Record<string, unknown>>;
  readonly probe: typeof Probe;
  readonly probes: number;
  /** Constants of the code: whoever must match one finds it among them. */
  readonly tokens: readonly Uint8Array[];
}

/** `entry` is the text of a module that exports what is to be called; `modules` are the absolute paths that get probes. */
export async function loadInstrumented(entry: string, modules: readonly string[]): Promise<Instrumented> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-fuzz-"));
  let probes = 0;
  const tokens: Uint8Array[] = [];
  try {
    const outfile = path.join(folder, "instrumented.mjs");
    await build({
      stdin: {
        contents: `${entry}\nexport * as probe from ${JSON.stringify(PROBE)};`,
        resolveDir: path.dirname(PROBE),
        loader: "ts",
      },
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      logLevel: "warning",
      plugins: [
        {
          name: "probes",
          setup(bundler) {
            bundler.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
              if (!modules.includes(file)) return undefined;
              const made = withProbes(await readFile(file, "utf8"), probes);
              probes += made.probes;
              tokens.push(...made.tokens);
              return { contents: made.code, loader: "ts", resolveDir: path.dirname(file) };
            });
          },
        },
      ],
    });
    const { probe, ...exports } = (await import(pathToFileURL(outfile).href)) as Record<string, unknown>;
    return { exports, probe: probe as typeof Probe, probes, tokens };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Probed {
  readonly code: string;
  readonly probes: number;
  readonly tokens: readonly Uint8Array[];
}

/** A probe at the head of every block, branch, operand that may be left out, and `else` that is not written. */
export function withProbes(source: string, firstProbe = 0): Probed {
  const tree = ts.createSourceFile("module.ts", source, ts.ScriptTarget.ES2023, true);
  const tokens: Uint8Array[] = [];
  const insertions: Insertion[] = [];
  let probes = 0;
  const visit = (node: ts.Node): void => {
    tokens.push(...tokensOf(node));
    const [opening, closing] = probeAt(node, `__hit(${firstProbe + probes})`);
    if (opening !== undefined) {
      probes += 1;
      insertions.push(opening);
    }
    ts.forEachChild(node, visit);
    // Behind those of what stands inside, which may end at the same place.
    if (closing !== undefined) insertions.push(closing);
  };
  ts.forEachChild(tree, visit);
  let code = `import { hit as __hit } from ${JSON.stringify(PROBE)};\n`;
  let done = 0;
  for (const { at, text } of insertions.sort((a, b) => a.at - b.at)) {
    code += source.slice(done, at) + text;
    done = at;
  }
  return { code: code + source.slice(done), probes, tokens };
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** What is written before and behind the node, or at the head of what it holds. */
function probeAt(node: ts.Node, hit: string): readonly Insertion[] {
  if (ts.isBlock(node) || (ts.isCaseOrDefaultClause(node) && node.statements.length > 0))
    return [{ at: node.statements.pos, text: `${hit};` }];
  const around = (before: string, behind: string): Insertion[] => [
    { at: node.getStart(), text: before },
    { at: node.end, text: behind },
  ];
  if (ts.isIfStatement(node)) return node.elseStatement === undefined ? around("", ` else { ${hit}; }`) : [];
  if (isChosen(node)) return around(`(${hit}, `, ")");
  return isArm(node) ? around(`{ ${hit}; `, " }") : [];
}

/** An expression whose turn depends on another, or the whole of a function. */
function isChosen(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isConditionalExpression(parent)) return parent.whenTrue === node || parent.whenFalse === node;
  if (ts.isBinaryExpression(parent))
    return parent.right === node && SHORT_CIRCUITS.has(parent.operatorToken.kind);
  return ts.isArrowFunction(parent) && parent.body === node;
}

const SHORT_CIRCUITS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

/** The one statement, without braces, of an `if` or a loop. */
function isArm(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isIfStatement(parent)) return parent.thenStatement === node || parent.elseStatement === node;
  return ts.isIterationStatement(parent, false) && parent.statement === node;
}

const MAX_TOKEN_BYTES = 64;

function tokensOf(node: ts.Node): Uint8Array[] {
  if (ts.isNumericLiteral(node)) {
    const value = BigInt(Math.trunc(Number(node.text)));
    const digits = value.toString(16);
    return [Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex")];
  }
  if (!ts.isStringLiteralLike(node) || node.text === "" || node.text.length > 2 * MAX_TOKEN_BYTES) return [];
  const isHex = /^(0x)?([0-9a-f]{2})+$/.test(node.text);
  return [isHex ? Buffer.from(node.text.replace(/^0x/, ""), "hex") : Buffer.from(node.text)];
}
