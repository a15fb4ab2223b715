// P26: a disclosure shows one payment to one reader, and nobody else's word passes for it. A real pool on a chain of its
// own, real proofs; the verifier asks the node alone.
import { x25519 } from "@noble/curves/ed25519.js";
import { Contract } from "ethers";
import assert from "node:assert/strict";
import {
  claimBytes,
  provedMessage,
  readDisclosure,
  writeDisclosure,
  type Claim,
  type OnChain,
} from "../../shared/client/disclosure/codec.ts";
import {
  newSeed,
  verifyDisclosure,
  type DisclosedPayment,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { prepareSpend } from "../../shared/client/statements/statements.ts";
import { attester, NO_UPDATE, sealUpdate } from "../../scripts/stack/pool-transaction.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { decodeShieldedAddress } from "../../shared/notes/address.ts";
import { discloseSecret } from "../../shared/notes/disclosed-secret.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { NoteTree } from "../../shared/notes/merkle.ts";
import { newNote, nullifierOf, noteCommitment } from "../../shared/notes/note.ts";
import { senderSecret } from "../../shared/notes/sender-key.ts";
import { readExecuted } from "../../shared/protocol/host/executed-log.ts";
import { ZERO_BYTES32, type Field } from "../../shared/protocol/brands.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { nextHead } from "../../shared/protocol/tree.ts";
import { seal, spendDraft } from "../support/drafts.ts";
import { LonePool, PROVED_DELAY_SECS, SILENCE_SECS } from "../support/lone-pool.ts";

const READER = "Treasury of the Example Foundation";
const PREFIX = "clodev";
const YEAR = 365 * 86_400;
const code = (expected: string, words?: RegExp) => (error: unknown) => {
  assert.equal((error as { code?: string }).code, expected, String(error));
  if (words !== undefined) assert.match(String(error), words);
  return true;
};

describe("P26 a disclosure shows one payment to one reader", function () {
  this.timeout(300_000);
  let prover: Prover;
  let lone: LonePool;
  let payer: Wallet;
  let payee: Wallet;
  let leaf: number;
  let statement: string;
  let now: number;
  before(async () => {
    prover = await developmentProver();
    lone = await LonePool.start(prover);
    const account = await lone.account(100n);
    payer = await lone.wallet({ seed: 1 });
    payee = await lone.wallet({ seed: 2 });
    const alone = await payer.withoutService(account);
    await alone.deposit(100n);
    await lone.pass(SILENCE_SECS);
    await alone.advance();
    statement = (await alone.pay(payee.address, 30n)).statement;
    await payee.sync();
    leaf = payee.notes()[0]!.leafIndex;
    now = Math.floor(Date.now() / 1000);
  });
  after(async () => {
    await payer.close();
    await payee.close();
    await lone.stop();
    await prover.close();
  });

  const expiresAt = (): number => now + 3_600;
  function verify(text: string, changes: Record<string, unknown> = {}): Promise<DisclosedPayment> {
    const pins = { chainId: lone.anvil.chainId, pool: lone.pool, addressPrefix: PREFIX };
    return verifyDisclosure(text, { pins, reader: READER, rpc: lone.anvil.url, finality: 0, ...changes });
  }
  const byPayer = (): Promise<string> =>
    payer.disclose({ payment: statement, reader: READER, expiresAt: expiresAt() });
  const byPayee = (): Promise<string> =>
    payee.disclose({ payment: leaf, reader: READER, expiresAt: expiresAt() });

  /** The true claim, and what the pool says of it; each attacker bends it and proves with what it has. */
  async function known(): Promise<{ claim: Claim; onChain: OnChain }> {
    const { claim } = readDisclosure(await byPayer());
    const logs = await lone.provider.getLogs({ address: lone.pool, fromBlock: lone.block });
    const executed = logs.map((log) => readExecuted(log)).find((one) => one?.statement === statement)!;
    const output = leaf - executed.firstLeafIndex;
    const [commitment, ephemeralKey] = [executed.commitments[output]!, executed.ephemeralKey];
    return { claim, onChain: { commitment, ephemeralKey, output } };
  }

  it("is not taken before a root of the pool covers the leaf, and is once one does", async () => {
    await assert.rejects(verify(await byPayer()), code("DISCLOSURE_UNFOUNDED", /no root/));
    await lone.pass(SILENCE_SECS);
    await (await payer.withoutService(await lone.account())).advance();
    const shown = await verify(await byPayer());
    const { by, recipient, asset, amount, reader } = shown;
    assert.deepEqual(
      [by, recipient, amount, reader, shown.leaf],
      ["payer", payee.address, 30n, READER, leaf],
    );
    assert.equal(asset, lone.asset.toLowerCase());
    assert.equal(shown.statement, statement);
    const block = await lone.provider.getBlock(shown.block);
    assert.equal(shown.time, block!.timestamp);
    assert.ok(block!.transactions.includes(shown.txHash));
    assert.equal((await verify(await byPayee())).by, "payee");
    // Again before its time is over: it is the same fact for the same reader.
    const text = await byPayer();
    assert.deepEqual(await verify(text), await verify(text));
  });

  it("is refused under another name, after its time, with more time than it may have, and elsewhere", async () => {
    const text = await byPayer();
    await assert.rejects(verify(text, { reader: "Another reader" }), code("DISCLOSURE_NOT_FOR_YOU"));
    await assert.rejects(verify(text, { now: () => expiresAt() + 1 }), code("DISCLOSURE_EXPIRED"));
    await assert.rejects(verify(text, { now: () => expiresAt() - 2 * YEAR }), code("DISCLOSURE_INVALID"));
    for (const changes of [{ chainId: 1 }, { pool: lone.asset }])
      await assert.rejects(
        verify(text, {
          pins: { chainId: lone.anvil.chainId, pool: lone.pool, addressPrefix: PREFIX, ...changes },
        }),
        code("DISCLOSURE_ELSEWHERE"),
      );
    await assert.rejects(
      payer.disclose({ payment: statement, reader: READER, expiresAt: now - 1 }),
      code("OPTIONS_INVALID"),
    );
  });

  it("is spoilt by a change of any byte", async () => {
    const text = await byPayer();
    const { claim, proof } = readDisclosure(text);
    const bytes = claimBytes(claim);
    assert.equal(writeDisclosure(claim, proof), text);
    for (let at = 0; at < bytes.length + 96; at += 5) {
      const raw = Buffer.from(text.split(".")[1]!, "base64url");
      raw[at]! ^= 1;
      const changed = `${text.split(".")[0]}.${raw.toString("base64url")}`;
      await assert.rejects(verify(changed), (error) => {
        assert.match((error as { code: string }).code, /^DISCLOSURE_/, `byte ${at}`);
        return true;
      });
    }
    for (const spelling of [text + "=", ` ${text}`, text.toUpperCase(), text.slice(0, -1), `${text}A`])
      await assert.rejects(verify(spelling), code("DISCLOSURE_INVALID"));
  });

  it("shows no other amount, recipient, token, leaf or block, by a payer who proves its own lie", async () => {
    const { claim, onChain } = await known();
    const secret = await payersSecret();
    const stranger = SpendingKey.fromSeed(newSeed()).viewing.address;
    const other = SpendingKey.fromSeed(new Uint8Array(32).fill(1)).viewing.address;
    const lies: Record<string, Partial<Claim>> = {
      amount: { value: 31n },
      recipient: { to: stranger },
      "the recipient's owner alone": { to: { ...claim.to, owner: other.owner } },
      "the recipient's viewing key alone": { to: { ...claim.to, viewingKey: stranger.viewingKey } },
      token: { asset: lone.pool },
      "the change's leaf": { leafIndex: claim.leafIndex + 1 },
      "a deposit's leaf": { leafIndex: 0 },
      "a leaf that never was": { leafIndex: 4_000 },
      block: { block: claim.block - 1 },
    };
    for (const [name, lie] of Object.entries(lies)) {
      const told = { ...claim, ...lie };
      const proof = discloseSecret(secret, told.to.viewingKey, provedMessage(told, onChain))!;
      await assert.rejects(verify(writeDisclosure(told, proof)), (error) => {
        assert.match((error as { code: string }).code, /^DISCLOSURE_(INVALID|UNFOUNDED)$/, name);
        return true;
      });
    }
    // The same hand, the truth: so the refusals above are for the lies.
    const honest = discloseSecret(secret, claim.to.viewingKey, provedMessage(claim, onChain))!;
    assert.equal((await verify(writeDisclosure(claim, honest))).amount, 30n);
  });

  it("cannot be made by who only knows the payment: payee as payer, payer as payee, reader, stranger", async () => {
    const { claim, onChain } = await known();
    const [payersE, payeesV] = [
      await payersSecret(),
      SpendingKey.fromSeed(new Uint8Array(32).fill(2)).viewing.exportSecret(),
    ];
    const { proof: shownBefore } = readDisclosure(await byPayer());
    const { proof: shownByPayee } = readDisclosure(await byPayee());
    const asPayee: Claim = { ...claim, by: "payee" };
    const renamed: Claim = { ...claim, reader: "Somebody else" };
    const forgeries: Record<string, string> = {};
    const forge = (name: string, told: Claim, secret: Uint8Array, base: Uint8Array): void => {
      forgeries[name] = writeDisclosure(told, discloseSecret(secret, base, provedMessage(told, onChain))!);
    };
    forge("payee as payer, from its own side", claim, payeesV, onChain.ephemeralKey);
    forge("payee as payer, over its own key", claim, payeesV, claim.to.viewingKey);
    forge("payer as payee, from its own side", asPayee, payersE, claim.to.viewingKey);
    forge("payer as payee, over the ephemeral key", asPayee, payersE, onChain.ephemeralKey);
    forge("a stranger with a key of its own", claim, newSeed(), claim.to.viewingKey);
    // Whoever was shown it knows the shared secret: enough for the commitment, not for the proof.
    const stranger = discloseSecret(newSeed(), claim.to.viewingKey, provedMessage(claim, onChain))!;
    forgeries["a reader, with the shared point that it was shown"] = writeDisclosure(claim, {
      ...stranger,
      shared: shownBefore.shared,
    });
    forgeries["the payee's proof under the payer's kind"] = writeDisclosure(claim, shownByPayee);
    forgeries["the payer's proof under the payee's kind"] = writeDisclosure(asPayee, shownBefore);
    for (const [name, text] of Object.entries(forgeries))
      await assert.rejects(verify(text), code("DISCLOSURE_INVALID"), name);
    // A reader that passes it on under another name.
    await assert.rejects(
      verify(writeDisclosure(renamed, shownBefore), { reader: renamed.reader }),
      code("DISCLOSURE_INVALID"),
    );
  });

  it("proves nothing by points outside of the group", async () => {
    const { claim, proof } = readDisclosure(await byPayer());
    const zero = new Uint8Array(32);
    const neutral = Uint8Array.from(zero, (_, at) => (at === 0 ? 1 : 0));
    for (const shared of [zero, neutral, zero.slice().fill(255)])
      for (const [challenge, response] of [
        [proof.challenge, proof.response],
        [zero, zero],
      ] as const)
        await assert.rejects(
          verify(writeDisclosure(claim, { shared, challenge, response })),
          code("DISCLOSURE_INVALID"),
        );
  });

  it("opens nothing else: neither change nor keys follow from what is shown", async () => {
    const { claim, onChain } = await known();
    const text = await byPayer();
    const payerKeys = SpendingKey.fromSeed(new Uint8Array(32).fill(1));
    const secret = await payersSecret();
    const raw = Buffer.from(text.split(".")[1]!, "base64url").toString("hex");
    const withChange = x25519.getSharedSecret(secret, payerKeys.viewing.viewingKey);
    const hidden = { ephemeral: secret, viewing: payerKeys.viewing.exportSecret(), change: withChange };
    for (const [name, bytes] of Object.entries(hidden))
      assert.ok(!raw.includes(Buffer.from(bytes).toString("hex")), name);
    for (const note of payer.notes()) {
      assert.ok(!raw.includes(note.nullifier.toString(16)), "a nullifier");
      assert.ok(!raw.includes(note.blinding.toString(16)), "a blinding");
    }
    // Change is never disclosed: its shared secret is one with all that a statement holds for its sender.
    await assert.rejects(
      payer.disclose({ payment: leaf + 1, reader: READER, expiresAt: expiresAt() }),
      code("DISCLOSURE_IMPOSSIBLE"),
    );
    assert.notDeepEqual(claim.to, payerKeys.viewing.address);
    assert.equal(onChain.output, 0);
  });

  it("is made again from the phrase alone by the payee, and by a payer who says to whom and how much", async () => {
    const again = await lone.wallet({ seed: 1 });
    const theirs = await lone.wallet({ seed: 2 });
    await again.sync();
    await theirs.sync();
    const item = again.activity().find(({ kind }) => kind === "sent")!;
    assert.deepEqual([item.amount, item.counterparty], [30n, undefined]);
    const wish = { payment: item.txHash!, reader: READER, expiresAt: expiresAt() };
    await assert.rejects(again.disclose(wish), code("DISCLOSURE_IMPOSSIBLE", /no record/));
    const wrong = { address: payee.address, amount: 29n };
    await assert.rejects(again.disclose({ ...wish, recipient: wrong }), code("DISCLOSURE_IMPOSSIBLE"));
    const recipient = { address: payee.address, amount: 30n };
    assert.equal((await verify(await again.disclose({ ...wish, recipient }))).amount, 30n);
    const shown = await theirs.disclose({ payment: leaf, reader: READER, expiresAt: expiresAt() });
    assert.equal((await verify(shown)).by, "payee");
    await again.close();
    await theirs.close();
  });

  it("is not believed where two nodes differ, nor by a node that knows no such log", async () => {
    const text = await byPayer();
    const lying: typeof fetch = async (input, init) => {
      const { method } = JSON.parse(init?.body as string) as { method: string };
      if (method !== "eth_getLogs") return fetch(input, init);
      return Response.json({ jsonrpc: "2.0", id: 1, result: [] });
    };
    await assert.rejects(verify(text, { fetch: lying }), code("DISCLOSURE_UNFOUNDED"));
    let asked = 0;
    const differing: typeof fetch = async (input, init) =>
      (asked++ & 1) === 1 ? lying(input, init) : fetch(input, init);
    await assert.rejects(
      verify(text, { rpc: [lone.anvil.url, lone.anvil.url], fetch: differing }),
      code("CHAIN_DOUBTED"),
    );
  });

  it("ends with the payment: one whose statement is refuted is shown no more", async () => {
    const pool = await LonePool.start(prover);
    try {
      await refutedPayment(pool);
    } finally {
      await pool.stop();
    }
  });

  /** What the payer's device derives; here as SPEC 12.1 says, with the terms that the test knows. */
  async function payersSecret(): Promise<Uint8Array> {
    const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(1));
    const spent = payer.notes().find((note) => note.spent !== undefined)!;
    const logs = await lone.provider.getLogs({ address: lone.pool, fromBlock: lone.block });
    const executed = logs.map((log) => readExecuted(log)).find((one) => one?.statement === statement)!;
    const to = decodeShieldedAddress(payee.address, PREFIX)!;
    const { nullifier, asset } = spent;
    for (let salt = 0; salt < 1_024; salt++) {
      const terms = { nullifiers: [nullifier], to, asset, value: 30n, change: 70n, fees: 0n, salt };
      const secret = senderSecret(keys, terms);
      if (Buffer.compare(x25519.getPublicKey(secret), executed.ephemeralKey) === 0) return secret;
    }
    throw new Error("the ephemeral key does not follow from the terms");
  }
});

