/** What a handler of the dashboard is given, and the table of them: one for each row of the contract, typed by it. */
import type * as z from "zod";
import type { AnswerOf, DASHBOARD, DashboardEndpointName } from "./contract/endpoints.ts";
import type { Author } from "../base/store/audit.ts";
import type { Account } from "../base/store/accounts.ts";
import type { DashboardSession } from "../base/store/dashboard-sessions.ts";

/** Who asks, as far as it is known. */
export interface Visitor {
  /** Whose session the cookie opens; undefined where it opens none. */
  readonly signedIn: SignedIn | undefined;
  /** Network address, grouped. */
  readonly address: string;
  readonly userAgent: string;
  /** Binds challenges to this browser until it is signed in; `set` gives it one. */
  readonly ceremony: { readonly holder: string | undefined; set(): string; clear(): void };
  /** The session's cookie. */
  setSession(token: string, endsAt: number): void;
  clearSession(): void;
}

export interface SignedIn {
  readonly account: Account;
  readonly session: DashboardSession;
}

type Row<Name extends DashboardEndpointName> = (typeof DASHBOARD)[Name];
type Parsed<Name extends DashboardEndpointName, Part extends "body" | "query"> =
  Row<Name> extends Readonly<Record<Part, infer Shape extends z.ZodType>> ? z.output<Shape> : undefined;

export interface Call<Name extends DashboardEndpointName> {
  readonly visitor: Visitor;
  /** `{id}` of the path. */
  readonly id: string;
  readonly body: Parsed<Name, "body">;
  readonly query: Parsed<Name, "query">;
  /** Throws NOT_SIGNED_IN: for handlers whose access says that there is one. */
  readonly me: SignedIn;
  /** Whose data a developer's endpoint is about. */
  readonly developerId: string;
  /** For the audit log. */
  readonly by: Author;
}

export type HandlerOf<Name extends DashboardEndpointName> = (call: Call<Name>) => Promise<AnswerOf<Name>>;
export type HandlersOf<Name extends DashboardEndpointName = DashboardEndpointName> = {
  readonly [One in Name]: HandlerOf<One>;
};

/** Names of the rows of one access, for files that serve them all. */
export type Served<Access extends string> = {
  [Name in DashboardEndpointName]: Row<Name> extends { readonly access: Access } ? Name : never;
}[DashboardEndpointName];
