/** From `unknown` to a typed value by its schema, once, at the border. Refusals name the field and never repeat its content. */
import type { z } from "zod";
import { ApiError, type FieldError } from "./errors.ts";

export type Where = "body" | "query" | "path";

/** A caller gets the first few faults; a hostile body must not make us print a book. */
const MAX_ERRORS = 16;
const MAX_PATH = 120;

export function parse<S extends z.ZodType>(schema: S, value: unknown, where: Where): z.output<S> {
  // Koa's query has no prototype; a copy makes it the plain object that schemas expect.
  const input = where === "body" ? value : { ...(value as object) };
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw invalid(where, fieldErrors(result.error.issues));
}

/** For rules that no schema states (a deadline in the past): the same refusal, by hand. */
export function invalidField(path: string, message: string): ApiError {
  return new ApiError("INVALID_REQUEST", `${path}: ${message}`, { fields: [{ path, message }] });
}

function invalid(where: Where, fields: readonly FieldError[]): ApiError {
  const [first] = fields;
  const detail = first === undefined || first.path === "" ? "" : `: ${first.path}: ${first.message}`;
  return new ApiError("INVALID_REQUEST", `The ${where} does not have the documented form${detail}`, {
    fields,
  });
}

function fieldErrors(issues: readonly z.core.$ZodIssue[]): FieldError[] {
  return issues
    .flatMap((issue): FieldError[] => {
      if (issue.code === "unrecognized_keys") {
        return issue.keys.map((key) => ({ path: fieldPath([...issue.path, key]), message: "unknown field" }));
      }
      return [{ path: fieldPath(issue.path), message: issue.message }];
    })
    .slice(0, MAX_ERRORS);
}

/** `ext.ciphertexts[0]`. A field name comes from the caller, so only harmless characters of it are shown. */
export function fieldPath(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += (text === "" ? "" : ".") + String(part).replaceAll(/[^A-Za-z0-9_$@ -]/g, "?");
  }
  return text.length > MAX_PATH ? `${text.slice(0, MAX_PATH)}…` : text;
}
