/**
 * `npm run operator -- assets judge TOKEN`: tries a token before its holders' money depends on it. A node simulates that an
 * account which holds some of it pays: nothing is sent. What a token will do tomorrow, nobody can try: where its issuer can
 * change, stop or take, this says so.
 */
import { dataSlice, getAddress, Interface, ZeroHash, zeroPadValue, type JsonRpcApiProvider } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { loadArtifact } from "../build/contracts.ts";

/** `unfit`: do not list it. `doubt`: read before you do. */
export type Weight = "unfit" | "doubt";

export interface Remark {
  readonly weight: Weight;
  readonly code: keyof typeof REMARKS;
  readonly text: string;
}

export const REMARKS = {
  NO_TOKEN: "it has no balanceOf or no totalSupply",
  REFUSES: "a plain transfer reverts",
  ANSWERS_FALSE: "a transfer that moves money does not answer true, or nothing",
  MOVES_OTHERWISE:
    "what leaves, or what arrives, is not what was asked for: a fee, or balances that change by themselves",
  NOTHING_REFUSED: "a transfer of nothing reverts",
  SAME_BALANCE: "it is another name for the balance of a token that is listed",
  TOO_MANY: "there may be more of it than 128 bits of smallest units",
  DEAR: "a transfer takes more gas than a payment of the pool is sure to get",
  RUNS_PAYEES: "it calls whoever is paid: a payee can refuse",
  MANY_DECIMALS: "it has more than 18 decimals: figures are hard to read, and amounts near to what fits",
  CHANGEABLE: "its issuer can put other code in its place",
  STOPPABLE: "its issuer can stop it, or accounts of it: then nobody's notes of it move, or not to them",
  NO_AUTHORIZATION: "it has no EIP-3009: depositors must send a transaction of their own",
} as const;

const UNFIT = new Set<Remark["code"]>([
  ...([
    "NO_TOKEN",
    "REFUSES",
    "ANSWERS_FALSE",
    "MOVES_OTHERWISE",
    "SAME_BALANCE",
    "TOO_MANY",
    "DEAR",
  ] as const),
]);

export interface TokenQuestion {
  readonly provider: JsonRpcApiProvider;
  readonly token: Address;
  /** An account that has some of it: the pool, where it is listed already. */
  readonly holder: Address;
  /** Other tokens that the pool takes. */
  readonly others: readonly Address[];
}

const WIDEST = 2n ** 128n - 1n;
/** Half of what a payment of the pool gets at least (`memberGas`): it has other work to do. */
const MOST_GAS = 250_000n;
/** Nobody's: the hash of a sentence. */
const PAYEE = dataSlice(keccakHex(new TextEncoder().encode("a payee of a token that is tried")), 12);
/** EIP-1967: implementation and beacon. */
const PROXY_SLOTS = ["eip1967.proxy.implementation", "eip1967.proxy.beacon"].map(slotOf);
/** Of which dollars of issuers have some: USDC, USDT, PYUSD, EURC. */
const STOPPERS = [
  "pause()",
  "paused()",
  "blacklist(address)",
  "isBlacklisted(address)",
  "isBlackListed(address)",
];
const ERC1820 = "0x1820a4B7618BdE71Dce8cdc73aAB6C95905faD24";

interface Trial {
  readonly isDone: boolean;
  readonly answerSize: bigint;
  readonly answer: bigint;
  readonly left: bigint;
  readonly came: bigint;
  readonly gas: bigint;
}
interface Tried {
  readonly ofSome: Trial;
  readonly ofNone: Trial;
  readonly calls: bigint;
  readonly isApart: readonly boolean[];
}

/** Throws where the node cannot simulate, and where the holder has nothing. */
export async function judgeToken(question: TokenQuestion): Promise<Remark[]> {
  const { provider, token, holder, others } = question;
  const found: Remark[] = [];
  const remark = (code: Remark["code"], detail = ""): void => {
    const text = detail === "" ? REMARKS[code] : `${REMARKS[code]} (${detail})`;
    found.push({ weight: UNFIT.has(code) ? "unfit" : "doubt", code, text });
  };
  const held = await numberOf(question, "balanceOf", [holder]);
  const supply = await numberOf(question, "totalSupply");
  if (held === undefined || supply === undefined) {
    remark("NO_TOKEN");
    return found;
  }
  if (held === 0n)
    throw new Error(
      `${getAddress(holder)} has nothing of it to try: name an account that has, with --holder`,
    );
  const decimals = (await numberOf(question, "decimals")) ?? 0n;
  if (supply > WIDEST) remark("TOO_MANY", `${String(supply)} now`);
  if (decimals > 18n) remark("MANY_DECIMALS", String(decimals));

  const amount = held / 2n + 1n;
  const tried = await tryIt(provider, holder, [
    token,
    amount,
    PAYEE,
    others.filter((other) => other !== token),
  ]);
  judgeTrials(tried, amount, remark);
  for (const [i, other] of others.filter((one) => one !== token).entries())
    if (tried.isApart[i] === false) remark("SAME_BALANCE", getAddress(other));
  if (tried.calls > 0n || (await isRegisteredWithHooks(provider, token))) remark("RUNS_PAYEES");

  const code = await provider.getCode(token);
  const slots = await Promise.all(PROXY_SLOTS.map((slot) => provider.getStorage(token, slot)));
  const behind = slots.find((value) => BigInt(value) !== 0n);
  if (behind !== undefined) remark("CHANGEABLE", `now ${getAddress(dataSlice(behind, 12))}`);
  const all = behind === undefined ? code : code + (await provider.getCode(dataSlice(behind, 12)));
  if (STOPPERS.some((name) => all.includes(selectorOf(name)))) remark("STOPPABLE");
  if ((await numberOf(question, "authorizationState", [holder, ZeroHash])) === undefined)
    remark("NO_AUTHORIZATION");
  return found;
}

