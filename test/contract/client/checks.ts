// What the service of these tests looks at before it takes a statement: the proxy's cheap checks, as far as a client
// can break them, and the proof.
import { readFile } from "node:fs/promises";
import { verifyTypedData } from "ethers";
import * as snarkjs from "snarkjs";
import { ATTEST_BODIES, SEQUENCE_BODIES } from "../../../shared/api/transactions.ts";
import { decodeUniswapPath } from "../../../shared/api/uniswap-path.ts";
import { decodeShieldedAddress } from "../../../shared/notes/address.ts";
import { commitmentOf, npkOf } from "../../../shared/notes/note.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { asAddress, parseField } from "../../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { feeOf } from "../../../shared/protocol/host/fees.ts";
import { encodeExt } from "../../../shared/protocol/host/statements.ts";
import { checkStatement, type Ext, type Kind, type Statement } from "../../../shared/protocol/statements.ts";
import { authorizationType } from "../../support/oracle.ts";
import { Refused } from "./answers.ts";
import { CHAIN_ID, HOME, POOL, USDC } from "./chain.ts";

export const PREFIX = "cltest";
export const FLAT_FEE = 50_000n;
export const SWAP_BPS = 15;

/** Form, statement and the service's fee. */
export function readStatement(kind: Kind, untrusted: unknown, serviceAddress: string): Statement {
  const isPlain = kind === "deposit-shield" && !Object.hasOwn(untrusted as object, "authorization");
  const parsed = (isPlain ? ATTEST_BODIES : SEQUENCE_BODIES)[kind].safeParse(untrusted);
  if (!parsed.success) throw new Refused("INVALID_REQUEST");
  const { data } = parsed;
  const signals = data.public_signals.map((signal) => parseField(signal)!);
  const ext = encodeExt(readExt(kind, data.ext));
  const statement = checkStatement(HOME, kind, BigInt(data.deadline), signals, ext);
  if (typeof statement === "string")
    throw new Refused(statement === "CONTEXT_MISMATCH" ? statement : "INVALID_REQUEST");
  const sink = decodeShieldedAddress(serviceAddress, PREFIX)!;
  const opened = data.fees.reduce((sum, { value }) => sum + BigInt(value), 0n);
  const due =
    kind === "private-swap" ? feeOf({ flat: 0n, bps: SWAP_BPS }, statement.facts.amount + opened) : FLAT_FEE;
  const paid = data.fees.some(({ output, asset, blinding, value }) => {
    const made = commitmentOf(
      npkOf(sink.owner, mustField(BigInt(blinding))),
      asAddress(asset)!,
      BigInt(value),
    );
    return BigInt(value) >= due && made === statement.facts.commitments[output];
  });
  if (!paid) throw new Refused("FEE_MISSING");
  return statement;
}

/** `untrusted` has passed its schema. */
export async function verifyProof(kind: Kind, untrusted: unknown): Promise<void> {
  const body = untrusted as { proof: unknown; public_signals: string[] };
  const url = new URL(`../../../shared/protocol/verification-keys/${kind}.json`, import.meta.url);
  const key: unknown = JSON.parse(await readFile(url, "utf8"));
  if (!(await snarkjs.groth16.verify(key, body.public_signals, body.proof)))
    throw new Refused("PROOF_INVALID");
}

/** The depositor's signature of EIP-3009, where the statement is a deposit; by other types than those the client signs with. */
export function checkAuthorization({ ext, facts, hash }: Statement, untrusted: unknown): void {
  if (ext.kind !== "deposit-shield") return;
  const signer = verifyTypedData(
    ...authorizationType(BigInt(CHAIN_ID), USDC),
    {
      from: ext.depositor,
      to: POOL,
      value: facts.amount,
      validAfter: ext.validAfter,
      validBefore: ext.validBefore,
      nonce: hash,
    },
    (untrusted as { authorization: string }).authorization,
  );
  if (signer.toLowerCase() !== ext.depositor) throw new Refused("AUTHORIZATION_INVALID");
}

/** `untrusted` has passed its schema. */
function readExt(kind: Kind, untrusted: object): Ext {
  const ext = untrusted as Record<string, string> & { ciphertexts: string[] };
  const sealed = {
    ephemeralKey: mustFromHex(ext["ephemeral_key"]!),
    ciphertexts: ext.ciphertexts.map(mustFromHex),
  };
  switch (kind) {
    case "deposit-shield":
      return {
        ...{ kind, ...sealed, depositor: asAddress(ext["depositor"])! },
        ...{ validAfter: BigInt(ext["valid_after"]!), validBefore: BigInt(ext["valid_before"]!) },
      };
    case "spend":
    case "spend9":
      return { kind, ...sealed, recipient: asAddress(ext["recipient"])! };
    case "private-swap": {
      const route = decodeUniswapPath(ext["path"]!);
      if (typeof route === "string") throw new Refused("INVALID_REQUEST");
      return {
        ...{ kind, ...sealed, tokenOut: asAddress(ext["token_out"])!, path: route.path },
        ...{ minAmountOut: BigInt(ext["min_amount_out"]!), npkOut: BigInt(ext["npk_out"]!) },
      };
    }
  }
}
