/** Ends what the developer's users may do, of one of them or of all. */
import { useState } from "preact/hooks";
import { DASHBOARD } from "../../contract/endpoints.ts";
import { Answered } from "../parts/answered.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { TextField } from "../parts/field.tsx";
import { FormOf } from "../parts/form-of.tsx";
import { Screen } from "../parts/screen.tsx";
import { Notice, seconds } from "../parts/words.tsx";
import { ask } from "../service/ask.ts";
import { useForm } from "../service/form.ts";
import { useAnswer } from "../service/use-answer.ts";

export default function Sessions() {
  const sessions = useAnswer("sessions", {});
  const [said, say] = useState("");
  return (
    <Screen
      title="Users' sessions"
      known="A session token says itself whose it is and how long it is good, so the service keeps no list of your users' sessions; it keeps what was revoked until that would have ended by itself."
    >
      <div role="status">{said !== "" && <Notice tone="good">{said}</Notice>}</div>
      <Answered of={sessions}>
        {({ epoch, felt_within_secs, longest_ttl_secs }) => (
          <>
            <article>
              <h2>One user</h2>
              <OneUser
                onDone={(sub) => {
                  say(`Sessions of ${sub} are refused within ${seconds(felt_within_secs)}.`);
                }}
              />
            </article>
            <article>
              <h2>All users</h2>
              <p>
                A session lives at most {seconds(longest_ttl_secs)} by itself.
                {epoch > 1 && ` All were revoked ${String(epoch - 1)} times so far.`}
              </p>
              <Confirm
                button="Revoke all sessions"
                title="Revoke the sessions of all your users?"
                yes="Revoke all"
                act={async () => {
                  sessions.replace(await ask("revokeSessions", { body: {} }));
                  say(`All sessions are refused within ${seconds(felt_within_secs)}.`);
                }}
              >
                <p>
                  Every user has to get a new session before they can look or pay again. Payments that were
                  accepted go on, and your API keys stay good.
                </p>
              </Confirm>
            </article>
          </>
        )}
      </Answered>
    </Screen>
  );
}

const oneUser = DASHBOARD.revokeSessions.body.required();

function OneUser({ onDone }: { readonly onDone: (sub: string) => void }) {
  const form = useForm({
    schema: oneUser,
    initial: { sub: "" },
    body: (typed) => typed,
    check: ({ sub }): { sub?: string } =>
      sub === "" ? { sub: "whose sessions? Type the id that you gave the user" } : {},
    send: async (body) => {
      await ask("revokeSessions", { body });
      onDone(body.sub);
    },
  });
  return (
    <FormOf form={form} yes="Revoke this user's sessions">
      <TextField
        form={form}
        name="sub"
        label="User"
        hint="The sub of the session: your own id of the user, or app_…:id for one of an identity provider. Whether there is a session is not known."
      />
    </FormOf>
  );
}
