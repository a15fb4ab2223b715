/**
 * Cases in which verifiers of two kinds gave two verdicts on one question. One of them is wrong, so nothing is attested
 * while a case is open. Everything in a record is what was asked and answered: it is public but for the proof, which
 * shows nothing.
 */
import { z } from "zod";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import type { Carried, Engine } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";
import { storedAddress, storedBytes, storedBytes32, toStoredBytes } from "./values.ts";

const answer = z.strictObject({
  /** Its place in the configuration, from 0. */
  enclave: z.int().min(0),
  /** Of its image; absent where the pool accepts no signer of it. */
  kind: z.int().exactOptional(),
  /** What it signed with, where it signed. */
  signer: storedAddress.exactOptional(),
  signature: storedBytes.exactOptional(),
  /** The code of its refusal, where it refused. */
  refusal: z.string().max(64).exactOptional(),
});

const shape = z.strictObject({
  /** The EIP-712 digest that was to be signed: it names the question. */
  id: storedBytes32,
  /** Milliseconds since 1970, when it was seen last. */
  at: z.int(),
  /** The frame that the enclaves were sent, under the request id 0: it can be sent again. */
  request: storedBytes,
  answers: z.array(answer),
  isOpen: z.boolean(),
});
export type Disagreement = RecordOf<typeof shape>;

const form = jsonForm<Disagreement>(shape, ({ request, answers, ...record }) => ({
  ...record,
  request: toStoredBytes(request),
  answers: answers.map(({ signature, ...one }) => ({
    ...one,
    ...(signature === undefined ? {} : { signature: toStoredBytes(signature) }),
  })),
}));

export type DisagreementStore = ReturnType<typeof openDisagreementStore>;

export function openDisagreementStore(engine: Engine) {
  const records = new Records(engine, "disagreements", form);
  return {
    get: (id: Bytes32) => records.get(id),
    /** Oldest first. */
    list: async (): Promise<readonly Disagreement[]> =>
      [...(await records.all())].sort((one, other) => one.at - other.at),
    /** Durable. One that was settled is open again. */
    async keep(found: Omit<Disagreement, "isOpen">): Promise<void> {
      await records.change(found.id, () => ({ ...found, isOpen: true }), { thoughFull: true });
    },
    /** Undefined where there is none. It stays, for whoever looks into it later. `carry` goes with the change. */
    settle: (id: Bytes32, carry?: (before: Disagreement, after: Disagreement) => Carried) =>
      records.change(id, (now) => now && { ...now, isOpen: false }, {
        thoughFull: true,
        carry: (before, after) =>
          before === undefined || after === undefined || carry === undefined
            ? { writes: [] }
            : carry(before, after),
      }),
  };
}
