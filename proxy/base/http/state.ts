/** What the middleware has established about a request by the time a route sees it. */
import type { Permission } from "../../../shared/api/credentials.ts";
import type { Endpoint } from "../../../shared/api/endpoints.ts";
import type { ErrorCode } from "../../../shared/api/errors.ts";

export type Principal =
  | {
      readonly kind: "api-key";
      readonly developerId: string;
      readonly developerName: string;
      readonly keyId: string;
    }
  | {
      readonly kind: "session";
      readonly developerId: string;
      readonly developerName: string;
      readonly sub: string;
      readonly perms: readonly Permission[];
      /** Unix seconds. */
      readonly exp: number;
    };

/** Whose tickets a principal may see: a session its own, an API key all of its developer. */
export interface Owner {
  readonly developerId: string;
  /** Undefined for an API key. */
  readonly sub: string | undefined;
}

export function ownerOf(principal: Principal): Owner {
  return {
    developerId: principal.developerId,
    sub: principal.kind === "session" ? principal.sub : undefined,
  };
}

/** Limits of the caller's developer that differ from the instance's defaults. */
export interface LimitOverrides {
  readonly sessionPerMinute?: number;
  readonly keyPerMinute?: number;
  readonly keyPerDay?: number;
}

/** Koa's `ctx.state`. */
export interface RequestState {
  requestId: string;
  /** Absent, as is what follows from it, where the endpoint's access is `none`. */
  principal: Principal;
  limitOverrides: LimitOverrides;
  /**
   * Asks again whether the credential is still good: false once it is revoked or has expired. For answers
   * that outlive the check at their start (event streams); at most 5 s behind a revocation.
   */
  stillGood: () => Promise<boolean>;
  /** The row of ENDPOINTS that this request matched. */
  endpoint: Endpoint;
  /** With which it was refused; absent where it was not. */
  refusal: ErrorCode;
  /** The parsed JSON body, still unknown; absent for GET. */
  json: unknown;
}
