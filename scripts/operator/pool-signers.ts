/**
 * The pool's list of signers: what its events say of each, and the owner's three acts. Whoever calls `propose`
 * has verified the genesis document; the pool only shows it to everybody.
 */
import { Contract, Interface, type Provider, type Signer } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { asAddress, type Address } from "../../shared/protocol/brands.ts";
import { equalBytes, mustFromHex, toHex } from "../../shared/protocol/bytes.ts";

export interface PoolSigner {
  readonly signer: Address;
  readonly standing: "proposed" | "admitted" | "removed";
  /** Unix seconds from which anybody may admit a proposed one. */
  readonly admissibleAt: number | undefined;
  /** Of the latest proposal; undefined for one that came with the pool itself. */
  readonly genesisDocument: Uint8Array | undefined;
}

const POOL = new Interface(POOL_ABI);
const EVENTS = ["SignerProposed", "SignerAdded", "SignerRemoved"] as const;

/** In the order in which they were first named. */
export async function readSigners(provider: Provider, pool: Address, fromBlock = 0): Promise<PoolSigner[]> {
  const topics = [EVENTS.map((name) => POOL.getEvent(name)!.topicHash)];
  const logs = await provider.getLogs({ address: pool, topics, fromBlock, toBlock: "latest" });
  const signers = new Map<Address, PoolSigner>();
  for (const log of logs) {
    const event = POOL.parseLog(log);
    const signer = asAddress(event?.args["signer"]);
    if (event === null || signer === undefined) continue;
    const before = signers.get(signer);
    if (event.name === "SignerProposed") {
      signers.set(signer, {
        signer,
        standing: "proposed",
        admissibleAt: Number(event.args["admissibleAt"]),
        genesisDocument: mustFromHex(String(event.args["genesisDocument"])),
      });
    } else {
      const standing = event.name === "SignerAdded" ? "admitted" : "removed";
      signers.set(signer, {
        signer,
        standing,
        admissibleAt: undefined,
        genesisDocument: before?.genesisDocument,
      });
    }
  }
  return [...signers.values()];
}

interface SignerCalls {
  proposeSigner(signer: string, genesisDocument: string): Promise<{ wait(): Promise<unknown> }>;
  addSigner(signer: string): Promise<{ wait(): Promise<unknown> }>;
  removeSigner(signer: string): Promise<{ wait(): Promise<unknown> }>;
}

function calls(owner: Signer, pool: Address): SignerCalls {
  return new Contract(pool, POOL_ABI, owner) as unknown as SignerCalls;
}

/** The document goes into the event, for everybody to verify during the delay. Throws PoolRefused. */
export async function proposeSigner(
  owner: Signer,
  pool: Address,
  signer: Address,
  genesisDocument: Uint8Array,
): Promise<void> {
  await sent(calls(owner, pool).proposeSigner(signer, toHex(genesisDocument)));
}

/** Anybody's act, once the delay is over. Throws PoolRefused. */
export async function addSigner(anybody: Signer, pool: Address, signer: Address): Promise<void> {
  await sent(calls(anybody, pool).addSigner(signer));
}

/** At once and for good. Throws PoolRefused. */
export async function removeSigner(owner: Signer, pool: Address, signer: Address): Promise<void> {
  await sent(calls(owner, pool).removeSigner(signer));
}

/** The pool's own error; anything else passes through. */
export class PoolRefused extends Error {
  readonly code: string;
  constructor(code: string, cause: unknown) {
    super(`the pool refuses: ${code}`, { cause });
    this.code = code;
  }
}

async function sent(call: Promise<{ wait(): Promise<unknown> }>): Promise<void> {
  try {
    await (await call).wait();
  } catch (error) {
    const { data } = error as { readonly data?: unknown };
    const refusal = typeof data === "string" ? POOL.parseError(data) : null;
    if (refusal === null) throw error;
    throw new PoolRefused(refusal.name, error);
  }
}

/** Whether a proposal on the chain shows this very document. */
export function shows(proposed: PoolSigner, genesisDocument: Uint8Array): boolean {
  return proposed.genesisDocument !== undefined && equalBytes(proposed.genesisDocument, genesisDocument);
}

/** Until the chain's own clock has passed that time. `passTime` is for a chain that makes no block by itself. */
export async function waitForTime(
  provider: Provider,
  unixSecs: number,
  passTime: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  while (((await provider.getBlock("latest"))?.timestamp ?? 0) < unixSecs) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    await passTime();
  }
}
