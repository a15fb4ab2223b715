// Before anything is made for a service, its enclaves have to prove themselves: what the client refuses, and what not.
import assert from "node:assert/strict";
import { Wallet as EthereumWallet } from "ethers";
import { makeRoot } from "../../../scripts/image/certificates.ts";
import {
  createClient,
  createWallet,
  memoryStorage,
  type EnclavePins,
  type Pins,
  type Prover,
  type Wallet,
} from "../../../shared/client/index.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { MEASURED, vouchedPins } from "../../support/vouching.ts";
import { CHAIN_ID, POOL, USDC } from "./chain.ts";
import { PREFIX } from "./checks.ts";
import { API_KEY, TestService } from "./service.ts";

describe("client: the service's enclaves", () => {
  let service: TestService;
  let baseUrl: string;
  /** Refuses to prove: what reaches it got past the check. */
  const prover: Prover = {
    prepare: () => Promise.resolve(),
    prove: () => Promise.reject(new Error("came to proving")),
    checkInfo: () => undefined,
    close: () => Promise.resolve(),
  };
  let now: number;

  beforeEach(async () => {
    now = Math.floor(Date.now() / 1000);
    service = new TestService();
    baseUrl = await service.listen();
  });
  afterEach(() => service.close());

  function open(enclaves: Pins["enclaves"]): Promise<Wallet> {
    const ceiling = { flat: 100_000n, bps: 0 };
    const pins: Pins = {
      ...{ chainId: CHAIN_ID, pool: POOL, assets: [USDC], addressPrefix: PREFIX, enclaves },
      feeCeiling: { deposit: ceiling, transfer: ceiling, withdraw: ceiling },
    };
    const client = createClient({ baseUrl, credential: { apiKey: API_KEY }, tries: 1 });
    return createWallet({
      ...{ key: { seed: new Uint8Array(32).fill(9) }, client, prover, pins, storage: memoryStorage() },
      now: () => now,
    });
  }

  async function deposit(enclaves: Pins["enclaves"]): Promise<string> {
    const wallet = await open(enclaves);
    return outcomeOf(wallet.deposit(1_000_000n, EthereumWallet.createRandom()));
  }

  /** The code, and what is said in brackets; or that it came to proving. */
  async function outcomeOf(work: Promise<unknown>): Promise<string> {
    try {
      await work;
      return "done";
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      return code === "ENCLAVE_UNVERIFIED" ? /\((.*)\)$/.exec(message)![1]! : message;
    }
  }

  const stranger = asAddress("0x00000000000000000000000000000000000000cc") as Address;

  it("goes on with one that runs a pinned image under a pinned root", async () => {
    assert.equal(await deposit(vouchedPins()), "came to proving");
    const other = { ...MEASURED, pcr0: "00".repeat(48) };
    const both: EnclavePins = { ...vouchedPins(), measurements: [other, MEASURED] };
    assert.equal(await deposit(both), "came to proving", "one of two pinned images");
  });

  it("refuses another image, in each of the three registers", async () => {
    for (const register of ["pcr0", "pcr1", "pcr2"] as const) {
      const measurement = { ...MEASURED, [register]: "0d".repeat(48) };
      service.enclaves = (nonce) => [service.vouched(nonce, { measurement })];
      assert.equal(await deposit(vouchedPins()), "MEASUREMENT_MISMATCH", register);
    }
    service.enclaves = (nonce) => [service.vouched(nonce)];
    assert.equal(
      await deposit({ ...vouchedPins(), measurements: [] }),
      "MEASUREMENT_MISMATCH",
      "none pinned",
    );
  });

  it("refuses debug mode, whatever is pinned", async () => {
    const zero = "00".repeat(48);
    const measurement = { pcr0: zero, pcr1: zero, pcr2: zero };
    service.enclaves = (nonce) => [service.vouched(nonce, { measurement })];
    assert.equal(await deposit({ ...vouchedPins(), measurements: [measurement] }), "DEBUG_MODE");
  });

  it("refuses another root; without one named, every root but AWS's", async () => {
    service.enclaves = (nonce) => [service.vouched(nonce, { root: makeRoot(new Date()) })];
    assert.equal(await deposit(vouchedPins()), "ROOT_UNKNOWN");
    service.enclaves = (nonce) => [service.vouched(nonce)];
    assert.equal(await deposit({ measurements: [MEASURED] }), "ROOT_UNKNOWN");
  });

  it("refuses a document that was made before it asked", async () => {
    service.enclaves = () => [service.vouched(new Uint8Array(32).fill(1))];
    assert.equal(await deposit(vouchedPins()), "NONCE_MISMATCH");
  });

  it("refuses a document that was made to release a key, or that is none", async () => {
    service.enclaves = (nonce) => [service.vouched(nonce, { type: "release" })];
    assert.equal(await deposit(vouchedPins()), "TYPE_MISMATCH");
    for (const attestation of ["", "AAAA", "no base64"]) {
      service.enclaves = (nonce) => [{ ...service.vouched(nonce), attestation }];
      assert.equal(await deposit(vouchedPins()), "MALFORMED", attestation);
    }
  });

  it("refuses a document of another signer than the one it is shown for", async () => {
    service.enclaves = (nonce) => [{ ...service.vouched(nonce), signer: stranger }];
    assert.equal(await deposit(vouchedPins()), "another signer");
  });

  it("refuses too few, and counts a signer once", async () => {
    service.enclaves = () => [];
    assert.equal(await deposit(vouchedPins()), "too few enclaves answer");
    service.threshold = 2;
    service.enclaves = (nonce) => [service.vouched(nonce), service.vouched(nonce)];
    assert.equal(await deposit(vouchedPins()), "too few enclaves answer");
    service.enclaves = (nonce) => [service.vouched(nonce), service.vouched(nonce, {}, stranger)];
    assert.equal(await deposit(vouchedPins()), "came to proving");
  });

  it("refuses for one accepted enclave that fails, and looks past one that the pool does not accept", async () => {
    const unknown = { measurement: { ...MEASURED, pcr2: "0d".repeat(48) } };
    service.enclaves = (nonce) => [service.vouched(nonce), service.vouched(nonce, unknown, stranger)];
    assert.equal(await deposit(vouchedPins()), "MEASUREMENT_MISMATCH");
    service.enclaves = (nonce) => [
      service.vouched(nonce),
      { ...service.vouched(nonce, unknown, stranger), accepted: false },
    ];
    assert.equal(await deposit(vouchedPins()), "came to proving");
    service.enclaves = (nonce) => [{ ...service.vouched(nonce), accepted: false }];
    assert.equal(await deposit(vouchedPins()), "too few enclaves answer");
  });

  it("tells a clock that is behind or ahead from an enclave that fails, and says by how much", async () => {
    const skew = async (secs: number): Promise<[string, number]> => {
      now = Math.floor(Date.now() / 1000) + secs;
      const outcome = await deposit(vouchedPins());
      const [, size = "", way] = /^CLOCK_WRONG: .*it is (\d+) seconds (behind|ahead)/.exec(outcome) ?? [
        outcome,
      ];
      return [way ?? outcome, Number(size)];
    };
    const day = 86_400;
    for (const [secs, expected] of [
      [-120, "behind"],
      [-day, "behind"],
      [day, "ahead"],
    ] as const) {
      const [way, size] = await skew(secs);
      assert.equal(way, expected);
      assert.ok(Math.abs(size - Math.abs(secs)) <= 10, `${size} s for ${secs} s`);
    }
    assert.equal((await skew(-30))[0], "came to proving");
    // What fails at any time is said first: nobody should set a clock for a foreign enclave.
    service.enclaves = (nonce) => [
      service.vouched(nonce, { measurement: { ...MEASURED, pcr0: "0d".repeat(48) } }),
    ];
    assert.equal((await skew(-day))[0], "MEASUREMENT_MISMATCH");
    service.enclaves = () => [service.vouched(new Uint8Array(32).fill(1))];
    assert.equal((await skew(-day))[0], "NONCE_MISMATCH");
  });

  it("asks nothing of an enclave only where that was said", async () => {
    service.enclaves = () => [];
    assert.equal(await deposit("unverified"), "came to proving");
  });

  it("looks again after an hour", async () => {
    const wallet = await open(vouchedPins());
    const again = (): Promise<string> => outcomeOf(wallet.deposit(1_000_000n, EthereumWallet.createRandom()));
    assert.equal(await again(), "came to proving");
    service.enclaves = () => [];
    now += 3_599;
    assert.equal(await again(), "came to proving");
    now += 1;
    assert.equal(await again(), "too few enclaves answer");
  });
});
