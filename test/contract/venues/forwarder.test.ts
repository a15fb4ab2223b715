// The contract before the exchange, as Circle published it: what it takes, what it refuses permanently, and that its word
// about an account is known to be about one message, whatever else the transaction says.
import assert from "node:assert/strict";
import { AbiCoder, Contract, Interface } from "ethers";
import { z } from "zod";
import { keyOf } from "../../../proxy/relay/chains/events.ts";
import { createReader } from "../../../proxy/relay/chains/reader.ts";
import { withDoor } from "../../../proxy/relay/desk/exchange-door.ts";
import { createChain, type RawLog } from "../../../proxy/base/chain/provider.ts";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { encodeForward, FORWARD_TO } from "../../../shared/protocol/host/cctp-forward.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { ALICE, alice, becomes, FINAL_BLOCKS, Stage, USD, type ShownMessage } from "./stage.ts";

let someone = 0;
/** Without code, and without a past. */
function nobody(): Address {
  return `0x${(++someone).toString(16).padStart(40, "d")}` as Address;
}

const spotShape = z.object({ balances: z.array(z.object({ coin: z.string(), total: z.string() })) });
const words = new Interface([
  "function mintAndForward(bytes message, bytes attestation)",
  "function receiveMessage(bytes message, bytes attestation)",
  "function play((address to, bytes data)[] acts)",
  "event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)",
  "event MintAndForward(address indexed forwardRecipient, address indexed forwardingAddress, address indexed token, uint32 destinationId, uint256 amount)",
]);

interface Hook {
  readonly recipient?: Address;
  readonly magic?: string;
  readonly version?: bigint;
  readonly length?: bigint;
  readonly tail?: Uint8Array;
}

/** Byte for byte, with whatever is odd about it. */
function hookOf({
  recipient = alice,
  magic = "cctp-forward",
  version = 0n,
  length = 24n,
  tail,
}: Hook): Uint8Array {
  const name = new TextEncoder().encode(magic);
  return concatBytes(
    ...[name, new Uint8Array(24 - name.length), uintToBytes(version, 4), uintToBytes(length, 4)],
    ...[mustFromHex(recipient), tail ?? uintToBytes(0n, 4)],
  );
}

