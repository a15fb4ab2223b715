/**
 * Steps as calls: to which contract, with which data, and the most gas that they may use. Whatever is asked here, the
 * terms of an address decide where its money can go.
 */
import { Interface } from "ethers";
import { FORWARDERS_ABI } from "../../../shared/contracts/abi.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Errand } from "../../base/chain/errands.ts";
import type { InTerms, Vault } from "../fold/facts.ts";
import type { Step, StepOf } from "./steps.ts";

/** What of a chain's contracts is called. */
export interface CalledContracts {
  readonly forwarders: Address;
  /** CCTP's MessageTransmitterV2; undefined where CCTP is not. */
  readonly transmitter: Address | undefined;
}

const forwarders = new Interface(FORWARDERS_ABI);
const messages = new Interface([
  "function receiveMessage(bytes message, bytes attestation) returns (bool)",
  // Of Circle's contract before the exchange, which alone may deliver what goes there.
  "function mintAndForward(bytes message, bytes attestation)",
]);

/**
 * Bounds, not estimates: what is not used is not paid, and an estimate of a call that calls others can be what is just too
 * little. A first sweep of an address is 190,000 at most (issue of the forwarders), one more fee note a third of it.
 */
const GAS = {
  sweepCall: 300_000n,
  sweep: 240_000n,
  feeNote: 120_000n,
  deliver: 500_000n,
  burn: 700_000n,
  touch: 150_000n,
  refund: 600_000n,
} as const;

/** A note that fees go into. */
export interface FeeReceiver {
  readonly npk: bigint;
  readonly ephemeralKey: Uint8Array;
  readonly ciphertext: Uint8Array;
}

/** `fees[i]` goes into the note of collector i. */
export interface OneSweep {
  readonly terms: InTerms;
  readonly fees: readonly bigint[];
}

export function sweepGas(sweeps: number, notes: number): bigint {
  return GAS.sweepCall + BigInt(sweeps) * GAS.sweep + BigInt(notes) * GAS.feeNote;
}

/** Of one step; of a sweep with a note of the service and one of a developer. */
export function gasOf(kind: Step["kind"]): bigint {
  switch (kind) {
    case "sweep":
      return sweepGas(1, 2);
    case "forward":
    case "flush":
      return GAS.burn;
    case "deliver":
    case "touch":
    case "refund":
      return GAS[kind];
  }
}

export function sweepCall(
  at: Pick<CalledContracts, "forwarders">,
  sweeps: readonly OneSweep[],
  collectors: readonly FeeReceiver[],
): Errand {
  return {
    to: at.forwarders,
    data: forwarders.encodeFunctionData("sweep", [sweeps, collectors]),
    gasLimit: sweepGas(sweeps.length, collectors.length),
    label: `sweep of ${String(sweeps.length)}`,
  };
}

/** Undefined where the chain has no such contract. */
export function deliverCall(
  at: Pick<CalledContracts, "transmitter">,
  { relay, message, attestation }: StepOf<"deliver">,
): Errand | undefined {
  const to = relay ?? at.transmitter;
  if (to === undefined) return undefined;
  const name = relay === undefined ? "receiveMessage" : "mintAndForward";
  const data = messages.encodeFunctionData(name, [message, attestation]);
  return { to, data, gasLimit: GAS.deliver, label: "delivery" };
}

export function burnCall(
  at: Pick<CalledContracts, "forwarders">,
  step: StepOf<"forward"> | StepOf<"flush">,
): Errand {
  const { maxFee, finality } = step.burn;
  const data =
    step.kind === "forward"
      ? forwarders.encodeFunctionData("forward", [step.terms, step.lane, maxFee, finality])
      : forwarders.encodeFunctionData("flush", [step.terms, maxFee, finality]);
  return { to: at.forwarders, data, gasLimit: GAS.burn, label: step.kind };
}

export function clockCall(
  at: Pick<CalledContracts, "forwarders">,
  { kind, vault }: StepOf<"touch"> | StepOf<"refund">,
): Errand {
  const data = forwarders.encodeFunctionData(...clockFunction(kind, vault));
  return { to: at.forwarders, data, gasLimit: GAS[kind], label: `${kind} (${vault.kind})` };
}

function clockFunction(kind: "touch" | "refund", vault: Vault): [string, readonly unknown[]] {
  const isTouch = kind === "touch";
  switch (vault.kind) {
    case "in":
      return [isTouch ? "touch" : "refund", [vault.terms]];
    case "out":
      return [isTouch ? "touchOut" : "returnOut", [vault.terms]];
    case "source":
      return [isTouch ? "touchSource" : "refundSource", [vault.terms, vault.lane]];
  }
}
