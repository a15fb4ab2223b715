// What a container file would put into its image, made without an engine: the sources of its last stage's COPY lines, less
// what its list of exceptions keeps out. Packages are not copied: whoever needs them says how.
import { cp, readFile } from "node:fs/promises";
import path from "node:path";
import { PROJECT_ROOT } from "./tree.ts";

export interface Copied {
  readonly from: string;
  readonly to: string;
}

/** Of the repository's files; what comes out of an earlier stage is left out. */
export function copiesOf(stage: string): readonly Copied[] {
  return [...stage.matchAll(/^COPY (?!--)(.+) (\S+)$/gm)].flatMap(([, sources = "", to = ""]) =>
    sources.split(" ").map((from) => ({ from, to })),
  );
}

/** The stages of a container file, each without its FROM. */
export async function stagesOf(dockerfile: string): Promise<readonly string[]> {
  const text = await readFile(path.join(PROJECT_ROOT, dockerfile), "utf8");
  return text.split(/^FROM /m).slice(1);
}

/** Makes the last stage's tree in `folder`. */
export async function makeTree(dockerfile: string, folder: string): Promise<void> {
  const last = (await stagesOf(dockerfile)).at(-1) ?? "";
  for (const { from, to } of copiesOf(last)) {
    const target = to === "./" ? path.join(folder, from) : path.join(folder, to);
    await cp(path.join(PROJECT_ROOT, from), target, {
      recursive: true,
      filter: (file) =>
        !/(^|\/)(node_modules|dist|\.cloister)(\/|$)|\.zkey$/.test(file.slice(PROJECT_ROOT.length)),
    });
  }
}
