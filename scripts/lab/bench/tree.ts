// The index at scale: the first start over leaves that no subtree was kept of, a later start, an append of a block's
// leaves, and memory. Each start is a process of its own, and reads a file that the one before has left in the page cache.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startChild } from "./child.ts";
import { figure, tell, type Figures, type SuiteOptions } from "./figures.ts";
import type { TreeAnswer, TreeQuestion } from "./tree-process.ts";

const APPENDED = 64;
const APPENDS = 40;

export async function benchTree({ runs, exponent }: SuiteOptions): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "cloister-bench-tree-"));
  const leaves = 2 ** exponent;
  const of = `2e${String(exponent)}`;
  try {
    const filled = await alone(async (ask) => ask({ type: "fill", folder, leaves }));
    console.log(`a store of ${String(leaves)} leaves, written in ${(filled.ms / 1e3).toFixed(1)} s`);
    const built = await alone(async (ask) => ask({ type: "start", folder }));
    const loads: number[] = [];
    const appends: number[] = [];
    const resident: number[] = [];
    const grown: number[] = [];
    for (let run = 0; run < runs; run++) {
      await alone(async (ask) => {
        const started = await ask({ type: "start", folder });
        if (started.leaves !== leaves) throw new Error(`the index has ${String(started.leaves)} leaves`);
        loads.push(started.ms / 1e3);
        resident.push(started.rssBytes / 1e6);
        grown.push((started.rssBytes - started.rssBeforeBytes) / 1e6);
        for (let i = 0; i < APPENDS; i++) appends.push((await ask({ type: "append", leaves: APPENDED })).ms);
      });
    }
    return tell(`index of ${String(leaves)} leaves`, {
      [`build_${of}_s`]: figure(built.ms / 1e3, "s"),
      [`load_snapshot_${of}_s`]: figure(loads, "s"),
      append_64_ms: figure(appends, "ms"),
      [`rss_${of}_mb`]: figure(resident, "MB"),
      [`rss_growth_${of}_mb`]: figure(grown, "MB"),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function alone<T>(
  work: (ask: (question: TreeQuestion) => Promise<TreeAnswer>) => Promise<T>,
): Promise<T> {
  const child = await startChild<TreeQuestion, TreeAnswer>("tree-process.ts");
  try {
    return await work((question) => child.ask(question));
  } finally {
    await child.stop();
  }
}
