/**
 * What the owner changed and proposed in the pool, as the pool's own events tell it, with what its reader may do: always
 * a transaction or a command for whoever holds the owner's key. Nothing is signed here.
 */
import { Interface } from "ethers";
import type { Enclaves } from "./contract/operator.ts";
import type { Instruction } from "./contract/values.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { checksumAddress } from "../../shared/api/checksum.ts";
import { readAttestation } from "../../shared/protocol/attestation-document.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { eventNamesOf, ownerEventOf, ROLES, type Role, type Subject } from "../base/chain/owner-events.ts";
import type { Chain } from "../base/chain/provider.ts";
import { DashboardError } from "./errors.ts";

export interface PoolParts {
  readonly chain: Pick<Chain, "logs" | "header" | "call" | "chainId">;
  readonly pool: Address;
  readonly deploymentBlock: number;
  readonly settledDepth?: number;
}

type Standing = Enclaves["admissions"][number]["standing"];

interface Known {
  readonly role: Role;
  readonly subject: Subject;
  readonly standing: Standing;
  readonly admissibleAt: number | undefined;
  readonly expiresAt: number | undefined;
  /** PCRs of the document by which a signer was registered: the pool has verified it. */
  readonly measurements: Readonly<Record<string, string>>;
}

const POOL = new Interface(POOL_ABI);
const TAKE_OUT = {
  ...{ image: "revokeImage", signer: "removeSigner", asset: "delistAsset", executor: "removeExecutor" },
} as const;
/** What is out of these comes back never. */
const FOR_EVER: ReadonlySet<Role> = new Set(["image", "signer"]);
const EVERY_NAME = ROLES.flatMap((role) => eventNamesOf(role));
/** Nodes refuse longer ranges in one question. */
const SPAN = 50_000;
/** Blocks that lie so deep are not replaced any more: they are asked for once. */
const SETTLED_DEPTH = 10_000;

/** What the blocks before `next` tell, by role and subject. */
interface History {
  readonly next: number;
  readonly known: ReadonlyMap<string, Known>;
}

export function createPoolView({ chain, pool, deploymentBlock, settledDepth = SETTLED_DEPTH }: PoolParts) {
  const topics = [EVERY_NAME.map((name) => POOL.getEvent(name)!.topicHash)];

  let settled: History = { next: deploymentBlock, known: new Map() };

  async function ask(name: string): Promise<unknown> {
    const answer = await chain.call({ to: pool, data: POOL.encodeFunctionData(name) });
    return POOL.decodeFunctionResult(name, answer)[0] as unknown;
  }

  async function readOn({ next, known }: History, to: number): Promise<History> {
    const found = new Map(known);
    for (let from = next; from <= to; from += SPAN) {
      const range = { fromBlock: from, toBlock: Math.min(from + SPAN - 1, to) };
      for (const log of await chain.logs(pool, range, topics)) take(found, log);
    }
    return { next: Math.max(next, to + 1), known: found };
  }

  async function read(newest: number): Promise<readonly Known[]> {
    settled = await readOn(settled, newest - settledDepth);
    return [...(await readOn(settled, newest)).known.values()];
  }

  const transaction = (title: string, effect: string, data: string): Instruction => ({
    ...{ title, effect, command: null },
    transaction: { to: checksumAddress(pool), data, value: "0", chain_id: Number(chain.chainId) },
  });

  return async (): Promise<Enclaves> => {
    try {
      const header = await chain.header("latest");
      if (header === undefined) throw new Error("no newest block");
      const now = header.timestamp;
      const [all, threshold, owner] = await Promise.all([
        read(header.number),
        ask("threshold"),
        ask("owner"),
      ]);
      const admissions = all
        .map((one) => ({ ...one, standing: standingAt(one, now) }))
        .sort((one, other) => rank(one.standing) - rank(other.standing));
      return {
        threshold: Number(threshold),
        running: admissions
          .filter(({ role, standing }) => role === "signer" && standing === "admitted")
          .map(({ subject, measurements }) => ({
            ...{ signer: shownSubject(subject), is_accepted: true, measurements },
          })),
        admissions: admissions.map((one) => ({
          ...{ role: one.role, subject: shownSubject(one.subject), standing: one.standing },
          withdrawable_until: one.standing === "proposed" ? time(one.admissibleAt) : null,
          expires_at: one.standing === "proposed" ? time(one.expiresAt) : null,
          instructions: instructionsFor(one, transaction),
        })),
        at: new Date(now * 1000).toISOString(),
        owner: asAddress(owner) === undefined ? null : checksumAddress(asAddress(owner)!),
        instructions: [
          transaction(
            "Close the attested path",
            "For the pool's guardian: for three days of ten the pool takes no attestation. Whoever leaves by a proof still can.",
            POOL.encodeFunctionData("pause"),
          ),
        ],
      };
    } catch (error) {
      throw new DashboardError("CHAIN_UNAVAILABLE", undefined, { cause: error });
    }
  };
}

function instructionsFor(
  { role, subject, standing }: Known,
  transaction: (title: string, effect: string, data: string) => Instruction,
): Instruction[] {
  if (standing !== "proposed" && standing !== "admitted") return [];
  const data = POOL.encodeFunctionData(TAKE_OUT[role], [subject]);
  const isProposed = standing === "proposed";
  return [
    transaction(
      isProposed ? `Withdraw this ${role}` : `Take this ${role} out`,
      FOR_EVER.has(role)
        ? `At once, and permanently. ${EFFECTS[role]}`
        : isProposed
          ? "Nobody can admit it any more. It may be proposed again, and waits the whole delay then."
          : `At once; to come back it has to be proposed, and waits the whole delay. ${EFFECTS[role]}`,
      data,
    ),
  ];
}

const EFFECTS: Readonly<Record<Role, string>> = {
  image: "Every signer of it is out, and no other comes in.",
  signer:
    "The pool takes no attestation of it from then on, and with too few signers only proofs move money.",
  asset: "No deposits of it and no swaps into it any more; withdrawals go on.",
  executor: "No swaps any more.",
};

function shownSubject(subject: Subject): string {
  const address = asAddress(subject);
  return address === undefined ? subject : checksumAddress(address);
}

const rank = (standing: Standing): number =>
  ["proposed", "admitted", "withdrawn", "removed", "expired"].indexOf(standing);
const time = (unixSecs: number | undefined): string | null =>
  unixSecs === undefined ? null : new Date(unixSecs * 1000).toISOString();

function standingAt({ standing, expiresAt }: Known, now: number): Standing {
  return standing === "proposed" && expiresAt !== undefined && now >= expiresAt ? "expired" : standing;
}

function take(
  found: Map<string, Known>,
  log: { readonly topics: readonly string[]; readonly data: string },
): void {
  const { name = "", args } = POOL.parseLog({ topics: [...log.topics], data: log.data }) ?? {};
  const told: Readonly<Record<string, unknown>> = args?.toObject() ?? {};
  const event = ownerEventOf(name, told);
  if (event === undefined) return;
  const { role, subject, change, proposal } = event;
  const before = found.get(`${role} ${subject}`);
  found.set(`${role} ${subject}`, {
    ...{ role, subject, standing: change },
    admissibleAt: proposal?.admissibleAt,
    expiresAt: proposal?.expiresAt,
    measurements: measurementsIn(told["document"]) ?? before?.measurements ?? {},
  });
}

function measurementsIn(document: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof document !== "string") return undefined;
  try {
    const { measurement } = readAttestation(mustFromHex(document)) ?? {};
    return measurement === undefined ? undefined : { ...measurement };
  } catch {
    // The chain's node said what no pool says.
    return undefined;
  }
}
