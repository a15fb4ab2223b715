// What the pool says of the service's enclaves, asked of a node that stumbles, lags or lies.
import assert from "node:assert/strict";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { hasCode } from "../../../shared/client/base/errors.ts";
import { createJsonRpc } from "../../../shared/client/chain/json-rpc.ts";
import { Nodes } from "../../../shared/client/chain/nodes.ts";
import type { Prover } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { readRegistrations, requireRegistered } from "../../../shared/client/service/registrations.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { LonePool } from "../../support/lone-pool.ts";
import { leavingOutOnce, startBentNode, type BentNode } from "../watch/bent-node.ts";

const REGISTERED = keccakHex(
  new TextEncoder().encode("SignerRegistered(address,bytes32,uint8,bytes32,bytes32,bytes)"),
);

describe("client: what the pool says of the enclaves", () => {
  let prover: Prover;
  let lone: LonePool;
  let node: BentNode;
  const { address: signer } = attester(1);

  before(async () => {
    prover = await developmentProver();
    lone = await LonePool.start(prover);
    node = await startBentNode(lone.anvil.url);
  });
  afterEach(() => node.straighten());
  after(async () => {
    await node.close();
    await lone.stop();
    await prover.close();
  });

  function question() {
    const { pool, block: fromBlock } = lone;
    const nodes = new Nodes([createJsonRpc(node.url)], lone.anvil.chainId);
    return { nodes, home: { chainId: BigInt(lone.anvil.chainId), pool }, fromBlock };
  }
  const ask = (): Promise<void> => requireRegistered([{ signer, measurement: undefined }], question());
  const refusing = (times: number) => {
    return (answer: unknown): unknown => {
      if (times-- > 0) throw new Error("missing trie node");
      return answer;
    };
  };

  it("a refusal is one answer's: it is asked again; a node that refuses every time has its code", async () => {
    node.bend("eth_call", refusing(1));
    await ask();
    node.bend("eth_call", refusing(Infinity));
    await assert.rejects(ask(), (error) => hasCode(error, "NODE_UNREACHABLE"));
  });

  it("a log that it leaves out is looked for again, and found", async () => {
    const [whole] = await readRegistrations([signer], question());
    node.bend("eth_getLogs", leavingOutOnce(REGISTERED));
    assert.deepEqual(await readRegistrations([signer], question()), [whole]);
    node.bend("eth_getLogs", () => []);
    await assert.rejects(readRegistrations([signer], question()), (error) => hasCode(error, "CHAIN_DOUBTED"));
  });
});
