/**
 * Deposits: public money becomes notes of this wallet. Either the depositor signs an EIP-3009 authorization and
 * the service carries it, or, for tokens without that, the depositor's own account approves the pool and sends
 * the attested transaction, which this client writes itself.
 */
import type { AttestResponse } from "../api/transactions.ts";
import { asAddress, type Address, type Bytes32 } from "../protocol/brands.ts";
import { parseSnarkjsProof } from "../protocol/host/proofs.ts";
import type { Statement } from "../protocol/statements.ts";
import { depositAuthorization, signAuthorization, type DepositSigner } from "./authorization.ts";
import { depositBody, plainDepositBody, type WireProof } from "./bodies.ts";
import { requireAmount, type Core } from "./core.ts";
import { ClientError } from "./errors.ts";
import { approveCall, executeCall, outcomeOf } from "./execute-call.ts";
import type { WaitOptions } from "./feed.ts";
import type { Fees } from "./fees.ts";
import { abortable } from "./http.ts";
import { stepper, type CarriedOptions, type Payment, type StatementOptions } from "./payment.ts";
import { requireAddress, tokenDomainOf } from "./pins.ts";
import type { TransactionSender } from "./sender.ts";
import { prepareDeposit, type Prepared } from "./statements.ts";

export interface DepositOptions extends CarriedOptions {
  /** The token, one of the pinned. Default: the first of them. */
  readonly asset?: string;
}

export interface PlainDepositOptions extends StatementOptions {
  /** The token, one of the pinned. Default: the first of them. */
  readonly asset?: string;
  /** `sent` returns as soon as the depositor's account has sent it. Default `confirmed`: mined and seen by this wallet. */
  readonly until?: "sent" | "confirmed";
}

export interface PlainDeposit {
  readonly statement: Bytes32;
  readonly transactionHash: string;
  /** Fee notes together; the depositor pays the chain's gas besides. */
  readonly fees: bigint;
}

export class Depositing {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  async authorized(amount: bigint, signer: DepositSigner, options: DepositOptions): Promise<Payment> {
    const step = stepper(options);
    const { client, pins } = this.#core.parts;
    const { prepared, asset, fees } = await step("prepare", () => this.#prepare(amount, signer, options));
    const { statement } = prepared;
    const token = tokenDomainOf(pins, asset);
    const authorization = await step("sign", () =>
      signAuthorization(signer, depositAuthorization(statement, asset, token)),
    );
    const proof = await step("prove", () => this.#core.prove(prepared));
    const body = depositBody(prepared, proof, authorization);
    const ticket = await step("submit", () => client.sequenceDeposit(body, { signal: options.signal }));
    return this.#core.settle(
      { ticket, statement: statement.hash, fees: fees.total },
      prepared,
      options,
      step,
    );
  }

  async plain(
    amount: bigint,
    sender: TransactionSender,
    options: PlainDepositOptions,
  ): Promise<PlainDeposit> {
    const step = stepper(options);
    const { client, home } = this.#core.parts;
    const { prepared, asset, fees } = await step("prepare", () => this.#prepare(amount, sender, options));
    const { statement } = prepared;
    const proof = await step("prove", () => this.#core.prove(prepared));
    const data = await step("submit", async () =>
      checkedCall(statement, proof, await client.attestDeposit(plainDepositBody(prepared, proof), options)),
    );
    const from = { value: 0n, chainId: Number(home.chainId) };
    await step("approve", async () => {
      const approval = await sender.sendTransaction({
        ...from,
        to: asset,
        data: approveCall(home.pool, amount),
      });
      // The deposit needs it mined: a wallet estimates gas on the chain as it stands.
      const receipt = await within(approval.wait(), options);
      if (receipt?.status !== 1) throw new ClientError("DEPOSIT_NOT_EXECUTED", "the approval failed");
    });
    options.signal?.throwIfAborted();
    const sent = await step("send", () => sender.sendTransaction({ ...from, to: home.pool, data }));
    const made = { statement: statement.hash, transactionHash: sent.hash, fees: fees.total };
    if (options.until === "sent") return made;
    await step("confirm", async () => {
      const receipt = await within(sent.wait(), options);
      const outcome = receipt === null ? "no receipt" : outcomeOf(receipt, statement);
      if (outcome !== "executed") throw new ClientError("DEPOSIT_NOT_EXECUTED", outcome);
    });
    await step("deliver", () => this.#core.delivered(prepared, options));
    return made;
  }

  async #prepare(
    amount: bigint,
    from: { getAddress(): Promise<string> },
    options: DepositOptions | PlainDepositOptions,
  ): Promise<{ prepared: Prepared; asset: Address; fees: Fees }> {
    requireAmount(amount);
    const { home, keys } = this.#core.parts;
    const asset = this.#core.asset(options.asset);
    await this.#core.checkService(options);
    const fees = await this.#core.fees("deposit", asset, amount, options);
    if (fees.total >= amount) throw new ClientError("AMOUNT_INVALID", "the fees take all of it");
    const depositor = requireAddress(await from.getAddress(), "depositor");
    const deadline = this.#core.deadline(options);
    // EIP-3009 bounds are exclusive; beyond the statement's own deadline the authorization is worth nothing.
    const bounds = { validAfter: 0, validBefore: deadline + 1 };
    const prepared = prepareDeposit({ home, keys, asset, fees, amount, depositor, deadline, ...bounds });
    return { prepared, asset, fees };
  }
}

/**
 * The service's transaction must be, byte for byte, the one that this client writes itself from its own statement
 * and proof: to the pinned pool on the pinned chain, this statement alone, no root update. Only the attestations are
 * the service's, and those the pool checks.
 */
function checkedCall(statement: Statement, wire: WireProof, answer: AttestResponse): string {
  const { home } = statement;
  const { to, data, chain_id } = answer.transaction;
  if (asAddress(to) !== home.pool) throw new ClientError("PIN_MISMATCH", "a transaction to another contract");
  if (BigInt(chain_id) !== home.chainId)
    throw new ClientError("PIN_MISMATCH", "a transaction for another chain");
  const proof = parseSnarkjsProof(wire);
  const own = proof === undefined ? undefined : executeCall(statement, proof, answer.attestations);
  if (own === undefined || own !== data.toLowerCase())
    throw new ClientError("UNEXPECTED_ANSWER", "the transaction is not this deposit alone");
  return own;
}

/** A chain may take its time; `signal` and `timeoutMs` end the wait, not the transaction. */
async function within<T>(work: Promise<T>, { signal, timeoutMs }: WaitOptions): Promise<T> {
  if (timeoutMs === undefined) return abortable(work, signal);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ClientError("TIMED_OUT")), timeoutMs);
  });
  try {
    return await Promise.race([abortable(work, signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
