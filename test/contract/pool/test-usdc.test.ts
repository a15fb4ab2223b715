// The development dollar behaves as USDC v2.2 does where the pool and its users rely on it. See test-usdc.tree.
import assert from "node:assert/strict";
import { type Contract, hexlify, HDNodeWallet, Signature, TypedDataEncoder } from "ethers";
import { drawBytes } from "../../support/drafts.ts";
import { actingAs, freshAddress, World } from "./world.ts";

const AUTHORIZATION = ["from", "to", "value", "validAfter", "validBefore", "nonce"] as const;
const TYPE_OF: Readonly<Record<string, string>> = { from: "address", to: "address", nonce: "bytes32" };

describe("contracts: TestUSDC", () => {
  let world: World;
  let stranger: Contract;
  before(async () => {
    world = await World.start();
    stranger = actingAs(world.usdc, await world.account(9));
  });
  after(() => world.stop());

  const domain = (): object => ({
    name: "USD Coin",
    version: "2",
    chainId: world.setting.home.chainId,
    verifyingContract: world.usdcAddress,
  });
  const sign = (
    primary: string,
    fields: readonly (readonly [string, string])[],
    message: object,
  ): Promise<string> =>
    world.depositor.signTypedData(
      domain(),
      { [primary]: fields.map(([name, type]) => ({ name, type })) },
      message as never,
    );
  const authorization = async (
    primary: string,
    changes: object = {},
  ): Promise<{ args: unknown[]; signature: string; nonce: string }> => {
    const nonce = hexlify(drawBytes(32));
    const message: Record<string, unknown> = {
      from: world.depositorAddress,
      to: freshAddress(),
      value: 1_000n,
      validAfter: 0n,
      validBefore: 4_000_000_000n,
      nonce,
      ...changes,
    };
    const fields = AUTHORIZATION.map((name) => [name, TYPE_OF[name] ?? "uint256"] as const);
    return {
      args: AUTHORIZATION.map((name) => message[name]),
      signature: await sign(primary, fields, message),
      nonce,
    };
  };
  const vrs = (signature: string): unknown[] => {
    const { v, r, s } = Signature.from(signature);
    return [v, r, s];
  };
  const VRS = "address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32";
  const BYTES = "address,address,uint256,uint256,uint256,bytes32,bytes";
  const refusalOf = async (
    contract: Contract,
    name: string,
    ...args: unknown[]
  ): Promise<string | undefined> => {
    try {
      await contract.getFunction(name).staticCall(...args);
    } catch (error) {
      const { data } = error as { data?: string };
      return world.usdc.interface.parseError(data ?? "0x")?.name;
    }
    return undefined;
  };
  const balance = (account: string): Promise<bigint> => world.usdc.getFunction("balanceOf")(account);

  it("has USDC's name, decimals and EIP-712 domain", async () => {
    const read = (name: string): Promise<unknown> => world.usdc.getFunction(name)();
    assert.deepEqual(await Promise.all(["name", "symbol", "version", "decimals"].map(read)), [
      "USD Coin",
      "USDC",
      "2",
      6n,
    ]);
    assert.equal(await read("DOMAIN_SEPARATOR"), TypedDataEncoder.hashDomain(domain()));
  });

  it("moves balances by transfer and by allowance, an endless one included, and never more", async () => {
    const [a, b] = [await world.account(2), await world.account(3)];
    await world.call(world.usdc, "mint", a.address, 100n);
    const [asA, asB] = [actingAs(world.usdc, a), actingAs(world.usdc, b)];
    await world.call(asA, "transfer", b.address, 30n);
    assert.deepEqual([await balance(a.address), await balance(b.address)], [70n, 30n]);
    assert.equal(await refusalOf(asA, "transfer", b.address, 71n), "BalanceTooLow");
    assert.equal(await refusalOf(asB, "transferFrom", a.address, b.address, 1n), "AllowanceTooLow");
    await world.call(asA, "approve", b.address, 20n);
    await world.call(asB, "transferFrom", a.address, b.address, 15n);
    assert.equal(await world.usdc.getFunction("allowance")(a.address, b.address), 5n);
    await world.call(asA, "approve", b.address, 2n ** 256n - 1n);
    await world.call(asB, "transferFrom", a.address, b.address, 15n);
    assert.equal(await world.usdc.getFunction("allowance")(a.address, b.address), 2n ** 256n - 1n);
  });

  it("permit: sets the allowance once, for the owner's signature only, in time", async () => {
    const fields = [
      ["owner", "address"],
      ["spender", "address"],
      ["value", "uint256"],
      ["nonce", "uint256"],
      ["deadline", "uint256"],
    ] as const;
    const [owner, spender] = [world.depositorAddress, freshAddress()];
    const message = { owner, spender, value: 9n, nonce: 0n, deadline: 4_000_000_000n };
    const signature = await sign("Permit", fields, message);
    const permit = "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)";
    const args = [owner, spender, 9n, message.deadline, ...vrs(signature)];
    assert.equal(
      await refusalOf(stranger, permit, owner, spender, 10n, message.deadline, ...vrs(signature)),
      "SignatureInvalid",
    );
    assert.equal(
      await refusalOf(stranger, permit, owner, spender, 9n, 1n, ...vrs(signature)),
      "SignatureExpired",
    );
    await world.call(stranger, permit, ...args);
    assert.equal(await world.usdc.getFunction("allowance")(owner, spender), 9n);
    assert.equal(await refusalOf(stranger, permit, ...args), "SignatureInvalid");
  });

  for (const [kind, tail] of [
    [VRS, vrs],
    [BYTES, (signature: string): unknown[] => [signature]],
  ] as const) {
    it(`transferWithAuthorization(${kind}): by anyone, once`, async () => {
      const { args, signature } = await authorization("TransferWithAuthorization");
      const name = `transferWithAuthorization(${kind})`;
      await world.call(stranger, name, ...args, ...tail(signature));
      assert.equal(await balance(args[1] as string), 1_000n);
      assert.equal(
        await refusalOf(stranger, name, ...args, ...tail(signature)),
        "AuthorizationUsedOrCanceled",
      );
    });

    it(`receiveWithAuthorization(${kind}): by the payee only`, async () => {
      const payee = (await world.account(9)).address;
      const { args, signature } = await authorization("ReceiveWithAuthorization", { to: payee });
      const name = `receiveWithAuthorization(${kind})`;
      assert.equal(await refusalOf(world.usdc, name, ...args, ...tail(signature)), "CallerNotPayee");
      const before = await balance(payee);
      await world.call(stranger, name, ...args, ...tail(signature));
      assert.equal(await balance(payee), before + 1_000n);
    });
  }

  it("a transfer's authorization is no receipt's, and a changed amount or signer is refused", async () => {
    const payee = (await world.account(9)).address;
    const { args, signature } = await authorization("TransferWithAuthorization", { to: payee });
    assert.equal(
      await refusalOf(stranger, `receiveWithAuthorization(${VRS})`, ...args, ...vrs(signature)),
      "SignatureInvalid",
    );
    const more = args.with(2, 1_001n);
    assert.equal(
      await refusalOf(stranger, `transferWithAuthorization(${VRS})`, ...more, ...vrs(signature)),
      "SignatureInvalid",
    );
    const other = args.with(0, HDNodeWallet.createRandom().address);
    assert.equal(
      await refusalOf(stranger, `transferWithAuthorization(${VRS})`, ...other, ...vrs(signature)),
      "SignatureInvalid",
    );
  });

  it("cancelAuthorization: the nonce is dead before it was used", async () => {
    const { args, signature, nonce } = await authorization("TransferWithAuthorization");
    const fields = [
      ["authorizer", "address"],
      ["nonce", "bytes32"],
    ] as const;
    const cancellation = await sign("CancelAuthorization", fields, {
      authorizer: world.depositorAddress,
      nonce,
    });
    await world.call(
      stranger,
      "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)",
      world.depositorAddress,
      nonce,
      ...vrs(cancellation),
    );
    assert.equal(await world.usdc.getFunction("authorizationState")(world.depositorAddress, nonce), true);
    assert.equal(
      await refusalOf(stranger, `transferWithAuthorization(${VRS})`, ...args, ...vrs(signature)),
      "AuthorizationUsedOrCanceled",
    );
  });
});
