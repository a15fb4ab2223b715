// The demonstrations, with real proofs: the main job on the running stack or on one it starts, and what attackers and a lost
// service come to on a stack of their own. Exit code 0 only if everything is as it must, every balance to the last unit.
import { developmentProver } from "../../shared/client/node/development.ts";
import { UsageError } from "../base/command.ts";
import { Parties } from "../base/parties.ts";
import { DEFAULT_FOLDER, type NetworkName, networkOf, runningStack, StackError } from "../base/stack-file.ts";
import { messageOf, runStackCommand, speaker, stoppingOnce } from "../stack/command.ts";
import { liarOf, type Liar } from "../stack/liar.ts";
import { startStack } from "../stack/local-stack.ts";
import { StackFolder } from "../stack/stack-folder.ts";
import { showBridges } from "./bridges.ts";
import { showExit } from "./exit.ts";
import { showPayments } from "./payments.ts";
import { DemoStage } from "./stage.ts";
import { showStolenKey } from "./stolen-key/acts.ts";
import { Story, type Journey } from "./story.ts";
import { showSwap } from "./swap.ts";
import { showTamper } from "./tamper/cases.ts";

const HELP = `Usage: npm run demo -- [options]

payments, on the first network: 100 USDC are deposited and paid on privately through three fresh wallets, one of
  the payments combining many notes in one transaction, then partly withdrawn, and a wallet is restored from its key.
swap, on the second network: wrapped ether is deposited by its owner's own transaction, dollars are swapped into
  ether inside the pool, and what was bought is paid on and withdrawn.
bridges, on the first network: money comes from an exchange, another blockchain and another EVM chain into private
  notes, is paid on and leaves for the exchange and that chain; one deposit is taken back by its owner alone.
These three are shown unless one is asked for. They start the networks they need when none run, and stop them again.
The others have a stack of their own, in a temporary folder:
exit (npm run demo:exit): money is deposited and paid with the service, then every process of it is stopped. From the
  chain alone follow a private payment and everything's way out by the code of npm run exit: the tree is extended
  without a signer, and the chain's time passes whenever only time helps.
tamper (npm run demo:tamper): the enclave is attacked: one byte changed in a copy of it, a substituted key, a birth
  certificate of another sealed key, a debug-mode document, a foreign root, registrations without the pool's owner, a
  complete old pair of a signer that was removed; and a false proof where two verifiers have to sign and one of them is
  wrong. Shows who refuses each and why; controls show that the honest way works at the same place.
stolen-key (npm run demo:stolen-key): honest people deposit and pay; the key of a second signer gets into a thief's
  hands, who forges withdrawals, a note and a root. A watcher finds all of it and has it refuted: the signer and its
  image are out, the forged leaves void, the tree is rebuilt without them. Then the service is stopped, and an honest
  user pays in private and leaves by proofs alone.

  --only <one of them>   show this one only
  --liar <seed>          with a stack that it starts: nodes, attester and exchange lie to the services by chance, and
                         every balance is the same. 0: another seed each time, which is said
  --json                 print the result as one JSON object, last on standard output
  --folder <path>        folder of the stack (default ${DEFAULT_FOLDER})
  --help                 this text

Exit code: 0 when everything is as it must, 1 when something is not or a step failed, 2 for wrong arguments.`;

/** On a stack that may be somebody's. */
const SHARED = {
  payments: { network: "first", play: showPayments },
  swap: { network: "second", play: showSwap },
  bridges: { network: "first", play: showBridges },
} as const satisfies Record<
  string,
  { readonly network: NetworkName; readonly play: (stage: DemoStage) => Promise<void> }
>;
type Part = keyof typeof SHARED;

const ALONE: Readonly<Record<string, Journey>> = {
  ...{ exit: showExit, tamper: showTamper, "stolen-key": showStolenKey },
};

const COMMAND = {
  help: HELP,
  failure: (error: unknown) =>
    error instanceof StackError ? error.message : `\nThe demo failed: ${messageOf(error)}`,
  options: {
    only: { type: "string" },
    liar: { type: "string" },
    json: { type: "boolean", default: false },
    folder: { type: "string", default: DEFAULT_FOLDER },
    help: { type: "boolean" },
  },
} as const;

await runStackCommand(COMMAND, async ({ values: { only, liar, json, folder } }) => {
  const journey = journeyOf(only, folder, liar === undefined ? undefined : liarOf(liar));
  const story = new Story(speaker(json));
  const beganAt = performance.now();
  await Parties.start(async (parties) => {
    const stop = stoppingOnce(() => parties.stop());
    await journey(story, parties);
    await stop();
  });
  const { isAsItMust, say } = story;
  say(isAsItMust ? "\nEverything is as it must." : "\nNOT everything is as it must; see above.");
  say(`Took ${((performance.now() - beganAt) / 1000).toFixed(0)} s.`);
  if (json) console.log(JSON.stringify(story.data()));
  return isAsItMust ? 0 : 1;
});

function journeyOf(only: string | undefined, folder: string, liar: Liar | undefined): Journey {
  const all = Object.keys(SHARED) as Part[];
  if (only === undefined) return shared(all, folder, liar);
  const alone = liar === undefined ? ALONE[only] : undefined;
  if (alone !== undefined) return alone;
  const parts = all.filter((part) => part === only);
  if (parts.length === 0)
    throw new UsageError(
      `--only ${only}: there is no such part${liar === undefined ? "" : " that --liar is for"}`,
    );
  return shared(parts, folder, liar);
}

function shared(parts: readonly Part[], path: string, liar: Liar | undefined): Journey {
  return async (story, parties) => {
    const { say } = story;
    const running = await runningStack(path);
    say(running === undefined ? "No stack is running here: starting one." : `Using the stack in ${path}.`);
    const networks = parts.map((part) => SHARED[part].network);
    const bridges = parts.includes("bridges");
    if (liar !== undefined && running !== undefined)
      throw new StackError("the stack that runs is its own: give --liar to npm start, or --folder here");
    if (liar !== undefined) parties.add(liar);
    const options = { folder: path, networks, bridges, liar, say };
    const stack = running ?? parties.add(await startStack(options)).file;
    // All of them before the first part begins.
    for (const network of networks) networkOf(stack, network);
    const prover = await developmentProver();
    parties.add({ stop: () => prover.close() });
    for (const part of parts) {
      const { network, play } = SHARED[part];
      await story.chapter(part, { network }, (chapter) =>
        DemoStage.on({ stack, folder: new StackFolder(path), network, prover, say, chapter }, play),
      );
    }
    if (liar !== undefined) say(`Lies, seed ${String(liar.seed)}: ${liar.told()}`);
  };
}
