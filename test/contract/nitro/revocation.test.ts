// Revocation reaches a certificate in every form its signature can take: ECDSA has two for each.
import assert from "node:assert/strict";
import { p384 } from "@noble/curves/nist.js";
import { Contract, JsonRpcProvider } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { attestationSteps } from "../../../shared/client/chain/nitro/attestation-steps.ts";
import { concatBytes, toHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { readCertificate, verifyChain } from "../../../shared/protocol/x509.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import {
  chainOf,
  der,
  documentOf,
  hashOf,
  NOW,
  payloadOf,
  sequence,
} from "../../support/crafted-attestation.ts";

/** The same certificate with n − s for s: another DER, signed as well as before. */
function twinOf(bytes: Uint8Array): Uint8Array {
  const { toBeSigned, signature } = readCertificate(bytes)!;
  const { r, s } = p384.Signature.fromBytes(signature, "der");
  const twin = new p384.Signature(r, p384.Point.Fn.neg(s)).toBytes("der");
  const algorithm = Uint8Array.from(Buffer.from("300a06082a8648ce3d040303", "hex"));
  return sequence(toBeSigned, algorithm, der(0x03, concatBytes(Uint8Array.of(0), twin)));
}

describe("revocation on chain", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  it("covers the certificate's twin, made by anyone without a key", async () => {
    const deployer = await provider.getSigner(0);
    const verifier = (await deployContract(deployer, "P384", [])).address;
    const chain = chainOf();
    const { abi } = await loadArtifact("NitroAttestations");
    for (const place of [1, 2, 3]) {
      const { address } = await deployContract(deployer, "NitroAttestations", [
        `0x${hashOf(chain[0]!)}`,
        await deployer.getAddress(),
        verifier,
      ]);
      const contract = new Contract(address, abi, deployer);
      const mined = async (name: string, ...given: unknown[]): Promise<void> => {
        await ((await contract.getFunction(name)(...given)) as { wait(): Promise<unknown> }).wait();
      };
      await mined("revoke", keccakHex(readCertificate(chain[place]!)!.toBeSigned));
      const twins = chain.map((one, i) => (i === place ? twinOf(one) : one));
      assert.notEqual(keccakHex(twins[place]!), keccakHex(chain[place]!));
      assert.equal(verifyChain(twins.map(readCertificate), NOW), undefined);
      const { certificates } = attestationSteps(documentOf(payloadOf(twins)));
      for (const step of certificates)
        await mined("verifyCertificate", toHex(step.der), step.parent, toHex(step.hints));
      assert.deepEqual(
        await Promise.all(
          certificates.map(({ id }) => contract.getFunction("isTrusted")(id) as Promise<boolean>),
        ),
        certificates.map((_, i) => i < place),
      );
    }
  });
});
