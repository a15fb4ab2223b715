/** What an instance has under way: the queue of its sequencer with the gas wallet, and open bridge requests. */
import type { OperatorBridges, OperatorHealth, QueueView } from "./contract/operator.ts";
import { checksumAddress } from "../../shared/api/checksum.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { InstanceStores } from "../base/store/instance.ts";
import type { TicketError, TicketRecord } from "../base/store/tickets.ts";

export interface WorkParts {
  readonly stores: Pick<InstanceStores, "tickets" | "bridges">;
  readonly gasWallet: Address | undefined;
  readonly balanceOf: (account: Address) => Promise<bigint>;
  readonly health: () => Promise<OperatorHealth>;
  readonly now: () => number;
}

const MOST_SHOWN = 200;
const LONG_MS = 24 * 3_600_000;

export function createWork({ stores, gasWallet, balanceOf, health, now }: WorkParts) {
  return {
    async queue(): Promise<QueueView> {
      const open: TicketRecord[] = [];
      let waiting = 0;
      for await (const page of stores.tickets.open())
        for (const one of page) {
          if (one.status.state === "queued" || one.status.state === "submitted") waiting++;
          if (open.length < MOST_SHOWN) open.push(one);
        }
      const [balance, found] = await Promise.all([
        gasWallet === undefined ? undefined : balanceOf(gasWallet).catch(() => undefined),
        health(),
      ]);
      const blocked = found.parts
        .flatMap(({ checks }) => checks)
        .find(({ name, detail }) => name === "sequencer" && detail?.startsWith("blocked by ") === true);
      return {
        waiting,
        open: open.map(({ id, owner, transaction, status, createdAt }) => ({
          ...{ ticket_id: id, developer_id: owner.developerId, kind: transaction.kind, state: status.state },
          created_at: new Date(createdAt).toISOString(),
          error_code: errorCodeOf(status),
          tx_hash: "txHash" in status ? status.txHash : "outcome" in status ? status.outcome.txHash : null,
        })),
        gas_wallet: {
          address: gasWallet === undefined ? null : checksumAddress(gasWallet),
          balance: balance === undefined ? null : String(balance),
        },
        blocked_by: blocked?.detail?.slice("blocked by ".length) ?? null,
      };
    },

    async bridges(): Promise<OperatorBridges> {
      const found: BridgeRecord[] = [];
      for await (const page of stores.bridges.open()) found.push(...page);
      const shown = found.map((one) => ({
        ...{ id: one.id, venue: one.way.venue, direction: one.way.direction },
        ...{ developer_id: one.owner.developerId, address: checksumAddress(one.address) },
        created_at: new Date(one.createdAt).toISOString(),
        is_refused: one.screening?.isRefused === true,
        attention: attentionOf(one, now()),
        instructions: instructionsFor(one),
      }));
      return {
        bridges: shown
          .sort((one, other) => Number(other.attention !== null) - Number(one.attention !== null))
          .slice(0, MOST_SHOWN),
      };
    },
  };
}

function errorCodeOf(status: TicketRecord["status"]): string | null {
  const error: TicketError | undefined = "error" in status ? status.error : undefined;
  return error?.code ?? null;
}

function attentionOf({ screening, createdAt, watchUntil }: BridgeRecord, at: number): string | null {
  if (screening?.isRefused === true)
    return "It is not swept any more: the refund is left, which needs nobody";
  if (at > watchUntil) return "Its watch is over and it is still open";
  return at - createdAt > LONG_MS ? "It has been open for longer than a day" : null;
}

function instructionsFor({
  id,
  screening,
}: BridgeRecord): OperatorBridges["bridges"][number]["instructions"] {
  const command = (title: string, effect: string, words: string) => ({
    ...{ title, effect, command: `npm run operator -- bridges ${words}`, transaction: null },
  });
  return [
    command("Look at it", "Shows all that the store has of it; changes nothing.", `inspect ${id}`),
    command("Try its next step now", "With a new attestation where one has expired.", `resend ${id}`),
    screening?.isRefused === true
      ? command("Sweep it again", "Its money goes on to its note.", `screen ${id} allow`)
      : command(
          "Refuse to sweep it",
          "The refund is left to its owner, and needs nobody.",
          `screen ${id} refuse`,
        ),
  ];
}
