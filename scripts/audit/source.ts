/**
 * What a reviewer of the enclave has to read: its own files with their lines, and the packages that come with
 * them. Reads the sources, the emitted image and its lock file; judges nothing.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";

export interface SourceFile {
  /** From the root of the tree. */
  readonly file: string;
  /** Lines that hold anything but blanks and comments: of the TypeScript, and of the JavaScript in the image. */
  readonly lines: number;
  readonly emittedLines: number;
}

export interface Package {
  readonly name: string;
  readonly version: string;
  /** Subresource integrity, as the lock file pins it. */
  readonly integrity: string;
}

/** Every file of ours that is in the image in `folder`, which was compiled from `tree`. */
export async function ownFiles(
  tree: string,
  folder: string,
  imageFiles: readonly string[],
): Promise<SourceFile[]> {
  const emitted = imageFiles.filter((file) => /^dist\/.*\.js$/.test(file));
  return Promise.all(
    emitted.map(async (from) => {
      const file = from.replace(/^dist\//, "").replace(/\.js$/, ".ts");
      return {
        file,
        lines: codeLines(await readFile(path.join(tree, file), "utf8"), ts.ScriptKind.TS),
        emittedLines: codeLines(await readFile(path.join(folder, from), "utf8"), ts.ScriptKind.JS),
      };
    }),
  );
}

/** Throws for a package without a hash: it could be another one at the next installation. */
export async function lockedPackages(enclaveFolder: string): Promise<Package[]> {
  const lock = JSON.parse(await readFile(path.join(enclaveFolder, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
  };
  return Object.entries(lock.packages)
    .filter(([where]) => where !== "")
    .map(([where, { version, integrity }]) => {
      const name = where.replace(/^.*node_modules\//, "");
      if (version === undefined || integrity === undefined)
        throw new Error(`${name} is not pinned by a hash`);
      return { name, version, integrity };
    });
}

/** Lines on which a token stands. Comments are no tokens; a template's or a string's lines all count. */
export function codeLines(text: string, kind: ts.ScriptKind): number {
  const source = ts.createSourceFile("file", text, ts.ScriptTarget.Latest, false, kind);
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    const children = node
      .getChildren(source)
      .filter(
        (child) => child.kind < ts.SyntaxKind.FirstJSDocNode || child.kind > ts.SyntaxKind.LastJSDocNode,
      );
    if (children.length === 0 && node.getEnd() > node.getStart(source)) {
      for (let line = lineOf(node.getStart(source)); line <= lineOf(node.getEnd()); line++) lines.add(line);
    }
    children.forEach(visit);
  };
  visit(source);
  return lines.size;
}
