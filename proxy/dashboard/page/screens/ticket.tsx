/** One payment's life. */
import { useRoute } from "preact-iso";
import type { TicketLife } from "../../contract/activity.ts";
import { Answered } from "../parts/answered.tsx";
import { Screen } from "../parts/screen.tsx";
import { STATE_WORDS, StatePill } from "../parts/ticket-state.tsx";
import { Moment, Notice } from "../parts/words.tsx";
import { useMe } from "../service/me.ts";
import { assetOf, money } from "../service/money.ts";
import { useAnswer } from "../service/use-answer.ts";

const EVERY_MS = 10_000;

export default function Ticket() {
  const { params } = useRoute();
  const answer = useAnswer("ticket", { id: params["id"] ?? "" }, EVERY_MS);
  return (
    <Screen
      title="Ticket"
      known="This is all that the service keeps of the payment. A nullifier says that a note was spent, and to nobody which one."
      actions={<a href="/tickets">All tickets</a>}
    >
      <Answered of={answer}>{(life) => <Life life={life} />}</Answered>
    </Screen>
  );
}

function Life({ life }: { readonly life: TicketLife }) {
  const me = useMe();
  return (
    <>
      <article>
        <div class="head">
          <h2>
            <code>{life.ticket_id}</code>
          </h2>
          <StatePill state={life.state} />
        </div>
        {life.error !== null && (
          <Notice tone={life.error.retryable ? "warn" : "bad"}>
            <strong>{life.error.code}</strong> {life.error.detail}{" "}
            {life.error.retryable ? "It is tried again." : ""}
          </Notice>
        )}
        <ol class="life">
          {life.steps
            .filter(({ is_reached }) => is_reached)
            .map(({ state, at }) => (
              <li key={state}>
                <strong>{STATE_WORDS[state]}</strong>
                <div class="muted">
                  <Moment at={at} none="its time was not kept" />
                </div>
              </li>
            ))}
        </ol>
      </article>
      <article>
        <h2>Facts</h2>
        <dl>
          <dt>Operation</dt>
          <dd>
            {life.operation} ({life.kind})
          </dd>
          <dt>Amount</dt>
          <dd>
            {life.amount === null || life.asset === null
              ? "hidden in the proof"
              : money(life.amount, assetOf(me, life.asset))}
          </dd>
          <dt>User</dt>
          <dd>{life.sub ?? "none: accepted with an API key"}</dd>
          <dt>Created</dt>
          <dd>
            <Moment at={life.created_at} />
          </dd>
          <dt>Deadline</dt>
          <dd>
            <Moment at={life.deadline} />
          </dd>
          <dt>Request</dt>
          <dd>{life.request_id === null ? "not kept" : <code>{life.request_id}</code>}</dd>
        </dl>
      </article>
      <OnChain life={life} />
    </>
  );
}

function OnChain({ life }: { readonly life: TicketLife }) {
  return (
    <article>
      <h2>On the chain</h2>
      <dl>
        <dt>Transaction</dt>
        <dd>
          {life.tx_hash === null ? "none yet" : <code>{life.tx_hash}</code>}
          {life.explorer_url !== null && (
            <>
              {" "}
              <a href={life.explorer_url} rel="noreferrer noopener" target="_blank">
                Look at it on the chain
              </a>
            </>
          )}
        </dd>
        <dt>Block</dt>
        <dd>{life.block_number ?? "none yet"}</dd>
        <dt>Statement</dt>
        <dd>
          <code>{life.statement}</code>
        </dd>
        <dt>Nullifiers</dt>
        <dd>
          {life.nullifiers.length === 0
            ? "none"
            : life.nullifiers.map((nullifier) => (
                <div key={nullifier}>
                  <code>{nullifier}</code>
                </div>
              ))}
        </dd>
        <dt>New notes</dt>
        <dd>{life.leaf_index.length === 0 ? "none yet" : `leaves ${life.leaf_index.join(", ")}`}</dd>
      </dl>
    </article>
  );
}
