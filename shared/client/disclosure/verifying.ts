/**
 * Reads a disclosure against the chain, without any service: the pool's own log must have the leaf, the terms must give it,
 * and the proof must be of somebody who has the payer's or the payee's secret. The chain is what the reader's nodes say.
 */
// Loaded later: where a bundler shares schemas with the first load, this stands before them there, too.
import { encodeShieldedAddress } from "../../notes/address.ts";
import { readDisclosedSecret } from "../../notes/disclosed-secret.ts";
import { sharedBlinding } from "../../notes/encryption.ts";
import { noteCommitment } from "../../notes/note.ts";
import { EXECUTED_TOPIC, readExecuted, type Executed } from "../../protocol/host/executed-log.ts";
import { createJsonRpc } from "../chain/json-rpc.ts";
import { Nodes, type Block, type PoolLog } from "../chain/nodes.ts";
import { LEAVES_VOIDED, readEntry } from "../chain/pool-log.ts";
import { PoolView } from "../chain/pool-view.ts";
import { ClientError } from "../base/errors.ts";
import { homeOf } from "../base/pins.ts";
import { invalid, provedMessage, readDisclosure, type Claim } from "./codec.ts";
import { MOST_VALID_SECS, type DisclosedPayment, type VerifyDisclosureOptions } from "./disclosure.ts";
import type { SecretProof } from "../../notes/disclosed-secret.ts";

const CONFIRMATIONS = 12;

export async function verify(text: string, options: VerifyDisclosureOptions): Promise<DisclosedPayment> {
  const { claim, proof } = readDisclosure(text);
  requireMeant(claim, options);
  const { pins, rpc, fetch, signal, finality = CONFIRMATIONS } = options;
  const all = (typeof rpc === "string" ? [rpc] : rpc).map((url) => createJsonRpc(url, { fetch }));
  const nodes = new Nodes(all, pins.chainId);
  const newest = await nodes.newest(finality, signal);
  if (claim.block > newest.number) throw unfounded("its block is not deep enough yet");
  const { executed, log } = await statementOf(claim, nodes, signal);
  requireProved(claim, proof, executed);
  await requireStanding(claim, nodes, newest, signal);
  const block = await nodes.block(claim.block, signal);
  if (block.hash !== log.blockHash) throw unfounded("its block was reorganised out");
  return {
    by: claim.by,
    recipient: encodeShieldedAddress(claim.to, pins.addressPrefix),
    ...{ asset: claim.asset, amount: claim.value, block: claim.block, time: block.timestamp },
    ...{ txHash: log.txHash, statement: executed.statement, leaf: claim.leafIndex },
    ...{ reader: claim.reader, expiresAt: claim.expiresAt },
  };
}

/** Before any node is asked. */
function requireMeant(claim: Claim, { pins, reader, now }: VerifyDisclosureOptions): void {
  const home = homeOf(pins);
  if (claim.home.chainId !== home.chainId || claim.home.pool !== home.pool)
    throw new ClientError("DISCLOSURE_ELSEWHERE");
  if (claim.reader !== reader) throw new ClientError("DISCLOSURE_NOT_FOR_YOU");
  const time = now?.() ?? Math.floor(Date.now() / 1000);
  if (claim.expiresAt < time) throw new ClientError("DISCLOSURE_EXPIRED");
  if (claim.expiresAt > time + MOST_VALID_SECS) throw invalid("it would be good for more than a year");
}

/** Of a private payment: what else makes leaves, the chain shows by itself. */
async function statementOf(
  { home, block, leafIndex }: Claim,
  nodes: Nodes,
  signal: AbortSignal | undefined,
): Promise<{ readonly executed: Executed; readonly log: PoolLog }> {
  const topics = [EXECUTED_TOPIC];
  for await (const { logs } of nodes.logs(home.pool, block, block, { topics, signal }))
    for (const log of logs) {
      const executed = readExecuted(log);
      if (executed === undefined || !["spend", "spend9"].includes(executed.kind)) continue;
      if (executed.commitments[leafIndex - executed.firstLeafIndex] !== undefined) return { executed, log };
    }
  throw unfounded("no private payment of that block has that leaf");
}

function requireProved(claim: Claim, proof: SecretProof, executed: Executed): void {
  const { by, to, asset, value, leafIndex } = claim;
  const { ephemeralKey, commitments, firstLeafIndex } = executed;
  const output = leafIndex - firstLeafIndex;
  const commitment = commitments[output]!;
  const message = provedMessage(claim, { commitment, ephemeralKey, output });
  const [own, other] = by === "payer" ? [ephemeralKey, to.viewingKey] : [to.viewingKey, ephemeralKey];
  const shared = readDisclosedSecret(own, other, proof, message);
  if (shared === undefined) throw invalid(`not by the ${by}, or changed`);
  const blinding = sharedBlinding(shared, ephemeralKey, to.viewingKey, output);
  if (noteCommitment(to.owner, { asset, value, blinding }) !== commitment)
    throw invalid("the leaf is another payment");
}

/** Neither refuted nor outside of the tree, as of the newest block that counts. */
async function requireStanding(
  { home, block, leafIndex }: Claim,
  nodes: Nodes,
  newest: Block,
  signal: AbortSignal | undefined,
): Promise<void> {
  const topics = [LEAVES_VOIDED];
  for await (const { logs } of nodes.logs(home.pool, block, newest.number, { topics, signal }))
    for (const log of logs) {
      const entry = readEntry(log);
      if (entry?.type !== "voided") throw unfounded("a node gives other logs than it was asked for");
      if (entry.first <= leafIndex && leafIndex < entry.first + entry.count)
        throw unfounded("the payment was refuted");
    }
  const { leafCount } = await new PoolView(nodes, home, newest.number, signal).currentRoot();
  if (leafIndex >= leafCount) throw unfounded("no root of the pool covers it yet");
}

function unfounded(detail: string): ClientError {
  return new ClientError("DISCLOSURE_UNFOUNDED", detail);
}
