// The stand-in for CCTP: its messages byte for byte, and each refusal in Circle's words. See cctp.tree.
import assert from "node:assert/strict";
import { Contract, type ContractTransactionReceipt } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { attester, signAll } from "../../../scripts/stack/pool-transaction.ts";
import { ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { keccak256 } from "../../../shared/protocol/hash.ts";
import { paddedAddress } from "../../../shared/protocol/host/forwarders.ts";
import { freshAddress } from "../pool/world.ts";
import { attest, deliver, messageOf, undelivered } from "./attesting.ts";
import { ATTESTERS, HOME_DOMAIN, link, Second, SECOND_DOMAIN, Stage, type Place } from "./stage.ts";

const AMOUNT = 5_000_000n;
const word = (value: bigint | string): string =>
  (typeof value === "bigint" ? value.toString(16) : value.slice(2)).padStart(64, "0");

describe("CCTP's stand-in", function () {
  let stage: Stage;
  let second: Second;
  let here: Place;
  let there: Place;
  before(async () => {
    stage = await Stage.openAlone();
    second = await Second.open();
    [here, there] = [stage.home, second.place];
    await link(here, there);
    await here.mint(here.owner.address.toLowerCase() as Address, 10n ** 12n);
    const approve = here.usdc.getFunction("approve");
    await (await approve(here.cctp.messenger, 10n ** 12n)).wait();
  });
  after(async () => {
    await second.stop();
    await stage.stop();
  });

  const contract = async (name: string, address: Address): Promise<Contract> =>
    new Contract(address, (await loadArtifact(name)).abi, here.owner);
  const told = async (name: string, address: Address, call: string, ...args: unknown[]): Promise<void> => {
    await (await (await contract(name, address)).getFunction(call)(...args)).wait();
  };
  interface Burn {
    readonly amount?: bigint;
    readonly domain?: number;
    readonly recipient?: string;
    readonly maxFee?: bigint;
    readonly hook?: string;
  }
  const burn = async (changes: Burn = {}): Promise<ContractTransactionReceipt> => {
    const { amount = AMOUNT, domain = SECOND_DOMAIN, recipient = paddedAddress(freshAddress()) } = changes;
    const { maxFee = 10n, hook } = changes;
    const args = [amount, domain, recipient, here.token, ZERO_BYTES32, maxFee, 1_000];
    const messenger = await contract("TokenMessengerV2", here.cctp.messenger);
    const sent: { wait(): Promise<ContractTransactionReceipt> } =
      hook === undefined
        ? await messenger.getFunction("depositForBurn")(...args)
        : await messenger.getFunction("depositForBurnWithHook")(...args, hook);
    return sent.wait();
  };
  const refusal = async (promise: Promise<unknown>): Promise<string> => {
    try {
      await promise;
    } catch (error) {
      return String((error as { reason?: string }).reason);
    }
    throw new Error("not refused");
  };

  it("writes a burn's message byte for byte", async () => {
    const recipient = paddedAddress(freshAddress());
    const sent = messageOf(await burn({ recipient, hook: "0xc0ffee" }));
    const header = [
      ...["00000001", "00000003", "00000006", word(0n)],
      ...[word(here.cctp.messenger), word(there.cctp.messenger), word(0n), "000003e8", "00000000"],
    ];
    const body = [
      ...[
        "00000001",
        word(here.token),
        word(recipient),
        word(AMOUNT),
        word(here.owner.address.toLowerCase()),
      ],
      ...[word(10n), word(0n), word(0n), "c0ffee"],
    ];
    assert.equal(toHex(sent), `0x${header.join("")}${body.join("")}`);
    assert.equal(sent.length, 148 + 228 + 3);
  });

  it("refuses a burn in Circle's words", async () => {
    const cases: readonly (readonly [Burn, string])[] = [
      [{ amount: 0n, maxFee: 0n }, "Amount must be nonzero"],
      [{ recipient: ZERO_BYTES32 }, "Mint recipient must be nonzero"],
      [{ maxFee: AMOUNT }, "Max fee must be less than amount"],
      [{ domain: 99 }, "No TokenMessenger for domain"],
      [{ hook: "0x" }, "Hook data is empty"],
    ];
    for (const [changes, words] of cases) assert.equal(await refusal(burn(changes)), words);
    await told("TokenMessengerV2", here.cctp.messenger, "setMinFee", 1_000n);
    assert.equal(await refusal(burn({ maxFee: 499n })), "Insufficient max fee");
    await burn({ maxFee: 500n });
    await told("TokenMessengerV2", here.cctp.messenger, "setMinFee", 0n);
    await told("TokenMinterV2", here.cctp.minter, "setMaxBurnAmountPerMessage", here.token, AMOUNT - 1n);
    assert.equal(await refusal(burn()), "Burn amount exceeds per tx limit");
    await told("TokenMinterV2", here.cctp.minter, "setMaxBurnAmountPerMessage", here.token, 10n ** 13n);
    await told("MessageTransmitterV2", here.cctp.transmitter, "pause");
    assert.equal(await refusal(burn()), "Pausable: paused");
    await told("MessageTransmitterV2", here.cctp.transmitter, "unpause");
  });

  it("takes the fee that was attested, up to the one that was offered, and no expired message", async () => {
    const recipient = freshAddress();
    const sent = messageOf(await burn({ recipient: paddedAddress(recipient) }));
    const fast = { finality: 1_000, fee: 10n };
    const expirationBlock = BigInt(await there.provider.getBlockNumber());
    const late = { ...fast, expirationBlock };
    assert.equal(await undelivered(there, attest(sent, late)), "Message expired and must be re-signed");
    assert.equal(await undelivered(there, attest(sent, { ...fast, fee: 11n })), "Fee exceeds max fee");
    assert.equal(
      await undelivered(there, attest(sent, { ...fast, finality: 499 })),
      "Unsupported finality threshold",
    );
    const before = await there.balance(there.owner.address);
    await deliver(there, attest(sent, { ...fast, expirationBlock: expirationBlock + 100n }));
    assert.equal(await there.balance(recipient), AMOUNT - 10n);
    assert.equal(await there.balance(there.owner.address), before + 10n, "the fee's recipient");
  });

  it("refuses a message in Circle's words", async () => {
    const sent = messageOf(await burn());
    const bent = (at: number, value: number) => ({ bend: (bytes: Uint8Array) => bytes.set([value], at) });
    assert.equal(await undelivered(here, attest(sent)), "Invalid destination domain");
    assert.equal(await undelivered(there, attest(sent, bent(3, 0))), "Invalid message version");
    assert.equal(await undelivered(there, attest(sent, bent(7, 9))), "Remote TokenMessenger unsupported");
    assert.equal(await undelivered(there, attest(sent, bent(75, 9))), "Remote TokenMessenger unsupported");
    assert.equal(await undelivered(there, attest(sent, bent(108, 9))), "Invalid caller for message");
    assert.equal(await undelivered(there, attest(sent, bent(148 + 3, 2))), "Invalid message body version");
    assert.equal(await undelivered(there, attest(sent, bent(148 + 35, 9))), "Mint token not supported");
    assert.equal(await undelivered(there, attest(sent, { nonce: 0n })), "Nonce already used");
  });

  it("refuses an attestation in Circle's words", async () => {
    const { message } = attest(messageOf(await burn()));
    const digest = keccak256(mustFromHex(message));
    const good = signAll(digest, ATTESTERS);
    const [first, last] = [good.slice(0, 65), good.slice(65)];
    const with_ = (...parts: Uint8Array[]) =>
      undelivered(there, {
        message,
        attestation: toHex(Uint8Array.from(parts.flatMap((part) => [...part]))),
      });
    const stranger = signAll(digest, [attester(9)]);
    assert.equal(await with_(first), "Invalid attestation length");
    assert.equal(await with_(last, first), "Invalid signature order or dupe");
    assert.equal(await with_(first, first), "Invalid signature order or dupe");
    assert.equal(await with_(stranger, last), "Invalid signature: not attester");
    const odd = Uint8Array.from(first);
    odd[64] = 26;
    assert.equal(await with_(odd, last), "ECDSA: invalid signature 'v' value");
    await deliver(there, { message, attestation: toHex(good) });
  });

  it("anybody sends any message, and it arrives nowhere as money", async () => {
    const transmitter = await contract("MessageTransmitterV2", here.cctp.transmitter);
    const send = transmitter.getFunction("sendMessage");
    const to = paddedAddress(there.cctp.messenger);
    const sent = await send(SECOND_DOMAIN, to, ZERO_BYTES32, 2_000, `0x${"12".repeat(228)}`);
    const attested = attest(messageOf(await sent.wait()));
    assert.equal(await undelivered(there, attested), "Remote TokenMessenger unsupported");
    assert.equal(await refusal(send(HOME_DOMAIN, to, ZERO_BYTES32, 2_000, "0x")), "Domain is local domain");
    assert.equal(
      await refusal(send(SECOND_DOMAIN, ZERO_BYTES32, ZERO_BYTES32, 2_000, "0x")),
      "Recipient must be nonzero",
    );
  });
});
