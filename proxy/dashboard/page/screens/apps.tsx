/** Identity-provider apps: their users' access tokens can be exchanged for sessions, without a server of the developer. */
import type { Apps as AppsData, AppRequestView, AppView } from "../../contract/developer.ts";
import { ALGORITHMS } from "../../contract/developer.ts";
import { DASHBOARD } from "../../contract/endpoints.ts";
import { Answered, Empty } from "../parts/answered.tsx";
import { AppTerms, RequestState } from "../parts/app-terms.tsx";
import { Act } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { listOf, ManyField, TextField } from "../parts/field.tsx";
import { FormOf } from "../parts/form-of.tsx";
import { Screen } from "../parts/screen.tsx";
import { Notice, Time } from "../parts/words.tsx";
import { ask } from "../service/ask.ts";
import { useForm } from "../service/form.ts";
import { useAnswer } from "../service/use-answer.ts";

type Replace = (data: AppsData) => void;

export default function Apps() {
  const apps = useAnswer("apps", {});
  return (
    <Screen
      title="Identity providers"
      known="When a user's access token is exchanged, the service sees the user's id at your provider. It keeps that id with the session and its tickets, and no other claim."
    >
      <Answered of={apps}>
        {({ apps: live, requests }) => (
          <>
            <Live apps={live} replace={apps.replace} />
            <Requests requests={requests} replace={apps.replace} />
          </>
        )}
      </Answered>
      <article>
        <details class="more">
          <summary>Request an app</summary>
          <p>The operator looks at it and approves or refuses it; then its id stands above.</p>
          <Ask replace={apps.replace} />
        </details>
      </article>
    </Screen>
  );
}

function Live({ apps, replace }: { readonly apps: readonly AppView[]; readonly replace: Replace }) {
  if (apps.length === 0)
    return (
      <article>
        <Empty>No app yet. Without one your server mints the sessions of your users, with an API key.</Empty>
      </article>
    );
  return (
    <>
      {apps.map((app) => (
        <article key={app.id}>
          <div class="head">
            <h2>
              <code>{app.id}</code>
            </h2>
            <Confirm
              button="Remove"
              title={`Remove ${app.id}?`}
              yes="Remove the app"
              act={async () => {
                replace(await ask("removeApp", { id: app.id, body: {} }));
              }}
            >
              <p>
                No token of this provider is exchanged from now on. Sessions that its users have stay good
                until they end; <a href="/sessions">revoke them</a> if that is too long. The id does not come
                back: a new app needs a new approval.
              </p>
            </Confirm>
          </div>
          <AppTerms of={app} />
        </article>
      ))}
    </>
  );
}

function Requests({
  requests,
  replace,
}: {
  readonly requests: readonly AppRequestView[];
  readonly replace: Replace;
}) {
  return (
    <>
      {requests.map((request) => (
        <article key={request.id}>
          <div class="head">
            <h2>
              Request <RequestState state={request.state} />
            </h2>
            {request.state === "pending" && (
              <Act
                small
                act={async () => {
                  replace(await ask("withdrawApp", { id: request.id, body: {} }));
                }}
              >
                Withdraw
              </Act>
            )}
          </div>
          {request.reason !== null && <Notice tone="bad">The operator: {request.reason}</Notice>}
          <p class="muted">
            Asked <Time at={request.created_at} />
            {request.decided_at !== null && (
              <>
                , decided <Time at={request.decided_at} />
              </>
            )}
            {request.app_id !== null && (
              <>
                , became <code>{request.app_id}</code>
              </>
            )}
          </p>
          <details>
            <summary>Its terms</summary>
            <AppTerms of={request} />
          </details>
        </article>
      ))}
    </>
  );
}

const PERMISSIONS = [
  { value: "read", text: "read: look at balances, tickets and prices" },
  { value: "write", text: "write: send payments" },
];

function Ask({ replace }: { readonly replace: Replace }) {
  const form = useForm({
    schema: DASHBOARD.requestApp.body,
    initial: {
      ...{ issuer: "", audience: "", jwks_url: "", algorithms: ALGORITHMS.join(" "), access_claim: "" },
      ...{ sub_claim: "sub", perms: "read write", max_ttl_secs: "900" },
    },
    body: (typed, client_id) => ({
      client_id,
      issuer: typed.issuer,
      audience: typed.audience,
      jwks_url: typed.jwks_url,
      algorithms: listOf(typed.algorithms),
      access_claim: typed.access_claim.trim() === "" ? null : typed.access_claim.trim(),
      sub_claim: typed.sub_claim,
      perms: listOf(typed.perms),
      max_ttl_secs: Number(typed.max_ttl_secs),
    }),
    send: async (body) => {
      replace(await ask("requestApp", { body }));
    },
  });
  return (
    <FormOf form={form} yes="Send the request">
      <TextField form={form} name="issuer" label="Issuer" hint="The claim iss, character by character." />
      <TextField form={form} name="audience" label="Audience" hint="The claim aud, or one of several." />
      <TextField
        form={form}
        name="jwks_url"
        label="Key set"
        inputMode="url"
        hint="Where the provider publishes its signing keys (JWKS), over https."
      />
      <ManyField
        form={form}
        name="algorithms"
        label="Algorithms of its signatures"
        choices={ALGORITHMS.map((value) => ({ value, text: value }))}
      />
      <TextField
        form={form}
        name="access_claim"
        label="Claim that only access tokens have"
        hint="name=value, such as token_use=access. Empty where the provider writes typ: at+jwt (RFC 9068)."
      />
      <div class="row">
        <TextField form={form} name="sub_claim" label="Claim that names the user" />
        <TextField
          form={form}
          name="max_ttl_secs"
          label="Longest session, in seconds"
          inputMode="numeric"
          hint="60 to 3600"
        />
      </div>
      <ManyField form={form} name="perms" label="What its sessions may do" choices={PERMISSIONS} />
    </FormOf>
  );
}
