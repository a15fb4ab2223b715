/**
 * The proxy's three secrets, each in a file of its own that only the proxy's user may read: the key ring of session
 * tokens, the pepper of API keys and the gas wallet's private key. Reading refuses a file that others can read.
 */
import { randomBytes } from "node:crypto";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { KeyRing } from "./session-tokens.ts";

const SECRET = /^0x([0-9a-fA-F]{2}){32}$/;

const ringShape = z.strictObject({
  current: z.string().regex(/^[a-z0-9]{1,16}$/),
  keys: z.record(z.string().regex(/^[a-z0-9]{1,16}$/), z.string().regex(SECRET)),
});

/** `{"current": "k1", "keys": {"k1": "0x…"}}`: add a key, make it current, drop the old one after the longest ttl. */
export async function loadKeyRing(path: string): Promise<KeyRing> {
  const text = await readSecret(path);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw new Error(`${path}: not JSON`);
  }
  const ring = ringShape.safeParse(json);
  if (!ring.success || ring.data.keys[ring.data.current] === undefined) {
    throw new Error(`${path}: not a key ring with its current key`);
  }
  const keys = Object.entries(ring.data.keys).map(([id, hex]) => [id, bytesOf(hex)] as const);
  return { current: ring.data.current, keys: new Map(keys) };
}

export async function loadPepper(path: string): Promise<Uint8Array> {
  return bytesOf(await loadSecret(path));
}

/** `0x` and 64 hex digits. The error names the file, never what is in it. */
export async function loadSecret(path: string): Promise<string> {
  const text = (await readSecret(path)).trim();
  if (!SECRET.test(text)) throw new Error(`${path}: not 0x and 64 hex digits`);
  return text;
}

/** For start scripts and operators. Never overwrites: a new pepper would make every key void. */
export async function createKeyRing(path: string): Promise<void> {
  const ring = { current: "k1", keys: { k1: newSecret() } };
  await writeSecret(path, `${JSON.stringify(ring, undefined, 2)}\n`);
}

export async function createPepper(path: string): Promise<void> {
  await writeSecret(path, `${newSecret()}\n`);
}

async function readSecret(path: string): Promise<string> {
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) throw new Error(`${path}: others may read it; chmod 600`);
  return readFile(path, "utf8");
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flag: "wx" });
  // The umask may have taken bits away, never added any; this only makes the mode exact.
  await chmod(path, 0o600);
}

function newSecret(): string {
  return `0x${randomBytes(32).toString("hex")}`;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.slice(2), "hex"));
}
