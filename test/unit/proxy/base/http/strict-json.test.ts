// A second opinion on JSON bodies: the same value as JSON.parse, or a refusal where JSON.parse would choose.
import assert from "node:assert/strict";
import fc from "fast-check";
import { JsonRefusal, MAX_DEPTH, parseStrictJson } from "../../../../../proxy/base/http/strict-json.ts";

describe("JSON bodies are read one way only", () => {
  const refuses = (text: string, field?: string): void =>
    assert.throws(
      () => parseStrictJson(text),
      (error) => error instanceof JsonRefusal && error.field === field,
      text,
    );

  it("reads every JSON text without a name twice as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom(undefined, 1, "\t"), (text, space) => {
        const spaced = JSON.stringify(JSON.parse(text), undefined, space);
        assert.deepEqual(parseStrictJson(spaced), JSON.parse(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it("throws for every text for which JSON.parse throws, and nothing but a refusal or a SyntaxError", () => {
    const almost = fc
      .array(fc.constantFrom("{", "}", "[", "]", '"', "\\", ":", ",", "a", "1", " ", "\\u0061", '"a"', "\\x"))
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(almost, (text) => {
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          assert.throws(
            () => parseStrictJson(text),
            (error) => error instanceof SyntaxError || error instanceof JsonRefusal,
          );
          return;
        }
        try {
          assert.deepEqual(parseStrictJson(text), expected);
        } catch (error) {
          // Then JSON.parse lost something: what it understood has fewer names than the text.
          assert.ok(error instanceof JsonRefusal, String(error));
          assert.ok((text.match(/:/g) ?? []).length > (JSON.stringify(expected).match(/:/g) ?? []).length);
        }
      }),
      { numRuns: 20_000 },
    );
  });

  it("finds the name that is put into an object a second time, wherever the object is", () => {
    const key = fc.string({ minLength: 1, maxLength: 6, unit: "binary" });
    fc.assert(
      fc.property(key, fc.json({ maxDepth: 3 }), fc.nat(5), (name, value, depth) => {
        const quoted = JSON.stringify(name);
        const inner = `{${quoted}:${value},"${name === "x" ? "y" : "x"}":0,${quoted} : 1}`;
        refuses("[".repeat(depth) + inner + "]".repeat(depth), name);
      }),
      { numRuns: 2_000 },
    );
  });

  it("knows a name by what it means, not by how it is spelt", () => {
    refuses('{"a":1,"\\u0061":2}', "a");
    refuses('{"\\"":1,"\\u0022":2}', '"');
    refuses('{"__proto__":1,"__proto__":2}', "__proto__");
    assert.deepEqual(parseStrictJson('{"a":{"a":1},"b":[{"a":1},{"a":2}],"c":"a\\":{"}'), {
      a: { a: 1 },
      b: [{ a: 1 }, { a: 2 }],
      c: 'a":{',
    });
  });

  it(`takes ${String(MAX_DEPTH)} levels and not one more, without recursion`, () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    assert.equal(JSON.stringify(parseStrictJson(nested(MAX_DEPTH))), nested(MAX_DEPTH));
    refuses(nested(MAX_DEPTH + 1));
    refuses('{"a":'.repeat(130_000));
  });
});
