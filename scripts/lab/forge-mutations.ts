// Ways to break the pool, each a small edit, and a copy of the project in which one of them is done. That the
// forge tests notice every one says that their passing means something. Touches nothing outside .cloister/.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

export interface Mutation {
  /** What is wrong with the pool now. */
  readonly name: string;
  /** Below shared/contracts/. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  /** Contracts whose tests have to notice, to save the time of all others. */
  readonly contract: string;
}

const ROOT = path.resolve(import.meta.dirname, "../..");
const MUTANTS = path.join(".cloister", "forge", "mutants");

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "a spent nullifier is not marked",
    file: "StatementRules.sol",
    from: "nullifierStates[nullifiers.item(i)] = SPENT;",
    to: "",
    contract: "^(StatementsTest|VenuePoolInvariants)$",
  },
  {
    name: "one nullifier may stand twice in a statement",
    file: "StatementRules.sol",
    from: "if (nullifiers.item(j) == nullifier) return abi.encodeWithSelector(NullifiersNotDistinct.selector);",
    to: "",
    contract: "^(StatementsTest|VenuePoolInvariants)$",
  },
  {
    name: "a deposit may be executed again",
    file: "StatementRules.sol",
    from: "if (inputs == 0) deposited[statement.hash] = true;",
    to: "",
    contract: "^(StatementsTest|VenuePoolInvariants)$",
  },
  {
    name: "a signal may be written with r on top",
    file: "StatementRules.sol",
    from: "if (position != count) return abi.encodeWithSelector(SignalOutOfRange.selector, position);",
    to: "position;",
    contract: "^StatementsTest$",
  },
  {
    name: "the context is not compared",
    file: "StatementRules.sol",
    from: "signals.context() != uint256(context) % StatementSignals.FIELD_ORDER",
    to: "signals.context() == 0 && context == 0",
    contract: "^StatementsTest$",
  },
  {
    name: "a statement is executed after its deadline",
    file: "StatementRules.sol",
    from: "if (block.timestamp > deadline) return",
    to: "if (block.timestamp > uint256(deadline) + 1) return",
    contract: "^StatementsTest$",
  },
  {
    name: "anybody's signature counts",
    file: "AttestationGate.sol",
    from: "if (!isSigner(signer)) return abi.encodeWithSelector(SignerUnknown.selector, signer);",
    to: "",
    contract: "^AttestationsTest$",
  },
  {
    name: "one signer counts twice",
    file: "AttestationGate.sol",
    from: "if (signer <= last) return",
    to: "if (signer < last) return",
    contract: "^AttestationsTest$",
  },
  {
    name: "a signature has two spellings",
    file: "AttestationGate.sol",
    from: "uint256(s) > MAX_S || ",
    to: "",
    contract: "^AttestationsTest$",
  },
  {
    name: "what a token moved is not measured",
    file: "libraries/TokenCalls.sol",
    from: "if (measured != amount) revert IPool.TransferMismatch(amount, measured);",
    to: "if (measured != amount && amount == 0) revert IPool.TransferMismatch(amount, measured);",
    contract: "^(TokensTest|SwapsTest)$",
  },
  {
    name: "a token's no is taken for a yes",
    file: "libraries/TokenCalls.sol",
    from: "size >= 32 && word == 1",
    to: "size >= 32 && word <= 1",
    contract: "^TokensTest$",
  },
  {
    name: "there is no lock",
    file: "Pool.sol",
    from: "if (isEntered) revert Reentered();",
    to: "",
    contract: "^(TokensTest|SwapsTest)$",
  },
  {
    name: "the lock stays closed",
    file: "Pool.sol",
    from: "isEntered = false;",
    to: "",
    contract: "^TokensTest$",
  },
  {
    name: "a member may be carried with too little gas",
    file: "Pool.sol",
    from: "if (gasleft() < needed) revert GasShort(needed);",
    to: "needed;",
    contract: "^BatchesTest$",
  },
  {
    name: "anybody may use an approval",
    file: "Pool.sol",
    from: "if (sender != depositor) revert AuthorizationMalformed();",
    to: "sender;",
    contract: "^TokensTest$",
  },
  {
    name: "anybody may use the pool's own entry",
    file: "Pool.sol",
    from: "if (msg.sender != address(this)) revert OnlySelf();",
    to: "",
    contract: "^BatchesTest$",
  },
  {
    name: "the floor of a swap is not held",
    file: "SwapDesk.sol",
    from: "if (received < floor) revert FloorMissed(floor, received);",
    to: "floor;",
    contract: "^(SwapsTest|UniswapSwapsTest)$",
  },
  {
    name: "what was there before counts as bought",
    file: "SwapDesk.sol",
    from: "return receivedAfter > receivedBefore ? receivedAfter - receivedBefore : 0;",
    to: "receivedBefore; return receivedAfter;",
    contract: "^(SwapsTest|VenuePoolInvariants)$",
  },
  {
    name: "what a venue took is not measured",
    file: "SwapDesk.sol",
    from: "TokenCalls.expect(statement.amount, givenBefore, TokenCalls.balance(tokenIn));",
    to: "givenBefore;",
    contract: "^SwapsTest$",
  },
  {
    name: "a place of the ring does not say which position it is",
    file: "CommitmentQueue.sol",
    from: "return _nextHead(bytes32(leafCount), uint256(head));",
    to: "leafCount; return _nextHead(bytes32(0), uint256(head));",
    contract: "^RootsTest$",
  },
  {
    name: "what waits for long is overwritten in the ring",
    file: "CommitmentQueue.sol",
    from: "checkpoints[isWaiting < RING ? leafCount % RING : leafCount] =",
    to: "isWaiting; checkpoints[leafCount % RING] =",
    contract: "^RootsTest$",
  },
  {
    name: "a long call leaves no checkpoint on its way",
    file: "CommitmentQueue.sol",
    from: "return leafCount + StatementSignals.MAX_LEAVES - lastCheckpoint > MAX_UPDATE_LEAVES;",
    to: "return leafCount < lastCheckpoint;",
    contract: "^RootsTest$",
  },
  {
    name: "an update may cover any number of leaves",
    file: "CommitmentQueue.sol",
    from: " || update.toIndex - update.fromIndex > MAX_UPDATE_LEAVES",
    to: "",
    contract: "^RootsTest$",
  },
  {
    name: "a root may get a second number",
    file: "CommitmentQueue.sol",
    from: "|| sequencesPlusOne[update.newRoot] != 0",
    to: "",
    contract: "^RootsTest$",
  },
  {
    name: "nobody waits for the delay",
    file: "Admissions.sol",
    from: "if (block.timestamp < admissibleAt) revert TooEarly(admissibleAt);",
    to: "",
    contract: "^AdmissionsTest$",
  },
  {
    name: "a proposal is good for ever",
    file: "Admissions.sol",
    from: "if (block.timestamp >= expiresAt) revert ProposalExpired(expiresAt);",
    to: "expiresAt;",
    contract: "^(AdmissionsTest|VenuePoolInvariants)$",
  },
  {
    name: "a proposal is good for a second longer than it says",
    file: "Admissions.sol",
    from: "if (block.timestamp >= expiresAt)",
    to: "if (block.timestamp > expiresAt)",
    contract: "^AdmissionsTest$",
  },
  {
    name: "what expired can never be proposed again",
    file: "Admissions.sol",
    from: "return admission.admissibleAt != 0 && block.timestamp < admission.admissibleAt + ADMISSION_WINDOW;",
    to: "return admission.admissibleAt != 0 && block.timestamp != 0;",
    contract: "^AdmissionsTest$",
  },
  {
    name: "a proposal made again begins again",
    file: "Admissions.sol",
    from: "if (_isPending(admission)) revert AlreadyProposed(subject);",
    to: "",
    contract: "^AdmissionsTest$",
  },
  {
    name: "a signer that was withdrawn may come again",
    file: "AttestationGate.sol",
    from: "signers[signer].standing = Standing.Removed;",
    to: "",
    contract: "^AdmissionsTest$",
  },
  {
    name: "an asset that was delisted is locked in by a proposal that is withdrawn",
    file: "Admissions.sol",
    from: "wasAdmitted ? Standing.Removed : admission.standing",
    to: "wasAdmitted ? Standing.Removed : Standing.Unknown",
    contract: "^TokensTest$",
  },
  {
    name: "the delay may be none where money is",
    file: "Admissions.sol",
    from: "changeDelay_ < SHORTEST_DELAY && !_isDevelopmentChain()",
    to: "changeDelay_ < SHORTEST_DELAY && changeDelay_ == type(uint64).max",
    contract: "^AdmissionsTest$",
  },
];

