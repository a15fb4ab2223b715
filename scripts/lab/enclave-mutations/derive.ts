// Ways to weaken the measured code, read from its syntax tree: each check dropped, each condition bent, each constant
// moved, one at a time. The same sources give the same mutants, and an edit elsewhere in a file changes no id.
import { createHash } from "node:crypto";
import ts from "typescript";

export type Operator =
  | "drop-guard"
  | "drop-throw"
  | "negate"
  | "swap-comparison"
  | "keep-left"
  | "keep-right"
  | "off-by-one"
  | "flip-boolean"
  | "drop-element";

export interface Mutant {
  /** `file function operator hash`, and the ordinal among equal ones. */
  readonly id: string;
  /** From the project's root. */
  readonly file: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
  /** The whole mutated file. */
  readonly source: string;
}

type Edit = readonly [operator: Operator, node: ts.Node, after: string];

const COMPARISONS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.LessThanToken]: "<=",
  [ts.SyntaxKind.LessThanEqualsToken]: "<",
  [ts.SyntaxKind.GreaterThanToken]: ">=",
  [ts.SyntaxKind.GreaterThanEqualsToken]: ">",
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: "!==",
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: "===",
};

/** In the order of the text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const seen = new Map<string, number>();
  const mutants: Mutant[] = [];
  const visit = (node: ts.Node): void => {
    // What only the compiler reads, and names of modules.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    for (const [operator, target, after] of editsAt(node)) {
      const [start, end] = [target.getStart(tree), target.getEnd()];
      const before = text.slice(start, end);
      const words = `${file} ${placeOf(node)} ${operator} ${hashOf(before)}`;
      const count = (seen.get(words) ?? 0) + 1;
      seen.set(words, count);
      mutants.push({
        id: count === 1 ? words : `${words}#${String(count)}`,
        file,
        line: tree.getLineAndCharacterOfPosition(start).line + 1,
        before,
        after,
        source: text.slice(0, start) + after + text.slice(end),
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return mutants;
}

function editsAt(node: ts.Node): Edit[] {
  if (ts.isIfStatement(node)) {
    return isGuard(node)
      ? [["drop-guard", node, ";"]]
      : [["negate", node.expression, negated(node.expression)]];
  }
  if (ts.isThrowStatement(node)) return isGuardsOwn(node) ? [] : [["drop-throw", node, ";"]];
  if (ts.isConditionalExpression(node)) return [["negate", node.condition, negated(node.condition)]];
  if (ts.isBinaryExpression(node)) return binaryEdits(node);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [["flip-boolean", node, "false"]];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [["flip-boolean", node, "true"]];
  if (ts.isNumericLiteral(node) || ts.isBigIntLiteral(node)) {
    return ts.isPropertyAssignment(node.parent) && node.parent.name === node
      ? []
      : [["off-by-one", node, `(${node.getText()} + 1${ts.isBigIntLiteral(node) ? "n" : ""})`]];
  }
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 1) {
    return node.elements.map((element): Edit => ["drop-element", element, "...[]"]);
  }
  return [];
}

function binaryEdits(node: ts.BinaryExpression): Edit[] {
  const { left, right, operatorToken, parent } = node;
  const { kind } = operatorToken;
  if (kind === ts.SyntaxKind.AmpersandAmpersandToken || kind === ts.SyntaxKind.BarBarToken) {
    return [
      ["keep-left", node, left.getText()],
      ["keep-right", node, right.getText()],
    ];
  }
  const other = COMPARISONS[kind];
  // A guard that compares and nothing else is dropped already: turning it round says no more.
  const isWholeGuard = ts.isIfStatement(parent) && isGuard(parent);
  if (other === undefined || (isWholeGuard && other.endsWith("=="))) return [];
  return [["swap-comparison", operatorToken, other]];
}

/** Leaves the way it is on, and has no other. */
function isGuard({ thenStatement, elseStatement }: ts.IfStatement): boolean {
  const last = ts.isBlock(thenStatement) ? thenStatement.statements.at(-1) : thenStatement;
  const leaves =
    last !== undefined &&
    (ts.isReturnStatement(last) || ts.isThrowStatement(last) || ts.isBreakOrContinueStatement(last));
  return leaves && elseStatement === undefined;
}

function isGuardsOwn({ parent }: ts.Node): boolean {
  const statement = ts.isBlock(parent) ? parent.parent : parent;
  return ts.isIfStatement(statement) && isGuard(statement);
}

const negated = (condition: ts.Expression): string => `!(${condition.getText()})`;

/** Functions, methods and constants around it, outermost first. */
function placeOf(node: ts.Node): string {
  const names: string[] = [];
  for (let at = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isConstructorDeclaration(at)) names.unshift("constructor");
    else if (
      ts.isFunctionDeclaration(at) ||
      ts.isClassDeclaration(at) ||
      ts.isMethodDeclaration(at) ||
      ts.isGetAccessorDeclaration(at) ||
      (ts.isVariableDeclaration(at) && ts.isIdentifier(at.name))
    )
      names.unshift(at.name?.getText() ?? "default");
  }
  return names.join(".") || "module";
}

/** Spaces aside: formatting makes no other mutant. */
function hashOf(text: string): string {
  return createHash("sha256").update(text.replaceAll(/\s+/g, " ")).digest("hex").slice(0, 8);
}
