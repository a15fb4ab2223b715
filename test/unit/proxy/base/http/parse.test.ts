import assert from "node:assert/strict";
import { z } from "zod";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import { invalidField, parse } from "../../../../../proxy/base/http/parse.ts";
import { depositBody, relayBody } from "../../../../../shared/api/transactions.ts";

function refusalOf(run: () => unknown): ApiError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error;
  }
  assert.fail("accepted");
}

describe("parse", () => {
  const schema = z.strictObject({
    list: z.array(z.strictObject({ n: z.int() })),
    name: z.string().optional(),
  });

  it("gives the schema's output", () => {
    assert.deepEqual(parse(schema, { list: [{ n: 1 }] }, "body"), { list: [{ n: 1 }] });
  });

  it("names nested fields, list places and unknown fields", () => {
    const { code, fields } = refusalOf(() =>
      parse(schema, { list: [{ n: 1 }, { n: "x", m: 1 }], extra: 1 }, "body"),
    );
    assert.equal(code, "INVALID_REQUEST");
    assert.deepEqual(fields?.map(({ path }) => path).sort(), ["extra", "list[1].m", "list[1].n"]);
  });

  it("reads a query object without a prototype", () => {
    const query = Object.assign(Object.create(null) as object, { list: [] });
    assert.deepEqual(parse(schema, query, "query"), { list: [] });
  });

  it("never repeats a value, nor a field name's odd characters, and stops after some", () => {
    const hostile = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`<b>${"x".repeat(300)}${String(i)}`, "sst_secret"]),
    );
    const { message, fields } = refusalOf(() => parse(schema, { list: "sst_secret", ...hostile }, "body"));
    assert.ok((fields?.length ?? 0) <= 16);
    assert.doesNotMatch(message + JSON.stringify(fields), /sst_secret|</);
    assert.ok(JSON.stringify(fields).length < 4_000);
  });

  it("refuses an unknown kind of a union by its field", () => {
    const { fields } = refusalOf(() => parse(relayBody, { kind: "other" }, "body"));
    assert.equal(fields?.[0]?.path, "kind");
  });

  const amounts = [
    "-1",
    "+1",
    "01",
    "1e3",
    "1.0",
    " 1",
    "",
    "0x1",
    "340282366920938463463374607431768211456",
  ];
  for (const value of amounts) {
    it(`refuses the amount ${JSON.stringify(value)} in a fee opening`, () => {
      const fees = [{ output: 0, asset: `0x${"00".repeat(20)}`, blinding: `0x${"00".repeat(32)}`, value }];
      const { fields } = refusalOf(() => parse(depositBody, { fees }, "body"));
      assert.ok(fields?.some(({ path }) => path === "fees[0].value"));
    });
  }

  it("refuses a blinding at the group order, as a second spelling of zero", () => {
    const blinding = "0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001";
    const fees = [{ output: 0, asset: `0x${"00".repeat(20)}`, blinding, value: "1" }];
    const { fields } = refusalOf(() => parse(depositBody, { fees }, "body"));
    assert.ok(fields?.some(({ path }) => path === "fees[0].blinding"));
  });

  it("invalidField makes the same refusal by hand", () => {
    const error = invalidField("deadline", "is past");
    assert.equal(error.code, "INVALID_REQUEST");
    assert.deepEqual(error.fields, [{ path: "deadline", message: "is past" }]);
  });
});
