/**
 * The depositor's signature: EIP-3009 `receiveWithAuthorization`, whose nonce is the statement hash, so the
 * money can become these notes and nothing else. The depositor's key stays in its own wallet.
 */
import type { Address } from "../../protocol/brands.ts";
import { fromHex } from "../../protocol/host/text.ts";
import type { Statement } from "../../protocol/statements.ts";
import { ClientError } from "../base/errors.ts";
import { checkOptions, eip1193Provider } from "../base/options.ts";
import type { TokenDomain } from "../base/pins.ts";

type TypeFields = Record<string, { name: string; type: string }[]>;

export interface TypedDataDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: string;
}

/** What an ethers v6 Signer is; see `eip1193Signer` for a browser wallet. */
export interface DepositSigner {
  getAddress(): Promise<string>;
  signTypedData(
    domain: TypedDataDomain,
    types: TypeFields,
    message: Readonly<Record<string, string>>,
  ): Promise<string>;
}

const TYPES: TypeFields = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

/** The depositor's signature for a deposit statement. */
export async function signAuthorization(
  signer: DepositSigner,
  { ext, home, facts, hash }: Statement,
  asset: Address,
  token: TokenDomain,
): Promise<string> {
  if (ext.kind !== "deposit-shield") throw new TypeError("only a deposit has an authorization");
  const domain = { ...token, chainId: Number(home.chainId), verifyingContract: asset };
  const signature = await signer.signTypedData(domain, TYPES, {
    from: ext.depositor,
    to: home.pool,
    value: String(facts.amount),
    validAfter: String(ext.validAfter),
    validBefore: String(ext.validBefore),
    nonce: hash,
  });
  if (fromHex(signature)?.length !== 65)
    throw new ClientError("UNEXPECTED_ANSWER", "the signer gave no 65-byte signature");
  return signature;
}

/** A browser wallet's provider (EIP-1193). */
export interface Eip1193Provider {
  request(call: { readonly method: string; readonly params: readonly unknown[] }): Promise<unknown>;
}

export function eip1193Signer(provider: Eip1193Provider, address: string): DepositSigner {
  checkOptions(eip1193Provider, provider, "provider");
  return {
    getAddress: async () => address,
    async signTypedData(domain, types, message) {
      const payload = {
        domain,
        // Wallets want the domain's own type spelled out (EIP-712, "eth_signTypedData").
        types: {
          EIP712Domain: [
            { name: "name", type: "string" },
            { name: "version", type: "string" },
            { name: "chainId", type: "uint256" },
            { name: "verifyingContract", type: "address" },
          ],
          ...types,
        },
        primaryType: Object.keys(types)[0],
        message,
      };
      const answer = await provider.request({
        method: "eth_signTypedData_v4",
        params: [address, JSON.stringify(payload)],
      });
      if (typeof answer !== "string")
        throw new ClientError("UNEXPECTED_ANSWER", "the browser wallet gave no signature");
      return answer;
    },
  };
}
