/**
 * Deposits: public money becomes notes of this wallet. Either the depositor signs an EIP-3009 authorization and
 * the service carries it, or, for tokens without that, the depositor's own account approves the pool and sends
 * the attested transaction, which this client writes itself.
 */
import type { AttestResponse } from "../../api/transactions.ts";
import type { Address, Bytes32 } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { parseSnarkjsProof } from "../../protocol/host/proofs.ts";
import type { Statement } from "../../protocol/statements.ts";
import { orAborted } from "../base/aborting.ts";
import { signAuthorization, type DepositSigner } from "../statements/authorization.ts";
import { depositBody, plainDepositBody, type WireProof } from "../statements/bodies.ts";
import type { Core } from "./core.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import type * as ExecuteCall from "../statements/execute-call.ts";
import type { Fees } from "../statements/fees.ts";
import type { Delivery } from "../service/http.ts";
import { Operation } from "./operation.ts";
import type { CarriedOptions, Payment, PaymentOptions, StatementOptions } from "./payment.ts";
import { recordOf, type PaymentRecord } from "../state/payment-record.ts";
import { requireAddress, tokenDomainOf } from "../base/pins.ts";
import type { TransactionSender } from "../statements/sender.ts";
import { prepareDeposit, type Prepared } from "../statements/statements.ts";
import { isRefusal, unknownOutcome } from "../service/tickets.ts";

export type DepositOptions = CarriedOptions & Pick<PaymentOptions, "asset">;

export interface PlainDepositOptions extends StatementOptions, Pick<PaymentOptions, "asset"> {
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

  authorized(amount: bigint, signer: DepositSigner, options: DepositOptions): Promise<Payment> {
    return Operation.run(options, async (call) => {
      const { client, pins } = this.#core.parts;
      const { prepared, asset, fees } = await call.step("prepare", () =>
        this.#prepare(amount, signer, options, call),
      );
      const { statement } = prepared;
      const token = tokenDomainOf(pins, asset);
      const authorization = await call.step("sign", () =>
        // Nobody can take the question back from the person; an answer that comes too late is worth nothing.
        orAborted(signAuthorization(signer, statement, asset, token), call.signal),
      );
      const proof = await this.#core.prove(prepared, call);
      const body = depositBody(prepared, proof, authorization);
      const record = this.#record(prepared, { asset, fees, amount });
      const delivery: Delivery = { beforeSending: () => this.#core.parts.ledger.keepPayment(record) };
      const ticket = await call.step("submit", async () => {
        try {
          return await client.sequenceDeposit(body, { signal: call.signal, delivery });
        } catch (error) {
          if (delivery.sent === false) {
            this.#core.parts.ledger.withdrawPayment(statement.hash);
            throw error;
          }
          call.sent(statement.hash);
          throw isRefusal(error, delivery) ? error : unknownOutcome(error);
        }
      });
      call.sent(statement.hash);
      const made = { ticket, statement: statement.hash, fees: fees.total };
      return this.#core.settle(made, prepared, options, call);
    });
  }

  plain(amount: bigint, sender: TransactionSender, options: PlainDepositOptions): Promise<PlainDeposit> {
    return Operation.run(options, async (call) => {
      const { client, home } = this.#core.parts;
      const { prepared, asset, fees } = await call.step("prepare", () =>
        this.#prepare(amount, sender, options, call),
      );
      const { statement } = prepared;
      // Only these deposits need the pool's ABI. Here, because what cannot be loaded must not come to light half-way.
      const { approveCall, executeCall, outcomeOf } = await import("../statements/execute-call.ts");
      const proof = await this.#core.prove(prepared, call);
      const data = await call.step("submit", async () => {
        const answer = await client.attestDeposit(plainDepositBody(prepared, proof), { signal: call.signal });
        return checkedCall(executeCall, statement, proof, answer);
      });
      const from = { value: 0n, chainId: Number(home.chainId) };
      await call.step("approve", async () => {
        const approval = { ...from, to: asset, data: approveCall(home.pool, amount) };
        const sent = await orAborted(sender.sendTransaction(approval), call.signal);
        // The deposit needs it mined: a wallet estimates gas on the chain as it stands.
        const receipt = await orAborted(sent.wait(), call.signal);
        if (receipt?.status !== 1) throw new ClientError("DEPOSIT_NOT_EXECUTED", "the approval failed");
      });
      const sent = await call.step("send", async () => {
        call.signal.throwIfAborted();
        const { ledger } = this.#core.parts;
        await ledger.keepPayment(this.#record(prepared, { asset, fees, amount }));
        // From here on the depositor's account may send it, whether or not it answers.
        call.sent(statement.hash);
        try {
          return await orAborted(sender.sendTransaction({ ...from, to: home.pool, data }), call.signal);
        } catch (error) {
          // Our own sender says this before it asks the account.
          if (hasCode(error, "PIN_MISMATCH")) {
            call.forget();
            ledger.withdrawPayment(statement.hash);
          }
          throw error;
        }
      });
      call.transactionHash = sent.hash;
      const made = { statement: statement.hash, transactionHash: sent.hash, fees: fees.total };
      if (options.until === "sent") return made;
      await call.step("confirm", async () => {
        // A chain may take its time; the call's end is not the transaction's.
        const receipt = await orAborted(sent.wait(), call.signal);
        const outcome = receipt === null ? "no receipt" : outcomeOf(receipt, statement);
        // A receipt is the chain's own answer: nothing of it may still happen.
        if (outcome !== "executed" && receipt !== null) call.forget();
        if (outcome !== "executed") throw new ClientError("DEPOSIT_NOT_EXECUTED", outcome);
      });
      await this.#core.delivered(prepared, options, call);
      return made;
    });
  }

  #record(
    prepared: Prepared,
    { asset, fees, amount }: { readonly asset: Address; readonly fees: Fees; readonly amount: bigint },
  ): PaymentRecord {
    const { ext } = prepared.statement;
    const { now, ledger } = this.#core.parts;
    const to = ext.kind === "deposit-shield" ? ext.depositor : undefined;
    return recordOf(
      prepared,
      { kind: "deposit", asset, amount, fees: fees.total, to },
      { madeAt: now(), madeAfter: ledger.state.tree.leafCount, leafIndexes: [] },
    );
  }

  async #prepare(
    amount: bigint,
    from: { getAddress(): Promise<string> },
    options: DepositOptions | PlainDepositOptions,
    call: Operation,
  ): Promise<{ prepared: Prepared; asset: Address; fees: Fees }> {
    const { home, keys } = this.#core.parts;
    const asset = this.#core.asset(options.asset);
    await this.#core.checkService(call);
    const fees = await this.#core.fees("deposit", asset, amount, call);
    if (fees.total >= amount) throw new ClientError("AMOUNT_INVALID", "the fees take all of it");
    const depositor = requireAddress(await orAborted(from.getAddress(), call.signal), "depositor");
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
function checkedCall(
  executeCall: typeof ExecuteCall.executeCall,
  statement: Statement,
  wire: WireProof,
  answer: AttestResponse,
): string {
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