/** A payment out of nothing, attested by a signer who lies, shown by who made it; then the lie comes out. */
async function refutedPayment(lone: LonePool): Promise<void> {
  const liar = attester(1);
  const emptyRoot = new NoteTree().root();
  const home = { chainId: BigInt(lone.anvil.chainId), pool: lone.pool };
  const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(9));
  const to = SpendingKey.fromSeed(new Uint8Array(32).fill(10)).viewing.address;
  const latest = await lone.provider.getBlock("latest");
  const deadline = latest!.timestamp + 600;
  const note = { ...newNote(lone.asset, 50n), leafIndex: 0 };
  const path = Array.from({ length: 16 }, () => [0n, 0n, 0n] as Field[]);
  const fees = { service: undefined, developer: undefined, total: 0n };
  const { statement, salt } = prepareSpend({
    ...{ home, keys, asset: lone.asset, fees, deadline, root: emptyRoot, inputs: [{ note, path }] },
    payment: { type: "transfer", to, value: 50n },
  });
  const { nullifiers, commitments } = statement.facts;
  const setting = { home, deadline: BigInt(deadline), verifyingKeyHashes: lone.keyHashes, attesters: [liar] };
  const draft = {
    ...spendDraft(setting, emptyRoot, undefined),
    nullifiers,
    commitments,
    ext: statement.extBytes,
  };
  const lie = seal(draft);

  const contract = new Contract(lone.pool, POOL_ABI, await lone.provider.getSigner(0));
  const send = async (name: string, args: readonly unknown[]): Promise<number> => {
    const sent = (await contract.getFunction(name)(...args, { gasLimit: 12_000_000n })) as {
      wait(): Promise<{ blockNumber: number }>;
    };
    return (await sent.wait()).blockNumber;
  };
  const block = await send("execute", [[lie.transaction], NO_UPDATE]);
  const tree = new NoteTree();
  let head = ZERO_BYTES32;
  for (const leaf of commitments) {
    tree.append(leaf);
    head = nextHead(head, leaf);
  }
  const places = { fromIndex: 0n, toIndex: 4n, headBefore: ZERO_BYTES32, headAfter: head };
  const update = sealUpdate(home, { oldRoot: emptyRoot, newRoot: tree.root(), ...places }, [liar]);
  await send("execute", [[], update]);

  const own = nullifierOf(keys.viewing.nullifierKey, noteCommitment(keys.owner, note), 0);
  const secret = senderSecret(keys, {
    ...{ nullifiers: [own], to, asset: lone.asset, value: 50n, change: 0n, fees: 0n, salt: salt! },
  });
  const claim: Claim = {
    ...{ by: "payer", home, block, leafIndex: 0, to, asset: lone.asset, value: 50n, reader: READER },
    expiresAt: Math.floor(Date.now() / 1000) + 600,
  };
  const { ephemeralKey } = statement.ext;
  const message = provedMessage(claim, { commitment: commitments[0]!, ephemeralKey, output: 0 });
  const text = writeDisclosure(claim, discloseSecret(secret, to.viewingKey, message)!);
  const pins = { chainId: lone.anvil.chainId, pool: lone.pool, addressPrefix: PREFIX };
  const verify = () => verifyDisclosure(text, { pins, reader: READER, rpc: lone.anvil.url, finality: 0 });
  assert.equal((await verify()).amount, 50n);

  const { kind, signals, proof, attestations } = lie.transaction;
  const words = Array.from({ length: 8 }, () => 1n);
  const shown = {
    kind,
    deadline: lie.transaction.deadline,
    signals,
    extHash: keccakHex(draft.ext),
    proof,
    words,
    attestations,
  };
  await send("refuteStatement", [shown, emptyRoot, tree.root()]);
  await assert.rejects(verify(), code("DISCLOSURE_UNFOUNDED", /refuted/));
  await lone.pass(PROVED_DELAY_SECS);
  await assert.rejects(verify(), code("DISCLOSURE_UNFOUNDED", /refuted/));
}
