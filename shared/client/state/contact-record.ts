/** An entry of the address book as the wallet's state keeps it. Pure. */

/** What the state keeps: the newer of two tabs' counts. An address without a label was removed. */
export interface StoredContact {
  readonly address: string;
  readonly label: string | null;
  /** Milliseconds since 1970, for telling which of two is newer. */
  readonly at: number;
}

/** Of two tabs' books each entry's newer form. */
export function mergeContacts(
  ours: Map<string, StoredContact>,
  theirs: ReadonlyMap<string, StoredContact>,
): void {
  for (const [address, contact] of theirs) {
    const own = ours.get(address);
    if (own === undefined || own.at < contact.at) ours.set(address, contact);
  }
}
