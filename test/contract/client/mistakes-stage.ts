// The stage of the table of mistakes: the test service, and servers that are none.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DEVELOPMENT_KEYS } from "../../../shared/client/node/development.ts";
import { readManifest } from "../../../shared/client/node/index.ts";
import { vouchedPins } from "../../support/vouching.ts";
import { CHAIN_ID, POOL, USDC, WETH } from "./chain.ts";
import { PREFIX } from "./checks.ts";
import type { Stage } from "./mistakes.ts";
import { TestService } from "./service.ts";

export interface MistakesStage {
  readonly stage: Stage;
  readonly service: TestService;
  close(): Promise<void>;
}

export async function setStage(): Promise<MistakesStage> {
  const service = new TestService();
  service.verifiesProofs = false;
  service.goodTokens.add("sst_good");
  service.expiredTokens.add("sst_old");
  const servers: Server[] = [];
  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  }
  const openly: RequestListener = (request, response) => {
    response.setHeader("Access-Control-Allow-Origin", request.headers.origin ?? "*");
    response.setHeader("Access-Control-Allow-Headers", "authorization, api-version, content-type");
  };
  const stage: Stage = {
    service: await service.listen(),
    website: await serve((request, response) => {
      openly(request, response);
      response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>");
    }),
    mute: await serve((request, response) => {
      openly(request, response);
      if (request.method === "OPTIONS") response.writeHead(204).end();
    }),
    nobody: await vacant(),
    ...{ token: "sst_good", expiredToken: "sst_old" },
    pins: {
      ...{ chainId: CHAIN_ID, pool: POOL, assets: [USDC, WETH], addressPrefix: PREFIX },
      enclaves: vouchedPins(),
    },
    manifest: await readManifest(DEVELOPMENT_KEYS),
  };
  return {
    ...{ stage, service },
    async close() {
      await service.close();
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

/** An address where a server was a moment ago. */
async function vacant(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${String(port)}`;
}
