/**
 * zod compiles its parsers where it may. The page's policy allows no such thing, and would report each try; schemas try
 * when they are made, so this is a script of its own that runs before any of them is.
 */
import { config } from "zod/v4/core";

config({ jitless: true });
