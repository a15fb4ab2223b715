// `npm run operator -- bridges …`: the requests for bridge addresses that an instance keeps, and what an operator may do
// to one: have the next step tried at once, refuse to sweep it, or end its watch. None of it keeps its money from its owner: who is refused
// has the refund, which needs nobody's consent. What became of a request stands on the chains, so it is not in here.
import { checksumAddress } from "../../shared/api/checksum.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { HOME_CHAIN, type BridgeRecord } from "../../proxy/base/store/bridge-records.ts";
import { addressesOf } from "../../proxy/base/store/bridges.ts";
import { UsageError } from "../base/command.ts";
import { type Kept, type Result, type Verbs } from "./command-line.ts";

export const BRIDGES_HELP = `  bridges list [DEVELOPER]                                open requests for bridge addresses
  bridges inspect REQUEST                                 all that the store has of one, by its id or an address of it;
                                                          what became of it: GET /bridge/status
  bridges resend REQUEST                                  has its next step tried at once, with a new attestation where
                                                          one has expired
  bridges screen REQUEST refuse|allow                     refuse: it is not swept any more, which leaves the refund, and
                                                          that needs nobody; allow: it is swept again
  bridges close REQUEST|DEVELOPER                         watches it, or all of a developer, no longer than money is on
                                                          its way there; asking for its status takes it up again`;

export const BRIDGES: Verbs = {
  list: { words: ["[DEVELOPER]"], run: list },
  inspect: { words: ["REQUEST"], run: inspect },
  resend: {
    words: ["REQUEST"],
    async run({ stores: { bridges }, by }, name): Promise<Result> {
      const { id } = await find({ bridges }, name);
      await bridges.resend(id, Date.now(), by);
      return { data: { id, resend: true }, text: `${id}: its next step is tried at once` };
    },
  },
  screen: {
    words: ["REQUEST", "refuse|allow"],
    async run({ stores: { bridges }, by }, name, word): Promise<Result> {
      if (word !== "refuse" && word !== "allow") throw new UsageError("refuse or allow; see --help");
      const { id } = await find({ bridges }, name);
      await bridges.screen(id, word === "refuse", Date.now(), by);
      return {
        data: { id, screening: word },
        text: word === "refuse" ? `${id}: not swept; its refund needs nobody` : `${id}: swept again`,
      };
    },
  },
  close: { words: ["REQUEST|DEVELOPER"], run: close },
};

async function close({ stores: { bridges }, by }: Kept, name: string): Promise<Result> {
  const ofDeveloper = await bridges.openOf(name, undefined);
  const records = ofDeveloper.length > 0 ? ofDeveloper : [await find({ bridges }, name)];
  for (const { id } of records) await bridges.endWatch(id, Date.now(), by);
  return {
    data: { closed: records.map(({ id }) => id) },
    text: `${records.length} no longer watched once no money is on the way; the relay looks each hour`,
  };
}

async function list({ stores: { bridges } }: Kept, developer?: string): Promise<Result> {
  const found: BridgeRecord[] = [];
  for await (const page of bridges.open())
    found.push(...page.filter(({ owner }) => developer === undefined || owner.developerId === developer));
  const lines = found.map(
    ({ id, way, owner, address, screening, createdAt }) =>
      `${id}  ${way.venue} ${way.direction}  ${owner.developerId}  ${checksumAddress(address)}  ${time(createdAt)}${screening?.isRefused === true ? "  refused" : ""}`,
  );
  return {
    data: { bridges: found.map(shown) },
    text: lines.length === 0 ? "none is open" : lines.join("\n"),
  };
}

async function inspect({ stores: { bridges } }: Kept, name: string): Promise<Result> {
  const data = shown(await find({ bridges }, name));
  return { data, text: JSON.stringify(data, undefined, 2) };
}

/** An address is looked for among the open ones: whose it is, is not known here. */
async function find({ bridges }: Pick<Kept["stores"], "bridges">, name: string): Promise<BridgeRecord> {
  const wanted = asAddress(name) ?? name;
  const record = await bridges.get(name);
  if (record !== undefined) return record;
  for await (const page of bridges.open())
    for (const one of page) if (addressesOf(one).includes(wanted)) return one;
  throw new UsageError(`there is no open bridge request ${name}`);
}

function shown(record: BridgeRecord) {
  const { id, owner, way, address, since, createdAt, watchUntil, closedAt, screening, resendAt } = record;
  return {
    id,
    ...{ venue: way.venue, direction: way.direction, developer: owner.developerId, user: owner.sub ?? null },
    addresses: addressesOf(record),
    asset: checksumAddress(way.home.asset),
    ...{ minimum: String(way.home.minimum), fee_ceiling: String(way.home.feeCeiling) },
    pays:
      way.kind === "to-exchange"
        ? { account: checksumAddress(way.account) }
        : way.kind === "to-chain"
          ? { chain_id: way.to.chainId, recipient: checksumAddress(way.to.recipient) }
          : { note: true },
    refund: way.direction === "in" ? checksumAddress(way.home.refund) : "its note",
    [HOME_CHAIN]: checksumAddress(address),
    since,
    ...{ created_at: time(createdAt), watched_until: time(watchUntil) },
    closed_at: closedAt === undefined ? null : time(closedAt),
    screening: screening === undefined ? null : { refused: screening.isRefused, at: time(screening.at) },
    resend_at: resendAt === undefined ? null : time(resendAt),
  };
}

const time = (ms: number): string => new Date(ms).toISOString();
