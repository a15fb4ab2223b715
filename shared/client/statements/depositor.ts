/**
 * The depositor's signer is the application's: an ethers Signer, a browser wallet, a device. What it throws ("rejected",
 * "no provider", anything) comes to the caller as SIGNER_FAILED with its own error as the cause.
 */
import type { DepositSigner } from "./authorization.ts";
import { underCode } from "../base/errors.ts";
import { checkOptions, depositSigner, transactionSender } from "../base/options.ts";
import type { TransactionSender } from "./sender.ts";

export function typedSigner(signer: DepositSigner): DepositSigner {
  checkOptions(depositSigner, signer, "signer");
  return {
    getAddress: () => underCode("SIGNER_FAILED", "getAddress", () => signer.getAddress()),
    signTypedData: (...data) =>
      underCode("SIGNER_FAILED", "signTypedData", () => signer.signTypedData(...data)),
  };
}

export function typedSender(sender: TransactionSender): TransactionSender {
  checkOptions(transactionSender, sender, "sender");
  return {
    getAddress: () => underCode("SIGNER_FAILED", "getAddress", () => sender.getAddress()),
    async sendTransaction(transaction) {
      const sent = await underCode("SIGNER_FAILED", "sendTransaction", () =>
        sender.sendTransaction(transaction),
      );
      return { hash: sent.hash, wait: () => underCode("SIGNER_FAILED", "wait", () => sent.wait()) };
    },
  };
}
