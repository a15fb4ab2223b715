// What a hostile service may lay before the device, and a hostile device before the service: all but the one burn is
// refused, by both.
import assert from "node:assert/strict";
import { getAddMemoInstruction, LEGACY_MEMO_PROGRAM_ADDRESS_V1 } from "@solana-program/memo";
import {
  AuthorityType,
  getApproveInstruction,
  getBurnCheckedInstruction,
  getBurnInstruction,
  getCloseAccountInstruction,
  getSetAuthorityInstruction,
  getTransferCheckedInstruction,
} from "@solana-program/token";
import {
  AccountRole,
  appendTransactionMessageInstructions,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  getBase58Decoder,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  some,
  type Address,
  type Blockhash,
  type Instruction,
} from "@solana/kit";
import { burnTransaction, type Burn } from "../../../../shared/altchain/burn.ts";
import { checkBurn, type ExpectedBurn } from "../../../../shared/altchain/checking.ts";
import { MEMO_PROGRAM, orderMemo } from "../../../../shared/altchain/memo.ts";
import { AltchainRefusal, type AltchainRefusalCode } from "../../../../shared/altchain/refusals.ts";
import { payForBurn, signBurn, type AltchainKey } from "../../../../shared/altchain/signing.ts";
import { tokenAccountOf, TOKEN_PROGRAM } from "../../../../shared/altchain/token.ts";
import { altchainKey, expectedBurn, HOME_DOMAIN, RECIPIENT } from "../../../support/altchain.ts";

const address = (fill: number) => getBase58Decoder().decode(new Uint8Array(32).fill(fill)) as Address;
const token = { mint: address(11), decimals: 6 };
const blockhash = getBase58Decoder().decode(new Uint8Array(32).fill(12));
const ORDER = { domain: HOME_DOMAIN, recipient: RECIPIENT, maxFee: 20_000n, finality: 2000 };
const AMOUNT = 5_000_000n;

