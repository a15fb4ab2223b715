/** Shows one payment to one reader: who may, what is said, and until when. */
// Loaded later: where a bundler shares schemas with the first load, this stands before them there, too.
import type { Home } from "../../protocol/statements.ts";
import { discloseSecret } from "../../notes/disclosed-secret.ts";
import type { SpendingKey } from "../../notes/keys.ts";
import { ClientError } from "../base/errors.ts";
import type { WalletState } from "../state/state.ts";
import { MOST_NAME_BYTES, requireText } from "../base/texts.ts";
import { provedMessage, writeDisclosure, type Claim } from "./codec.ts";
import { MOST_VALID_SECS, type Discloser, type DiscloseOptions } from "./disclosure.ts";
import { impossible, received, recorded, searched, type Opening } from "./opening.ts";

export interface DisclosingWallet {
  readonly state: WalletState;
  readonly keys: SpendingKey;
  readonly prefix: string;
  readonly home: Home;
  /** Unix seconds. */
  readonly now: number;
}

/** Throws OPTIONS_INVALID, ADDRESS_INVALID and DISCLOSURE_IMPOSSIBLE. */
export async function disclose(wallet: DisclosingWallet, options: DiscloseOptions): Promise<string> {
  const { state, home, now } = wallet;
  const { expiresAt } = options;
  const fault = (detail: string): Error => new ClientError("OPTIONS_INVALID", `disclose.${detail}`);
  const reader = requireText(options.reader, MOST_NAME_BYTES, (detail) => fault(`reader: ${detail}`));
  if (!Number.isSafeInteger(expiresAt) || expiresAt <= now || expiresAt > now + MOST_VALID_SECS)
    throw fault("expiresAt: Unix seconds, ahead of now, and at most a year");
  const { by, opening } = await openingOf(wallet, options);
  const { leafIndex, to, asset, value } = opening;
  const block = state.blocks.of(leafIndex);
  if (block === undefined) throw impossible("its block is not known: sync first");
  const claim: Claim = { by, home, block, leafIndex, to, asset, value, expiresAt, reader };
  const other = by === "payer" ? to.viewingKey : opening.ephemeralKey;
  const proof = discloseSecret(opening.secret, other, provedMessage(claim, opening));
  if (proof === undefined) throw impossible("the other side's key is none that somebody has a secret for");
  return writeDisclosure(claim, proof);
}

async function openingOf(
  wallet: DisclosingWallet,
  options: DiscloseOptions,
): Promise<{ readonly by: Discloser; readonly opening: Opening }> {
  const { state } = wallet;
  const { payment } = options;
  const record = [...state.payments.values()].find(
    (one) =>
      one.withdrawn !== true &&
      (one.statement === payment || state.tree.leaf(payment as number) === one.commitments[0]),
  );
  if (record !== undefined) return { by: "payer", opening: recorded(wallet, record) };
  if (typeof payment === "string") return { by: "payer", opening: await searched(wallet, payment, options) };
  const note = state.notes.get(payment);
  if (note === undefined) throw impossible("no payment of this wallet has that leaf");
  return { by: "payee", opening: received(wallet, note) };
}