describe("the contract before the exchange", function () {
  let stage: Stage;
  let wallet: Address;
  before(async () => {
    stage = await Stage.set();
    const { own, forwarder } = stage;
    const { abi } = await loadArtifact("CctpForwarder");
    const contract = new Contract(forwarder, abi, own.provider);
    const found: unknown = await contract.getFunction("tokenToForwardingAddress")(own.cctp.usdc);
    wallet = asAddress(found) ?? assert.fail("no wallet");
  });
  after(() => (stage as Stage | undefined)?.close());

  /** Burnt on the pool's chain and attested, in their order. */
  async function attested(burns: readonly { hook?: Uint8Array; to?: Address; amount?: bigint }[]) {
    const { home, forwarder } = stage;
    const hashes: string[] = [];
    for (const { hook, to = forwarder, amount = 2n * USD } of burns) {
      const named = hook === undefined ? {} : { hook, caller: forwarder };
      hashes.push(await home.burn({ amount, to, domain: 19, ...named }));
    }
    await home.mine(FINAL_BLOCKS);
    const all: ShownMessage[] = [];
    for (const hash of hashes) all.push(await stage.until(3, hash, "complete"));
    return all;
  }

  const forward = (one: ShownMessage): Promise<string> => stage.own.forward(stage.forwarder, one);
  const admin = async (name: string, to: string, call: string, ...args: unknown[]): Promise<void> => {
    const { abi } = await loadArtifact(name);
    const fragment = new Interface(JSON.stringify(abi)).getFunction(call)!;
    await stage.own.call(to, [fragment.format("full")], call, args);
  };

  it("takes any hook that names an account, and puts what has no other place into the spot account", async () => {
    const hooks = [
      encodeForward({ recipient: alice, destination: "perps" }),
      hookOf({ magic: "", length: 0n }),
      hookOf({ tail: new Uint8Array(0) }),
      hookOf({ tail: concatBytes(uintToBytes(0n, 4), new Uint8Array(9).fill(7)) }),
      hookOf({ tail: uintToBytes(BigInt(FORWARD_TO.spot), 4) }),
      hookOf({ tail: uintToBytes(77n, 4) }),
    ];
    for (const one of await attested(hooks.map((hook) => ({ hook })))) await forward(one);
    await stage.own.mine(1);
    // A new account costs 1.
    await becomes(() => stage.perps(alice), "7.0");
    const spot = async (): Promise<string | undefined> =>
      (await stage.info(spotShape, { type: "spotClearinghouseState", user: alice })).balances[0]?.total;
    await becomes(spot, "4.0");
    assert.equal(await stage.own.usdc.balanceOf(stage.reserve), 12n * USD);
  });

  it("refuses a hook that it does not read, and a message that is not for it", async () => {
    const [short, other, elsewhere] = (await attested([
      { hook: hookOf({ tail: new Uint8Array(0) }).subarray(0, 51) },
      { hook: hookOf({ version: 1n }) },
      { hook: hookOf({}), to: nobody() },
    ])) as [ShownMessage, ShownMessage, ShownMessage];
    await assert.rejects(forward(short), /Invalid hook data: too short/);
    await assert.rejects(forward(other), /Invalid hook data: version/);
    await assert.rejects(forward(elsewhere), /Mint recipient must be forwarder/);
    await assert.rejects(stage.own.receive(short), /Invalid caller for message/);
  });

  it("refuses those who can have no account, and everybody while its wallet is paused or away; a relay asks it before", async () => {
    const { own, forwarder, reserve } = stage;
    const yes = { hasAccount: () => Promise.resolve(true), isOpen: () => Promise.resolve(true) };
    const chain = createChain(own.anvil.url, 31_340n);
    const door = withDoor(yes, { chain, forwarder, token: own.cctp.usdc });
    const listed = nobody();
    await admin("CoreDepositWallet", wallet, "setBlacklisted", listed, true);
    const refused = [ZERO_ADDRESS, own.cctp.usdc, wallet, reserve, listed];
    const all = await attested([...refused, alice].map((recipient) => ({ hook: hookOf({ recipient }) })));
    for (const one of all.slice(0, 3)) await assert.rejects(forward(one), /Invalid forward recipient/);
    await assert.rejects(forward(all[3]!), /Invalid recipient: system address/);
    await assert.rejects(forward(all[4]!), /Invalid recipient: blacklisted/);
    const good = all[5]!;
    assert.deepEqual(await Promise.all([alice, ...refused].map((one) => door.hasAccount(one))), [
      ...[true, false, false, false, false, false],
    ]);
    assert.equal(await door.isOpen(), true);
    await admin("CoreDepositWallet", wallet, "pause");
    await assert.rejects(forward(good), /Pausable: paused/);
    assert.equal(await door.isOpen(), false);
    await admin("CoreDepositWallet", wallet, "unpause");
    await admin("CctpForwarder", forwarder, "removeTokenForwardingAddress", own.cctp.usdc);
    await assert.rejects(forward(good), /Forwarding address not set/);
    assert.equal(await door.isOpen(), false);
    await admin("CctpForwarder", forwarder, "addTokenForwardingAddress", own.cctp.usdc, wallet);
    assert.deepEqual([await door.isOpen(), await door.hasAccount(alice)], [true, true]);
    await forward(good);
    await assert.rejects(forward(good), /Nonce already used/);
  });

  it("is believed about its own messages alone, whatever a stranger says and has delivered beside them", async () => {
    const { own, forwarder } = stage;
    const [bob, victim] = [nobody(), nobody()];
    const [first, strangers, second] = (await attested([
      { hook: hookOf({}) },
      { to: nobody() },
      { hook: hookOf({ recipient: bob }), amount: 3n * USD },
    ])) as [ShownMessage, ShownMessage, ShownMessage];
    const impostor = (await deployContract(own.rich, "Impostor", [])).address;
    const told = (name: string, args: readonly unknown[]) => {
      const { topics, data } = words.encodeEventLog(name, args);
      const types = ["bytes32", "bytes32", "bytes32", "bytes32", "bytes"];
      return {
        to: ZERO_ADDRESS,
        data: AbiCoder.defaultAbiCoder().encode(types, [...topics, data]),
      };
    };
    const receipt = (nonce: string) =>
      told("MessageReceived", [forwarder, 3, nonce, keyOf(victim), 2_000, "0x"]);
    const credit = told("MintAndForward", [victim, wallet, own.cctp.usdc, 0, 9n * USD]);
    const call = (to: Address, name: string, { message, attestation }: ShownMessage) => ({
      ...{ to, data: words.encodeFunctionData(name, [message, attestation]) },
    });
    const acts = [
      ...[receipt(second.eventNonce), credit, call(forwarder, "mintAndForward", first), credit],
      ...[call(own.cctp.transmitter, "receiveMessage", strangers), credit, receipt(first.eventNonce)],
      ...[call(forwarder, "mintAndForward", second), receipt(first.eventNonce), credit],
    ];
    const play = [words.getFunction("play")!.format("full")];
    const hash = await own.call(impostor, play, "play", [acts]);

    const { domain, messenger, transmitter, usdc } = own.cctp;
    const read = createReader({
      ...{ tokens: [usdc], forwarders: nobody(), exchange: forwarder },
      cctp: { domain, messenger, transmitter, senders: {} },
    });
    const logs = (await own.provider.getTransactionReceipt(hash))!.logs;
    const events = logs.flatMap(({ address, topics, data, index: logIndex, blockNumber, blockHash }) =>
      read({ address, topics, data, logIndex, blockNumber, blockHash, txHash: hash } as RawLog),
    );
    assert.deepEqual(
      events.filter(({ kind }) => kind === "credited"),
      [
        { kind: "credited", account: keyOf(ALICE.address), nonce: first.eventNonce, amount: 2n * USD },
        { kind: "credited", account: keyOf(bob), nonce: second.eventNonce, amount: 3n * USD },
      ],
    );
    assert.deepEqual(
      events.flatMap((event) => (event.kind === "minted" ? [event.nonce] : [])),
      [first, strangers, second].map(({ eventNonce }) => eventNonce),
    );
  });
});
