/** The second program: another judge behind the same frames, keys and documents. */
import { run } from "./run.ts";
import { openSecond } from "./second.ts";

await run(openSecond);
