/** zod compiles its parsers where it may; the page's policy allows no such thing, and each try would be reported. */
import * as z from "zod";

z.config({ jitless: true });
