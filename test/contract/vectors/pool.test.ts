import assert from "node:assert/strict";
import { Contract, JsonRpcProvider, NonceManager, toBeHex, Wallet, type Interface } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { verificationKeysFolder } from "../../../scripts/build/circuits/artefacts.ts";
import { deployContract, deployTestUsdc, deployVerifiers, readKeys } from "../../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../../scripts/stack/development-registration.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../support/chain.ts";
import { refused } from "./refusals.ts";
import {
  HOME,
  REFUSALS,
  STORY,
  statementCalled,
  type Refusal,
  type RootStep,
  type StatementStep,
} from "./story.ts";

const NO_UPDATE = {
  ...{ oldRoot: 0n, newRoot: 0n, fromIndex: 0n, toIndex: 0n },
  ...{ headBefore: toBeHex(0n, 32), headAfter: toBeHex(0n, 32), attestations: "0x" },
};

/** Deposits and root updates before it, none of the others that the refusals are made from. */
const FIRST_REFUSED = statementCalled("a withdrawal");

interface PoolTransaction {
  readonly kind: number;
  readonly deadline: bigint;
  readonly signals: readonly bigint[];
  readonly ext: string;
  readonly proof: string;
  readonly authorization: string;
  readonly attestations: string;
}

const transactionOf = (step: StatementStep): PoolTransaction => ({
  kind: step.kindId,
  deadline: BigInt(step.deadline),
  signals: step.signals.map(BigInt),
  ext: step.extBytes,
  proof: step.compressedProof,
  authorization: step.authorization,
  attestations: step.attestation.signature,
});

