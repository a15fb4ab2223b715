/** A contract that brings money into a pool, as a test tells it to, and the notes that it asks for. */
import { AbiCoder, Contract, type JsonRpcSigner } from "ethers";
import { loadArtifact } from "../../scripts/build/contracts.ts";
import { deployContract } from "../../scripts/deploy/pool.ts";
import type { ShieldedAddress } from "../../shared/notes/address.ts";
import { OutputSealer } from "../../shared/notes/encryption.ts";
import { sealUnmeasured } from "../../shared/notes/measured-note.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES } from "../../shared/protocol/statements.ts";
import { drawBytes, drawField } from "./drafts.ts";

/** In the order of ConfigurableSource.sol. */
const BEHAVIOURS = { Honest: 0, Calls: 1, AnswersRaw: 2, RevertsAtLength: 3, BurnsGas: 4 };
const NOTE = "tuple(uint256 npk, uint128 value, bytes32 ephemeralKey, bytes ciphertext)";
const ORDER = `tuple(uint8 behaviour, uint256 moved, address target, bytes message, bytes answered, ${NOTE}[] notes)`;

export interface OpenNote {
  readonly npk: bigint;
  readonly value: bigint;
  readonly ephemeralKey: string;
  readonly ciphertext: string;
}

/** What a source does in the middle of a credit. */
export interface Told {
  readonly behaviour: keyof typeof BEHAVIOURS;
  readonly moved: bigint;
  readonly target: Address;
  readonly message: string;
  readonly answered: string;
  readonly notes: readonly OpenNote[];
}

/** For nobody. */
export function drawOpenNote(changes: Partial<OpenNote> = {}): OpenNote {
  return {
    ...{ npk: drawField(), value: 1_000n, ephemeralKey: toHex(drawBytes(32)) },
    ciphertext: toHex(drawBytes(CIPHERTEXT_BYTES)),
    ...changes,
  };
}

/** As the owner of the address seals it: the pool completes it with asset and value. */
export function openNoteFor(to: ShieldedAddress, asset: Address, value: bigint): OpenNote {
  const sealer = new OutputSealer();
  const { npk } = sealUnmeasured(sealer, to, asset);
  const [ciphertext] = sealer.ciphertexts;
  return { npk, value, ephemeralKey: toHex(sealer.ephemeralKey), ciphertext: toHex(ciphertext!) };
}

export function totalOf(notes: readonly OpenNote[]): bigint {
  return notes.reduce((sum, { value }) => sum + value, 0n);
}

/** What `bringCredit` answers. */
export function answerOf(notes: readonly OpenNote[]): string {
  return AbiCoder.defaultAbiCoder().encode([`${NOTE}[]`], [notes]);
}

/** Of a source that brings what its notes say, unless it is told otherwise. */
export function orderOf(notes: readonly OpenNote[], changes: Partial<Told> = {}): string {
  const { behaviour, ...told } = {
    ...{ behaviour: "Honest" as const, moved: totalOf(notes), target: ZERO_ADDRESS },
    ...{ message: "0x", answered: "0x", notes },
    ...changes,
  };
  return AbiCoder.defaultAbiCoder().encode([ORDER], [{ behaviour: BEHAVIOURS[behaviour], ...told }]);
}

/** With as much of one token as a test needs. Each method gives the hash of its transaction. */
export class CreditSource {
  readonly #contract: Contract;
  readonly #pool: Address;
  readonly #asset: Address;

  private constructor(contract: Contract, pool: Address, asset: Address) {
    this.#contract = contract;
    this.#pool = pool;
    this.#asset = asset;
  }

  static async start(owner: JsonRpcSigner, pool: Address, asset: Address): Promise<CreditSource> {
    const { address } = await deployContract(owner, "ConfigurableSource", []);
    const abiOf = async (name: string) => (await loadArtifact(name)).abi as never;
    const token = new Contract(asset, await abiOf("TestUSDC"), owner);
    await wait(token.getFunction("mint")(address, 10n ** 12n));
    return new CreditSource(new Contract(address, await abiOf("ConfigurableSource"), owner), pool, asset);
  }

  /** Notes, or values of notes for nobody. */
  credit(notes: readonly (OpenNote | bigint)[]): Promise<string> {
    return this.#send("credit", this.#pool, this.#asset, order(notes));
  }

  creditTwice(first: readonly bigint[], second: readonly bigint[]): Promise<string> {
    return this.#send("creditTwice", this.#pool, this.#asset, order(first), order(second));
  }

  /** Carries a call of `execute` to the pool first. */
  creditAfter(payment: string, values: readonly bigint[]): Promise<string> {
    return this.#send("creditAfter", this.#pool, payment, this.#asset, order(values));
  }

  creditBefore(payment: string, values: readonly bigint[]): Promise<string> {
    return this.#send("creditBefore", this.#pool, payment, this.#asset, order(values));
  }

  #send(name: string, ...args: readonly unknown[]): Promise<string> {
    // An estimate is made in the second of the block before, in which a full bucket is written as it was, and costs less.
    return wait(this.#contract.getFunction(name)(...args, { gasLimit: 16_000_000n }));
  }
}

function order(notes: readonly (OpenNote | bigint)[]): string {
  return orderOf(notes.map((note) => (typeof note === "bigint" ? drawOpenNote({ value: note }) : note)));
}

async function wait(sent: Promise<unknown>): Promise<string> {
  const transaction = (await sent) as { readonly hash: string; wait(): Promise<unknown> };
  await transaction.wait();
  return transaction.hash;
}
