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
  let probes = 0;
  const { transformed } = ts.transform(tree, [
    (context) => {
      const { factory } = context;
      const hit = (): ts.Expression =>
        factory.createCallExpression(factory.createIdentifier("__hit"), undefined, [
          factory.createNumericLiteral(firstProbe + probes++),
        ]);
      const statement = (): ts.Statement => factory.createExpressionStatement(hit());
      const probed = (expression: ts.Expression): ts.Expression =>
        factory.createParenthesizedExpression(factory.createComma(hit(), expression));

      const visit = (node: ts.Node): ts.Node => {
        tokens.push(...tokensOf(node));
        const seen = ts.visitEachChild(node, visit, context);
        if (ts.isBlock(seen)) return factory.updateBlock(seen, [statement(), ...seen.statements]);
        if (ts.isCaseOrDefaultClause(seen) && seen.statements.length > 0) {
          const statements = [statement(), ...seen.statements];
          return ts.isCaseClause(seen)
            ? factory.updateCaseClause(seen, seen.expression, statements)
            : factory.updateDefaultClause(seen, statements);
        }
        if (ts.isIfStatement(seen)) {
          const other = seen.elseStatement ?? factory.createBlock([statement()]);
          return factory.updateIfStatement(seen, seen.expression, seen.thenStatement, other);
        }
        if (ts.isConditionalExpression(seen)) {
          const { condition, questionToken, whenTrue, colonToken, whenFalse } = seen;
          return factory.updateConditionalExpression(
            seen,
            condition,
            questionToken,
            probed(whenTrue),
            colonToken,
            probed(whenFalse),
          );
        }
        if (ts.isBinaryExpression(seen) && SHORT_CIRCUITS.has(seen.operatorToken.kind))
          return factory.updateBinaryExpression(seen, seen.left, seen.operatorToken, probed(seen.right));
        if (isArm(node) && ts.isStatement(seen)) return factory.createBlock([statement(), seen]);
        if (ts.isArrowFunction(node.parent) && node.parent.body === node)
          return probed(seen as ts.Expression);
        return seen;
      };
      return (file) => ts.visitEachChild(file, visit, context);
    },
  ]);
  const code = `import { hit as __hit } from ${JSON.stringify(PROBE)};\n${ts.createPrinter().printFile(transformed[0]!)}`;
  return { code, probes, tokens };
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