function judgeTrials(
  { ofSome, ofNone }: Tried,
  amount: bigint,
  remark: (code: Remark["code"], detail?: string) => void,
): void {
  if (!ofSome.isDone) {
    remark("REFUSES");
    return;
  }
  const isTrue = ofSome.answerSize === 0n || (ofSome.answerSize >= 32n && ofSome.answer === 1n);
  if (!isTrue) remark("ANSWERS_FALSE");
  if (ofSome.left !== amount || ofSome.came !== amount)
    remark("MOVES_OTHERWISE", `of ${amount}, ${ofSome.left} left and ${ofSome.came} came`);
  if (ofSome.gas > MOST_GAS) remark("DEAR", `${ofSome.gas}`);
  if (!ofNone.isDone) remark("NOTHING_REFUSED");
}

async function tryIt(
  provider: JsonRpcApiProvider,
  holder: Address,
  args: readonly unknown[],
): Promise<Tried> {
  const probe = await loadArtifact("TokenProbe");
  const iface = new Interface(probe.abi);
  const data = iface.encodeFunctionData("tries", args);
  const overrides = {
    [holder]: { code: await runtimeOf(provider, probe.bytecode) },
    [PAYEE]: { code: await runtimeOf(provider, (await loadArtifact("TokenPayee")).bytecode) },
  };
  let answer: string;
  try {
    answer = (await provider.send("eth_call", [{ to: holder, data }, "latest", overrides])) as string;
  } catch (error) {
    throw new Error("the node does not simulate it: one that takes state overrides in eth_call is needed", {
      cause: error,
    });
  }
  // A node that passes over what it does not know runs the holder's own code, or none.
  if (answer === "0x") throw new Error("the node takes no state overrides in eth_call");
  return iface.decodeFunctionResult("tries", answer)[0] as Tried;
}

/** What its constructor would leave. */
function runtimeOf(provider: JsonRpcApiProvider, creation: string): Promise<string> {
  return provider.call({ data: creation });
}

/** Undefined where it has no such reader. */
async function numberOf(
  { provider, token }: TokenQuestion,
  name: string,
  args: readonly unknown[] = [],
): Promise<bigint | undefined> {
  try {
    const answer = await provider.call({ to: token, data: READERS.encodeFunctionData(name, args) });
    return /^0x[0-9a-f]{64}/i.test(answer) ? BigInt(answer.slice(0, 66)) : undefined;
  } catch (error) {
    if ((error as { code?: string }).code === "CALL_EXCEPTION") return undefined;
    throw error;
  }
}

const READERS = new Interface([
  "function balanceOf(address) view returns (uint256)",
  "function totalSupply() view returns (uint256)",
  "function decimals() view returns (uint8)",
  "function authorizationState(address, bytes32) view returns (bool)",
]);

/** ERC-777 as its tokens register it (EIP-1820). */
async function isRegisteredWithHooks(provider: JsonRpcApiProvider, token: Address): Promise<boolean> {
  if ((await provider.getCode(ERC1820)) === "0x") return false;
  const registry = new Interface([
    "function getInterfaceImplementer(address, bytes32) view returns (address)",
  ]);
  const name = keccakHex(new TextEncoder().encode("ERC777Token"));
  const data = registry.encodeFunctionData("getInterfaceImplementer", [token, name]);
  return BigInt(await provider.call({ to: ERC1820, data })) !== 0n;
}

function slotOf(name: string): string {
  return zeroPadValue(`0x${(BigInt(keccakHex(new TextEncoder().encode(name))) - 1n).toString(16)}`, 32);
}

function selectorOf(signature: string): string {
  return keccakHex(new TextEncoder().encode(signature)).slice(2, 10);
}
