/** Who can be paid, as a person types, pastes or scans it: a shielded address, or a name of the address book. */
import { decodeShieldedAddress } from "../../shared/client/index.ts";
import type { Config, Network } from "./config.ts";

const PUBLIC = /^0x[0-9a-fA-F]{40}$/;

/** The shielded address in its one spelling, or what is wrong in words. */
export function readRecipient(
  typed: string,
  own: string,
  network: Network,
  { networks }: Pick<Config, "networks">,
): { readonly address: string } | string {
  const text = typed.trim().toLowerCase();
  const { addressPrefix: prefix } = network.pins;
  if (text === "") return "Enter an address.";
  if (PUBLIC.test(text)) return "This is a public address. To pay it, use Withdraw.";
  const other = networks.find(({ pins }) => pins.addressPrefix !== prefix && isOf(text, pins.addressPrefix));
  if (other !== undefined)
    return `This address is of the network “${other.name}”, and you are on “${network.name}”. Money sent across would not arrive.`;
  if (!isOf(text, prefix)) return `A private address of this network begins with ${prefix}1.`;
  if (decodeShieldedAddress(text, prefix) === undefined)
    return "This address is mistyped or not whole: its checksum does not fit.";
  if (text === own) return "This is your own address.";
  return { address: text };
}

const isOf = (text: string, prefix: string): boolean => text.startsWith(`${prefix}1`);
