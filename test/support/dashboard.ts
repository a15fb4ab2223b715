// A dashboard in a process of its own over a store on disk, and browsers that speak with it: each with its cookies, the
// headers that a browser sends, and a passkey.
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createPepper, loadPepper } from "../../proxy/base/auth/secret-files.ts";
import { openStores } from "../../proxy/base/open-stores.ts";
import type { InstanceStores } from "../../proxy/base/store/instance.ts";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";
import { claimInstance } from "../../proxy/base/store/lmdb/instance-record.ts";
import {
  CSRF_HEADER,
  CSRF_VALUE,
  DASHBOARD,
  type AnswerOf,
  type BodyOf,
  type DashboardEndpointName,
} from "../../proxy/dashboard/contract/endpoints.ts";
import type { DashboardProblem } from "../../proxy/dashboard/contract/errors.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { createInvitation, type InvitationTerms } from "../../scripts/operator/invitations.ts";
import { freePort } from "../../scripts/stack/ports.ts";
import { startService, type Service } from "../../scripts/base/service.ts";
import { Authenticator } from "./authenticator.ts";
import { SILENT } from "./money.ts";

const CHAIN_ID = 31_337;
export const POOL = asAddress(`0x${"70".repeat(20)}`)!;
export const USDC = `0x${"75".repeat(20)}`;

export interface RunningDashboard {
  readonly origin: string;
  readonly port: number;
  readonly stores: InstanceStores;
  readonly pepper: Uint8Array;
  readonly service: Service;
  invite(terms: InvitationTerms, hours?: number): Promise<string>;
  stop(): Promise<void>;
}

/** A suite's people all come from one address. */
const FROM_ONE_ADDRESS = { CLOISTER_DASHBOARD_TRIES_PER_MINUTE: "10000" };

/** `asSetForPeople`: with no limit raised for the suite. */
export async function startDashboard(
  more: Readonly<Record<string, string>> = {},
  { asSetForPeople = false } = {},
): Promise<RunningDashboard> {
  const folder = await mkdtemp(path.join(tmpdir(), "dashboard-"));
  const data = path.join(folder, "store");
  const pepperFile = path.join(folder, "pepper");
  await createPepper(pepperFile);
  const database = openDatabase(data);
  await claimInstance(database, { chainId: CHAIN_ID, pool: POOL });
  const storeRedisUrl = more["CLOISTER_STORE_REDIS_URL"];
  const { stores, close } = await openStores(
    { storeRedisUrl, dataDir: data, chainId: CHAIN_ID, pool: POOL },
    database,
    SILENT,
    { redis: () => undefined },
  );
  const pepper = await loadPepper(pepperFile);
  const port = await freePort();
  const origin = `http://localhost:${String(port)}`;
  const service = await startService({
    name: "dashboard",
    program: "proxy/dashboard/main.ts",
    logFile: path.join(folder, "dashboard.log"),
    settings: {
      CLOISTER_DATA_DIR: data,
      CLOISTER_RPC_URL: "http://127.0.0.1:9",
      CLOISTER_CHAIN_ID: String(CHAIN_ID),
      CLOISTER_POOL: POOL,
      CLOISTER_USDC: USDC,
      CLOISTER_ADDRESS_PREFIX: "clodev",
      CLOISTER_API_KEY_PEPPER_FILE: pepperFile,
      CLOISTER_DASHBOARD_ORIGIN: origin,
      CLOISTER_DASHBOARD_PORT: String(port),
      ...(asSetForPeople ? {} : FROM_ONE_ADDRESS),
      ...more,
    },
    isReady: (line) => line["msg"] === "listening",
  });
  return {
    ...{ origin, port, stores, pepper, service },
    invite: async (terms, hours = 1) => (await createInvitation(stores, pepper, { ...terms, hours })).token,
    stop: async () => {
      await service.stop();
      await close();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Answered<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export class Browser {
  readonly #dashboard: Pick<RunningDashboard, "origin" | "port">;
  readonly cookies = new Map<string, string>();
  readonly authenticator: Authenticator;

  constructor(dashboard: Pick<RunningDashboard, "origin" | "port">, authenticator?: Authenticator) {
    this.#dashboard = dashboard;
    this.authenticator = authenticator ?? new Authenticator(dashboard.origin);
  }

  /** As the page sends it, with these headers instead; undefined leaves one out. */
  async request(
    method: string,
    target: string,
    body?: unknown,
    change: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Answered> {
    const { origin, port } = this.#dashboard;
    const isPost = method === "POST";
    const headers = new Headers();
    const sent: Record<string, string | undefined> = {
      ...(this.cookies.size === 0
        ? {}
        : { Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ") }),
      "Sec-Fetch-Site": "same-origin",
      ...(isPost ? { Origin: origin, "Content-Type": "application/json", [CSRF_HEADER]: CSRF_VALUE } : {}),
      ...change,
    };
    for (const [name, value] of Object.entries(sent)) if (value !== undefined) headers.set(name, value);
    const response = await fetch(`http://localhost:${String(port)}${target}`, {
      ...{ method, headers, redirect: "manual" },
      ...(isPost ? { body: typeof body === "string" ? body : JSON.stringify(body ?? {}) } : {}),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      if (/max-age=0/i.test(line)) this.cookies.delete(pair.slice(0, at));
      else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const text = await response.text();
    const isJson = response.headers.get("Content-Type")?.includes("json") === true;
    return {
      ...{ status: response.status, headers: response.headers },
      body: isJson ? (JSON.parse(text) as unknown) : text,
    };
  }

  /** An endpoint of the table; its answer, in the shape that the contract says. Throws what was refused. */
  async call<Name extends DashboardEndpointName>(
    name: Name,
    ...[body, { id = "", query = "" } = {}]: Arguments<Name>
  ): Promise<AnswerOf<Name>> {
    const { method, path: template, answer } = DASHBOARD[name];
    const found = await this.request(method, template.replace("{id}", id) + query, body);
    if (found.status !== 200) throw new Refused(found.status, found.body as DashboardProblem);
    return answer.parse(found.body) as AnswerOf<Name>;
  }

  async signUp(token: string, name = "Ada"): Promise<AnswerOf<"signUp">> {
    const { options } = await this.call("signUpOptions", { token, account_name: name });
    const response = this.authenticator.create(options);
    return this.call("signUp", { token, account_name: name, passkey_name: "laptop", response });
  }

  async signIn(): Promise<AnswerOf<"signIn">> {
    const { options } = await this.call("signInOptions", {});
    return this.call("signIn", { response: this.authenticator.get(options) });
  }
}

type Arguments<Name extends DashboardEndpointName> = [
  body?: BodyOf<Name>,
  where?: { readonly id?: string; readonly query?: string },
];

export class Refused extends Error {
  readonly status: number;
  readonly problem: DashboardProblem;
  constructor(status: number, problem: DashboardProblem) {
    super(`${String(status)} ${problem.code}: ${problem.detail} ${JSON.stringify(problem.errors ?? [])}`);
    this.status = status;
    this.problem = problem;
  }
}

/** For `assert.rejects`. */
export const refusedWith =
  (code: DashboardProblem["code"]) =>
  (error: unknown): boolean =>
    error instanceof Refused && error.problem.code === code;

export const aPress = (): string => randomUUID();
