/**
 * API keys: `ck_` + id + `_` + secret. The id finds the record, the secret proves possession. Stored is
 * HMAC-SHA-256(pepper, secret) only, so a stolen store neither shows a key nor lets one be tried without
 * the pepper, which lives in another file.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Author } from "../store/audit.ts";
import type { ApiKey, KeyStore } from "../store/keys.ts";

export interface NewApiKey {
  /** The whole key, shown once and kept nowhere. */
  readonly key: string;
  readonly record: ApiKey;
}

/** 8 bytes name a key, 32 bytes are its secret (256 bits, so a fast hash is enough: there is nothing to guess). */
const ID_BYTES = 8;
const SECRET_BYTES = 32;
const FORM = /^ck_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;
/** Compared with when no record is found, so that an unknown id costs what a wrong secret costs. */
const NO_HASH = Buffer.alloc(32);
/** `last_used` is for people; a write a minute is exact enough and keeps requests off the disk. */
const TOUCH_INTERVAL_MS = 60_000;

/** Made and not kept yet. `id` is 16 hex digits, by default random ones. */
export function newApiKey(
  pepper: Uint8Array,
  developerId: string,
  name: string,
  id: string = randomBytes(ID_BYTES).toString("hex"),
): NewApiKey {
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  const record: ApiKey = {
    id,
    developerId,
    name,
    secretHash: hashSecret(pepper, secret),
    createdAt: new Date().toISOString(),
    lastUsedAt: undefined,
    revokedAt: undefined,
  };
  return { key: `ck_${id}_${secret}`, record };
}

export async function createApiKey(
  store: KeyStore,
  pepper: Uint8Array,
  developerId: string,
  name: string,
  by?: Author,
): Promise<NewApiKey> {
  const made = newApiKey(pepper, developerId, name);
  await store.addKey(made.record, by);
  return made;
}

/** The record of a genuine, unrevoked key; undefined for anything else, without saying why. */
export async function verifyApiKey(
  store: KeyStore,
  pepper: Uint8Array,
  untrusted: string,
): Promise<ApiKey | undefined> {
  const form = FORM.exec(untrusted);
  if (form?.[1] === undefined || form[2] === undefined) return undefined;
  const record = await store.key(form[1]);
  const matches = timingSafeEqual(hashSecret(pepper, form[2]), record?.secretHash ?? NO_HASH);
  return matches && record?.revokedAt === undefined ? record : undefined;
}

/** Writes down that a key was used, at most once a minute. */
export async function noteUse(store: KeyStore, key: ApiKey, nowMs: number): Promise<void> {
  if (key.lastUsedAt !== undefined && nowMs - Date.parse(key.lastUsedAt) < TOUCH_INTERVAL_MS) return;
  await store.touchKey(key.id, new Date(nowMs).toISOString());
}

function hashSecret(pepper: Uint8Array, secret: string): Buffer {
  return createHmac("sha256", pepper).update(secret, "utf8").digest();
}
