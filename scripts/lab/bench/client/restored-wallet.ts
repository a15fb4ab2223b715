// The wallet that is restored, as the service pays it and as its own process opens it.

import { SpendingKey } from "../../../../shared/notes/keys.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";

export const SEED = new Uint8Array(32).fill(4);
export const keys = SpendingKey.fromSeed(SEED);
export const CHAIN_ID = 31_337;
export const POOL = `0x${"aa".repeat(20)}` as Address;
export const ASSET = `0x${"bb".repeat(20)}` as Address;
