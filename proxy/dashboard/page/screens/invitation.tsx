/** What an invitation's link opens: who invites whom to what, and the making of the first passkey. */
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import * as z from "zod";
import type { InvitationView } from "../../contract/account.ts";
import { givenName } from "../../contract/values.ts";
import { Answered } from "../parts/answered.tsx";
import { TextField } from "../parts/field.tsx";
import { FormOf } from "../parts/form-of.tsx";
import { Mark } from "../parts/icons.tsx";
import { Moment, Notice } from "../parts/words.tsx";
import { useForm } from "../service/form.ts";
import { signUp } from "../service/sign-in.ts";
import { useAnswer } from "../service/use-answer.ts";

export function Invitation() {
  const [token, setToken] = useState(() => location.hash.slice(1));
  useEffect(() => {
    document.title = "Invitation · Cloister";
    // The secret is in the part of the address that is sent to nobody; out of the address bar it goes at once.
    const take = (): void => {
      if (location.hash !== "") setToken(location.hash.slice(1));
      history.replaceState(null, "", "/invitation");
    };
    take();
    // Another link that is opened here loads nothing by itself.
    addEventListener("hashchange", take);
    return () => {
      removeEventListener("hashchange", take);
    };
  }, []);
  return (
    <main class="alone">
      <span class="brand">
        <Mark />
        Cloister
      </span>
      <h1>You are invited</h1>
      {token === "" ? (
        <Notice tone="warn">
          This link has lost its end. Open the whole link that was sent to you. <a href="/">Or sign in.</a>
        </Notice>
      ) : (
        <Found key={token} token={token} />
      )}
    </main>
  );
}

function Found({ token }: { readonly token: string }) {
  const answer = useAnswer("viewInvitation", { body: { token } });
  return <Answered of={answer}>{(invitation) => <Accept token={token} invitation={invitation} />}</Answered>;
}

const names = z.object({ account_name: givenName, passkey_name: givenName });

function Accept({ token, invitation }: { readonly token: string; readonly invitation: InvitationView }) {
  const { route } = useLocation();
  const isNew = invitation.purpose === "sign-up";
  const form = useForm({
    schema: names,
    initial: { account_name: invitation.account_name ?? "", passkey_name: "" },
    body: (typed) => typed,
    send: async (given) => {
      await signUp(token, given);
      route("/", true);
    },
  });
  return (
    <>
      <p>{purposeOf(invitation)}</p>
      <FormOf form={form} yes="Make a passkey">
        {isNew && (
          <TextField
            form={form}
            name="account_name"
            label="Your name"
            hint="Shown to the operator, and in the audit log beside what you change."
            autoComplete="name"
          />
        )}
        <TextField
          form={form}
          name="passkey_name"
          label="A name for this passkey"
          hint="So that you can tell it from others later: my laptop."
        />
      </FormOf>
      <p class="muted">
        The invitation ends <Moment at={invitation.expires_at} />, and with its first use.
      </p>
    </>
  );
}

function purposeOf({ purpose, developer, role, account_name }: InvitationView): string {
  if (purpose === "recovery")
    return `To come back to the account of ${account_name ?? "yours"}: you make a new passkey now. Its old passkeys and its sessions end with that.`;
  if (role === "operator")
    return "To the operator's screen of this service: you make an account with a passkey now.";
  return `To the dashboard of ${developer?.name ?? "a developer"}: you make an account with a passkey now.`;
}
