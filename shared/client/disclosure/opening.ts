/**
 * What a wallet knows of one payment's secret: of its own payments the ephemeral secret, derived again from the spending
 * key; of income the viewing secret. Nothing is asked of anybody.
 */
import { x25519 } from "@noble/curves/ed25519.js";
import { fromHex } from "../../protocol/host/text.ts";
import { encodeShieldedAddress, type ShieldedAddress } from "../../notes/address.ts";
import { sharedBlinding } from "../../notes/encryption.ts";
import { publicKeyOf } from "../../notes/disclosed-secret.ts";
import type { SpendingKey } from "../../notes/keys.ts";
import { noteCommitment, type Note } from "../../notes/note.ts";
import { senderSecret, SENDER_SALTS, type TransferTerms } from "../../notes/sender-key.ts";
import type { Address } from "../../protocol/brands.ts";
import { ClientError } from "../base/errors.ts";
import { requireShielded } from "../base/pins.ts";
import type { PaymentRecord } from "../state/payment-record.ts";
import { sumOf } from "../state/selection.ts";
import type { OwnedNote, WalletState } from "../state/state.ts";
import { Turns } from "../base/turns.ts";
import type { OnChain } from "./codec.ts";
import type { DiscloseOptions } from "./disclosure.ts";

export interface Opening extends OnChain {
  /** An X25519 secret that only the discloser has. */
  readonly secret: Uint8Array;
  readonly leafIndex: number;
  readonly to: ShieldedAddress;
  readonly asset: Address;
  readonly value: bigint;
}

interface Wallet {
  readonly state: WalletState;
  readonly keys: SpendingKey;
  readonly prefix: string;
}

/** Of what this wallet received. Throws DISCLOSURE_IMPOSSIBLE. */
export function received({ state, keys }: Wallet, note: OwnedNote): Opening {
  const { sealed, leafIndex, commitment, asset, value } = note;
  if (note.voided !== undefined) throw impossible("its statement was refuted");
  if (note.source !== "spend")
    throw impossible("nobody paid it: it is a deposit, a swap, or came over a bridge");
  if (isChange(state, note)) throw impossible("it is this wallet's own change");
  const ephemeralKey = fromHex(sealed?.ephemeralKey);
  if (sealed === undefined || ephemeralKey === undefined)
    throw impossible("this wallet read it before it kept what that takes: rescan, then try again");
  const secret = keys.viewing.exportSecret();
  const { output } = sealed;
  return { secret, leafIndex, to: keys.viewing.address, asset, value, commitment, ephemeralKey, output };
}

/** The shared secret with oneself would open all that a statement holds for oneself, so change is never shown. */
function isChange(state: WalletState, { txHash }: OwnedNote): boolean {
  return txHash === "" || [...state.notes.values()].some(({ spent }) => spent?.txHash === txHash);
}

/** Of a payment that this wallet made and has a record of. Throws DISCLOSURE_IMPOSSIBLE. */
export function recorded({ state, keys, prefix }: Wallet, record: PaymentRecord): Opening {
  const { kind, to: text, asset, amount: value, fees, derivation, commitments, leafIndexes } = record;
  if (kind !== "transfer" || text === undefined)
    throw impossible("only private transfers: the chain shows the rest");
  if (derivation === undefined) throw impossible("it was made before payments could be shown");
  const to = requireShielded(text, prefix);
  const leafIndex = state.tree.indexOf(commitments[0]!);
  if (leafIndex === undefined) throw impossible("it is not on chain");
  const spent = leafIndexes.flatMap((index) => state.notes.get(index) ?? []);
  if (spent.length !== leafIndexes.length) throw impossible("its notes are not known: sync first");
  const nullifiers = spent.map(({ nullifier }) => nullifier);
  const opening = opened(keys, { nullifiers, to, asset, value, fees, ...derivation });
  if (opening.commitment !== commitments[0]) throw impossible("its terms do not give its leaf");
  return { ...opening, leafIndex };
}

/**
 * Of a payment that this wallet made and forgot: what the chain tells, and the person's word for whom and how much. What is
 * found is no word any more. Throws DISCLOSURE_IMPOSSIBLE.
 */
export async function searched(
  { state, keys, prefix }: Wallet,
  txHash: string,
  { recipient, signal }: DiscloseOptions,
): Promise<Opening> {
  if (recipient === undefined)
    throw impossible("this wallet has no record of it: say to whom and how much it was");
  const to = requireShielded(recipient.address, prefix);
  const notes = [...state.notes.values()];
  const spent = notes.filter((note) => note.spent?.txHash === txHash);
  const turns = new Turns();
  for (const asset of new Set(spent.map((note) => note.asset))) {
    const inputs = spent.filter((note) => note.asset === asset);
    for (const { change, known } of changesOf(notes, txHash, asset)) {
      const terms = {
        nullifiers: inputs.map(({ nullifier }) => nullifier),
        to,
        asset,
        value: recipient.amount,
        change,
      };
      const fees = sumOf(inputs) - recipient.amount - change;
      for (let salt = 0; fees >= 0n && salt < SENDER_SALTS; salt++) {
        await turns.pause();
        signal?.throwIfAborted();
        const opening = opened(keys, { ...terms, fees, salt }, known);
        const leafIndex = opening && state.tree.indexOf(opening.commitment);
        if (opening !== undefined && leafIndex !== undefined) return { ...opening, leafIndex };
      }
    }
  }
  throw impossible("no payment of this wallet in that transaction was to this address and of this amount");
}

/** What may be the change of a payment, with the ephemeral key that it tells; and none. */
function changesOf(notes: readonly OwnedNote[], txHash: string, asset: Address) {
  const made = notes.filter(
    (note) => note.txHash === txHash && note.asset === asset && note.source === "spend",
  );
  return [
    ...made.map(({ value, sealed }) => ({ change: value, known: fromHex(sealed?.ephemeralKey) })),
    { change: 0n, known: undefined },
  ];
}

type Opened = Omit<Opening, "leafIndex">;

/** Undefined where another ephemeral key is known. */
function opened(keys: SpendingKey, terms: TransferTerms): Opened;
function opened(keys: SpendingKey, terms: TransferTerms, known: Uint8Array | undefined): Opened | undefined;
function opened(keys: SpendingKey, terms: TransferTerms, known?: Uint8Array): Opened | undefined {
  const { to, asset, value } = terms;
  if (isSame(to, keys.viewing.address)) throw impossible("a payment to oneself");
  const secret = senderSecret(keys, terms);
  const ephemeralKey = publicKeyOf(secret);
  if (known !== undefined && known.some((byte, at) => byte !== ephemeralKey[at])) return undefined;
  const shared = x25519.getSharedSecret(secret, to.viewingKey);
  const note: Note = { asset, value, blinding: sharedBlinding(shared, ephemeralKey, to.viewingKey, 0) };
  return { secret, to, asset, value, ephemeralKey, output: 0, commitment: noteCommitment(to.owner, note) };
}

function isSame(a: ShieldedAddress, b: ShieldedAddress): boolean {
  return encodeShieldedAddress(a, "a") === encodeShieldedAddress(b, "a");
}

export function impossible(detail: string): ClientError {
  return new ClientError("DISCLOSURE_IMPOSSIBLE", detail);
}
