/**
 * What a file of evidence says, so that somebody who did not watch can check it with other tools, and show the pool what is
 * false: the signed words as EIP-712 data, the proof, where it was said, and the refutation ready to be sent. All of it
 * stood on the chain; nothing of the watcher's own (node, keys, folders) is in it.
 */
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { kindById, type Home } from "../../shared/protocol/statements.ts";
import type { WatchedPool } from "./case.ts";
import type { Evidence, FalseRoot, FalseStatement } from "./evidence.ts";
import { CODES, jsonOf, type Finding } from "./findings.ts";
import { wordsOf } from "./groth16.ts";
import type { ChainTransaction, Header, Log } from "./node.ts";

type Pins = Pick<WatchedPool, "home" | "keyHashes">;

/** Where it was said, as far as the node still has it. */
export interface Scene {
  readonly block: Header | undefined;
  readonly transaction: ChainTransaction | undefined;
  readonly logs: readonly Log[] | undefined;
}

/** What anybody may send, from any account, with no value. */
export interface Refutation {
  readonly to: string;
  readonly data: string;
}

type Json = Readonly<Record<string, unknown>>;

const FORMAT = "cloister-evidence-1";

export function evidenceJson(
  pins: Pins,
  finding: Finding,
  { block, transaction, logs }: Scene,
  behind: { readonly evidence: Evidence; readonly refutation: Refutation } | undefined,
): Json {
  const { chainId, pool } = pins.home;
  return {
    ...{ format: FORMAT, chain_id: String(chainId), pool },
    finding: { ...jsonOf(finding), meaning: CODES[finding.code] },
    block: block === undefined ? null : { number: block.number, hash: block.hash, time: block.timestamp },
    transaction:
      transaction === undefined
        ? null
        : {
            ...{ hash: transaction.hash, to: transaction.to ?? null, input: transaction.input },
            logs: (logs ?? []).map(({ address, topics, data, logIndex }) => ({
              ...{ log_index: logIndex, address, topics, data },
            })),
          },
    ...(behind === undefined ? {} : signedJson(pins, behind.evidence)),
    refutation: behind?.refutation ?? null,
  };
}

/** The same finding, after the roots around its leaves have changed. */
export function laterJson({ home }: Pins, of: string, refutation: Refutation): Json {
  return { format: FORMAT, chain_id: String(home.chainId), pool: home.pool, of, refutation };
}

function signedJson(pins: Pins, evidence: Evidence): Json {
  return evidence.type === "statement" ? statementJson(pins, evidence) : rootJson(pins, evidence);
}

function statementJson({ home, keyHashes }: Pins, evidence: FalseStatement): Json {
  const { kindId, deadline, signals, extHash, proof, statement, attestations, firstLeaf } = evidence;
  const kind = kindById(kindId)!;
  const message = {
    ...{ kind: kindId, verifyingKeyHash: keyHashes[kind], statementHash: statement },
    ...{ proofHash: keccakHex(mustFromHex(proof)), deadline },
  };
  return {
    signed: signedData(home, evidence, "Attestation", ATTESTATION, message, attestations),
    statement: {
      ...{ kind, kind_id: kindId, deadline, signals, ext_hash: extHash, proof },
      // Where the bytes stand for no points, that is the fault.
      proof_words: wordsOf(mustFromHex(proof))?.map(String) ?? null,
      first_leaf: firstLeaf ?? null,
    },
  };
}

function rootJson({ home }: Pins, evidence: FalseRoot): Json {
  const { attestations, ...message } = evidence.update;
  return {
    signed: signedData(home, evidence, "RootUpdate", ROOT_UPDATE, message, attestations),
    tree: { frontier: evidence.frontier, leaves: evidence.leaves },
  };
}

type Fields = readonly (readonly [type: string, name: string])[];

/** The fields of SPEC.md, section 8. */
const DOMAIN: Fields = [
  ["string", "name"],
  ["string", "version"],
  ["uint256", "chainId"],
  ["address", "verifyingContract"],
];
const ATTESTATION: Fields = [
  ["uint8", "kind"],
  ["bytes32", "verifyingKeyHash"],
  ["bytes32", "statementHash"],
  ["bytes32", "proofHash"],
  ["uint64", "deadline"],
];
const ROOT_UPDATE: Fields = [
  ["uint256", "oldRoot"],
  ["uint256", "newRoot"],
  ["uint64", "fromIndex"],
  ["uint64", "toIndex"],
  ["bytes32", "headBefore"],
  ["bytes32", "headAfter"],
];

/** As `eth_signTypedData_v4` takes it, and who put which signatures under it. */
function signedData(
  { chainId, pool }: Home,
  { digest, signers }: Evidence,
  primaryType: string,
  fields: Fields,
  message: Json,
  attestations: string,
): Json {
  const typed = (list: Fields) => list.map(([type, name]) => ({ name, type }));
  return {
    ...{ digest, signers, attestations },
    typed_data: {
      domain: { name: "Cloister", version: "1", chainId: String(chainId), verifyingContract: pool },
      types: { EIP712Domain: typed(DOMAIN), [primaryType]: typed(fields) },
      ...{ primaryType, message },
    },
  };
}
