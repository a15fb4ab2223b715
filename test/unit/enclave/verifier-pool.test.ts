import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import {
  answerOf,
  readBatch,
  readKeys,
  verifierOf,
  type Claim,
  type Verdict,
  type VerifyBatch,
  type VerifyKeys,
} from "../../../enclave/claims.ts";
import { nitroPlatform } from "../../../enclave/nitro.ts";
import type { Platform, VerifierEvents } from "../../../enclave/platform.ts";
import { POOL_LIMITS, startPool, type PoolLimits, type Verify } from "../../../enclave/verifier-pool.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../shared/protocol/statements.ts";
import { aPlatform, DEAD_PLATFORM } from "./support/platforms.ts";
import { someBytes } from "./support/random.ts";
import { SocketFolder, until } from "./support/sockets.ts";
import { forge, g1, onTwistOutsideSubgroup, toyKey } from "./support/toy-groth16.ts";

const IC = Object.fromEntries(
  KIND_NAMES.map((kind, k) => [
    kind,
    Array.from({ length: signalCount(kind) + 1 }, (_, i) => BigInt(k + i + 1)),
  ]),
) as Record<Kind, bigint[]>;
const KEYS: VerifyKeys = Object.fromEntries(KIND_NAMES.map((kind) => [kind, toyKey(IC[kind])])) as VerifyKeys;
const DAY_MS = 86_400_000;

function aClaim(kind: Kind = "spend", first = 1n): Claim {
  const signals = IC[kind].slice(1).map((_, i) => mustField(first + BigInt(i)));
  return { kind, signals, proof: forge(IC[kind], signals) };
}
function bad(claim: Claim): Claim {
  return { ...claim, proof: { ...claim.proof, c: g1(99n) } };
}
type Pool = Verify<Claim, Verdict>;
/** Undefined: the proof holds. */
const ask = async (pool: Pool, claim: Claim): Promise<Verdict | "BUSY" | undefined> => {
  const verdict = await pool(claim);
  return verdict === "PROOF_HOLDS" ? undefined : verdict;
};
const startVerifierPool = (platform: Platform, limits: Partial<PoolLimits> = {}): Promise<Pool> =>
  startPool(platform, verifierOf(KEYS), { ...POOL_LIMITS, ...limits });
const READY = new Uint8Array(0);

/** Lets all that can go on go on. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Processes that do what the test says, and timers that run out when it says. */
class Stage {
  readonly processes: {
    readonly events: VerifierEvents;
    readonly sent: Uint8Array[];
    killed: boolean;
  }[] = [];
  timers: { readonly ms: number; readonly then: () => void }[] = [];
  readonly drawn: number[] = [];
  /** Whether gathering takes its time; else it is over before anything else happens. */
  gathers = false;
  randomness: (length: number) => Promise<Uint8Array | undefined> = async (length) =>
    new Uint8Array(length).fill(length);

  readonly platform: Platform;

  constructor(processors: number) {
    this.platform = {
      ...DEAD_PLATFORM,
      processors,
      randomBytes: (length) => {
        this.drawn.push(length);
        return this.randomness(length);
      },
      startVerifier: (events) => {
        const process = { events, sent: [] as Uint8Array[], killed: false };
        this.processes.push(process);
        return {
          send: (message) => void process.sent.push(message),
          kill: () => {
            process.killed = true;
          },
        };
      },
      after: (ms, then) => {
        if (ms === POOL_LIMITS.gatherMs && !this.gathers) {
          queueMicrotask(then);
          return () => undefined;
        }
        const timer = { ms, then };
        this.timers.push(timer);
        return () => (this.timers = this.timers.filter((each) => each !== timer));
      },
    };
  }

  /** A pool whose processes are ready. */
  async pool(limits: Partial<PoolLimits> = {}): Promise<Pool> {
    const pool = startVerifierPool(this.platform, limits);
    for (const { events } of this.processes) events.answered(READY);
    return pool;
  }

  /** The batch that a process was sent last. */
  batch(index: number): VerifyBatch {
    return readBatch(this.processes[index]!.sent.at(-1)!);
  }

  answer(index: number, ...verdicts: Verdict[]): void {
    this.say(index, answerOf(verdicts));
  }

  say(index: number, message: Uint8Array): void {
    this.processes[index]!.events.answered(message);
  }

  /** Every timer of so long runs out now. */
  pass(ms: number): void {
    const due = this.timers.filter((timer) => timer.ms === ms);
    this.timers = this.timers.filter((timer) => timer.ms !== ms);
    for (const { then } of due) then();
  }

