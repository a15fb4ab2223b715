/**
 * Openings of fee notes that were accepted: enough to spend a fee whose ciphertext was garbage. Only the
 * receiver of a note can spend with its opening, but whoever reads this learns which leaves are fees.
 */
import type { Address, Bytes32, Field } from "../../shared/protocol/brands.ts";

export interface FeeNote {
  /** The developer whose sink it pays; undefined: the service's. */
  readonly receiver: string | undefined;
  readonly statement: Bytes32;
  /** Place among the statement's outputs. */
  readonly output: number;
  readonly asset: Address;
  readonly value: bigint;
  readonly blinding: Field;
  readonly npk: Field;
  /** Of the statement, Unix seconds: what is not executed by then never is. */
  readonly deadline: number;
}

export interface FeeNoteStore {
  /** One atomic durable write. What is kept already stays as it is. */
  keep(notes: readonly FeeNote[]): Promise<void>;
  /** In order of acceptance, after the first `skip`. */
  notesOf(receiver: string | undefined, skip: number, limit: number): Promise<readonly FeeNote[]>;
  /** Statements whose deadline is before (Unix seconds) and that are not settled yet, oldest first. */
  unsettled(before: number, limit: number): Promise<readonly Bytes32[]>;
  /** The notes of a statement that was not executed are forgotten; of one that was, they stay permanently. */
  settle(outcomes: readonly { readonly statement: Bytes32; readonly executed: boolean }[]): Promise<void>;
}
