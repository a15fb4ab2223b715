/** What the examples of bridges show: money of real chains and venues, each endpoint asked as the client library asks it. */
import { parseUnits, Wallet as Account } from "ethers";
import type { Client, Wallet } from "../../shared/client/index.ts";
import type { BridgeStatus } from "../../shared/api/bridge-status.ts";
import type { NetworkEntry } from "../base/stack-file.ts";
import { depositAtExchange, exchangeBalance, giveOnAltchain, sendOnChain } from "../stack/bridges/people.ts";
import { chainOf } from "../stand-ins/local-chain.ts";
import { PATIENCE_MS, poll } from "../base/poll.ts";
import { TestUsdc } from "../stand-ins/usdc.ts";
import type { Asked, Recorder } from "./recorder.ts";

export interface BridgeStage {
  readonly entry: NetworkEntry;
  readonly client: Client;
  readonly recorder: Recorder;
  /** A new one, which asks through this client. */
  readonly wallet: (client: Client) => Promise<Wallet>;
}

const usd = (text: string): bigint => parseUnits(text, TestUsdc.decimals);
const PLACE = { network: "first", credential: "session" } as const;
/** Nobody's: where the examples' money comes back to. */
const REFUND = "0x00000000000000000000000000000000000000ce";

/** Known to the exchange of every stack that this was called for; its key protects nothing. */
export async function openExampleAccount(entry: NetworkEntry): Promise<string> {
  const account = new Account(`0x${"e7".repeat(32)}`);
  const bridges = bridgesOf(entry);
  await depositAtExchange(entry, bridges, account, usd("101"));
  // Until then the exchange knows no such account.
  const look = async () => (await exchangeBalance(bridges, account.address)) > 0n || undefined;
  if ((await poll(look)) === undefined) throw new Error("the exchange has not credited the deposit");
  return account.address;
}

export async function playBridges(stage: BridgeStage): Promise<void> {
  const { entry } = stage;
  const bridges = bridgesOf(entry);
  const [chain] = bridges.chains;
  if (chain === undefined) throw new Error("the stack has no other chain");
  const wallet = await stage.wallet(recording(stage));
  const options = { refundAddress: REFUND };

  const fromChain = await wallet.bridges.fromChain(options);
  await sendOnChain(chain, fromChain.source?.address ?? "", usd("30"));
  const account = await openExampleAccount(entry);
  await wallet.bridges.toExchange(account);
  await wallet.bridges.toChain(chain.chain_id, account);
  await arrived(stage, wallet, fromChain.bridgeId);
  await showStatus(
    stage,
    fromChain.bridgeId,
    "completed",
    "Of money that came from another EVM chain and is a note",
  );

  const fromAltchain = await wallet.bridges.fromOtherBlockchain(options);
  await giveOnAltchain(bridges, fromAltchain.address, usd("25"));
  await arrived(stage, wallet, fromAltchain.bridgeId);

  // Asked for with a client that keeps nothing: its answer is as the first one's.
  const spare = await (await stage.wallet(stage.client)).bridges.fromExchange(options);
  const home = chainOf(entry);
  try {
    await (await TestUsdc.at(entry.usdc, home)).mint(spare.address, usd("1.5"));
  } finally {
    home.destroy();
  }
  await untilState(stage, spare.bridgeId, "below_minimum");
  await showStatus(
    stage,
    spare.bridgeId,
    "waiting",
    "Of money that waits, with the reason and what its owner can do alone",
  );
}

function bridgesOf({ bridges }: NetworkEntry): NonNullable<NetworkEntry["bridges"]> {
  if (bridges === undefined) throw new Error("this network has no bridges");
  return bridges;
}

async function arrived(stage: BridgeStage, wallet: Wallet, bridgeId: string): Promise<void> {
  await wallet.bridges.wait(bridgeId, { timeoutMs: PATIENCE_MS });
  await untilState(stage, bridgeId, "completed");
}

async function untilState({ client }: BridgeStage, id: string, state: BridgeStatus["state"]): Promise<void> {
  const look = async () => (await client.bridgeStatus({ id })).state === state || undefined;
  if ((await poll(look)) === undefined) throw new Error(`${id} has not become ${state}`);
}

async function showStatus(
  { recorder }: BridgeStage,
  id: string,
  name: string,
  summary: string,
): Promise<void> {
  // What the client library asked for by API key is no session's.
  const asked = { ...PLACE, credential: "api-key", endpoint: "bridgeStatus" } as const;
  await recorder.ask({ ...asked, name, summary, query: { id } }, 200);
}

/** A client whose requests for addresses, and whose signed burn, are recorded; an address that is new is asked for again. */
function recording({ client, recorder }: BridgeStage): Client {
  async function made<T>(asked: Asked, again?: string): Promise<T> {
    const first = await recorder.ask<T>(asked, 201);
    if (again !== undefined)
      await recorder.ask({ ...asked, name: "again", summary: again }, 200, ({ body: _body, ...example }) => ({
        ...example,
        bodyOf: asked.name,
      }));
    return first;
  }
  return {
    ...client,
    bridgeIn: (body) =>
      made(
        {
          ...{ ...PLACE, endpoint: "bridgeFromVenue", name: "new", body },
          summary: "From the exchange or another EVM chain into a note",
        },
        "The same terms once more: the same request",
      ),
    bridgeOut: (body) =>
      "account" in body
        ? made(
            {
              ...{ ...PLACE, endpoint: "bridgeToVenue", name: "exchange", body },
              summary: "To an account of the exchange",
            },
            "The same terms once more",
          )
        : made({
            ...{ ...PLACE, endpoint: "bridgeToVenue", name: "chain", body },
            summary: "To another EVM chain",
          }),
    bridgeDeposit: (body: Parameters<Client["bridgeDeposit"]>[0]) => {
      const asked = { ...PLACE, endpoint: "bridgeFromChain", body } as const;
      if (!("bridge_id" in body))
        return made({ ...asked, name: "new", summary: "From the other blockchain into a note" });
      const summary = "The burn that the status showed, with the deposit key's signature";
      return recorder.ask({ ...asked, name: "signed", summary }, 200);
    },
  };
}
