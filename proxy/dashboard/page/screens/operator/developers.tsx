/** Developers, their limits, and the switch that stops one. */
import { useState } from "preact/hooks";
import { DASHBOARD } from "../../../contract/endpoints.ts";
import type { DeveloperRow, Developers as DevelopersData } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { Act, Press } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { FormOf } from "../../parts/form-of.tsx";
import { Screen } from "../../parts/screen.tsx";
import { number, Pill, Time } from "../../parts/words.tsx";
import { ask } from "../../service/ask.ts";
import { useForm } from "../../service/form.ts";
import { useAnswer } from "../../service/use-answer.ts";

type Replace = (data: DevelopersData) => void;

export default function Developers() {
  const developers = useAnswer("developers", {});
  return (
    <Screen
      title="Developers"
      known="You see who builds on this service and how much they may ask. Whom they serve is theirs: ids of users are on no screen of yours."
    >
      <article>
        <h2>Add a developer</h2>
        <Add replace={developers.replace} />
      </article>
      <Answered of={developers}>
        {(data) =>
          data.developers.length === 0 ? (
            <article>
              <Empty>There is none yet.</Empty>
            </article>
          ) : (
            data.developers.map((developer) => (
              <Developer
                key={developer.id}
                of={developer}
                defaults={data.defaults}
                replace={developers.replace}
              />
            ))
          )
        }
      </Answered>
    </Screen>
  );
}

function Add({ replace }: { readonly replace: Replace }) {
  const form = useForm({
    schema: DASHBOARD.addDeveloper.body,
    initial: { name: "", id: "" },
    body: ({ name, id }) => ({ name, ...(id.trim() !== "" && { id: id.trim() }) }),
    send: async (body) => {
      replace(await ask("addDeveloper", { body }));
    },
  });
  return (
    <FormOf form={form} yes="Add the developer">
      <div class="row">
        <TextField form={form} name="name" label="Name" hint="Of the company or product." />
        <TextField
          form={form}
          name="id"
          label="Id"
          hint="Lower-case letters, digits, - and _. Empty: chosen at random."
        />
      </div>
    </FormOf>
  );
}

const LIMITS = [
  { name: "session_per_minute", text: "Each user, in a minute" },
  { name: "key_per_minute", text: "API keys together, in a minute" },
  { name: "key_per_day", text: "API keys together, in a day" },
] as const;

function Developer({
  of: developer,
  defaults,
  replace,
}: {
  readonly of: DeveloperRow;
  readonly defaults: DevelopersData["defaults"];
  readonly replace: Replace;
}) {
  return (
    <article>
      <div class="head">
        <h2>{developer.name}</h2>
        {developer.disabled_at === null ? <Pill tone="good">enabled</Pill> : <Pill tone="bad">disabled</Pill>}
      </div>
      <dl>
        <dt>Id</dt>
        <dd>
          <code>{developer.id}</code>, added <Time at={developer.created_at} />
        </dd>
        <dt>Has</dt>
        <dd>
          {number(developer.live_keys)} live keys, {number(developer.accounts)} accounts
        </dd>
        {LIMITS.map(({ name, text }) => (
          <>
            <dt>{text}</dt>
            <dd>
              {number(developer.limits[name])}
              {developer.raised.includes(name) ? " (its own)" : " (as for all)"}
            </dd>
          </>
        ))}
      </dl>
      <div class="actions">
        <Limits of={developer} defaults={defaults} replace={replace} />
        <EndSessions of={developer} replace={replace} />
        <Switch of={developer} replace={replace} />
      </div>
    </article>
  );
}

function Limits({
  of: developer,
  defaults,
  replace,
}: {
  readonly of: DeveloperRow;
  readonly defaults: DevelopersData["defaults"];
  readonly replace: Replace;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Press
        small
        onPress={() => {
          setOpen(true);
        }}
      >
        Change limits
      </Press>
      {isOpen && (
        <Dialog
          title={`Limits of ${developer.name}`}
          onClose={() => {
            setOpen(false);
          }}
        >
          <LimitsForm
            of={developer}
            defaults={defaults}
            onDone={(data) => {
              if (data !== undefined) replace(data);
              setOpen(false);
            }}
          />
        </Dialog>
      )}
    </>
  );
}

function LimitsForm({
  of: developer,
  defaults,
  onDone,
}: {
  readonly of: DeveloperRow;
  readonly defaults: DevelopersData["defaults"];
  readonly onDone: (data?: DevelopersData) => void;
}) {
  const own = (name: (typeof LIMITS)[number]["name"]): string =>
    developer.raised.includes(name) ? String(developer.limits[name]) : "";
  const asNumber = (text: string): number | null =>
    text.trim() === "" ? null : /^\d+$/.test(text.trim()) ? Number(text) : NaN;
  const form = useForm({
    schema: DASHBOARD.setLimits.body,
    initial: {
      session_per_minute: own("session_per_minute"),
      key_per_minute: own("key_per_minute"),
      key_per_day: own("key_per_day"),
    },
    body: (typed) => ({
      session_per_minute: asNumber(typed.session_per_minute),
      key_per_minute: asNumber(typed.key_per_minute),
      key_per_day: asNumber(typed.key_per_day),
    }),
    send: async (body) => {
      onDone(await ask("setLimits", { id: developer.id, body }));
    },
  });
  return (
    <FormOf
      form={form}
      yes="Set the limits"
      cancel={() => {
        onDone();
      }}
    >
      {LIMITS.map(({ name, text }) => (
        <TextField
          key={name}
          form={form}
          name={name}
          label={text}
          inputMode="numeric"
          hint={`Empty: as for all, ${number(defaults[name])} requests now. 0 refuses all.`}
        />
      ))}
    </FormOf>
  );
}

function EndSessions({
  of: { id, name },
  replace,
}: {
  readonly of: DeveloperRow;
  readonly replace: Replace;
}) {
  return (
    <Confirm
      button="End its users' sessions"
      title={`End the sessions of all users of ${name}?`}
      yes="End them"
      act={async () => {
        replace(await ask("revokeDeveloperSessions", { id, body: {} }));
      }}
    >
      <p>
        Each user needs a new session before they can look or pay again. Payments that were accepted go on.
      </p>
    </Confirm>
  );
}

function Switch({
  of: { id, name, disabled_at },
  replace,
}: {
  readonly of: DeveloperRow;
  readonly replace: Replace;
}) {
  if (disabled_at !== null)
    return (
      <Act
        small
        act={async () => {
          replace(await ask("enableDeveloper", { id, body: {} }));
        }}
      >
        Enable again
      </Act>
    );
  return (
    <Confirm
      button="Disable"
      title={`Disable ${name}?`}
      yes="Disable the developer"
      act={async () => {
        replace(await ask("disableDeveloper", { id, body: {} }));
      }}
    >
      <p>
        All its keys and its users' sessions are refused from now on. Payments that were accepted go on, and
        its users can take their money out on the chain without this service. It can be enabled again.
      </p>
    </Confirm>
  );
}
