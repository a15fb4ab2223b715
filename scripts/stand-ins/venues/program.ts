// A venue as a program: its arguments, its HTTP side, the one line that says where it listens, and its end.
import { parseArgs } from "node:util";
import { z } from "zod";
import { serveJson, type VenueServerOptions } from "./json-server.ts";
import { portShape } from "./shapes.ts";

export interface OpenVenue {
  readonly answer: VenueServerOptions["answer"];
  stop(): Promise<void>;
}

export interface VenueProgram {
  readonly name: string;
  readonly help: string;
  /** `settings`: path of the file. */
  readonly open: (
    folder: string,
    settings: string,
    report: (where: string, error: unknown) => void,
  ) => Promise<OpenVenue>;
}

const argsShape = z.object({ folder: z.string().min(1), settings: z.string().min(1), port: portShape });

export function runVenueProgram(program: VenueProgram): void {
  const report = (where: string, error: unknown): void =>
    console.error(`${program.name}: ${where}: ${error instanceof Error ? error.message : String(error)}`);
  run(program, report).catch((error: unknown) => {
    report("start", error);
    process.exit(1);
  });
}

async function run(
  { help, open }: VenueProgram,
  report: (where: string, error: unknown) => void,
): Promise<void> {
  const { values } = parseArgs({
    options: {
      folder: { type: "string" },
      settings: { type: "string" },
      port: { type: "string", default: "0" },
      help: { type: "boolean" },
    },
  });
  const args = argsShape.safeParse(values);
  if (values.help === true || !args.success) {
    console.log(help);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const { folder, settings, port } = args.data;
  const venue = await open(folder, settings, report);
  const server = await serveJson({
    ...{ port, answer: venue.answer },
    onFault: (error) => report("request", error),
  });
  const stop = (): void =>
    void server
      .close()
      .then(() => venue.stop())
      .then(() => process.exit(0));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  console.log(JSON.stringify({ url: server.url }));
}
