/**
 * Identity-provider apps: asked for by developers, judged by operators. The terms are checked by the registration itself
 * when the request is made, too, so that nobody waits for a refusal that a form could have said.
 */
import type { z } from "zod";
import type { Apps, AppRequestView, AppView, requestAppRequest } from "./contract/developer.ts";
import type { OperatorApps } from "./contract/operator.ts";
import { addApp, type NewApp } from "../base/identity/registration.ts";
import type { AppRequest, AppRequestStore } from "../base/store/app-requests.ts";
import type { App, AppStore } from "../base/store/apps.ts";
import { noted, type Author } from "../base/store/audit.ts";
import type { KeyStore } from "../base/store/keys.ts";
import { asField, DashboardError, wrongField } from "./errors.ts";

export interface AppParts {
  readonly apps: AppStore;
  readonly requests: AppRequestStore;
  readonly developers: Pick<KeyStore, "developer" | "developers">;
  /** Development: providers on this machine. */
  readonly allowLoopback: boolean;
  readonly now: () => number;
}

type Wanted = z.output<typeof requestAppRequest>;

const MOST_PENDING = 10;

export class AppsService {
  readonly #parts: AppParts;

  constructor(parts: AppParts) {
    this.#parts = parts;
  }

  async ofDeveloper(developerId: string): Promise<Apps> {
    return {
      apps: (await this.#parts.apps.apps()).filter((one) => one.developerId === developerId).map(shownApp),
      requests: (await this.#parts.requests.requests())
        .filter((one) => one.developerId === developerId)
        .sort(newestFirst)
        .map(shownRequest),
    };
  }

  async ask(developerId: string, wanted: Wanted, by: Author): Promise<Apps> {
    const { client_id: id, jwks_url: jwksUrl, access_claim: accessClaim, ...rest } = wanted;
    if (!URL.canParse(jwksUrl)) throw wrongField("jwks_url", "the key set's address is no URL");
    const made: AppRequest = {
      ...{ id, developerId, createdAt: this.#at(), state: "pending", jwksUrl },
      ...{ issuer: rest.issuer, audience: rest.audience, algorithms: rest.algorithms },
      ...(accessClaim === null ? {} : { accessClaim }),
      ...{ subClaim: rest.sub_claim, perms: rest.perms, maxTtlSecs: rest.max_ttl_secs },
    };
    await this.#rehearse(newAppOf(made, new URL(jwksUrl).host)).catch(besideItsField);
    const open = (await this.#parts.requests.requests()).filter(
      (one) => one.developerId === developerId && one.state === "pending" && one.id !== id,
    );
    if (open.length >= MOST_PENDING) throw new DashboardError("TOO_MANY");
    const isNew = await this.#parts.requests.add(made, noted("app.request", by));
    const kept = isNew ? made : await this.#parts.requests.request(id);
    if (kept?.developerId !== developerId) throw new DashboardError("TAKEN");
    return this.ofDeveloper(developerId);
  }

  async withdraw(developerId: string, id: string, by: Author): Promise<Apps> {
    if ((await this.#parts.requests.request(id))?.developerId !== developerId)
      throw new DashboardError("NOT_FOUND");
    const withdrawn = await this.#parts.requests.decide(
      id,
      (one) => ({ ...one, state: "withdrawn", decidedAt: this.#at() }),
      noted("app.withdraw", by),
    );
    if (withdrawn === undefined) throw new DashboardError("STATE_CHANGED");
    return this.ofDeveloper(developerId);
  }

  async remove(developerId: string, id: string, by: Author): Promise<Apps> {
    if ((await this.#parts.apps.app(id))?.developerId !== developerId) throw new DashboardError("NOT_FOUND");
    await this.#parts.apps.removeApp(id, by);
    return this.ofDeveloper(developerId);
  }

  async all(): Promise<OperatorApps> {
    const names = new Map((await this.#parts.developers.developers()).map(({ id, name }) => [id, name]));
    const asked = [...(await this.#parts.requests.requests())].sort(newestFirst);
    const ordered = [
      ...asked.filter(({ state }) => state === "pending"),
      ...asked.filter(({ state }) => state !== "pending"),
    ];
    return {
      apps: (await this.#parts.apps.apps()).map((one) => ({
        ...shownApp(one),
        developer_id: one.developerId,
      })),
      requests: ordered.map((one) => ({
        ...shownRequest(one),
        ...{ developer_id: one.developerId, developer_name: names.get(one.developerId) ?? "" },
      })),
    };
  }

  /**
   * `jwksHost` is typed by whoever approves. The app's id follows from the request, so an approval that broke off
   * after the app was made is finished by the next, and two that come at once make one app.
   */
  async approve(id: string, jwksHost: string, by: Author): Promise<void> {
    const request = await this.#pending(id);
    // The whole id: its asker chose it, and with a part of it could name what became of another's request.
    const appId = `app_${id.replaceAll("-", "")}`;
    const exists = async (developerId: string): Promise<boolean> =>
      (await this.#parts.developers.developer(developerId)) !== undefined;
    if ((await this.#parts.apps.app(appId)) === undefined)
      await asField("jwks_host", () =>
        addApp(
          this.#parts.apps,
          exists,
          { ...newAppOf(request, jwksHost), id: appId },
          { allowLoopback: this.#parts.allowLoopback, by },
        ),
      );
    const approve = (one: AppRequest): AppRequest => ({
      ...one,
      ...{ state: "approved", decidedAt: this.#at(), appId },
    });
    if ((await this.#parts.requests.decide(id, approve, noted("app.approve", by))) !== undefined) return;
    // Withdrawn or refused in between: what was made of it goes.
    if ((await this.#parts.requests.request(id))?.state !== "approved")
      await this.#parts.apps.removeApp(appId, by);
    throw new DashboardError("STATE_CHANGED");
  }

  async refuse(id: string, reason: string, by: Author): Promise<void> {
    await this.#pending(id);
    const refuse = (one: AppRequest): AppRequest => ({
      ...one,
      ...{ state: "refused", decidedAt: this.#at(), reason },
    });
    if ((await this.#parts.requests.decide(id, refuse, noted("app.refuse", by))) === undefined)
      throw new DashboardError("STATE_CHANGED");
  }

  #at(): string {
    return new Date(this.#parts.now()).toISOString();
  }

  /** Throws with words what the registration would refuse. Nothing is kept. */
  async #rehearse(wanted: NewApp): Promise<void> {
    const nowhere = { ...this.#parts.apps, addApp: () => Promise.resolve(true) };
    await addApp(nowhere, () => Promise.resolve(true), wanted, { allowLoopback: this.#parts.allowLoopback });
  }

  async #pending(id: string): Promise<AppRequest> {
    const found = await this.#parts.requests.request(id);
    if (found === undefined) throw new DashboardError("NOT_FOUND");
    if (found.state !== "pending") throw new DashboardError("STATE_CHANGED");
    return found;
  }
}

const newestFirst = (one: AppRequest, other: AppRequest): number =>
  one.createdAt < other.createdAt ? 1 : -1;

/** The field whose fault the registration's words name. */
const FIELDS: readonly (readonly [RegExp, string])[] = [
  [/issuer/, "issuer"],
  [/audience/, "audience"],
  [/key set/, "jwks_url"],
  [/algorithm/, "algorithms"],
  [/permission/, "perms"],
  [/lifetime/, "max_ttl_secs"],
  [/name of a claim/, "sub_claim"],
  [/claim|ID tokens/, "access_claim"],
];

function besideItsField(error: unknown): never {
  const words = error instanceof Error ? error.message : "";
  const field = FIELDS.find(([pattern]) => pattern.test(words))?.[1];
  if (field === undefined) throw error;
  throw wrongField(field, words);
}

function newAppOf(request: AppRequest, jwksHost: string): NewApp {
  const { developerId, issuer, audience, jwksUrl, algorithms, accessClaim, subClaim, perms } = request;
  return {
    ...{ developerId, issuer, audience, jwksUrl, jwksHost, algorithms, subClaim, perms },
    ...(accessClaim === undefined ? {} : { accessClaim }),
    maxTtlSecs: request.maxTtlSecs,
  };
}

function shownApp(app: App): AppView {
  const { id, createdAt, issuer, audience, jwksUrl, jwksHost, algorithms, accessClaim } = app;
  return {
    ...{ id, created_at: createdAt, issuer, audience, jwks_url: jwksUrl, jwks_host: jwksHost },
    algorithms: [...algorithms],
    access_claim: accessClaim === undefined ? null : `${accessClaim.name}=${accessClaim.value}`,
    ...{ sub_claim: app.subClaim, perms: [...app.perms], max_ttl_secs: app.maxTtlSecs },
  };
}

function shownRequest(request: AppRequest): AppRequestView {
  const { id, createdAt, state, decidedAt, reason, appId, issuer, audience, jwksUrl } = request;
  return {
    ...{ id, created_at: createdAt, state, issuer, audience, jwks_url: jwksUrl },
    ...{ decided_at: decidedAt ?? null, reason: reason ?? null, app_id: appId ?? null },
    algorithms: [...request.algorithms],
    access_claim: request.accessClaim ?? null,
    ...{ sub_claim: request.subClaim, perms: [...request.perms], max_ttl_secs: request.maxTtlSecs },
  };
}
