/** What schemas say for the OpenAPI document, `x.meta(…)` and `x.describe(…)`, checks nothing: a third of their bytes. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Plugin } from "esbuild";
import ts from "typescript";

/** The folder of schemas that are described, and that browsers load. */
const DESCRIBED = path.resolve(import.meta.dirname, "../../shared/api");

/** Of the compiler: leaves them out of those schemas. */
export const withoutDescriptions: ts.TransformerFactory<ts.SourceFile> = (context) => (source) => {
  if (!path.resolve(source.fileName).startsWith(DESCRIBED + path.sep)) return source;
  const visit = (node: ts.Node): ts.Node =>
    ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    ["meta", "describe"].includes(node.expression.name.text)
      ? visit(node.expression.expression)
      : ts.visitEachChild(node, visit, context);
  return ts.visitNode(source, visit) as ts.SourceFile;
};

/** The same for what esbuild puts together. */
export const bundledWithoutDescriptions: Plugin = {
  name: "without-descriptions",
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]shared[\\/]api[\\/].*\.ts$/ }, async ({ path: file }) => {
      const source = ts.createSourceFile(file, await readFile(file, "utf8"), ts.ScriptTarget.Latest, true);
      const { transformed } = ts.transform(source, [withoutDescriptions]);
      return { contents: ts.createPrinter().printFile(transformed[0]!), loader: "ts" };
    });
  },
};