describe("altchain: what is signed", () => {
  let device: AltchainKey;
  let service: AltchainKey;
  let thief: AltchainKey;
  let account: Address;
  let burn: Burn;
  let good: string;
  let atDevice: ExpectedBurn;

  before(async () => {
    [device, service, thief] = (await Promise.all(["device", "service", "thief"].map(altchainKey))) as [
      AltchainKey,
      AltchainKey,
      AltchainKey,
    ];
    account = await tokenAccountOf(device.address, token.mint);
    burn = { ...ORDER, token, owner: device.address, amount: AMOUNT, feePayer: service.address, blockhash };
    good = await burnTransaction(burn);
    atDevice = expectedBurn(token, device);
  });

  const refusedAs =
    (...codes: AltchainRefusalCode[]) =>
    (error: unknown) =>
      error instanceof AltchainRefusal && (codes.length === 0 || codes.includes(error.code));

  /** Neither side touches it. The service gets it with the device's signature, as from a hostile device. */
  async function refused(encoded: string, ...codes: AltchainRefusalCode[]): Promise<void> {
    await assert.rejects(signBurn(encoded, atDevice, device), refusedAs(...codes));
    await assert.rejects(payForBurn(encoded, atDevice, service), refusedAs());
  }

  function made(instructions: readonly Instruction[], version: "legacy" | 0 = "legacy"): string {
    const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n };
    const transaction = compileTransaction(
      pipe(
        createTransactionMessage({ version }),
        (draft) => setTransactionMessageFeePayer(service.address, draft),
        (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
        (draft) => appendTransactionMessageInstructions(instructions, draft),
      ),
    );
    return getBase64EncodedWireTransaction(transaction);
  }

  const authority = () => createNoopSigner(device.address);
  const burning = () =>
    getBurnCheckedInstruction({
      account,
      mint: token.mint,
      authority: authority(),
      amount: AMOUNT,
      decimals: 6,
    });
  const memo = (text = orderMemo(ORDER), programAddress: Address = MEMO_PROGRAM) =>
    getAddMemoInstruction({ memo: text }, { programAddress });

  it("the expected burn is signed by both", async () => {
    const signed = await signBurn(good, atDevice, device);
    const paid = await payForBurn(signed, atDevice, service);
    assert.notEqual(paid, signed);
    assert.equal(await payForBurn(signed, atDevice, service), paid, "the same bytes every time");
    assert.deepEqual((await checkBurn(paid, atDevice)).burn, burn);
    assert.equal(made([burning(), memo()]), good, "what the tests below change is this");
  });

  it("another instruction, more of them, fewer, or in another order", async () => {
    const { mint } = token;
    const destination = await tokenAccountOf(thief.address, mint);
    const rest = { authority: authority(), amount: AMOUNT };
    const attacks: Instruction[][] = [
      [],
      [burning()],
      [memo()],
      [memo(), burning()],
      [burning(), memo(), memo()],
      [burning(), burning(), memo()],
      [
        burning(),
        memo(),
        getTransferCheckedInstruction({ source: account, mint, destination, decimals: 6, ...rest }),
      ],
      [getTransferCheckedInstruction({ source: account, mint, destination, decimals: 6, ...rest }), memo()],
      [getBurnInstruction({ account, mint, ...rest }), memo()],
      [getBurnCheckedInstruction({ account, mint, decimals: 9, ...rest }), memo()],
      [getBurnCheckedInstruction({ account: destination, mint, decimals: 6, ...rest }), memo()],
      [getBurnCheckedInstruction({ account, mint: address(13), decimals: 6, ...rest }), memo()],
      [
        getBurnCheckedInstruction({
          account,
          mint,
          amount: AMOUNT,
          decimals: 6,
          authority: createNoopSigner(thief.address),
        }),
        memo(),
      ],
      [
        getApproveInstruction({
          source: account,
          delegate: thief.address,
          owner: authority(),
          amount: AMOUNT,
        }),
        memo(),
      ],
      [getCloseAccountInstruction({ account, destination: thief.address, owner: authority() }), memo()],
      [
        getSetAuthorityInstruction({
          ...{ owned: account, owner: authority(), authorityType: AuthorityType.AccountOwner },
          newAuthority: some(thief.address),
        }),
        memo(),
      ],
      [{ ...burning(), programAddress: address(14) }, memo()],
      [burning(), memo(orderMemo(ORDER), LEGACY_MEMO_PROGRAM_ADDRESS_V1)],
      [burning(), memo(orderMemo(ORDER), TOKEN_PROGRAM)],
      [burning(), { ...memo(), accounts: [{ address: thief.address, role: AccountRole.READONLY }] }],
      [burning(), { ...memo(), accounts: [{ address: device.address, role: AccountRole.WRITABLE_SIGNER }] }],
      [burning(), memo(`${orderMemo(ORDER)} `)],
      [burning(), memo(`cctp1:0${orderMemo(ORDER).slice(6)}`)],
      [burning(), memo("")],
    ];
    for (const instructions of attacks) await refused(made(instructions), "NOT_THE_BURN");
    await refused(made([burning(), memo()], 0), "NOT_THE_BURN");
  });

  it("the burn with other terms", async () => {
    const cases: [Partial<Burn>, AltchainRefusalCode][] = [
      [{ domain: 6 }, "WRONG_DESTINATION"],
      [{ recipient: RECIPIENT.replace("ab", "ac") }, "WRONG_DESTINATION"],
      [{ maxFee: 50_001n }, "FEE_ABOVE_CEILING"],
      [{ amount: 999_999n }, "BELOW_MINIMUM"],
      [{ finality: 500 }, "NOT_THE_BURN"],
      [{ feePayer: device.address }, "WRONG_FEE_PAYER"],
      [{ token: { ...token, mint: address(13) } }, "NOT_THE_BURN"],
      [{ owner: thief.address }, "NOT_THE_BURN"],
    ];
    for (const [changed, code] of cases) await refused(await burnTransaction({ ...burn, ...changed }), code);
    // A ceiling above the minimum must not let the fee take all.
    const loose = { ...atDevice, feeCeiling: 2_000_000n };
    const eaten = await burnTransaction({ ...burn, amount: 1_000_000n, maxFee: 1_000_000n });
    await assert.rejects(signBurn(eaten, loose, device), refusedAs("BELOW_MINIMUM"));
  });

  it("the service pays as itself only, and only for what the device has signed", async () => {
    const unsigned = good;
    await assert.rejects(payForBurn(unsigned, atDevice, service), refusedAs("SIGNATURE_INVALID"));
    const signed = await signBurn(good, atDevice, device);
    await assert.rejects(payForBurn(signed, atDevice, thief), refusedAs("WRONG_FEE_PAYER"));
    const bytes = Buffer.from(signed, "base64");
    for (let at = 65; at < 129; at += 1) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1;
      await assert.rejects(
        payForBurn(flipped.toString("base64"), atDevice, service),
        refusedAs("SIGNATURE_INVALID"),
      );
    }
    const other = await burnTransaction({ ...burn, amount: AMOUNT + 1n });
    const moved = Buffer.concat([bytes.subarray(0, 129), Buffer.from(other, "base64").subarray(129)]);
    await assert.rejects(
      payForBurn(moved.toString("base64"), atDevice, service),
      refusedAs("SIGNATURE_INVALID"),
    );
  });

  it("every bit of every byte of the message: refused, or the same burn with another free field", async () => {
    const bytes = Buffer.from(good, "base64");
    // Count of signatures, and two of 64 bytes; they are no part of what is signed.
    const begin = 1 + 2 * 64;
    let passed = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      if (at >= 1 && at < begin) continue;
      for (const bit of [1, 2, 128]) {
        const flipped = Buffer.from(bytes);
        flipped[at]! ^= bit;
        const checked = await checkBurn(flipped.toString("base64"), atDevice).catch((error: unknown) => {
          assert.ok(error instanceof AltchainRefusal, String(error));
          return undefined;
        });
        if (checked === undefined) continue;
        passed += 1;
        const { amount, blockhash: named, feePayer, maxFee, ...fixed } = checked.burn;
        const { domain, recipient, finality } = ORDER;
        assert.deepEqual(fixed, { domain, recipient, finality, token, owner: device.address });
        assert.ok(amount >= atDevice.minimum && maxFee <= atDevice.feeCeiling);
        assert.ok(
          amount !== burn.amount ||
            named !== blockhash ||
            feePayer !== burn.feePayer ||
            maxFee !== ORDER.maxFee,
        );
      }
    }
    assert.ok(passed > 0 && passed <= 3 * (32 + 32 + 8 + 5), String(passed));
  });

  it("what is no transaction, or spelled otherwise", async () => {
    const bytes = Buffer.from(good, "base64");
    const unreadable = [
      ...[undefined, null, 5, {}, "", "AA==", "not base64!", `${good} `, good.slice(0, -4), `${good}=`],
      Buffer.concat([bytes, Buffer.alloc(2000)]).toString("base64"),
    ];
    for (const encoded of unreadable)
      await assert.rejects(signBurn(encoded, atDevice, device), refusedAs("TRANSACTION_UNREADABLE"));
    // A byte after the end belongs to what is signed.
    await refused(Buffer.concat([bytes, Buffer.from([0])]).toString("base64"), "NOT_THE_BURN");
  });
});
