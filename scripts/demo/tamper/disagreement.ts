// Two verifiers, of which one is wrong: a stack of its own whose pool asks for both kinds, and a second program with a
// fault that could be a real one. Development only.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { ApiProblem } from "../../../shared/client/index.ts";
import { copyCode } from "../../image/assemble.ts";
import { ENCLAVE_FOLDER } from "../../image/measurement.ts";
import { poll } from "../../base/poll.ts";
import { onStage, WITHOUT_FEES, type StageOptions } from "../../stack/stage.ts";
import type { Chapter } from "../story.ts";
import { makeDeposit } from "./deposit.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Where the second author's judge says whether the pairings' product is 1, as it is built. */
const FAULTY_FILE = path.join("dist", "enclave", "second", "judge", "groth16.js");
const EQUATION = "function isProductOne(terms) {\n";

const CASES = z.array(
  z.object({
    case: z.string(),
    open: z.boolean(),
    answers: z.array(z.object({ kind: z.int().nullable(), said: z.string() })),
  }),
);

export async function disagreement(chapter: Chapter, say: (text: string) => void): Promise<void> {
  const options = async (folder: string): Promise<StageOptions> => {
    const enclaveFolder = path.join(folder, "faulty");
    await copyWithFault(enclaveFolder);
    return { proxySettings: WITHOUT_FEES, size: { threshold: 2 }, enclaveFolder, say };
  };
  await onStage("disagreement", options, async (stage) => {
    const { network, client } = stage;

    /** Who signed, or the refusal's code. */
    const attest = async (body: Parameters<typeof client.attestDeposit>[0]): Promise<string> => {
      try {
        const { attestations } = await client.attestDeposit(body);
        return `signed by ${String(attestations.length)}`;
      } catch (error) {
        if (error instanceof ApiProblem) return error.code;
        throw error;
      }
    };
    const operator = async (...words: readonly string[]): Promise<unknown> => {
      const data = ["--data", network.folder.inside("store"), "--json"];
      const args = ["--import", "tsx", "scripts/operator/main.ts", ...data, "disagreements", ...words];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
      return JSON.parse(stdout);
    };
    const health = async (): Promise<string> => {
      const { checks, status } = await client.health();
      return checks?.enclave.detail ?? status;
    };

    const [one, other] = [await makeDeposit(stage), await makeDeposit(stage)];
    chapter.is("a true proof", await attest(one.body), "signed by 2");
    chapter.is("a false one", await attest({ ...one.body, proof: other.body.proof }), "ENCLAVE_UNAVAILABLE");
    chapter.is("a true one after that", await attest(other.body), "ENCLAVE_UNAVAILABLE");
    chapter.says("the proxy's health", await health(), "the verifiers gave different verdicts");

    const [found, ...more] = CASES.parse(await operator("list"));
    chapter.is("cases that were kept", String(found === undefined ? 0 : 1 + more.length), "1");
    const said = (kind: number): string =>
      found?.answers.find((answer) => answer.kind === kind)?.said ?? "nothing";
    chapter.is("the first verifier said", said(1), "PROOF_INVALID");
    chapter.is("the second verifier said", said(2), "signed");
    await operator("settle", found?.case ?? "");
    const goesOn = async (): Promise<string | undefined> => {
      const outcome = await attest(other.body);
      return outcome === "ENCLAVE_UNAVAILABLE" ? undefined : outcome;
    };
    const settled = (await poll(goesOn)) ?? "ENCLAVE_UNAVAILABLE";
    chapter.is("a true one when an operator has settled it", settled, "signed by 2");
  });
}

/** A built enclave whose second judge takes every equation for true; nothing of the first program is in that file. */
async function copyWithFault(to: string): Promise<void> {
  await copyCode(ENCLAVE_FOLDER, to);
  const file = path.join(to, FAULTY_FILE);
  const text = await readFile(file, "utf8");
  if (!text.includes(EQUATION)) throw new Error(`${FAULTY_FILE} has another form`);
  await writeFile(file, text.replace(EQUATION, `${EQUATION}    return true;\n`));
}
