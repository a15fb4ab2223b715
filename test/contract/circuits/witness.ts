// Runs a circuit's witness program (circom's WebAssembly interface), either as it is or with its own
// assertions taken out. The second is the attacker: nothing obliges a prover to run assertions, so only
// what the constraints refuse is refused.

import { readFileSync } from "node:fs";
import path from "node:path";
import { repositoryRoot } from "../../../scripts/build/circuits/compile.ts";
import { FIELD_ORDER } from "./r1cs.ts";

export type Inputs = Readonly<Record<string, InputValue>>;
type InputValue = bigint | readonly InputValue[];

interface Exports {
  init(sanityCheck: number): void;
  getMessageChar(): number;
  getWitnessSize(): number;
  getWitness(wire: number): void;
  readSharedRWMemory(at: number): number;
  writeSharedRWMemory(at: number, value: number): void;
  setInputSignal(hashHigh: number, hashLow: number, index: number): void;
  getInputSignalSize(hashHigh: number, hashLow: number): number;
}

export interface Outcome {
  readonly witness: readonly bigint[];
  /** The source lines of the assertions that did not hold, each once. */
  readonly brokenRules: readonly string[];
}

export class WitnessProgram {
  readonly #honest: WebAssembly.Module;
  readonly #forging: WebAssembly.Module;

  private constructor(honest: WebAssembly.Module, forging: WebAssembly.Module) {
    this.#honest = honest;
    this.#forging = forging;
  }

  static async load(wasm: Uint8Array<ArrayBuffer>): Promise<WitnessProgram> {
    return new WitnessProgram(
      await WebAssembly.compile(wasm),
      await WebAssembly.compile(withoutAssertions(wasm)),
    );
  }

  /** Throws where the circuit's own assertions fail. */
  async honest(inputs: Inputs): Promise<readonly bigint[]> {
    return (await run(this.#honest, inputs)).witness;
  }

  /** Goes through, and tells which assertions were passed over. */
  forge(inputs: Inputs): Promise<Outcome> {
    return run(this.#forging, inputs);
  }
}

/**
 * An assertion ends with: print the message, put error 4, return, end of block. The return becomes
 * three times nothing, so the message is printed and the computation goes on.
 */
function withoutAssertions(wasm: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const patched = Buffer.from(wasm);
  const failing = Buffer.from([0x10, 0x01, 0x41, 0x04, 0x0f, 0x0b]);
  let found = 0;
  for (let at = patched.indexOf(failing); at >= 0; at = patched.indexOf(failing, at)) {
    patched.fill(0x01, at + 2, at + 5);
    found += 1;
  }
  if (found === 0) throw new Error("no assertion found: the compiler writes them in another way now");
  return new Uint8Array(patched);
}

async function run(module: WebAssembly.Module, inputs: Inputs): Promise<Outcome> {
  const brokenRules = new Set<string>();
  let message = "";
  const instance = await WebAssembly.instantiate(module, {
    runtime: {
      exceptionHandler: (code: number) => {
        throw new Error(`witness program refused (${String(code)}): ${[...brokenRules].join(" ")}`);
      },
      printErrorMessage: () => {
        message = "";
        for (let char = exports.getMessageChar(); char !== 0; char = exports.getMessageChar()) {
          message += String.fromCharCode(char);
        }
        brokenRules.add(sourceLine(message));
      },
      writeBufferMessage: () => undefined,
      showSharedRWMemory: () => undefined,
    },
  });
  const exports = instance.exports as unknown as Exports;
  exports.init(1);
  for (const [name, value] of Object.entries(inputs)) {
    const [high, low] = nameHash(name);
    const flat = flatten(value);
    if (exports.getInputSignalSize(high, low) !== flat.length)
      throw new Error(`wrong number of values for ${name}`);
    flat.forEach((number, index) => {
      writeField(exports, number);
      exports.setInputSignal(high, low, index);
    });
  }
  const witness: bigint[] = [];
  for (let wire = 0; wire < exports.getWitnessSize(); wire++) {
    exports.getWitness(wire);
    witness.push(readField(exports));
  }
  return { witness, brokenRules: [...brokenRules] };
}

function flatten(value: InputValue): bigint[] {
  return typeof value === "bigint" ? [value] : value.flatMap(flatten);
}

function writeField(exports: Exports, value: bigint): void {
  if (value < 0n || value >= FIELD_ORDER) throw new RangeError("an input is a field element");
  for (let i = 0; i < 8; i++) exports.writeSharedRWMemory(i, Number((value >> BigInt(32 * i)) & 0xffffffffn));
}

function readField(exports: Exports): bigint {
  let value = 0n;
  for (let i = 7; i >= 0; i--) value = (value << 32n) | BigInt(exports.readSharedRWMemory(i) >>> 0);
  return value;
}

/** FNV-1a with 64 bits: how the program looks a signal's name up. */
function nameHash(name: string): [high: number, low: number] {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(name)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return [Number(hash >> 32n), Number(hash & 0xffffffffn)];
}

const TEMPLATE_FILES = [
  ...["join-split", "merkle", "note", "value"].map((name) =>
    path.join("shared", "circuits", "lib", `${name}.circom`),
  ),
  ...["bitify", "comparators"].map((name) =>
    path.join("node_modules", "circomlib", "circuits", `${name}.circom`),
  ),
].map((file) => readFileSync(path.join(repositoryRoot, file), "utf8"));

/** "Error in template Value_3 line: 14" as `Value: the text of line 14`. */
function sourceLine(message: string): string {
  const match = /template (\w+)_\d+ line: (\d+)/.exec(message);
  const template = match?.[1] ?? "";
  const file = TEMPLATE_FILES.find((text) => text.includes(`template ${template}(`));
  const line = file?.split("\n")[Number(match?.[2]) - 1];
  return line === undefined ? message : `${template}: ${line.trim()}`;
}
