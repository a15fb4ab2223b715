// The perpetuals exchange as a program: accounts, ledger and the door by CCTP, without the trading. Worth nothing; what
// talks to it meets the real one's rules.
import { runVenueProgram } from "../program.ts";
import { answerExchange } from "./api.ts";
import { runExchange } from "./exchange.ts";
import { readSettings } from "./settings.ts";

const HELP = `Usage: node --import tsx scripts/stand-ins/venues/exchange/main.ts --folder <dir> --settings <file> [--port <n>]

Runs the local exchange and prints one line of JSON when it listens: url. Ends on SIGINT and SIGTERM.

  --folder <dir>      its key (made when first asked for) and its state
  --settings <file>   JSON: its chain, contracts and fees (see settings.ts)
  --port <n>          default: a free one
  --help              this text`;

runVenueProgram({
  ...{ name: "exchange", help: HELP },
  async open(folder, settings, report) {
    const exchange = await runExchange(folder, await readSettings(settings), report);
    return { answer: (request) => answerExchange(exchange, request), stop: () => exchange.stop() };
  },
});
