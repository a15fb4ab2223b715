/**
 * Secrets of people as the store has them: keyed hashes, under the pepper of the API keys, each kind in a domain of its
 * own. Whoever has the store alone can neither use an invitation nor a session.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

type Kind = "invitation" | "session" | "ceremony";

const SECRET_BYTES = 32;
const INVITATION = /^inv_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;
/** Compared with when there is no record, so that an unknown id costs what a wrong secret costs. */
const NO_HASH = Buffer.alloc(SECRET_BYTES);

export const newSecret = (): string => randomBytes(SECRET_BYTES).toString("base64url");

export function keyedHash(pepper: Uint8Array, kind: Kind, secret: string): Buffer {
  return createHmac("sha256", pepper).update(`cloister dashboard ${kind} v1:${secret}`, "utf8").digest();
}

export interface NewInvitation {
  readonly id: string;
  /** Shown once. */
  readonly token: string;
  readonly secretHash: Uint8Array;
}

export function newInvitation(pepper: Uint8Array): NewInvitation {
  const id = randomBytes(8).toString("hex");
  const secret = newSecret();
  return { id, token: `inv_${id}_${secret}`, secretHash: keyedHash(pepper, "invitation", secret) };
}

/** Undefined for what is no token at all. */
export function readInvitation(token: string): { readonly id: string; readonly secret: string } | undefined {
  const [, id, secret] = INVITATION.exec(token) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function isSecretOf(
  pepper: Uint8Array,
  kind: Kind,
  secret: string,
  kept: Uint8Array | undefined,
): boolean {
  const isSame = timingSafeEqual(keyedHash(pepper, kind, secret), kept ?? NO_HASH);
  return isSame && kept !== undefined;
}
