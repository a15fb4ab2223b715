/**
 * The pool's `execute` as this client writes it, and what a receipt says about it. The depositor's own account
 * sends what is written here and nothing that the service wrote.
 */
import { Interface } from "ethers";
import type { AttestResponse } from "../../api/transactions.ts";
import { POOL_ABI, TOKEN_ABI } from "../../contracts/abi.ts";
import { ZERO_BYTES32, type Address } from "../../protocol/brands.ts";
import { asAddress, fromHex } from "../../protocol/host/text.ts";
import { concatBytes, toHex } from "../../protocol/bytes.ts";
import { readExecuted } from "../../protocol/host/executed-log.ts";
import { encodeProof } from "../../protocol/host/proofs.ts";
import { compressProof, type Proof } from "../../protocol/proof.ts";
import { KINDS, type Statement } from "../../protocol/statements.ts";

/** The one place of this library where ethers is: the package brings the part of it that is used here in this file. */
/** The part of an ethers `Interface` that is used, in words of our own: the package's declarations must not name ethers. */
export interface ContractAbi {
  encodeFunctionData(name: string, args: readonly unknown[]): string;
  decodeFunctionData(name: string, data: string): readonly unknown[];
  decodeFunctionResult(name: string, data: string): readonly unknown[];
  parseLog(log: {
    readonly topics: readonly string[];
    readonly data: string;
  }): { readonly name: string; readonly args: Readonly<Record<string, unknown>> } | null;
  parseError(data: string): { readonly name: string; readonly args: readonly unknown[] } | null;
  getEvent(name: string): { readonly topicHash: string } | null;
}

export const POOL: ContractAbi = new Interface(POOL_ABI);

/** For who calls other contracts: fragments of an ABI, or in Solidity's words. */
export function contractAbi(fragments: readonly unknown[]): ContractAbi {
  return new Interface(fragments as ConstructorParameters<typeof Interface>[0]);
}

const TOKEN = new Interface(TOKEN_ABI);
const NO_ROOT_UPDATE = [0n, 0n, 0n, 0n, ZERO_BYTES32, ZERO_BYTES32, "0x"] as const;

/**
 * Calldata of `execute` with this statement alone: no other transaction, no root update, no authorization. Whether
 * the pool accepts the signers of the attestations is the pool's to say.
 * Undefined when an attestation is no signature.
 */
export function executeCall(
  statement: Statement,
  proof: Proof,
  attestations: AttestResponse["attestations"],
): string | undefined {
  const signatures = [...attestations]
    .sort((a, b) => (a.signer.toLowerCase() < b.signer.toLowerCase() ? -1 : 1))
    .map(({ signature }) => fromHex(signature));
  if (!signatures.every((signature) => signature?.length === 65)) return undefined;
  const member = [
    KINDS[statement.kind].id,
    statement.deadline,
    statement.signals,
    toHex(statement.extBytes),
    toHex(compressProof(proof)),
    "0x",
    toHex(concatBytes(...(signatures as Uint8Array[]))),
  ];
  return POOL.encodeFunctionData("execute", [[member], NO_ROOT_UPDATE]);
}

/**
 * Calldata of `execute` with this statement alone, which the pool verifies itself: the proof uncompressed and nobody's
 * word for it. A deposit's depositor is its sender.
 */
export function provedCall(
  { kind, deadline, signals, extBytes }: Statement,
  proof: Proof,
  /** Of one that comes again. */
  earlier = "0x",
): string {
  const shown = toHex(encodeProof(proof));
  const member = [KINDS[kind].id, deadline, signals, toHex(extBytes), shown, earlier, "0x"];
  return POOL.encodeFunctionData("execute", [[member], NO_ROOT_UPDATE]);
}

/** ERC-20 approval of exactly this amount. */
export function approveCall(spender: Address, amount: bigint): string {
  return TOKEN.encodeFunctionData("approve", [spender, amount]);
}

/** The part of a receipt that is read here. */
export interface Receipt {
  /** 0 when the transaction reverted. */
  readonly status: number | null;
  readonly logs: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
}

/** `executed`, or why not: the name of the pool's error where it has one. */
export function outcomeOf(
  { status, logs }: Receipt,
  { home, hash }: Pick<Statement, "home" | "hash">,
): string {
  if (status === 0) return "reverted";
  for (const { address, topics, data } of logs) {
    if (asAddress(address) !== home.pool || topics[1] !== hash) continue;
    if (readExecuted({ topics, data })?.statement === hash) return "executed";
    const event = POOL.parseLog({ topics, data });
    if (event?.name === "Rejected") return POOL.parseError(String(event.args["reason"]))?.name ?? "rejected";
  }
  return "not in this transaction";
}

/** Money that there was no room for. */
export interface Claim {
  readonly asset: Address;
  readonly id: bigint;
  readonly amount: bigint;
}

/** What the pool owes by this statement instead of having paid it. */
export function claimOf(
  { logs }: Receipt,
  { home, hash }: Pick<Statement, "home" | "hash">,
): Claim | undefined {
  for (const { address, topics, data } of logs) {
    if (asAddress(address) !== home.pool || topics[1] !== hash) continue;
    const event = POOL.parseLog({ topics, data });
    if (event?.name !== "ClaimAdded") continue;
    const { asset, id, amount } = event.args as unknown as { asset: unknown; id: bigint; amount: bigint };
    return { asset: asAddress(asset)!, id, amount };
  }
  return undefined;
}
