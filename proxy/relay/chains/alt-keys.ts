/** The other blockchain's addresses as keys: 32 bytes either way, there in base58. */
import { base58 } from "@scure/base";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import type { Key } from "./events.ts";

export const altKeyOf = (address: string): Key => toHex(base58.decode(address));
export const spellAlt = (key: Key): string => base58.encode(mustFromHex(key));
