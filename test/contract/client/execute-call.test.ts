// What the client writes for the pool is what the proxy's own encoder writes and what the pool's ABI reads back.
import { Interface } from "ethers";
import assert from "node:assert/strict";
import { Pool } from "../../../proxy/base/chain/pool.ts";
import { executeCall, outcomeOf } from "../../../shared/client/statements/execute-call.ts";
import { prepareDeposit } from "../../../shared/client/statements/statements.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { compressProof } from "../../../shared/protocol/proof.ts";
import { parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { CHAIN_ID, POOL, USDC } from "./chain.ts";
import { standInProver } from "./stand-in.ts";
import { executedLog } from "../../support/oracle.ts";

const POOL_INTERFACE = new Interface(POOL_ABI);
const { statement, witness } = prepareDeposit({
  ...{
    home: { chainId: BigInt(CHAIN_ID), pool: POOL },
    keys: SpendingKey.fromSeed(new Uint8Array(32).fill(1)),
  },
  ...{ asset: USDC, amount: 5n, depositor: USDC, deadline: 99, validAfter: 0, validBefore: 100 },
  fees: { service: undefined, developer: undefined, total: 0n },
});
const signed = (byte: string) => ({
  signer: `0x${byte.repeat(20)}` as Address,
  signature: `0x${byte.repeat(65)}`,
});

const sealed = {
  ephemeralKey: `0x${"11".repeat(32)}`,
  ciphertexts: [1, 2, 3].map(() => `0x${"22".repeat(53)}`),
};

describe("execute as the client writes it", () => {
  it("is byte for byte what the proxy's encoder makes of the same", async () => {
    const proof = parseSnarkjsProof(await standInProver.prove(statement, witness))!;
    const attestations = [signed("dd"), signed("aa"), signed("Cc")];
    const { hash, kind, deadline, signals, extBytes } = statement;
    const theirs = new Pool({ chainId: BigInt(CHAIN_ID) } as ConstructorParameters<typeof Pool>[0], POOL);
    const expected = theirs.encodeExecute([
      {
        ...{ statement: hash, kind, deadline, signals, ext: extBytes, proof: compressProof(proof) },
        authorization: new Uint8Array(0),
        attestations: attestations.map(({ signer, signature }) => ({
          signer: signer.toLowerCase() as Address,
          signature: mustFromHex(signature),
        })),
      },
    ]);
    const written = executeCall(statement, proof, attestations);
    assert.equal(written, expected);
    const [[member]] = POOL_INTERFACE.decodeFunctionData("execute", expected) as unknown as [unknown[][]];
    assert.equal(member?.[3], toHex(statement.extBytes));
    assert.equal(executeCall(statement, proof, [{ ...signed("aa"), signature: "0x12" }]), undefined);
  });

  it("reads the outcome from the pool's own log of this statement, and from no other", () => {
    const executed = (hash: string, address: string = POOL) => ({
      address,
      ...executedLog({
        ...{ statementHash: hash, kindId: 1, firstLeafIndex: 0, proofHash: hash, nullifiers: [] },
        ...{ commitments: [1n, 2n, 3n], ...sealed, moved: { asset: USDC, amount: 1n, party: USDC } },
      }),
    });
    const rejected = (reason: string) => ({
      ...{ address: POOL, ...POOL_INTERFACE.encodeEventLog("Rejected", [statement.hash, reason]) },
    });
    const outcome = (...logs: ReturnType<typeof executed>[]): string =>
      outcomeOf({ status: 1, logs }, statement);
    assert.equal(outcome(executed(statement.hash)), "executed");
    assert.equal(
      outcome(rejected(POOL_INTERFACE.encodeErrorResult("DeadlinePassed", [5n]))),
      "DeadlinePassed",
    );
    assert.equal(outcome(rejected("0x12345678")), "rejected");
    const [cut] = [executed(statement.hash)].map((log) => ({ ...log, data: log.data.slice(0, -2) }));
    assert.equal(outcome(cut!), "not in this transaction", "words that the pool does not write");
    for (const other of [[executed(`0x${"12".repeat(32)}`)], [executed(statement.hash, USDC)], []])
      assert.equal(outcome(...other), "not in this transaction");
    assert.equal(outcomeOf({ status: 0, logs: [executed(statement.hash)] }, statement), "reverted");
  });
});
