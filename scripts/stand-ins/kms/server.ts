/**
 * The development KMS: the JSON 1.1 protocol of AWS KMS on a local port, so that the unmodified AWS client talks to it,
 * with a public RSA key and a real key policy for each of the two programs. What it protects is worth nothing; what it
 * shows is real: it releases the sealed key to the measurement of its policy and to no other.
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DEVELOPMENT_KEY_ARN, developmentKmsKey, developmentRoot } from "../../image/development-keys.ts";
import type { ProgramName } from "../../image/measurement.ts";
import { CONTENT_FORMS } from "./envelope.ts";
import { answer, keyNamed, KmsRefusal, type KmsState } from "./operations.ts";
import { parsePolicy } from "./policy.ts";
import { DEVELOPMENT_ROLE, signatureFault } from "./signature.ts";

export interface DevelopmentKmsOptions {
  /** The policy of the first program's key, as `PutKeyPolicy` takes it. */
  readonly policy: string;
  /** Of the second one's. Default: there is no such key. */
  readonly secondPolicy?: string | undefined;
  /** Default: a free one. */
  readonly port?: number;
  readonly now?: () => number;
}

export interface DevelopmentKms {
  readonly url: string;
  /** ARN of the first program's key. */
  readonly keyId: string;
  /** What only the maker of a development KMS can do: the policy that is in force forbids PutKeyPolicy. */
  setPolicy(policy: string, program?: ProgramName): void;
  /** Its process may end without it. */
  unref(): void;
  close(): Promise<void>;
}

type HeldKey = Omit<KmsState, "roots" | "nowMs" | "contentForm">;

const MAX_BODY_BYTES = 512 * 1024;
const CONTENT_TYPE = "application/x-amz-json-1.1";
const TARGET = /^TrentService\.([A-Za-z]{1,64})$/;

export async function startDevelopmentKms(options: DevelopmentKmsOptions): Promise<DevelopmentKms> {
  const { now = Date.now } = options;
  const roots = [createHash("sha256").update(developmentRoot().certificate).digest("hex")];
  const keys = new Map<ProgramName, HeldKey>();
  const hold = (program: ProgramName, text: string): void => {
    keys.set(program, { program, key: developmentKmsKey(program), policy: parsePolicy(text) });
  };
  hold("first", options.policy);
  if (options.secondPolicy !== undefined) hold("second", options.secondPolicy);
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
    const parsed = parse(body);
    const named = keys.get(keyNamed(parsed));
    if (named === undefined) throw new KmsRefusal("NotFoundException", "there is no such key");
    return answer(
      { ...named, roots, nowMs, contentForm },
      { principal: DEVELOPMENT_ROLE, operation, body: parsed },
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
        const text = JSON.stringify(reply);
        response.writeHead(status, {
          "content-type": CONTENT_TYPE,
          "content-length": Buffer.byteLength(text),
          "x-amzn-requestid": randomUUID(),
        });
        response.end(text);
      })
      .catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    keyId: DEVELOPMENT_KEY_ARN,
    setPolicy: (text, program = "first") => hold(program, text),
    unref: () => void server.unref(),
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

const HELP = `Usage: node --import tsx scripts/stand-ins/kms/server.ts --policy <file> [--second <file>] [--port <n>]

Runs the development KMS and prints one line of JSON when it listens: url, keyId. Ends on SIGINT and SIGTERM.

  --policy <file>   policy of the first program's key, see scripts/image/kms-policy.ts
  --second <file>   of the second one's (default: there is no such key)
  --port <n>        default: a free one
  --help            this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      policy: { type: "string" },
      second: { type: "string" },
      port: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true || values.policy === undefined) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const kms = await startDevelopmentKms({
    policy: await readFile(values.policy, "utf8"),
    ...(values.second === undefined ? {} : { secondPolicy: await readFile(values.second, "utf8") }),
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
