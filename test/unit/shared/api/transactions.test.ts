// The form of posted statements, kind by kind: what a body needs, and the field that is named when it lacks it.
import assert from "node:assert/strict";
import type { z } from "zod";
import { ATTEST_BODIES, relayBody, SEQUENCE_BODIES } from "../../../../shared/api/transactions.ts";
import { KIND_NAMES, type Kind } from "../../../../shared/protocol/statements.ts";

const ADDRESS = `0x${"11".repeat(20)}`;
const FIELD = `0x${"00".repeat(31)}07`;
const ORDER = "0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001";
const ciphertexts = (count: number): string[] => Array.from({ length: count }, () => `0x${"ab".repeat(53)}`);
const sealed = (count: number) => ({
  ephemeral_key: `0x${"cd".repeat(32)}`,
  ciphertexts: ciphertexts(count),
});
const SIGNATURE = `0x${"5e".repeat(65)}`;

const EXT: Readonly<Record<Kind, Record<string, unknown>>> = {
  "deposit-shield": { depositor: ADDRESS, valid_after: 0, valid_before: 1, ...sealed(3) },
  spend: { recipient: ADDRESS, ...sealed(4) },
  spend9: { recipient: ADDRESS, ...sealed(4) },
  "private-swap": {
    token_out: ADDRESS,
    min_amount_out: "1",
    path: `0x${"22".repeat(43)}`,
    npk_out: FIELD,
    ...sealed(4),
  },
};

function body(kind: Kind, ext: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    proof: {
      pi_a: ["1", "2", "1"],
      pi_b: [
        ["1", "2"],
        ["3", "4"],
        ["1", "0"],
      ],
      pi_c: ["1", "2", "1"],
      protocol: "groth16",
    },
    public_signals: ["1"],
    deadline: 1_790_000_000,
    ext: { ...EXT[kind], ...ext },
    fees: [],
    ...(kind === "deposit-shield" ? { authorization: SIGNATURE } : {}),
  };
}

/** Paths and words of the refusal, empty when there is none. */
function faults(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}
const without = (value: Record<string, unknown>, name: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));

describe("shared/api/transactions", () => {
  for (const kind of KIND_NAMES) {
    it(`${kind}: takes its own body on /sequence, /attest and, with attestations, on /relay`, () => {
      assert.deepEqual(faults(SEQUENCE_BODIES[kind], body(kind)), []);
      assert.deepEqual(faults(ATTEST_BODIES[kind], body(kind)), []);
      const attestations = [{ signer: ADDRESS, signature: SIGNATURE }];
      assert.deepEqual(faults(relayBody, { kind, ...body(kind), attestations }), []);
      assert.notDeepEqual(faults(relayBody, { kind, ...body(kind) }), []);
    });

    it(`${kind}: refuses another kind's ext, an unknown field, and a field that is missing`, () => {
      const other = kind === "spend" || kind === "spend9" ? "private-swap" : "spend";
      assert.notDeepEqual(faults(SEQUENCE_BODIES[kind], { ...body(kind), ext: EXT[other] }), []);
      assert.notDeepEqual(faults(SEQUENCE_BODIES[kind], body(kind, { extra: 1 })), []);
      for (const name of Object.keys(EXT[kind])) {
        const ext = without(EXT[kind], name);
        const [fault = ""] = faults(SEQUENCE_BODIES[kind], { ...body(kind), ext });
        assert.match(fault, new RegExp(`^ext\\.${name}: `));
      }
    });
  }

  const swapFaults: [string, Record<string, unknown>, RegExp][] = [
    ["no ephemeral key", { ephemeral_key: undefined }, /^ext\.ephemeral_key/],
    ["an ephemeral key of 31 bytes", { ephemeral_key: `0x${"cd".repeat(31)}` }, /^ext\.ephemeral_key/],
    [
      "a ciphertext of 117 bytes",
      { ciphertexts: [...ciphertexts(3), `0x${"ab".repeat(117)}`] },
      /^ext\.ciphertexts/,
    ],
    ["three ciphertexts", { ciphertexts: ciphertexts(3) }, /^ext\.ciphertexts/],
    ["five ciphertexts", { ciphertexts: ciphertexts(5) }, /^ext\.ciphertexts/],
    ["a floor with a sign", { min_amount_out: "-1" }, /^ext\.min_amount_out/],
    ["a floor of 2^128", { min_amount_out: String(2n ** 128n) }, /^ext\.min_amount_out/],
    ["an npk at the group order", { npk_out: ORDER }, /^ext\.npk_out/],
    ["an npk as a number", { npk_out: 7 }, /^ext\.npk_out/],
    ["a path of three pools", { path: `0x${"22".repeat(89)}` }, /^ext\.path/],
    ["a path that is no hex", { path: `0x${"zz".repeat(43)}` }, /^ext\.path/],
    [
      "a token without its checksum",
      { token_out: "0x5FbDB2315678afecb367f032d93F642f64180aA3" },
      /^ext\.token_out/,
    ],
  ];
  for (const [what, ext, fault] of swapFaults) {
    it(`private-swap: refuses ${what}`, () => {
      const [first = ""] = faults(SEQUENCE_BODIES["private-swap"], body("private-swap", ext));
      assert.match(first, fault);
    });
  }

  it("a deposit comes without an authorization on /attest only, and elsewhere is told why it is needed", () => {
    const bare = without(body("deposit-shield"), "authorization");
    assert.deepEqual(faults(ATTEST_BODIES["deposit-shield"], bare), []);
    const attestations = [{ signer: ADDRESS, signature: SIGNATURE }];
    for (const refusal of [
      faults(SEQUENCE_BODIES["deposit-shield"], bare),
      faults(relayBody, { kind: "deposit-shield", ...bare, attestations }),
    ]) {
      assert.equal(refusal.length, 1);
      assert.match(refusal[0] ?? "", /^authorization: is needed/);
    }
    const smart = { ...bare, authorization: `0x${"5e".repeat(64)}` };
    assert.deepEqual(faults(ATTEST_BODIES["deposit-shield"], smart), []);
    for (const bad of ["", "0x", "0x5", `0x${"5e".repeat(4_097)}`, 1]) {
      assert.notDeepEqual(faults(ATTEST_BODIES["deposit-shield"], { ...bare, authorization: bad }), []);
    }
  });

  it("no other kind takes an authorization", () => {
    for (const kind of KIND_NAMES) {
      if (kind === "deposit-shield") continue;
      assert.notDeepEqual(faults(ATTEST_BODIES[kind], { ...body(kind), authorization: SIGNATURE }), []);
    }
  });
});
