// Signs a user in at the example identity provider of a running stack and prints the access token: what a wallet's
// page has in its hands before it asks for a session.
import { parseArgs } from "node:util";
import { signIn } from "../stand-ins/identity/sign-in.ts";
import { DEFAULT_FOLDER, runningStack, StackError } from "../base/stack-file.ts";

const HELP = `Usage: npm run --silent sign-in -- <user> [--folder <path>]

Prints an access token of the example identity provider, which runs beside the stack of: npm start -- --identity
The user is any name: nobody is asked for a password. DEVELOPMENT ONLY.

  --folder <path>  folder of the stack (default ${DEFAULT_FOLDER})`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { folder: { type: "string", default: DEFAULT_FOLDER }, help: { type: "boolean" } },
  });
  const [user, ...more] = positionals;
  if (values.help === true || user === undefined || more.length > 0) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const stack = await runningStack(values.folder);
  if (stack?.identity === undefined)
    throw new StackError("no identity provider runs; start the stack with: npm start -- --identity");
  console.log((await signIn(stack.identity.issuer, user)).access_token);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
