/**
 * The phrase at rest: sealed under a password, so that who copies the browser's files has to guess it. The password is
 * not kept; the phrase is in memory while a tab is open.
 */
import * as z from "zod";
import { read, write } from "./kept.ts";

/** OWASP's figure for PBKDF2 with SHA-256. The browser computes it outside the page's thread. */
const ROUNDS = 600_000;
export const SHORTEST_PASSWORD = 8;

const bytes = z.instanceof(Uint8Array<ArrayBuffer>);
const vault = z.object({
  form: z.literal(1),
  salt: bytes,
  rounds: z.int().min(1),
  iv: bytes,
  sealed: bytes,
});

export async function hasVault(): Promise<boolean> {
  return (await read("vault")) !== undefined;
}

export async function seal(phrase: string, password: string): Promise<void> {
  const [salt, iv] = [random(16), random(12)];
  const key = await keyOf(password, salt, ROUNDS);
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new TextEncoder().encode(phrase));
  await write("vault", { form: 1, salt, rounds: ROUNDS, iv, sealed: new Uint8Array(sealed) });
}

/** The phrase; undefined for another password. Throws when what is kept is damaged. */
export async function unseal(password: string): Promise<string | undefined> {
  const { salt, rounds, iv, sealed } = vault.parse(await read("vault"));
  const key = await keyOf(password, salt, rounds);
  try {
    return new TextDecoder().decode(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, sealed));
  } catch {
    return undefined;
  }
}

async function keyOf(
  password: string,
  salt: Uint8Array<ArrayBuffer>,
  iterations: number,
): Promise<CryptoKey> {
  const typed = new TextEncoder().encode(password.normalize("NFKC"));
  const base = await crypto.subtle.importKey("raw", typed, "PBKDF2", false, ["deriveKey"]);
  const how = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
  return crypto.subtle.deriveKey(how, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

function random(length: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(length));
}
