// `npm run operator -- fees …`: developers' fee rules, and the fee notes that were received. Amounts are in
// smallest units, as a rule holds them: what is typed is what is charged.
import { getAddress } from "ethers";
import { removeRule, setRule } from "../../proxy/base/fees/developer-rules.ts";
import { OPERATIONS } from "../../proxy/base/fees/service-fees.ts";
import type { ChainDataStore } from "../../proxy/base/store/chain-data.ts";
import type { InstanceStores } from "../../proxy/base/store/instance.ts";
import type { FeeNote } from "../../proxy/base/store/fee-notes.ts";
import type { DeveloperRule, FeeInstance } from "../../proxy/base/store/fee-rules.ts";
import { decodeShieldedAddress } from "../../shared/notes/address.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import type { FeeOperation } from "../../shared/protocol/host/fees.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { type Kept, type Result, type Verbs } from "./command-line.ts";

export const FEES_HELP = `  fees set DEVELOPER ASSET OPERATION [--flat N] [--bps N] [--sink ADDRESS]
                                                          flat + amount × bps / 10,000, to the sink; a sink is
                                                          chosen for an asset and moves its other rules too
  fees list [DEVELOPER]                                   rules in force
  fees remove DEVELOPER ASSET OPERATION                   owed no more; felt at once
  fees received [DEVELOPER]                               JSON lines: openings of the fee notes that a developer
                                                          received (without a name: the service), to be adopted
                                                          by the sink's wallet where a ciphertext was garbage

fees: ASSET is a listed symbol or address; OPERATION is deposit, transfer, withdraw or swap; --flat in smallest units
`;

/** Notes read at once. */
const PAGE = 1_000;

export const FEES: Verbs = {
  set: { words: ["DEVELOPER", "ASSET", "OPERATION"], run: set },
  list: { words: ["[DEVELOPER]"], run: list },
  remove: { words: ["DEVELOPER", "ASSET", "OPERATION"], run: remove },
  received: { words: ["[DEVELOPER]"], run: received },
};

async function set(kept: Kept, developer: string, assetName: string, operationName: string): Promise<Result> {
  await requireDeveloper(kept, developer);
  const { flat, bps, sink } = kept.values;
  const store = kept.stores.feeRules;
  const instance = await instanceOf(kept);
  const asset = readAsset(instance, assetName);
  const operation = readOperation(operationName);
  if (flat === undefined && bps === undefined) throw new UsageError("--flat or --bps is missing");
  const address = sink === undefined ? undefined : decodeShieldedAddress(sink, instance.addressPrefix);
  if (sink !== undefined && address === undefined)
    throw new UsageError(`--sink is no shielded address of this network (${instance.addressPrefix}1…)`);
  const wanted = {
    ...{ asset, operation, flat: readFlat(flat), bps: wholeNumber("--bps", bps ?? "0", 0, 10_000) },
    sink: address === undefined || sink === undefined ? undefined : { ...address, text: sink },
  };
  const rules = await setRule(store, developer, wanted, Date.now(), kept.by).catch((error: unknown) => {
    throw error instanceof Error ? new UsageError(error.message) : error;
  });
  return shown(
    instance,
    rules.filter((rule) => rule.asset === asset).map((rule) => ({ developer, rule })),
  );
}

async function remove(
  kept: Kept,
  developer: string,
  assetName: string,
  operationName: string,
): Promise<Result> {
  await requireDeveloper(kept, developer);
  const asset = readAsset(await instanceOf(kept), assetName);
  const operation = readOperation(operationName);
  if (!(await removeRule(kept.stores.feeRules, developer, asset, operation, kept.by)))
    throw new UsageError(`${developer} has no rule for this asset and operation`);
  const data = { developer, asset: getAddress(asset), operation, removed: true };
  return { data, text: `removed the ${operation} fee of ${developer}` };
}

