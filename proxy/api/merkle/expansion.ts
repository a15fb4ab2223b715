/**
 * The pool's logs, in order, as the events they carry. The last leaf of a swap is spread over two logs: its
 * ciphertext comes with the statement, its commitment with the note that the pool made afterwards. A node that
 * leaves out one of the two is not believed, nor one that voids leaves of a statement that it never showed. A credited
 * note belongs to no statement: its one log says all of it.
 */
import type { Pool } from "../../base/chain/pool.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { RawLog } from "../../base/chain/provider.ts";
import type { ChainDataStore, ChainEvent, LoggedEvent, SealedOutput } from "../../base/store/chain-data.ts";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import { KINDS, type Kind } from "../../../shared/protocol/statements.ts";

type Leaf = Extract<ChainEvent, { kind: "leaf" }>;
type Executed = Extract<ChainEvent, { kind: "executed" }>;

const SOURCES: Readonly<Record<Kind, Leaf["source"]>> = {
  "deposit-shield": "deposit",
  spend: "spend",
  spend9: "spend",
  "private-swap": "swap",
};

/** A leaf whose commitment the pool is about to tell. */
interface Owed {
  readonly statement: Bytes32;
  readonly txHash: Bytes32;
  readonly index: number;
  readonly sealed: SealedOutput;
}

/** @param madeAt the statement whose leaves begin there, of those before the first log that is taken */
export class Expansion {
  readonly #pool: Pick<Pool, "parseLog">;
  readonly #madeAt: ChainDataStore["madeAt"];
  #owed: Owed | undefined;
  /** What is said next is executed as this. */
  #confirmed: { readonly statement: Bytes32; readonly earlier: Bytes32 } | undefined;
  readonly #made = new Map<number, Executed>();

  constructor(pool: Pick<Pool, "parseLog">, madeAt: ChainDataStore["madeAt"]) {
    this.#pool = pool;
    this.#madeAt = madeAt;
  }

  /** The next log. Throws ChainUnreachable when it does not follow the ones before. */
  take(log: RawLog): LoggedEvent[] {
    return this.#eventsOf(log).map((event, part) => ({
      position: { block: log.blockNumber, logIndex: log.logIndex, part },
      blockHash: log.blockHash,
      txHash: log.txHash,
      event,
    }));
  }

  /** After the last log of whole blocks. Throws ChainUnreachable when something is still owed. */
  done(): void {
    if (this.#owed !== undefined) throw new ChainUnreachable("the node left out the note that a swap made");
  }

  #eventsOf(log: RawLog): ChainEvent[] {
    const parsed = this.#pool.parseLog(log);
    switch (parsed?.kind) {
      case "executed": {
        this.done();
        const { executed } = parsed;
        const { statement, firstLeafIndex, nullifiers, commitments, proofHash } = executed;
        const confirms = this.#confirmed?.statement === statement ? this.#confirmed.earlier : undefined;
        this.#confirmed = undefined;
        const { leaves } = KINDS[executed.kind];
        const sealedOf = (output: number): SealedOutput => {
          const { ephemeralKey, ciphertexts } = executed;
          return { ephemeralKey, output, ciphertext: ciphertexts[output]! };
        };
        if (commitments.length < leaves) {
          const i = commitments.length;
          this.#owed = { statement, txHash: log.txHash, index: firstLeafIndex + i, sealed: sealedOf(i) };
        }
        const entry: Executed = {
          ...{ kind: "executed", statement, firstLeafIndex, leafCount: leaves, nullifiers, proofHash },
          ...(confirms === undefined ? {} : { confirms }),
        };
        this.#made.set(firstLeafIndex, entry);
        return [
          entry,
          ...nullifiers.map((nullifier) => ({ kind: "nullifier" as const, nullifier })),
          ...commitments.map((commitment, i) => ({
            kind: "leaf" as const,
            index: firstLeafIndex + i,
            commitment,
            sealed: sealedOf(i),
            source: SOURCES[executed.kind],
            isLast: i === leaves - 1,
          })),
        ];
      }
      case "note-hashed": {
        const { statement, leafIndex, commitment, npk, asset, value } = parsed;
        if (
          this.#owed?.statement !== statement ||
          this.#owed.txHash !== log.txHash ||
          this.#owed.index !== leafIndex
        ) {
          throw new ChainUnreachable("the node left out the swap that a note came from");
        }
        const { sealed } = this.#owed;
        this.#owed = undefined;
        const opening = { npk, asset, value };
        return [
          { kind: "leaf", index: leafIndex, commitment, sealed, source: "swap", isLast: true, opening },
        ];
      }
      case "credited": {
        this.done();
        const { leafIndex, commitment, npk, asset, value, ephemeralKey, ciphertext } = parsed;
        const sealed: SealedOutput = { ephemeralKey, output: 0, ciphertext };
        const opening = { npk, asset, value };
        return [
          { kind: "leaf", index: leafIndex, commitment, sealed, source: "forwarder", isLast: true, opening },
        ];
      }
      case "rejected":
        return [{ kind: "rejected", statement: parsed.statement, reason: parsed.reason }];
      case "root": {
        const { root, leafCount, sequence } = parsed;
        return [{ kind: "root", root, leafCount, sequence }];
      }
      case "voided": {
        const { statement, firstLeafIndex, leafCount } = parsed;
        const executed = this.#made.get(firstLeafIndex) ?? this.#madeAt(firstLeafIndex);
        if (executed?.statement !== statement || executed.leafCount !== leafCount)
          throw new ChainUnreachable("the node left out the statement that was refuted");
        // Of one that confirmed another they are that one's again.
        const nullifiers = executed.confirms === undefined ? executed.nullifiers : [];
        return [{ kind: "voided", statement, firstLeafIndex, leafCount, nullifiers }];
      }
      case "suspended": {
        const { firstLeafIndex, leafCount } = parsed;
        const executed = this.#made.get(firstLeafIndex) ?? this.#madeAt(firstLeafIndex);
        if (executed?.leafCount !== leafCount)
          throw new ChainUnreachable("the node left out the statement that is suspended");
        const { statement } = executed;
        return [{ kind: "voided", statement, firstLeafIndex, leafCount, nullifiers: [], isSuspension: true }];
      }
      case "confirmed":
        this.#confirmed = parsed;
        return [];
      case "revoked":
        return [parsed];
      case "root-skipped":
      case undefined:
        return [];
    }
  }
}
