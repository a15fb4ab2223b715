// The stage of the table of mistakes: the test service, and servers that are none.
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { connect, createServer as createSilent, type AddressInfo } from "node:net";
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
  const vacant = await takePort();
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
    nobody: `http://127.0.0.1:${String(vacant.port)}`,
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
      vacant.free();
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

interface TakenPort {
  readonly port: number;
  free(): void;
}

/** A port where nobody listens and nobody can: it is this side's end of a connection, which stays open. */
async function takePort(): Promise<TakenPort> {
  const silent = createSilent((peer) => peer.resume());
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.1" });
  await once(socket, "connect");
  return {
    port: socket.localPort!,
    free() {
      socket.destroy();
      silent.close();
    },
  };
}
