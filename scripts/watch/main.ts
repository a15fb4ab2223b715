/**
 * `npm run watch`: follows a pool on a node of one's own and judges again all that the pool took on an enclave's
 * word; with --refute it shows the pool what is false. Needs no help from the service and trusts none of its answers. Exit codes: 0 all good, 2 alarm, 1 not finished.
 */
import { parseArgs } from "node:util";
import { JsonRpcProvider } from "ethers";
import { ChainRefused, ChainUnreachable } from "../../proxy/base/chain/json-rpc.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import type { Home } from "../../shared/protocol/statements.ts";
import { readKeys, verificationKeysFolder } from "../build/circuits/artefacts.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { DEFAULT_FOLDER, NETWORK_NAMES, networkOf, runningStack } from "../base/stack-file.ts";
import { Account, fileBook, memoryBook } from "./account.ts";
import { openEvidenceFolder } from "./evidence-folder.ts";
import { CODES, isAlarm, jsonOf, lineOf, type Code } from "./findings.ts";
import { proposalJson, proposalText } from "../../proxy/base/chain/owner-events.ts";
import { fileJournal, memoryJournal } from "./journal.ts";
import { connectNode, pause } from "./node.ts";
import { Refuter, reportJson, reportLine } from "./refuter.ts";
import { writeStatus } from "./status-file.ts";
import { createWatcher } from "./watcher.ts";

const HELP = `Usage: npm run watch -- [--once] [options]

Follows a pool and judges every accepted statement and root again: proof, rules, signers, leaves, tokens.

  --once               walk to the newest block and end
  --rpc <url>          a node of your own            (these two, or a running local stack)
  --pool <address>     the pool
  --from-block <n>     at or before the pool's first block (default 0)
  --stack <folder>     folder of the local stack (default ${DEFAULT_FOLDER})
  --network <name>     which network of the local stack (default first)
  --keys <folder>      verification keys, one JSON file a kind (default: the committed ones)
  --state <folder>     remember what was read, and go on from there
  --confirmations <n>  blocks on top of a block before it is read (default 0)
  --refute             show the pool what is false: signers out, forged leaves void, their bond to the account whose
                       private key is in the environment as REFUTER_KEY, and which pays the gas
  --advance            with --refute: then extend the tree from the last good root until the doubtful leaves are behind:
                       what was proved on a revoked root is suspended
  --evidence <folder>  write a file for each alarm: all that somebody else needs to check it, and to show the pool what
                       is false
  --status <file>      keep a file with the block that was judged and the alarms that stand, for the dashboard
  --json               JSON lines on standard output
  --help               this text

Exit code: 0 all good, 2 an alarm stands, 1 not finished (node unreachable, wrong options). What was refuted stays an
alarm: its money may have left.

A file of evidence is JSON, written once and never again: the finding, its block and transaction with input and logs, and
of a false attestation what was signed (EIP-712 data, signers, signatures), the statement with its proof, or the leaves of
the root; under "refutation" the call that shows it to the pool, for any account, with no value ("to", "data"). Roots that come
later are named in the call: a second file with the same name and an ending says what to send then. Nothing in them is
secret: all of it stood on the chain.

Alarms, each with block, transaction, statement and who signed it:
${table(true)}

Notices, which mean no harm by themselves, with block, transaction and, of a proposal, from when anybody may admit it
and when it expires:
${table(false)}`;

function table(ofAlarms: boolean): string {
  return (Object.keys(CODES) as Code[])
    .filter((code) => isAlarm({ code }) === ofAlarms)
    .map((code) => `  ${code.padEnd(20)} ${CODES[code]}`)
    .join("\n");
}

const POLL_MS = 2_000;
const PROGRESS_EVERY_MS = 2_000;

