// The prover as a wallet uses it, with the built worker: how far it is, its end in the middle, and what it says when
// something is wrong.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { aStatement } from "../../../../../scripts/lab/bench/client/statements.ts";
import type { ArtefactSource } from "../../../../../shared/client/prover/artefacts.ts";
import type { ClientError, ClientErrorCode } from "../../../../../shared/client/base/errors.ts";
import { DEVELOPMENT_KEYS, developmentProver } from "../../../../../shared/client/node/development.ts";
import { folderArtefacts, readManifest } from "../../../../../shared/client/node/index.ts";
import {
  createProver,
  type Prover,
  type ProvingProgress,
} from "../../../../../shared/client/prover/prover.ts";
import { parseSnarkjsProof } from "../../../../../shared/protocol/host/proofs.ts";
import type { Kind } from "../../../../../shared/protocol/statements.ts";

const coded =
  (code: ClientErrorCode, words = /./) =>
  (error: ClientError): boolean =>
    error.code === code && words.test(error.message);

/** Processor time of this process, all of its threads together, in milliseconds. Waiting for a processor is none. */
function processorMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e3;
}
/** The same of its first thread alone, which runs this test. */
function callingThreadMs(): number {
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

describe("client: the prover", () => {
  const provers: Prover[] = [];
  const kept = (prover: Prover): Prover => {
    provers.push(prover);
    return prover;
  };
  afterEach(async () => {
    for (const prover of provers.splice(0)) await prover.close();
  });

  const withSource = async (source: ArtefactSource): Promise<Prover> =>
    kept(createProver({ source, manifest: await readManifest(DEVELOPMENT_KEYS) }));
  /** Counts how often files were asked for. */
  async function counting(): Promise<{ prover: Prover; asked: Kind[] }> {
    const asked: Kind[] = [];
    const prover = await withSource((kind, options) => {
      asked.push(kind);
      return folderArtefacts(DEVELOPMENT_KEYS)(kind, options);
    });
    return { prover, asked };
  }
  const fractionsOf = (said: readonly ProvingProgress[], phase: ProvingProgress["phase"]): number[] =>
    said.filter((at) => at.phase === phase).map(({ fraction }) => fraction);

  it("says how far it is: fractions that grow from 0 to 1 in each phase, one phase after the other", async () => {
    const prover = kept(await developmentProver());
    const { statement, witness } = aStatement("spend");
    const said: ProvingProgress[] = [];
    const proof = await prover.prove(statement, witness, { progress: (at) => said.push(at) });
    assert.ok(parseSnarkjsProof(proof));
    for (const [phase, least] of [
      ["download", 3],
      ["load", 4],
      ["prove", 10],
    ] as const) {
      const fractions = fractionsOf(said, phase);
      assert.ok(fractions.length >= least, `${phase}: ${fractions.join(" ")}`);
      assert.equal(fractions[0], 0);
      assert.ok(fractions.at(-1)! > 0.999);
      assert.ok(fractions.every((fraction, i) => fraction >= (fractions[i - 1] ?? 0) && fraction <= 1));
    }
    const phases = said.map(({ phase }) => ["download", "load", "prove"].indexOf(phase));
    assert.deepEqual(phases, phases.toSorted());

    said.length = 0;
    await prover.prove(statement, witness, { progress: (at) => said.push(at) });
    assert.deepEqual([...new Set(said.map(({ phase }) => phase))], ["prove"]);
  });

  it("stops in the middle of a proof, at once, and proves again with the key it has", async () => {
    const { prover, asked } = await counting();
    await prover.prepare("spend");
    const { statement, witness } = aStatement("spend");
    const reason = new Error("the user has left");
    for (const after of [0, 0.3, 0.6]) {
      const abort = new AbortController();
      let isLate = false;
      const last: number[] = [];
      const proving = prover.prove(statement, witness, {
        signal: abort.signal,
        progress: ({ fraction }) => {
          last.push(fraction);
          if (fraction < after || abort.signal.aborted) return;
          abort.abort(reason);
          // Before anything else that happens in this thread, and so before the worker's next word.
          setImmediate(() => (isLate = true));
        },
      });
      await assert.rejects(proving, (error) => error === reason);
      assert.equal(isLate, false);
      const said = last.length;
      assert.ok(parseSnarkjsProof(await prover.prove(statement, witness)));
      assert.equal(last.length, said, "nothing is said of a proof that was ended");
    }
    assert.deepEqual(asked, ["spend"]);
  });

  it("uses no processor for a proof that was ended", async () => {
    const prover = kept(await developmentProver());
    const { statement, witness } = aStatement("spend9");
    await prover.prepare("spend9");
    const before = process.cpuUsage();
    await prover.prove(statement, witness);
    const whole = processorMs(before);
    const abort = new AbortController();
    await assert.rejects(
      prover.prove(statement, witness, {
        signal: abort.signal,
        progress: ({ fraction }) => fraction > 0.16 && abort.abort(),
      }),
      { name: "AbortError" },
    );
    // The next proof has the threads for itself: it starts at once, not after seconds of somebody else's work.
    const small = aStatement("deposit-shield");
    await prover.prepare("deposit-shield");
    const cpu = process.cpuUsage();
    await prover.prove(small.statement, small.witness);
    // Of the ended proof more than four fifths were left; the small one is about a tenth of it.
    const used = processorMs(cpu);
    assert.ok(used < whole / 3, `${used} ms, ${whole} ms for a whole one`);
  });

  it("lets one of two proofs go on when the other is ended, the one that waits or the one that is made", async () => {
    const prover = kept(await developmentProver());
    const { statement, witness } = aStatement("spend");
    await prover.prepare("spend");
    for (const ended of [0, 1]) {
      const abort = new AbortController();
      // Both were asked for before the first of them can say how far it is; the other waits for its end.
      const progress = ({ fraction }: ProvingProgress): void => {
        if (fraction > 0) abort.abort();
      };
      const both = [0, 1].map((i) =>
        prover.prove(statement, witness, {
          ...(i === ended ? { signal: abort.signal } : {}),
          ...(i === 0 ? { progress } : {}),
        }),
      );
      const results = await Promise.allSettled(both);
      assert.deepEqual(
        results.map(({ status }) => status),
        ended === 0 ? ["rejected", "fulfilled"] : ["fulfilled", "rejected"],
      );
    }
  });

  it("ends a download that nobody waits for any more, and not one that somebody does", async () => {
    const signals: AbortSignal[] = [];
    const files = folderArtefacts(DEVELOPMENT_KEYS);
    const gates: (() => void)[] = [];
    const prover = await withSource(async (kind, { signal } = {}) => {
      signals.push(signal!);
      await new Promise<void>((resolve, reject) => {
        gates.push(resolve);
        signal!.addEventListener("abort", () => {
          reject(signal!.reason as Error);
        });
      });
      return files(kind);
    });
    const [first, second] = [new AbortController(), new AbortController()];
    const alone = prover.prepare("deposit-shield", {
      signal: first.signal,
      progress: () => {
        first.abort();
      },
    });
    await assert.rejects(alone, { name: "AbortError" });
    assert.equal(signals[0]!.aborted, true);

    const leaving = prover.prepare("deposit-shield", { signal: second.signal });
    const staying = prover.prepare("deposit-shield");
    second.abort();
    await assert.rejects(leaving, { name: "AbortError" });
    assert.equal(signals[1]!.aborted, false);
    gates.at(-1)!();
    await staying;
    assert.equal(signals.length, 2);
    await assert.rejects(prover.prepare("spend", { signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.equal(signals.length, 2);
  });

  it("refuses files whose hash is another, each of them, and takes the right ones afterwards", async () => {
    const files = folderArtefacts(DEVELOPMENT_KEYS);
    let bend: "zkey" | "wasm" | undefined = "zkey";
    const prover = await withSource(async (kind) => {
      const { zkey, wasm } = await files(kind);
      const bent = bend === "zkey" ? zkey : wasm;
      if (bend !== undefined) bent[bent.length - 1]! ^= 1;
      return { zkey, wasm };
    });
    await assert.rejects(
      prover.prepare("deposit-shield"),
      coded("ARTEFACT_MISMATCH", /deposit-shield\.zkey/),
    );
    bend = "wasm";
    await assert.rejects(
      prover.prepare("deposit-shield"),
      coded("ARTEFACT_MISMATCH", /deposit-shield\.wasm/),
    );
    bend = undefined;
    const { statement, witness } = aStatement("deposit-shield");
    assert.ok(parseSnarkjsProof(await prover.prove(statement, witness)));
  });

  it("refuses a witness that does not satisfy the circuit, or speaks about another statement", async () => {
    const prover = kept(await developmentProver());
    const { statement, witness } = aStatement("deposit-shield");
    const [name] = Object.keys(witness).filter(
      (key) => typeof witness[key] === "string" || typeof witness[key] === "bigint",
    );
    const bent = { ...witness, [name!]: "1" };
    await assert.rejects(prover.prove(statement, bent), coded("PROOF_FAILED"));
    const other = aStatement("deposit-shield").statement;
    await assert.rejects(prover.prove(other, witness), coded("PROOF_FAILED", /another statement/));
    assert.ok(parseSnarkjsProof(await prover.prove(statement, witness)));
  });

  it("ends what it does when it is closed, and begins again when it is asked", async () => {
    const { prover, asked } = await counting();
    const { statement, witness } = aStatement("spend");
    let hasBegun = false;
    const proving = prover.prove(statement, witness, {
      progress: ({ phase, fraction }) => {
        if (hasBegun || phase !== "prove" || fraction < 0.2) return;
        hasBegun = true;
        void prover.close();
      },
    });
    await assert.rejects(proving, coded("PROOF_FAILED", /closed/));
    assert.ok(parseSnarkjsProof(await prover.prove(statement, witness)));
    assert.deepEqual(asked, ["spend", "spend"]);
  });

  it("names the worker's file where there is none", async () => {
    const prover = kept(
      createProver({
        source: folderArtefacts(DEVELOPMENT_KEYS),
        manifest: await readManifest(DEVELOPMENT_KEYS),
        worker: new URL("no-such-worker.js", import.meta.url),
      }),
    );
    await assert.rejects(prover.prepare("deposit-shield"), coded("WORKER_UNAVAILABLE", /no-such-worker\.js/));
  });

  it("works in threads of its own: the calling thread has almost nothing to do", async () => {
    const prover = kept(await developmentProver());
    const { statement, witness } = aStatement("spend");
    await prover.prepare("spend");
    const [all, calling] = [process.cpuUsage(), callingThreadMs()];
    await prover.prove(statement, witness);
    const [allUsed, callingUsed] = [processorMs(all), callingThreadMs() - calling];
    // Were the witness made here, a page would stand still for longer than that.
    assert.ok(callingUsed < allUsed / 50, `${callingUsed} ms of ${allUsed} ms`);
  });
});
