// The demo's developer: registered as an operator does it, beside the running proxy, with an API key for this run
// and fee rules of its own, paid to a wallet of its own. DEVELOPMENT ONLY.
import { parseUnits } from "ethers";
import { createApiKey } from "../../proxy/base/auth/api-keys.ts";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import { loadPepper } from "../../proxy/base/auth/secret-files.ts";
import { setRule } from "../../proxy/base/fees/developer-rules.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import type { FeeOperation } from "../../shared/protocol/host/fees.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { pepperFile } from "../stack/development-credential.ts";
import type { NetworkEntry, NetworkName } from "../base/stack-file.ts";
import { inStore } from "../stack/local-store.ts";
import type { StackFolder } from "../stack/stack-folder.ts";

const ID = "demo";
/** A demo asks oftener than the default allows, so this developer asked the operator for more. */
const LIMITS = { keyPerMinute: 6_000, keyPerDay: 1_000_000 };
const SINK_SECRET = "demo-developer.seed";

/** Flat parts in tokens worth a dollar each and in ether. */
const RULES: Readonly<
  Record<FeeOperation, { readonly dollars: string; readonly ether: string; readonly bps: number }>
> = {
  deposit: { dollars: "0", ether: "0", bps: 25 },
  transfer: { dollars: "0.02", ether: "0.000008", bps: 0 },
  withdraw: { dollars: "0.01", ether: "0.000004", bps: 10 },
  swap: { dollars: "0", ether: "0", bps: 10 },
};

export interface DemoDeveloper {
  readonly apiKey: string;
  /** Of the wallet that receives its fees. */
  readonly seed: Uint8Array;
  readonly sink: string;
  /** Ends the key. The rules stay: they are this developer's alone. */
  leave(): Promise<unknown>;
}

export async function joinAsDeveloper(
  folder: StackFolder,
  name: NetworkName,
  { tokens, address_prefix: prefix }: NetworkEntry,
): Promise<DemoDeveloper> {
  const network = folder.network(name);
  const seed = mustFromHex(await network.secrets.text(SINK_SECRET));
  const { viewing } = SpendingKey.fromSeed(seed);
  const sink = { ...viewing.address, text: viewing.addressText(prefix) };
  const store = network.inside("store");
  const pepper = await loadPepper(await pepperFile(folder.secrets));
  return inStore(store, async ({ keys, feeRules }) => {
    if ((await keys.developer(ID)) === undefined)
      await addDeveloper(keys, { id: ID, name: "Demo", limits: LIMITS });
    for (const { address, symbol, decimals } of tokens) {
      const asset = asAddress(address);
      if (asset === undefined) throw new TypeError("the stack lists what is no address");
      for (const operation of ["deposit", "transfer", "withdraw", "swap"] as const) {
        const { dollars, ether, bps } = RULES[operation];
        const flat = parseUnits(symbol === "WETH" ? ether : dollars, decimals);
        await setRule(feeRules, ID, { asset, operation, flat, bps, sink });
      }
    }
    const { key, record } = await createApiKey(keys, pepper, ID, "demo");
    return {
      apiKey: key,
      seed,
      sink: sink.text,
      leave: () => inStore(store, (again) => again.keys.revokeKey(record.id, new Date().toISOString())),
    };
  });
}
