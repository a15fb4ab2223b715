// Every piece of memory that JavaScript lets one see bytes pass through, while a step of the enclave runs: what node:crypto
// gives out, what is sliced off, what is written into another array and what that is written from. The objects
// themselves are held, so that a test can look into them after the step.
import crypto, { type Decipher } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

// As they are before anybody watches; to be called on some array.
const typed = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array;

const { slice, set } = typed;
const { privateDecrypt, createDecipheriv } = crypto;

export interface Copies {
  /** How many pieces held `secret` while the step ran. */
  held(secret: Uint8Array): number;
  /** How many still do, without those that are part of `but`. */
  left(secret: Uint8Array, ...but: readonly Uint8Array[]): number;
}

/** One step at a time; whatever else runs in this process meanwhile is seen too. */
export async function watched<T>(
  step: () => T | Promise<T>,
): Promise<{ readonly result: T; readonly copies: Copies }> {
  const seen: { readonly live: Uint8Array; readonly then: Buffer }[] = [];
  const look = <A>(array: A): A => {
    if (array instanceof Uint8Array) {
      const live = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      const then = Buffer.alloc(live.length);
      set.call(then, live);
      seen.push({ live, then });
    }
    return array;
  };
  typed.slice = function (this: Uint8Array, ...range) {
    return look(slice.apply(this, range));
  };
  typed.set = function (this: Uint8Array, from, at) {
    set.call(this, from, at);
    look(from);
    look(this);
  };
  crypto.privateDecrypt = (...given: Parameters<typeof privateDecrypt>) => look(privateDecrypt(...given));
  crypto.createDecipheriv = ((...given: Parameters<typeof createDecipheriv>) => {
    const cipher: Decipher = createDecipheriv(...given);
    look(given[1]);
    const update = cipher.update.bind(cipher);
    cipher.update = ((data: Uint8Array) => look(update(data))) as typeof cipher.update;
    return cipher;
  }) as typeof createDecipheriv;
  syncBuiltinESMExports();
  try {
    const result = await step();
    const has = (memory: Uint8Array, secret: Uint8Array): boolean =>
      Buffer.from(memory).includes(Buffer.from(secret));
    const copies: Copies = {
      held: (secret) => seen.filter(({ then }) => has(then, secret)).length,
      left: (secret, ...but) =>
        seen.filter(({ live }) => has(live, secret) && !but.some(({ buffer }) => buffer === live.buffer))
          .length,
    };
    return { result, copies };
  } finally {
    Object.assign(typed, { slice, set });
    Object.assign(crypto, { privateDecrypt, createDecipheriv });
    syncBuiltinESMExports();
  }
}
