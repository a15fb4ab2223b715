/** Developers and their API keys, as the store keeps them. Of a key only a keyed hash of its secret is ever here. */

/** Raised (or lowered) limits; what is absent is the instance's default. */
export interface DeveloperLimits {
  readonly sessionPerMinute?: number;
  readonly keyPerMinute?: number;
  readonly keyPerDay?: number;
}

export interface Developer {
  readonly id: string;
  readonly name: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Sessions carry the epoch of their issue; raising it revokes all of them at once. */
  readonly sessionEpoch: number;
  readonly limits: DeveloperLimits;
  /** Browser origins that may use this developer's sessions, e.g. `https://app.example`. */
  readonly origins: readonly string[];
  /** RFC 3339; while it is there, no credential of the developer is taken. */
  readonly disabledAt?: string;
}

export interface ApiKey {
  /** Public part, shown in lists: 16 hex digits. */
  readonly id: string;
  readonly developerId: string;
  readonly name: string;
  /** HMAC-SHA-256(pepper, secret), 32 bytes. */
  readonly secretHash: Uint8Array;
  readonly createdAt: string;
  readonly lastUsedAt: string | undefined;
  readonly revokedAt: string | undefined;
}

export interface KeyStore {
  developer(id: string): Promise<Developer | undefined>;
  developers(): Promise<readonly Developer[]>;
  /** False when the id is taken. */
  addDeveloper(developer: Developer): Promise<boolean>;
  /** Changes what `change` returns; undefined when there is no such developer. */
  updateDeveloper(id: string, change: (now: Developer) => Developer): Promise<Developer | undefined>;

  /** Like `sessionEpoch`, for one user of a developer; 0 until that user's sessions are revoked the first time. */
  userEpoch(developerId: string, sub: string): Promise<number>;
  raiseUserEpoch(developerId: string, sub: string): Promise<number>;

  key(id: string): Promise<ApiKey | undefined>;
  keys(developerId?: string): Promise<readonly ApiKey[]>;
  addKey(key: ApiKey): Promise<void>;
  /** False when there is no such key or it is revoked already. */
  revokeKey(id: string, at: string): Promise<boolean>;
  touchKey(id: string, at: string): Promise<void>;
}
