// The example wallet page beside a running stack: its files on an origin of their own, and the server that gives its
// users session tokens, as an application's developer would run both. DEVELOPMENT ONLY: it takes any guest.
import { createHash } from "node:crypto";
import { access } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { changeOrigins } from "../../proxy/base/auth/registration.ts";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { readManifest } from "../../shared/client/node/index.ts";
import type { NetworkEntry } from "../base/stack-file.ts";
import { StackError } from "../base/stack-file.ts";
import type { Config, Network } from "../wallet-page/config.ts";
import { DEVELOPER_ID } from "./development-credential.ts";
import { createMintingServer } from "./example-server.ts";
import type { Stack } from "./local-stack.ts";
import { inStore } from "./local-store.ts";
import { pageListener } from "./page-server.ts";
import { pinsOf } from "./stack-wallet.ts";

const FOLDER = path.resolve(import.meta.dirname, "../wallet-page/dist");
const USUAL = { page: 5173, sessions: 8790 } as const;
const TITLES: Readonly<Record<string, string>> = { first: "First network", second: "Second network" };
const HOST = "127.0.0.1";

export interface WalletPage {
  /** Origin of the page. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface WalletPageOptions {
  /** Default: the usual one, or a free one where that is taken. 0: a free one. */
  readonly ports?: { readonly page?: number | undefined; readonly sessions?: number | undefined };
}

/** Registers the page's origin for the development developer of each network, then serves it. */
export async function startWalletPage(stack: Stack, options: WalletPageOptions = {}): Promise<WalletPage> {
  await access(path.join(FOLDER, "index.html")).catch(() => {
    throw new StackError("the wallet page is not built; run: npm run build");
  });
  const { page, sessions } = options.ports ?? {};
  const [serving, minting] = [await listening(page, USUAL.page), await listening(sessions, USUAL.sessions)];
  const url = addressOf(serving);
  minting.on("request", sessionListener(stack, url));
  const config = await configOf(stack, addressOf(minting));
  for (const network of stack.networks)
    await inStore(network.folder.inside("store"), async ({ keys }) => {
      const known = (await keys.developer(DEVELOPER_ID))?.origins ?? [];
      await changeOrigins(keys, DEVELOPER_ID, [...known, url]);
    });
  const reached = config.networks.flatMap((one) => [one.service, one.sessions, one.chainRpc]);
  const listener = pageListener({
    folder: FOLDER,
    reached: [...new Set(reached.map((address) => new URL(address).origin))],
    files: { "/config.json": written(config) },
    artefacts: { path: config.artefacts, folder: DEVELOPMENT_KEYS },
  });
  serving.on("request", listener);
  return {
    url,
    stop: async () => {
      await Promise.all([ended(serving), ended(minting)]);
    },
  };
}

/** A path for each network: a session of one means nothing on the other. */
function sessionListener(stack: Stack, appOrigin: string): RequestListener {
  const servers = new Map(
    stack.networks.map(({ name, entry }) => [
      name as string,
      createMintingServer({
        ...{ service: entry.base_url, apiKey: stack.file.api_key, appOrigin },
        userOf: async (token) => guestOf(token),
      }),
    ]),
  );
  return (request, response) => {
    const [, name = "", rest = ""] = /^\/([a-z]+)(\/session-token)$/.exec(request.url ?? "") ?? [];
    const server = servers.get(name);
    request.url = rest;
    if (server === undefined) response.writeHead(404).end();
    else server.emit("request", request, response);
  };
}

/** In the place of a sign-in: who shows the same random text is the same guest. The service never sees the text. */
function guestOf(token: string): string | undefined {
  if (!/^[0-9a-f]{64}$/.test(token)) return undefined;
  return `guest-${createHash("sha256").update(token).digest("hex").slice(0, 32)}`;
}

async function configOf(stack: Stack, sessions: string): Promise<Config> {
  const manifest = await readManifest(DEVELOPMENT_KEYS);
  const version = createHash("sha256").update(JSON.stringify(manifest)).digest("hex").slice(0, 16);
  return {
    networks: stack.networks.map(({ name, entry }) =>
      networkOf(name, entry, `${sessions}/${name}/session-token`),
    ),
    artefacts: `/artefacts/${version}`,
    manifest,
  };
}

function networkOf(id: string, entry: NetworkEntry, sessions: string): Network {
  return {
    ...{ id, name: TITLES[id] ?? id, service: entry.base_url, sessions, chainRpc: entry.chain_rpc },
    fromBlock: entry.deployment_block,
    pins: pinsOf(entry) as Network["pins"],
    tokens: [...entry.tokens],
    swaps: entry.swaps !== undefined,
    chains: Object.fromEntries(
      (entry.bridges?.chains ?? []).map(({ chain_id, name }) => [String(chain_id), name]),
    ),
    testMoney: true,
  };
}

/** As scripts/wallet-page/config.ts reads it. */
function written(config: Config): string {
  return JSON.stringify(config, (_key, value: unknown) =>
    typeof value === "bigint" ? `${String(value)}n` : value,
  );
}

/** The usual port is nobody's right: another stack on this machine may have it. */
async function listening(wanted: number | undefined, usual: number): Promise<Server> {
  const server = createServer();
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, HOST, () => {
        server.off("error", reject);
        resolve();
      });
    });
  await listen(wanted ?? usual).catch((error: unknown) => {
    if (wanted !== undefined || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return listen(0);
  });
  return server;
}

const addressOf = (server: Server): string =>
  `http://${HOST}:${String((server.address() as AddressInfo).port)}`;

async function ended(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
