// `npm run prove` as programs in other languages call it: the inputs of SPEC.md's section 6 in, a proof out.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { PROJECT_ROOT } from "../../support/tree.ts";

type Inputs = Readonly<Record<string, unknown>>;
interface Step {
  readonly kind?: string;
  readonly circuitInputs?: Inputs;
  readonly signals?: readonly string[];
}
interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe("npm run prove", function () {
  let steps: readonly Step[];
  before(async () => {
    const file = path.join(PROJECT_ROOT, "test", "support", "vectors", "story.json");
    ({ steps } = JSON.parse(await readFile(file, "utf8")) as { steps: readonly Step[] });
  });

  async function prove(args: readonly string[], input: string): Promise<Ended> {
    const script = ["scripts/build/run.mjs", "scripts/prove/main.ts"];
    const child = spawn(process.execPath, [...script, ...args], { cwd: PROJECT_ROOT, stdio: "pipe" });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => (said[name] += text));
    child.stdin.on("error", () => undefined).end(input);
    const [code] = (await once(child, "close")) as [number | null];
    return { code, ...said };
  }

  const stepOf = (kind: string): Required<Step> => {
    const found = steps.find((step) => step.kind === kind && step.circuitInputs !== undefined);
    assert.ok(found?.signals !== undefined);
    return found as Required<Step>;
  };

  for (const kind of ["deposit-shield", "spend", "private-swap"])
    it(`proves a ${kind} of the test vectors, and gives its public signals`, async () => {
      const { circuitInputs: inputs, signals } = stepOf(kind);
      const { code, stdout, stderr } = await prove([kind], JSON.stringify(inputs));
      assert.equal(code, 0, stderr);
      const made = JSON.parse(stdout) as { proof: { protocol: string }; public_signals: readonly string[] };
      assert.deepEqual(made.public_signals, signals);
      assert.equal(made.proof.protocol, "groth16");
    });

  it("has no proof for inputs that contradict each other, and does not repeat the key", async () => {
    const { circuitInputs: inputs } = stepOf("spend");
    const values = inputs["outValues"] as readonly string[];
    const bent = { ...inputs, outValues: [String(BigInt(values[0]!) + 1n), ...values.slice(1)] };
    const { code, stdout, stderr } = await prove(["spend"], JSON.stringify(bent));
    assert.deepEqual([code, stdout], [1, ""]);
    assert.notEqual(stderr, "");
    assert.ok(!stderr.includes(String(inputs["spendingKey"])));
  });

  it("says what is wrong with a call, with the exit code 2", async () => {
    const { circuitInputs: inputs } = stepOf("spend");
    const { root: _root, ...without } = inputs;
    for (const [args, input, words] of [
      [[], "{}", /name one kind/],
      [["spend2"], "{}", /name one kind/],
      [["spend"], "{", /no JSON/],
      [["spend"], JSON.stringify({ ...inputs, root: 7 }), /decimal strings and lists of them: root/],
      [["spend"], JSON.stringify(without), /public inputs context, root, asset/],
      [["deposit-shield"], JSON.stringify(inputs), /public inputs context, asset, amountIn/],
    ] as const) {
      const { code, stdout, stderr } = await prove(args, input);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, words);
      assert.ok(!stderr.includes(String(inputs["spendingKey"])));
    }
  });
});
