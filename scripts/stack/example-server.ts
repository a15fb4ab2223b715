// A developer's own server, as an example: it mints session tokens for the users who are signed in there, as section
// 5.4 of the HTTP specification wants it. The API key stays here. As a program it serves the users of the example
// identity provider beside a running stack (npm start -- --identity).
import { createServer, type IncomingMessage, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { RESOURCE } from "../stand-ins/identity/sign-in.ts";
import { DEFAULT_FOLDER, networkOf, runningStack, StackError } from "../base/stack-file.ts";

export interface MintingOptions {
  readonly service: string;
  readonly apiKey: string;
  /** Of the app's pages: no other site's page is answered. */
  readonly appOrigin: string;
  /** Your own sign-in: whose bearer token this is; undefined for anything else. */
  readonly userOf: (token: string) => Promise<string | undefined>;
}

type Answer = readonly [
  status: number,
  text?: string | undefined,
  headers?: Readonly<Record<string, string>>,
];

const MINTS_A_MINUTE = 5;

export function createMintingServer({ service, apiKey, appOrigin, userOf }: MintingOptions): Server {
  const minted = new Map<string, number>();
  setInterval(() => minted.clear(), 60_000).unref();

  async function answer({ url, method, headers }: IncomingMessage): Promise<Answer> {
    if (headers.origin !== undefined && headers.origin !== appOrigin) return [403];
    if (url !== "/session-token") return [404];
    const allowed = {
      "Access-Control-Allow-Methods": "POST",
      "Access-Control-Allow-Headers": "Authorization",
    };
    if (method === "OPTIONS") return [204, undefined, allowed];
    if (method !== "POST") return [405, undefined, { Allow: "POST, OPTIONS" }];
    // Never a cookie: a browser sends those along whoever asks. This header the app's own page has to write.
    const token = /^Bearer (\S+)$/i.exec(headers.authorization ?? "")?.[1];
    const user = token === undefined ? undefined : await userOf(token);
    if (user === undefined) return [401, undefined, { "WWW-Authenticate": "Bearer" }];
    const count = (minted.get(user) ?? 0) + 1;
    if (count > MINTS_A_MINUTE) return [429, undefined, { "Retry-After": "60" }];
    minted.set(user, count);
    const session = await fetch(`${service}/session`, {
      method: "POST",
      headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
      body: JSON.stringify({ sub: user, perms: ["read", "write"], ttl_secs: 900 }),
      signal: AbortSignal.timeout(10_000),
    });
    // The service's own words are for the developer, not for the page.
    if (!session.ok) return [session.status === 429 ? 503 : 502, undefined, { "Retry-After": "5" }];
    const { token: text } = (await session.json()) as { token: string };
    return [200, text, { "Content-Type": "text/plain" }];
  }

  const always = { "Cache-Control": "no-store", Vary: "Origin", "Access-Control-Allow-Origin": appOrigin };
  return createServer((request, response) => {
    answer(request)
      .catch((): Answer => [502])
      .then(([status, text, more]) => response.writeHead(status, { ...always, ...more }).end(text))
      .catch(() => response.destroy());
  });
}

/** The user of an access token of the example provider, verified as any server verifies one. */
export function usersOf(issuer: string): MintingOptions["userOf"] {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  return (token) =>
    jwtVerify(token, keys, { issuer, audience: RESOURCE, typ: "at+jwt" }).then(
      ({ payload }) => payload.sub,
      () => undefined,
    );
}

const HELP = `Usage: npm run example-server -- [--app <origin>] [--port <n>] [--folder <path>]

Mints session tokens for users of the example identity provider (npm start -- --identity):
  curl -X POST -H "Authorization: Bearer $(npm run --silent sign-in -- user-1)" http://127.0.0.1:8792/session-token

  --app <origin>   origin of the app's pages (default http://localhost:5173)
  --port <n>       default 8792
  --folder <path>  folder of the stack (default ${DEFAULT_FOLDER})`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      app: { type: "string", default: "http://localhost:5173" },
      port: { type: "string", default: "8792" },
      folder: { type: "string", default: DEFAULT_FOLDER },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const stack = await runningStack(values.folder);
  if (stack?.identity === undefined)
    throw new StackError("no stack with an identity provider runs; start it with: npm start -- --identity");
  const server = createMintingServer({
    service: networkOf(stack, "first").base_url,
    apiKey: stack.api_key,
    appOrigin: values.app,
    userOf: usersOf(stack.identity.issuer),
  });
  server.listen(Number(values.port), "127.0.0.1", () =>
    console.log(
      `POST http://127.0.0.1:${values.port}/session-token, for pages of ${values.app}. Stop with Ctrl-C.`,
    ),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  });
}
