/**
 * Bytecode of Hyperlane's published contracts. The package is large and only this venue needs it, so it has a lock of
 * its own and is installed under .cloister/ the first time.
 */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const ROOT = path.join(import.meta.dirname, "..", "..", "..", "..");
const STATE = path.join(ROOT, ".cloister", "hyperlane");
const LOCKED = ["package-lock.json", "package.json"];
const FACTORIES = path.join(STATE, "node_modules/@hyperlane-xyz/core/dist/typechain/factories/contracts");

const PLACES = {
  mailbox: "Mailbox__factory.js",
  merkleTreeHook: "hooks/MerkleTreeHook__factory.js",
  protocolFee: "hooks/ProtocolFee__factory.js",
  ismFactory: "isms/multisig/StaticMultisigIsm.sol/StaticMessageIdMultisigIsmFactory__factory.js",
  collateralRoute: "token/HypERC20Collateral__factory.js",
} as const;
export type HyperlaneContract = keyof typeof PLACES;

/** Minutes the first time, nothing afterwards. */
export async function installHyperlane(): Promise<void> {
  const files = LOCKED.map(
    (name) => [path.join(import.meta.dirname, "package", name), path.join(STATE, name)] as const,
  );
  const isCurrent = files.every(
    ([from, to]) => existsSync(to) && readFileSync(from, "utf8") === readFileSync(to, "utf8"),
  );
  if (isCurrent && existsSync(FACTORIES)) return;
  mkdirSync(STATE, { recursive: true });
  for (const [from, to] of files) copyFileSync(from, to);
  // What it would have beside it is for those who compile it.
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"];
  await promisify(execFile)("npm", args, { cwd: STATE });
}

export function bytecodeOf(contract: HyperlaneContract): string {
  const text = readFileSync(path.join(FACTORIES, PLACES[contract]), "utf8");
  const code = /const _bytecode = "(0x[0-9a-f]+)"/.exec(text)?.[1];
  if (code === undefined) throw new Error(`Hyperlane's package has no bytecode of ${contract}`);
  return code;
}
