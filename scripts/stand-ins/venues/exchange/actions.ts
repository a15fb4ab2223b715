// What a user signs at the exchange: its actions, word for word as the public API has them, built, signed and, on the
// other side, read again with the signer. A signature binds every field of its action.
import { Signature, verifyTypedData, type Signer, type TypedDataDomain, type TypedDataField } from "ethers";
import { z } from "zod";
import { ZERO_ADDRESS, type Address } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { bytes32Shape } from "../shapes.ts";

const chainId = z.string().regex(/^0x[0-9a-fA-F]{1,13}$/);
const time = z.int().min(0);
const common = {
  /** Of the signature's domain alone; any. */
  signatureChainId: chainId,
  /** The exchange's own network. */
  hyperliquidChain: z.enum(["Mainnet", "Testnet"]),
};

const usdSend = z.strictObject({
  type: z.literal("usdSend"),
  ...common,
  destination: z.string(),
  amount: z.string(),
  time,
});
const sendToEvmWithData = z.strictObject({
  type: z.literal("sendToEvmWithData"),
  ...common,
  token: z.string(),
  amount: z.string(),
  /** Empty: perps; `spot`. */
  sourceDex: z.string(),
  destinationRecipient: z.string(),
  addressEncoding: z.enum(["hex", "base58"]),
  /** The CCTP domain. */
  destinationChainId: z.int().min(0).max(0xffff_ffff),
  gasLimit: z.int().min(0),
  data: z.string().regex(/^0x([0-9a-fA-F]{2})*$/),
  nonce: time,
});

export const actionShape = z.discriminatedUnion("type", [usdSend, sendToEvmWithData]);
export type Action = z.output<typeof actionShape>;

export const signedActionShape = z.strictObject({
  action: actionShape,
  nonce: time,
  signature: z.strictObject({
    r: bytes32Shape,
    s: bytes32Shape,
    v: z.union([z.literal(27), z.literal(28)]),
  }),
  vaultAddress: z.null().optional(),
});
export type SignedAction = z.output<typeof signedActionShape>;

const fields = (...written: readonly string[]): TypedDataField[] =>
  written.map((each) => {
    const [type = "", name = ""] = each.split(" ");
    return { type, name };
  });
const TYPES: Readonly<Record<Action["type"], { readonly name: string; readonly fields: TypedDataField[] }>> =
  {
    usdSend: {
      name: "HyperliquidTransaction:UsdSend",
      fields: fields("string hyperliquidChain", "string destination", "string amount", "uint64 time"),
    },
    sendToEvmWithData: {
      name: "HyperliquidTransaction:SendToEvmWithData",
      fields: fields(
        "string hyperliquidChain",
        "string token",
        "string amount",
        "string sourceDex",
        "string destinationRecipient",
        "string addressEncoding",
        "uint32 destinationChainId",
        "uint64 gasLimit",
        "bytes data",
        "uint64 nonce",
      ),
    },
  };

/** Milliseconds; also what keeps an action from being played again. */
export function nonceOfAction(action: Action): number {
  return action.type === "sendToEvmWithData" ? action.nonce : action.time;
}

export async function signAction(signer: Signer, action: Action): Promise<SignedAction> {
  const signature = await signer.signTypedData(...typedData(action));
  const { r, s, v } = Signature.from(signature);
  return signedActionShape.parse({ action, nonce: nonceOfAction(action), signature: { r, s, v } });
}

/** Undefined when nobody's signature is this. Anybody's may be: who is asked for must be compared. */
export function signerOf({ action, signature }: SignedAction): Address | undefined {
  try {
    return asAddress(verifyTypedData(...typedData(action), Signature.from(signature)));
  } catch {
    return undefined;
  }
}

function typedData(
  action: Action,
): [TypedDataDomain, Record<string, TypedDataField[]>, Record<string, unknown>] {
  const { name, fields: wanted } = TYPES[action.type];
  const said: Readonly<Record<string, unknown>> = action;
  return [
    {
      name: "HyperliquidSignTransaction",
      version: "1",
      chainId: BigInt(action.signatureChainId),
      verifyingContract: ZERO_ADDRESS,
    },
    { [name]: wanted },
    Object.fromEntries(wanted.map((field) => [field.name, said[field.name]])),
  ];
}

export interface SendToEvm {
  /** As the API writes amounts. */
  readonly amount: string;
  readonly from: "perps" | "spot";
  /** On an EVM chain; for another, its 32 bytes in base58. */
  readonly recipient: string;
  readonly encoding?: "hex" | "base58";
  /** CCTP domain. */
  readonly domain: number;
  /** Hook of the burn. Default: none of the user's. */
  readonly data?: string;
  readonly nonce: number;
}

/** For a signer on any chain. */
export const LOCAL = { signatureChainId: "0xa4b1", hyperliquidChain: "Testnet" } as const;

export function sendToEvm(order: SendToEvm): Action {
  return {
    type: "sendToEvmWithData",
    ...LOCAL,
    token: "USDC",
    amount: order.amount,
    sourceDex: order.from === "spot" ? "spot" : "",
    destinationRecipient: order.recipient,
    addressEncoding: order.encoding ?? "hex",
    destinationChainId: order.domain,
    gasLimit: 200_000,
    data: order.data ?? "0x",
    nonce: order.nonce,
  };
}

export function send(destination: Address, amount: string, nonce: number): Action {
  return { type: "usdSend", ...LOCAL, destination, amount, time: nonce };
}

/** Sends it. Throws with the exchange's own words when it refuses. */
export async function postAction(url: string, signed: SignedAction): Promise<void> {
  const response = await fetch(`${url}/exchange`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(signed),
    signal: AbortSignal.timeout(10_000),
  });
  const reply = answerShape.safeParse(await response.json().catch(() => undefined));
  if (!reply.success) throw new Error(`the exchange answered ${String(response.status)}`);
  if (reply.data.status === "err") throw new Error(reply.data.response);
}
const answerShape = z.discriminatedUnion("status", [
  z.object({ status: z.literal("ok") }),
  z.object({ status: z.literal("err"), response: z.string() }),
]);
