/** The part of WebAssembly that enclave/bn254.ts uses: without the DOM's types, no others are there. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: MemoryDescriptor);
    readonly buffer: ArrayBuffer;
  }
  /** In pages of 64 KiB. */
  interface MemoryDescriptor {
    initial: number;
    maximum?: number;
  }
  interface Instance {
    readonly exports: Exports;
  }
  type Exports = Record<string, unknown>;
  function instantiate(
    code: Uint8Array<ArrayBuffer>,
    imports: { readonly env: { readonly memory: Memory } },
  ): Promise<{ instance: Instance }>;
}
