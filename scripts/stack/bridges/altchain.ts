// The other blockchain as a part of the local stack: its program started, the account that pays the service's fees there
// given coins, and the names by which messages speak of it. DEVELOPMENT ONLY.
import { base58 } from "@scure/base";
import { ed25519 } from "@noble/curves/ed25519.js";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import { mustFromHex, toBytes32 } from "../../../shared/protocol/bytes.ts";
import { keccak256 } from "../../../shared/protocol/hash.ts";
import { startService, type Service } from "../../base/service.ts";
import type { NetworkFolder } from "../stack-folder.ts";
import { JsonRpc } from "../../stand-ins/venues/json-rpc.ts";
import { z } from "zod";

export interface LocalAltchain extends Service {
  readonly url: string;
  readonly mint: string;
  /** Who sends its messages, and the token, as CCTP writes them. */
  readonly messenger: Bytes32;
  readonly token: Bytes32;
  readonly feePayerKeyFile: string;
}

const MESSENGER = toBytes32(keccak256(new TextEncoder().encode("cloister/local/altchain/messenger")));
/** As messages name who sends and what is sent there. */
export const altchainRemote = (mint: string): { readonly messenger: Bytes32; readonly token: Bytes32 } => ({
  messenger: MESSENGER,
  token: toBytes32(base58.decode(mint)),
});
const COINS = 100_000_000_000;

export async function startLocalAltchain(folder: NetworkFolder): Promise<LocalAltchain> {
  const service = await startService({
    name: "altchain",
    program: "scripts/stand-ins/venues/altchain/main.ts",
    args: ["--folder", folder.inside("altchain")],
    logFile: folder.log("altchain"),
    isReady: ({ url }) => typeof url === "string",
  });
  const url = String(service.ready["url"]);
  const mint = String(service.ready["mint"]);
  const feePayerKeyFile = await folder.secrets.file("bridge-fee-payer.key");
  const seed = mustFromHex(await folder.secrets.text("bridge-fee-payer.key"));
  const payer = base58.encode(ed25519.getPublicKey(seed));
  await new JsonRpc(url).call(z.string(), "requestAirdrop", [payer, COINS]);
  return { ...service, ...{ url, mint, feePayerKeyFile }, ...altchainRemote(mint) };
}
