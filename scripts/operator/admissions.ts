/**
 * What comes into a pool and goes out of it, as the pool's events tell it, and the acts by which its owner changes that. One
 * way in (proposed, then admitted by anybody in its week), one way out. Whoever calls `propose` has judged the subject; the
 * pool only shows it to everybody. Signers come by a document alone (registration.ts). Trusts the node.
 */
import { Contract, Interface, type Log, type Provider, type Signer, type TransactionReceipt } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import {
  eventNamesOf,
  ownerEventOf,
  type Change,
  type OwnerEvent,
  type Role,
  type Subject,
} from "../../proxy/base/chain/owner-events.ts";
import { PoolRefused } from "./refusal.ts";

export { PoolRefused } from "./refusal.ts";

const CALLS: Readonly<Record<Role, Partial<Record<Act, string>>>> = {
  image: { propose: "proposeImage", admit: "admitImage", remove: "revokeImage" },
  signer: { remove: "removeSigner" },
  asset: { propose: "proposeAsset", admit: "addAsset", remove: "delistAsset" },
  executor: { propose: "proposeExecutor", admit: "setExecutor", remove: "removeExecutor" },
};

/** "expired": proposed, and nobody admitted it in time. */
export type Standing = Change | "expired";

export interface Admission {
  readonly subject: Subject;
  readonly standing: Standing;
  /** Unix seconds from which anybody may admit what is proposed. */
  readonly admissibleAt: number | undefined;
  /** Unix seconds from which nobody may any more. */
  readonly expiresAt: number | undefined;
  /** All that the pool's events about it said, the latest of each name. */
  readonly told: Readonly<Record<string, unknown>>;
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
  const admissions = new Map<Subject, Admission>();
  for (const log of logs) {
    const event = changeIn(log);
    if (event === undefined) continue;
    const { subject, change, proposal, told } = event;
    admissions.set(subject, {
      subject,
      standing: proposal !== undefined && now >= proposal.expiresAt ? "expired" : change,
      admissibleAt: proposal?.admissibleAt,
      expiresAt: proposal?.expiresAt,
      told: { ...admissions.get(subject)?.told, ...told },
    });
  }
  return [...admissions.values()];
}

function changeIn(log: Log): (OwnerEvent & Pick<Admission, "told">) | undefined {
  const { name, args } = POOL.parseLog(log) ?? {};
  const told: Readonly<Record<string, unknown>> = args?.toObject() ?? {};
  const event = ownerEventOf(name ?? "", told);
  return event && { ...event, told };
}

/** The chain's own clock, Unix seconds. */
export async function timeOf(provider: Provider): Promise<number> {
  return (await provider.getBlock("latest"))?.timestamp ?? 0;
}

export type Act = "propose" | "admit" | "remove";

/** What a proposal says beside its subject: of an image its kind, source and how it is built, of an asset its minimum cap. */
export type Terms =
  | { readonly kind: number; readonly commit: string; readonly buildCommand: string }
  | { readonly minimumCap: bigint };

/** The call that does it, for whoever signs elsewhere. */
export function callOf(role: Role, act: Act, subject: Subject, terms?: Terms): string {
  const name = CALLS[role][act];
  if (name === undefined) throw new TypeError(`nobody can ${act} a ${role}`);
  return POOL.encodeFunctionData(name, [subject, ...valuesOf(terms)]);
}

function valuesOf(terms: Terms | undefined): readonly unknown[] {
  if (terms === undefined) return [];
  return "minimumCap" in terms ? [terms.minimumCap] : [terms.kind, terms.commit, terms.buildCommand];
}

/** Waits until it is mined; what the pool said then of this subject. Throws PoolRefused. */
export async function act(
  sender: Signer,
  pool: Address,
  role: Role,
  what: Act,
  subject: Subject,
  terms?: Terms,
): Promise<Change> {
  let receipt: TransactionReceipt | null;
  try {
    const data = callOf(role, what, subject, terms);
    receipt = await (await sender.sendTransaction({ to: pool, data })).wait();
  } catch (error) {
    throw PoolRefused.in(error) ?? error;
  }
  for (const log of receipt?.logs ?? []) {
    const event = asAddress(log.address) === pool ? changeIn(log) : undefined;
    if (event?.role === role && event.subject === subject) return event.change;
  }
  throw new Error("the transaction was mined, and the pool said nothing: is this the pool?");
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
