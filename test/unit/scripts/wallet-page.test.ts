// What the example wallet page reads from people and says to them, without a browser.
import assert from "node:assert/strict";
import { readAmount, showAmount, showUnits } from "../../../scripts/wallet-page/amounts.ts";
import { parseConfig, tokenOf } from "../../../scripts/wallet-page/config.ts";
import { readRecipient } from "../../../scripts/wallet-page/recipients.ts";
import { wordsOf } from "../../../scripts/wallet-page/words.ts";
import {
  CLIENT_ERRORS,
  ClientError,
  encodeShieldedAddress,
  SpendingKey,
  type ClientErrorCode,
} from "../../../shared/client/index.ts";

const USDC = { symbol: "USDC", address: "0x0000000000000000000000000000000000000001", decimals: 6 };
const addressOf = (seed: number, prefix: string): string =>
  encodeShieldedAddress(SpendingKey.fromSeed(new Uint8Array(32).fill(seed)).viewing.address, prefix);

const network = (id: string, addressPrefix: string) => ({
  ...{ id, name: `The ${id}`, service: "https://service.example", sessions: "https://app.example/session" },
  ...{
    chainRpc: "https://node.example",
    fromBlock: 1,
    tokens: [USDC],
    swaps: false,
    chains: {},
    testMoney: false,
  },
  pins: {
    ...{ chainId: 1, pool: USDC.address, assets: [USDC.address], addressPrefix },
    enclaves: { measurements: [{ pcr0: "0a", pcr1: "0b", pcr2: "0c" }] },
    feeCeiling: { transfer: { flat: 100_000n, bps: 0 } },
  },
});
const CONFIG = {
  networks: [network("first", "clo"), network("second", "clob")],
  artefacts: "/artefacts/1",
  manifest: { circuits: {} },
};
const written = (config: unknown): string =>
  JSON.stringify(config, (_key, value: unknown) => (typeof value === "bigint" ? `${String(value)}n` : value));

describe("wallet page: what people type", () => {
  it("reads amounts exactly, and no others", () => {
    assert.equal(readAmount(" 12.5 ", USDC), 12_500_000n);
    assert.equal(readAmount("0.000001", USDC), 1n);
    assert.equal(readAmount("1.5000000", USDC), 1_500_000n, "zeros behind the last decimal say nothing");
    for (const text of [
      "",
      "0",
      "0.0",
      "1,5",
      "1.2.3",
      "-1",
      "+1",
      "1e3",
      ".5",
      "5.",
      "0x10",
      "1 000",
      "0.0000001",
      "٣",
    ])
      assert.equal(typeof readAmount(text, USDC), "string", text);
  });

  it("shows amounts exactly", () => {
    assert.equal(showAmount(12_500_000n, USDC), "12.5 USDC");
    assert.equal(showUnits(-1n, USDC), "−0.000001");
    assert.equal(showUnits(0n, USDC), "0");
  });

  it("shows money in a token that it does not list by the token's address", () => {
    const other = "0x00000000000000000000000000000000000000ff";
    const listed = { tokens: [USDC] };
    assert.equal(tokenOf(listed, USDC.address.toUpperCase().replace("X", "x")), USDC);
    assert.equal(showAmount(1_500n, tokenOf(listed, other)), `1500 units of ${other}`);
  });

  it("takes a private address of this network that is not one's own, in any case of letters", () => {
    const [first] = parseConfig(written(CONFIG)).networks;
    assert.ok(first !== undefined);
    const [own, ben] = [addressOf(1, "clo"), addressOf(2, "clo")];
    const read = (text: string) => readRecipient(text, own, first, CONFIG);
    const refusalOf = (text: string): string => {
      const answer = read(text);
      return typeof answer === "string" ? answer : assert.fail(`${text} was taken`);
    };
    assert.deepEqual(read(` ${ben} `), { address: ben });
    assert.deepEqual(read(ben.toUpperCase()), { address: ben });
    const refusals: readonly (readonly [string, RegExp])[] = [
      ["", /Enter an address/],
      [own, /your own address/],
      [addressOf(2, "clob"), /network “The second”/],
      [`${ben.slice(0, -1)}${ben.endsWith("q") ? "p" : "q"}`, /checksum/],
      [USDC.address, /public address.*Withdraw/],
      ["ben", /begins with clo1/],
    ];
    for (const [text, words] of refusals) assert.match(refusalOf(text), words);
  });
});

describe("wallet page: its configuration", () => {
  it("comes back as it was written, amounts too", () => {
    assert.deepEqual(parseConfig(written(CONFIG)), CONFIG);
  });

  it("is refused as a whole where a part is not understood", () => {
    for (const broken of [
      {},
      { ...CONFIG, networks: [] },
      { ...CONFIG, networks: [{ ...CONFIG.networks[0], pins: {} }] },
    ])
      assert.throws(() => parseConfig(written(broken)));
  });
});

describe("wallet page: words for errors", () => {
  it("has words of its own for every code of the library, and shows no code to a person", () => {
    const texts = (Object.keys(CLIENT_ERRORS) as ClientErrorCode[]).map((code) => {
      const { text } = wordsOf(new ClientError(code, "detail"));
      assert.doesNotMatch(text, /detail|[A-Z]{3,}_/, code);
      return text;
    });
    for (const text of texts) assert.match(text, /[.?]$/);
  });

  it("names the service for what the service did, and the person for nothing of that", () => {
    for (const code of [
      "PIN_MISMATCH",
      "ENCLAVE_UNVERIFIED",
      "BRIDGE_ADDRESS_MISMATCH",
      "QUOTE_REFUSED",
      "FEE_ABOVE_CEILING",
    ] as const)
      assert.equal(wordsOf(new ClientError(code)).side, "service", code);
  });
});
