// A party's step: checks what it was given, then multiplies fresh randomness into every circuit's key. As long
// as one party keeps no copy of its randomness, nobody can forge a proof with the final keys.

import { zKey } from "snarkjs";
import { progress } from "../build/circuits/ceremony.ts";
import { drawEntropy } from "./entropy.ts";
import { appendEntry, openCeremony, timestamp, type Ceremony, type StepOptions } from "./folder.ts";
import { makeNewKeys } from "./key-step.ts";
import { checkOrder, nextLink, parsePartyName, type Contribution } from "./transcript.ts";
import { verifyCeremony, type VerifyOptions } from "./verify.ts";

export const WHAT_REMAINS = `What this program could wipe, it has wiped: its own copies of your entropy and of the system's randomness.
It could not wipe copies inside Node and snarkjs (text and WebAssembly memory are out of its reach). They are
gone when this process has ended, unless the machine wrote its memory to disk: swap, hibernation, a core dump
or a snapshot of a virtual machine. Switch the machine off when you are done; if it is hired, delete it.`;

export interface ContributeOptions extends StepOptions, Pick<VerifyOptions, "trustPowersOfTau"> {
  readonly party: string;
  /** Wiped here after use. */
  readonly ownEntropy?: Buffer | undefined;
}

export async function contribute(options: ContributeOptions): Promise<Ceremony> {
  const { ownEntropy: own, say } = options;
  try {
    const party = parsePartyName(options.party);
    const found = await openCeremony(options.folder);
    const draft: Contribution = {
      ...{ type: "contribution", ...nextLink(found.transcript) },
      ...{ party, at: timestamp(options.now), circuits: {} },
    };
    // Before the long verification: whoever may not contribute should learn so at once.
    checkOrder(draft, found.transcript.entries);
    say("checking what was done so far");
    const ceremony = await verifyCeremony({ ...options, newestOnly: true });
    return await appendEntry(ceremony, party, async (folder) => ({
      ...draft,
      circuits: await makeNewKeys(ceremony, folder, party, say, (circuit, from, to) =>
        zKey.contribute(from, to, party, drawEntropy(circuit, own), progress(circuit)),
      ),
    }));
  } finally {
    own?.fill(0);
  }
}
