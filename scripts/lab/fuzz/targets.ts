/**
 * What is fuzzed: every parser that reads bytes of strangers inside the enclave. Each target says what
 * it calls, what must hold of what was read, where its cases begin, and how much work a byte is worth.
 * Signatures and keys are not checked here: the code before them is what reads.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readAttestation } from "../../../shared/protocol/attestation-document.ts";
import { ZERO_ADDRESS, ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { concatBytes, equalBytes } from "../../../shared/protocol/bytes.ts";
import { encodeCbor } from "../../../shared/protocol/cbor.ts";
import { FRAME_HEADER_BYTES, type EnclaveRequest } from "../../../shared/protocol/enclave-messages.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { encodeUserData } from "../../../shared/protocol/user-data.ts";
import type { Subject } from "./campaign.ts";
import { loadInstrumented } from "./instrument.ts";
import type * as Parsers from "./parsers.ts";
import { reshapeAsn1, reshapeCbor, reshapeFrames } from "./reshape.ts";

/** The parsers, and those through which they read. */
const PROBED = [
  ...["attestation-document", "cbor", "enclave-messages", "kms-envelope", "user-data", "x509"],
  ...["asn1", "bytes"],
].map((name) => fileURLToPath(new URL(`../../../shared/protocol/${name}.ts`, import.meta.url)));

interface Target extends Pick<Subject, "seeds" | "maxBytes" | "workLimit" | "reshape"> {
  readonly run: (parsers: typeof Parsers, input: Uint8Array) => void;
}

/** A fixed part, and so much for each byte: whatever grows faster than its input is a fault. */
const linear =
  (fixed: number, aByte: number) =>
  (bytes: number): number =>
    fixed + aByte * bytes;

/** How a stream of frames arrives: byte by byte, or in pieces. */
const CHUNK_BYTES = [1, 13, 251, 4096];

export const TARGETS: Readonly<Record<string, () => Target>> = {
  frames: () => ({
    seeds: requestSeeds(),
    maxBytes: 4_096,
    workLimit: linear(2_000, 30),
    reshape: reshapeFrames,
    run({ decodeRequest, FrameSplitter }, input) {
      const splitter = new FrameSplitter();
      const step = CHUNK_BYTES[input.length % CHUNK_BYTES.length]!;
      for (let at = 0; at < input.length; at += step) {
        const payloads = splitter.push(input.subarray(at, at + step));
        if (payloads === undefined) return;
        for (const payload of payloads) {
          const read = decodeRequest(payload);
          // A request has one spelling.
          if (
            read &&
            !equalBytes(encodeRequest(read.requestId, read.message).slice(FRAME_HEADER_BYTES), payload)
          )
            throw new Error("a request that would be written otherwise");
        }
      }
    },
  }),
  cbor: () => ({
    seeds: [...documentSeeds(), ...smallCbor()],
    maxBytes: 6_000,
    workLimit: linear(2_000, 60),
    reshape: reshapeCbor,
    run({ decodeCbor }, input) {
      const value = decodeCbor(input);
      if (value !== undefined && encodeCbor(value).length > input.length + 9)
        throw new Error("a value that grew while it was read");
    },
  }),
  document: () => ({
    seeds: documentSeeds(),
    maxBytes: 17_000,
    workLimit: linear(10_000, 60),
    reshape: reshapeCbor,
    run(parsers, input) {
      const read = parsers.readAttestation(input);
      if (read && (read.chain.length < 2 || read.signature.length !== 96))
        throw new Error("a document that is not whole");
    },
  }),
  "user-data": () => ({
    seeds: userDataSeeds(),
    maxBytes: 512,
    workLimit: linear(2_000, 60),
    run({ decodeUserData }, input) {
      const read = decodeUserData(input);
      if (read && !equalBytes(encodeUserData(read), input))
        throw new Error("user data that would be written otherwise");
    },
  }),
  certificate: () => ({
    seeds: documentSeeds().flatMap((document) => readAttestation(document)?.chain ?? []),
    maxBytes: 2_048,
    workLimit: linear(5_000, 100),
    reshape: reshapeAsn1,
    run({ readCertificate }, input) {
      const read = readCertificate(input);
      if (read && (read.publicKey.length !== 97 || !Number.isSafeInteger(read.notAfterMs)))
        throw new Error("a certificate that is not whole");
    },
  }),
  envelope: () => ({
    seeds: [vector("cms-enclaver.ber"), ...sdkEnvelopes()],
    maxBytes: 5_000,
    workLimit: linear(5_000, 100),
    reshape: reshapeAsn1,
    run({ readEnvelope }, input) {
      const read = readEnvelope(input);
      if (typeof read !== "string" && read.content.length > input.length)
        throw new Error("an envelope that grew");
    },
  }),
};

