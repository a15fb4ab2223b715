/**
 * Whether a Redis may hold what must not be lost. Trusts its answers: they guard against an operator's mistake, such
 * as a cache that throws keys away, and not against a server that lies.
 */
import { z } from "zod";
import type { Sender } from "./script.ts";

/** A fault that no waiting cures; the message is for the operator and names the setting. */
export class UnfitRedis extends Error {
  constructor(message: string) {
    super(`the durable Redis is refused: ${message}`);
    this.name = "UnfitRedis";
  }
}

/** Scripts with flags came with this version. */
const LEAST_MAJOR = 7;

/** Each with what would be lost otherwise. */
const WANTED: Readonly<Record<string, readonly [value: string, reason: string]>> = {
  appendonly: ["yes", "a restart would forget everything"],
  appendfsync: ["always", "an answer would leave before the disk has what it promises"],
  // While the file is rewritten this would leave out the fsync, whatever appendfsync says.
  "no-appendfsync-on-rewrite": ["no", "an answer would leave before the disk has what it promises"],
  "maxmemory-policy": ["noeviction", "a full Redis would throw away keys"],
};

const texts = z.array(z.string());
const role = z.tuple([z.string()], z.unknown());

export async function assertFit(redis: Sender): Promise<void> {
  const version = /^redis_version:(\d+)\S*/m.exec(z.string().parse(await redis.send(["INFO", "server"])));
  if (Number(version?.[1] ?? 0) < LEAST_MAJOR)
    throw new UnfitRedis(`version ${String(LEAST_MAJOR)} or newer is needed`);

  const [kind] = role.parse(await redis.send(["ROLE"]));
  // Not for reading either: what a replica shows may be old, and a revoked key would still be good there.
  if (kind !== "master") throw new UnfitRedis("it is a replica; name its primary");

  const settings = await settingsOf(redis);
  for (const [name, [value, reason]] of Object.entries(WANTED)) {
    const found = settings.get(name);
    if (found === value) continue;
    throw new UnfitRedis(`${name} is ${found ?? "unknown"} and must be ${value}: ${reason}`);
  }
}

async function settingsOf(redis: Sender): Promise<Map<string, string>> {
  let flat: string[];
  try {
    flat = texts.parse(await redis.send(["CONFIG", "GET", ...Object.keys(WANTED)]));
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown)/.test(error.message))
      throw new UnfitRedis("CONFIG GET is not allowed, so its settings cannot be checked");
    throw error;
  }
  const settings = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) settings.set(flat[i] ?? "", flat[i + 1] ?? "");
  return settings;
}