async function main(): Promise<number> {
  const values = readArguments();
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.advance && !values.refute) throw new UsageError("--advance belongs to --refute");
  const { rpc, pool, fromBlock } = await whereToLook(values);
  const confirmations = wholeNumber("--confirmations", values.confirmations);
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());

  const say = (text: string): void => console.error(text);
  const tell = (object: Record<string, unknown>): void => {
    if (values.json) console.log(JSON.stringify(object));
  };
  const node = connectNode(rpc, { signal: ending.signal });
  const home = { chainId: await node.chainId(), pool };
  const beganAt = performance.now();
  let saidAt = beganAt;
  let statementsBefore = 0;
  const rate = (statements: number): number =>
    Math.round((10_000 * (statements - statementsBefore)) / (performance.now() - beganAt)) / 10;

  const evidence =
    values.evidence === undefined
      ? undefined
      : await openEvidenceFolder({ folder: values.evidence, node, say });
  const watcher = await createWatcher({
    node,
    home,
    fromBlock,
    confirmations,
    // Their hashes are compared with those that the pool pins.
    keys: await readKeys(values.keys),
    journal: values.state === undefined ? memoryJournal() : await fileJournal(values.state, home, fromBlock),
    signal: ending.signal,
    onFinding(finding) {
      evidence?.add(finding);
      if (values.json) tell(jsonOf(finding));
      else say(lineOf(finding));
    },
    onProgress(block, target) {
      if (block < fromBlock || block >= target || performance.now() - saidAt < PROGRESS_EVERY_MS) return;
      saidAt = performance.now();
      const { statements } = watcher.ledger;
      say(`block ${block} of ${target}, ${statements} statements, ${rate(statements)} a second`);
    },
  });
  const refuter = values.refute ? await createRefuter(values, { rpc, home }, { say, tell }) : undefined;
  statementsBefore = watcher.ledger.statements;
  say(`Watching pool ${pool} on chain ${String(home.chainId)} from block ${watcher.position + 1}.`);
  // Announced in an earlier run, perhaps weeks ago.
  for (const proposal of watcher.ledger.pending) say(`Pending: ${proposalText(proposal)}`);

  do {
    try {
      do {
        await watcher.pass();
        await evidence?.write(watcher);
        if (values.status !== undefined) await writeStatus(values.status, watcher);
      } while (!ending.signal.aborted && (await refuter?.work(watcher.ledger)) === true);
    } catch (error) {
      if (ending.signal.aborted) break;
      if (values.once || !(error instanceof ChainUnreachable || error instanceof ChainRefused)) throw error;
      say(`${error.message}; asking again`);
    }
    if (!values.once) await pause(POLL_MS, ending.signal);
  } while (!values.once && !ending.signal.aborted);

  if (evidence !== undefined && evidence.missing > 0)
    say(`${evidence.missing} alarms have no file in ${values.evidence!}.`);
  const { statements, leafCount, roots, pending } = watcher.ledger;
  const alarms = watcher.alarms.length;
  const counts = {
    block: watcher.position,
    statements,
    leaves: Number(leafCount),
    roots: roots.sequence,
    alarms,
    statements_per_second: rate(statements),
  };
  if (values.json) tell({ type: "summary", ok: alarms === 0, ...counts, pending: pending.map(proposalJson) });
  else {
    console.log(
      `${alarms === 0 ? "All good" : `${alarms} alarms`} to block ${counts.block}: ${statements} statements, ` +
        `${counts.leaves} leaves, ${counts.roots} roots; ${counts.statements_per_second} statements a second.`,
    );
    for (const proposal of pending) console.log(`Pending: ${proposalText(proposal)}`);
  }
  return alarms === 0 ? 0 : 2;
}

interface Voices {
  readonly say: (text: string) => void;
  readonly tell: (object: Record<string, unknown>) => void;
}

async function createRefuter(
  { state, advance, json }: ReturnType<typeof readArguments>,
  { rpc, home: { chainId, pool } }: { readonly rpc: string; readonly home: Home },
  { say, tell }: Voices,
): Promise<Refuter> {
  const key = process.env["REFUTER_KEY"];
  if (key === undefined || !/^0x[0-9a-fA-F]{64}$/.test(key))
    throw new UsageError(
      "--refute needs a private key in the environment's REFUTER_KEY, 0x and 64 hex digits",
    );
  const book = state === undefined ? memoryBook() : await fileBook(state);
  const provider = new JsonRpcProvider(rpc, chainId, { staticNetwork: true, cacheTimeout: -1 });
  const account = new Account(key, provider, pool, book);
  say(`Refuting from ${account.address}.`);
  return new Refuter({
    account,
    advanceTo: advance ? "doubtful" : undefined,
    onReport: (report) => (json ? tell(reportJson(report)) : say(reportLine(report))),
  });
}

async function whereToLook(
  values: ReturnType<typeof readArguments>,
): Promise<{ rpc: string; pool: Address; fromBlock: number }> {
  const { rpc, pool: poolText, "from-block": fromText } = values;
  if (rpc !== undefined && poolText !== undefined) {
    const pool = asAddress(poolText);
    if (pool === undefined) throw new UsageError("--pool takes an address");
    return { rpc, pool, fromBlock: wholeNumber("--from-block", fromText ?? "0") };
  }
  if (rpc !== undefined || poolText !== undefined) throw new UsageError("--rpc and --pool belong together");
  const stack = await runningStack(values.stack);
  if (stack === undefined) throw new UsageError(`no stack runs in ${values.stack}; give --rpc and --pool`);
  const name = NETWORK_NAMES.find((one) => one === values.network);
  if (name === undefined) throw new UsageError(`--network takes ${NETWORK_NAMES.join(" or ")}`);
  const network = networkOf(stack, name);
  const pool = asAddress(network.pool);
  if (pool === undefined) throw new UsageError("the stack's file names no pool");
  const fromBlock = fromText === undefined ? network.deployment_block : wholeNumber("--from-block", fromText);
  return { rpc: network.chain_rpc, pool, fromBlock };
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        once: { type: "boolean", default: false },
        rpc: { type: "string" },
        pool: { type: "string" },
        "from-block": { type: "string" },
        stack: { type: "string", default: DEFAULT_FOLDER },
        network: { type: "string", default: "first" },
        keys: { type: "string", default: verificationKeysFolder },
        state: { type: "string" },
        evidence: { type: "string" },
        status: { type: "string" },
        confirmations: { type: "string", default: "0" },
        refute: { type: "boolean", default: false },
        advance: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error);
    // Never 2: a watcher that could not look must not be taken for one that saw something, nor the reverse.
    console.error(error instanceof UsageError ? `${text}\n\n${HELP}` : text);
    process.exit(1);
  },
);
