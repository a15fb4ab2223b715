// A developer's fee rules from the operator's command line to /whoami of the running proxy, and every refusal
// of the tool beside it.
import assert from "node:assert/strict";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { asField, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import { asBytes32 } from "../../../shared/protocol/host/text.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../../proxy/base/store/instance.ts";
import { runProgram, type Ended } from "../../support/program.ts";
import { startEdge, USDC, type Edge } from "../../support/edge.ts";

const sinkOf = (byte: number, prefix = "clo"): string =>
  SpendingKey.fromSeed(new Uint8Array(32).fill(byte)).viewing.addressText(prefix);

describe("operator fees", function () {
  let edge: Edge;
  before(async () => {
    edge = await startEdge();
  });
  after(() => edge.stop());

  const fees = (...words: string[]): Promise<Ended> =>
    runProgram("scripts/operator/main.ts", ["--data", edge.folder, "fees", ...words]);

  it("set is felt by the running proxy at once, list shows it, remove ends it", async () => {
    const set = await fees(
      "set",
      "test",
      "USDC",
      "withdraw",
      "--flat",
      "7",
      "--bps",
      "25",
      "--sink",
      sinkOf(1),
    );
    assert.equal(set.code, 0, set.err);
    const { body } = await edge.call("GET", "/whoami");
    assert.equal(body.fees.length, 1);
    const [{ valid_until, ...rule }] = body.fees;
    assert.deepEqual(rule, {
      asset: "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
      operation: "withdraw",
      service: null,
      developer: { flat: "7", bps: 25, sink: sinkOf(1), enforced: true },
    });
    assert.ok(Number.isFinite(Date.parse(valid_until)));
    const session = await edge.session();
    const asUser = await edge.call("GET", "/whoami", { session });
    assert.deepEqual(asUser.body.fees[0].developer, rule.developer, "a session has its developer's rules");

    // Of the same asset: the sink is known, and a new one moves both rules.
    assert.equal((await fees("set", "test", USDC, "deposit", "--bps", "1")).code, 0);
    assert.equal((await fees("set", "test", "USDC", "deposit", "--bps", "2", "--sink", sinkOf(2))).code, 0);
    const listed = await fees("list", "--json");
    assert.deepEqual(
      JSON.parse(listed.out).rules.map((one: Record<string, unknown>) => [
        one["developer"],
        one["operation"],
        one["flat"],
        one["bps"],
        one["sink"],
      ]),
      [
        ["test", "withdraw", "7", 25, sinkOf(2)],
        ["test", "deposit", "0", 2, sinkOf(2)],
      ],
    );
    assert.match((await fees("list", "test")).out, /^test\tUSDC\twithdraw\tflat=7\tbps=25\tclo1/m);

    for (const operation of ["withdraw", "deposit"])
      assert.equal((await fees("remove", "test", "USDC", operation)).code, 0);
    assert.deepEqual((await edge.call("GET", "/whoami")).body.fees, []);
  });

  const sink = ["--sink", sinkOf(1)];
  const refused: readonly [string, readonly string[], RegExp][] = [
    [
      "a developer that is not there",
      ["set", "nobody", "USDC", "deposit", "--flat", "1", ...sink],
      /no developer/,
    ],
    [
      "an asset that is not listed",
      ["set", "test", "DOGE", "deposit", "--flat", "1", ...sink],
      /lists USDC only/,
    ],
    ["an operation that is none", ["set", "test", "USDC", "steal", "--flat", "1", ...sink], /one of deposit/],
    ["more than all", ["set", "test", "USDC", "deposit", "--bps", "10001", ...sink], /0 to 10000/],
    ["more than half of a swap", ["set", "test", "USDC", "swap", "--bps", "5001", ...sink], /0 to 5000/],
    ["a fraction", ["set", "test", "USDC", "deposit", "--flat", "1.5", ...sink], /--flat takes/],
    ["nothing", ["set", "test", "USDC", "deposit", ...sink], /--flat or --bps is missing/],
    ["zero", ["set", "test", "USDC", "deposit", "--flat", "0", ...sink], /remove it/],
    ["no sink", ["set", "test", "USDC", "deposit", "--flat", "1"], /no sink yet/],
    [
      "a sink of another network",
      ["set", "test", "USDC", "deposit", "--flat", "1", "--sink", sinkOf(1, "clodev")],
      /no shielded address of this network \(clo1…\)/,
    ],
    [
      "a public address",
      ["set", "test", "USDC", "deposit", "--flat", "1", "--sink", USDC],
      /no shielded address/,
    ],
    ["a rule that is not there", ["remove", "test", "USDC", "deposit"], /has no rule/],
    ["a word too many", ["list", "test", "USDC"], /too many words/],
    ["an unknown verb", ["raise", "test"], /unknown command/],
  ];
  for (const [what, words, reason] of refused) {
    it(`refuses ${what} and changes nothing`, async () => {
      const { code, err } = await fees(...words);
      assert.equal(code, 2, err);
      assert.match(err, reason);
      assert.deepEqual((await edge.call("GET", "/whoami")).body.fees, []);
    });
  }

  it("received prints a line for each note, of this developer only", async () => {
    const database = openDatabase(edge.folder);
    const note = {
      statement: asBytes32(toHex(word(5n))) as Bytes32,
      asset: USDC,
      value: 123n,
      blinding: asField(7n) as Field,
      npk: asField(8n) as Field,
      deadline: 1_800_000_000,
    };
    await embeddedStores(database).feeNotes.keep([
      { ...note, receiver: "test", output: 3 },
      { ...note, receiver: undefined, output: 2 },
    ]);
    await database.close();
    const { code, out } = await fees("received", "test");
    assert.equal(code, 0);
    assert.deepEqual(
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
      [
        {
          ticket: null,
          statement: note.statement,
          leaf_index: null,
          asset: "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
          value: "123",
          blinding: toHex(word(7n)),
          npk: toHex(word(8n)),
        },
      ],
    );
    assert.equal((await fees("received")).out.trimEnd().split("\n").length, 1);
    assert.equal((await fees("received", "nobody")).code, 2);
  });
});
