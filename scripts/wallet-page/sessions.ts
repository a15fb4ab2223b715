/**
 * Session tokens from this application's own server (section 5.4 of the HTTP specification): the API key stays there.
 * The example server takes any guest; yours asks for its own sign-in, in the place of `guest`.
 */
const GUEST = "cloister-guest";
const TOKEN = "cloister-session";
const ANSWER_MS = 10_000;

/** A provider as `createClient` takes it. A token outlives a reload of its tab; the one that the service refused is never given again. */
export function sessionTokens(address: string): () => Promise<string> {
  const place = `${TOKEN} ${address}`;
  let given: string | undefined;
  return async () => {
    const kept = sessionStorage.getItem(place);
    if (kept !== null && kept !== given) return (given = kept);
    const response = await fetch(address, {
      method: "POST",
      headers: { Authorization: `Bearer ${guest()}` },
      credentials: "omit",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!response.ok) throw new Error(`status ${String(response.status)}`);
    given = await response.text();
    sessionStorage.setItem(place, given);
    return given;
  };
}

/** The next wallet of this browser is another guest: nobody is told that both are one person's. */
export function forgetGuest(): void {
  localStorage.removeItem(GUEST);
  sessionStorage.clear();
}

/** Who this browser is to the application's server. Not of the wallet: nothing of the phrase is in it. */
function guest(): string {
  const known = localStorage.getItem(GUEST);
  if (known !== null) return known;
  const made = [...crypto.getRandomValues(new Uint8Array(32))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  localStorage.setItem(GUEST, made);
  return made;
}