async function list(kept: Kept, only?: string): Promise<Result> {
  if (only !== undefined) await requireDeveloper(kept, only);
  const store = kept.stores.feeRules;
  const rows = [];
  for (const developer of only === undefined ? await store.developersWithRules() : [only])
    for (const rule of await store.rules(developer)) rows.push({ developer, rule });
  return shown(await instanceOf(kept), rows);
}

async function received(kept: Kept, developer?: string): Promise<undefined> {
  if (developer !== undefined) await requireDeveloper(kept, developer);
  const { stores, data } = kept;
  if (data === undefined)
    throw new UsageError("places of leaves are in a proxy's data folder: --data FOLDER is missing");
  const notes = stores.feeNotes;
  for (let skip = 0; ; skip += PAGE) {
    const page = await notes.notesOf(developer, skip, PAGE);
    // Printed as they come: they may be too many for one answer.
    for (const note of page) process.stdout.write(`${JSON.stringify(await openingOf(stores, data, note))}\n`);
    if (page.length < PAGE) return undefined;
  }
}

/** `leaf_index` is null until its statement is executed, `ticket` where somebody sent the statement without one. */
async function openingOf(
  stores: InstanceStores,
  data: ChainDataStore,
  note: FeeNote,
): Promise<Record<string, unknown>> {
  const ticket = await stores.tickets.byStatement(note.statement);
  const execution = data.execution(note.statement);
  return {
    ticket: ticket?.id ?? null,
    statement: note.statement,
    leaf_index: execution?.leafIndexes[note.output] ?? null,
    asset: getAddress(note.asset),
    value: String(note.value),
    blinding: toHex(word(note.blinding)),
    npk: toHex(word(note.npk)),
  };
}

function shown(
  instance: FeeInstance,
  rows: readonly { readonly developer: string; readonly rule: DeveloperRule }[],
): Result {
  const data = rows.map(({ developer, rule: { asset, operation, terms } }) => ({
    ...{ developer, asset: getAddress(asset), operation },
    ...{ flat: String(terms.flat), bps: terms.bps, sink: terms.sink },
  }));
  const symbolOf = (asset: Address): string =>
    instance.assets.find(({ address }) => address === asset)?.symbol ?? getAddress(asset);
  const text = rows.map(({ developer, rule: { asset, operation, terms } }) =>
    [developer, symbolOf(asset), operation, `flat=${terms.flat}`, `bps=${terms.bps}`, terms.sink].join("\t"),
  );
  return { data: { rules: data }, text: text.join("\n") };
}

async function instanceOf(kept: Kept): Promise<FeeInstance> {
  const instance = await kept.stores.feeRules.instance();
  if (instance === undefined)
    throw new UsageError("the store does not say which assets are listed; start the proxy once");
  return instance;
}

async function requireDeveloper(kept: Kept, id: string): Promise<void> {
  if ((await kept.stores.keys.developer(id)) === undefined)
    throw new UsageError(`there is no developer ${id}`);
}

function readAsset({ assets }: FeeInstance, name: string): Address {
  const address = asAddress(name);
  const found = assets.filter((asset) =>
    address === undefined ? asset.symbol === name : asset.address === address,
  );
  const [asset] = found;
  if (asset !== undefined && found.length === 1) return asset.address;
  const listed = assets.map(({ symbol }) => symbol).join(", ");
  throw new UsageError(
    found.length > 1
      ? `several assets are called ${name}: give the address`
      : `the instance lists ${listed} only`,
  );
}

function readOperation(name: string): FeeOperation {
  const found = OPERATIONS.find((operation) => operation === name);
  if (found === undefined) throw new UsageError(`OPERATION is one of ${OPERATIONS.join(", ")}`);
  return found;
}

function readFlat(text = "0"): bigint {
  if (!/^(0|[1-9][0-9]{0,38})$/.test(text)) throw new UsageError("--flat takes an integer in smallest units");
  return BigInt(text);
}
