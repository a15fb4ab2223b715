/**
 * What a contract said when it refused a step, in words of ours: the reasons that pass by themselves or that somebody can do
 * something about. Theirs are compared and never passed on, since a stranger's contract may say anything.
 */
import { Interface } from "ethers";

/** Of the forwarders: what a token or messenger said to a vault, which cuts it off behind 128 bytes. */
const BY_VAULT = new Interface(["error TransferRefused(bytes answer)"]);
/** Selector, place and length of `Error(string)`. */
const [ERROR, TEXT_AT] = ["08c379a0", 68];

/** As Circle's contracts say it: CCTP v2, its dollar, and the contracts before the exchange. */
const WORDS: Readonly<Record<string, string>> = {
  "Burn amount exceeds per tx limit":
    "more lies there than the bridge burns at once; after the clock it can be taken back",
  "Insufficient max fee": "the bridge asks for a higher fee now than the step offers",
  "Denylistable: account is on denylist": "the bridge's denylist has one of its accounts",
  "Blacklistable: account is blacklisted": "the token's issuer has blocked one of its accounts",
  "Pausable: paused": "the token, the bridge or the exchange's contract is paused",
  "FiatToken: mint amount exceeds minterAllowance": "the bridge may mint no more of the token at the moment",
  "Message expired and must be re-signed": "its fast attestation has expired",
  "Nonce already used": "it is delivered already",
  "Forwarding address not set": "the exchange's contract takes none of this token at the moment",
  "Invalid forward recipient": "the exchange's contract takes nothing for this account",
  "Invalid recipient: system address": "the exchange's contract takes nothing for this account",
  "Invalid recipient: CoreDepositWallet": "the exchange's contract takes nothing for this account",
  "Invalid recipient: blacklisted": "the token's issuer has blocked the account on the exchange",
  "Amount must exceed new account fee": "it is no more than the exchange takes for a new account",
};

/** The contract's own text; undefined for revert data of another kind. */
export function textIn(data: string): string | undefined {
  const bytes = Buffer.from((toldVault(data) ?? data).slice(2), "hex");
  if (bytes.length < TEXT_AT || bytes.toString("hex", 0, 4) !== ERROR) return undefined;
  const length = BigInt(`0x${bytes.toString("hex", TEXT_AT - 32, TEXT_AT)}`);
  // A decoder would miss the padding that was cut off.
  return length > bytes.length - TEXT_AT
    ? undefined
    : bytes.toString("utf8", TEXT_AT, TEXT_AT + Number(length));
}

function toldVault(data: string): string | undefined {
  try {
    return BY_VAULT.decodeErrorResult("TransferRefused", data)[0] as string;
  } catch {
    return undefined;
  }
}

/** Undefined for what has no words of ours. */
export function refusalWords(data: string): string | undefined {
  const text = textIn(data);
  return text !== undefined && Object.hasOwn(WORDS, text) ? WORDS[text] : undefined;
}
