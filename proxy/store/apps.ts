/** Identity-provider apps, as the store keeps them: whose access tokens are exchanged for sessions, and on which terms. */
import type { Permission } from "../../shared/api/credentials.ts";

/** All that an app's tokens may be signed with. Asymmetric only: a shared secret would let us forge, and others with us. */
export const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export interface App {
  readonly id: string;
  /** Whose users the app's users are: limits, fees and tickets are this developer's. */
  readonly developerId: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** `iss`, compared character by character. */
  readonly issuer: string;
  /** `aud`, or one of several. */
  readonly audience: string;
  readonly jwksUrl: string;
  /** Host and port that the operator approved; `jwksUrl` must be there at every fetch. */
  readonly jwksHost: string;
  readonly algorithms: readonly Algorithm[];
  /**
   * For providers that do not write `typ: at+jwt` (RFC 9068): the claim that only their access tokens have, with
   * its value or one of its space-separated or listed values.
   */
  readonly accessClaim: { readonly name: string; readonly value: string } | undefined;
  /** The claim that names the user. */
  readonly subClaim: string;
  readonly perms: readonly Permission[];
  readonly maxTtlSecs: number;
}

export interface AppStore {
  app(id: string): Promise<App | undefined>;
  apps(): Promise<readonly App[]>;
  /** False when the id is taken. */
  addApp(app: App): Promise<boolean>;
  /** False when there is none. */
  removeApp(id: string): Promise<boolean>;
}
