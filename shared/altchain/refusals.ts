/** Everything that this folder refuses, as one closed union by `code`. No message carries a key or a signature. */
export const ALTCHAIN_REFUSALS = {
  NOT_AN_ADDRESS: "not an address of the other blockchain",
  KEY_INVALID: "not a seed of 32 bytes",
  TRANSACTION_UNREADABLE: "not one transaction of the other blockchain, canonically encoded",
  NOT_THE_BURN: "the transaction is something else than the one burn that is expected",
  WRONG_FEE_PAYER: "the transaction is paid for by somebody else than expected",
  WRONG_DESTINATION: "the burn names another chain or another recipient than expected",
  FEE_ABOVE_CEILING: "the burn allows a higher fee than was agreed to",
  BELOW_MINIMUM: "the burn is of less than expected",
  SIGNATURE_INVALID: "a signature of the transaction is missing or does not hold",
  ANSWER_UNREADABLE: "the node's answer does not have the documented form",
} as const;

export type AltchainRefusalCode = keyof typeof ALTCHAIN_REFUSALS;

export class AltchainRefusal extends Error {
  override readonly name = "AltchainRefusal";
  readonly code: AltchainRefusalCode;

  constructor(code: AltchainRefusalCode, options?: { cause?: unknown }) {
    super(ALTCHAIN_REFUSALS[code], options);
    this.code = code;
  }
}
