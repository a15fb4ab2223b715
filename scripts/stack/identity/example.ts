// An identity provider beside a running stack, with an app of the development key's developer that is registered on
// each network as an operator does it. So POST /session/exchange can be tried without a provider of one's own.
// DEVELOPMENT ONLY: it believes whoever gives a name.
import { addApp } from "../../../proxy/identity/registration.ts";
import { embeddedStores } from "../../../proxy/store/instance.ts";
import { openDatabase } from "../../../proxy/store/lmdb/database.ts";
import { DEVELOPER_ID } from "../development-credential.ts";
import type { Stack } from "../local-stack.ts";
import { startService } from "../service.ts";
import { RESOURCE } from "./sign-in.ts";

export const EXAMPLE_APP = "app_example";
/** Without it the proxies fetch no keys from this machine. */
export const IDENTITY_SETTINGS = { CLOISTER_IDENTITY_LOOPBACK: "on" } as const;

export interface ExampleIdentity {
  readonly issuer: string;
  /** Resolves with how, when it ends by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** Writes into `stack.json` where it is. */
export async function startExampleIdentity(stack: Stack): Promise<ExampleIdentity> {
  const { folder, networks } = stack;
  const service = await startService({
    name: "identity",
    program: "scripts/stack/identity/server.ts",
    logFile: folder.log("identity"),
    isReady: (line) => typeof line["issuer"] === "string",
  });
  try {
    const issuer = String(service.ready["issuer"]);
    const provider = {
      issuer,
      jwksUrl: String(service.ready["jwksUrl"]),
      jwksHost: String(service.ready["host"]),
    };
    for (const network of networks) await registerApp(network.folder.inside("store"), provider);
    await folder.writeStack({ ...stack.file, identity: { issuer, app_id: EXAMPLE_APP } });
    return { issuer, ended: service.ended, stop: () => service.stop() };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

async function registerApp(
  store: string,
  provider: { readonly issuer: string; readonly jwksUrl: string; readonly jwksHost: string },
): Promise<void> {
  const database = openDatabase(store);
  try {
    const { apps, keys: developers } = embeddedStores(database);
    // That of an earlier start was at another address.
    await apps.removeApp(EXAMPLE_APP);
    await addApp(
      apps,
      async (id) => (await developers.developer(id)) !== undefined,
      {
        id: EXAMPLE_APP,
        developerId: DEVELOPER_ID,
        audience: RESOURCE,
        perms: ["read", "write"],
        ...provider,
      },
      { allowLoopback: true },
    );
  } finally {
    await database.close();
  }
}