/** The deployer's first four contracts stand where the story says; everything else comes from another account. */
describe("vectors: the story on a real pool", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let pool: Contract;
  let executor: Contract;
  let verifiers: Contract[];

  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
    const helper = new NonceManager(Wallet.fromPhrase(DEVELOPMENT_MNEMONIC, provider));
    const deployer = new NonceManager(new Wallet(STORY.keys.deployer, provider));
    await provider.send("anvil_setBalance", [await deployer.getAddress(), toBeHex(10n ** 20n)]);

    const keyed = await deployVerifiers(helper, await readKeys(verificationKeysFolder));
    const placed = async (name: string): Promise<Address> => (await deployContract(helper, name, [])).address;
    const parts = {
      noteHasher: await placed("PoseidonNoteHasher"),
      treeHasher: await placed("TreeHasher"),
      governance: await placed("Governance"),
      recovery: await placed("Recovery"),
      signerRegistry: await placed("SignerRegistry"),
    };
    const venue = await placed("FixedExecutor");
    const assets: Address[] = [];
    for (let i = 0; i < 3; i++) assets.push((await deployTestUsdc(deployer)).address);
    const { usdc, other, middle } = STORY.assets;
    assert.deepEqual(
      assets,
      [usdc, other, middle].map((address) => asAddress(address)),
    );
    const { address } = await deployPoolWithSigners(deployer, {
      signers: [asAddress(new Wallet(STORY.keys.attestationSigner).address)!],
      registrar: helper,
      threshold: 1,
      changeDelay: 1,
      assets,
      executor: venue,
      verifiers: keyed,
      ...parts,
    });
    assert.equal(address, HOME.pool);

    pool = new Contract(address, POOL_ABI, helper);
    executor = await contractAt("FixedExecutor", venue, helper);
    verifiers = await Promise.all(
      Object.values(keyed).map((verifier) => contractAt("Groth16Verifier", verifier, helper)),
    );
    const [usdcToken, otherToken] = await Promise.all(
      assets.map((asset) => contractAt("TestUSDC", asset, helper)),
    );
    await sent(usdcToken!, "mint", new Wallet(STORY.keys.depositor).address, 3_000_000n);
    await sent(otherToken!, "mint", venue, 10n ** 9n);
  });

  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  const contractAt = async (name: string, address: Address, runner: NonceManager): Promise<Contract> =>
    new Contract(address, (await loadArtifact(name)).abi, runner);

  const sent = async (contract: Contract, name: string, ...args: unknown[]): Promise<Log[]> => {
    const receipt = await (await contract.getFunction(name)(...args)).wait();
    return (receipt.logs as RawLog[]).flatMap((log) => {
      const parsed = log.address.toLowerCase() === HOME.pool ? pool.interface.parseLog(log) : null;
      const { topics, data } = log;
      return parsed === null ? [] : [{ name: parsed.name, args: parsed.args, topics: [...topics], data }];
    });
  };

  it("has the story's domain", async () => {
    assert.equal(await pool.getFunction("domainSeparator")(), STORY.domainSeparator);
  });

  for (const [at, step] of STORY.steps.entries()) {
    if (step === FIRST_REFUSED) for (const refusal of REFUSALS) refuses(refusal);
    if (step.step === "root update") {
      it(`takes root update ${String(at)}`, () => grows(step));
    } else {
      it(`executes ${step.name}`, () => happens(step));
    }
  }

  // Told when the changed statements could still be executed, so that the change is the only fault.
  function refuses(refusal: Refusal): void {
    it(`refuses ${refusal.name}: ${refusal.error}`, async () => {
      const { of, signals, extBytes } = refused(refusal);
      const logs = await sent(pool, "execute", [{ ...transactionOf(of), signals, ext: extBytes }], NO_UPDATE);
      assert.deepEqual(
        logs.map(({ name }) => name),
        ["Rejected"],
      );
      assert.equal(errorName(pool.interface, String(logs[0]?.args["reason"])), refusal.error);
    });
  }

  const happens = async (step: StatementStep): Promise<void> => {
    if (step.hashed !== undefined) await sent(executor, "setPayout", BigInt(step.hashed.value));
    const logs = await sent(pool, "execute", [transactionOf(step)], NO_UPDATE);
    const [executed, hashed] = logs;
    assert.equal(
      executed?.name,
      "Executed",
      JSON.stringify(logs, (_, each: unknown) => String(each)),
    );
    assert.deepEqual({ topics: executed.topics, data: executed.data }, step.executed);
    assert.equal(hashed?.name, step.hashed === undefined ? undefined : "NoteHashed");
    if (step.hashed !== undefined) {
      assert.equal(String(hashed?.args["commitment"]), step.hashed.commitment);
      assert.equal(String(hashed?.args["npk"]), step.hashed.npk);
      assert.equal(String(hashed?.args["value"]), step.hashed.value);
      assert.equal(hashed?.args["leafIndex"], BigInt(step.hashed.leafIndex));
    }
    const [leafCount, head] = (await pool.getFunction("queue")()) as [bigint, string];
    assert.deepEqual({ leafCount: Number(leafCount), head }, step.queueAfter);
  };

  const grows = async ({ attestation }: RootStep): Promise<void> => {
    const update = { ...attestation.message, attestations: attestation.signature };
    const logs = await sent(pool, "execute", [], update);
    assert.deepEqual(
      logs.map(({ name }) => name),
      ["RootUpdated"],
    );
    const [root] = (await pool.getFunction("currentRoot")()) as [bigint];
    assert.equal(String(root), attestation.message["newRoot"]);
  };

  for (const name of ["a deposit", "a withdrawal", "a payment of many notes", "a swap through two pools"]) {
    it(`verifies the proof of ${name} on chain, under the hash that the story gives the key`, async () => {
      const step = statementCalled(name);
      const verifier = verifiers[step.kindId - 1];
      assert.ok(verifier !== undefined);
      const words = Array.from({ length: 8 }, (_, i) =>
        BigInt(`0x${step.proof.slice(2 + 64 * i, 66 + 64 * i)}`),
      );
      const signals = step.signals.map(BigInt);
      const verify = verifier.getFunction("verify");
      assert.equal(await verify(words, signals), true);
      assert.equal(await verify(words, signals.with(0, (signals[0] ?? 0n) ^ 1n)), false);
      const { verifyingKeyHash } = step.attestation.message;
      assert.equal(await verifier.getFunction("verifyingKeyHash")(), verifyingKeyHash);
      assert.equal(await pool.getFunction("verifyingKeyHash")(step.kindId), verifyingKeyHash);
    });
  }
});

interface Log {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly topics: readonly string[];
  readonly data: string;
}

interface RawLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

function errorName(contract: Interface, reason: string): string | undefined {
  return contract.parseError(reason)?.name;
}
