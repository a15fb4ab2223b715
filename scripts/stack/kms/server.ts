/**
 * The development KMS: the JSON 1.1 protocol of AWS KMS on a local port, so that the unmodified AWS client
 * talks to it, with one public RSA key and a real key policy. What it protects is worth nothing; what it
 * shows is real: it releases the sealed key to the measurement of its policy and to no other.
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { developmentKmsKey, developmentRoot } from "../../product/image/development-keys.ts";
import { CONTENT_FORMS } from "./envelope.ts";
import { answer, DEVELOPMENT_KEY_ARN, KmsRefusal } from "./operations.ts";
import { parsePolicy, type KeyPolicy } from "./policy.ts";
import { DEVELOPMENT_ROLE, signatureFault } from "./signature.ts";

export interface DevelopmentKmsOptions {
  /** The key policy, as `PutKeyPolicy` takes it. */
  readonly policy: string;
  /** Default: a free one. */
  readonly port?: number;
  readonly now?: () => number;
}

export interface DevelopmentKms {
  readonly url: string;
  /** ARN. */
  readonly keyId: string;
  /** What only the maker of a development KMS can do: the policy that is in force forbids PutKeyPolicy. */
  setPolicy(policy: string): void;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 512 * 1024;
const CONTENT_TYPE = "application/x-amz-json-1.1";
const TARGET = /^TrentService\.([A-Za-z]{1,64})$/;

export async function startDevelopmentKms(options: DevelopmentKmsOptions): Promise<DevelopmentKms> {
  const { now = Date.now } = options;
  const key = developmentKmsKey();
  const roots = [createHash("sha256").update(developmentRoot().certificate).digest("hex")];
  let policy: KeyPolicy = parsePolicy(options.policy);
  let decrypted = 0;

  async function respond(request: IncomingMessage): Promise<object> {
    const body = await bodyOf(request);
    const nowMs = now();
    const { method = "", url: path = "", headers } = request;
    const operation = TARGET.exec(String(headers["x-amz-target"]))?.[1];
    if (method !== "POST" || path !== "/" || operation === undefined)
      throw new KmsRefusal("UnknownOperationException", "no operation of KMS");
    const fault = signatureFault({ method, path, headers, body }, nowMs);
    if (fault !== undefined) throw new KmsRefusal(fault, "the request is not signed as it must be");
    // In turn, as nobody outside AWS knows which answer comes in which form.
    const contentForm = CONTENT_FORMS[decrypted % CONTENT_FORMS.length]!;
    if (operation === "Decrypt") decrypted += 1;
    return answer(
      { key, policy, roots, nowMs, contentForm },
      { principal: DEVELOPMENT_ROLE, operation, body: parse(body) },
    );
  }

  const server = createServer((request, response) => {
    respond(request)
      .then((reply) => ({ status: 200, reply }))
      .catch((error: unknown) =>
        error instanceof KmsRefusal
          ? { status: 400, reply: { __type: error.name, message: error.message } }
          : {
              status: 500,
              reply: { __type: "KMSInternalException", message: "a fault of the development KMS" },
            },
      )
      .then(({ status, reply }) => {
        response.writeHead(status, { "content-type": CONTENT_TYPE, "x-amzn-requestid": randomUUID() });
        response.end(JSON.stringify(reply));
      })
      .catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    keyId: DEVELOPMENT_KEY_ARN,
    setPolicy: (text) => {
      policy = parsePolicy(text);
    },
    close: () => closed(server),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new KmsRefusal("ValidationException", "the request is too large");
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    throw new KmsRefusal("SerializationException", "the body is no JSON");
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

// ---------------------------------------------------------------- as a program

const HELP = `Usage: node --import tsx scripts/stack/kms/server.ts --policy <file> [--port <n>]

Runs the development KMS and prints one line of JSON when it listens: url, keyId. Ends on SIGINT and SIGTERM.

  --policy <file>   the key policy, see scripts/product/image/kms-policy.ts
  --port <n>        default: a free one
  --help            this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { policy: { type: "string" }, port: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help === true || values.policy === undefined) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const kms = await startDevelopmentKms({
    policy: await readFile(values.policy, "utf8"),
    port: Number(values.port ?? "0"),
  });
  const stop = (): void => void kms.close().then(() => process.exit(0));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  console.log(JSON.stringify({ url: kms.url, keyId: kms.keyId }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: unknown) => {
    console.error(`development KMS: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  });
}
