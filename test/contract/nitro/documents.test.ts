// Attestation documents on chain: the public ones, those of a platform of our own, and what is wrong with either. Every
// verdict is the one of shared/protocol/attestation-document.ts.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { p384 } from "@noble/curves/nist.js";
import { sha384 } from "@noble/hashes/sha2.js";
import { Contract, Interface, JsonRpcProvider, type Signer } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import {
  attestationSteps,
  type AttestationSteps,
} from "../../../shared/client/chain/nitro/attestation-steps.ts";
import { hintsFor } from "../../../shared/client/chain/nitro/p384-hints.ts";
import { readAttestation, verifyAttestation } from "../../../shared/protocol/attestation-document.ts";
import { ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { concatBytes, toHex } from "../../../shared/protocol/bytes.ts";
import { decodeCbor, encodeCbor, itemsOf, type Cbor } from "../../../shared/protocol/cbor.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { readCertificate } from "../../../shared/protocol/x509.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import {
  authority,
  authorityUsage,
  certificateOf,
  chainOf,
  der,
  documentOf,
  ecKey,
  endEntity,
  extension,
  hashOf,
  hex,
  KEY_USAGE,
  KEYS,
  leafUsage,
  NOW,
  partsOf,
  payloadOf,
  register,
  sequence,
  time,
  type CertificateParts,
  type Role,
} from "../../support/crafted-attestation.ts";
import { drawBytes } from "../../support/drafts.ts";

const OWN = new URL("../../support/vectors/attestation/", import.meta.url);
const SHARED = new URL("../../../../shared/vectors/attestation/", import.meta.url);
const REVOKER = 5;

interface Index {
  readonly awsRoot: { readonly sha256: string };
  readonly documents: readonly { readonly file: string; readonly timestampMs: number }[];
}

/** The contract's words for each verdict. */
const ERRORS: Readonly<Record<string, readonly string[]>> = {
  MALFORMED: ["DocumentMalformed", "DocumentTooLong"],
  ROOT_UNKNOWN: ["RootUnknown"],
  CHAIN_INVALID: ["ChainUnknown", "NotALeaf"],
  CERTIFICATE_EXPIRED: ["ChainExpired"],
  CERTIFICATE_NOT_YET_VALID: ["ChainNotYetValid"],
  SIGNATURE_INVALID: ["SignatureInvalid"],
  DEBUG_MODE: ["DebugMode"],
};

interface Said {
  readonly timestampMs: bigint;
  readonly image: string;
  readonly leaf: string;
  readonly nonce: string;
  readonly userData: string;
  readonly publicKey: string;
}
type Outcome = { readonly said: Said } | { readonly error: string };

const hexOf = (bytes: Uint8Array | undefined): string => toHex(bytes ?? new Uint8Array(0));
const NOTHING = new Uint8Array(0);
const draw = (most: number): number => drawBytes(4).reduce((sum, byte) => sum * 256 + byte, 0) % most;

describe("attestation documents on chain", function () {
  this.timeout(600_000);
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let deployer: Signer;
  let verifier: string;
  let abi: Interface;
  let errors: Interface;

  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
    deployer = await provider.getSigner(0);
    verifier = (await deployContract(deployer, "P384", [])).address;
    abi = new Interface((await loadArtifact("NitroAttestations")).abi);
    const p384Errors = (await loadArtifact("P384")).abi as readonly { type: string }[];
    const all = [
      ...((await loadArtifact("NitroAttestations")).abi as readonly { type: string }[]),
      ...p384Errors,
    ];
    errors = new Interface(all.filter(({ type }) => type === "error"));
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  async function under(root: string): Promise<Contract> {
    const revoker = await (await provider.getSigner(REVOKER)).getAddress();
    const { address } = await deployContract(deployer, "NitroAttestations", [`0x${root}`, revoker, verifier]);
    return new Contract(address, abi, deployer);
  }

  const errorIn = (error: unknown): string => {
    const { data, error: inner } = error as {
      readonly data?: string;
      readonly error?: { readonly data?: string };
    };
    const found = data ?? inner?.data ?? "0x";
    // Out of gas there is none.
    return (found === "0x" ? undefined : errors.parseError(found)?.name) ?? String(error);
  };

  /** At a time of our own, Unix seconds; nothing is kept. */
  async function asked(
    contract: Contract,
    name: string,
    given: readonly unknown[],
    secs: number,
  ): Promise<unknown[]> {
    const data = abi.encodeFunctionData(name, given);
    const to = await contract.getAddress();
    const block = { time: `0x${secs.toString(16)}` };
    const answer = (await provider.send("eth_call", [{ to, data }, "latest", {}, block])) as string;
    return abi.decodeFunctionResult(name, answer).toArray() as unknown[];
  }

  async function judged(
    contract: Contract,
    document: Uint8Array,
    hints = hintsOf(document),
    secs = NOW / 1000,
  ): Promise<Outcome> {
    try {
      const [said] = await asked(contract, "verifyDocument", [toHex(document), toHex(hints)], secs);
      return { said: said as Said };
    } catch (error) {
      return { error: errorIn(error) };
    }
  }

  function hintsOf(document: Uint8Array): Uint8Array {
    try {
      return attestationSteps(document).document.hints;
    } catch {
      return NOTHING;
    }
  }

  /** Gas of each step; stops at the first that is refused. */
  async function learn(
    contract: Contract,
    { certificates }: Pick<AttestationSteps, "certificates">,
  ): Promise<{ readonly gas: readonly bigint[]; readonly error?: string }> {
    const gas: bigint[] = [];
    for (const { der, parent, hints } of certificates) {
      try {
        const sent = (await contract.getFunction("verifyCertificate")(toHex(der), parent, toHex(hints))) as {
          wait(): Promise<{ gasUsed: bigint }>;
        };
        gas.push((await sent.wait()).gasUsed);
      } catch (error) {
        return { gas, error: errorIn(error) };
      }
    }
    return { gas };
  }

  function assertSame(outcome: Outcome, document: Uint8Array, root: string, ms = NOW): void {
    const live = verifyAttestation(document, { roots: [root], at: ms });
    // How far a document's own time may be from the block's, is for whoever takes it to say.
    const verdict = live === "FROM_FUTURE" ? readAttestation(document)! : live;
    if (typeof verdict === "string") {
      assert.ok(
        "error" in outcome && ERRORS[verdict]?.includes(outcome.error),
        `${verdict}: ${JSON.stringify(outcome, text)}`,
      );
      return;
    }
    assert.ok("said" in outcome, JSON.stringify(outcome, text));
    const { pcr0, pcr1, pcr2 } = verdict.measurement;
    const { timestampMs, image, nonce, userData, publicKey, leaf } = outcome.said;
    assert.deepEqual(
      [timestampMs, image, nonce, userData, publicKey],
      [
        BigInt(verdict.timestampMs),
        keccakHex(hex(pcr0 + pcr1 + pcr2)),
        ...[verdict.nonce, verdict.userData, verdict.publicKey].map(hexOf),
      ],
    );
    assert.equal(leaf, attestationSteps(document).certificates.at(-1)!.id);
  }

  // ------------------------------------------------------------------ public documents

  for (const folder of [OWN, ...(existsSync(SHARED) ? [SHARED] : [])]) {
    const index = JSON.parse(readFileSync(new URL("index.json", folder), "utf8")) as Index;
    for (const { file, timestampMs } of index.documents) {
      it(`${file} of ${folder === OWN ? "this repository" : "the shared folder"}: at its own time, and now`, async () => {
        const document = new Uint8Array(readFileSync(new URL(file, folder)));
        const own = readAttestation(document)?.chain[0];
        for (const root of new Set([index.awsRoot.sha256, ...(own === undefined ? [] : [hashOf(own)])])) {
          const contract = await under(root);
          if (own !== undefined) await learn(contract, attestationSteps(document));
          for (const secs of [timestampMs, Date.now()].map((ms) => Math.floor(ms / 1000)))
            assertSame(await judged(contract, document, undefined, secs), document, root, secs * 1000);
        }
      });
    }
  }

  // ------------------------------------------------------------------ of a platform of our own

  const CHAIN = chainOf();
  const ROOT = hashOf(CHAIN[0]!);
  /** x ‖ y. */
  const LEAF_KEY = readCertificate(CHAIN[3]!)!.publicKey.slice(1);
  const documentWith = (fields: Readonly<Record<string, Cbor>>): Uint8Array =>
    documentOf(payloadOf(CHAIN, fields));

  describe("under a chain that is verified", () => {
    let contract: Contract;
    const sound = documentWith({
      nonce: drawBytes(32),
      user_data: drawBytes(134),
      public_key: drawBytes(294),
    });
    before(async () => {
      contract = await under(ROOT);
      const { gas, error } = await learn(contract, attestationSteps(sound));
      assert.equal(error, undefined);
      assert.equal(gas.length, 4);
    });

    const same = async (document: Uint8Array, what: string): Promise<void> => {
      try {
        assertSame(await judged(contract, document), document, ROOT);
      } catch (error) {
        throw new Error(what, { cause: error });
      }
    };

    it("says what the document says", async () => {
      await same(sound, "the document");
      assert.ok("said" in (await judged(contract, sound)));
    });

    it("reads CBOR as strictly, and as generously, as it is read off the chain", async () => {
      const pcrs = (entries: readonly (readonly [number | string, Cbor])[]): Cbor =>
        new Map<number | string, Cbor>([...[0, 1, 2].map((i) => [i, register(i + 1)] as const), ...entries]);
      const fields: Readonly<Record<string, Cbor>>[] = [
        ...["", "é", "\u{10ffff}", "\u{d7ff}\u{e000}"].map((module_id) => ({ module_id })),
        ...[Uint8Array.of(1), 7, null].map((module_id) => ({ module_id })),
        ...["SHA256", "SHA384 ", null].map((digest) => ({ digest })),
        ...[0, -1, 1, 2 ** 53 - 1, String(NOW)].map((timestamp) => ({ timestamp })),
        ...[new Map(), [register(1), register(2), register(3)], null].map((value) => ({ pcrs: value })),
        ...[
          [[3, "00"]],
          [["3", register(0)]],
          [[31, register(9)]],
          [[32, register(9)]],
          [[-1, register(9)]],
        ].map((entries) => ({ pcrs: pcrs(entries as [number, Cbor][]) })),
        ...[0, 31, 32, 33, 47, 49, 64, 65].map((length) => ({ pcrs: pcrs([[8, register(1, length)]]) })),
        ...[32, 64].map((length) => ({ pcrs: pcrs([[2, register(3, length)]]) })),
        {
          pcrs: new Map([
            [0, register(1)],
            [2, register(1)],
          ] as const),
        },
        ...[0, 1_025].map((length) => ({ certificate: new Uint8Array(length) })),
        ...[[], CHAIN[0]!, [CHAIN[0]!, NOTHING], [CHAIN[0]!, new Uint8Array(1_025)], [CHAIN[0]!, "x"]].map(
          (cabundle) => ({ cabundle }),
        ),
        ...[NOTHING, new Uint8Array(1), new Uint8Array(1_024), new Uint8Array(1_025), "key", null].map(
          (public_key) => ({ public_key }),
        ),
        ...[NOTHING, new Uint8Array(512), new Uint8Array(513), "data", null].map((user_data) => ({
          user_data,
        })),
        ...[NOTHING, new Uint8Array(512), new Uint8Array(513), 1, false, null].map((nonce) => ({ nonce })),
        { extra: 1 },
      ];
      for (const each of fields) await same(documentWith(each), JSON.stringify(each, text));
      for (const name of payloadOf(CHAIN).keys()) {
        const payload = payloadOf(CHAIN);
        payload.delete(name);
        await same(documentOf(payload), `without ${name}`);
      }
    });

    it("reads every other spelling of the same to the same verdict", async () => {
      const definite = encodeCbor(payloadOf(CHAIN));
      const again = concatBytes(encodeCbor("nonce"), encodeCbor(Uint8Array.of(1)));
      const spellings: Record<string, Uint8Array> = {
        "an open map": concatBytes(Uint8Array.of(0xbf), definite.slice(1), Uint8Array.of(0xff)),
        "an open map without its end": concatBytes(Uint8Array.of(0xbf), definite.slice(1)),
        "a field twice": concatBytes(Uint8Array.of(0xaa), definite.slice(1), again),
        "a field twice in an open map": concatBytes(
          Uint8Array.of(0xbf),
          definite.slice(1),
          again,
          Uint8Array.of(0xff),
        ),
        "a head longer than needed": concatBytes(hex("b809"), definite.slice(1)),
        "a map of many": concatBytes(hex("bb001fffffffffffff"), definite.slice(1)),
        "bytes left over": concatBytes(definite, Uint8Array.of(0)),
        "a list": encodeCbor([]),
        nothing: NOTHING,
      };
      for (const [what, payload] of Object.entries(spellings)) await same(documentOf(payload), what);

      const payload = payloadOf(CHAIN);
      const parts = itemsOf(decodeCbor(sound));
      const [, , , signature] = parts;
      const r = (signature as Uint8Array).slice(0, 48);
      const { Fn } = p384.Point;
      const otherHalf = Fn.toBytes(Fn.neg(Fn.fromBytes((signature as Uint8Array).slice(48))));
      const joined = (...pieces: readonly Uint8Array[]): Uint8Array => concatBytes(...pieces);
      const body = sound.slice(1);
      const documents: Record<string, Uint8Array> = {
        tagged: joined(hex("d2"), sound),
        "tagged twice": joined(hex("d2d2"), sound),
        "another tag": joined(hex("d1"), sound),
        "an open list": joined(hex("9f"), body, hex("ff")),
        "an open list without its end": joined(hex("9f"), body),
        "a head longer than needed": joined(hex("9804"), body),
        "three parts": encodeCbor(parts.slice(0, 3)),
        "five parts": encodeCbor([...parts, null]),
        "bytes left over": joined(sound, hex("00")),
        "a tag alone": hex("d2"),
        nothing: NOTHING,
        "the other half of the signature": encodeCbor([...parts.slice(0, 3), joined(r, otherHalf)]),
        "a signature of zeros": encodeCbor([...parts.slice(0, 3), new Uint8Array(96)]),
        "a signature of 95 bytes": encodeCbor([...parts.slice(0, 3), new Uint8Array(95)]),
        "another signer": documentOf(payload, { signer: KEYS.zone.privateKey }),
        "another header": documentOf(payload, { header: hex("a10126") }),
        "the header as a map": documentOf(payload, { header: new Map([[1, -35]]) }),
        "an unprotected header": documentOf(payload, { unprotected: new Map([[4, Uint8Array.of(1)]]) }),
        "no unprotected header": documentOf(payload, { unprotected: null }),
        "no payload": documentOf(payload, { payload: null }),
        "16,385 bytes": new Uint8Array(16_385),
      };
      for (const [what, document] of Object.entries(documents)) await same(document, what);
    });

    it("judges hundreds of damaged copies alike: flipped, cut, lengthened, overwritten", async () => {
      const damages: ((bytes: Uint8Array) => Uint8Array)[] = [
        (bytes) => {
          bytes[draw(bytes.length)]! ^= 1 << draw(8);
          return bytes;
        },
        (bytes) => bytes.slice(0, draw(bytes.length)),
        (bytes) => concatBytes(bytes, drawBytes(1 + draw(4))),
        (bytes) => {
          bytes[draw(400)] = draw(256);
          return bytes;
        },
        (bytes) => {
          const at = draw(bytes.length);
          return concatBytes(bytes.slice(0, at), bytes.slice(at + 1 + draw(3)));
        },
      ];
      for (let i = 0; i < 500; i++) {
        const document = damages[i % damages.length]!(sound.slice());
        await same(document, `damage ${i}: ${toHex(document)}`);
      }
    });

    it("judges damaged payloads alike that are signed all the same", async () => {
      // Signed again, so that what is read decides and not the signature. Certificates are left whole: what
      // is wrong in one is never known there.
      const pieces = [
        ...payloadOf(CHAIN, { nonce: drawBytes(9), user_data: null, public_key: drawBytes(3) }),
      ];
      const fields = pieces.map(([name, value]) => concatBytes(encodeCbor(name), encodeCbor(value)));
      const isOfChain = (i: number): boolean => ["certificate", "cabundle"].includes(pieces[i]![0]);
      const others = fields.flatMap((_, i) => (isOfChain(i) ? [] : [i]));
      const heads = ["a9", "a8", "aa", "bf", "b809"];
      const seen = new Map<string, number>();
      for (let i = 0; i < 250; i++) {
        const damaged = [...fields];
        const at = others[draw(others.length)]!;
        const field = damaged[at]!.slice();
        // One byte more often than a bit: the heads of values are few.
        if (i % 4 === 0) field[draw(field.length)]! ^= 1 << draw(8);
        else if (i % 4 === 1) field[draw(Math.min(field.length, 16))] = draw(256);
        else if (i % 4 === 2) field.copyWithin(draw(field.length), draw(field.length));
        damaged[at] = field;
        if (i % 7 === 0) damaged.push(damaged[draw(damaged.length)]!);
        if (i % 5 === 0) damaged.reverse();
        const head = i % 3 === 0 ? heads[draw(heads.length)]! : "a9";
        const payload = concatBytes(hex(head), ...damaged, head === "bf" ? hex("ff") : NOTHING);
        const document = documentOf(payload);
        const read = readAttestation(document);
        const outcome = await judged(
          contract,
          document,
          read === undefined ? NOTHING : hintsFor(sha384(read.signed), read.signature, LEAF_KEY),
        );
        assertSame(outcome, document, ROOT);
        const word = "error" in outcome ? outcome.error : "said";
        seen.set(word, (seen.get(word) ?? 0) + 1);
      }
      const [said, malformed] = ["said", "DocumentMalformed"].map((word) => seen.get(word) ?? 0);
      assert.ok(said! > 20 && malformed! > 20, JSON.stringify([...seen]));
    });

    it("refuses what was made to cost much within what a transaction may use", async () => {
      const many = Array.from({ length: 7_000 }, () => Uint8Array.of(1));
      const document = documentWith({ cabundle: [CHAIN[0]!, ...many] });
      assert.ok(document.length < 16_384);
      assert.ok((await gasOf("verifyDocument", [toHex(document), "0x"], "ChainUnknown")) < 8_000_000);
      await same(document, "thousands of certificates");
      const wide = documentWith({ module_id: "\u{10ffff}".repeat(3_250) });
      const given = [toHex(wide), toHex(hintsOf(wide))];
      assert.ok((await gasOf("verifyDocument", given, undefined)) < 13_000_000);
      await same(wide, "a long name of four bytes a character");

      // As many extensions as 1,024 bytes can hold: every id is compared with every other.
      const unknown = Array.from({ length: 80 }, (_, i) =>
        sequence(der(0x06, Uint8Array.of(i)), der(0x04, NOTHING)),
      );
      const certificate = certificateOf(
        partsOf("leaf", { extensions: [endEntity(), leafUsage(), ...unknown] }),
      );
      assert.notEqual(readCertificate(certificate), undefined);
      const unread = [toHex(certificate), `0x${"11".repeat(32)}`, "0x"];
      assert.ok((await gasOf("verifyCertificate", unread, "ChainUnknown")) < 2_200_000);
    });

    /** To within 100,000: the least with which the call ends as it should. Its end is `error`, or none. */
    async function gasOf(
      name: string,
      given: readonly unknown[],
      error: string | undefined,
    ): Promise<number> {
      const data = abi.encodeFunctionData(name, given);
      const to = await contract.getAddress();
      const block = { time: `0x${(NOW / 1000).toString(16)}` };
      const endsWith = async (gas: number): Promise<boolean> => {
        try {
          await provider.send("eth_call", [{ to, data, gas: `0x${gas.toString(16)}` }, "latest", {}, block]);
          return error === undefined;
        } catch (found) {
          return errorIn(found) === error;
        }
      };
      let [low, high] = [0, 2 ** 24];
      assert.ok(await endsWith(high), `${name} does not end with ${error ?? "an answer"}`);
      while (high - low > 100_000) {
        const middle = Math.floor((low + high) / 2);
        if (await endsWith(middle)) high = middle;
        else low = middle;
      }
      return high;
    }

    it("takes no hints but the right ones, and none of them makes another verdict", async () => {
      const hints = hintsOf(sound);
      const other = hintsOf(documentWith({ nonce: drawBytes(32) }));
      for (const wrong of [NOTHING, other, hints.slice(0, -1), concatBytes(hints, hex("00"))])
        assert.deepEqual(await judged(contract, sound, wrong), { error: "HintsInvalid" });
    });

    it("holds at both ends of every certificate's time, and not a second beyond", async () => {
      // The leaf's are the narrowest here.
      const [from, until] = [NOW / 1000 - 3_600, NOW / 1000 + 7_200];
      for (const [secs, error] of [
        [from - 1, "ChainNotYetValid"],
        [from, undefined],
        [until, undefined],
        [until + 1, "ChainExpired"],
      ] as const) {
        const outcome = await judged(contract, sound, undefined, secs);
        assert.equal("error" in outcome ? outcome.error : undefined, error, String(secs));
        assertSame(outcome, sound, ROOT, secs * 1000);
        const leaf = attestationSteps(sound).certificates.at(-1)!.id;
        assert.deepEqual(await asked(contract, "isValidAt", [leaf, secs], secs), [error === undefined]);
        assert.deepEqual(await asked(contract, "isTrusted", [leaf], secs), [true]);
      }
    });

    it("takes all three registers together for the image: none of them alone", async () => {
      const images = new Set<string>();
      for (const changed of [undefined, 0, 1, 2]) {
        const pcrs = new Map([0, 1, 2].map((i) => [i, register(i === changed ? 9 : i + 1)] as const));
        const outcome = await judged(contract, documentWith({ pcrs }));
        assert.ok("said" in outcome);
        images.add(outcome.said.image);
      }
      assert.equal(images.size, 4);
      const debug = documentWith({ pcrs: new Map([0, 1, 2].map((i) => [i, register(0)] as const)) });
      assert.deepEqual(await judged(contract, debug), { error: "DebugMode" });
      await same(debug, "debug mode");
    });

    it("costs what may be spent, each step for itself", async () => {
      const fresh = await under(ROOT);
      const steps = attestationSteps(sound);
      const { gas } = await learn(fresh, steps);
      const data = abi.encodeFunctionData("verifyDocument", [toHex(sound), toHex(steps.document.hints)]);
      const call = { to: await contract.getAddress(), data, gas: "0xf00000" };
      const block = { time: `0x${(NOW / 1000).toString(16)}` };
      // With what is left out here the call runs out of gas.
      await provider.send("eth_call", [{ ...call, gas: "0x2dc6c0" }, "latest", {}, block]);
      await assert.rejects(provider.send("eth_call", [{ ...call, gas: "0x1e8480" }, "latest", {}, block]));
      for (const each of gas) assert.ok(each < 2_600_000n, String(each));
      assert.ok(gas.reduce((sum, each) => sum + each, 3_000_000n) < 13_000_000n, String(gas));
    });
  });

  // ------------------------------------------------------------------ certificates

  describe("certificates", () => {
    it("are read alike, whatever is in them and however they are damaged", async () => {
      const { address } = await deployContract(deployer, "X509Harness", []);
      const harness = new Contract(address, (await loadArtifact("X509Harness")).abi, provider);
      const same = async (der: Uint8Array, what: string): Promise<boolean> => {
        const ours = readCertificate(der);
        let theirs: Record<string, unknown> | undefined;
        try {
          theirs = (await harness.getFunction("certificate")(toHex(der))) as Record<string, unknown>;
        } catch (error) {
          assert.equal(errorIn(error), "CertificateMalformed", what);
        }
        assert.equal(theirs !== undefined, ours !== undefined, `${what}: ${toHex(der)}`);
        if (ours === undefined || theirs === undefined) return false;
        const secs = (ms: number): bigint => BigInt(Math.max(0, ms / 1000));
        assert.deepEqual(
          [
            toHex(der.slice(Number(theirs["signedStart"]), Number(theirs["signedEnd"]))),
            ...[theirs["issuer"], theirs["subject"], theirs["notBefore"], theirs["notAfter"], theirs["key"]],
            ...[theirs["isAuthority"], theirs["mayCertify"], theirs["maySign"], theirs["below"]],
          ],
          [
            toHex(ours.toBeSigned),
            keccakHex(ours.issuer),
            keccakHex(ours.subject),
            secs(ours.notBeforeMs),
            secs(ours.notAfterMs),
            toHex(ours.publicKey.slice(1)),
            ours.isAuthority,
            (ours.keyUsage & 0x04) !== 0,
            (ours.keyUsage & 0x80) !== 0,
            ours.pathLength === Infinity ? 65_535n : BigInt(ours.pathLength),
          ],
          what,
        );
        return true;
      };
      const crafted = (role: Role, changes: Partial<CertificateParts>): Uint8Array =>
        certificateOf(partsOf(role, changes));
      const oids = ["551d25", "551d13", "551d0f"];
      const values = [
        "3000",
        "30030101ff",
        "30030101fe",
        "30060101ff020100",
        "30060101ff02017f",
        "30060101ff020180",
      ];
      const usages = [
        "03020780",
        "030206c0",
        "03020186",
        "03020106",
        "03020006",
        "0302078000",
        "03010780",
        "03020880",
      ];
      const crafteds: [string, Uint8Array][] = [
        ...values.flatMap((value) =>
          [true, false].map((isCritical): [string, Uint8Array] => [
            `constraints ${value} ${isCritical}`,
            crafted("zone", { extensions: [extension("551d13", isCritical, hex(value)), authorityUsage()] }),
          ]),
        ),
        ...usages.map((usage): [string, Uint8Array] => [
          `usage ${usage}`,
          crafted("leaf", { extensions: [endEntity(), extension(KEY_USAGE, true, hex(usage))] }),
        ]),
        ...oids.flatMap((id) =>
          [true, false].map((isCritical): [string, Uint8Array] => [
            `another ${id} ${isCritical}`,
            crafted("leaf", {
              extensions: [endEntity(), leafUsage(), extension(id, isCritical, hex("3000"))],
            }),
          ]),
        ),
        ["no rights", crafted("leaf", { extensions: [] })],
        ["no usage", crafted("leaf", { extensions: [endEntity()] })],
        ["usage alone", crafted("leaf", { extensions: [leafUsage()] })],
        ["path length 1", crafted("zone", { extensions: [authority(1), authorityUsage()] })],
        ["another curve", crafted("leaf", { key: ecKey("P-256").spki })],
        ["version 2", crafted("leaf", { version: hex("a003020101") })],
        ["unique ids", crafted("leaf", { uniqueIds: hex("810100") })],
        ["unused bits", crafted("leaf", { unusedSignatureBits: 1 })],
        ...[
          "1950-01-01",
          "1969-12-31",
          "1970-01-01",
          "2000-02-29",
          "2049-12-31",
          "2050-01-01",
          "9999-12-31",
        ].map((day): [string, Uint8Array] => [
          day,
          crafted("leaf", { from: time(new Date(`${day}T23:59:59Z`)) }),
        ]),
      ];
      const read = [];
      for (const [what, der] of crafteds) read.push(await same(der, what));
      assert.ok(read.includes(true) && read.includes(false));

      const sound = chainOf();
      let good = 0;
      for (let i = 0; i < 1_500; i++) {
        const der = sound[i % 4]!.slice();
        if (i % 3 === 0) der[draw(der.length)]! ^= 1 << draw(8);
        else if (i % 3 === 1) der[draw(der.length)] = draw(256);
        else if (i % 2 === 0) der.copyWithin(draw(der.length), draw(der.length));
        const cut = i % 11 === 0 ? der.slice(0, draw(der.length)) : der;
        if (await same(cut, `damage ${i}`)) good += 1;
      }
      assert.ok(good > 50 && good < 1_450, String(good));
    });

    it("are verified in order, each under its issuer, with its own hints", async () => {
      const contract = await under(ROOT);
      const steps = attestationSteps(documentWith({})).certificates;
      const [root, region, zone] = steps;
      const send = async (der: Uint8Array, parent: string, hints: Uint8Array): Promise<string | undefined> =>
        (await learn(contract, { certificates: [{ der, parent: parent as never, id: ZERO_BYTES32, hints }] }))
          .error;
      assert.equal(await send(region!.der, region!.parent, region!.hints), "ChainUnknown");
      assert.equal(await send(region!.der, ZERO_BYTES32, region!.hints), "RootUnknown");
      assert.equal(await send(new Uint8Array(1_025), ZERO_BYTES32, NOTHING), "CertificateTooLong");
      assert.equal(await send(root!.der, ZERO_BYTES32, NOTHING), undefined);
      // Again is no error.
      assert.equal(await send(root!.der, ZERO_BYTES32, NOTHING), undefined);
      assert.equal(await send(zone!.der, root!.id, zone!.hints), "IssuerMismatch");
      assert.equal(await send(region!.der, region!.parent, zone!.hints), "HintsInvalid");
      const damaged = region!.der.slice();
      damaged[damaged.length - 1]! ^= 1;
      assert.equal(await send(damaged, region!.parent, region!.hints), "HintsInvalid");
      const steps2 = attestationSteps(documentOf(payloadOf([root!.der, damaged, zone!.der, steps[3]!.der])));
      assert.equal(await send(damaged, region!.parent, steps2.certificates[1]!.hints), "SignatureInvalid");
      assert.deepEqual(await asked(contract, "isTrusted", [region!.id], NOW / 1000), [false]);
      for (const { der, parent, hints } of steps) assert.equal(await send(der, parent, hints), undefined);
      assert.ok("said" in (await judged(contract, documentWith({}))));
    });

    it("give a document nothing of another's chain: missing, in another order, mixed, foreign", async () => {
      const contract = await under(ROOT);
      const other = chainOf({ zone: { serial: hex("020107") }, leaf: { serial: hex("020109") } });
      await learn(contract, attestationSteps(documentWith({})));
      await learn(contract, attestationSteps(documentOf(payloadOf(other))));
      const [root, region, zone, leaf] = CHAIN;
      const mixed: (readonly Uint8Array[])[] = [
        [root!, region!, other[2]!, leaf!],
        [root!, region!, zone!, other[3]!],
        [root!, zone!, region!, leaf!],
        [root!, region!, leaf!],
        [root!, region!, zone!, zone!, leaf!],
        [region!, zone!, leaf!],
        [zone!, region!, root!, leaf!],
      ];
      for (const chain of mixed) {
        const outcome = await judged(contract, documentOf(payloadOf(chain)));
        assert.ok(
          "error" in outcome && ["ChainUnknown", "RootUnknown"].includes(outcome.error),
          JSON.stringify(outcome, text),
        );
      }
      for (const chain of [CHAIN, other])
        assertSame(await judged(contract, documentOf(payloadOf(chain))), documentOf(payloadOf(chain)), ROOT);
      const foreign = chainOf({ root: { key: KEYS.foreign.spki, signer: KEYS.foreign.privateKey } });
      const document = documentOf(payloadOf(foreign));
      assertSame(await judged(contract, document), document, ROOT);
    });

    it("sign nothing that they may not: an authority no document, a leaf and a full path no certificate", async () => {
      const contract = await under(ROOT);
      const [root, region, zone, leaf] = CHAIN;
      await learn(contract, attestationSteps(documentWith({})));
      const byZone = documentOf(payloadOf(CHAIN, { cabundle: [root!, region!], certificate: zone! }), {
        signer: KEYS.zone.privateKey,
      });
      assert.deepEqual(await judged(contract, byZone), { error: "NotALeaf" });
      const below = certificateOf(
        partsOf("leaf", {
          issuer: "leaf",
          subject: "below",
          signer: KEYS.leaf.privateKey,
          extensions: [endEntity(), leafUsage()],
        }),
      );
      const byLeaf = documentOf(payloadOf([root!, region!, zone!, leaf!, below]));
      assert.equal((await learn(contract, attestationSteps(byLeaf))).error, "NotAnAuthority");
      // The zone's path length is 0: a leaf may follow, and no authority.
      const inner = certificateOf(
        partsOf("zone", {
          issuer: "zone",
          subject: "inner",
          signer: KEYS.zone.privateKey,
          extensions: [authority(), authorityUsage()],
        }),
      );
      const tooLong = documentOf(payloadOf([root!, region!, zone!, inner, leaf!]));
      assert.equal((await learn(contract, attestationSteps(tooLong))).error, "NotAnAuthority");
      for (const document of [byZone, byLeaf, tooLong])
        assertSame(await judged(contract, document), document, ROOT);
    });

    it("hold a document at both ends of the time of each of them, not of the leaf's alone", async () => {
      const second = (secs: number): Uint8Array => time(new Date(secs * 1000));
      const [from, until] = [NOW / 1000 - 60, NOW / 1000 + 60];
      for (const role of ["root", "region", "zone", "leaf"] as const) {
        const chain = chainOf({ [role]: { from: second(from), until: second(until) } });
        const root = hashOf(chain[0]!);
        const contract = await under(root);
        const document = documentOf(payloadOf(chain));
        assert.equal((await learn(contract, attestationSteps(document))).error, undefined);
        for (const [secs, error] of [
          [from - 1, "ChainNotYetValid"],
          [from, undefined],
          [until, undefined],
          [until + 1, "ChainExpired"],
        ] as const) {
          const outcome = await judged(contract, document, undefined, secs);
          assert.equal("error" in outcome ? outcome.error : undefined, error, `${role} at ${secs}`);
          assertSame(outcome, document, root, secs * 1000);
        }
      }
    });

    it("give the document's time to the millisecond", async () => {
      const contract = await under(ROOT);
      await learn(contract, attestationSteps(documentWith({})));
      const outcome = await judged(contract, documentWith({ timestamp: NOW - 1 }));
      assert.equal("said" in outcome && outcome.said.timestampMs, BigInt(NOW - 1));
    });

    it("once revoked stay so, with all that they issued, whoever verifies them again", async () => {
      const revoker = await provider.getSigner(REVOKER);
      const steps = attestationSteps(documentWith({})).certificates;
      const document = documentWith({});
      for (const [place, { der }] of steps.entries()) {
        for (const isBefore of [false, true]) {
          const contract = await under(ROOT);
          const as = new Contract(await contract.getAddress(), abi, revoker);
          await assert.rejects(
            async () => contract.getFunction("revoke")(keccakHex(readCertificate(der)!.toBeSigned)),
            (error) => errorIn(error) === "NotRevoker",
          );
          if (!isBefore) {
            await learn(contract, { certificates: steps });
            assert.ok("said" in (await judged(contract, document)));
          }
          await (
            (await as.getFunction("revoke")(keccakHex(readCertificate(der)!.toBeSigned))) as {
              wait(): Promise<unknown>;
            }
          ).wait();
          await learn(contract, { certificates: steps });
          assert.deepEqual(await judged(contract, document), { error: "ChainRevoked" });
          for (const [i, { id }] of steps.entries()) {
            assert.deepEqual(await asked(contract, "isTrusted", [id], NOW / 1000), [i < place]);
            assert.deepEqual(await asked(contract, "isValidAt", [id, NOW / 1000], NOW / 1000), [i < place]);
          }
        }
      }
    });

    it("of one name and key that follow one another do not take each other's place", async () => {
      const contract = await under(ROOT);
      // Renewed: another serial and another time, the same key and name.
      const renewed = chainOf({ zone: { serial: hex("020102"), until: time(new Date(NOW + 60_000)) } });
      const [root, region, , leaf] = CHAIN;
      const old = documentOf(payloadOf([root!, region!, renewed[2]!, leaf!]));
      await learn(contract, attestationSteps(old));
      const document = documentWith({});
      // Somebody put the leaf under the shorter one first; under its own it is verified all the same.
      assert.deepEqual(await judged(contract, document), { error: "ChainUnknown" });
      assert.equal((await learn(contract, attestationSteps(document))).error, undefined);
      const later = NOW / 1000 + 61;
      assert.deepEqual(await judged(contract, old, undefined, later), { error: "ChainExpired" });
      assert.ok("said" in (await judged(contract, document, undefined, later)));
    });

    it("of one name and key are revoked one by one: what is left out keeps its own", async () => {
      const contract = await under(ROOT);
      const as = new Contract(await contract.getAddress(), abi, await provider.getSigner(REVOKER));
      const [root, region, zone, leaf] = CHAIN;
      const renewed = chainOf({ zone: { serial: hex("020102") } })[2]!;
      const [first, second] = [zone!, renewed].map((one) => ({
        document: documentOf(payloadOf([root!, region!, one, leaf!])),
        signed: keccakHex(readCertificate(one)!.toBeSigned),
      }));
      for (const { document } of [first!, second!]) await learn(contract, attestationSteps(document));
      const revoke = async (signed: string): Promise<unknown> =>
        ((await as.getFunction("revoke")(signed)) as { wait(): Promise<unknown> }).wait();
      await revoke(first!.signed);
      assert.deepEqual(await judged(contract, first!.document), { error: "ChainRevoked" });
      assert.ok("said" in (await judged(contract, second!.document)));
      await revoke(second!.signed);
      assert.deepEqual(await judged(contract, second!.document), { error: "ChainRevoked" });
    });
  });
});

/** For what is shown when a test fails. */
function text(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value instanceof Uint8Array ? toHex(value) : value;
}
