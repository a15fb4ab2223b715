/** Identity-provider apps that developers ask for, until an operator decides; what came of it stays. */
import { z } from "zod";
import { permission } from "../../../shared/api/credentials.ts";
import { ALGORITHMS } from "./apps.ts";
import { audited, type Note } from "./audit.ts";
import type { Engine } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";

const shape = z.strictObject({
  id: z.string(),
  developerId: z.string(),
  /** RFC 3339. */
  createdAt: z.string(),
  state: z.enum(["pending", "approved", "refused", "withdrawn"]),
  decidedAt: z.string().exactOptional(),
  /** Why it was refused. */
  reason: z.string().exactOptional(),
  /** Of the app that it became. */
  appId: z.string().exactOptional(),
  issuer: z.string(),
  audience: z.string(),
  jwksUrl: z.string(),
  algorithms: z.array(z.enum(ALGORITHMS)),
  /** `name=value` */
  accessClaim: z.string().exactOptional(),
  subClaim: z.string(),
  perms: z.array(permission),
  maxTtlSecs: z.int(),
});
export type AppRequest = RecordOf<typeof shape>;

export type AppRequestStore = ReturnType<typeof openAppRequestStore>;

export function openAppRequestStore(engine: Engine) {
  const requests = new Records(engine, "app-requests", jsonForm<AppRequest>(shape));
  const carry = (note: Note) => (before: AppRequest | undefined, after: AppRequest | undefined) => {
    const { id, developerId } = (after ?? before)!;
    return audited(note, { target: { kind: "app-request", id }, developerId, before, after });
  };
  return {
    request: (id: string) => requests.get(id),
    requests: () => requests.all(),
    /** False, and nothing new, where there is one of this id. */
    add: (made: AppRequest, note: Note) => requests.add(made.id, made, { carry: carry(note) }),
    /** What `decide` makes of a pending one; undefined where it is not pending any more, or was never there. */
    async decide(
      id: string,
      decide: (now: AppRequest) => AppRequest,
      note: Note,
    ): Promise<AppRequest | undefined> {
      let decided: AppRequest | undefined;
      await requests.change(
        id,
        (now) => (decided = now?.state === "pending" ? decide(now) : undefined) ?? now,
        { thoughFull: true, carry: carry(note) },
      );
      return decided;
    },
  };
}
