/** What the instance is and how it fares, put together from what each part says of itself. */
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { WhoAmI } from "../../../shared/api/credentials.ts";
import { API_VERSION, MAX_BODY_BYTES } from "../../../shared/api/endpoints.ts";
import type { BridgesInfo } from "../../../shared/api/bridges.ts";
import type { Health, Info } from "../../../shared/api/service.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Config } from "../config.ts";
import type { EnclaveDescription } from "../enclave-link/directory.ts";
import type { Fees } from "../fees/fee-rules.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { LimitOverrides, Principal } from "../../base/http/state.ts";
import type { Limits } from "../../base/limits/limits.ts";
import type { Circuits } from "./circuits.ts";

export const PARTS = ["enclave", "chain", "store", "sequencer", "indexer"] as const;
export type Part = (typeof PARTS)[number];

/** `detail` is shown to callers: no upstream text. */
export interface Finding {
  readonly state: "ok" | "degraded" | "down";
  /** How old the finding is. */
  readonly ageMs: number;
  readonly detail?: string;
}
export type HealthChecks = Readonly<Record<Part, () => Promise<Finding> | Finding>>;

export interface StatusParts {
  readonly config: Pick<
    Config,
    | "network"
    | "chainId"
    | "pool"
    | "deploymentBlock"
    | "addressPrefix"
    | "confirmations"
    | "assets"
    | "swaps"
  >;
  readonly circuits: Circuits;
  readonly fees: Fees;
  readonly limits: Limits;
  /** Over a nonce of 16 to 64 bytes. */
  readonly describeEnclaves: (nonce: Uint8Array) => Promise<readonly EnclaveDescription[]>;
  /** How many attestations the pool asks for now. */
  readonly threshold: () => Promise<number>;
  readonly checks: HealthChecks;
  /** Undefined where bridges are off. How they fare is said beside the rest: payments do not depend on it. */
  readonly bridges?: { info(): BridgesInfo; health(): Promise<Finding> } | undefined;
  /** What the operator should look at and no caller needs to wait for. No upstream text. */
  readonly warnings?: () => readonly string[];
  readonly randomBytes: (length: number) => Uint8Array;
  readonly now?: () => number;
}

export interface Status {
  health(): Promise<Health>;
  info(nonce: Uint8Array | undefined): Promise<Info>;
  whoami(principal: Principal, overrides: LimitOverrides): Promise<WhoAmI>;
  /** As health tells them. */
  warnings(): readonly string[];
}

/** A finding that does not come is a finding. */
const CHECK_DEADLINE_MS = 3_000;
/** Without a nonce a document proves no freshness, so one may be shown for a while. */
const DESCRIPTION_MS = 10_000;
const NONCE_BYTES = 32;

