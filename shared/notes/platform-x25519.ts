/**
 * X25519 by the platform itself (RFC 7748; keys as RFC 8410, section 7, has them): ten to twenty times faster than
 * JavaScript, and constant in time where the platform is. In Node by OpenSSL directly, elsewhere by Web Cryptography. Not every
 * platform has it, and no page outside a secure context.
 */
import { base64urlnopad } from "@scure/base";
import { concatBytes, mustFromHex } from "../protocol/bytes.ts";

const KEY_BYTES = 32;
/** PrivateKeyInfo of an X25519 key, up to the key's own bytes. */
const PKCS8_HEAD = mustFromHex("0x302e020100300506032b656e04220420");

/** Undefined where the platform does not say, and for a key of low order: who asks has another way to find out. */
export type PlatformX25519 = (publicKey: Uint8Array) => Promise<Uint8Array | undefined>;

/** Nothing is asked of the platform before the first call. */
export function platformX25519(secret: Uint8Array): PlatformX25519 {
  let multiply: Promise<PlatformX25519> | undefined;
  return async (publicKey) => {
    if (publicKey.length !== KEY_BYTES) return undefined;
    try {
      const shared = await (await (multiply ??= chosen(secret)))(publicKey);
      // RFC 7748, section 6.1: everybody knows this secret. Both standards have the platform refuse it.
      return shared?.every((byte) => byte === 0) === true ? undefined : shared;
    } catch {
      return undefined;
    }
  };
}

async function chosen(secret: Uint8Array): Promise<PlatformX25519> {
  const pkcs8 = concatBytes(PKCS8_HEAD, secret);
  try {
    return byOpenSsl(pkcs8) ?? (await byWebCrypto(pkcs8));
  } finally {
    pkcs8.fill(0);
  }
}

/** The parts of Node's module that are used here; importing them would be for Node alone. */
interface NodeCrypto {
  createPrivateKey(key: { key: Uint8Array; format: "der"; type: "pkcs8" }): object;
  createPublicKey(key: { key: { kty: "OKP"; crv: "X25519"; x: string }; format: "jwk" }): object;
  diffieHellman(keys: { privateKey: object; publicKey: object }): Uint8Array;
}

/** Half of the time that Web Cryptography takes in Node, where each call waits for a thread. */
function byOpenSsl(pkcs8: Uint8Array): PlatformX25519 | undefined {
  const { process } = globalThis as unknown as {
    process?: { getBuiltinModule?: (name: "node:crypto") => NodeCrypto | undefined };
  };
  const crypto = process?.getBuiltinModule?.("node:crypto");
  if (crypto === undefined) return undefined;
  // OpenSSL parses DER of a public key four times slower than this form (3.0).
  const publicKeyOf = (bytes: Uint8Array): object =>
    crypto.createPublicKey({
      key: { kty: "OKP", crv: "X25519", x: base64urlnopad.encode(bytes) },
      format: "jwk",
    });
  const privateKey = crypto.createPrivateKey({
    // A copy: the caller's bytes are wiped.
    key: Uint8Array.from(pkcs8),
    format: "der",
    type: "pkcs8",
  });
  return (bytes) =>
    Promise.resolve(Uint8Array.from(crypto.diffieHellman({ privateKey, publicKey: publicKeyOf(bytes) })));
}

async function byWebCrypto(pkcs8: Uint8Array): Promise<PlatformX25519> {
  const subtle = (globalThis.crypto as Partial<Crypto> | undefined)?.subtle;
  if (subtle === undefined) return () => Promise.resolve(undefined);
  const own = await subtle.importKey("pkcs8", Uint8Array.from(pkcs8), "X25519", false, ["deriveBits"]);
  return async (bytes) => {
    const other = await subtle.importKey("raw", Uint8Array.from(bytes), "X25519", false, []);
    return new Uint8Array(await subtle.deriveBits({ name: "X25519", public: other }, own, 8 * KEY_BYTES));
  };
}