/** Every target by name, its parser loaded with probes. */
export async function loadTargets(names: readonly string[]): Promise<ReadonlyMap<string, Subject>> {
  const entry = `export * from ${JSON.stringify(fileURLToPath(new URL("parsers.ts", import.meta.url)))};`;
  const { exports, probe, tokens } = await loadInstrumented(entry, PROBED);
  const parsers = exports as unknown as typeof Parsers;
  return new Map(
    names.map((name) => {
      const { run, ...rest } = TARGETS[name]!();
      return [name, { ...rest, tokens, probe, run: (input: Uint8Array) => run(parsers, input) }];
    }),
  );
}

// ---------------------------------------------------------------- where cases begin

const VECTORS = new URL("../../../test/support/vectors/attestation/", import.meta.url);
const vector = (file: string): Uint8Array => new Uint8Array(readFileSync(new URL(file, VECTORS)));

/** One of each form of the content. */
function sdkEnvelopes(): Uint8Array[] {
  const { envelopes } = JSON.parse(readFileSync(new URL("cms-aws-sdk.json", VECTORS), "utf8")) as {
    readonly envelopes: readonly { readonly envelope: string }[];
  };
  return envelopes.map(({ envelope }) => new Uint8Array(Buffer.from(envelope, "hex")));
}

function documentSeeds(): Uint8Array[] {
  const real = ["base-2026-01-03.bin", "evervault-valid.bin", "oyster-custom.bin"].map(vector);
  return [...real, concatBytes(Uint8Array.of(0xd2), real[2]!)];
}

function smallCbor(): Uint8Array[] {
  const hex = "bf616101ff 9f01ff 8301820203820405 a201020304 1b000000e8d4a51000 3903e7 f4 63e6b0b4";
  return hex.split(" ").map((digits) => new Uint8Array(Buffer.from(digits, "hex")));
}

function userDataSeeds(): Uint8Array[] {
  const common = { signer: ZERO_ADDRESS, configurationHash: ZERO_BYTES32 };
  return [
    encodeUserData({ type: "genesis", ...common, sealedKeyHash: ZERO_BYTES32, kmsKeyHash: ZERO_BYTES32 }),
    encodeUserData({ type: "release", configurationHash: ZERO_BYTES32 }),
    encodeUserData({ type: "live", ...common }),
  ];
}

function requestSeeds(): Uint8Array[] {
  const chain = { chainId: 1n, pool: ZERO_ADDRESS };
  const requests: readonly EnclaveRequest[] = [
    { type: "status" },
    { type: "attestation", nonce: new Uint8Array(16) },
    { type: "genesis", challenge: new Uint8Array(64) },
    { type: "release-request" },
    {
      type: "restore",
      sealedKey: new Uint8Array(256),
      birthCertificate: new Uint8Array(40),
      envelope: new Uint8Array(20),
    },
    {
      type: "attest",
      ...chain,
      kindId: 2,
      deadline: 1n,
      proof: new Uint8Array(256),
      signals: [1n, 2n],
      ext: new Uint8Array(8),
    },
    {
      type: "attest-root",
      ...chain,
      fromIndex: 0n,
      headBefore: ZERO_BYTES32,
      frontier: [1n],
      leaves: [1n, 2n],
    },
  ];
  const frames = requests.map((request, id) => encodeRequest(id, request));
  return [...frames, concatBytes(...frames)];
}
