/** Payments of the developer's users: under way and ended, with filters that are in the address and can be kept. */
import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { ticketState, type TicketState } from "../../../../shared/api/transactions.ts";
import type { TicketRow } from "../../contract/activity.ts";
import { Answered, Empty } from "../parts/answered.tsx";
import { Act } from "../parts/button.tsx";
import { Screen } from "../parts/screen.tsx";
import { Table } from "../parts/table.tsx";
import { StatePill } from "../parts/ticket-state.tsx";
import { Time } from "../parts/words.tsx";
import { ask } from "../service/ask.ts";
import { useMe } from "../service/me.ts";
import { assetOf, money } from "../service/money.ts";
import { useAnswer } from "../service/use-answer.ts";

const OPEN: readonly TicketState[] = ["queued", "submitted", "confirmed"];

interface Filters {
  readonly is_open: "yes" | "no";
  readonly sub?: string;
  readonly state?: TicketState;
  readonly from?: string;
  readonly before?: string;
}

export default function Tickets() {
  const { query } = useLocation();
  const filters = filtersOf(query);
  const first = useAnswer("tickets", { query: { ...filters, limit: 50 } });
  return (
    <Screen
      title="Tickets"
      known="Of a payment the service knows your id of the user, its kind and times, and what the chain shows of it. Sender, recipient and amount of a transfer are in its proof alone, where nobody can read them."
    >
      <article>
        <FilterForm query={query} />
      </article>
      <article aria-busy={first.isLoading}>
        <h2>{filters.is_open === "yes" ? "Under way" : "Ended"}</h2>
        <Answered of={first}>
          {(page) =>
            page.tickets.length === 0 ? (
              <Empty>
                {filters.is_open === "yes"
                  ? "Nothing is under way."
                  : "No ended ticket fits. Those under way are not among these; older ones than the service keeps are gone."}
              </Empty>
            ) : (
              <Pages key={JSON.stringify(filters)} filters={filters} first={page} />
            )
          }
        </Answered>
      </article>
    </Screen>
  );
}

/** What is in the address may have been typed there: what is no filter is left out. */
function filtersOf(query: Readonly<Record<string, string>>): Filters {
  const is_open = query["open"] === "yes" ? "yes" : "no";
  const { data: state } = ticketState.safeParse(query["state"]);
  const day = (text: string | undefined, plusDays: number): string | undefined => {
    const ms = Date.parse(`${text ?? ""}T00:00:00Z`);
    return Number.isNaN(ms) ? undefined : new Date(ms + plusDays * 86_400_000).toISOString();
  };
  const [from, before] = [day(query["from"], 0), day(query["to"], 1)];
  return {
    is_open,
    ...(query["user"] && { sub: query["user"].slice(0, 512) }),
    ...(state !== undefined && OPEN.includes(state) === (is_open === "yes") && { state }),
    ...(is_open === "no" && from !== undefined && { from }),
    ...(is_open === "no" && before !== undefined && { before }),
  };
}

function FilterForm({ query }: { readonly query: Readonly<Record<string, string>> }) {
  const { route } = useLocation();
  const element = useRef<HTMLFormElement>(null);
  const isOpen = query["open"] === "yes";
  const apply = (): void => {
    if (element.current === null) return;
    const said = [...new FormData(element.current)].flatMap(([name, value]) =>
      typeof value === "string" && value.trim() !== "" ? [[name, value.trim()]] : [],
    );
    route(`/tickets?${new URLSearchParams(said).toString()}`, true);
  };
  const states = ticketState.options.filter((state) => OPEN.includes(state) === isOpen);
  return (
    <form
      ref={element}
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <label>
        Which
        <select name="open" value={isOpen ? "yes" : "no"} onChange={apply}>
          <option value="no">Ended</option>
          <option value="yes">Under way</option>
        </select>
      </label>
      <label>
        State
        <select name="state" value={query["state"] ?? ""} onChange={apply}>
          <option value="">Any</option>
          {states.map((state) => (
            <option key={state} value={state}>
              {state}
            </option>
          ))}
        </select>
      </label>
      <label>
        User
        <input name="user" defaultValue={query["user"] ?? ""} autoComplete="off" onChange={apply} />
      </label>
      {!isOpen && (
        <>
          <label>
            From (UTC)
            <input type="date" name="from" defaultValue={query["from"] ?? ""} onChange={apply} />
          </label>
          <label>
            To (UTC)
            <input type="date" name="to" defaultValue={query["to"] ?? ""} onChange={apply} />
          </label>
        </>
      )}
    </form>
  );
}

interface Page {
  readonly tickets: readonly TicketRow[];
  readonly next: string | null;
}

function Pages({ filters, first }: { readonly filters: Filters; readonly first: Page }) {
  const [more, setMore] = useState<readonly Page[]>([]);
  // A newer first page has what the later ones began after.
  useEffect(() => {
    setMore([]);
  }, [first]);
  const pages = [first, ...more];
  const next = pages.at(-1)?.next;
  return (
    <>
      <List tickets={pages.flatMap(({ tickets }) => tickets)} />
      {next !== null && next !== undefined && (
        <p class="actions">
          <Act
            act={async () => {
              const page = await ask("tickets", { query: { ...filters, limit: 50, cursor: next } });
              setMore([...more, page]);
            }}
          >
            Show older ones
          </Act>
        </p>
      )}
    </>
  );
}

function List({ tickets }: { readonly tickets: readonly TicketRow[] }) {
  const me = useMe();
  return (
    <Table
      caption="Tickets"
      rows={tickets}
      keyOf={({ ticket_id }) => ticket_id}
      columns={[
        {
          name: "Ticket",
          cell: ({ ticket_id }) => (
            <a href={`/tickets/${ticket_id}`}>
              <code>…{ticket_id.slice(-12)}</code>
            </a>
          ),
        },
        { name: "Operation", cell: ({ operation }) => operation },
        {
          name: "Amount",
          cell: ({ amount, asset }) =>
            amount === null || asset === null ? (
              <span class="muted">hidden</span>
            ) : (
              money(amount, assetOf(me, asset))
            ),
        },
        { name: "User", cell: ({ sub }) => sub ?? <span class="muted">an API key</span> },
        {
          name: "State",
          cell: ({ state, error_code }) => (
            <>
              <StatePill state={state} />
              {error_code !== null && <span class="muted"> {error_code}</span>}
            </>
          ),
        },
        { name: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}
