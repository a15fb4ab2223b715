/**
 * Session tokens: `sst_` + key id + `.` + payload + `.` + MAC. Self-contained and checked from memory:
 * the MAC says that we made it, the payload for whom, for which chain, until when and in which epoch.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { MAX_SESSION_TOKEN, permissions, type Permission } from "../../../shared/api/credentials.ts";

export interface SessionClaims {
  readonly developerId: string;
  readonly sub: string;
  readonly perms: readonly Permission[];
  /** Unix seconds. */
  readonly exp: number;
  /** The developer's session epoch at issue. */
  readonly epoch: number;
  /** The user's own at issue, 0 for a user whose sessions were never revoked. */
  readonly userEpoch: number;
}

/** New tokens are made with `current`; tokens of every key listed are accepted, so keys can rotate. */
export interface KeyRing {
  readonly current: string;
  readonly keys: ReadonlyMap<string, Uint8Array>;
}

const FORM = /^sst_([a-z0-9]{1,16})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;

const payloadShape = z.strictObject({
  c: z.int(),
  d: z.string(),
  s: z.string(),
  p: permissions,
  i: z.int(),
  u: z.int().optional(),
  x: z.int(),
});

export function mintSessionToken(ring: KeyRing, chainId: number, claims: SessionClaims): string {
  const payload: z.infer<typeof payloadShape> = {
    c: chainId,
    d: claims.developerId,
    s: claims.sub,
    p: [...claims.perms],
    i: claims.epoch,
    ...(claims.userEpoch === 0 ? {} : { u: claims.userEpoch }),
    x: claims.exp,
  };
  const signed = `${ring.current}.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
  const key = ring.keys.get(ring.current);
  if (key === undefined) throw new Error("the key ring has no current key");
  const token = `sst_${signed}.${macOf(key, signed)}`;
  // The lengths of what is in it are bounded where it comes from.
  if (token.length > MAX_SESSION_TOKEN) throw new Error("a session token that no stream would take");
  return token;
}

/**
 * What a genuine token of this chain says; undefined for anything else. Neither `exp` nor the epoch is
 * judged here: only a token that is genuine may be called expired.
 */
export function readSessionToken(
  ring: KeyRing,
  chainId: number,
  untrusted: string,
): SessionClaims | undefined {
  if (untrusted.length > MAX_SESSION_TOKEN) return undefined;
  const [, keyId, payloadText, mac] = FORM.exec(untrusted) ?? [];
  if (keyId === undefined || payloadText === undefined || mac === undefined) return undefined;
  const key = ring.keys.get(keyId);
  if (key === undefined) return undefined;
  // The texts are compared, not the bytes: base64 has spare bits, and a token shall have one spelling.
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, `${keyId}.${payloadText}`))))
    return undefined;
  const payload = payloadShape.safeParse(JSON.parse(Buffer.from(payloadText, "base64url").toString("utf8")));
  // The other instance may share our keys by mistake; its tokens are still not ours.
  if (!payload.success || payload.data.c !== chainId) return undefined;
  const { d: developerId, s: sub, p: perms, i: epoch, u: userEpoch = 0, x: exp } = payload.data;
  return { developerId, sub, perms, epoch, userEpoch, exp };
}

function macOf(key: Uint8Array, signed: string): string {
  return createHmac("sha256", key).update(`cloister session v1:${signed}`).digest("base64url");
}
