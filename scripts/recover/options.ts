// What `npm run recover` is given on its command line and in its environment, as the library takes it.
import { readFile } from "node:fs/promises";
import { type JsonRpcProvider, Wallet as Account } from "ethers";
import { z } from "zod";
import { bridgesInfo } from "../../shared/api/bridges.ts";
import { bridgePinsFrom } from "../../shared/client/bridges/from-info.ts";
import type { RecoveryChain, RecoveryOptions } from "../../shared/client/chain.ts";
import { SpendingKey, type TransactionSender } from "../../shared/client/index.ts";
import { fileStorage } from "../../shared/client/node/index.ts";
import { StateStore } from "../../shared/client/state/state-store.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress, fromHex } from "../../shared/protocol/host/text.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { SendingProvider } from "../base/receipt-by-time.ts";

export interface Typed {
  readonly rpc: string[];
  readonly pool: string | undefined;
  readonly bridges: string | undefined;
  readonly "refund-address": string[];
  readonly account: string[];
  readonly recipient: string[];
  readonly messenger: string[];
  readonly token: string[];
  readonly "search-tokens": boolean;
  readonly "from-block": string[];
  readonly attestations: string | undefined;
  readonly "altchain-rpc": string | undefined;
  readonly "altchain-key-file": string | undefined;
  readonly "sender-key-file": string | undefined;
  readonly wallet: string | undefined;
  readonly gap: string;
  readonly "dry-run": boolean;
}

/** `close` ends what asks the chains. */
export async function readOptions(
  typed: Typed,
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly options: RecoveryOptions; readonly close: () => void }> {
  const keys = await keyOf(environment);
  const pool = address(typed.pool, "--pool");
  if (typed.bridges === undefined) throw new UsageError("--bridges is needed");
  const bridges = bridgePinsFrom(await readInfo(typed.bridges));
  const providers: JsonRpcProvider[] = [];
  const senderKey = await readKey(typed["sender-key-file"], "--sender-key-file");
  if (senderKey === undefined && !typed["dry-run"])
    throw new UsageError("--sender-key-file is needed, or --dry-run");
  const [messengers, blocks] = [
    pairs(typed.messenger, "--messenger"),
    pairs(typed["from-block"], "--from-block"),
  ];
  const chains: RecoveryChain[] = [...pairs(typed.rpc, "--rpc")].map(([chainId, rpc]) => {
    const provider = new SendingProvider(rpc, chainId, { staticNetwork: true });
    providers.push(provider);
    const messenger = messengers.get(chainId);
    const sender: TransactionSender | undefined =
      senderKey === undefined ? undefined : new Account(senderKey, provider);
    return {
      ...{ chainId, rpc, fromBlock: wholeNumber("--from-block", blocks.get(chainId) ?? "0") },
      ...(sender === undefined ? {} : { sender }),
      ...(messenger === undefined ? {} : { messenger }),
    };
  });
  const [home, ...others] = chains;
  if (home === undefined) throw new UsageError("--rpc is needed, first that of the pool's chain");
  const sealing = { home: { chainId: BigInt(home.chainId), pool }, key: keys.storageKey() };
  const stored =
    typed.wallet === undefined ? undefined : await new StateStore(fileStorage(typed.wallet), sealing).load();
  const records = [...(stored?.state.bridges.values() ?? [])];
  const payer = await readKey(typed["altchain-key-file"], "--altchain-key-file");
  return {
    options: {
      ...{ keys, pool, bridges, home, chains: others, records },
      assets: Object.keys(bridges.assets),
      refundAddresses: typed["refund-address"].map((text) => address(text, "--refund-address")),
      accounts: typed.account.map((text) => address(text, "--account")),
      recipients: each(typed.recipient, "--recipient").map(([chainId, text]) => ({
        ...{ chainId, address: address(text, "--recipient") },
      })),
      tokens: each(typed.token, "--token").map(([chainId, text]) => ({ chainId, address: token(text) })),
      searchTokens: typed["search-tokens"],
      ...{ gap: wholeNumber("--gap", typed.gap, 1, 10_000), dryRun: typed["dry-run"] },
      ...(typed.attestations === undefined ? {} : { attestations: typed.attestations }),
      ...(typed["altchain-rpc"] === undefined
        ? {}
        : {
            altchain: {
              rpc: typed["altchain-rpc"],
              ...(payer === undefined ? {} : { payer: fromHex(payer)! }),
            },
          }),
    },
    close: () => {
      for (const provider of providers) provider.destroy();
    },
  };
}

/** Either the answer of GET /info, or its part `bridges`. */
async function readInfo(file: string) {
  const whole = z.object({ bridges: bridgesInfo }).transform(({ bridges }) => bridges);
  const parsed = z.union([bridgesInfo, whole]).safeParse(JSON.parse(await readFile(file, "utf8")));
  if (!parsed.success) throw new UsageError(`--bridges: ${file} does not have the form of GET /info`);
  return parsed.data;
}

/** Nothing of the key is ever said. */
async function readKey(file: string | undefined, option: string): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const text = (await readFile(file, "utf8")).trim();
  if (fromHex(text)?.length !== 32) throw new UsageError(`${option}: the file holds 0x and 64 hex digits`);
  return text;
}

async function keyOf({
  RECOVER_PHRASE: phrase,
  RECOVER_PASSPHRASE: passphrase,
  RECOVER_SEED: text,
}: NodeJS.ProcessEnv): Promise<SpendingKey> {
  if ((phrase === undefined) === (text === undefined))
    throw new UsageError("either RECOVER_PHRASE or RECOVER_SEED is needed, in the environment");
  if (phrase !== undefined) {
    try {
      return await SpendingKey.fromPhrase(phrase, passphrase);
    } catch {
      throw new UsageError("RECOVER_PHRASE is no BIP-39 phrase; is a word mistyped?");
    }
  }
  const seed = fromHex(text);
  if (seed?.length !== 32) throw new UsageError("RECOVER_SEED is 0x and 64 hex digits");
  return SpendingKey.fromSeed(seed);
}

/** `31337=something`; of one chain the last counts. */
function pairs(texts: readonly string[], option: string): Map<number, string> {
  return new Map(each(texts, option));
}

function each(texts: readonly string[], option: string): [chainId: number, value: string][] {
  return texts.map((text) => {
    const [, chain, value] = /^([1-9][0-9]{0,14})=(.+)$/.exec(text) ?? [];
    if (chain === undefined || value === undefined)
      throw new UsageError(`${option} takes a chain's number, = and a value, such as 31337=…`);
    return [Number(chain), value];
  });
}

/** The zero address is the chain's coin. */
function token(text: string): Address {
  const found = asAddress(text);
  if (found === undefined) throw new UsageError("--token takes an address");
  return found;
}

function address(text: string | undefined, option: string): Address {
  const found = asAddress(text);
  if (found === undefined || BigInt(found) === 0n) throw new UsageError(`${option} takes an address`);
  return found;
}
