// The verifiers on chain against real proofs by the committed keys, and against everything that is nearly one. See verifier.tree.
import assert from "node:assert/strict";
import { Contract, JsonRpcProvider } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { verificationKeysFolder } from "../../../scripts/build/circuits/artefacts.ts";
import {
  committedKeyHashes,
  deployContract,
  deployVerifiers,
  readKeys,
} from "../../../scripts/deploy/pool.ts";
import { BASE_FIELD_ORDER, FIELD_ORDER, type Address } from "../../../shared/protocol/brands.ts";
import { bytesToUint, mustFromHex } from "../../../shared/protocol/bytes.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../shared/protocol/statements.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { STATEMENTS } from "../vectors/story.ts";

interface Proven {
  /** In the order of EIP-197. */
  readonly points: readonly bigint[];
  readonly signals: readonly bigint[];
}

describe("contracts: verifiers", function () {
  this.timeout(300_000);
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let addresses: Record<Kind, Address>;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    addresses = await deployVerifiers(await provider.getSigner(0), await readKeys(verificationKeysFolder));
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  const verifier = async (kind: Kind): Promise<Contract> =>
    new Contract(addresses[kind], (await loadArtifact("Groth16Verifier")).abi, provider);

  for (const kind of KIND_NAMES) {
    describe(kind, () => {
      let proven: Proven;
      let contract: Contract;
      before(async () => {
        contract = await verifier(kind);
        proven = told(kind);
      });
      const verify = (
        points = proven.points,
        signals = proven.signals,
        gasLimit = 10_000_000n,
      ): Promise<boolean> => contract.getFunction("verify")(points, signals, { gasLimit });

      it("names its key and its number of signals as everybody else does", async () => {
        assert.equal(await contract.getFunction("verifyingKeyHash")(), (await committedKeyHashes())[kind]);
        assert.equal(await contract.getFunction("signalCount")(), BigInt(signalCount(kind)));
      });

      it("accepts a proof, and the proof made again with both signs turned", async () => {
        assert.equal(await verify(), true);
        // (−A, −B, C): Groth16 proofs can be made again by anybody, and the enclave accepts this one too.
        const turned = [1, 4, 5].reduce<readonly bigint[]>(
          (points, i) => points.with(i, BASE_FIELD_ORDER - points[i]!),
          proven.points,
        );
        assert.equal(await verify(turned), true);
      });

      it("refuses any signal changed, or spelled the second way", async () => {
        for (const [i, signal] of proven.signals.entries()) {
          assert.equal(await verify(undefined, proven.signals.with(i, (signal + 1n) % FIELD_ORDER)), false);
          assert.equal(await verify(undefined, proven.signals.with(i, signal + FIELD_ORDER)), false);
        }
      });

      it("refuses a signal less and a signal more", async () => {
        assert.equal(await verify(undefined, proven.signals.slice(1)), false);
        assert.equal(await verify(undefined, [...proven.signals, 0n]), false);
        assert.equal(await verify(undefined, []), false);
      });

      it("refuses any coordinate changed, or spelled the second way", async () => {
        for (const [i, coordinate] of proven.points.entries()) {
          assert.equal(await verify(proven.points.with(i, (coordinate + 1n) % BASE_FIELD_ORDER)), false);
          assert.equal(await verify(proven.points.with(i, coordinate + BASE_FIELD_ORDER)), false);
        }
      });

      it("refuses the point at infinity for A, B and C, and the sign of one alone", async () => {
        for (const places of [
          [0, 1],
          [2, 3, 4, 5],
          [6, 7],
          [0, 1, 2, 3, 4, 5, 6, 7],
        ]) {
          const none = places.reduce<readonly bigint[]>((points, i) => points.with(i, 0n), proven.points);
          assert.equal(await verify(none), false);
        }
        assert.equal(await verify(proven.points.with(1, BASE_FIELD_ORDER - proven.points[1]!)), false);
        assert.equal(await verify(proven.points.with(7, BASE_FIELD_ORDER - proven.points[7]!)), false);
      });

      it("never says no for want of gas: it reverts, at every limit up to the one that suffices", async () => {
        const answers = new Set<string>();
        for (let gasLimit = 40_000n; gasLimit < 1_200_000n; gasLimit += 30_000n) {
          answers.add(await verify(undefined, undefined, gasLimit).then(String, () => "reverted"));
        }
        assert.deepEqual([...answers], ["reverted", "true"]);
      });
    });
  }

  it("a proof of one kind is none of another", async () => {
    const { points, signals } = told("deposit-shield");
    for (const kind of KIND_NAMES.filter((name) => name !== "deposit-shield")) {
      const padded = Array.from({ length: signalCount(kind) }, (_, i) => signals[i] ?? 0n);
      assert.equal(await (await verifier(kind)).getFunction("verify")(points, padded), false);
    }
  });

  it("KeyInvalid: a key that is no list of points, too short or too long for one account", async () => {
    const owner = await provider.getSigner(0);
    for (const length of [0, 64 * 7, 64 * 8 + 32, 64 * 384]) {
      await assert.rejects(
        deployContract(owner, "Groth16Verifier", [`0x${"01".repeat(length)}`]),
        (error: { data?: string }) => error.data === contractError("KeyInvalid()"),
      );
    }
  });

  it("KeyInvalid: a key whose gamma and delta are one point, or one the negative of the other", async () => {
    const owner = await provider.getSigner(0);
    const word = (n: number): string => n.toString(16).padStart(64, "0");
    const key = (delta: readonly number[]): string =>
      `0x${[...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], ...delta, ...[15, 16, 17, 18]].map(word).join("")}`;
    for (const weak of [
      [7, 8, 9, 10],
      [7, 8, 11, 12],
    ])
      await assert.rejects(
        deployContract(owner, "Groth16Verifier", [key(weak)]),
        (error: { data?: string }) => error.data === contractError("KeyInvalid()"),
      );
    await deployContract(owner, "Groth16Verifier", [key([7, 9, 8, 10])]);
    await deployContract(owner, "Groth16Verifier", [key([11, 8, 9, 10])]);
  });
});

/** Of the test vectors; of their spends the last, whose amount is public. */
function told(kind: Kind): Proven {
  const step = STATEMENTS.findLast((each) => each.kind === kind);
  assert.ok(step !== undefined);
  const proof = mustFromHex(step.proof);
  return {
    points: Array.from({ length: 8 }, (_, i) => bytesToUint(proof.slice(32 * i, 32 * i + 32))),
    signals: step.signals.map(BigInt),
  };
}

function contractError(signature: string): string {
  return (
    new Contract(`0x${"00".repeat(20)}`, [`error ${signature}`]).interface.getError(signature)?.selector ?? ""
  );
}
