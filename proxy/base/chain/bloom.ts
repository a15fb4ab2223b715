/** A header's bloom filter over what contracts said in its block: yellow paper, 4.3.1. */
import { keccak256 } from "ethers";
import type { Address } from "../../../shared/protocol/brands.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import type { Header } from "./provider.ts";

const BITS = 2_048;

/** False where this contract surely said nothing in the block, by the header; true where it may have, or nobody knows. */
export function mayHaveSaid(address: Address): (header: Pick<Header, "bloom">) => boolean {
  const hash = mustFromHex(keccak256(address));
  const bits = [0, 2, 4].map((at) => ((hash[at]! << 8) | hash[at + 1]!) % BITS);
  return ({ bloom }) => {
    if (bloom === undefined) return true;
    const filter = mustFromHex(bloom);
    return bits.every((bit) => (filter[filter.length - 1 - (bit >> 3)]! >> (bit & 7)) & 1);
  };
}
