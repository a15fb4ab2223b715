/** Amounts, times and depths that plans are drawn with and scenarios are played by. */
import { CONFIRMATIONS } from "./world.ts";

export const UNIT = 1_000_000n;
/** Of everything here that is moved on. */
export const MINIMUM = 2n * UNIT;
/** From here on the attester's fee for a fast message is above the ceiling. */
export const ABOVE_FAST_FEE = 5_001n * UNIT;
export const HOUR = 3_600;
export const DAY = 24 * HOUR;
export const MAX_DEPTH = CONFIRMATIONS - 1;
export const STUCK_MS = 31_000;
