/**
 * P28. The pool's owner admits no signer: whose word counts is said by an enclave's platform alone. The attacker holds the
 * owner's key and the guardian's, has all the time there is, and a platform of his own.
 */
import assert from "node:assert/strict";
import { Contract, FunctionFragment, HDNodeWallet, type ParamType } from "ethers";
import { committedKeyHashes } from "../../scripts/deploy/pool.ts";
import { makeRoot } from "../../scripts/image/certificates.ts";
import { registerSigner, settledBlockHash } from "../../scripts/operator/registration.ts";
import {
  developmentDocument,
  developmentKmsKeyName,
  imageNamed,
  measurementNamed,
  registerDevelopmentSigner,
} from "../../scripts/stack/development-registration.ts";
import { NO_UPDATE } from "../../scripts/stack/pool-transaction.ts";
import { simulatedPlatform } from "../../scripts/stand-ins/platform/nsm.ts";
import { attestationSteps } from "../../shared/client/chain/nitro/attestation-steps.ts";
import { readAttestation } from "../../shared/protocol/attestation-document.ts";
import { mustFromHex, toHex } from "../../shared/protocol/bytes.ts";
import { seal, spendDraft } from "../support/drafts.ts";
import { Battlefield, FAR_DEADLINE, freshAddress, freshKeys, mustAddress } from "../support/adversary.ts";

const YEAR_SECS = 365 * 86_400;
const OWN_IMAGE = "an image of the owner's own";

