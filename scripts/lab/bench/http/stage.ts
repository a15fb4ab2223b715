// The stage of suite "http": the whole local service with every party in a process of its own, credentials whose
// limits no measurement meets, and a signer of our own in the pool, so that events can be made by the hundred
// without proving each.

import { randomBytes } from "node:crypto";
import { Contract, NonceManager } from "ethers";
import { newSeed } from "../../../../shared/client/index.ts";
import { prepareSpend } from "../../../../shared/client/statements/statements.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { POOL_ABI } from "../../../../shared/contracts/abi.ts";
import { mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { COMPRESSED_PROOF_BYTES } from "../../../../shared/protocol/host/proofs.ts";
import { imageOf, VERIFIER_KINDS } from "../../../../shared/protocol/host/registration.ts";
import type { Home, Statement } from "../../../../shared/protocol/statements.ts";
import { committedKeyHashes } from "../../../deploy/pool.ts";
import { attested, attester, NO_UPDATE, unsigned } from "../../../stack/pool-transaction.ts";
import { act, waitForTime } from "../../../operator/admissions.ts";
import { measurementNamed, registerDevelopmentSigner } from "../../../stack/development-registration.ts";
import { onStage as onAnyStage, type Stage as AnyStage } from "../../../stack/stage.ts";
import { Intercepted, intercepting } from "../../../stand-ins/intercepting.ts";
import { TestUsdc } from "../../../stand-ins/usdc.ts";

const NO_LIMIT = "1000000";
const PER_TRANSACTION = 16;

export type Stage = Awaited<ReturnType<typeof openStage>>;

export function onStage<T>(measure: (stage: Stage) => Promise<T>): Promise<T> {
  const proxySettings = {
    CLOISTER_LIMIT_SESSION_PER_MINUTE: NO_LIMIT,
    CLOISTER_LIMIT_KEY_PER_MINUTE: NO_LIMIT,
    CLOISTER_LIMIT_KEY_PER_DAY: "10000000",
    CLOISTER_LIMIT_STREAMS_PER_USER: "10000",
    CLOISTER_MAX_CONNECTIONS_PER_ADDRESS: NO_LIMIT,
  };
  return onAnyStage("bench", { proxySettings }, async (on) => measure(await openStage(on)));
}

async function openStage(on: AnyStage) {
  const { network, entry, apiKey, chain, client, pool: poolAddress } = on;

  const owner = new NonceManager(await on.owner());
  const own = attester(1);
  const measurement = measurementNamed("the bench's own signer");
  const image = imageOf(measurement);
  const terms = { kind: VERIFIER_KINDS.first, commit: "none", buildCommand: "none" };
  await act(owner, poolAddress, "image", "propose", image, terms);
  await waitForTime(chain, ((await chain.getBlock("latest"))?.timestamp ?? 0) + 2);
  await act(owner, poolAddress, "image", "admit", image);
  await registerDevelopmentSigner(owner, { pool: poolAddress, signer: own.address, measurement });
  const pool = new Contract(poolAddress, POOL_ABI, owner);
  const home: Home = { chainId: BigInt(entry.chain_id), pool: poolAddress };
  const keyHashes = await committedKeyHashes();

  return {
    port: Number(new URL(entry.base_url).port),
    proxyPid: network.proxy().pid,
    apiKey,
    session: async (sub: string): Promise<string> =>
      (await client.createSession({ sub, perms: ["read"], ttl_secs: 3600 })).token,
    /** Private transfers of nobody's notes, all in one block; resolves with how many events a stream shows of them. */
    async transfers(count: number): Promise<number> {
      const { root } = await client.merkleRoot();
      const made = Array.from({ length: count }, () => nobodysTransfer(home, mustField(BigInt(root))));
      const members = made.map((statement) =>
        attested(home, keyHashes.spend, unsigned(statement, randomBytes(COMPRESSED_PROOF_BYTES)), [own]),
      );
      const sent = [];
      for (let i = 0; i < count; i += PER_TRANSACTION) {
        const call = [members.slice(i, i + PER_TRANSACTION), NO_UPDATE, { gasLimit: 25_000_000 }] as const;
        sent.push((await pool.getFunction("execute")(...call)) as { wait(): Promise<unknown> });
      }
      for (const one of sent) await one.wait();
      return made.reduce((sum, { facts }) => sum + facts.nullifiers.length + facts.commitments.length, 0);
    },
    /** A deposit's request with a real proof, good for as many attestations as are asked for. */
    provenDeposit: () => provenDeposit(on),
  };
}

/** Spends notes worth nothing, as every payment may: the pool cannot tell. */
function nobodysTransfer(home: Home, root: Field): Statement {
  const keys = SpendingKey.fromSeed(newSeed());
  return prepareSpend({
    ...{ home, keys, asset: home.pool, root, inputs: [], deadline: 4_000_000_000 },
    fees: { service: undefined, developer: undefined, total: 0n },
    payment: { type: "transfer", to: keys.viewing.address, value: 0n },
  }).statement;
}

/** Made by the client library, and kept from leaving the device. */
async function provenDeposit(on: AnyStage): Promise<string> {
  const AMOUNT = 25_000_000n;
  const wallet = await on.wallet(undefined, intercepting(on.client));
  const depositor = await on.account();
  await (await TestUsdc.at(on.entry.usdc, on.chain)).mint(depositor.address, AMOUNT);
  try {
    await wallet.deposit(AMOUNT, depositor);
    throw new Error("the deposit was sent");
  } catch (error) {
    if (!(error instanceof Intercepted)) throw error;
    return JSON.stringify(error.body);
  } finally {
    await wallet.close();
  }
}
