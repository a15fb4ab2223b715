// An identity provider beside a running stack, with an app of the development key's developer that is registered on
// each network as an operator does it. So POST /session/exchange can be tried without a provider of one's own.
// DEVELOPMENT ONLY: it believes whoever gives a name.
import { addApp } from "../../proxy/base/identity/registration.ts";
import { DEVELOPER_ID } from "./development-credential.ts";
import type { Stack } from "./local-stack.ts";
import { inStore } from "./local-store.ts";
import { Parties } from "../base/parties.ts";
import { startService } from "../base/service.ts";
import { RESOURCE } from "../stand-ins/identity/sign-in.ts";

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
export function startExampleIdentity(stack: Stack): Promise<ExampleIdentity> {
  const { folder, networks } = stack;
  return Parties.start(async (parties) => {
    const service = parties.add(
      await startService({
        name: "identity",
        program: "scripts/stand-ins/identity/server.ts",
        logFile: folder.log("identity"),
        isReady: (line) => typeof line["issuer"] === "string",
      }),
    );
    const { issuer, jwksUrl, host } = service.ready as Readonly<Record<string, string>>;
    const app = {
      ...{ id: EXAMPLE_APP, developerId: DEVELOPER_ID, audience: RESOURCE, perms: ["read", "write"] },
      ...{ issuer: String(issuer), jwksUrl: String(jwksUrl), jwksHost: String(host) },
    };
    for (const network of networks)
      await inStore(network.folder.inside("store"), async ({ apps, keys }) => {
        // That of an earlier start was at another address.
        await apps.removeApp(EXAMPLE_APP);
        const exists = async (id: string): Promise<boolean> => (await keys.developer(id)) !== undefined;
        await addApp(apps, exists, app, { allowLoopback: true });
      });
    await folder.writeStack({ ...stack.file, identity: { issuer: app.issuer, app_id: EXAMPLE_APP } });
    return { issuer: app.issuer, ended: service.ended, stop: () => service.stop() };
  });
}
