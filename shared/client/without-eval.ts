/**
 * zod tries once whether it may make functions from text. A content security policy that forbids it reports that as
 * an attack on the page, so it is not tried. First of all imports: zod looks when a schema is made.
 */
import { config } from "zod";

config({ jitless: true });