describe("P28 the owner admits no signer", function () {
  this.timeout(600_000);
  let field: Battlefield;
  let restore: string;
  const thief = HDNodeWallet.createRandom();
  const name = mustAddress(thief.address);
  before(async () => {
    field = await Battlefield.start();
    await field.settle(await field.deposit(freshKeys(), 5_000_000n));
  });
  beforeEach(async () => {
    restore = (await field.provider.send("evm_snapshot", [])) as string;
  });
  afterEach(() => field.provider.send("evm_revert", [restore]));
  after(() => field.stop());

  const isSigner = (): Promise<unknown> => field.pool.getFunction("isSigner")(name);
  const sent = async (sending: Promise<unknown>): Promise<boolean> => {
    try {
      await ((await sending) as { wait(): Promise<unknown> }).wait();
      return true;
    } catch {
      return false;
    }
  };
  const pass = async (seconds: number): Promise<void> => {
    await field.provider.send("evm_increaseTime", [seconds]);
    await field.provider.send("evm_mine", []);
  };
  /** Everything in the pool, to the thief, vouched for by the thief's key. */
  const drains = async (): Promise<string> => {
    const everything = (await field.usdc.getFunction("balanceOf")(field.home.pool)) as bigint;
    assert.ok(everything > 0n);
    const [root] = (await field.pool.getFunction("currentRoot")()) as [bigint];
    const setting = {
      home: field.home,
      deadline: BigInt(FAR_DEADLINE),
      verifyingKeyHashes: await committedKeyHashes(),
      attesters: [{ address: name, key: thief.signingKey }],
    };
    const payout = { asset: field.usdcAddress, amount: everything / 2n, recipient: freshAddress() };
    return field.executeOne(seal(spendDraft(setting, root, payout)).transaction);
  };
  const assertOut = async (): Promise<void> => {
    assert.equal(await isSigner(), false);
    assert.equal(await drains(), "SignerUnknown");
  };
  /** The owner's image is in: as far as the owner can come. */
  const admitOwnImage = async (): Promise<void> => {
    const image = imageNamed(OWN_IMAGE);
    assert.ok(await sent(field.pool.getFunction("proposeImage")(image, 1, "", "")));
    await pass(100);
    assert.ok(await sent(field.pool.getFunction("admitImage")(image)));
  };

  it("P28 by any call of the pool, with the thief's name in every place, now and after every delay", async () => {
    const document = await developmentDocument(field.owner, {
      ...{ pool: field.home.pool, signer: field.signer, measurement: measurementNamed("nothing") },
    });
    const argument = ({ baseType, arrayChildren, components }: ParamType): unknown => {
      if (baseType === "array")
        return arrayChildren === null ? [] : Array.from({ length: 0 }, () => argument(arrayChildren));
      if (baseType === "tuple") return components!.map(argument);
      if (baseType === "address") return name;
      if (baseType === "bytes32") return `0x${"00".repeat(12)}${name.slice(2)}`;
      if (baseType === "bytes") return toHex(document);
      return baseType === "string" ? name : 1n;
    };
    const writing = field.pool.interface.fragments.flatMap((one) =>
      FunctionFragment.isFragment(one) && !one.constant ? [one] : [],
    );
    assert.ok(writing.length > 15);
    let accepted = 0;
    for (const wait of [0, 100, 8 * 86_400]) {
      await pass(wait);
      for (const fragment of writing) {
        if (fragment.name === "removeSigner" || fragment.name === "pause") continue;
        const call = field.pool.getFunction(fragment.name);
        const args = fragment.name === "execute" ? [[], NO_UPDATE] : fragment.inputs.map(argument);
        if (await sent(Promise.resolve().then(() => call(...args, { gasLimit: 10_000_000 })))) accepted++;
        assert.equal(await isSigner(), false, fragment.name);
      }
    }
    // Some of them did something: the owner may propose.
    assert.ok(accepted > 0);
    await assertOut();
  });

  it("P28 by an image of the owner's own, however long it is in: it is nobody's word without a platform's", async () => {
    await admitOwnImage();
    await assertOut();
    await pass(YEAR_SECS);
    await assertOut();
    // A document of the true form, of that image, that names the thief, for this very block: of a platform of his own.
    const kmsKey = await developmentKmsKeyName();
    const at = { pool: field.home.pool, signer: name, measurement: measurementNamed(OWN_IMAGE) };
    const honest = readAttestation(await developmentDocument(field.owner, at))!;
    const now = (await field.provider.getBlock("latest"))!.timestamp * 1_000;
    const own = simulatedPlatform(makeRoot(new Date(now)), () => new Date(now));
    const document = own.document(at.measurement, {
      ...{
        userData: honest.userData!,
        nonce: mustFromHex(await settledBlockHash(field.provider)),
        publicKey: null,
      },
    });
    await assert.rejects(registerSigner(field.owner, { pool: field.home.pool, document, kmsKey }));
    await assertOut();
  });

  it("P28 by a true enclave's document, in which another signer is written", async () => {
    const at = { pool: field.home.pool, signer: field.signer, measurement: measurementNamed(OWN_IMAGE) };
    await admitOwnImage();
    const document = await developmentDocument(field.owner, at);
    const kmsKey = await developmentKmsKeyName();
    const [found] = indicesOf(document, mustFromHex(field.signer));
    const renamed = Uint8Array.from(document);
    renamed.set(mustFromHex(name), found);
    const blockNumber = (await field.provider.getBlockNumber()) - 1;
    const { hints } = attestationSteps(document).document;
    for (const bytes of [attestationSteps(renamed).document.hints, hints]) {
      const call = new Contract(field.home.pool, field.pool.interface, field.owner).getFunction("register");
      await assert.rejects(call.staticCall(toHex(renamed), toHex(bytes), blockNumber, kmsKey));
    }
    await assertOut();
  });

  it("P28 control: the platform's own word brings the same signer in, whoever carries it", async () => {
    await admitOwnImage();
    const stranger = await field.account(7);
    await registerDevelopmentSigner(stranger, {
      ...{ pool: field.home.pool, signer: name, measurement: measurementNamed(OWN_IMAGE) },
    });
    assert.equal(await isSigner(), true);
    assert.equal(await drains(), "executed");
  });
});

/** Where `part` stands in `whole`. */
function indicesOf(whole: Uint8Array, part: Uint8Array): number[] {
  const found: number[] = [];
  for (let i = Buffer.from(whole).indexOf(part); i >= 0; i = Buffer.from(whole).indexOf(part, i + 1))
    found.push(i);
  return found;
}
