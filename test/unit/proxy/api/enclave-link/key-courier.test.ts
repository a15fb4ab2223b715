// The courier with the unmodified AWS client against the development KMS; the enclave is played here, with a
// real ephemeral key and a real document, so that each thing that can go wrong does so at its own place.
import assert from "node:assert/strict";
import { constants, createPublicKey, publicEncrypt } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { openEnvelope } from "../../../../../enclave/kms-envelope.ts";
import {
  CourierFault,
  createKeyCourier,
  createKeyRelease,
  restoreEnclave,
  type CourierFaultCode,
  type KeyCourier,
  type KeyRelease,
} from "../../../../../proxy/api/enclave-link/key-courier.ts";
import { EnclaveUnreachable, type EnclaveLink } from "../../../../../proxy/api/enclave-link/link.ts";
import { pairText, type SignerPair } from "../../../../../proxy/api/enclave-link/signer-pair.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { makeRoot, type Authority } from "../../../../../scripts/image/certificates.ts";
import {
  DEVELOPMENT_ACCOUNT,
  DEVELOPMENT_REGION,
  developmentKmsKey,
} from "../../../../../scripts/image/development-keys.ts";
import { startDevelopmentKms, type DevelopmentKms } from "../../../../../scripts/stand-ins/kms/server.ts";
import { DEVELOPMENT_CREDENTIAL, DEVELOPMENT_ROLE } from "../../../../../scripts/stand-ins/kms/signature.ts";
import { kmsPolicy } from "../../../../../scripts/image/kms-policy.ts";
import type { Measurement } from "../../../../../scripts/image/measurement.ts";
import type { EnclavePhase, EnclaveReply } from "../../../../../shared/protocol/enclave-messages.ts";
import { until } from "../../../../support/until.ts";
import { aRecipient, documentFor, MEASUREMENT } from "../../../scripts/stand-ins/kms/documents.ts";

const SIGNER = `0x${"5a".repeat(20)}` as SignerPair["signer"];
const HASH = `0x${"0c".repeat(32)}` as SignerPair["configurationHash"];
const SECRET = new TextEncoder().encode("the signing key");
const CERTIFICATE = new TextEncoder().encode("a birth certificate");
const region = DEVELOPMENT_REGION;
const credentials = DEVELOPMENT_CREDENTIAL;

interface PlayedEnclave {
  readonly link: EnclaveLink;
  phase: EnclavePhase | "unreachable";
  /** What it got at its last restore. */
  opened: Uint8Array | undefined;
  restores: number;
  /** Documents that it gave. */
  asked: number;
}

/** One for all: every enclave has its own, but making one takes a while. */
const recipient = aRecipient();

function playEnclave(
  play: { measurement?: Measurement; root?: Authority; refuses?: boolean } = {},
): PlayedEnclave {
  const enclave: PlayedEnclave = {
    asked: 0,
    phase: "booting",
    opened: undefined,
    restores: 0,
    link: {
      ask: async (request): Promise<EnclaveReply> => {
        const { phase } = enclave;
        if (phase === "unreachable") throw new EnclaveUnreachable("played");
        switch (request.type) {
          case "status":
            return { type: "status", phase, signer: SIGNER, configurationHash: HASH, circuitsHash: HASH };
          case "release-request":
            enclave.asked += 1;
            return { type: "release-request", document: documentFor(recipient, play) };
          case "restore":
            enclave.restores += 1;
            enclave.opened = openEnvelope(
              request.envelope,
              recipient.privateKey,
              recipient.spki,
              SECRET.length,
            );
            if (play.refuses === true) return { type: "refused", code: "RESTORE_REFUSED" };
            assert.deepEqual(request.birthCertificate, CERTIFICATE);
            enclave.phase = "serving";
            return { type: "restore", signer: SIGNER };
          case "genesis":
          case "attestation":
          case "attest":
          case "attest-root":
            throw new TypeError(`not asked by a courier: ${request.type}`);
        }
      },
      close: () => undefined,
    },
  };
  return enclave;
}