class StatusOfParts implements Status {
  readonly #parts: StatusParts;
  readonly #warnings: () => readonly string[];
  readonly #now: () => number;
  #remembered: { readonly at: number; readonly enclaves: Info["enclaves"] } | undefined;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    this.#warnings = parts.warnings ?? (() => []);
    this.#now = parts.now ?? Date.now;
  }

  async health(): Promise<Health> {
    const findings = await Promise.all(
      PARTS.map(async (part) => [part, await withDeadline(this.#parts.checks[part])] as const),
    );
    const noted = this.#warnings();
    const { bridges } = this.#parts;
    const besides = {
      ...(bridges === undefined ? {} : { bridges: shownFinding(await withDeadline(() => bridges.health())) }),
      ...(noted.length === 0 ? {} : { warnings: [...noted] }),
    };
    if (findings.every(([, { state }]) => state === "ok")) return { status: "ok", ...besides };
    const shown = findings.map(([part, finding]) => [part, shownFinding(finding)]);
    const shownChecks = Object.fromEntries(shown) as NonNullable<Health["checks"]>;
    return { status: "degraded", checks: shownChecks, ...besides };
  }

  warnings(): readonly string[] {
    return this.#warnings();
  }

  async info(nonce: Uint8Array | undefined): Promise<Info> {
    try {
      const [enclaves, needed] = await Promise.all([this.#enclavesFor(nonce), this.#parts.threshold()]);
      return {
        api_version: API_VERSION,
        network: this.#parts.config.network,
        chain_id: this.#parts.config.chainId,
        pool: checksumAddress(this.#parts.config.pool),
        deployment_block: this.#parts.config.deploymentBlock,
        address_prefix: this.#parts.config.addressPrefix,
        confirmations: this.#parts.config.confirmations,
        assets: this.#parts.config.assets.map((asset) => ({
          ...asset,
          address: checksumAddress(asset.address),
        })),
        features: {
          swaps: this.#parts.config.swaps,
          bridges: this.#parts.bridges !== undefined,
          spend9: true,
        },
        fees: this.#parts.fees.schedule(),
        circuits: this.#parts.circuits,
        enclaves,
        threshold: needed,
        bridges: this.#parts.bridges?.info() ?? null,
        limits: { body_bytes: MAX_BODY_BYTES, minimums: this.#parts.fees.minimums },
      };
    } catch (cause) {
      if (!(cause instanceof ChainUnreachable)) throw cause;
      throw new ApiError("CHAIN_UNAVAILABLE", "The chain cannot be asked at the moment", {
        retryAfterSecs: 5,
        cause,
      });
    }
  }

  async whoami(principal: Principal, overrides: LimitOverrides): Promise<WhoAmI> {
    return {
      kind: principal.kind === "api-key" ? "api_key" : "session",
      developer: { id: principal.developerId, name: principal.developerName },
      ...(principal.kind === "session"
        ? { session: { sub: principal.sub, perms: [...principal.perms], exp: principal.exp } }
        : {}),
      limits: (await this.#parts.limits.standings(principal, overrides)).map(
        ({ policy, quota, windowSecs, remaining, resetSecs }) => ({
          policy,
          quota,
          window_secs: windowSecs,
          remaining,
          reset: resetSecs,
        }),
      ),
      fees: await this.#parts.fees.effective(principal.developerId),
    };
  }

  async #enclavesFor(nonce: Uint8Array | undefined): Promise<Info["enclaves"]> {
    if (
      nonce === undefined &&
      this.#remembered !== undefined &&
      this.#now() - this.#remembered.at < DESCRIPTION_MS
    ) {
      return this.#remembered.enclaves;
    }
    const described = await this.#parts.describeEnclaves(nonce ?? this.#parts.randomBytes(NONCE_BYTES));
    const enclaves = described.map(({ signer, accepted, measurements, document }) => ({
      signer: checksumAddress(signer),
      accepted,
      measurements: { ...measurements },
      attestation: Buffer.from(document).toString("base64"),
    }));
    // "None answers" is not worth remembering: the next caller may find one.
    if (nonce === undefined && enclaves.length > 0) this.#remembered = { at: this.#now(), enclaves };
    return enclaves;
  }
}

export function createStatus(parts: StatusParts): Status {
  return new StatusOfParts(parts);
}

const shownFinding = ({ state, ageMs, detail }: Finding) => ({
  ...{ state, age_ms: Math.max(0, Math.round(ageMs)) },
  ...(detail === undefined ? {} : { detail }),
});

async function withDeadline(check: () => Promise<Finding> | Finding): Promise<Finding> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding>((resolve) => {
    timer = setTimeout(
      () => resolve({ state: "down", ageMs: 0, detail: "did not answer in time" }),
      CHECK_DEADLINE_MS,
    );
  });
  try {
    return await Promise.race([Promise.resolve().then(check), late]);
  } catch {
    // The check's own words may come from upstream.
    return { state: "down", ageMs: 0, detail: "the check failed" };
  } finally {
    clearTimeout(timer);
  }
}
