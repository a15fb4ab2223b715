/** The part of a transaction in which one statement was executed, and how what is found in it is said. */
import type { Address, Bytes32, Field } from "../../shared/protocol/brands.ts";
import type { Said } from "./case.ts";
import type { Code } from "./findings.ts";
import type { Between } from "./moved.ts";

/** Where in a transaction's log a statement's own happenings lie. */
export interface Span extends Between {
  readonly note: Said | undefined;
  /** Its money stays here until a window has room. */
  readonly isClaim: boolean;
  /** Of claims that were paid meanwhile, the events. */
  readonly claimsPaid: readonly Said[];
  /** All that the pool said in it. */
  readonly own: readonly Said[];
  /** The suspended statement that it is again, as the pool says. */
  readonly earlier: Bytes32 | undefined;
}

export type Report = (code: Code, detail: string) => void;

export interface HashedNote {
  readonly logIndex: number;
  readonly commitment: Field;
  readonly npk: Field;
  readonly asset: Address;
  readonly value: bigint;
}
