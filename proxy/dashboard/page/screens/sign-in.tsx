/** The way in. */
import { useEffect } from "preact/hooks";
import { Act } from "../parts/button.tsx";
import { Mark } from "../parts/icons.tsx";
import { Notice } from "../parts/words.tsx";
import { hasPasskeys } from "../service/passkeys.ts";
import { signIn } from "../service/sign-in.ts";

export function SignIn() {
  useEffect(() => {
    document.title = "Sign in · Cloister";
  }, []);
  return (
    <main class="alone">
      <span class="brand">
        <Mark />
        Cloister
      </span>
      <h1>Sign in</h1>
      {hasPasskeys() ? (
        <>
          <p>With the passkey that you made when you were invited. There are no passwords here.</p>
          <Act look="main" act={signIn}>
            Sign in with a passkey
          </Act>
        </>
      ) : (
        <Notice tone="bad">This browser has no passkeys. Use a newer one, over https.</Notice>
      )}
      <hr />
      <p class="muted">
        New here, or all your passkeys are lost? Ask the operator of this service for an invitation, and open
        its link.
      </p>
    </main>
  );
}
