/**
 * Executes transactions with the chain's real runtime and programs (litesvm) and keeps, for each, what its accounts
 * were before. With these an older state can be shown, and a reorganisation put back. Development only.
 */
import { getTokenDecoder, TOKEN_PROGRAM_ADDRESS } from "@solana-program/token";
import {
  getCompiledTransactionMessageDecoder,
  lamports,
  type Address,
  type EncodedAccount,
  type LegacyCompiledTransactionMessage,
  type Transaction,
  type V0CompiledTransactionMessage,
} from "@solana/kit";
import { Clock, FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from "litesvm";
import { failureOf, type TransactionFailure } from "./failures.ts";

export type Message = (LegacyCompiledTransactionMessage | V0CompiledTransactionMessage) & {
  readonly lifetimeToken: string;
};

export interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
}

export interface InnerInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
  readonly stackHeight: number;
}

/** What the runtime said of a transaction that got into a block, even if it failed there. */
export interface Execution {
  readonly failure: TransactionFailure | null;
  readonly fee: bigint;
  readonly computeUnits: bigint;
  readonly logs: readonly string[];
  readonly inner: readonly { readonly index: number; readonly instructions: readonly InnerInstruction[] }[];
  readonly lamports: { readonly before: readonly bigint[]; readonly after: readonly bigint[] };
  readonly tokens: { readonly before: readonly TokenBalance[]; readonly after: readonly TokenBalance[] };
  /** Accounts that it may have written, as they were; undefined where none was. */
  readonly undo: ReadonlyMap<Address, EncodedAccount | undefined>;
}

export type Attempt =
  | { readonly state: "landed"; readonly execution: Execution }
  /** Nobody was charged, so no block has it. */
  | { readonly state: "refused"; readonly failure: TransactionFailure; readonly logs: readonly string[] };

export interface Simulation {
  readonly failure: TransactionFailure | null;
  readonly logs: readonly string[];
  readonly computeUnits: bigint;
}

export const SYSTEM_PROGRAM = "11111111111111111111111111111111" as Address;

export class Bank {
  readonly #svm: LiteSVM;

  constructor(genesis: readonly EncodedAccount[]) {
    // The ledger knows which block hashes are recent and which signatures were seen; the runtime knows one hash only.
    this.#svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
    for (const account of genesis) this.#svm.setAccount(account);
  }

  setClock(slot: bigint, timeSecs: bigint): void {
    this.#svm.setClock(new Clock(slot, 0n, 0n, 0n, timeSecs));
  }

  account(address: Address): EncodedAccount | undefined {
    const found = this.#svm.getAccount(address);
    // An account without coins is none.
    return found.exists && found.lamports > 0n ? found : undefined;
  }

  rentExempt(space: bigint): bigint {
    return this.#svm.minimumBalanceForRentExemption(space);
  }

  execute(transaction: Transaction, message: Message): Attempt {
    const accounts = message.staticAccounts;
    const before = accounts.map((address) => this.account(address));
    const said = this.#svm.sendTransaction(transaction);
    const after = accounts.map((address) => this.account(address));
    const failure = said instanceof FailedTransactionMetadata ? failureOf(said) : null;
    const meta = said instanceof FailedTransactionMetadata ? said.meta() : said;
    const wasCharged = (after[0]?.lamports ?? 0n) !== (before[0]?.lamports ?? 0n);
    if (failure !== null && !wasCharged) return { state: "refused", failure, logs: meta.logs() };
    return {
      state: "landed",
      execution: {
        failure,
        fee: feeIn(said),
        ...measured(meta),
        lamports: { before: before.map(coins), after: after.map(coins) },
        tokens: { before: tokensIn(before), after: tokensIn(after) },
        undo: new Map(accounts.map((address, at) => [address, before[at]])),
      },
    };
  }

  /** As `execute`, and nothing is changed. */
  simulate(transaction: Transaction, { verify }: { readonly verify: boolean }): Simulation {
    this.#svm.withSigverify(verify);
    try {
      const said = this.#svm.simulateTransaction(transaction);
      const { logs, computeUnits } = measured(said.meta());
      const failure = said instanceof FailedTransactionMetadata ? failureOf(said) : null;
      return { failure, logs, computeUnits };
    } finally {
      this.#svm.withSigverify(true);
    }
  }

  undo(execution: Execution): void {
    for (const [address, account] of execution.undo) {
      const gone = { lamports: lamports(0n), data: new Uint8Array(), executable: false, space: 0n };
      this.#svm.setAccount(account ?? { ...gone, address, programAddress: SYSTEM_PROGRAM });
    }
  }
}

export const FEE_A_SIGNATURE = 5000n;

/** Undefined for what this chain's node cannot take: a version that is too new, or tables of addresses. */
export function messageOf(transaction: Transaction): Message | undefined {
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (message.version === 1) return undefined;
  if (message.version === 0 && (message.addressTableLookups?.length ?? 0) > 0) return undefined;
  return message;
}

/** litesvm gives the fee in its text only. */
function feeIn(said: TransactionMetadata | FailedTransactionMetadata): bigint {
  return BigInt(/fee: (\d+)[ })]*$/.exec(said.toString())?.[1] ?? "0");
}

function measured(meta: TransactionMetadata): Pick<Execution, "computeUnits" | "logs" | "inner"> {
  const inner = meta.innerInstructions().map((instructions, index) => ({
    index,
    instructions: instructions.map((made) => ({
      programIdIndex: made.instruction().programIdIndex(),
      accounts: [...made.instruction().accounts()],
      data: made.instruction().data(),
      stackHeight: made.stackHeight(),
    })),
  }));
  return {
    computeUnits: meta.computeUnitsConsumed(),
    logs: meta.logs(),
    inner: inner.filter(({ instructions }) => instructions.length > 0),
  };
}

function coins(account: EncodedAccount | undefined): bigint {
  return account?.lamports ?? 0n;
}

const TOKEN_ACCOUNT_SPACE = 165;

/** Undefined for everything that is no account of the token program. */
export function tokenAccount(account: EncodedAccount | undefined) {
  if (account?.programAddress !== TOKEN_PROGRAM_ADDRESS || account.data.length !== TOKEN_ACCOUNT_SPACE)
    return undefined;
  return getTokenDecoder().decode(account.data);
}

function tokensIn(accounts: readonly (EncodedAccount | undefined)[]): TokenBalance[] {
  return accounts.flatMap((account, accountIndex) => {
    const token = tokenAccount(account);
    return token === undefined
      ? []
      : [{ accountIndex, mint: token.mint, owner: token.owner, amount: token.amount }];
  });
}
