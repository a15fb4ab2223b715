/**
 * Validator and relayer in one: follows the messages of every chain, signs the checkpoint of each and delivers it. It
 * keeps nothing: what is delivered is asked of the receiving mailbox, so it can be ended and started at any time.
 */
import { Contract, Interface, keccak256, type JsonRpcProvider, type Signer, type Wallet } from "ethers";
import { MessageTree, signedMetadata } from "./checkpoint.ts";
import type { HyperlaneEnd } from "./deploy.ts";

export interface RelayedEnd extends Pick<HyperlaneEnd, "domain" | "mailbox" | "merkleTreeHook"> {
  readonly provider: JsonRpcProvider;
  /** Pays for deliveries to this chain. */
  readonly sender: Signer;
}

const EVENTS = new Interface([
  "event Dispatch(address indexed sender, uint32 indexed destination, bytes32 indexed recipient, bytes message)",
  "event InsertedIntoTree(bytes32 messageId, uint32 index)",
]);
const MAILBOX = [
  "function delivered(bytes32 id) view returns (bool)",
  "function process(bytes metadata, bytes message) payable",
];
const TREE = ["function root() view returns (bytes32)"];

export interface Delivery {
  readonly messageId: string;
  readonly gasUsed: bigint;
}

/** One round: everything that was dispatched and is not delivered yet. `depth`: blocks on top that are waited for. */
export async function relayOnce(
  ends: readonly RelayedEnd[],
  validator: Wallet,
  depth: number,
): Promise<Delivery[]> {
  const deliveries: Delivery[] = [];
  for (const end of ends) {
    for (const { destination, message, metadata } of await signedMessages(end, validator, depth)) {
      const target = ends.find(({ domain }) => domain === destination);
      if (target === undefined) continue;
      const mailbox = new Contract(target.mailbox, MAILBOX, target.sender);
      const messageId = keccak256(message);
      if ((await mailbox.getFunction("delivered").staticCall(messageId)) === true) continue;
      const sent = await mailbox.getFunction("process").send(metadata, message);
      deliveries.push({ messageId, gasUsed: (await sent.wait())?.gasUsed ?? 0n });
    }
  }
  return deliveries;
}

interface SignedMessage {
  readonly destination: number;
  readonly message: string;
  readonly metadata: string;
}

async function signedMessages(end: RelayedEnd, validator: Wallet, depth: number): Promise<SignedMessage[]> {
  const { provider, domain, mailbox, merkleTreeHook } = end;
  const toBlock = (await provider.getBlockNumber()) - depth;
  if (toBlock < 0) return [];
  const logs = await provider.getLogs({ address: [mailbox, merkleTreeHook], fromBlock: 0, toBlock });
  const messages = new Map<string, { destination: number; message: string }>();
  const tree = new MessageTree();
  const signed: SignedMessage[] = [];
  for (const log of logs) {
    const event = EVENTS.parseLog(log);
    if (event?.name === "Dispatch") {
      const message = String(event.args["message"]);
      messages.set(keccak256(message), { destination: Number(event.args["destination"]), message });
    } else if (event?.name === "InsertedIntoTree") {
      const messageId = String(event.args["messageId"]);
      tree.insert(messageId);
      const index = tree.count - 1;
      const checkpoint = { origin: domain, merkleTreeHook, root: tree.root(), index, messageId };
      const known = messages.get(messageId);
      if (known !== undefined) signed.push({ ...known, metadata: signedMetadata(checkpoint, validator) });
    }
  }
  // A validator that signed another tree than the chain's would be lying.
  const root: unknown = await new Contract(merkleTreeHook, TREE, provider)
    .getFunction("root")
    .staticCall({ blockTag: toBlock });
  if (signed.length > 0 && root !== tree.root()) throw new Error("the tree is not that of the chain");
  return signed;
}
