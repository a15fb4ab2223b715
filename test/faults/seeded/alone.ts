/** What goes to the pool without the service: what owners prove themselves, and what a thief forges. Made for a world, and not sent. */
import { Contract, Interface, Wallet as EthereumWallet } from "ethers";
import { committedKeyHashes } from "../../../scripts/deploy/pool.ts";
import { wordsOf } from "../../../scripts/watch/groth16.ts";
import {
  measurementNamed,
  registerDevelopmentSigner,
} from "../../../scripts/stack/development-registration.ts";
import { attested, attester, NO_UPDATE, unsigned } from "../../../scripts/stack/pool-transaction.ts";
import { pinsOf } from "../../../scripts/stack/stack-wallet.ts";
import { NO_PROOF } from "../../../scripts/demo/stolen-key/thief.ts";
import { poolChain } from "../../../shared/client/chain.ts";
import { createWallet, memoryStorage, newSeed } from "../../../shared/client/index.ts";
import type { ProvedPayment } from "../../../shared/client/wallet/proved-payments.ts";
import type { TransactionSender } from "../../../shared/client/statements/sender.ts";
import { prepareSpend } from "../../../shared/client/statements/statements.ts";
import type { WithoutService } from "../../../shared/client/wallet/without-service.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { decodeShieldedAddress } from "../../../shared/notes/address.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { newNote } from "../../../shared/notes/note.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { imageOf, VERIFIER_KINDS } from "../../../shared/protocol/host/registration.ts";
import { TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import type { TestStack } from "../../support/stack.ts";
import type { Foreign } from "./observations.ts";

const POOL = new Interface(POOL_ABI);
/** Further signers that the pool admits, of each kind of verifier; their keys are stolen. As many sign as the pool asks for. */
const THIEVES = [
  { thief: attester(666), kind: VERIFIER_KINDS.first },
  { thief: attester(667), kind: VERIFIER_KINDS.second },
] as const;
const NO_FEES = { service: undefined, developer: undefined, total: 0n };

/** Sent by its owner, or by nobody. */
export interface Proved extends Foreign {
  /** Calldata. */
  readonly call: string;
}

/** Vouched for by thieves alone. */
export interface Forgery {
  readonly name: string;
  readonly statement: string;
  readonly call: string;
  /** What `refuteStatement` is shown. */
  readonly shown: Readonly<Record<string, unknown>>;
}

/** Of a wallet that reads the chain alone; what it would send to the pool is kept back. */
export async function prove(
  on: TestStack,
  seed: Uint8Array,
  account: EthereumWallet,
  act: (alone: WithoutService) => Promise<ProvedPayment>,
): Promise<Pick<Proved, "statement" | "call">> {
  const { entry } = on;
  let call: string | undefined;
  const sender: TransactionSender = {
    getAddress: () => account.getAddress(),
    sendTransaction(transaction) {
      // An approval has to be there before the deposit is made.
      if (transaction.to.toLowerCase() !== entry.pool.toLowerCase())
        return account.sendTransaction(transaction);
      call = transaction.data;
      return Promise.resolve({ hash: keccakHex(new Uint8Array()), wait: () => Promise.resolve(null) });
    },
  };
  const wallet = await createWallet({
    key: { seed },
    chain: poolChain({ rpc: entry.chain_rpc, fromBlock: entry.deployment_block, finality: 0, pollMs: 100 }),
    prover: await on.prover(),
    storage: memoryStorage(),
    pins: { ...pinsOf(entry), verifyingKeys: await committedKeyHashes() },
  });
  const { statement } = await act(await wallet.withoutService(sender));
  await wallet.close();
  if (call === undefined) throw new Error("the wallet sent nothing");
  return { statement, call };
}

/** The way of every signer; then its key is in a thief's hands. */
export async function admitThieves(on: TestStack, changeDelay: number): Promise<void> {
  const owner = new EthereumWallet(await on.local.folder.secrets.text("owner.key"), on.chain);
  const pool = new Contract(on.entry.pool, POOL_ABI, owner);
  const send = async (name: string, ...args: readonly unknown[]): Promise<void> => {
    const sent = (await pool.getFunction(name)(...args)) as { wait(): Promise<unknown> };
    await sent.wait();
  };
  for (const { thief, kind } of thievesOf(on)) {
    const measurement = measurementNamed(`another image of kind ${String(kind)}`);
    await send("proposeImage", imageOf(measurement), kind, "this tree", "npm run build");
    await on.passTime(changeDelay);
    await send("admitImage", imageOf(measurement));
    await registerDevelopmentSigner(owner, {
      ...{ pool: asAddress(on.entry.pool)!, signer: thief.address, measurement },
    });
  }
}

const thievesOf = ({ entry }: TestStack) => THIEVES.slice(0, entry.threshold);

/** Of a note that is nowhere, with a proof that proves nothing, to somebody whose wallet would find it. */
export async function forge(on: TestStack, name: string, to: string, deadline: number): Promise<Forgery> {
  const { entry } = on;
  const [pool, asset] = [asAddress(entry.pool)!, asAddress(entry.usdc)!];
  const home = { chainId: BigInt(entry.chain_id), pool };
  const address = decodeShieldedAddress(to, entry.address_prefix);
  if (address === undefined) throw new TypeError("not an address of this network");
  const value = 1_000_000_000_000n;
  const path = Array.from({ length: TREE_DEPTH }, () => Array.from({ length: 3 }, () => mustField(0n)));
  const { root } = await on.client.merkleRoot();
  const { statement } = prepareSpend({
    ...{ home, keys: SpendingKey.fromSeed(newSeed()), asset, fees: NO_FEES, deadline },
    root: mustField(BigInt(root)),
    inputs: [{ note: { ...newNote(asset, value), leafIndex: 0 }, path }],
    payment: { type: "transfer", to: address, value },
  });
  const { spend: keyHash } = await committedKeyHashes();
  const thieves = thievesOf(on).map(({ thief }) => thief);
  const member = attested(home, keyHash, unsigned(statement, NO_PROOF), thieves);
  const { kind, signals, attestations } = member;
  const shared = { kind, deadline: member.deadline, signals };
  return {
    name,
    statement: statement.hash,
    call: POOL.encodeFunctionData("execute", [[member], NO_UPDATE]),
    shown: {
      ...{ ...shared, extHash: keccakHex(statement.extBytes), proof: toHex(NO_PROOF) },
      ...{ words: wordsOf(NO_PROOF), attestations },
    },
  };
}
