/** The part of solc-js 0.8 that the build uses; the package's own types are CommonJS and wider. */
declare module "solc" {
  const solc: {
    version(): string;
    /** Standard JSON in, standard JSON out (Solidity documentation, "Compiler Input and Output JSON Description"). */
    compile(standardJson: string): string;
  };
  export default solc;
}
