// Addresses: the same on every chain, the same in TypeScript, and vaults that obey nobody else. See addresses.tree.
import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { compiledFactory } from "../../../scripts/deploy/forwarders.ts";
import { mustField, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { asBytes32 } from "../../../shared/protocol/host/text.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import {
  FORWARDERS,
  inAddress,
  outAddress,
  sourceAddress,
  type InTerms,
  type Lane,
  type OutTerms,
  type Receiver,
  type SourceTerms,
} from "../../../shared/protocol/host/forwarders.ts";
import { mustAddress } from "../pool/world.ts";
import { MINIMUM, Second, Stage } from "./stage.ts";

const ROUNDS = 60;

describe("forwarders: addresses", function () {
  let stage: Stage;
  let second: Second;
  before(async () => {
    stage = await Stage.open();
    second = await Second.open();
  });
  after(async () => {
    await second.stop();
    await stage.stop();
  });

  it("the committed constants are what the compiler says", async () => {
    assert.deepEqual(FORWARDERS, await compiledFactory());
    const implementation = String(await stage.home.forwarders.getFunction("vaultImplementation")());
    assert.notEqual(await stage.home.provider.getCode(implementation), "0x");
    assert.equal(await stage.home.forwarders.getFunction("vaultCodeHash")(), FORWARDERS.vaultCodeHash);
  });

  it("one address on two chains", async () => {
    assert.deepEqual(stage.home.factory, second.place.factory);
    assert.equal(
      await stage.home.provider.getCode(FORWARDERS.address),
      await second.place.provider.getCode(FORWARDERS.address),
    );
  });

  it("the twin computes what the contract does, on both chains, for any terms", async () => {
    const ask = async (name: string, terms: unknown): Promise<string[]> => {
      const both = [stage.home, second.place].map(({ forwarders }) => forwarders.getFunction(name)(terms));
      return (await Promise.all(both)).map((address) => String(address).toLowerCase());
    };
    for (let i = 0; i < ROUNDS; i++) {
      const [incoming, source, out] = [drawIn(), drawSource(), drawOut()];
      const note = JSON.stringify([incoming, source, out], (_, value: unknown) =>
        typeof value === "bigint" ? value.toString() : value instanceof Uint8Array ? toHex(value) : value,
      );
      assert.deepEqual(await ask("inAddress", incoming), twice(inAddress(incoming)), note);
      assert.deepEqual(await ask("sourceAddress", source), twice(sourceAddress(source)), note);
      assert.deepEqual(await ask("outAddress", out), twice(outAddress(out)), note);
    }
  });

  it("every term is in the address", () => {
    const terms = drawIn();
    const changed: InTerms[] = [
      { ...terms, pool: drawAddress() },
      { ...terms, asset: drawAddress() },
      ...Object.keys(terms.receiver).map((key) => ({
        ...terms,
        receiver: { ...terms.receiver, [key]: drawReceiver()[key as keyof Receiver] },
      })),
      { ...terms, feeCeiling: terms.feeCeiling ^ 1n },
      { ...terms, minimum: terms.minimum ^ 1n },
      { ...terms, collector: drawAddress() },
      { ...terms, refund: drawAddress() },
    ];
    assert.equal(new Set([terms, ...changed].map((each) => inAddress(each))).size, changed.length + 1);

    const source = { ...drawSource(), lanes: [drawLane(), drawLane()] };
    const [lane, other] = source.lanes as [Lane, Lane];
    const sources: SourceTerms[] = [
      { ...source, recipient: drawBytes32() },
      { ...source, refund: drawAddress() },
      { ...source, lanes: [lane] },
      { ...source, lanes: [other, lane] },
      ...(Object.keys(lane) as (keyof Lane)[]).map((key) => ({
        ...source,
        lanes: [{ ...lane, [key]: differing(lane[key]) }, other],
      })),
    ];
    assert.equal(new Set([source, ...sources].map((each) => sourceAddress(each))).size, sources.length + 1);

    const out = drawOut();
    const outs: OutTerms[] = [
      { ...out, pool: drawAddress() },
      { ...out, asset: drawAddress() },
      { ...out, feeCeiling: out.feeCeiling ^ 1n },
      { ...out, minimum: out.minimum ^ 1n },
      { ...out, refund: drawReceiver() },
      ...(Object.keys(out.exit) as (keyof OutTerms["exit"])[]).map((key) => ({
        ...out,
        exit: { ...out.exit, [key]: differing(out.exit[key]) },
      })),
    ];
    assert.equal(new Set([out, ...outs].map((each) => outAddress(each))).size, outs.length + 1);
  });

  describe("a vault", () => {
    it("obeys nobody but the forwarders, as its implementation does", async () => {
      const [terms, vault] = await stage.paidIn(MINIMUM);
      await stage.home.call("sweep", [{ terms, fees: [] }], []);
      await stage.home.mint(vault, MINIMUM);
      const implementation = String(await stage.home.forwarders.getFunction("vaultImplementation")());
      const { abi } = await loadArtifact("Vault");
      for (const address of [vault, implementation]) {
        for (const n of [0, 5]) {
          const contract = new Contract(address, abi, await stage.home.account(n));
          const data = stage.home.usdc.interface.encodeFunctionData("transfer", [
            stage.home.owner.address,
            1n,
          ]);
          await assert.rejects(contract.getFunction("act").staticCall(stage.home.token, data), {
            data: "0x",
          });
          await assert.rejects(contract.getFunction("actCoin").staticCall(stage.home.owner.address), {
            data: "0x",
          });
        }
      }
      assert.equal(await stage.home.balance(vault), MINIMUM);
    });

    it("is a clone of 45 bytes at the address that was computed", async () => {
      const [terms, vault] = await stage.paidIn(MINIMUM);
      await stage.home.call("sweep", [{ terms, fees: [] }], []);
      const implementation = String(await stage.home.forwarders.getFunction("vaultImplementation")());
      assert.equal(
        await stage.home.provider.getCode(vault),
        `0x363d3d373d3d3d363d73${implementation.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`,
      );
    });
  });
});

