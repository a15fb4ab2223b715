// Every byte of a call means something: changed, the call is refused, or does the same, or what its caller may choose anyway:
// fees within the ceiling, and whose notes they are. See binding.tree.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import { bytesToUint, mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import {
  FINALITY,
  paddedAddress,
  sourceAddress,
  type Lane,
} from "../../../shared/protocol/host/forwarders.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { freshAddress } from "../pool/world.ts";
import { messageOf } from "./attesting.ts";
import {
  CEILING,
  DAY,
  MINIMUM,
  named,
  SECOND_DOMAIN,
  simulateCall,
  someone,
  Stage,
  type SimulatedCall,
} from "./stage.ts";

const AMOUNT = 5_000_000n;
const FEE = 50_000n;
const MAX_FEE_AT = 148 + 132;
const VIEWS = new Interface([
  "function balanceOf(address) view returns (uint256)",
  "function since(address, address) view returns (uint64, bool)",
  "function queue() view returns (uint64, bytes32)",
]);

describe("forwarders: binding of calldata", function () {
  this.timeout(300_000);
  let stage: Stage;
  let restore: () => Promise<void>;
  before(async () => {
    stage = await Stage.open();
  });
  beforeEach(async () => {
    restore = await stage.world.remember();
  });
  afterEach(() => restore());
  after(() => stage.stop());

  /** What a call leaves behind: balances, the clock, the pool's queue. */
  const leftBy = (vault: Address, others: readonly Address[]) => [
    ...[vault, stage.pool, ...others].map((account) => ({
      to: stage.home.token,
      data: VIEWS.encodeFunctionData("balanceOf", [account]),
    })),
    {
      to: stage.home.factory.address,
      data: VIEWS.encodeFunctionData("since", [vault, stage.home.token]),
    },
    { to: stage.pool, data: VIEWS.encodeFunctionData("queue") },
  ];

  /** Flips one bit of every byte in turn. `mayBe` judges what is neither refused nor the same. */
  const assertBound = async (
    name: string,
    args: readonly unknown[],
    vault: Address,
    others: readonly Address[],
    mayBe: (bent: SimulatedCall, right: SimulatedCall, at: string) => void = (_bent, _right, at) => {
      assert.fail(`${at} is accepted and does something else`);
    },
  ): Promise<void> => {
    const bytes = mustFromHex(stage.home.forwarders.interface.encodeFunctionData(name, args));
    const then = leftBy(vault, others);
    const right = await simulateCall(stage.home, toHex(bytes), then);
    assert.ok(right.isDone && right.said.length > 0, "the call itself is accepted");
    let [refused, same, chosen] = [0, 0, 0];
    const tryAt = async (i: number): Promise<void> => {
      const data = toHex(bytes.map((byte, at) => (at === i ? byte ^ (1 << (i % 8)) : byte)));
      const bent = await simulateCall(stage.home, data, then);
      if (!bent.isDone) refused += 1;
      else if (bent.log === right.log && String(bent.after) === String(right.after)) same += 1;
      else {
        mayBe(bent, right, `byte ${String(i)} of ${name}`);
        chosen += 1;
      }
    };
    for (let i = 0; i < bytes.length; i += 24)
      await Promise.all(Array.from({ length: Math.min(24, bytes.length - i) }, (_, at) => tryAt(i + at)));
    assert.equal(refused + same + chosen, bytes.length);
    assert.ok(
      refused > bytes.length / 4,
      `${String(refused)} refused, ${String(same)} the same, ${String(chosen)} chosen of ${String(bytes.length)}`,
    );
  };

  /** Only the fee that is offered may differ, within the ceiling: same recipient, token, amount, caller, hook. */
  const onlyTheFee = (bent: SimulatedCall, right: SimulatedCall, at: string): void => {
    const [given, wanted] = [bent, right].map(({ logs }) => messageOf({ logs } as never));
    assert.ok(bytesToUint(given!.slice(MAX_FEE_AT, MAX_FEE_AT + 32)) <= CEILING, at);
    given!.set(word(FEE), MAX_FEE_AT);
    assert.equal(toHex(given!), toHex(wanted!), at);
    assert.deepEqual(bent.after, right.after, at);
  };

  it("sweep", async () => {
    const [terms, vault] = await stage.paidIn(AMOUNT);
    const collector = someone();
    await assertBound(
      "sweep",
      [[{ terms, fees: [FEE] }], [collector]],
      vault,
      [terms.refund],
      (bent, right, at) => {
        const [note, ...fees] = named(bent.said, "Credited");
        const [wanted] = named(right.said, "Credited");
        const identity = ({ args }: NonNullable<typeof note>) =>
          ["npk", "ephemeralKey", "ciphertext"].map((key) => args[key] as unknown);
        assert.deepEqual(identity(note!), identity(wanted!), at);
        const taken = fees.reduce((sum, { args }) => sum + (args["value"] as bigint), 0n);
        assert.ok(fees.length <= 1 && taken <= CEILING, at);
        assert.equal(note!.args["value"], AMOUNT - taken, at);
        // Everything but the head of the queue, which knows the notes.
        assert.deepEqual(bent.after.slice(0, -1), right.after.slice(0, -1), at);
      },
    );
  });

  it("sweep, by somebody who is not the collector", async () => {
    const [terms, vault] = await stage.paidIn(AMOUNT, { collector: freshAddress() });
    await assertBound("sweep", [[{ terms, fees: [] }], []], vault, [terms.refund]);
  });

  it("touch", async () => {
    const [terms, vault] = await stage.paidIn(AMOUNT);
    await assertBound("touch", [terms], vault, [terms.refund]);
  });

  it("refund", async () => {
    const [terms, vault] = await stage.paidIn(AMOUNT);
    await stage.home.call("touch", terms);
    await stage.home.pass(DAY);
    await assertBound("refund", [terms], vault, [terms.refund]);
  });

  it("forward", async () => {
    const { messenger, token } = stage.home.cctp;
    const lane: Lane = {
      ...{ chainId: 31_337n, token, messenger, domain: SECOND_DOMAIN },
      ...{ minimum: MINIMUM, feeCeiling: CEILING },
    };
    const terms = {
      recipient: paddedAddress(freshAddress()),
      lanes: [lane, { ...lane, chainId: 31_338n }],
      refund: freshAddress(),
    };
    const vault = sourceAddress(terms);
    await stage.home.mint(vault, AMOUNT);
    await assertBound("forward", [terms, 0n, FEE, FINALITY.fast], vault, [terms.refund], onlyTheFee);
  });

  it("flush", async () => {
    const hook = Uint8Array.from({ length: 56 }, (_, i) => i);
    const caller = paddedAddress(freshAddress());
    const [terms, vault] = await stage.paidOut(AMOUNT, {}, { hook, caller });
    await assertBound("flush", [terms, FEE, FINALITY.safe], vault, [], onlyTheFee);
  });

  it("returnOut", async () => {
    const [terms, vault] = await stage.paidOut(AMOUNT);
    await stage.home.call("touchOut", terms);
    await stage.home.pass(DAY);
    await assertBound("returnOut", [terms], vault, []);
  });
});
