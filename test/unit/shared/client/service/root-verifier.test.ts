import assert from "node:assert/strict";
import type { Field } from "../../../../../shared/protocol/brands.ts";
import { confirms, type RootVerifier } from "../../../../../shared/client/service/root-verifier.ts";

const ROOT = 7n as Field;
const never = (): Promise<never> => new Promise(() => undefined);

describe("client/root-verifier: confirms", () => {
  const refusing: Readonly<Record<string, RootVerifier>> = {
    "says no": () => Promise.resolve(false),
    rejects: () => Promise.reject(new Error("unreachable")),
    "throws before it has a promise": () => {
      throw new Error("unreachable");
    },
    "answers something that is not true": () => Promise.resolve("0x" as unknown as boolean),
    "keeps silent": never,
  };
  for (const [name, verify] of Object.entries(refusing))
    it(`is false for a verifier that ${name}`, async () => {
      assert.equal(await confirms(verify, ROOT, 20), false);
    });

  it("is true for a verifier that says so of this root", async () => {
    assert.equal(await confirms(async (root) => root === ROOT, ROOT), true);
    assert.equal(await confirms(async (root) => root === ROOT, 8n as Field), false);
  });
});
