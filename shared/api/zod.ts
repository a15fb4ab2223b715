/**
 * zod, which tries once whether it may make functions from text. A content security policy that forbids it reports that as
 * an attack on the page, so in pages and workers it is not tried. zod looks when a schema is made, and bundlers order
 * modules as they like: whatever makes one imports it from here.
 */
import { config } from "zod";

export * from "zod";

config({ jitless: "location" in globalThis });
