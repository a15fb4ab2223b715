/**
 * Signatures under a burn. The device signs only what it has checked; the service adds the fee payer's signature only
 * to what it has checked and what the device has signed. There is no function here that signs anything else.
 */
import {
  createKeyPairFromPrivateKeyBytes,
  getAddressFromPublicKey,
  getBase64EncodedWireTransaction,
  getPublicKeyFromAddress,
  getSignatureFromTransaction,
  partiallySignTransaction,
  verifySignature,
  type Address,
  type Transaction,
} from "@solana/kit";
import { compiledBurn, type Burn, type EncodedTransaction } from "./burn.ts";
import { checkBurn, decodeTransaction, type CheckedBurn, type ExpectedBurn } from "./checking.ts";
import { AltchainRefusal } from "./refusals.ts";

export interface AltchainKey {
  readonly address: Address;
  readonly pair: CryptoKeyPair;
}

/** An ed25519 key from its seed of 32 bytes. The private half cannot be read out of it again. */
export async function keyFromSeed(seed: Uint8Array): Promise<AltchainKey> {
  if (seed.length !== 32) throw new AltchainRefusal("KEY_INVALID");
  const pair = await createKeyPairFromPrivateKeyBytes(seed, false);
  return { address: await getAddressFromPublicKey(pair.publicKey), pair };
}

/** The device's part. */
export async function signBurn(
  encoded: unknown,
  expected: Omit<ExpectedBurn, "owner">,
  key: AltchainKey,
): Promise<EncodedTransaction> {
  const { transaction } = await checkBurn(encoded, { ...expected, owner: key.address });
  return getBase64EncodedWireTransaction(await partiallySignTransaction([key.pair], transaction));
}

/** A burn that needs nobody else: the owner pays for it too, with coins of his own. */
export async function ownBurn(
  burn: Omit<Burn, "owner" | "feePayer">,
  key: AltchainKey,
): Promise<EncodedTransaction> {
  const transaction = await compiledBurn({ ...burn, owner: key.address, feePayer: key.address });
  return getBase64EncodedWireTransaction(await partiallySignTransaction([key.pair], transaction));
}

/** Checks in addition that the owner has signed: before the service keeps the transaction or pays for it. */
export async function checkSignedBurn(encoded: unknown, expected: ExpectedBurn): Promise<CheckedBurn> {
  const checked = await checkBurn(encoded, expected);
  await mustHaveSigned(checked.transaction, expected.owner);
  return checked;
}

/** The service's part: ready to be sent, and the same bytes every time. */
export async function payForBurn(
  encoded: unknown,
  expected: Omit<ExpectedBurn, "feePayer">,
  feePayer: AltchainKey,
): Promise<EncodedTransaction> {
  const { transaction } = await checkSignedBurn(encoded, { ...expected, feePayer: feePayer.address });
  return getBase64EncodedWireTransaction(await partiallySignTransaction([feePayer.pair], transaction));
}

/** The transaction's name on the chain, known before it is sent: the fee payer's signature in base58. */
export function signatureOf(encoded: EncodedTransaction): string {
  try {
    return getSignatureFromTransaction(decodeTransaction(encoded));
  } catch (cause) {
    throw cause instanceof AltchainRefusal ? cause : new AltchainRefusal("SIGNATURE_INVALID", { cause });
  }
}

async function mustHaveSigned(transaction: Transaction, signer: Address): Promise<void> {
  const signature = transaction.signatures[signer];
  const isGood =
    signature !== null &&
    signature !== undefined &&
    (await verifySignature(await getPublicKeyFromAddress(signer), signature, transaction.messageBytes));
  if (!isGood) throw new AltchainRefusal("SIGNATURE_INVALID");
}
