/**
 * The address book of a wallet: names that its owner gave to shielded addresses. It lies in the wallet's sealed state, so
 * tabs share it and nobody else reads it. It is no part of the chain: a restore from the phrase begins with an empty one.
 */
import type { StoredContact } from "../state/contact-record.ts";
import { ClientError } from "../base/errors.ts";
import type { Ledger } from "../paying/ledger.ts";
import { requireShielded } from "../base/pins.ts";
import { MOST_LABEL_BYTES, requireText } from "../base/texts.ts";

export interface Contact {
  /** One line of at most 64 bytes of UTF-8; no two contacts have the same. */
  readonly label: string;
  /** Shielded, of this network, in lower case. */
  readonly address: string;
}

export interface Contacts {
  /** By label. */
  list(): Contact[];
  /**
   * Names an address, or gives it another name. Saved when it returns. Throws ADDRESS_INVALID for another network's address
   * or a wrong checksum, and CONTACT_INVALID for a label that cannot be, or that another address has.
   */
  set(label: string, address: string): Promise<Contact>;
  /** Nothing happens where there is none. */
  remove(address: string): Promise<void>;
  /** The name of an address. */
  labelOf(address: string): string | undefined;
}

/** As many as a state stays small with. */
export const MOST_CONTACTS = 1_000;

export class LiveContacts implements Contacts {
  readonly #ledger: () => Ledger;
  readonly #prefix: string;

  constructor(ledger: () => Ledger, prefix: string) {
    this.#ledger = ledger;
    this.#prefix = prefix;
  }

  list(): Contact[] {
    return contactsOf(this.#ledger().state.contacts);
  }

  async set(label: string, address: string): Promise<Contact> {
    const ledger = this.#ledger();
    requireShielded(address, this.#prefix);
    const known = address.toLowerCase();
    requireText(label, MOST_LABEL_BYTES, (detail) => new ClientError("CONTACT_INVALID", `label: ${detail}`));
    const others = this.list().filter((contact) => contact.address !== known);
    if (others.some((contact) => contact.label === label))
      throw new ClientError("CONTACT_INVALID", "another address has this label");
    if (others.length >= MOST_CONTACTS) throw new ClientError("CONTACT_INVALID", `at most ${MOST_CONTACTS}`);
    await ledger.keepContact({ address: known, label, at: Date.now() });
    return { label, address: known };
  }

  async remove(address: string): Promise<void> {
    const known = address.toLowerCase();
    const ledger = this.#ledger();
    if (this.labelOf(known) !== undefined)
      await ledger.keepContact({ address: known, label: null, at: Date.now() });
  }

  labelOf(address: string): string | undefined {
    return this.#ledger().state.contacts.get(address.toLowerCase())?.label ?? undefined;
  }
}

function contactsOf(stored: ReadonlyMap<string, StoredContact>): Contact[] {
  return [...stored.values()]
    .flatMap(({ address, label }) => (label === null ? [] : [{ label, address }]))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
}
