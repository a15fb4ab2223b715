/** The contracts' own errors, by name, whichever of them a call met. */
import { Interface } from "ethers";
import { ATTESTATIONS_ABI, POOL_ABI } from "../../shared/contracts/abi.ts";

/** Of IP384, which stands behind the other two. */
const OF_P384 = new Interface(["error HintsInvalid()", "error GasShort()"]);
const INTERFACES = [new Interface(POOL_ABI), new Interface(ATTESTATIONS_ABI), OF_P384];

export class PoolRefused extends Error {
  /** The error's name. */
  readonly code: string;
  constructor(code: string, cause: unknown, args: readonly unknown[] = []) {
    super(`the pool refuses: ${[code, ...args.map(String)].join(" ")}`, { cause });
    this.code = code;
  }

  /** Undefined for an error that no contract of ours made. */
  static in(error: unknown): PoolRefused | undefined {
    const { data } = error as { readonly data?: unknown };
    if (typeof data !== "string") return undefined;
    for (const one of INTERFACES) {
      const parsed = one.parseError(data);
      if (parsed !== null)
        return new PoolRefused(parsed.name, error, [...(parsed.args as unknown as unknown[])]);
    }
    return undefined;
  }
}

/** What a person does about it. */
const ADVICE: Readonly<Record<string, string>> = {
  ImageNotAdmitted:
    "its image is not admitted: the owner proposes it, and anybody admits it after the delay (image --help)",
  ImageRevokedBefore: "its image was revoked, permanently: build another",
  ImageFull: "as many signers of its image are in as there may be: remove one that is not needed",
  DocumentFromFuture: "it says that it was made later than the chain's newest block",
  DocumentStale: "it is too old: ask the enclave for a new one",
  BlockUnknown: "the block whose hash it bears is too old for this chain: ask the enclave for a new one",
  NonceMismatch: "its nonce is not the hash of that block: it was made for another chain",
  UserDataInvalid: "it is not what an enclave says of itself when it makes a key or holds one",
  ConfigurationMismatch:
    "its image was built with another configuration than the one given here, or for another pool's circuits or roots",
  RootUnknown: "its certificates lead to another root than the one that this pool believes",
  ChainUnknown: "its certificates are not verified on this chain",
  ChainRevoked: "one of its certificates was revoked",
  ChainExpired: "one of its certificates has expired: ask the enclave for a new one",
  ChainNotYetValid: "one of its certificates does not hold yet",
  DocumentMalformed: "it is no attestation document",
  SignatureInvalid: "it, or a certificate of it, is not signed as it says",
  DebugMode: "it is of an enclave in debug mode, whose memory its host reads",
  SignerRemovedBefore:
    "that signer was removed, and a removed signer never comes back; make a new one: signer genesis",
  SignerRegisteredBefore: "that signer is in already",
  SignerTrusted: "no certificate that vouched for that signer is revoked",
  SignerUnknown: "the pool has no such signer",
  BondMismatch: "the bond is another",
  NotOwner: "the key is not the pool owner's",
};

/** The contracts' own words, and what they mean. */
export function explained(error: unknown): unknown {
  if (!(error instanceof PoolRefused)) return error;
  const advice = ADVICE[error.code];
  return advice === undefined ? error : new Error(`${error.message}: ${advice}`, { cause: error });
}
