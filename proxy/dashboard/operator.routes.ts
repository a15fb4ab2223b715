/** Endpoints of the operator's role. */
import type { Alarms, Enclaves, OperatorHealth } from "./contract/operator.ts";
import type { Activity } from "./activity.service.ts";
import type { AppsService } from "./apps.service.ts";
import type { HandlersOf, Served } from "./call.ts";
import type { DevelopersService } from "./developers.service.ts";
import type { Fees } from "./fees.service.ts";
import type { createWork } from "./work.service.ts";

export interface OperatorRouteParts {
  readonly developers: DevelopersService;
  readonly apps: AppsService;
  readonly fees: Fees;
  readonly activity: Activity;
  readonly work: ReturnType<typeof createWork>;
  readonly health: () => Promise<OperatorHealth>;
  readonly poolView: () => Promise<Enclaves>;
  readonly alarms: () => Promise<Alarms>;
}

export function operatorRoutes(parts: OperatorRouteParts): HandlersOf<Served<"operator">> {
  const { developers, apps, fees, activity, work, health, poolView, alarms } = parts;
  return {
    health,
    developers: () => developers.list(),
    addDeveloper: ({ body, by }) => developers.add(body, by),
    setLimits: ({ id, body, by }) => developers.setLimits(id, body, by),
    disableDeveloper: ({ id, by }) => developers.disable(id, by),
    enableDeveloper: ({ id, by }) => developers.enable(id, by),
    revokeDeveloperSessions: ({ id, by }) => developers.revokeSessions(id, by),
    invitations: async () => ({ invitations: await developers.invitations() }),
    createInvitation: ({ body, by }) => developers.invite(body, by),
    cancelInvitation: async ({ id, by }) => {
      await developers.cancelInvitation(id, by);
      return { invitations: await developers.invitations() };
    },
    accounts: () => developers.accounts(),
    closeAccount: ({ id, me, by }) => developers.closeAccount(id, me.account, by),
    operatorApps: () => apps.all(),
    approveApp: async ({ id, body, by }) => {
      await apps.approve(id, body.jwks_host, by);
      return apps.all();
    },
    refuseApp: async ({ id, body, by }) => {
      await apps.refuse(id, body.reason, by);
      return apps.all();
    },
    operatorFees: () => fees.forOperator(),
    enclaves: poolView,
    queue: () => work.queue(),
    operatorBridges: () => work.bridges(),
    alarms,
    operatorAudit: ({ query }) => activity.audit(undefined, query),
  };
}
