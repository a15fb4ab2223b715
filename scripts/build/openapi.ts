/** `npm run openapi`: prints the OpenAPI 3.1 document of the HTTP interface. Needs no running service. */
import { parseArgs } from "node:util";
import { openApiDocument } from "../../shared/api/openapi.ts";

const HELP = `Usage: npm run openapi [-- --help]

Prints the OpenAPI 3.1 document of the HTTP interface on standard output: the same document that a
running instance serves at GET /openapi.json. For a file without npm's own lines:

  npm run --silent openapi > openapi.json
`;

const { values } = parseArgs({ options: { help: { type: "boolean", short: "h" } } });
process.stdout.write(values.help === true ? HELP : `${JSON.stringify(openApiDocument(), undefined, 2)}\n`);
