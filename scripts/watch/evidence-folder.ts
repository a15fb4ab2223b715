/**
 * One file for each alarm, for people and watchers elsewhere. A file is there whole or not at all, and is never written
 * again: what somebody was pointed to stays what it was. A disk that is full must not keep the watcher from refuting, so
 * what could not be written is said, and tried again.
 */
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { ChainRefused } from "../../proxy/base/chain/json-rpc.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { keccak256 } from "../../shared/protocol/hash.ts";
import type { WatchedPool } from "./case.ts";
import type { Evidence } from "./evidence.ts";
import { evidenceJson, laterJson, type Refutation } from "./evidence-file.ts";
import { isAlarm, jsonOf, type Finding } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import type { ChainNode } from "./node.ts";
import { refutationOf } from "./refutation.ts";

export interface EvidenceFolderOptions {
  readonly folder: string;
  readonly node: ChainNode;
  readonly say: (text: string) => void;
}

/** What the watcher knows after its pass. */
interface Known {
  readonly ledger: Ledger;
  readonly pool: WatchedPool;
}

/** What a file says should be sent, and for what. */
interface Shown {
  readonly evidence: Pick<Evidence, "digest" | "signers">;
  data: string | undefined;
}

/** Throws when it cannot be made. */
export async function openEvidenceFolder(options: EvidenceFolderOptions): Promise<EvidenceFolder> {
  await mkdir(options.folder, { recursive: true });
  return new EvidenceFolder(options);
}

export class EvidenceFolder {
  readonly #options: EvidenceFolderOptions;
  #due: Finding[] = [];
  /** By file. */
  readonly #shown = new Map<string, Shown>();

  constructor(options: EvidenceFolderOptions) {
    this.#options = options;
  }

  /** Notices are left out. */
  add(finding: Finding): void {
    if (isAlarm(finding)) this.#due.push(finding);
  }

  /** How many alarms have no file yet. */
  get missing(): number {
    return this.#due.length;
  }

  /** After the blocks were read: which roots are around a leaf shows only then. */
  async write(known: Known): Promise<void> {
    const later: Finding[] = [];
    try {
      for (let finding = this.#due[0]; finding !== undefined; finding = this.#due[0]) {
        try {
          await this.#writeOne(finding, known);
        } catch (error) {
          if (!isOfFiles(error)) throw error;
          this.#options.say(`no evidence of ${finding.code}, tried again later: ${error.message}`);
          later.push(finding);
        }
        this.#due.shift();
      }
    } finally {
      this.#due.push(...later);
    }
    for (const [file, shown] of this.#shown) await this.#follow(file, shown, known);
  }

  async #writeOne(finding: Finding, { ledger, pool }: Known): Promise<void> {
    const { node } = this.#options;
    const name = `${nameOf(finding)}.json`;
    const evidence = ledger.evidenceBehind(finding);
    const behind = evidence && { evidence, refutation: callOf(evidence, { ledger, pool }) };
    const earlier = await this.#read(name);
    if (earlier === undefined) {
      const { block, txHash } = finding;
      const scene = {
        block: await orAbsent(node.header(block)),
        transaction: txHash && (await orAbsent(node.transaction(txHash))),
        logs: txHash && (await orAbsent(node.logsOf(txHash))),
      };
      await this.#create(name, evidenceJson(pool, finding, scene, behind));
    }
    const data = earlier === undefined ? behind?.refutation.data : dataIn(earlier);
    if (evidence !== undefined) this.#shown.set(name, { evidence, data });
  }

  /** A root that came later is named in the call: what the file says is refused then, and another file says the rest. */
  async #follow(file: string, shown: Shown, known: Known): Promise<void> {
    const { digest, signers } = shown.evidence;
    const evidence = known.ledger.openEvidence.find(
      (one) => one.digest === digest && one.signers.join() === signers.join(),
    );
    if (evidence === undefined) return;
    const refutation = callOf(evidence, known);
    if (refutation.data === shown.data) return;
    const name = `${file.replace(/\.json$/, "")}-${short(refutation.data)}.json`;
    try {
      if ((await this.#read(name)) === undefined)
        await this.#create(name, laterJson(known.pool, file, refutation));
      shown.data = refutation.data;
    } catch (error) {
      if (!isOfFiles(error)) throw error;
      this.#options.say(`${name} was not written, tried again later: ${error.message}`);
    }
  }

  async #read(name: string): Promise<string | undefined> {
    try {
      return await readFile(path.join(this.#options.folder, name), "utf8");
    } catch (error) {
      if (isOfFiles(error) && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** A link fails where a file is, so none is ever replaced, by whatever else writes here. */
  async #create(name: string, content: unknown): Promise<void> {
    const file = path.join(this.#options.folder, name);
    const unfinished = `${file}.${process.pid}.tmp`;
    const handle = await open(unfinished, "w");
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    try {
      await link(unfinished, file);
    } catch (error) {
      if (!isOfFiles(error) || error.code !== "EEXIST") throw error;
    } finally {
      await rm(unfinished, { force: true });
    }
  }
}

/** A node may refuse what is old: what was signed is known without it, and is what counts. */
async function orAbsent<T>(answer: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ChainRefused) return undefined;
    throw error;
  }
}

function callOf(evidence: Evidence, { ledger, pool }: Known): Refutation {
  return { to: pool.home.pool, data: refutationOf(evidence, ledger) };
}

/** The same for the same finding in every run. What is no transaction's stands until it ends, seen from one block or another. */
function nameOf(finding: Finding): string {
  const { code, block, txHash } = finding;
  const said = jsonOf(finding);
  return txHash === undefined
    ? `standing-${code}-${short(JSON.stringify({ ...said, block: undefined }))}`
    : `block-${block}-${code}-${short(JSON.stringify(said))}`;
}

function short(text: string): string {
  return toHex(keccak256(new TextEncoder().encode(text)).slice(0, 8)).slice(2);
}

function dataIn(text: string): string | undefined {
  try {
    const { refutation } = JSON.parse(text) as { refutation?: Partial<Refutation> | null };
    return refutation?.data;
  } catch {
    // Somebody else's file, under our name: what is to be sent goes into another.
    return undefined;
  }
}

function isOfFiles(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "code" in error;
}
