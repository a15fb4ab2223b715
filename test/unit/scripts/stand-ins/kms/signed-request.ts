// A caller of the development KMS without the AWS client: for requests that the client would not make.
import { createHash, createHmac } from "node:crypto";
import { DEVELOPMENT_CREDENTIAL } from "../../../../../scripts/stand-ins/kms/signature.ts";
import { DEVELOPMENT_REGION } from "../../../../../scripts/image/development-keys.ts";

export interface KmsAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Changes {
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly nowMs?: number;
  /** Replaces headers after they were signed; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Replaces the body after it was signed. */
  readonly body?: string;
}

export async function callKms(
  url: string,
  operation: string,
  body: object,
  changes: Changes = {},
): Promise<KmsAnswer> {
  const text = JSON.stringify(body);
  const headers = { ...signedHeaders(url, operation, text, changes), ...changes.headers };
  const kept = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, { method: "POST", headers: kept, body: changes.body ?? text });
  return { status: response.status, body: await response.json() };
}

/** Signature Version 4, written from AWS's description and apart from what is tested. */
function signedHeaders(
  url: string,
  operation: string,
  body: string,
  changes: Changes,
): Record<string, string> {
  const { accessKeyId, secretAccessKey } = { ...DEVELOPMENT_CREDENTIAL, ...changes };
  const stamp = new Date(changes.nowMs ?? Date.now()).toISOString().replace(/[-:]|\.\d+/g, "");
  const headers: Record<string, string> = {
    "content-type": "application/x-amz-json-1.1",
    host: new URL(url).host,
    "x-amz-date": stamp,
    "x-amz-target": `TrentService.${operation}`,
  };
  const names = Object.keys(headers).sort();
  const scope = [stamp.slice(0, 8), DEVELOPMENT_REGION, "kms", "aws4_request"];
  const hash = (value: string): string => createHash("sha256").update(value).digest("hex");
  const canonicalHeaders = names.map((name) => `${name}:${headers[name]!}\n`).join("");
  const request = `POST\n/\n\n${canonicalHeaders}\n${names.join(";")}\n${hash(body)}`;
  let key: Uint8Array = Buffer.from(`AWS4${secretAccessKey}`);
  for (const part of [...scope, `AWS4-HMAC-SHA256\n${stamp}\n${scope.join("/")}\n${hash(request)}`])
    key = createHmac("sha256", key).update(part).digest();
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join("/")}, SignedHeaders=${names.join(";")}, Signature=${Buffer.from(key).toString("hex")}`,
  };
}