function twice(address: Address): string[] {
  return [address, address];
}

function drawAddress(): Address {
  return mustAddress(toHex(randomBytes(20)));
}

function drawBytes32(): Bytes32 {
  return asBytes32(toHex(randomBytes(32)))!;
}

function drawUint128(): bigint {
  return BigInt(toHex(randomBytes(randomInt(1, 17))));
}

/** Also what the pool would refuse: an address exists all the same. */
function drawReceiver(): Receiver {
  return {
    npk: mustField(BigInt(toHex(randomBytes(31)))),
    ephemeralKey: Uint8Array.from(randomBytes(32)),
    ciphertext: Uint8Array.from(randomBytes(randomInt(0, 3) === 0 ? randomInt(0, 200) : 53)),
  };
}

function drawIn(): InTerms {
  return {
    ...{ pool: drawAddress(), asset: drawAddress(), receiver: drawReceiver(), feeCeiling: drawUint128() },
    ...{ minimum: drawUint128(), collector: drawAddress(), refund: drawAddress() },
  };
}

function drawLane(): Lane {
  return {
    chainId: BigInt(toHex(randomBytes(randomInt(1, 9)))),
    token: drawAddress(),
    messenger: drawAddress(),
    domain: randomInt(0, 2 ** 32),
    minimum: drawUint128(),
    feeCeiling: drawUint128(),
  };
}

function drawSource(): SourceTerms {
  const lanes = Array.from({ length: randomInt(0, 6) }, drawLane);
  return { recipient: drawBytes32(), lanes, refund: drawAddress() };
}

function drawOut(): OutTerms {
  return {
    ...{ pool: drawAddress(), asset: drawAddress(), feeCeiling: drawUint128(), minimum: drawUint128() },
    exit: {
      messenger: drawAddress(),
      domain: randomInt(0, 2 ** 32),
      recipient: drawBytes32(),
      caller: drawBytes32(),
      hook: Uint8Array.from(randomBytes(randomInt(0, 100))),
    },
    refund: drawReceiver(),
  };
}

/** Another of its kind. */
function differing(value: Lane[keyof Lane] | OutTerms["exit"][keyof OutTerms["exit"]]): unknown {
  if (typeof value === "bigint") return value ^ 1n;
  if (typeof value === "number") return value % 2 === 0 ? value + 1 : value - 1;
  if (value instanceof Uint8Array) return Uint8Array.from([...value, 0]);
  return value.length === 42 ? drawAddress() : drawBytes32();
}
