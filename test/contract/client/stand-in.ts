// What a test of the client takes in the place of slow or outside parts where these are not the point: a prover
// that proves nothing, notes that fell from the sky, and an account on the test service's chain.
import { Wallet as EthereumWallet } from "ethers";
import type { Prover, TransactionSender } from "../../../shared/client/index.ts";
import { decodeShieldedAddress } from "../../../shared/notes/address.ts";
import { noteCommitment } from "../../../shared/notes/note.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { sealNote } from "../../support/sealed-notes.ts";
import { hex } from "./chain.ts";
import { PREFIX } from "./checks.ts";
import type { TestService } from "./service.ts";
import { standInProof } from "./stand-in-proof.ts";

/** Of the right form and worth nothing; see `TestService.verifiesProofs`. */
export const standInProver: Prover = {
  prepare: () => Promise.resolve(),
  prove: () => Promise.resolve(standInProof),
  checkInfo: () => undefined,
  close: () => Promise.resolve(),
};

/** Notes for a shielded address, in a block of their own and under a root. */
export function give(service: TestService, to: string, asset: Address, values: readonly bigint[]): void {
  const receiver = decodeShieldedAddress(to, PREFIX)!;
  service.chain.addLeaves(
    values.map((value) => {
      const { note, told } = sealNote(receiver, asset, value);
      return { commitment: hex(noteCommitment(receiver.owner, note)), ...told };
    }),
  );
}

export interface TestAccount extends TransactionSender {
  readonly sent: { to: string; data: string; value: bigint; chainId: number }[];
}

/** The depositor's own account. `sent` is what it was asked to sign. */
export function account(service: TestService): TestAccount {
  const { address } = EthereumWallet.createRandom();
  const sent: TestAccount["sent"] = [];
  return {
    sent,
    getAddress: () => Promise.resolve(address),
    sendTransaction(transaction) {
      sent.push(transaction);
      const receipt = service.chain.send(address, transaction);
      return Promise.resolve({ hash: hex(BigInt(sent.length)), wait: () => Promise.resolve(receipt) });
    },
  };
}

export const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;
