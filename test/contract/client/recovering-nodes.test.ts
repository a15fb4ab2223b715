// What a recovery asks nodes for, and nodes that leave something out.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { id } from "ethers";
import { chainExit, lanesOf } from "../../../shared/client/bridges/bridge-pins.ts";
import { inPlace, outPlace } from "../../../shared/client/bridges/terms.ts";
import type { Recovery } from "../../../shared/client/chain.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { paddedAddress } from "../../../shared/protocol/host/forwarders.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { runProgram } from "../../support/program.ts";
import { leavingOutOnce, startBentNode, type BentNode } from "../watch/bent-node.ts";
import { CEILING, MINIMUM, PAYEE, RecoveryStage, REFUND, show } from "./recovery-stage.ts";

const AMOUNT = 9_000_000n;
const BURNED = id(
  "DepositForBurn(address,uint256,address,bytes32,uint32,bytes32,bytes32,uint256,uint32,bytes)",
);
const acts = ({ steps }: Recovery): string[] => steps.map(({ what, state }) => `${what} ${state}`);

interface Asked {
  readonly topics: readonly (string | readonly string[] | null)[];
}

describe("recovery, and its nodes", function () {
  let stage: RecoveryStage;
  let home: BentNode;
  let second: BentNode;
  before(async () => {
    stage = await RecoveryStage.open();
    home = await startBentNode(stage.urls[0]);
    second = await startBentNode(stage.urls[1]);
  });
  afterEach(() => [home, second].forEach((node) => node.straighten()));
  after(async () => {
    await (home as BentNode | undefined)?.close();
    await (second as BentNode | undefined)?.close();
    await (stage as RecoveryStage | undefined)?.stop();
  });

  const maker = (seed: number) => ({
    keys: stage.keys(seed).viewing,
    home: { chainId: BigInt(stage.lone.anvil.chainId), pool: stage.lone.pool },
    factory: stage.factory,
  });
  const common = { minimum: MINIMUM, feeCeiling: CEILING, createdAt: 0 };
  const incoming = (seed: number) =>
    inPlace(maker(seed), {
      ...{ ...common, kind: "in", venue: "perpvenue", index: 0, asset: stage.lone.asset, refund: REFUND },
      ...{ collector: asAddress(stage.pins.collector)!, lanes: lanesOf(stage.pins) },
    });
  const outgoing = (seed: number) => {
    const chainId = stage.secondChain;
    const { minimum: _least, feeCeiling: _most, ...exit } = chainExit(stage.pins, chainId, PAYEE);
    return outPlace(maker(seed), {
      ...{ ...common, kind: "out", venue: "chain", index: 0, asset: stage.lone.asset, payee: PAYEE },
      ...{ chainId, exit },
    });
  };
  const through = (seed: number): Promise<Recovery> =>
    stage.recover(seed, {
      home: { chainId: stage.lone.anvil.chainId, rpc: home.url },
      chains: [{ chainId: stage.secondChain, rpc: second.url }],
      ...{ accounts: [], recipients: [], gap: 2 },
    });
  /** Of questions for burns: which depositors were asked for. */
  function burnsAsked(node: BentNode): (readonly string[] | null)[] {
    const depositors: (readonly string[] | null)[] = [];
    node.bend("eth_getLogs", (logs, [range]) => {
      const { topics } = range as Asked;
      if (topics[0] === BURNED) depositors.push((topics[2] ?? null) as readonly string[] | null);
      return logs;
    });
    return depositors;
  }

  it("asks at home for burns of out-addresses alone, and elsewhere once for what names no recipient in its topics", async () => {
    const place = outgoing(1);
    await stage.pay("home", place.address, AMOUNT);
    assert.deepEqual(acts(await stage.recover(1)), ["flush done"]);
    const [atHome, elsewhere] = [burnsAsked(home), burnsAsked(second)];
    const recovery = await through(1);
    assert.equal(recovery.waitingFor.length, 1, show(recovery));
    assert.deepEqual(atHome, [[paddedAddress(place.address)]]);
    assert.deepEqual(elsewhere, [null]);
  });

  it("a log that a node leaves out once costs a round: the next one finds the burn, and the payee that it names", async () => {
    await stage.pay("second", incoming(2).source!.address, AMOUNT);
    assert.deepEqual(acts(await stage.recover(2)), ["forward done"]);
    second.bend("eth_getLogs", leavingOutOnce(BURNED));
    assert.deepEqual((await through(2)).waitingFor, []);
    const found = await through(2);
    assert.ok(found.steps.length + found.waitingFor.length > 0, show(found));

    home.bend("eth_getLogs", leavingOutOnce(BURNED));
    assert.deepEqual((await through(1)).waitingFor, []);
    const again = await through(1);
    assert.ok(again.steps.length + again.waitingFor.length > 0, show(again));
  });

  it("a node that lacks the newest block for a moment is not taken for one that sees no money", async () => {
    const { address } = incoming(3);
    await stage.pay("home", address, AMOUNT);
    let refusals = 2;
    home.bend("eth_call", (answer, [call]) => {
      const isAbout = (call as { data: string }).data.endsWith(address.slice(2));
      if (isAbout && refusals-- > 0) throw new Error("header not found");
      return answer;
    });
    assert.deepEqual(acts(await through(3)), ["sweep possible"]);
  });

  it("a chain whose node does not answer is said, and holds up nothing that lies on another", async () => {
    await stage.pay("home", incoming(5).address, AMOUNT);
    const dead = { chainId: stage.secondChain, rpc: "http://127.0.0.1:9" };
    const recovery = await stage.recover(5, { chains: [dead], altchain: { rpc: "http://127.0.0.1:9" } });
    assert.deepEqual(acts(recovery), ["sweep done"], show(recovery));
    const said = recovery.waitingFor.map(({ what }) => what).join("\n");
    assert.match(said, new RegExp(`^chain ${String(stage.secondChain)}: .*\nthe other blockchain: `));
  });

  it("the command ends only where two rounds find nothing", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-recover-"));
    try {
      await stage.pay("second", incoming(4).source!.address, AMOUNT);
      assert.deepEqual(acts(await stage.recover(4)), ["forward done"]);
      second.bend("eth_getLogs", leavingOutOnce(BURNED));
      const file = path.join(folder, "info.json");
      await writeFile(file, JSON.stringify(infoOf(stage)));
      const { code, said } = await runProgram(
        "scripts/recover/main.ts",
        [
          ...[
            "--rpc",
            `${stage.lone.anvil.chainId}=${home.url}`,
            "--rpc",
            `${stage.secondChain}=${second.url}`,
          ],
          ...["--pool", stage.lone.pool, "--bridges", file, "--refund-address", REFUND],
          ...["--attestations", stage.attester.url, "--gap", "2", "--dry-run"],
        ],
        { env: { RECOVER_SEED: toHex(new Uint8Array(32).fill(4)) } },
      );
      assert.equal(code, 3, said);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** What a service with these pins says of itself. */
function infoOf({ pins, secondChain }: RecoveryStage): object {
  const bounds = { minimum: String(MINIMUM), fee_ceiling: String(CEILING) };
  const [lane] = pins.lanes;
  const [exit] = pins.exits.chains;
  return {
    ...{ factory: pins.factory, vault_code_hash: pins.vaultCodeHash, collector: pins.collector },
    ...{ timeout_secs: 86_400, perpvenue: null, altchain: null },
    assets: Object.keys(pins.assets).map((asset) => ({ asset, ...bounds })),
    chains: [
      {
        ...{ name: "second", chain_id: secondChain, token: lane!.token, messenger: lane!.messenger },
        ...{ domain: lane!.domain, ...bounds, estimated_secs: 60 },
        exit: { messenger: exit!.messenger, domain: exit!.domain, ...bounds },
      },
    ],
  };
}
