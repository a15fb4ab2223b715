/** Ways to the enclaves: who they are, what they sign, and how their keys are released. */
import { acceptedSigners } from "../base/chain/accepted-signers.ts";
import { recoverInTurn } from "../base/chain/recovery.ts";
import { createAttestor } from "./enclave-link/attestor.ts";
import { createDirectory } from "./enclave-link/directory.ts";
import { createDisagreements } from "./enclave-link/disagreements.ts";
import { createKeyCourier, createKeyRelease } from "./enclave-link/key-courier.ts";
import { createLink } from "./enclave-link/link.ts";
import { circuitsHashOf, warnOfOtherCircuits } from "./enclave-link/same-circuits.ts";
import { timedLink } from "./enclave-link/timed-link.ts";
import type { Ground } from "./ground.ts";

export type Enclaves = Awaited<ReturnType<typeof openEnclaves>>;

export async function openEnclaves({
  config,
  logger,
  metrics,
  now,
  pool,
  ourKeys,
  stores,
  tipIfFresh,
}: Ground) {
  const links = config.enclaves.map((address, place) => timedLink(createLink(address), place, metrics));
  const kindOf = acceptedSigners(pool, tipIfFresh);
  const directory = createDirectory(links, async (signer) => (await kindOf(signer)) !== undefined);
  void warnOfOtherCircuits(directory, circuitsHashOf(ourKeys), logger);
  const courier = createKeyCourier(
    links.map((link, enclave) => ({ link, pairFile: config.signerPairs[enclave] })),
    config.kms === undefined ? undefined : createKeyRelease(config.kms),
    logger.child({ part: "courier" }),
  );
  const disagreements = createDisagreements({
    ...{ store: stores.disagreements, logger: logger.child({ part: "verifiers" }), now },
  });
  await disagreements.start();
  const attestor = createAttestor(
    links,
    {
      home: pool.home,
      threshold: () => pool.threshold(),
      kindOf,
      verifyingKeyHash: (kind) => pool.verifyingKeyHash(kind),
      recover: recoverInTurn,
    },
    disagreements,
  );
  return {
    ...{ directory, courier, disagreements, attestor },
    closeLinks() {
      for (const link of links) link.close();
    },
  };
}
