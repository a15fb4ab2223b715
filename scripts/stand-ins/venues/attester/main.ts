// The attester as a program: the third party that watches for messages and signs them. What it protects here is worth
// nothing; that it alone holds its keys is what the programs around it must cope with.
import { runVenueProgram } from "../program.ts";
import { answerAttester } from "./api.ts";
import { runAttester } from "./attester.ts";
import { readSettings } from "./settings.ts";

const HELP = `Usage: node --import tsx scripts/stand-ins/venues/attester/main.ts --folder <dir> --settings <file> [--port <n>]

Runs the attester of the local chains and prints one line of JSON when it listens: url. Ends on SIGINT and SIGTERM.

  --folder <dir>      its keys (made at the first start) and its book
  --settings <file>   JSON: the chains that it follows, fees, finality (see settings.ts)
  --port <n>          default: a free one
  --help              this text`;

runVenueProgram({
  ...{ name: "attester", help: HELP },
  async open(folder, settings, report) {
    const attester = await runAttester(folder, await readSettings(settings), (domain, error) =>
      report(`domain ${String(domain)}`, error),
    );
    return { answer: (request) => answerAttester(attester, request), stop: () => attester.stop() };
  },
});
