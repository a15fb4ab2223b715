/**
 * What the owner may change in a pool, signers, assets and the executor, as the pool's events tell it, and the acts
 * that change it. One way in (proposed, then admitted by anybody in its week), one way out. Whoever calls `propose`
 * has judged the subject; the pool only shows it to everybody. Trusts the node.
 */
import { Contract, Interface, type Log, type Provider, type Signer, type TransactionReceipt } from "ethers";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { asAddress, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import {
  eventNamesOf,
  ownerEventOf,
  type Change,
  type OwnerEvent,
  type Role,
} from "../../../proxy/chain/owner-events.ts";

const CALLS = {
  signer: { propose: "proposeSigner", admit: "addSigner", remove: "removeSigner" },
  asset: { propose: "proposeAsset", admit: "addAsset", remove: "delistAsset" },
  executor: { propose: "proposeExecutor", admit: "setExecutor", remove: "removeExecutor" },
} as const;

/** "expired": proposed, and nobody admitted it in time. */
export type Standing = Change | "expired";

export interface Admission {
  readonly subject: Address;
  readonly standing: Standing;
  /** Unix seconds from which anybody may admit what is proposed. */
  readonly admissibleAt: number | undefined;
  /** Unix seconds from which nobody may any more. */
  readonly expiresAt: number | undefined;
  /** Of a signer's latest proposal; undefined for one that came with the pool itself. */
  readonly genesisDocument: Uint8Array | undefined;
}

const POOL = new Interface(POOL_ABI);

/** In the order in which they were first named; as of the newest block. */
export async function readAdmissions(
  provider: Provider,
  pool: Address,
  role: Role,
  fromBlock = 0,
): Promise<Admission[]> {
  const topics = [eventNamesOf(role).map((name) => POOL.getEvent(name)!.topicHash)];
  const logs = await provider.getLogs({ address: pool, topics, fromBlock, toBlock: "latest" });
  const now = await timeOf(provider);
  const admissions = new Map<Address, Admission>();
  for (const log of logs) {
    const event = changeIn(log);
    if (event === undefined) continue;
    const { subject, change, proposal, genesisDocument } = event;
    admissions.set(subject, {
      subject,
      standing: proposal !== undefined && now >= proposal.expiresAt ? "expired" : change,
      admissibleAt: proposal?.admissibleAt,
      expiresAt: proposal?.expiresAt,
      genesisDocument: proposal === undefined ? admissions.get(subject)?.genesisDocument : genesisDocument,
    });
  }
  return [...admissions.values()];
}

function changeIn(log: Log): (OwnerEvent & Pick<Admission, "genesisDocument">) | undefined {
  const { name, args } = POOL.parseLog(log) ?? {};
  const told: Readonly<Record<string, unknown>> = args?.toObject() ?? {};
  const event = ownerEventOf(name ?? "", told);
  const document = told["genesisDocument"];
  const genesisDocument = typeof document === "string" ? mustFromHex(document) : undefined;
  return event && { ...event, genesisDocument };
}

/** The chain's own clock, Unix seconds. */
export async function timeOf(provider: Provider): Promise<number> {
  return (await provider.getBlock("latest"))?.timestamp ?? 0;
}

export type Act = "propose" | "admit" | "remove";

/** What a proposal says beside its subject: of a signer its image and document, of an asset its minimum cap. */
export type Terms =
  { readonly image: Bytes32; readonly genesisDocument: Uint8Array } | { readonly minimumCap: bigint };

/** The call that does it, for whoever signs elsewhere. */
export function callOf(role: Role, act: Act, subject: Address, terms?: Terms): string {
  return POOL.encodeFunctionData(CALLS[role][act], [subject, ...valuesOf(terms)]);
}

function valuesOf(terms: Terms | undefined): readonly unknown[] {
  if (terms === undefined) return [];
  return "minimumCap" in terms ? [terms.minimumCap] : [terms.image, toHex(terms.genesisDocument)];
}

/** Waits until it is mined; what the pool said then of this subject. Throws PoolRefused. */
export async function act(
  sender: Signer,
  pool: Address,
  role: Role,
  what: Act,
  subject: Address,
  terms?: Terms,
): Promise<Change> {
  let receipt: TransactionReceipt | null;
  try {
    const data = callOf(role, what, subject, terms);
    const value = role === "signer" && what === "admit" ? await bondOf(sender, pool) : 0n;
    receipt = await (await sender.sendTransaction({ to: pool, data, value })).wait();
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal === undefined) throw error;
    throw new PoolRefused(refusal, error);
  }
  for (const log of receipt?.logs ?? []) {
    const event = asAddress(log.address) === pool ? changeIn(log) : undefined;
    if (event?.role === role && event.subject === subject) return event.change;
  }
  throw new Error("the transaction was mined, and the pool said nothing: is this the pool?");
}

/** Wei that stand for each signer, and come with it. */
async function bondOf(sender: Signer, pool: Address): Promise<bigint> {
  return new Contract(pool, POOL_ABI, sender).getFunction("signerBond")() as Promise<bigint>;
}

/** The pool's own error; anything else passes through. */
export class PoolRefused extends Error {
  readonly code: string;
  constructor(code: string, cause: unknown) {
    super(`the pool refuses: ${code}`, { cause });
    this.code = code;
  }
}

function refusalIn(error: unknown): string | undefined {
  const { data } = error as { readonly data?: unknown };
  return typeof data === "string" ? POOL.parseError(data)?.name : undefined;
}

/** Throws where no pool answers. */
export async function ownerOf(provider: Provider, pool: Address): Promise<Address> {
  try {
    const owner = asAddress(await new Contract(pool, POOL_ABI, provider).getFunction("owner")());
    if (owner !== undefined) return owner;
  } catch (error) {
    // No code, or another contract's; a node that is unreachable says so in its own words.
    if (
      (error as { code?: unknown }).code !== "BAD_DATA" &&
      (error as { code?: unknown }).code !== "CALL_EXCEPTION"
    )
      throw error;
  }
  throw new Error(`${pool} is no pool on this chain`);
}

/** Until the chain's own clock has passed that time. `passTime` is for a chain that makes no block by itself. */
export async function waitForTime(
  provider: Provider,
  unixSecs: number,
  passTime: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  while ((await timeOf(provider)) < unixSecs) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    await passTime();
  }
}