  end(index: number): void {
    this.processes[index]!.events.ended();
  }
}

describe("enclave/verifier-pool", () => {
  const holds = (count: number): Verdict[] => new Array<Verdict>(count).fill("PROOF_HOLDS");

  it("starts one process a processor, at most eight, and sends each the keys", async () => {
    for (const [processors, count] of [
      [1, 1],
      [2, 2],
      [96, 8],
    ] as const) {
      const stage = new Stage(processors);
      await stage.pool();
      assert.equal(stage.processes.length, count);
      for (const { sent } of stage.processes) assert.deepEqual(sent.map(readKeys), [KEYS]);
    }
  });

  it("sends one request alone, at once and without randomness", async () => {
    const stage = new Stage(1);
    const pool = await stage.pool();
    const answer = ask(pool, aClaim());
    assert.deepEqual(stage.batch(0), { claims: [aClaim()], randomness: undefined });
    assert.deepEqual(stage.drawn, []);
    stage.answer(0, "PROOF_HOLDS");
    assert.equal(await answer, undefined);
  });

  it("a free process takes all that waits, at most sixteen, with weights drawn when the batch is fixed", async () => {
    const stage = new Stage(1);
    const pool = await stage.pool();
    const answers = Array.from({ length: 20 }, (_, i) => ask(pool, aClaim("spend", BigInt(i))));
    assert.deepEqual(stage.drawn, []);
    stage.answer(0, "PROOF_HOLDS");
    await settled();
    assert.deepEqual(stage.drawn, [256]);
    assert.deepEqual(stage.batch(0), {
      claims: Array.from({ length: 16 }, (_, i) => aClaim("spend", BigInt(i + 1))),
      randomness: new Uint8Array(256).fill(256),
    });
    stage.answer(0, ...holds(15), "PROOF_INVALID");
    await settled();
    assert.deepEqual(stage.drawn, [256, 48]);
    stage.answer(0, ...holds(3));
    assert.deepEqual(
      await Promise.all(answers),
      answers.map((_, i) => (i === 16 ? "PROOF_INVALID" : undefined)),
    );
  });

  it("gathers behind those that come at once, until its time is over, however many processes are free", async () => {
    const stage = new Stage(4);
    stage.gathers = true;
    const pool = await stage.pool();
    const claims = Array.from({ length: 5 }, (_, i) => aClaim("spend", BigInt(i)));
    const answers = claims.map((claim) => ask(pool, claim));
    const asked = (): number[] => stage.processes.map(({ sent }) => sent.length - 1);
    assert.deepEqual(asked(), [1, 1, 0, 0], "one alone, and one that shows that more may come");
    stage.answer(0, "PROOF_HOLDS");
    assert.deepEqual(asked(), [1, 1, 0, 0], "also where one is free again");
    stage.pass(POOL_LIMITS.gatherMs);
    await settled();
    assert.deepEqual(stage.batch(2).claims, claims.slice(2));
    stage.answer(1, "PROOF_HOLDS");
    stage.answer(2, ...holds(3));
    assert.deepEqual(await Promise.all(answers), new Array(5).fill(undefined));
  });

  it("gathers no more than a batch: a full one goes at once", async () => {
    const stage = new Stage(4);
    stage.gathers = true;
    const pool = await stage.pool({ batch: 3 });
    const answers = Array.from({ length: 5 }, (_, i) => ask(pool, aClaim("spend", BigInt(i))));
    await settled();
    assert.equal(stage.batch(2).claims.length, 3);
    for (const [index, count] of [1, 1, 3].entries()) stage.answer(index, ...holds(count));
    assert.deepEqual(await Promise.all(answers), new Array(5).fill(undefined));
  });

  it("keeps nobody waiting who asks when he has his answer", async () => {
    const stage = new Stage(1);
    stage.gathers = true;
    const pool = await stage.pool();
    const both = [ask(pool, aClaim()), ask(pool, aClaim())];
    stage.answer(0, "PROOF_HOLDS");
    await settled();
    // A crowd of two: behind its second one claim is gathered, alone, and with that it is over.
    stage.answer(0, "PROOF_HOLDS");
    await Promise.all(both);
    for (let i = 0; i < 3; i++) {
      const answer = ask(pool, aClaim());
      stage.pass(POOL_LIMITS.gatherMs);
      stage.answer(0, "PROOF_HOLDS");
      assert.equal(await answer, undefined);
      assert.equal(
        stage.timers.some(({ ms }) => ms === POOL_LIMITS.gatherMs),
        false,
      );
    }
  });

  it("lets several processes work beside each other, and answers in any order", async () => {
    const stage = new Stage(2);
    const pool = await stage.pool();
    const [one, two] = [ask(pool, aClaim("spend")), ask(pool, aClaim("spend9"))];
    assert.deepEqual([stage.batch(0).claims[0]!.kind, stage.batch(1).claims[0]!.kind], ["spend", "spend9"]);
    stage.answer(1, "PROOF_NOT_ON_CURVE");
    assert.equal(await two, "PROOF_NOT_ON_CURVE");
    stage.answer(0, "PROOF_HOLDS");
    assert.equal(await one, undefined);
  });

  it("sends a batch without randomness when the platform gives none", async () => {
    const stage = new Stage(1);
    stage.randomness = async () => undefined;
    const pool = await stage.pool();
    const answers = [1n, 2n, 3n].map((first) => ask(pool, aClaim("spend", first)));
    stage.answer(0, "PROOF_HOLDS");
    await settled();
    assert.equal(stage.batch(0).claims.length, 2);
    assert.equal(stage.batch(0).randomness, undefined);
    stage.answer(0, ...holds(2));
    assert.deepEqual(await Promise.all(answers), [undefined, undefined, undefined]);
  });

  it("waits for randomness no longer than it may, and blames no process for it", async () => {
    const stage = new Stage(1);
    stage.randomness = () => new Promise(() => undefined);
    const pool = await stage.pool();
    const answers = [1n, 2n, 3n].map((first) => ask(pool, aClaim("spend", first)));
    stage.answer(0, "PROOF_HOLDS");
    const { sent } = stage.processes[0]!;
    const before = sent.length;
    assert.deepEqual(
      stage.timers.map(({ ms }) => ms),
      [POOL_LIMITS.randomnessMs],
    );
    stage.pass(POOL_LIMITS.batchMs);
    stage.pass(POOL_LIMITS.randomnessMs);
    await settled();
    assert.deepEqual([sent.length, stage.processes[0]!.killed], [before + 1, false]);
    assert.equal(stage.batch(0).randomness, undefined);
    // Its own time begins now.
    assert.deepEqual(
      stage.timers.map(({ ms }) => ms),
      [POOL_LIMITS.batchMs],
    );
    stage.answer(0, ...holds(2));
    assert.deepEqual(await Promise.all(answers), [undefined, undefined, undefined]);
  });

  it("sends nothing to a process that ended while randomness was drawn", async () => {
    const stage = new Stage(1);
    let give: (randomness: Uint8Array) => void = () => undefined;
    stage.randomness = () => new Promise((resolve) => (give = resolve));
    const pool = await stage.pool();
    const answers = [1n, 2n, 3n].map((first) => ask(pool, aClaim("spend", first)));
    stage.answer(0, "PROOF_HOLDS");
    const before = stage.processes[0]!.sent.length;
    stage.end(0);
    assert.deepEqual(await Promise.all(answers), [undefined, "BUSY", "BUSY"]);
    give(new Uint8Array(32));
    await settled();
    assert.equal(stage.processes[0]!.sent.length, before);
    assert.deepEqual(
      stage.timers.map(({ ms }) => ms),
      [POOL_LIMITS.pauseMs],
    );
  });

  it("BUSY beyond the claims that may wait", async () => {
    const stage = new Stage(1);
    const pool = await stage.pool({ waiting: 2 });
    const [one, two, three, four] = [1n, 2n, 3n, 4n].map((first) => ask(pool, aClaim("spend", first)));
    assert.equal(await four, "BUSY");
    stage.answer(0, "PROOF_HOLDS");
    await settled();
    stage.answer(0, ...holds(2));
    assert.deepEqual([await one, await two, await three], [undefined, undefined, undefined]);
  });

  describe("a process that fails", () => {
    it("is killed when it exceeds its time; what it had is BUSY, what waited is served by its successor", async () => {
      const stage = new Stage(1);
      const pool = await stage.pool();
      const stuck = ask(pool, aClaim());
      stage.pass(POOL_LIMITS.batchMs);
      assert.equal(stage.processes[0]!.killed, true);
      stage.end(0);
      assert.equal(await stuck, "BUSY");

      const next = ask(pool, aClaim());
      assert.equal(stage.processes.length, 1);
      stage.pass(POOL_LIMITS.pauseMs);
      assert.equal(stage.processes.length, 2);
      assert.deepEqual(stage.processes[1]!.sent.map(readKeys), [KEYS]);
      stage.answer(1);
      stage.answer(1, "PROOF_HOLDS");
      assert.equal(await next, undefined);
    });

    it("is given its time from each batch again, and none while it is free", async () => {
      const stage = new Stage(1);
      const pool = await stage.pool();
      assert.deepEqual(stage.timers, []);
      for (let i = 0; i < 2; i++) {
        const answer = ask(pool, aClaim());
        assert.deepEqual(
          stage.timers.map(({ ms }) => ms),
          [POOL_LIMITS.batchMs],
        );
        stage.answer(0, "PROOF_HOLDS");
        await answer;
        assert.deepEqual(stage.timers, []);
      }
    });

    it("is replaced when it dies while it is free", async () => {
      const stage = new Stage(1);
      const pool = await stage.pool();
      stage.end(0);
      stage.pass(POOL_LIMITS.pauseMs);
      stage.answer(1);
      const answer = ask(pool, aClaim());
      stage.answer(1, "PROOF_HOLDS");
      assert.equal(await answer, undefined);
    });

    for (const [what, verdicts] of Object.entries<number[]>({
      "too few verdicts": [0],
      "too many": [0, 0, 0],
      none: [],
      "one that it does not know": [0, 5],
    })) {
      it(`is killed, and believed nothing, when it answers with ${what}`, async () => {
        const stage = new Stage(1);
        const pool = await stage.pool();
        const first = ask(pool, aClaim());
        const [one, two] = [ask(pool, aClaim()), ask(pool, aClaim())];
        stage.answer(0, "PROOF_HOLDS");
        assert.equal(await first, undefined);
        await settled();
        stage.say(0, Uint8Array.from(verdicts));
        assert.equal(stage.processes[0]!.killed, true);
        stage.end(0);
        assert.deepEqual([await one, await two], ["BUSY", "BUSY"]);
      });
    }

    it("is killed, and believed nothing, when it answers what it was not asked yet, or once more", async () => {
      for (const isFree of [true, false]) {
        const stage = new Stage(1);
        stage.randomness = () => new Promise(() => undefined);
        const pool = await stage.pool();
        const first = ask(pool, aClaim());
        const two = isFree ? [] : [ask(pool, aClaim()), ask(pool, bad(aClaim()))];
        stage.answer(0, "PROOF_HOLDS");
        assert.equal(await first, undefined);
        // In hand it has both now, and their weights are not drawn.
        stage.answer(0, ...holds(two.length));
        assert.equal(stage.processes[0]!.killed, true);
        stage.end(0);
        assert.deepEqual(await Promise.all(two), isFree ? [] : ["BUSY", "BUSY"]);
      }
    });

    it("is not ready when its first answer says anything", async () => {
      const stage = new Stage(1);
      const pool = startVerifierPool(stage.platform);
      stage.say(0, Uint8Array.of(0));
      assert.equal(stage.processes[0]!.killed, true);
      stage.end(0);
      await assert.rejects(pool);
    });

    it("takes with it only what it had, while another lives", async () => {
      const stage = new Stage(2);
      const pool = await stage.pool();
      const [one, two, waiting] = [ask(pool, aClaim()), ask(pool, aClaim()), ask(pool, aClaim())];
      stage.end(0);
      assert.equal(await one, "BUSY");
      stage.answer(1, "PROOF_HOLDS");
      stage.answer(1, "PROOF_HOLDS");
      assert.deepEqual([await two, await waiting], [undefined, undefined]);
    });

    it("leaves nobody waiting for a successor that never lives, and is followed by one try a pause", async () => {
      const stage = new Stage(1);
      const pool = await stage.pool();
      const [one, two] = [ask(pool, aClaim()), ask(pool, aClaim())];
      stage.end(0);
      assert.deepEqual([await one, await two], ["BUSY", "BUSY"]);
      for (let tries = 2; tries < 6; tries++) {
        const three = ask(pool, aClaim());
        stage.pass(POOL_LIMITS.pauseMs);
        assert.equal(stage.processes.length, tries);
        stage.end(tries - 1);
        assert.equal(await three, "BUSY");
        await settled();
        assert.equal(stage.processes.length, tries);
        assert.equal(stage.timers.length, 1);
      }
    });

    it("that does not start in time is killed, and the first of its kind means no pool", async () => {
      const stage = new Stage(2);
      const pool = startVerifierPool(stage.platform);
      stage.answer(0);
      stage.pass(POOL_LIMITS.startMs);
      assert.deepEqual(
        stage.processes.map(({ killed }) => killed),
        [false, true],
      );
      stage.end(1);
      await assert.rejects(pool);
      stage.pass(POOL_LIMITS.pauseMs);
      assert.equal(stage.processes.length, 2);
    });
  });

  describe("with its real processes", function () {
    let folder: SocketFolder;
    let real: Platform;
    let platform: Platform;
    before(async () => {
      folder = await SocketFolder.make();
      real = await aPlatform(folder);
      platform = {
        ...DEAD_PLATFORM,
        processors: 1,
        after: real.after,
        randomBytes: async (length) => someBytes(length),
        startVerifier: real.startVerifier,
      };
    });
    // A pool goes on for ever: with the folder every start fails.
    after(() => folder.remove());

    /** Verifiers of this process that other tests have not ended yet. */
    let others: ReadonlySet<number> = new Set();
    const pids = (): number[] => {
      try {
        const lines = execFileSync("pgrep", ["-P", String(process.pid), "-f", "enclave/verifier"]).toString();
        return lines
          .trim()
          .split("\n")
          .map(Number)
          .filter((pid) => !others.has(pid));
      } catch {
        return [];
      }
    };
    /** Asks until a process is there to answer. */
    const served = async (pool: Pool): Promise<void> => {
      await until("a successor serves", async () => (await ask(pool, aClaim())) === undefined);
    };

    let pool: Pool;
    before(async () => {
      others = new Set(pids());
      pool = await startVerifierPool(platform, { batchMs: 2_000, pauseMs: 10 });
    });

    it("gives each claim of a mixed crowd its own verdict", async () => {
      const good = KIND_NAMES.map((kind) => aClaim(kind));
      const outside = { ...aClaim(), proof: { ...aClaim().proof, b: onTwistOutsideSubgroup() } };
      const claims = [...good, bad(aClaim("spend9")), ...good, outside, ...good];
      assert.deepEqual(
        await Promise.all(claims.map((claim) => ask(pool, claim))),
        claims.map((claim, i) =>
          i === 4 ? "PROOF_INVALID" : claim === outside ? "PROOF_NOT_IN_SUBGROUP" : undefined,
        ),
      );
    });

    it("has no environment, makes no code from strings, and has a bounded heap", async () => {
      const [pid] = pids();
      const args = execFileSync("ps", ["-ww", "-o", "args=", "-p", String(pid)]).toString();
      assert.match(args, /--disallow-code-generation-from-strings/);
      assert.match(args, /--max-old-space-size=128/);
      const names = readFileSync(`/proc/${String(pid)}/environ`, "utf8")
        .split("\0")
        .filter(Boolean);
      assert.deepEqual(
        names.map((each) => each.split("=")[0]),
        // Where its own coverage goes, if this very process is measured.
        process.env["NODE_V8_COVERAGE"] === undefined ? [] : ["NODE_V8_COVERAGE"],
      );
    });

    it("replaces one that hangs: BUSY for what it had, and the next request is served", async () => {
      const [pid] = pids();
      process.kill(pid!, "SIGSTOP");
      assert.deepEqual(await Promise.all([ask(pool, aClaim()), ask(pool, bad(aClaim()))]), ["BUSY", "BUSY"]);
      await served(pool);
      assert.notDeepEqual(pids(), [pid]);
    });

    it("replaces one that dies", async () => {
      const [pid] = pids();
      process.kill(pid!, "SIGSTOP");
      const answer = ask(pool, aClaim());
      process.kill(pid!, "SIGKILL");
      assert.equal(await answer, "BUSY");
      await served(pool);
      assert.equal(await ask(pool, bad(aClaim())), "PROOF_INVALID");
    });

    it("is no pool when its program cannot be started", async () => {
      const elsewhere = nitroPlatform({
        listenPath: "",
        nsmPath: "",
        verifiersPath: folder.at("nobody.sock"),
      });
      const broken: Platform = { ...platform, startVerifier: elsewhere.startVerifier };
      await assert.rejects(startVerifierPool(broken));
      const file = folder.at("no-such-program.js");
      const other = await SocketFolder.make();
      const { startVerifier } = await aPlatform(other, { file });
      await assert.rejects(startVerifierPool({ ...platform, startVerifier }));
      await other.remove();
    });

    it("cancels a deadline, and keeps one", async () => {
      const passed: string[] = [];
      const cancel = real.after(1, () => passed.push("cancelled"));
      cancel();
      real.after(DAY_MS, () => passed.push("in a day"));
      await new Promise<void>((resolve) => {
        real.after(2, resolve);
        // The deadline alone keeps no process alive.
        // eslint-disable-next-line no-restricted-syntax -- keeps the process alive
        setTimeout(resolve, 1_000);
      });
      assert.deepEqual(passed, []);
    });
  });
});
