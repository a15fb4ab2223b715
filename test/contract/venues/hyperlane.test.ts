// Hyperlane's real contracts between two local chains, with a validator and relayer of ours as a process.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, Interface, JsonRpcProvider, keccak256, NonceManager, Wallet, zeroPadValue } from "ethers";
import { deployTestUsdc } from "../../../scripts/product/deploy.ts";
import type { Service } from "../../../scripts/stack/service.ts";
import { installHyperlane } from "../../../scripts/stack/venues/hyperlane/artefacts.ts";
import { MessageTree, signedMetadata } from "../../../scripts/stack/venues/hyperlane/checkpoint.ts";
import {
  deployHyperlane,
  enroll,
  type HyperlaneEnd,
} from "../../../scripts/stack/venues/hyperlane/deploy.ts";
import { startHyperlane } from "../../../scripts/stack/venues/hyperlane/start.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { until } from "../../support/until.ts";

const OWNER = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const SENDER = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const VALIDATOR = `0x${"17".repeat(32)}`;
const USDC = [
  "function mint(address,uint256)",
  "function approve(address,uint256)",
  "function balanceOf(address) view returns (uint256)",
];
const ROUTE = [
  "function transferRemote(uint32 domain, bytes32 recipient, uint256 amount) payable returns (bytes32)",
];
const MAILBOX = new Interface([
  "event Dispatch(address indexed sender, uint32 indexed destination, bytes32 indexed recipient, bytes message)",
  "function process(bytes metadata, bytes message) payable",
  "function delivered(bytes32 id) view returns (bool)",
]);
const UNIT = 1_000_000n;

interface Side {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  readonly owner: NonceManager;
  readonly usdc: Contract;
  readonly end: HyperlaneEnd;
}

describe("venues: Hyperlane", () => {
  let folder: string;
  let home: Side;
  let away: Side;
  let relayer: Service | undefined;
  const validator = new Wallet(VALIDATOR);

  before(async function () {
    this.timeout(900_000);
    await installHyperlane();
    folder = await mkdtemp(path.join(tmpdir(), "cloister-hyperlane-"));
    [home, away] = [await side(31_337), await side(31_338)];
    await enroll(home.owner, home.end, away.end);
    await enroll(away.owner, away.end, home.end);
    for (const { usdc, end } of [home, away]) await run(usdc, "mint", end.route, 1_000n * UNIT);
  });

  after(async () => {
    await relayer?.stop();
    for (const { provider, anvil } of [home, away]) {
      provider.destroy();
      await anvil.stop();
    }
    await rm(folder, { recursive: true, force: true });
  });

  async function side(chainId: number): Promise<Side> {
    const anvil = await startAnvil({ chainId });
    const provider = new JsonRpcProvider(anvil.url, chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 25,
    });
    const owner = new NonceManager(new Wallet(OWNER, provider));
    const { address: token } = await deployTestUsdc(owner);
    const end = await deployHyperlane(owner, chainId, token, validator.address);
    return { anvil, provider, owner, usdc: new Contract(token, USDC, owner), end };
  }

  async function run(contract: Contract, name: string, ...values: unknown[]) {
    const sent = await contract.getFunction(name).send(...values);
    return (await sent.wait())!;
  }

  const held = async ({ usdc }: Side, owner: string) =>
    BigInt(await usdc.getFunction("balanceOf").staticCall(owner));

  /** From the home chain; the message and what it cost. */
  async function send(recipient: string, amount: bigint): Promise<{ message: string; gas: bigint }> {
    const { owner, usdc, end } = home;
    await run(usdc, "mint", await owner.getAddress(), amount);
    await run(usdc, "approve", end.route, amount);
    const route = new Contract(end.route, ROUTE, owner);
    const receipt = await run(route, "transferRemote", away.end.domain, zeroPadValue(recipient, 32), amount);
    const event = receipt.logs
      .map((log) => MAILBOX.parseLog(log))
      .find((found) => found?.name === "Dispatch");
    return { message: String(event?.args["message"]), gas: receipt.gasUsed };
  }

  const relay = async () => {
    const ends = [home, away].map(({ anvil, end: { domain, mailbox, merkleTreeHook } }) => ({
      ...{ rpc: anvil.url, domain, mailbox, merkleTreeHook },
    }));
    relayer = await startHyperlane({ folder, validatorKey: VALIDATOR, senderKey: SENDER, ends });
  };
  const nobody = (name: string) => `0x${keccak256(Buffer.from(name)).slice(-40)}`;

  it("a checkpoint that the validator did not sign delivers nothing", async () => {
    const recipient = nobody("forged");
    const { message } = await send(recipient, 4n * UNIT);
    const tree = new MessageTree();
    tree.insert(keccak256(message));
    const checkpoint = {
      origin: home.end.domain,
      merkleTreeHook: home.end.merkleTreeHook,
      root: tree.root(),
      index: 0,
      messageId: keccak256(message),
    };
    const mailbox = new Contract(away.end.mailbox, MAILBOX, away.owner);
    const process = mailbox.getFunction("process");
    const good = signedMetadata(checkpoint, validator);
    const forged = [
      signedMetadata(checkpoint, new Wallet(`0x${"18".repeat(32)}`)),
      signedMetadata({ ...checkpoint, messageId: keccak256("0x01") }, validator),
      signedMetadata({ ...checkpoint, origin: away.end.domain }, validator),
      `${good.slice(0, 66 + 10)}${good[76] === "0" ? "1" : "0"}${good.slice(77)}`,
      "0x",
    ];
    for (const metadata of forged) await assert.rejects(process.staticCall(metadata, message), metadata);
    const inflated = message.replace(/.{8}$/, "7fffffff");
    await assert.rejects(process.staticCall(good, inflated));
    assert.equal(await held(away, recipient), 0n);
    await process.staticCall(good, message);
  });

  it("money arrives at an address without code, once", async () => {
    await relay();
    const recipient = nobody("plain");
    const { message, gas } = await send(recipient, 25n * UNIT);
    await until("the delivery", async () => (await held(away, recipient)) === 25n * UNIT);
    assert.equal(await away.provider.getCode(recipient), "0x");
    assert.equal(
      await held(away, nobody("forged")),
      4n * UNIT,
      "what was sent before it ran is delivered too",
    );
    const mailbox = new Contract(away.end.mailbox, MAILBOX, away.owner);
    const log = (await away.provider.getLogs({ address: away.end.mailbox, fromBlock: 0 })).at(-1)!;
    const delivery = await away.provider.getTransactionReceipt(log.transactionHash);
    console.log(`      gas: send ${String(gas)}, deliver ${String(delivery?.gasUsed)}`);
    const sent = await away.provider.getTransaction(log.transactionHash);
    const [metadata, again] = MAILBOX.decodeFunctionData("process", sent!.data);
    assert.equal(again, message);
    await assert.rejects(mailbox.getFunction("process").staticCall(metadata, message), /already delivered/);
  });

  it("goes on where it was when it is killed", async () => {
    await relayer?.kill();
    const recipient = nobody("restart");
    await send(recipient, 3n * UNIT);
    await send(recipient, 2n * UNIT);
    assert.equal(await held(away, recipient), 0n);
    await relay();
    await until("the deliveries", async () => (await held(away, recipient)) === 5n * UNIT);
    assert.equal(await held(away, nobody("plain")), 25n * UNIT, "nothing comes twice");
    const total = 34n * UNIT;
    assert.equal(await held(home, home.end.route), 1_000n * UNIT + total);
    assert.equal(await held(away, away.end.route), 1_000n * UNIT - total);
  });
});
