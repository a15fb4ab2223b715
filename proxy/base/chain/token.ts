/**
 * What the proxy asks of a deposited token (EIP-20, EIP-3009), and the EIP-3009 digest that a depositor signs.
 * The token's own domain separator is used as it stands, so no name or version has to be configured.
 */
import { Interface } from "ethers";
import { TOKEN_ABI } from "../../../shared/contracts/abi.ts";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { mustFromHex, word } from "../../../shared/protocol/bytes.ts";
import { keccak256, keccakHex } from "../../../shared/protocol/hash.ts";
import { ChainUnreachable, ChainRefused } from "./json-rpc.ts";
import type { BlockTag, Chain } from "./provider.ts";

/** EIP-3009, `receiveWithAuthorization`. */
const RECEIVE_TYPE =
  "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)";

export interface ReceiveAuthorization {
  readonly from: Address;
  readonly to: Address;
  readonly value: bigint;
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  readonly nonce: Bytes32;
}

/** As TokenCalls.sol: 65 bytes are a key's, any other length is for the account's code. */
export const KEY_SIGNATURE_BYTES = 65;
const TERMS = "address,address,uint256,uint256,uint256,bytes32";
const BY_KEY = `receiveWithAuthorization(${TERMS},uint8,bytes32,bytes32)`;
const BY_CODE = `receiveWithAuthorization(${TERMS},bytes)`;
const received = new Interface([`function ${BY_KEY}`, `function ${BY_CODE}`]);

export type Tokens = ReturnType<typeof createTokens>;

export function createTokens(chain: Chain) {
  const abi = new Interface(TOKEN_ABI);

  /** Undefined where the token has no such function: it reverts, or a fallback answers nothing (wrapped ether). */
  async function ask(
    token: Address,
    name: string,
    args: readonly unknown[],
    at: BlockTag = "latest",
  ): Promise<unknown> {
    let answer: string;
    try {
      answer = await chain.call({ to: token, data: abi.encodeFunctionData(name, args) }, at);
    } catch (error) {
      if (error instanceof ChainRefused && /revert/i.test(error.message)) return undefined;
      throw error;
    }
    if (answer === "0x") return undefined;
    try {
      return abi.decodeFunctionResult(name, answer)[0] as unknown;
    } catch (cause) {
      throw new ChainUnreachable(`the token did not answer ${name}`, { cause });
    }
  }

  return {
    async balanceOf(token: Address, account: Address, at?: BlockTag) {
      const balance = await ask(token, "balanceOf", [account], at);
      if (typeof balance !== "bigint") throw new ChainUnreachable("the token did not answer balanceOf");
      return balance;
    },
    /** True once the authorization is used or cancelled; undefined for a token without authorizations. */
    isAuthorizationUsed: async (token: Address, authorizer: Address, nonce: Bytes32, at?: BlockTag) =>
      (await ask(token, "authorizationState", [authorizer, nonce], at)) as boolean | undefined,
    /** Undefined for a token without EIP-712. */
    domainSeparator: async (token: Address) =>
      (await ask(token, "DOMAIN_SEPARATOR", [])) as Bytes32 | undefined,
    /**
     * Whether the token would take the authorization now, asked as the pool asks: a smart account alone knows what its
     * signatures are (EIP-1271).
     */
    async takesAuthorization(token: Address, message: ReceiveAuthorization, signature: Uint8Array) {
      const { from, to, value, validAfter, validBefore, nonce } = message;
      const terms = [from, to, value, validAfter, validBefore, nonce];
      const data =
        signature.length === KEY_SIGNATURE_BYTES
          ? received.encodeFunctionData(BY_KEY, [
              ...[...terms, signature[64], signature.subarray(0, 32), signature.subarray(32, 64)],
            ])
          : received.encodeFunctionData(BY_CODE, [...terms, signature]);
      try {
        await chain.call({ from: to, to: token, data }, "latest");
        return true;
      } catch (error) {
        if (error instanceof ChainRefused && /revert/i.test(error.message)) return false;
        throw error;
      }
    },
    /** A contract signs by EIP-1271, which no signature check of ours can foresee. */
    isContract: async (account: Address) => (await chain.code(account)) !== "0x",
  };
}

/** EIP-712 digest of the authorization under the token's domain. */
export function authorizationDigest(domainSeparator: Bytes32, message: ReceiveAuthorization): Bytes32 {
  const structHash = keccak256(
    keccak256(new TextEncoder().encode(RECEIVE_TYPE)),
    word(BigInt(message.from)),
    word(BigInt(message.to)),
    word(message.value),
    word(message.validAfter),
    word(message.validBefore),
    mustFromHex(message.nonce),
  );
  return keccakHex(Uint8Array.of(0x19, 0x01), mustFromHex(domainSeparator), structHash);
}
