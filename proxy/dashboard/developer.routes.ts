/** Endpoints of the developer's role. Each is about the developer of the account that asks; no path names another. */
import type { Overview, limitStanding } from "./contract/developer.ts";
import type { z } from "zod";
import { FELT_MS } from "../base/auth/developers.ts";
import { revokeSessions, revokeUserSessions } from "../base/auth/registration.ts";
import type { InstanceStores } from "../base/store/instance.ts";
import type { Developer } from "../base/store/keys.ts";
import type { Activity } from "./activity.service.ts";
import type { AppsService } from "./apps.service.ts";
import type { HandlersOf, Served } from "./call.ts";
import { DashboardError } from "./errors.ts";
import type { Fees } from "./fees.service.ts";
import type { createKeys } from "./keys.service.ts";
import type { createOrigins } from "./origins.service.ts";

export interface DeveloperRouteParts {
  readonly stores: Pick<InstanceStores, "keys" | "tickets" | "feeRules">;
  readonly keys: ReturnType<typeof createKeys>;
  readonly origins: ReturnType<typeof createOrigins>;
  readonly apps: AppsService;
  readonly fees: Fees;
  readonly activity: Activity;
  readonly standings: (developerId: string) => Promise<z.output<typeof limitStanding>[]>;
}

const LONGEST_SESSION_SECS = 3600;

export function developerRoutes(parts: DeveloperRouteParts): HandlersOf<Served<"developer">> {
  const { stores, keys, origins, apps, fees, activity, standings } = parts;

  async function must(id: string): Promise<Developer> {
    const found = await stores.keys.developer(id);
    if (found === undefined) throw new DashboardError("NOT_FOUND");
    return found;
  }

  async function overview(id: string): Promise<Overview> {
    const [developer, list, asked, rules, open, limits] = await Promise.all([
      ...([must(id), keys.list(id), apps.ofDeveloper(id)] as const),
      ...([stores.feeRules.rules(id), stores.tickets.openOf(id, undefined), standings(id)] as const),
    ]);
    const { name, createdAt, disabledAt } = developer;
    return {
      developer: { id, name, created_at: createdAt, disabled_at: disabledAt ?? null },
      limits,
      live_keys: list.filter((key) => key.revoked_at === null).length,
      ...{ origins: developer.origins.length, apps: asked.apps.length },
      ...{ fee_rules: rules.length, open_tickets: open.length },
    };
  }

  const sessions = async (id: string) => ({
    epoch: (await must(id)).sessionEpoch,
    felt_within_secs: FELT_MS / 1000,
    longest_ttl_secs: LONGEST_SESSION_SECS,
  });

  return {
    overview: ({ developerId }) => overview(developerId),
    keys: async ({ developerId }) => ({ keys: [...(await keys.list(developerId))] }),
    createKey: ({ developerId, me, body, by }) =>
      keys.create(developerId, me.session.id, { clientId: body.client_id, name: body.name }, by),
    keyImpact: ({ developerId, id }) => keys.impact(developerId, id),
    revokeKey: async ({ developerId, id, by }) => {
      await keys.revoke(developerId, id, by);
      return { keys: [...(await keys.list(developerId))] };
    },
    origins: async ({ developerId }) => ({ origins: [...(await must(developerId)).origins] }),
    addOrigin: async ({ developerId, body, by }) => ({
      origins: [...(await origins.add(developerId, body.origin, by))],
    }),
    removeOrigin: async ({ developerId, body, by }) => ({
      origins: [...(await origins.remove(developerId, body.origin, by))],
    }),
    testOrigin: ({ developerId, body }) => origins.test(developerId, body.origin),
    apps: ({ developerId }) => apps.ofDeveloper(developerId),
    requestApp: ({ developerId, body, by }) => apps.ask(developerId, body, by),
    withdrawApp: ({ developerId, id, by }) => apps.withdraw(developerId, id, by),
    removeApp: ({ developerId, id, by }) => apps.remove(developerId, id, by),
    fees: ({ developerId }) => fees.rulesOf(developerId),
    setFee: ({ developerId, body, by }) => fees.set(developerId, body, body.sink, by),
    removeFee: ({ developerId, body, by }) => fees.remove(developerId, body.asset, body.operation, by),
    previewFee: ({ body }) => fees.preview(body, body.amount),
    usage: ({ developerId, query }) => activity.usage(developerId, query),
    tickets: ({ developerId, query }) => activity.tickets(developerId, query),
    ticket: ({ developerId, id }) => activity.ticket(developerId, id),
    sessions: ({ developerId }) => sessions(developerId),
    revokeSessions: async ({ developerId, body, by }) => {
      if (body.sub === undefined) await revokeSessions(stores.keys, developerId, by);
      else await revokeUserSessions(stores.keys, developerId, body.sub, by);
      return sessions(developerId);
    },
    audit: ({ developerId, query }) => activity.audit(developerId, query),
  };
}
