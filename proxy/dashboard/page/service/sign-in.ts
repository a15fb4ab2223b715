/** The ceremonies of an account: each asks the service for a challenge, the browser for a passkey, the service for its judgement. */
import { Refused } from "./faults.ts";
import { makePasskey, usePasskey } from "./passkeys.ts";
import { request } from "./request.ts";
import { enter } from "./session.ts";

export async function signIn(): Promise<void> {
  const { options } = await request("signInOptions", { body: {} });
  enter(await request("signIn", { body: { response: await usePasskey(options) } }));
}

/** The passkey again, for a change that is asked for twice. */
export async function useAgain(): Promise<void> {
  const asked = await request("freshOptions", { body: {} }).catch((error: unknown) => {
    if (error instanceof Refused && error.problem.status === 401) return undefined;
    throw error;
  });
  // The session ended meanwhile. A passkey that signs in counts for the change, too.
  if (asked === undefined) return signIn();
  const { options } = asked;
  await request("fresh", { body: { response: await usePasskey(options) } });
}

/** By an invitation: a new account, or new passkeys for an old one. */
export async function signUp(
  token: string,
  names: { readonly account_name: string; readonly passkey_name: string },
): Promise<void> {
  const { account_name } = names;
  const { options } = await request("signUpOptions", { body: { token, account_name } });
  const response = await makePasskey(options);
  enter(await request("signUp", { body: { token, ...names, response } }));
}
