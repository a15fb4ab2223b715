/** Reads the gas wallet's private key from a file that nobody else on the host may read. */
import { readFile, stat } from "node:fs/promises";

/** `0x` and 64 hex digits. The error names the file, never what is in it. */
export async function loadSenderKey(path: string): Promise<string> {
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) throw new Error(`${path}: others may read it; chmod 600`);
  const text = (await readFile(path, "utf8")).trim();
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new Error(`${path}: not 0x and 64 hex digits`);
  return text;
}
