// The other blockchain as a process, with its own client library, and a deposit from its first token to the burn.
import assert from "node:assert/strict";
import {
  appendTransactionMessageInstructions,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase58Decoder,
  getBase64Encoder,
  getBase64EncodedWireTransaction,
  isSolanaError,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SLOT_SKIPPED,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_TRANSACTION_SIGNATURE_VERIFICATION_FAILURE,
  SOLANA_ERROR__TRANSACTION_ERROR__BLOCKHASH_NOT_FOUND,
  type Address,
  type Base64EncodedWireTransaction,
  type Instruction,
  type KeyPairSigner,
  type Signature,
} from "@solana/kit";
import { getAddMemoInstruction } from "@solana-program/memo";
import { getBurnInstruction, getTransferInstruction } from "@solana-program/token";
import { tokenBalances } from "../../../shared/altchain/balances.ts";
import { newBlocks, placeNow } from "../../../shared/altchain/blocks.ts";
import { burnTransaction } from "../../../shared/altchain/burn.ts";
import { burnIn } from "../../../shared/altchain/burns.ts";
import { MEMO_PROGRAM, orderMemo } from "../../../shared/altchain/memo.ts";
import { outcomeOf, recentBlock, sendTransaction } from "../../../shared/altchain/sending.ts";
import {
  ownBurn,
  payForBurn,
  signatureOf,
  signBurn,
  type AltchainKey,
} from "../../../shared/altchain/signing.ts";
import { tokenAccountOf } from "../../../shared/altchain/token.ts";
import {
  altchainKey,
  expectedBurn,
  HOME_DOMAIN,
  RECIPIENT,
  startTestAltchain,
  type TestAltchain,
} from "../../support/altchain.ts";

const COINS = lamports(1_000_000_000n);
const ORDER = { domain: HOME_DOMAIN, recipient: RECIPIENT, maxFee: 20_000n, finality: 2000 };

