/** Accepts tickets and prints each id once its promise has resolved, until somebody kills it. */
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../proxy/base/store/instance.ts";
import { mustField } from "../../shared/protocol/brands.ts";

const store = embeddedStores(openDatabase(process.argv[2]!)).tickets;
for (let n = 1; ; n++) {
  const accepted = await store.accept(
    {
      id: `id-${String(n).padStart(6, "0")}`,
      owner: { developerId: "d", sub: undefined },
      statement: `0x${n.toString(16).padStart(64, "0")}` as never,
      nullifiers: [mustField(BigInt(n))],
      transaction: {
        kind: "spend",
        deadline: 1n,
        signals: [],
        ext: new Uint8Array(500),
        proof: new Uint8Array(256),
        authorization: new Uint8Array(0),
        attestations: [],
      },
      createdAt: n,
    },
    1_000_000,
  );
  if (accepted.kind === "accepted") process.stdout.write(`${accepted.ticket.id}\n`);
}
