/** Every part of the service in one view. */
import type { OperatorHealth, PartState } from "../../../contract/operator.ts";
import { Answered } from "../../parts/answered.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Table } from "../../parts/table.tsx";
import { Notice, number, Pill, Time, type Tone } from "../../parts/words.tsx";
import { useAnswer } from "../../service/use-answer.ts";

const EVERY_MS = 10_000;

const TONES: Readonly<Record<PartState, Tone>> = {
  ok: "good",
  degraded: "warn",
  down: "bad",
  unknown: "calm",
};

const WORDS: Readonly<Record<PartState, string>> = {
  ok: "Every part works.",
  degraded: "Payments go on, and something needs a look.",
  down: "A part is down: payments may wait.",
  unknown: "A part could not be asked.",
};

export default function Health() {
  const health = useAnswer("health", {}, EVERY_MS);
  return (
    <Screen
      title="Health"
      known="Counts and ages of parts. No user, payment or amount is behind any number here."
    >
      <Answered of={health}>
        {(data) => (
          <>
            <Notice tone={TONES[data.state]}>
              <strong>{WORDS[data.state]}</strong> Seen <Time at={data.at} />.
            </Notice>
            {data.warnings.map((warning) => (
              <Notice tone="warn" key={warning}>
                {warning}
              </Notice>
            ))}
            {data.parts.map((part) => (
              <Part key={part.name} of={part} />
            ))}
          </>
        )}
      </Answered>
    </Screen>
  );
}

const age = (ms: number | null): string =>
  ms === null ? "" : ms < 1000 ? "now" : `${number(Math.round(ms / 1000))} s old`;

function State({ of: state }: { readonly of: PartState }) {
  return <Pill tone={TONES[state]}>{state}</Pill>;
}

function Part({ of: part }: { readonly of: OperatorHealth["parts"][number] }) {
  return (
    <article>
      <div class="head">
        <h2>{part.name}</h2>
        <State of={part.state} />
      </div>
      {(part.detail !== null || part.age_ms !== null) && (
        <p class="muted">
          {part.detail} {age(part.age_ms)}
        </p>
      )}
      {part.checks.length > 0 && (
        <Table
          caption={`Checks of ${part.name}`}
          rows={part.checks}
          keyOf={({ name }) => name}
          columns={[
            { name: "Check", cell: ({ name }) => name },
            { name: "State", cell: ({ state }) => <State of={state} /> },
            {
              name: "Detail",
              cell: ({ detail, age_ms }) => `${detail ?? ""} ${age(age_ms)}`.trim() || "nothing to say",
            },
          ]}
        />
      )}
      {part.figures.length > 0 && (
        <details>
          <summary>Figures of {part.name}</summary>
          <Table
            caption={`Figures of ${part.name}`}
            rows={part.figures}
            keyOf={({ name }) => name}
            columns={[
              { name: "Name", cell: ({ name }) => <code>{name}</code> },
              { name: "Value", isEnd: true, cell: ({ value }) => number(value) },
            ]}
          />
        </details>
      )}
    </article>
  );
}
