/** People of the scenarios of bridges, who have keys that anybody knows. */
import { HDNodeWallet } from "ethers";
import { DEVELOPMENT_MNEMONIC } from "../../../../scripts/stand-ins/anvil.ts";

/** Unlocked accounts of every local chain: who pays, and somebody else. */
export const person = (n: number): HDNodeWallet =>
  HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, undefined, `m/44'/60'/0'/0/${String(n)}`);
export const PAYER = 7;
export const STRANGER = 8;
