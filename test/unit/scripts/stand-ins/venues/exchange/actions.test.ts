// Signatures over actions: any field changed is another signer's action; amounts as they are written.
import assert from "node:assert/strict";
import { Signature, Wallet } from "ethers";
import fc from "fast-check";
import type { Address } from "../../../../../../shared/protocol/brands.ts";
import {
  send,
  sendToEvm,
  signAction,
  signedActionShape,
  signerOf,
} from "../../../../../../scripts/stand-ins/venues/exchange/actions.ts";
import { readAmount, writeAmount } from "../../../../../../scripts/stand-ins/venues/exchange/amounts.ts";

const BOB = `0x${"bb".repeat(20)}` as Address;
const wallet = new Wallet(`0x${"17".repeat(32)}`);
const me = wallet.address.toLowerCase();

describe("a signed action", () => {
  const toEvm = sendToEvm({
    amount: "1.5",
    from: "spot",
    recipient: BOB,
    domain: 3,
    data: "0xbeef",
    nonce: 5,
  });

  for (const action of [toEvm, send(BOB, "1", 7)])
    it(`${action.type} names its signer, and with any field changed names another`, async () => {
      const signed = await signAction(wallet, action);
      assert.equal(signerOf(signed), me);
      const changes: Readonly<Record<string, unknown>> = {
        signatureChainId: "0x1",
        hyperliquidChain: "Mainnet",
        destination: me,
        amount: "1.50",
        time: 8,
        token: "USDC:0x00000000000000000000000000000000",
        sourceDex: "",
        destinationRecipient: me,
        addressEncoding: "base58",
        destinationChainId: 6,
        gasLimit: 1,
        data: "0xbeee",
        nonce: 9,
      };
      for (const name of Object.keys(action).filter((each) => each !== "type")) {
        assert.ok(name in changes, name);
        const changed = signedActionShape.parse({
          ...signed,
          action: { ...action, [name]: changes[name] },
        });
        assert.notEqual(signerOf(changed), me, name);
      }
    });

  it("is what a wallet signs that follows the public API by the letter", async () => {
    const text = (name: string): { name: string; type: string } => ({ name, type: "string" });
    const domain = {
      name: "HyperliquidSignTransaction",
      version: "1",
      chainId: 42_161,
      verifyingContract: `0x${"00".repeat(20)}`,
    };
    const fields = ["hyperliquidChain", "token", "amount", "sourceDex", "destinationRecipient"];
    const types = {
      "HyperliquidTransaction:SendToEvmWithData": [
        ...fields.map(text),
        text("addressEncoding"),
        { name: "destinationChainId", type: "uint32" },
        { name: "gasLimit", type: "uint64" },
        { name: "data", type: "bytes" },
        { name: "nonce", type: "uint64" },
      ],
    };
    const said = {
      hyperliquidChain: "Testnet",
      token: "USDC",
      amount: "1.5",
      sourceDex: "spot",
      destinationRecipient: BOB,
      addressEncoding: "hex",
      destinationChainId: 3,
      gasLimit: 200_000,
      data: "0xbeef",
      nonce: 5,
    };
    const theirs = Signature.from(await wallet.signTypedData(domain, types, said));
    const ours = await signAction(wallet, toEvm);
    assert.deepEqual(ours.signature, { r: theirs.r, s: theirs.s, v: theirs.v });
    assert.deepEqual(ours.action, {
      type: "sendToEvmWithData",
      signatureChainId: "0xa4b1",
      ...said,
    });
  });

  it("with a signature that nobody made has no signer", async () => {
    const signed = await signAction(wallet, toEvm);
    const zero = `0x${"00".repeat(32)}`;
    assert.equal(
      signedActionShape.safeParse({ ...signed, signature: { r: zero, s: zero, v: 29 } }).success,
      false,
    );
    const nobody = signedActionShape.parse({ ...signed, signature: { r: zero, s: zero, v: 27 } });
    assert.equal(signerOf(nobody), undefined);
  });
});

describe("an amount of the exchange", () => {
  it("is read exactly, or not at all", () => {
    assert.equal(readAmount("12.5"), 12_500_000n);
    assert.equal(readAmount("0.00000100"), 1n);
    for (const text of ["", ".5", "5.", "-1", "1e3", "01", "1,5", "0.0000001", " 1"])
      assert.equal(readAmount(text), undefined, text);
  });

  it("comes back from its writing", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 17n), (units) => {
        assert.equal(readAmount(writeAmount(units)), units);
      }),
    );
    assert.equal(writeAmount(12_000_000n), "12.0");
  });
});
