// How many parties a local network has. Its pool's threshold is settled when the pool is deployed; a later start can only
// do as its folder says.
import { StackError } from "../base/stack-file.ts";
import type { Deployment } from "./stack-folder.ts";

export interface NetworkSize {
  /** More than one are on free ports, behind a balancer on the network's port. Default 1. */
  readonly proxies?: number | undefined;
  /** Each with a key of its own. Default: as many as the pool asks for. */
  readonly enclaves?: number | undefined;
  /** Of how many of them the pool wants an attestation. Default: as the pool was made, 1 of a new one. */
  readonly threshold?: number | undefined;
}

export interface SettledSize {
  readonly proxies: number;
  readonly enclaves: number;
  readonly threshold: number;
}

type Made = Pick<Deployment, "threshold">;

export function settledSize(
  { proxies = 1, threshold: asked, enclaves }: NetworkSize = {},
  existing?: Made,
): SettledSize {
  const threshold = asked ?? existing?.threshold ?? 1;
  return { proxies, enclaves: enclaves ?? threshold, threshold };
}

/** To be asked before anything starts. Throws with advice when the pool that `file` tells of could not go on so. */
export function requireThreshold(file: string, existing: Made, size: NetworkSize | undefined): void {
  const { threshold, enclaves } = settledSize(size, existing);
  const made = `the pool of ${file} asks for ${String(existing.threshold)}`;
  if (threshold !== existing.threshold)
    throw new StackError(
      `${made} attestations, which nobody can change. Leave --threshold out, or begin again with: --fresh`,
    );
  if (enclaves < threshold)
    throw new StackError(`${made} attestations, and ${String(enclaves)} enclaves would run`);
}
