/** Bridge addresses, and those of them that somebody should look at. */
import type { OperatorBridges } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { Instructions } from "../../parts/instructions.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Notice, Pill, Short, Time } from "../../parts/words.tsx";
import { useAnswer } from "../../service/use-answer.ts";

const EVERY_MS = 30_000;

export default function Bridges() {
  const bridges = useAnswer("operatorBridges", {}, EVERY_MS);
  return (
    <Screen
      title="Bridges"
      known="A bridge address is public on both chains, with every amount that passes it. Which shielded balance it leads to is in a note that only its owner reads."
    >
      <Answered of={bridges}>
        {(data) =>
          data.bridges.length === 0 ? (
            <article>
              <Empty>No bridge address is open.</Empty>
            </article>
          ) : (
            [...data.bridges]
              .sort((a, b) => Number(b.attention !== null) - Number(a.attention !== null))
              .map((bridge) => <Bridge key={bridge.id} of={bridge} />)
          )
        }
      </Answered>
    </Screen>
  );
}

function Bridge({ of: bridge }: { readonly of: OperatorBridges["bridges"][number] }) {
  return (
    <article>
      <div class="head">
        <h2>
          {bridge.direction} by {bridge.venue}
        </h2>
        {bridge.is_refused ? <Pill tone="bad">refused</Pill> : <Pill tone="good">open</Pill>}
      </div>
      {bridge.attention !== null && <Notice tone="warn">{bridge.attention}</Notice>}
      <dl>
        <dt>Address</dt>
        <dd>
          <code>{bridge.address}</code>
        </dd>
        <dt>Developer</dt>
        <dd>{bridge.developer_id}</dd>
        <dt>Bridge</dt>
        <dd>
          <Short text={bridge.id} />, made <Time at={bridge.created_at} />
        </dd>
      </dl>
      <Instructions of={bridge.instructions} />
    </article>
  );
}
