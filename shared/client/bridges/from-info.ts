/**
 * Pins from what a service says of itself: to be written down once, compared with what the service's operator has published,
 * and shipped with the application. A wallet that takes them from the service each time has pinned nothing.
 */
import type { BridgesInfo } from "../../api/bridges.ts";
import type { BridgePins } from "../base/pinned-bridges.ts";

export function bridgePinsFrom(info: BridgesInfo): BridgePins {
  const { factory, vault_code_hash: vaultCodeHash, collector, perpvenue, chains, altchain } = info;
  return {
    ...{ factory, vaultCodeHash, collector },
    assets: Object.fromEntries(info.assets.map(({ asset, ...bounds }) => [asset, boundsOf(bounds)])),
    lanes: chains.map((lane) => {
      const { chain_id: chainId, token, messenger, domain } = lane;
      return { chainId, token, messenger, domain, ...boundsOf(lane) };
    }),
    exits: {
      ...(perpvenue === null ? {} : { perpvenue: { ...exitOf(perpvenue), caller: perpvenue.caller } }),
      chains: chains.flatMap(({ chain_id: chainId, exit }) =>
        exit === null ? [] : [{ chainId, ...exitOf(exit) }],
      ),
    },
    ...(altchain === null
      ? {}
      : { altchain: { mint: altchain.mint, decimals: altchain.decimals, domain: altchain.domain } }),
  };
}

function exitOf(exit: NonNullable<BridgesInfo["chains"][number]["exit"]>) {
  const { messenger, domain } = exit;
  return { messenger, domain, ...boundsOf(exit) };
}

function boundsOf({ minimum, fee_ceiling }: { readonly minimum: string; readonly fee_ceiling: string }) {
  return { minimum: BigInt(minimum), feeCeiling: BigInt(fee_ceiling) };
}