describe("enclave-link/key-courier", () => {
  let folder: string;
  let kms: DevelopmentKms;
  let release: KeyRelease;
  let pair: SignerPair;
  let pairFile: string;

  before(async () => {
    const terms = { account: DEVELOPMENT_ACCOUNT, hostRole: DEVELOPMENT_ROLE, measurement: MEASUREMENT };
    kms = await startDevelopmentKms({ policy: kmsPolicy(terms) });
    release = createKeyRelease({ region, endpoint: kms.url, credentials });
    const key = createPublicKey({ key: Buffer.from(developmentKmsKey().spki), type: "spki", format: "der" });
    const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
    const sealedKey = new Uint8Array(publicEncrypt({ key, ...padding }, SECRET));
    pair = {
      signer: SIGNER,
      sealedKey,
      birthCertificate: CERTIFICATE,
      kmsKeyId: kms.keyId,
      configurationHash: HASH,
    };
    folder = await mkdtemp(path.join(tmpdir(), "cloister-courier-"));
    pairFile = path.join(folder, "signer.json");
    await writeFile(pairFile, pairText(pair));
  });
  after(async () => {
    release.close();
    await kms.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe("one errand", () => {
    const faultOf = (
      enclave: PlayedEnclave,
      changes: Partial<SignerPair> = {},
      by = release,
    ): Promise<unknown> =>
      restoreEnclave(enclave.link, { ...pair, ...changes }, by).then(
        () => "restored",
        (error: unknown) => (error instanceof CourierFault ? error.code : error),
      );

    it("brings an enclave of the policy's measurement what its sealed key holds", async () => {
      const enclave = playEnclave();
      assert.equal(await restoreEnclave(enclave.link, pair, release), SIGNER);
      assert.deepEqual(enclave.opened, SECRET);
    });

    const refusals: readonly [string, CourierFaultCode, () => Promise<unknown>][] = [
      [
        "an enclave of another measurement",
        "KMS_DENIED",
        () => faultOf(playEnclave({ measurement: { ...MEASUREMENT, pcr2: "dd".repeat(48) } })),
      ],
      ["a foreign root", "KMS_DOCUMENT_REFUSED", () => faultOf(playEnclave({ root: makeRoot(new Date()) }))],
      [
        "a sealed key that is none",
        "KMS_KEY_UNUSABLE",
        () => faultOf(playEnclave(), { sealedKey: new Uint8Array(256) }),
      ],
      [
        "another KMS key",
        "KMS_KEY_UNUSABLE",
        () => faultOf(playEnclave(), { kmsKeyId: kms.keyId.replace(/.$/, "9") }),
      ],
      ["an enclave that refuses the key", "RESTORE_REFUSED", () => faultOf(playEnclave({ refuses: true }))],
      [
        "a credential that KMS does not know",
        "KMS_CREDENTIAL_REFUSED",
        async () => {
          const other = createKeyRelease({
            region,
            endpoint: kms.url,
            credentials: { ...credentials, secretAccessKey: "guessed" },
          });
          return faultOf(playEnclave(), {}, other).finally(() => other.close());
        },
      ],
      [
        "a KMS that is unreachable",
        "KMS_AWAY",
        async () => {
          const nobody = createKeyRelease({ region, endpoint: "http://127.0.0.1:1", credentials });
          return faultOf(playEnclave(), {}, nobody).finally(() => nobody.close());
        },
      ],
      [
        "an enclave that is unreachable",
        "ENCLAVE_AWAY",
        () => {
          const enclave = playEnclave();
          enclave.phase = "unreachable";
          return faultOf(enclave);
        },
      ],
    ];
    for (const [what, code, fault] of refusals) {
      it(`${code}: ${what}`, async () => assert.equal(await fault(), code));
    }

    describe("with a KMS that answers something else", () => {
      let server: Server;
      let reply: object;
      let other: KeyRelease;
      before(async () => {
        server = createServer((_, response) => {
          response.writeHead(200, { "content-type": "application/x-amz-json-1.1" });
          response.end(JSON.stringify(reply));
        });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const endpoint = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
        other = createKeyRelease({ region, endpoint, credentials });
      });
      after(() => {
        other.close();
        server.close();
      });

      const CiphertextForRecipient = Buffer.from("an envelope").toString("base64");
      const EncryptionAlgorithm = "RSAES_OAEP_SHA_256";
      for (const [what, change, code] of [
        ["takes one of the key and the algorithm that were asked for", {}, "restored"],
        ["refuses one of another key", { KeyId: "arn:aws:kms:x:1:key/other" }, "KMS_REPLY_UNFIT"],
        ["refuses one of another algorithm", { EncryptionAlgorithm: "RSAES_OAEP_SHA_1" }, "KMS_REPLY_UNFIT"],
        ["refuses one without an envelope", { CiphertextForRecipient: undefined }, "KMS_REPLY_UNFIT"],
        ["refuses one with a plaintext", { Plaintext: CiphertextForRecipient }, "KMS_REPLY_UNFIT"],
      ] as const) {
        it(what, async () => {
          reply = { KeyId: kms.keyId, EncryptionAlgorithm, CiphertextForRecipient, ...change };
          const enclave = playEnclave();
          assert.equal(await faultOf(enclave, {}, other), code);
          assert.equal(enclave.restores, code === "restored" ? 1 : 0);
        });
      }
    });
  });

  describe("on duty", () => {
    const quick = { watchMs: 5, minWaitMs: 5, maxWaitMs: 20 };
    let courier: KeyCourier | undefined;
    const lines: string[] = [];
    const logger = createLogger("info", { write: (line: string) => void lines.push(line) });
    beforeEach(() => void lines.splice(0));
    afterEach(async () => {
      await courier?.stop();
      courier = undefined;
    });

    /** One that may be closed without closing that of the other tests. */
    const borrowed = (): KeyRelease => ({
      open: (...asked) => release.open(...asked),
      close: () => undefined,
    });
    function onDuty(enclaves: readonly (readonly [PlayedEnclave, string | undefined])[]): KeyCourier {
      const errands = enclaves.map(([{ link }, file]) => ({ link, pairFile: file }));
      courier = createKeyCourier(errands, borrowed(), logger, quick);
      courier.start();
      return courier;
    }

    it("restores every enclave that boots, and again one that was started again", async () => {
      const [one, two] = [playEnclave(), playEnclave()];
      const { faults } = onDuty([
        [one, pairFile],
        [two, pairFile],
      ]);
      await until("both to serve", async () => one.phase === "serving" && two.phase === "serving");
      await until("no fault to be left", async () => faults().every((fault) => fault === undefined));
      one.phase = "unreachable";
      await until("it to be missed", async () => faults()[0] === "ENCLAVE_AWAY");
      one.phase = "booting";
      await until("it to serve again", async () => one.restores === 2 && faults()[0] === undefined);
      assert.equal(two.restores, 1);
    });

    it("goes on trying, says why in between, and reads the pair again each time", async () => {
      const later = path.join(folder, "later.json");
      const enclave = playEnclave();
      const { faults } = onDuty([[enclave, later]]);
      await until("the pair to be missed", async () => faults()[0] === "PAIR_UNREADABLE");
      await writeFile(later, pairText({ ...pair, kmsKeyId: kms.keyId.replace(/.$/, "9") }));
      await until("the other key to be missed", async () => faults()[0] === "KMS_KEY_UNUSABLE");
      await writeFile(later, pairText(pair));
      await until("it to serve", async () => enclave.phase === "serving" && faults()[0] === undefined);
    });

    it("tells the log each reason once, with KMS's words for the operator, and no key", async () => {
      const enclave = playEnclave({ measurement: { ...MEASUREMENT, pcr0: "dd".repeat(48) } });
      const { faults } = onDuty([[enclave, pairFile]]);
      await until("it to be denied again and again", async () => enclave.asked >= 4);
      assert.equal(faults()[0], "KMS_DENIED");
      assert.equal(lines.length, 1);
      const line = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
      assert.equal(line["code"], "KMS_DENIED");
      assert.match(String(line["kms"]), /^AccessDeniedException: .*NoDecryptForAnotherImage/);
      assert.ok(!lines[0]?.includes(Buffer.from(pair.sealedKey).toString("base64")));
    });

    it("tells the log, and not /health, at which step an enclave refused its key", async () => {
      const enclave = playEnclave({ refuses: true });
      const { faults } = onDuty([[enclave, pairFile]]);
      await until("it to be refused again and again", async () => enclave.asked >= 3);
      assert.equal(faults()[0], "RESTORE_REFUSED");
      const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.deepEqual(
        told.map(({ code, step }) => [code, step]),
        [["RESTORE_REFUSED", "own document: TYPE_MISMATCH"]],
      );
    });

    it("leaves alone what has halted, what has no pair, and what serves", async () => {
      const [halted, without, serving] = [playEnclave(), playEnclave(), playEnclave()];
      halted.phase = "halted";
      serving.phase = "serving";
      const { faults } = onDuty([
        [halted, pairFile],
        [without, undefined],
        [serving, pairFile],
      ]);
      await until("all to be looked at", async () => faults()[1] !== undefined && faults()[0] !== undefined);
      assert.deepEqual(faults(), ["ENCLAVE_HALTED", "NO_PAIR", undefined]);
      assert.equal(halted.restores + without.restores + serving.restores, 0);
    });

    it("does not spoil for ever the errand of another proxy's, though both came to the enclave at once", async () => {
      const enclave = playEnclave();
      // As enclave/release.ts has it: one envelope is waited for, and a try uses it up.
      let pending: number | undefined;
      let failed = 0;
      const seenBy = (courierNumber: number): EnclaveLink => ({
        ask: async (request) => {
          if (request.type === "release-request") pending = courierNumber;
          if (request.type === "restore") {
            const isFit = pending === courierNumber;
            pending = undefined;
            if (!isFit) {
              failed += 1;
              return { type: "refused", code: "RESTORE_REFUSED" };
            }
          }
          return enclave.link.ask(request);
        },
        close: () => undefined,
      });
      // Of two that ask at about the same time, the first brings its envelope when both have asked, and then the other.
      let goOn: (() => void) | undefined;
      const together: KeyRelease = {
        open: async (...words) => {
          if (goOn === undefined)
            await new Promise<void>((resolve) => {
              goOn = resolve;
              // eslint-disable-next-line no-restricted-syntax -- the other may have been served meanwhile
              setTimeout(resolve, 200);
            });
          else {
            const before = failed;
            goOn();
            await until("the first to have tried", () => failed > before || enclave.phase === "serving");
          }
          goOn = undefined;
          return release.open(...words);
        },
        close: () => undefined,
      };
      const couriers = [0, 0.99].map((share, i) =>
        createKeyCourier([{ link: seenBy(i), pairFile }], together, logger, {
          ...{ watchMs: 5, minWaitMs: 400, maxWaitMs: 400 },
          random: () => share,
        }),
      );
      for (const one of couriers) one.start();
      try {
        await until("it to serve", () => enclave.phase === "serving");
        assert.ok(failed > 0, "they had met");
      } finally {
        await Promise.all(couriers.map((one) => one.stop()));
      }
    });

    it("leaves a KMS that does not answer when it is to stop, and has nothing to say about it", async () => {
      let asked = 0;
      const silent = createServer(() => (asked += 1));
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
      const endpoint = `http://127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
      const waiting = createKeyRelease({ region, endpoint, credentials });
      const leaving = createKeyCourier([{ link: playEnclave().link, pairFile }], waiting, logger, quick);
      leaving.start();
      await until("it to be asked", () => asked === 1);
      await leaving.stop();
      assert.deepEqual([leaving.faults(), lines], [[undefined], []]);
      silent.closeAllConnections();
      silent.close();
    });
  });
});
