// What is wrong with the pictures of a tree and with the guides that show them.
import { readFile } from "node:fs/promises";
import path from "node:path";
import { sourceFiles } from "./tree.ts";

export interface PictureRules {
  /** Folder of pictures to the names of what lies in it, without their ending. */
  readonly named: ReadonlyMap<string, readonly string[]>;
  readonly mostBytes: number;
  /** Of all together. */
  readonly mostInAll: number;
}

interface Shown {
  readonly guide: string;
  /** From the root. */
  readonly file: string;
  readonly alt: string;
}

const ENDING = ".webp";
/** An alternative text says what is seen; fewer words name the picture at most. */
const LEAST_ALT_WORDS = 4;
const PARTS = ["enclave", "proxy", "scripts", "shared", "test"];

export async function pictureFaults(root: string, rules: PictureRules): Promise<string[]> {
  const files = await filesOf(root);
  const shown = (
    await Promise.all(files.filter((file) => file.endsWith(".md")).map((guide) => shownBy(root, guide)))
  ).flat();
  const wanted = [...rules.named].flatMap(([folder, names]) =>
    names.map((name) => `${folder}/${name}${ENDING}`),
  );
  const held = files.filter((file) => rules.named.has(path.posix.dirname(file)));
  const images = await Promise.all(held.map((file) => imageFaults(root, file, rules.mostBytes)));
  const inAll = images.reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    ...wanted.filter((file) => !held.includes(file)).map((file) => `${file}: is named, and is not there`),
    ...held
      .filter((file) => !wanted.includes(file))
      .map((file) => `${file}: is there, and no suite names it`),
    ...held
      .filter((file) => !shown.some((one) => one.file === file))
      .map((file) => `${file}: no guide shows it`),
    ...shown
      .filter(({ file }) => !files.includes(file))
      .map(({ guide, file }) => `${guide}: shows ${file}, which is not there`),
    ...shown
      .filter(({ alt }) => alt.split(/\s+/).length < LEAST_ALT_WORDS)
      .map(({ guide, file }) => `${guide}: does not say what is seen in ${file}`),
    ...images.flatMap(({ faults }) => faults),
    ...(inAll > rules.mostInAll ? [`all pictures have ${String(inAll)} bytes`] : []),
  ];
}

async function filesOf(root: string): Promise<string[]> {
  const parts = await Promise.all(PARTS.map((part) => sourceFiles(root, part).catch(() => [])));
  return ["README.md", ...parts.flat()];
}

async function shownBy(root: string, guide: string): Promise<Shown[]> {
  const text = await readFile(path.join(root, guide), "utf8");
  return [...text.matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)]
    .filter(([, , target = ""]) => !/^[a-z]+:/.test(target))
    .map(([, alt = "", target = ""]) => ({
      ...{ guide, alt },
      file: path.posix.normalize(path.posix.join(path.posix.dirname(guide), target)),
    }));
}

async function imageFaults(
  root: string,
  file: string,
  mostBytes: number,
): Promise<{ bytes: number; faults: string[] }> {
  const bytes = await readFile(path.join(root, file));
  const isWebP =
    bytes.toString("latin1", 0, 4) === "RIFF" &&
    bytes.toString("latin1", 8, 12) === "WEBP" &&
    bytes.readUInt32LE(4) + 8 === bytes.length;
  return {
    bytes: bytes.length,
    faults: [
      ...(isWebP ? [] : [`${file}: is no whole WebP picture`]),
      ...(bytes.length > mostBytes ? [`${file}: has ${String(bytes.length)} bytes`] : []),
    ],
  };
}
