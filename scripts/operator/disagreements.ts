// `npm run operator -- disagreements …`: the cases in which verifiers of two kinds gave two verdicts. While one is open,
// no proxy of the instance has anything attested.
import { audited, noted } from "../../proxy/base/store/audit.ts";
import type { Disagreement } from "../../proxy/base/store/disagreements.ts";
import type { Bytes32 } from "../../shared/protocol/brands.ts";
import { asBytes32 } from "../../shared/protocol/host/text.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { UsageError } from "../base/command.ts";
import type { Kept, Result, Verbs } from "./command-line.ts";

export const DISAGREEMENTS_HELP = `  disagreements list                                      cases in which two verifiers gave two verdicts; while one is
                                                          open, nothing is attested
  disagreements show CASE                                 what was asked, byte for byte, and what each one answered
  disagreements settle CASE                               the one that was wrong is out: attestation goes on`;

export const DISAGREEMENTS: Verbs = {
  list: { words: [], run: list },
  show: { words: ["CASE"], run: show },
  settle: { words: ["CASE"], run: settle },
};

async function list({ stores: { disagreements } }: Kept): Promise<Result> {
  const cases = (await disagreements.list()).map(({ id, at, isOpen, answers }) => ({
    ...{ case: id, at: new Date(at).toISOString(), open: isOpen },
    answers: answers.map(({ enclave, kind, refusal }) => ({
      ...{ enclave, kind: kind ?? null },
      said: refusal ?? "signed",
    })),
  }));
  const lines = cases.map(
    ({ case: id, at, open, answers }) =>
      `${id}  ${at}  ${open ? "open" : "settled"}  ${answers.map(({ enclave, said }) => `enclave ${String(enclave)}: ${said}`).join(", ")}`,
  );
  return { data: cases, text: lines.length === 0 ? "The verifiers never disagreed." : lines.join("\n") };
}

async function show({ stores: { disagreements } }: Kept, name: string): Promise<Result> {
  const found = await disagreements.get(caseOf(name));
  if (found === undefined) throw unknown(name);
  const facts = shown(found);
  return { data: facts, text: JSON.stringify(facts, undefined, 2) };
}

async function settle({ stores: { disagreements }, by }: Kept, name: string): Promise<Result> {
  const settled = await disagreements.settle(caseOf(name), (before, after) =>
    audited(noted("disagreement.settle", by), {
      target: { kind: "disagreement", id: after.id },
      ...{ before: { open: before.isOpen }, after: { open: after.isOpen } },
    }),
  );
  if (settled === undefined) throw unknown(name);
  const left = (await disagreements.list()).filter(({ isOpen }) => isOpen).length;
  const then = left === 0 ? "attestation goes on" : `${String(left)} more are open, and nothing is attested`;
  return { data: { case: settled.id, open: left }, text: `${settled.id} is settled; ${then}.` };
}

function shown({ id, at, isOpen, request, answers }: Disagreement) {
  return {
    ...{ case: id, at: new Date(at).toISOString(), open: isOpen, request: toHex(request) },
    answers: answers.map(({ signature, ...answer }) => ({
      ...answer,
      ...(signature === undefined ? {} : { signature: toHex(signature) }),
    })),
  };
}

function caseOf(name: string): Bytes32 {
  const id = asBytes32(name);
  if (id === undefined) throw new UsageError("CASE is 0x and 64 hex digits, as disagreements list shows it");
  return id;
}

const unknown = (name: string): UsageError => new UsageError(`there is no case ${name}`);
