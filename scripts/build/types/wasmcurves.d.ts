/** What scripts/build/pairings.ts uses of wasmcurves 0.2.2 and the builder that it brings; neither ships types. */
declare module "wasmcurves" {
  import type { ModuleBuilder } from "wasmbuilder";
  /** Adds the functions of BN254, which they call bn128. */
  export function buildBn128(to: ModuleBuilder): void;
}
declare module "wasmbuilder" {
  export class ModuleBuilder {
    /** Least size of the memory that the module is given, in pages of 64 KiB. */
    setMemory(pages: number): void;
    build(): Uint8Array;
  }
}
