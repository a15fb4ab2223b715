/** JSON with integers of any size, as the chain's nodes write it: 64-bit numbers stand there in full. */

export type Json =
  null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export function toJson(value: Json): string {
  if (typeof value === "bigint") return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(toJson).join(",")}]`;
  const members = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [`${JSON.stringify(key)}:${toJson(member)}`],
  );
  return `{${members.join(",")}}`;
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
