// Each circuit with what the attack tests start from: honest witnesses and the order of computation.

import type { Kind } from "../../../shared/protocol/statements.ts";
import { compiled, type Compiled } from "./compiled.ts";
import { Forward } from "./forward.ts";
import { bitsOf, twoValuedOf } from "./two-valued.ts";
import { Order } from "./order.ts";
import { anEmptySpend, anyInputs, Dice } from "./statements.ts";
import { spendInputs } from "../../support/oracle.ts";
import { WitnessProgram } from "./witness.ts";

export interface Subject {
  readonly circuit: Compiled;
  readonly program: WitnessProgram;
  /** Notes are spent and value leaves (or enters) in public. */
  readonly paying: Forward;
  /**
   * Notes of nothing: no step leads from a note to the root, so that a fault in a path stays alone. A deposit
   * has no paths.
   */
  readonly empty: Forward | undefined;
  /** The main component's inputs by wire, with their names; public ones first. */
  readonly inputs: ReadonlyMap<number, string>;
  /** Wires that a constraint of their own makes bits. */
  readonly bits: ReadonlySet<number>;
  /** What a prover chooses: those inputs that others do not decide, and the bits. */
  readonly given: ReadonlySet<number>;
  readonly order: Order;
}

const cache = new Map<Kind, Promise<Subject>>();

export function subject(kind: Kind): Promise<Subject> {
  let found = cache.get(kind);
  if (found === undefined) {
    found = prepare(kind);
    cache.set(kind, found);
  }
  return found;
}

async function prepare(kind: Kind): Promise<Subject> {
  const circuit = await compiled(kind);
  const { r1cs } = circuit;
  const program = await WitnessProgram.load(new Uint8Array(circuit.wasm));
  const dice = new Dice(`subject: ${kind}`);
  const inputs = new Map(
    [...circuit.wires].flatMap(([name, wire]) =>
      wire > 0 && /^main\.[^.]+$/.test(name) ? [[wire, name.slice("main.".length)] as const] : [],
    ),
  );
  const bits = bitsOf(twoValuedOf(r1cs));
  // These are inputs too, but follow from private ones: the asset shown from that of the notes spent.
  const follows = kind === "deposit-shield" ? /^commitments\[/ : /^(asset$|nullifiers\[|commitments\[)/;
  const chosen = [...inputs].filter(([, name]) => !follows.test(name));
  const given = new Set([...chosen.map(([wire]) => wire), ...bits]);
  const paid = await program.honest(anyInputs(dice, kind));
  const order = new Order(r1cs, paid, given);
  return {
    circuit,
    program,
    paying: new Forward(r1cs, paid, order),
    empty:
      kind === "deposit-shield"
        ? undefined
        : new Forward(r1cs, await program.honest(spendInputs(anEmptySpend(dice, kind))), order),
    inputs,
    bits,
    given,
    order,
  };
}

/** A wire's name in the source, the main component's own where there are several. */
export function nameOf({ circuit }: Pick<Subject, "circuit">, wire: number): string {
  const names = [...circuit.wires].filter(([, at]) => at === wire).map(([name]) => name);
  return names.find((name) => /^main\.[^.]+$/.test(name)) ?? names[0] ?? `wire ${String(wire)}`;
}
