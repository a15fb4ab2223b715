// The dashboard beside the proxy of a local network, with invitations for whoever started it: one for the account of the
// development's developer, one for an operator's. Development only.
import { Wallet } from "ethers";
import { loadPepper } from "../../proxy/base/auth/secret-files.ts";
import { DASHBOARD_SETTINGS } from "../../proxy/dashboard/config.ts";
import { createInvitation, type InvitationTerms } from "../operator/invitations.ts";
import { DEVELOPER_ID } from "./development-credential.ts";
import type { LocalNetwork } from "./local-network.ts";
import { inStore } from "./local-store.ts";
import { choosePorts } from "./ports.ts";
import { startService, type Service } from "../base/service.ts";

/** Where it is free. */
export const DASHBOARD_PORT = 8791;
/** In the network's folder; `npm run watch -- --status` writes it there. */
export const WATCHER_FILE = "watcher.json";
const HOURS = 24;

export interface LocalDashboard extends Service {
  readonly origin: string;
  /** Links that are good once, for a day. */
  readonly invitations: { readonly developer: string; readonly operator: string };
}

/** `port` as in a port's option: undefined for the usual one, or a free one where that is taken. */
export async function startLocalDashboard(network: LocalNetwork, port?: number): Promise<LocalDashboard> {
  const { name, folder, entry, proxySettings } = network;
  const [chosen = 0] = await choosePorts([
    { wanted: port, usual: DASHBOARD_PORT, option: "--dashboard-port" },
  ]);
  // Passkeys need a name: they are bound to it, and an address is none.
  const origin = `http://localhost:${String(chosen)}`;
  const shared = Object.entries(proxySettings).filter(([setting]) =>
    Object.hasOwn(DASHBOARD_SETTINGS, setting),
  );
  const operations = network.operationsUrl();
  const service = await startService({
    name: "dashboard",
    program: "proxy/dashboard/main.ts",
    logFile: folder.log("dashboard"),
    settings: {
      ...Object.fromEntries(shared),
      CLOISTER_NETWORK: name,
      CLOISTER_DASHBOARD_ORIGIN: origin,
      CLOISTER_DASHBOARD_PORT: String(chosen),
      CLOISTER_DASHBOARD_API_URL: entry.base_url,
      CLOISTER_DASHBOARD_GAS_WALLET: new Wallet(await folder.secrets.text("sender.key")).address,
      CLOISTER_DASHBOARD_WATCHER_FILE: folder.inside(WATCHER_FILE),
      ...(operations === undefined ? {} : { CLOISTER_DASHBOARD_OPERATIONS: operations }),
    },
    isReady: (line) => line["msg"] === "listening",
  });
  const pepper = await loadPepper(String(proxySettings["CLOISTER_API_KEY_PEPPER_FILE"]));
  const invite = (terms: InvitationTerms): Promise<string> =>
    inStore(folder.inside("store"), async (stores) => {
      const { token } = await createInvitation(stores, pepper, { ...terms, hours: HOURS });
      return `${origin}/invitation#${token}`;
    });
  const invitations = {
    developer: await invite({ purpose: "sign-up", role: "developer", developerId: DEVELOPER_ID }),
    operator: await invite({ purpose: "sign-up", role: "operator" }),
  };
  return { ...service, origin, invitations };
}
