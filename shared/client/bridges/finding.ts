/**
 * Addresses of a wallet that was restored from its key. The service is asked about each next number, until it knows none of
 * so many in a row; what it answers is believed only about addresses that this wallet computes itself.
 */
import { asAddress } from "../../protocol/host/text.ts";
import type { Core } from "../paying/core.ts";
import { hasCode } from "../base/errors.ts";
import type { BridgeHints } from "./bridges.ts";
import { GAP_LIMIT } from "./numbers.ts";
import { recordKey, type BridgeRecord } from "../state/bridge-record.ts";
import { numbered, type Unnumbered } from "./refunds.ts";
import type { Requests } from "./requests.ts";

interface Templates {
  inRecord(
    kind: "in" | "altchain",
    venue: "perpvenue" | "altchain",
    options: { readonly refundAddress?: string; readonly asset?: string },
  ): Unnumbered;
  outRecord(to: string, chainId: number | undefined, asset: string | undefined): Unnumbered;
}

export async function findKnown(
  core: Core,
  requests: Requests,
  templates: Templates,
  hints: BridgeHints,
  signal: AbortSignal,
): Promise<BridgeRecord[]> {
  const found: BridgeRecord[] = [];
  for (const candidates of templatesOf(core, templates, hints)) {
    for (let index = 0, unused = 0; unused < GAP_LIMIT; index++, unused++) {
      for (const template of candidates) {
        const record = numbered(core.parts.keys, template, index, core.parts.now());
        const known = await ask(core, requests, record, signal);
        if (known === undefined) continue;
        unused = -1;
        found.push(known);
        await core.parts.ledger.keepBridge(known);
      }
    }
  }
  return found;
}

/** By kind: the numbers of a kind are counted together. From each hint one, and one of the wallet's own refund address. */
function templatesOf(core: Core, templates: Templates, hints: BridgeHints): Unnumbered[][] {
  const { refundAddresses = [], accounts = [], recipients = [] } = hints;
  const bridges = core.parts.pins.bridges!;
  const assets = core.parts.assets.filter((asset) =>
    Object.keys(bridges.assets).some((name) => asAddress(name) === asset),
  );
  const each = (make: (asset: string) => Unnumbered[]): Unnumbered[] => assets.flatMap(make);
  const incoming = (kind: "in" | "altchain", venue: "perpvenue" | "altchain"): Unnumbered[] =>
    each((asset) => [
      templates.inRecord(kind, venue, { asset }),
      ...refundAddresses.map((refundAddress) => templates.inRecord(kind, venue, { refundAddress, asset })),
    ]);
  const outgoing = each((asset) => [
    ...accounts.map((account) => templates.outRecord(account, undefined, asset)),
    ...recipients.map(({ chainId, address }) => templates.outRecord(address, chainId, asset)),
  ]);
  return [
    incoming("in", "perpvenue"),
    bridges.altchain === undefined ? [] : incoming("altchain", "altchain"),
    outgoing,
  ].filter((candidates) => candidates.length > 0);
}

async function ask(
  core: Core,
  requests: Requests,
  record: BridgeRecord,
  signal: AbortSignal,
): Promise<BridgeRecord | undefined> {
  const { client, ledger } = core.parts;
  const known = ledger.state.bridges.get(recordKey(record));
  if (known?.bridgeId !== undefined) return undefined;
  const { address } = requests.placeOf(record);
  try {
    const { bridge_id: bridgeId } = await client.bridgeStatus({ address }, { signal });
    return { ...record, bridgeId };
  } catch (error) {
    if (hasCode(error, "BRIDGE_UNKNOWN")) return undefined;
    throw error;
  }
}
