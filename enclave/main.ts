/** The first program. */
import { openFirst } from "./first.ts";
import { run } from "./run.ts";

await run(openFirst);