/** Builds the pool with that one edit; the folder of its compiled contracts, from the project's root. */
export async function breakPool(mutation: Mutation): Promise<string> {
  const at = path.join(MUTANTS, mutation.name.replaceAll(/[^a-z]+/g, "-"));
  const copy = path.join(ROOT, at);
  await rm(copy, { recursive: true, force: true });
  await mkdir(path.join(copy, "scripts/build"), { recursive: true });
  await cp(path.join(ROOT, "shared", "contracts"), path.join(copy, "shared", "contracts"), {
    recursive: true,
  });
  for (const file of ["package.json", "tsconfig.json", "scripts/build/contracts.ts"]) {
    await cp(path.join(ROOT, file), path.join(copy, file));
  }
  await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"), "dir");
  await edit(path.join(copy, "shared", "contracts", mutation.file), mutation);
  // The same builder with the same settings, in the copy.
  await promisify(execFile)(process.execPath, ["--import", "tsx", "scripts/build/contracts.ts"], {
    cwd: copy,
  });
  return path.join(at, ".cloister", "build", "contracts");
}

async function edit(file: string, { name, from, to }: Mutation): Promise<void> {
  const text = await readFile(file, "utf8");
  const broken = editedText(text, from, to);
  if (broken === undefined) throw new Error(`"${name}" does not fit ${path.basename(file)} any more`);
  await writeFile(file, broken);
}

/** Undefined unless `from` stands in the text exactly once. */
export function editedText(text: string, from: string, to: string): string | undefined {
  const parts = text.split(from);
  return parts.length === 2 ? parts.join(to) : undefined;
}