describe("venues: the other blockchain", () => {
  let chain: TestAltchain;
  let service: AltchainKey;
  let keys = 0;

  before(async () => {
    chain = await startTestAltchain();
    service = await altchainKey("service");
    await chain.node.requestAirdrop(service.address, COINS).send();
    await slots(1);
  });
  after(() => chain.stop());

  const slots = (count: number) => chain.develop("slots", { count });
  const supply = async () =>
    (await chain.node.getTokenSupply(chain.token.mint, { commitment: "processed" }).send()).value.amount;

  async function deposited(amount: bigint): Promise<{ key: AltchainKey; account: Address }> {
    const key = await altchainKey(`deposit ${String((keys += 1))}`);
    await chain.develop("mint", { to: key.address, amount: String(amount) });
    await slots(1);
    return { key, account: await tokenAccountOf(key.address, chain.token.mint) };
  }

  /** The device's and the service's part, not yet sent. */
  async function burnOf(key: AltchainKey, amount: bigint): Promise<{ encoded: string; blockhash: string }> {
    const { blockhash } = await recentBlock(chain.node);
    const burn = {
      ...ORDER,
      token: chain.token,
      owner: key.address,
      amount,
      feePayer: service.address,
      blockhash,
    };
    const expected = expectedBurn(chain.token, key);
    const signed = await signBurn(await burnTransaction(burn), expected, key);
    return { encoded: await payForBurn(signed, expected, service), blockhash };
  }

  async function balance(
    account: Address,
    commitment: "processed" | "confirmed" | "finalized" = "confirmed",
  ) {
    const { amounts } = await tokenBalances(chain.node, chain.token, [account], commitment);
    return amounts.get(account);
  }

  async function plain(payer: KeyPairSigner, instructions: readonly Instruction[]): Promise<string> {
    const { value } = await chain.node.getLatestBlockhash({ commitment: "confirmed" }).send();
    const transaction = await signTransactionMessageWithSigners(
      pipe(
        createTransactionMessage({ version: "legacy" }),
        (draft) => setTransactionMessageFeePayerSigner(payer, draft),
        (draft) => setTransactionMessageLifetimeUsingBlockhash(value, draft),
        (draft) => appendTransactionMessageInstructions(instructions, draft),
      ),
    );
    return getBase64EncodedWireTransaction(transaction);
  }

  async function stranger(amount: bigint): Promise<{ signer: KeyPairSigner; account: Address }> {
    const signer = await generateKeyPairSigner();
    await chain.node.requestAirdrop(signer.address, COINS).send();
    await chain.develop("mint", { to: signer.address, amount: String(amount) });
    await slots(1);
    return { signer, account: await tokenAccountOf(signer.address, chain.token.mint) };
  }

  const memo = (text: string) => getAddMemoInstruction({ memo: text }, { programAddress: MEMO_PROGRAM });

  it("answers the chain's own client library as one of its nodes", async () => {
    const { node } = chain;
    assert.equal(await node.getHealth().send(), "ok");
    const { key, account } = await deposited(5_000_000n);
    const [height, slot] = [
      await node.getBlockHeight({ commitment: "confirmed" }).send(),
      await node.getSlot().send(),
    ];
    assert.equal(typeof height, "bigint");
    assert.ok(slot <= (await node.getSlot({ commitment: "confirmed" }).send()));

    const shown = await node
      .getAccountInfo(account, { encoding: "jsonParsed", commitment: "confirmed" })
      .send();
    assert.ok(shown.value !== null && "parsed" in shown.value.data);
    const { info } = shown.value.data.parsed;
    assert.deepEqual(
      [info?.["mint" as keyof object], info?.["owner" as keyof object]],
      [chain.token.mint, key.address],
    );
    const raw = await node.getAccountInfo(account, { encoding: "base64", commitment: "confirmed" }).send();
    assert.equal(getBase64Encoder().encode(raw.value!.data[0]).length, 165);
    const { value: held } = await node.getTokenAccountBalance(account, { commitment: "confirmed" }).send();
    assert.deepEqual({ ...held }, { amount: "5000000", decimals: 6, uiAmount: 5, uiAmountString: "5" });

    const [newest] = await node
      .getSignaturesForAddress(account, { limit: 1, commitment: "confirmed" })
      .send();
    assert.ok(newest !== undefined && newest.err === null && newest.confirmationStatus === "confirmed");
    const parsed = await node
      .getTransaction(newest.signature, {
        encoding: "jsonParsed",
        commitment: "confirmed",
        maxSupportedTransactionVersion: 0,
      })
      .send();
    const programs = parsed?.transaction.message.instructions.map((made) =>
      "program" in made ? made.program : "?",
    );
    assert.deepEqual(programs, ["spl-associated-token-account", "spl-token", "spl-memo"]);
    const inner = parsed?.meta?.innerInstructions?.[0]?.instructions.map((made) =>
      "parsed" in made ? made.program : "?",
    );
    assert.ok(inner?.includes("system") && inner.includes("spl-token"));
    const block = await node
      .getBlock(newest.slot, {
        commitment: "confirmed",
        maxSupportedTransactionVersion: 0,
        encoding: "base64",
      })
      .send();
    assert.equal(block?.transactions.length, 1);
    const parent = await node
      .getBlock(block.parentSlot, { commitment: "confirmed", transactionDetails: "none", rewards: false })
      .send();
    assert.equal(parent?.blockhash, block.previousBlockhash);
    assert.equal(await node.getMinimumBalanceForRentExemption(165n).send(), 2_039_280n);
    assert.ok((await node.getBalance(service.address, { commitment: "confirmed" }).send()).value > 0n);
  });

  it("names its refusals as the real nodes do", async () => {
    const refused = (code: Parameters<typeof isSolanaError>[1]) => (error: unknown) =>
      isSolanaError(error, code);
    const { signer, account } = await stranger(1_000_000n);
    const { key } = await deposited(1_000_000n);
    const good = await plain(signer, [memo("hello")]);
    const send = (wire: string) =>
      chain.node.sendTransaction(wire as Base64EncodedWireTransaction, { encoding: "base64" }).send();
    const bytes = Uint8Array.from(getBase64Encoder().encode(good));
    bytes[10]! ^= 1;
    await assert.rejects(
      send(Buffer.from(bytes).toString("base64")),
      refused(SOLANA_ERROR__JSON_RPC__SERVER_ERROR_TRANSACTION_SIGNATURE_VERIFICATION_FAILURE),
    );
    // More than there is: the token program's own refusal, found before anybody is charged.
    const tooMuch = { account, mint: chain.token.mint, authority: signer, amount: 1_000_001n };
    await assert.rejects(
      send(await plain(signer, [getBurnInstruction(tooMuch)])),
      refused(SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE),
    );
    // Somebody else's tokens.
    const stolen = { ...tooMuch, account: await tokenAccountOf(key.address, chain.token.mint), amount: 1n };
    await assert.rejects(
      send(await plain(signer, [getBurnInstruction(stolen)])),
      refused(SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE),
    );
    await assert.rejects(
      chain.node.getTokenAccountBalance(signer.address, { commitment: "processed" }).send(),
      refused(SOLANA_ERROR__JSON_RPC__INVALID_PARAMS),
    );
    // Without a preflight it lands, fails there, costs its fee and moves nothing.
    const before = (await chain.node.getBalance(signer.address, { commitment: "processed" }).send()).value;
    const failing = (await plain(signer, [getBurnInstruction(tooMuch)])) as Base64EncodedWireTransaction;
    const name = await chain.node
      .sendTransaction(failing, { encoding: "base64", skipPreflight: true })
      .send();
    await slots(1);
    const { value } = await chain.node.getSignatureStatuses([name]).send();
    assert.deepEqual(value[0]?.err, { InstructionError: [0n, { Custom: 1n }] });
    const after = (await chain.node.getBalance(signer.address, { commitment: "processed" }).send()).value;
    assert.equal(before - after, 5000n);
    assert.equal(await balance(account), 1_000_000n);
  });

  it("pages through the history of an account", async () => {
    const { key, account } = await deposited(1_000_000n);
    for (let more = 0; more < 4; more += 1) await chain.develop("mint", { to: key.address, amount: "1" });
    await slots(1);
    const all = (await chain.node.getSignaturesForAddress(account, { commitment: "confirmed" }).send()).map(
      ({ signature }) => signature,
    );
    assert.equal(all.length, 5);
    const ask = async (config: { before?: Signature; until?: Signature; limit?: number }) =>
      (await chain.node.getSignaturesForAddress(account, { commitment: "confirmed", ...config }).send()).map(
        ({ signature }) => signature,
      );
    assert.deepEqual(await ask({ limit: 2 }), all.slice(0, 2));
    assert.deepEqual(await ask({ before: all[1]!, limit: 2 }), all.slice(2, 4));
    assert.deepEqual(await ask({ until: all[3]! }), all.slice(0, 3));
    assert.deepEqual(await ask({ before: all[0]!, until: all[4]! }), all.slice(1, 4));
    const final = await chain.node.getSignaturesForAddress(account, { commitment: "finalized" }).send();
    assert.deepEqual(final, [], "not final yet");
  });

  it("mint, burn signed by the deposit key and paid for by the service, burn read back", async () => {
    const { key, account } = await deposited(12_345_678n);
    const before = BigInt(await supply());
    assert.equal(await balance(account), 12_345_678n);
    assert.equal(await balance(account, "finalized"), 0n);

    const { encoded, blockhash } = await burnOf(key, 12_345_678n);
    const signature = signatureOf(encoded);
    assert.deepEqual(await outcomeOf(chain.node, signature, blockhash), { state: "absent", canLand: true });
    assert.equal(await sendTransaction(chain.node, encoded), signature);
    assert.equal(await sendTransaction(chain.node, encoded), signature, "sending twice is harmless");
    await slots(1);

    const { slot, ...found } = (await burnIn(chain.node, chain.token, signature, "confirmed"))!;
    assert.ok(slot > 0n);
    assert.deepEqual(found, { signature, order: ORDER, amount: 12_345_678n, owner: key.address });
    assert.equal(await balance(account), 0n);
    assert.equal(BigInt(await supply()), before - 12_345_678n);
    assert.equal(await burnIn(chain.node, chain.token, signature, "finalized"), undefined);
    await slots(32);
    assert.equal((await burnIn(chain.node, chain.token, signature, "finalized"))?.amount, 12_345_678n);
    const outcome = await outcomeOf(chain.node, signature, blockhash);
    assert.ok(outcome.state === "landed" && outcome.commitment === "finalized" && !outcome.failed);
  });

  it("a device alone burns with coins of its own", async () => {
    const { key } = await deposited(3_000_000n);
    await chain.node.requestAirdrop(key.address, COINS).send();
    await slots(1);
    const { blockhash } = await recentBlock(chain.node);
    const own = await ownBurn({ ...ORDER, token: chain.token, amount: 3_000_000n, blockhash }, key);
    await sendTransaction(chain.node, own);
    await slots(1);
    assert.equal((await burnIn(chain.node, chain.token, signatureOf(own), "confirmed"))?.amount, 3_000_000n);
  });

  it("the amount is what left the supply, and what is unclear is nobody's", async () => {
    const { signer, account } = await stranger(9_000_000n);
    const other = await stranger(9_000_000n);
    const { mint } = chain.token;
    const burn = (amount: bigint) => getBurnInstruction({ account, mint, authority: signer, amount });
    const transfer = (amount: bigint) =>
      getTransferInstruction({ source: account, destination: other.account, authority: signer, amount });
    const order = memo(orderMemo(ORDER));
    const read = async (instructions: readonly Instruction[]) => {
      const wire = await plain(signer, instructions);
      await sendTransaction(chain.node, wire);
      await slots(1);
      return burnIn(chain.node, chain.token, signatureOf(wire), "confirmed");
    };
    assert.equal((await read([burn(5n), order]))?.amount, 5n);
    assert.equal((await read([transfer(100n), burn(7n), order]))?.amount, 7n, "a transfer is no burn");
    assert.equal((await read([burn(3n), burn(4n), order]))?.amount, 7n);
    assert.equal(await read([order]), undefined, "a memo alone");
    assert.equal(await read([transfer(100n), order]), undefined, "a transfer with a memo");
    assert.equal(await read([burn(8n)]), undefined, "no memo");
    assert.equal(
      await read([burn(9n), order, memo(orderMemo({ ...ORDER, finality: 1000 }))]),
      undefined,
      "two orders",
    );
    assert.equal(await read([burn(11n), order, order]), undefined, "the same order twice");
    assert.equal(await read([burn(12n), memo(`${orderMemo(ORDER)} `)]), undefined, "another spelling");
    const theirs = getBurnInstruction({ account: other.account, mint, authority: other.signer, amount: 1n });
    assert.equal(await read([burn(13n), theirs, order]), undefined, "tokens of two owners");
  });

  it("a failed burn is none", async () => {
    const { signer, account } = await stranger(1_000n);
    const tooMuch = { account, mint: chain.token.mint, authority: signer, amount: 1_001n };
    const wire = await plain(signer, [memo(orderMemo(ORDER)), getBurnInstruction(tooMuch)]);
    const config = { encoding: "base64", skipPreflight: true } as const;
    await chain.node.sendTransaction(wire as Base64EncodedWireTransaction, config).send();
    await slots(1);
    assert.notEqual(
      (await chain.node.getSignatureStatuses([signatureOf(wire) as Signature]).send()).value[0],
      null,
    );
    assert.equal(await burnIn(chain.node, chain.token, signatureOf(wire), "confirmed"), undefined);
  });

  it("a transaction whose block hash is too old cannot land, and is known not to", async () => {
    const { key, account } = await deposited(2_000_000n);
    const { encoded, blockhash } = await burnOf(key, 2_000_000n);
    await slots(149);
    assert.deepEqual(await outcomeOf(chain.node, signatureOf(encoded), blockhash), {
      state: "absent",
      canLand: true,
    });
    await slots(1);
    assert.deepEqual(await outcomeOf(chain.node, signatureOf(encoded), blockhash), {
      state: "absent",
      canLand: false,
    });
    await assert.rejects(
      sendTransaction(chain.node, encoded),
      (error) =>
        isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE) &&
        isSolanaError(error.cause, SOLANA_ERROR__TRANSACTION_ERROR__BLOCKHASH_NOT_FOUND),
    );
    const config = { encoding: "base64", skipPreflight: true } as const;
    await chain.node.sendTransaction(encoded as Base64EncodedWireTransaction, config).send();
    await slots(1);
    assert.equal(await balance(account), 2_000_000n);
  });

  it("blocks are followed with one call each, and tell every movement of the token", async () => {
    const place = await placeNow(chain.node, "confirmed");
    const { account, key } = await deposited(4_000_000n);
    const { signer, account: source } = await stranger(600n);
    const unchecked = getTransferInstruction({
      source,
      destination: account,
      authority: signer,
      amount: 250n,
    });
    await sendTransaction(chain.node, await plain(signer, [unchecked]));
    await slots(1);
    const news = await newBlocks(chain.node, chain.token, place, "confirmed");
    assert.ok(!news.forked);
    const mine = news.blocks
      .flatMap(({ transactions }) => transactions)
      .flatMap(({ movements }) => movements);
    assert.deepEqual(
      mine.filter((moved) => moved.account === account),
      [
        { account, owner: key.address, before: 0n, after: 4_000_000n },
        { account, owner: key.address, before: 4_000_000n, after: 4_000_250n },
      ],
    );
    const end = news.blocks.at(-1)!;
    assert.deepEqual(await newBlocks(chain.node, chain.token, end, "confirmed"), {
      forked: false,
      blocks: [],
    });
  });

  it("a node that fails at one block leaves those before it, and fails where there is none", async () => {
    const place = await placeNow(chain.node, "confirmed");
    await slots(4);
    for (const [failing, read] of [
      [3, 2],
      [1, undefined],
    ] as const) {
      let asked = 0;
      const getBlock = (...args: Parameters<typeof chain.node.getBlock>) => ({
        send: () =>
          ++asked === failing ? Promise.reject(new Error("cut")) : chain.node.getBlock(...args).send(),
      });
      const node = { getBlocks: chain.node.getBlocks, getBlock } as unknown as typeof chain.node;
      const news = newBlocks(node, chain.token, place, "confirmed");
      if (read === undefined) await assert.rejects(news, /cut/);
      else {
        const found = await news;
        assert.ok(!found.forked);
        assert.equal(found.blocks.length, read);
      }
    }
  });

  it("addresses are asked for a hundred at a time, and only accounts of this token count", async () => {
    const { account } = await deposited(77n);
    const { signer } = await stranger(5n);
    const nobody = Array.from(
      { length: 247 },
      (_, at) => getBase58Decoder().decode(new Uint8Array(32).fill(at + 1)) as Address,
    );
    const asked = [account, signer.address, chain.token.mint, ...nobody];
    const { amounts } = await tokenBalances(chain.node, chain.token, asked, "confirmed");
    assert.equal(amounts.size, 250);
    assert.deepEqual(
      [...amounts].filter(([, amount]) => amount > 0n),
      [[account, 77n]],
    );
  });

  it("a reorganisation takes the burn back; it can be sent again and happens once", async () => {
    const { key, account } = await deposited(6_000_000n);
    const before = await placeNow(chain.node, "confirmed");
    const { encoded, blockhash } = await burnOf(key, 6_000_000n);
    await sendTransaction(chain.node, encoded);
    await slots(2);
    const reached = await placeNow(chain.node, "confirmed");
    const supplied = BigInt(await supply());
    assert.equal(await balance(account), 0n);

    await chain.develop("reorganise", { slots: 2 });
    await slots(1);
    assert.equal(await balance(account), 6_000_000n);
    assert.equal(BigInt(await supply()), supplied + 6_000_000n);
    assert.deepEqual(await outcomeOf(chain.node, signatureOf(encoded), blockhash), {
      state: "absent",
      canLand: true,
    });
    assert.equal(await burnIn(chain.node, chain.token, signatureOf(encoded), "confirmed"), undefined);
    assert.deepEqual(await newBlocks(chain.node, chain.token, reached, "confirmed"), { forked: true });
    const again = await newBlocks(chain.node, chain.token, before, "confirmed");
    assert.ok(!again.forked && again.blocks.length === 1 && again.blocks[0]!.slot > reached.slot);
    await assert.rejects(
      chain.node
        .getBlock(reached.slot, { commitment: "confirmed", transactionDetails: "none", rewards: false })
        .send(),
      (error) => isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SLOT_SKIPPED),
    );

    await sendTransaction(chain.node, encoded);
    await slots(1);
    assert.equal(await balance(account), 0n);
    assert.equal(BigInt(await supply()), supplied);
  });

  it("a reorganisation can take a deposit's first token and its account with it, or bring it back by itself", async () => {
    const key = await altchainKey("taken");
    const account = await tokenAccountOf(key.address, chain.token.mint);
    await chain.develop("mint", { to: key.address, amount: "1000" });
    await slots(1);
    // The transaction names a block that stays.
    const { dropped, landed } = await chain.develop("reorganise", { slots: 1, again: true });
    assert.deepEqual([(dropped as string[]).length, (landed as string[]).length], [1, 1]);
    await slots(1);
    assert.equal(await balance(account), 1000n);
    await chain.develop("reorganise", { slots: 1 });
    await slots(1);
    assert.equal(await balance(account), 0n);
    const gone = await chain.node
      .getAccountInfo(account, { encoding: "base64", commitment: "processed" })
      .send();
    assert.equal(gone.value, null);
    await slots(40);
    await assert.rejects(chain.develop("reorganise", { slots: 32 }));
  });

  it("goes on where it was when it is killed", async () => {
    const { key, account } = await deposited(8_000_000n);
    const { encoded } = await burnOf(key, 5_000_000n);
    await sendTransaction(chain.node, encoded);
    // The open slot's transaction too was told to somebody.
    const { node } = chain;
    const look = async () => ({
      slot: await node.getSlot({ commitment: "processed" }).send(),
      latest: (await node.getLatestBlockhash({ commitment: "confirmed" }).send()).value,
      supply: await supply(),
      balances: [
        await balance(account, "processed"),
        await balance(account),
        await balance(account, "finalized"),
      ],
      history: await node.getSignaturesForAddress(chain.token.mint, { commitment: "confirmed" }).send(),
    });
    const before = await look();
    assert.deepEqual(before.balances, [3_000_000n, 8_000_000n, 0n]);
    await chain.crash();
    assert.deepEqual(await look(), before);
    await slots(1);
    assert.equal((await burnIn(node, chain.token, signatureOf(encoded), "confirmed"))?.amount, 5_000_000n);
  });
});
