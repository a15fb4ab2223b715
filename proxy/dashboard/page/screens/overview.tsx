/** Use against limits, and what needs attention. */
import type { Overview as OverviewData } from "../../contract/developer.ts";
import type { UsageDayView, UsageView } from "../../contract/activity.ts";
import { useMemo } from "preact/hooks";
import { Answered } from "../parts/answered.tsx";
import { Chart } from "../parts/chart.tsx";
import { limitName, Limits } from "../parts/limits.tsx";
import { Screen } from "../parts/screen.tsx";
import { Table } from "../parts/table.tsx";
import { Notice, number } from "../parts/words.tsx";
import { useMe } from "../service/me.ts";
import { assetOf, money } from "../service/money.ts";
import { useAnswer } from "../service/use-answer.ts";

const EVERY_MS = 60_000;

export default function Overview() {
  const overview = useAnswer("overview", {}, EVERY_MS);
  const usage = useAnswer("usage", {}, EVERY_MS);
  return (
    <Screen
      title="Overview"
      known="Of your users the service counts requests and payments by day. Who paid whom it never learns, and of transfers not even how much."
    >
      <Answered of={overview}>
        {(data) => (
          <>
            <Attention overview={data} />
            <div class="cards">
              <Figure name="Live API keys" value={data.live_keys} to="/keys" />
              <Figure name="Origins" value={data.origins} to="/origins" />
              <Figure name="Fee rules" value={data.fee_rules} to="/fees" />
              <Figure name="Tickets under way" value={data.open_tickets} to="/tickets?open=yes" />
            </div>
            <article>
              <h2>Limits</h2>
              <Limits limits={data.limits} />
            </article>
          </>
        )}
      </Answered>
      <Answered of={usage}>{(data) => <Usage usage={data} />}</Answered>
    </Screen>
  );
}

function Figure({ name, value, to }: { readonly name: string; readonly value: number; readonly to: string }) {
  return (
    <article>
      <a href={to}>{name}</a>
      <div class="figure">{number(value)}</div>
    </article>
  );
}

function Attention({ overview }: { readonly overview: OverviewData }) {
  const { developer, limits, live_keys, origins } = overview;
  const near = limits.filter(({ used, quota }) => used !== null && quota > 0 && used >= quota * 0.8);
  return (
    <>
      {developer.disabled_at !== null && (
        <Notice tone="bad">
          The operator has disabled {developer.name}: its keys and its users' sessions are refused. Ask the
          operator.
        </Notice>
      )}
      {live_keys === 0 && (
        <Notice tone="warn">
          There is no live API key, so your server can do nothing here. <a href="/keys">Create one.</a>
        </Notice>
      )}
      {live_keys > 0 && origins === 0 && (
        <Notice tone="calm">
          No origin is registered: no browser is let in, phones and servers are.{" "}
          <a href="/origins">Register one.</a>
        </Notice>
      )}
      {near.map((limit) => (
        <Notice tone="warn" key={limit.policy}>
          {limitName(limit)}: {number(limit.used ?? 0)} of {number(limit.quota)} requests are used. Past the
          limit they are refused until older ones leave the window.
        </Notice>
      ))}
    </>
  );
}

const total = (counts: readonly { readonly count: number }[]): number =>
  counts.reduce((sum, { count }) => sum + count, 0);

function Usage({ usage: { days } }: { readonly usage: UsageView }) {
  const shown = useMemo(() => chartsOf(days), [days]);
  return (
    <>
      <article>
        <Chart title="Requests by day" days={shown.days} series={shown.requests} />
      </article>
      <article>
        <Chart title="Payments by day" days={shown.days} series={shown.payments} />
      </article>
      <Refusals days={days} />
      <Amounts days={days} />
    </>
  );
}

function chartsOf(days: readonly UsageDayView[]) {
  const ended = ({ payments }: UsageDayView, isFine: boolean): number =>
    total(payments.filter(({ state }) => (state === "finalized") === isFine));
  return {
    days: days.map(({ day }) => day),
    requests: [
      { name: "Requests", values: days.map(({ requests }) => total(requests)) },
      { name: "Refused", values: days.map(({ refusals }) => total(refusals)) },
    ],
    payments: [
      { name: "Finalized", values: days.map((day) => ended(day, true)) },
      { name: "Failed or expired", values: days.map((day) => ended(day, false)) },
    ],
  };
}

/** Sums over all days, by what `nameOf` says, largest first. */
function summed<T>(items: readonly T[], nameOf: (item: T) => string, valueOf: (item: T) => bigint) {
  const sums = new Map<string, { readonly item: T; sum: bigint }>();
  for (const item of items) {
    const name = nameOf(item);
    const known = sums.get(name) ?? { item, sum: 0n };
    known.sum += valueOf(item);
    sums.set(name, known);
  }
  return [...sums.entries()]
    .map(([name, { item, sum }]) => ({ name, item, sum }))
    .sort((a, b) => (a.sum < b.sum ? 1 : -1));
}

function Refusals({ days }: { readonly days: readonly UsageDayView[] }) {
  const rows = summed(
    days.flatMap(({ refusals }) => refusals),
    ({ code, operation }) => `${code} ${operation}`,
    ({ count }) => BigInt(count),
  ).slice(0, 8);
  if (rows.length === 0) return null;
  return (
    <article>
      <h2>What was refused most</h2>
      <Table
        caption="Refusals in these days, most first"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { name: "Code", cell: ({ item }) => <code>{item.code}</code> },
          { name: "Operation", cell: ({ item }) => item.operation },
          { name: "Times", isEnd: true, cell: ({ sum }) => number(Number(sum)) },
        ]}
      />
    </article>
  );
}

function Amounts({ days }: { readonly days: readonly UsageDayView[] }) {
  const me = useMe();
  const rows = summed(
    days.flatMap(({ amounts }) => amounts),
    ({ operation, asset }) => `${operation} ${asset}`,
    ({ amount }) => BigInt(amount),
  );
  if (rows.length === 0) return null;
  return (
    <article>
      <h2>Public amounts</h2>
      <Table
        caption="Sums of finalized payments whose amounts are public"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { name: "Operation", cell: ({ item }) => item.operation },
          { name: "Sum", isEnd: true, cell: ({ item, sum }) => money(String(sum), assetOf(me, item.asset)) },
        ]}
      />
    </article>
  );
}
