/** What the watcher of the pool accuses somebody of. */
import type { Alarms as AlarmsData } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Notice, number, seconds, Time } from "../../parts/words.tsx";
import { useAnswer } from "../../service/use-answer.ts";

const EVERY_MS = 10_000;

export default function Alarms() {
  const alarms = useAnswer("alarms", {}, EVERY_MS);
  return (
    <Screen
      title="Alarms"
      known="The watcher reads the public chain alone. An alarm names contracts, signers and transactions, and no user."
    >
      <Answered of={alarms}>
        {(data) => (
          <>
            <Watcher of={data} />
            {data.alarms.length === 0 ? (
              <article>
                <Empty>No alarm stands.</Empty>
              </article>
            ) : (
              data.alarms.map((alarm) => (
                <Alarm key={`${alarm.code} ${String(alarm.block)} ${alarm.detail}`} of={alarm} />
              ))
            )}
          </>
        )}
      </Answered>
    </Screen>
  );
}

function Watcher({ of: data }: { readonly of: AlarmsData }) {
  const seen = (
    <>
      Last heard <Time at={data.last_seen_at} />
      {data.block !== null && `, at block ${number(data.block)}`}.
    </>
  );
  switch (data.watcher) {
    case "watching":
      return <Notice tone="good">The watcher is at work. {seen}</Notice>;
    case "silent":
      return (
        <Notice tone="bad">
          <strong>The watcher is silent:</strong> it has written nothing for more than{" "}
          {seconds(data.silent_after_secs)}, so no alarm here says nothing. {seen}
        </Notice>
      );
    case "not-configured":
      return (
        <Notice tone="warn">
          No watcher is named to this dashboard, so no alarm here says nothing. Run <code>npm run watch</code>{" "}
          on a machine of its own and name its file in the settings.
        </Notice>
      );
    case "unreadable":
      return <Notice tone="bad">The watcher's file cannot be read, so no alarm here says nothing.</Notice>;
  }
}

function Alarm({ of: alarm }: { readonly of: AlarmsData["alarms"][number] }) {
  return (
    <article>
      <h2>{alarm.code}</h2>
      <Notice tone="bad">{alarm.meaning}</Notice>
      <p>{alarm.detail}</p>
      <dl>
        <dt>Block</dt>
        <dd>{number(alarm.block)}</dd>
        <dt>Transaction</dt>
        <dd>{alarm.tx_hash === null ? "none" : <code>{alarm.tx_hash}</code>}</dd>
        <dt>Signers</dt>
        <dd>
          {alarm.signers.length === 0
            ? "none"
            : alarm.signers.map((signer) => <code key={signer}>{signer} </code>)}
        </dd>
      </dl>
      <p class="muted">
        What to do is in the operator's guide, under this alarm's name. It stands until the watcher takes it
        back.
      </p>
    </article>
  );
}
