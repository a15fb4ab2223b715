// The attesters of CCTP's stand-in: they fill in what a message leaves open, and sign it.
import { Contract, type ContractTransactionReceipt } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { signAll } from "../../../scripts/stack/pool-transaction.ts";
import { mustFromHex, toHex, uintToBytes, word } from "../../../shared/protocol/bytes.ts";
import { keccak256 } from "../../../shared/protocol/hash.ts";
import { drawField } from "../../support/drafts.ts";
import { ATTESTERS, type Place } from "./stage.ts";

export interface Filling {
  readonly nonce?: bigint;
  readonly finality?: number;
  readonly fee?: bigint;
  readonly expirationBlock?: bigint;
  /** More changes to the bytes that are signed. */
  readonly bend?: (message: Uint8Array) => void;
}

export interface Attested {
  readonly message: string;
  readonly attestation: string;
}

const SENT = "0x8c5261668696ce22758910d05bab8f186d6eb247ceac2af2e82c7dc17669b036";
const BODY = 148;

/** The one message that a transaction sent. */
export function messageOf({ logs }: { readonly logs: ContractTransactionReceipt["logs"] }): Uint8Array {
  const [log] = logs.filter(({ topics }) => topics[0] === SENT);
  if (log === undefined) throw new Error("no message was sent");
  const data = mustFromHex(log.data);
  const length = Number(BigInt(toHex(data.slice(32, 64))));
  return data.slice(64, 64 + length);
}

export function attest(sent: Uint8Array, filling: Filling = {}): Attested {
  const message = Uint8Array.from(sent);
  message.set(word(filling.nonce ?? drawField()), 12);
  message.set(uintToBytes(BigInt(filling.finality ?? 2_000), 4), 144);
  message.set(word(filling.fee ?? 0n), BODY + 164);
  message.set(word(filling.expirationBlock ?? 0n), BODY + 196);
  filling.bend?.(message);
  return { message: toHex(message), attestation: toHex(signAll(keccak256(message), ATTESTERS)) };
}

/** Delivered by a stranger. */
export async function deliver(
  place: Place,
  { message, attestation }: Attested,
): Promise<ContractTransactionReceipt> {
  const { abi } = await loadArtifact("MessageTransmitterV2");
  const transmitter = new Contract(place.cctp.transmitter, abi, await place.account(7));
  return (await transmitter.getFunction("receiveMessage")(message, attestation)).wait();
}

/** The words with which it is refused. */
export async function undelivered(place: Place, attested: Attested): Promise<string> {
  try {
    await deliver(place, attested);
  } catch (error) {
    const { reason } = error as { reason?: string };
    if (typeof reason === "string") return reason;
    throw error;
  }
  throw new Error("the message was delivered");
}
