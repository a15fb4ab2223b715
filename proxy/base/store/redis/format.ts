/**
 * The record that says which store this is and in which format its records are. A program never touches records
 * of another format: it would read them wrongly, or write over what it does not know.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { UnfitRedis } from "./fitness.ts";
import { redisScript, type Sender } from "./script.ts";

/** Raised with every change of a record's form, together with what brings older records into it. */
export const FORMAT = 3;

/** Two proxies that start together make one record. ARGV: format, id. */
const CREATE = `
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('HSET', KEYS[1], 'format', ARGV[1], 'id', ARGV[2]) end
return redis.call('HMGET', KEYS[1], 'format', 'id')
`;

const record = z.tuple([z.string().nullable(), z.string().nullable()]);

/**
 * The store's id. `known`: the id that this process has worked with; a Redis that came back without its data, or
 * another one behind the same name, is refused, since it forgot what was promised. Without `mayBegin` it must be
 * there already.
 */
export async function claimFormat(
  redis: Sender,
  key: string,
  known: string | undefined,
  mayBegin: boolean,
): Promise<string> {
  let [format, id] = record.parse(await redis.send(["HMGET", key, "format", "id"]));
  if (format === null && known === undefined) {
    if (!mayBegin) throw new UnfitRedis("it knows nothing of this instance; start a proxy once");
    const create = redisScript(redis, CREATE);
    [format, id] = record.parse(await create([key], [String(FORMAT), randomUUID()]));
  }
  if (known !== undefined && id !== known)
    throw new UnfitRedis(
      "it lost its data or is another one than before; restore it, then restart the proxies",
    );
  if (format === null || id === null || !/^[1-9]\d{0,8}$/.test(format))
    throw new UnfitRedis("its format record cannot be read");
  // None before this one was released, so none is brought into it.
  if (Number(format) !== FORMAT)
    throw new UnfitRedis(`its format is ${format}, and this program knows ${String(FORMAT)} only`);
  return id;
}
