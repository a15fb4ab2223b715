/** Ends a developer's sessions again and again, and prints a line for each time that is durable, until somebody kills it. */
import { revokeSessions } from "../../proxy/base/auth/registration.ts";
import { embeddedStores, sharedStores } from "../../proxy/base/store/instance.ts";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";

const [place = "", pool = ""] = process.argv.slice(2);
const { keys } = place.startsWith("redis:")
  ? await sharedStores({ url: place, instance: { chainId: 1, pool } })
  : embeddedStores(openDatabase(place));
for (;;) {
  await Promise.all(
    Array.from({ length: 4 }, () => revokeSessions(keys, "shop", { kind: "operator", name: "olga" })),
  );
  process.stdout.write("four\n");
}
