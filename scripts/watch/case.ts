/** A transaction of a block and all that is needed to judge it, and how a judgement is spoken. */
import type { LogDescription } from "ethers";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import type { Home, Kind } from "../../shared/protocol/statements.ts";
import type { Handed } from "./calls.ts";
import { Contradiction, type Code } from "./findings.ts";
import type { ProofVerifier } from "./groth16.ts";
import type { Ledger } from "./ledger.ts";
import type { Header, Log } from "./node.ts";

/** What never changes of a pool. */
export interface WatchedPool {
  readonly home: Home;
  readonly threshold: number;
  /** Seconds that a root must be old before a proof may use it. */
  readonly provedDelay: number;
  readonly keyHashes: Readonly<Record<Kind, Bytes32>>;
  /** SHA-256 of the root under which documents register signers. */
  readonly attestationRoot: Bytes32;
  readonly maxDocumentAgeSecs: number;
}

export interface SeenTransaction {
  readonly hash: Bytes32;
  /** All that it logged, whoever wrote it, in order. */
  readonly logs: readonly Log[];
  /** A text says why it is not known. */
  readonly handed: readonly Handed[] | string;
}

/** One thing the pool said. */
export interface Said {
  readonly log: Log;
  readonly event: LogDescription;
}

export interface Named {
  readonly statement?: Bytes32;
  /** Undefined for what is no signature. */
  readonly signers?: readonly (Address | undefined)[];
  /** Of what they signed, where that is false. */
  readonly digest?: Bytes32;
}

export interface CaseParts {
  readonly ledger: Ledger;
  readonly pool: WatchedPool;
  readonly verifier: ProofVerifier;
  readonly header: Header;
  readonly transaction: SeenTransaction;
}

export class Case {
  readonly ledger: Ledger;
  readonly pool: WatchedPool;
  readonly verifier: ProofVerifier;
  readonly header: Header;
  readonly transaction: SeenTransaction;

  constructor({ ledger, pool, verifier, header, transaction }: CaseParts) {
    this.ledger = ledger;
    this.pool = pool;
    this.verifier = verifier;
    this.header = header;
    this.transaction = transaction;
  }

  report(code: Code, detail: string, { signers, ...rest }: Named = {}): void {
    const named = signers?.filter((signer) => signer !== undefined);
    this.ledger.report({
      ...this.#place(),
      code,
      ...rest,
      ...(named === undefined ? {} : { signers: named }),
      detail,
    });
  }

  /** What the node says cannot be. */
  contradict(detail: string, code: Code = "LOG_CONTRADICTION"): never {
    throw new Contradiction({ code, ...this.#place(), detail });
  }

  #place(): { readonly block: number; readonly txHash: Bytes32 } {
    return { block: this.header.number, txHash: this.transaction.hash };
  }
}
