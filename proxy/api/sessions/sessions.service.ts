/** Mints session tokens for a developer's users. The caller has proved to be the developer's server. */
import type { SessionResponse } from "../../../shared/api/credentials.ts";
import type { Permission } from "../../../shared/api/credentials.ts";
import type { Auth } from "../auth/auth.ts";
import { ApiError } from "../../base/http/errors.ts";

export interface MintRequest {
  readonly sub: string;
  readonly perms: readonly Permission[];
  readonly ttlSecs: number;
}

export interface Sessions {
  mint(developerId: string, request: MintRequest): Promise<SessionResponse>;
}

export function createSessions(auth: Pick<Auth, "mint">): Sessions {
  return {
    mint: async (developerId, { sub, perms, ttlSecs }) => {
      const minted = await auth.mint(developerId, sub, perms, ttlSecs);
      if (minted === undefined) throw new ApiError("INVALID_CREDENTIAL", "The credential is not valid");
      return { ...minted, sub, perms: [...perms] };
    },
  };
}
