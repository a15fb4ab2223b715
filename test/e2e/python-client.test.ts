/**
 * The reference teaches: a client in Python, written from the OpenAPI document and SPEC.md alone, pays on the running
 * service, and wallets of the client library see the exact amounts. The proof is made by `npm run prove`.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { newSeed, type Wallet } from "../../shared/client/index.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import { PYTHON_CLIENT, python, requirePython, type Ended } from "../support/python.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const UNIT = TestUsdc.unit;
const FLAT = 50_000n;
const PROVER = `${process.execPath} scripts/build/run.mjs scripts/prove/main.ts`;

interface Told {
  readonly ticket_id: string;
  readonly state: string;
  readonly tx_hash: string;
  readonly paid: number;
  readonly fees: number;
  readonly change: number;
}

describe("a client in Python", function () {
  this.timeout(300_000);
  let on: TestStack;
  const seed = newSeed();
  let payer: Wallet;
  let payee: Wallet;

  before(async function () {
    await requirePython(this);
    on = await startTestStack();
    [payer, payee] = [await on.wallet({ seed }), await on.wallet()];
    for (const value of [20n * UNIT, 15n * UNIT]) {
      const amount = value + FLAT;
      await payer.deposit(amount, await on.depositor(amount));
    }
  });
  after(() => (on as TestStack | undefined)?.stop());

  const pay = (
    amount: bigint,
    to = payee.address,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Ended> =>
    python(
      [
        ...[path.join(PYTHON_CLIENT, "pay.py"), "--service", on.entry.base_url],
        ...["--to", to, "--amount", String(amount), "--prover", PROVER],
      ],
      {
        CLOISTER_API_KEY: on.stack.file.api_key,
        CLOISTER_SEED: Buffer.from(seed).toString("hex"),
        ...more,
      },
    );

  const told = ({ code, stdout, stderr }: Ended): Told => {
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Told;
  };

  it("pays with two notes, and the payee's wallet has the exact amount, confirmed by the chain", async () => {
    const result = told(await pay(30n * UNIT));
    assert.match(result.state, /^(confirmed|finalized)$/);
    assert.deepEqual(
      [result.paid, result.fees, result.change],
      [30n * UNIT, FLAT, 5n * UNIT - FLAT].map(Number),
    );
    const ticket = await on.client.ticket(result.ticket_id);
    assert.deepEqual([ticket.kind, ticket.tx_hash], ["spend", result.tx_hash]);
    assert.deepEqual(await on.executions(ticket.statement), [result.tx_hash]);
    await payee.sync();
    assert.equal(payee.balance().total, 30n * UNIT);
    assert.equal(payee.balance().unverified, 0n);
  });

  it("leaves the change where the library's wallet of the same seed finds it", async () => {
    await payer.sync();
    assert.equal(payer.balance().total, 5n * UNIT - FLAT);
  });

  it("pays with the change alone, beside an unused place", async () => {
    const result = told(await pay(3n * UNIT));
    assert.equal(result.change, Number(2n * UNIT - 2n * FLAT));
    await payee.sync();
    assert.equal(payee.balance().total, 33n * UNIT);
  });

  it("sends nothing when the money is not there, the address is wrong, or the key is refused", async () => {
    const before = await on.client.merkleRoot();
    const [head, tail] = [payee.address.slice(0, -1), payee.address.endsWith("q") ? "p" : "q"];
    for (const [made, words] of [
      [pay(2n * UNIT), /no two notes of this key hold 2050000/],
      [pay(UNIT, head + tail), /a typing error/],
      [pay(UNIT, payee.address.replace(/^clodev/, "clodevb")), /another network/],
      [pay(UNIT, payee.address, { CLOISTER_API_KEY: "ck_0000" }), /INVALID_CREDENTIAL/],
      [pay(UNIT, payee.address, { CLOISTER_SEED: "01".repeat(32) }), /no two notes/],
    ] as const) {
      const { code, stderr, stdout } = await made;
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, words);
    }
    const after = await on.client.merkleRoot();
    assert.equal(after.leaf_count + after.pending, before.leaf_count + before.pending);
  });

  it("is a program that needs nothing but its own files and the standard library", async () => {
    const files = ["arithmetic", "spec", "pay"];
    for (const name of files) assert.ok(existsSync(path.join(PYTHON_CLIENT, `${name}.py`)));
    const listing = [
      "import ast, sys",
      "names = {a.name.split('.')[0] for f in sys.argv[1:] for n in ast.walk(ast.parse(open(f).read()))",
      "  if isinstance(n, ast.Import) for a in n.names} | {n.module.split('.')[0] for f in sys.argv[1:]",
      "  for n in ast.walk(ast.parse(open(f).read())) if isinstance(n, ast.ImportFrom)}",
      "print(*sorted(names - set(sys.stdlib_module_names)))",
    ].join("\n");
    const asked = await python([
      "-c",
      listing,
      ...files.map((name) => path.join(PYTHON_CLIENT, `${name}.py`)),
    ]);
    assert.deepEqual(asked, { code: 0, stdout: "arithmetic spec\n", stderr: "" });
  });
});
