/** The terms of an identity-provider app, as a developer asked for them and an operator judges them. */
import type { AppRequestView } from "../../contract/developer.ts";
import { Pill, seconds, type Tone } from "./words.tsx";

type Terms = Pick<
  AppRequestView,
  "issuer" | "audience" | "jwks_url" | "algorithms" | "access_claim" | "sub_claim" | "perms" | "max_ttl_secs"
>;

export function AppTerms({ of: terms }: { readonly of: Terms }) {
  return (
    <dl>
      <dt>Issuer</dt>
      <dd>
        <code>{terms.issuer}</code>
      </dd>
      <dt>Audience</dt>
      <dd>
        <code>{terms.audience}</code>
      </dd>
      <dt>Key set</dt>
      <dd>
        <code>{terms.jwks_url}</code>
      </dd>
      <dt>Algorithms</dt>
      <dd>{terms.algorithms.join(", ")}</dd>
      <dt>An access token says</dt>
      <dd>
        <code>{terms.access_claim ?? "typ: at+jwt"}</code>
      </dd>
      <dt>User</dt>
      <dd>
        the claim <code>{terms.sub_claim}</code>
      </dd>
      <dt>Sessions</dt>
      <dd>
        {terms.perms.join(" and ")}, at most {seconds(terms.max_ttl_secs)}
      </dd>
    </dl>
  );
}

const TONES: Readonly<Record<AppRequestView["state"], Tone>> = {
  pending: "warn",
  approved: "good",
  refused: "bad",
  withdrawn: "calm",
};

export function RequestState({ state }: Pick<AppRequestView, "state">) {
  return <Pill tone={TONES[state]}>{state}</Pill>;
}
