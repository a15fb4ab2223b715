/** The whole history, and as a file for a spreadsheet. */
import { activityCsv, withBlockTimes } from "../../../shared/client/index.ts";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { useAccount } from "../parts/use.ts";
import { saveFile } from "../save-file.ts";
import { ActivityList } from "./activity-list.tsx";

export function Activity() {
  const { wallet, network } = useAccount();
  const task = useTask<string>();
  const save = (): void =>
    task.run(async ({ signal }) => {
      const items = wallet.activity();
      const asked = { rpc: network.chainRpc, signal };
      // A list without the times of what came in is better than none.
      const timed = await withBlockTimes(items, asked).catch(() => items);
      const assets = Object.fromEntries(network.tokens.map((token) => [token.address.toLowerCase(), token]));
      const name = `cloister-${network.id}-${new Date().toISOString().slice(0, 10)}.csv`;
      saveFile(name, "text/csv", activityCsv(timed, { assets }));
      return name;
    });
  return (
    <Screen title="Activity">
      <div class="choices">
        <button type="button" class="outline" onClick={save}>
          Save as a spreadsheet (CSV)
        </button>
        <a href="/disclose" role="button" class="outline secondary">
          Disclose a payment
        </a>
      </div>
      <TaskStatus task={task} done={(name) => <p class="done">Saved: {name}</p>} />
      <ActivityList canDisclose />
      <Known
        rows={[
          [
            "This browser",
            "Names, memos and recipients are kept here, sealed. After a restore from the phrase only amounts come back.",
          ],
          ["The file", "Has all of it in clear text: keep it as you keep a bank statement."],
          [
            "The chain’s node",
            "When you save: in which blocks something came to you, so that the file has its time.",
          ],
          ["The service", "Cannot make such a list."],
        ]}
      />
    </Screen>
  );
}
