/** Terms of addresses from what a client has pinned. */
import { ZERO_BYTES32, type Address, type Bytes32 } from "../../protocol/brands.ts";
import { asAddress, asBytes32 } from "../../protocol/host/text.ts";
import { encodeForward } from "../../protocol/host/cctp-forward.ts";
import { paddedAddress, type Exit, type Factory, type Lane } from "../../protocol/host/forwarders.ts";
import { ClientError } from "../base/errors.ts";
import { requireAddress, type Pins } from "../base/pins.ts";
import type { AmountPins, BridgePins } from "../base/pinned-bridges.ts";

/** Throws FEATURE_OFF: without pins no address can be checked. */
export function bridgePinsOf({ bridges }: Pins): BridgePins {
  if (bridges === undefined) throw new ClientError("FEATURE_OFF", "bridges: this wallet has no pins.bridges");
  return bridges;
}

export function factoryOf({ factory, vaultCodeHash }: BridgePins): Factory {
  const address = requireAddress(factory, "pins.bridges.factory");
  return { address, vaultCodeHash: vaultCodeHash as Bytes32 };
}

/** Throws PIN_MISMATCH for a token that no bridge is pinned for. */
export function amountPinsOf({ assets }: BridgePins, asset: Address): AmountPins {
  const found = Object.entries(assets).find(([name]) => asAddress(name) === asset);
  if (found === undefined)
    throw new ClientError("PIN_MISMATCH", "pins.bridges.assets does not have that token");
  return found[1];
}

export function lanesOf({ lanes }: BridgePins): Lane[] {
  return lanes.map((lane) => ({
    ...lane,
    chainId: BigInt(lane.chainId),
    token: requireAddress(lane.token, "pins.bridges.lanes"),
    messenger: requireAddress(lane.messenger, "pins.bridges.lanes"),
  }));
}

/** The exchange's chain: its forwarder there is paid and credits the account that the hook names, and delivers alone. */
export function venueExit({ exits: { perpvenue } }: BridgePins, account: Address): Exit & AmountPins {
  if (perpvenue === undefined)
    throw new ClientError("FEATURE_OFF", "bridges: pins.bridges.exits has no perpvenue");
  const { domain, minimum, feeCeiling } = perpvenue;
  const caller = callerOf(perpvenue.caller);
  const messenger = requireAddress(perpvenue.messenger, "pins.bridges.exits.perpvenue");
  return {
    ...{ domain, messenger, minimum, feeCeiling },
    ...{ recipient: caller, caller, hook: encodeForward({ recipient: account, destination: "perps" }) },
  };
}

/** Delivered by anybody, to the recipient. */
export function chainExit({ exits }: BridgePins, chainId: number, recipient: Address): Exit & AmountPins {
  const found = exits.chains.find((exit) => exit.chainId === chainId);
  if (found === undefined)
    throw new ClientError("FEATURE_OFF", `bridges: pins.bridges.exits.chains has no chain ${chainId}`);
  const { domain, minimum, feeCeiling } = found;
  const messenger = requireAddress(found.messenger, "pins.bridges.exits.chains");
  return {
    ...{ domain, messenger, minimum, feeCeiling },
    ...{ recipient: paddedAddress(recipient), caller: ZERO_BYTES32, hook: new Uint8Array(0) },
  };
}

function callerOf(text: string): Bytes32 {
  const address = asAddress(text);
  const caller = address === undefined ? asBytes32(text) : paddedAddress(address);
  if (caller === undefined)
    throw new ClientError(
      "OPTIONS_INVALID",
      "pins.bridges.exits.perpvenue.caller: an address, or 32 bytes in hex",
    );
  return caller;
}
