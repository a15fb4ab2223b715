/** Who changed what, and when; newest first. */
import { useState } from "preact/hooks";
import type { AuditEntryView, AuditPageView } from "../../contract/activity.ts";
import { Act } from "./button.tsx";
import { Empty } from "./answered.tsx";
import { Table } from "./table.tsx";
import { Moment } from "./words.tsx";

export function AuditList({
  first,
  more,
  showsDeveloper,
}: {
  readonly first: AuditPageView;
  readonly more: (cursor: string) => Promise<AuditPageView>;
  readonly showsDeveloper: boolean;
}) {
  const [later, setLater] = useState<readonly AuditPageView[]>([]);
  const pages = [first, ...later];
  const next = pages.at(-1)?.next ?? null;
  const entries = pages.flatMap((page) => page.entries);
  if (entries.length === 0) return <Empty>Nothing was changed yet.</Empty>;
  return (
    <>
      <Table
        caption="Changes, newest first"
        rows={entries}
        keyOf={({ id }) => id}
        columns={[
          { name: "When", cell: ({ at }) => <Moment at={at} /> },
          { name: "Who", cell: ({ by }) => by.name ?? `${by.kind} ${by.id}` },
          { name: "What", cell: ({ verb }) => <code>{verb}</code> },
          { name: "Of", cell: ({ target }) => `${target.kind} ${target.id}` },
          ...(showsDeveloper
            ? [{ name: "Developer", cell: (entry: AuditEntryView) => entry.developer_id ?? "none" }]
            : []),
          { name: "Change", cell: (entry) => <Change entry={entry} /> },
        ]}
      />
      {next !== null && (
        <p class="actions">
          <Act
            act={async () => {
              setLater([...later, await more(next)]);
            }}
          >
            Show older ones
          </Act>
        </p>
      )}
    </>
  );
}

function Change({ entry: { before, after } }: { readonly entry: AuditEntryView }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  if (names.length === 0) return <span class="muted">no facts</span>;
  return (
    <details>
      <summary>{names.slice(0, 3).join(", ")}</summary>
      <dl>
        {names.map((name) => (
          <>
            <dt>{name}</dt>
            <dd>
              {said(before?.[name])} → {said(after?.[name])}
            </dd>
          </>
        ))}
      </dl>
    </details>
  );
}

const said = (value: unknown): string =>
  value === undefined ? "none" : typeof value === "string" ? value : JSON.stringify(value);
