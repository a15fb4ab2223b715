/** Stands over a screen when a request needs its person's passkey; what was typed stays below it. */
import { useCell } from "../service/cell.ts";
import { waiting, type Need, type Waiting } from "../service/door.ts";
import { signIn, useAgain as proveAgain } from "../service/sign-in.ts";
import { Act, Press } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

const WORDS: Readonly<Record<Need, { title: string; why: string; yes: string; act: () => Promise<void> }>> = {
  session: {
    title: "Your session has ended",
    why: "Sign in again to go on. What you typed stays here and is sent afterwards.",
    yes: "Sign in with a passkey",
    act: signIn,
  },
  fresh: {
    title: "Use your passkey again",
    why: "This change matters enough that the service asks who you are once more.",
    yes: "Use the passkey",
    act: proveAgain,
  },
};

export function DoorDialog() {
  const shown = useCell(waiting);
  return shown === undefined ? null : <Ask {...shown} />;
}

function Ask({ need, done, cancel }: Waiting) {
  const { title, why, yes, act } = WORDS[need];
  return (
    <Dialog title={title} onClose={cancel}>
      <p>{why}</p>
      <footer>
        <Press onPress={cancel}>Cancel</Press>
        <Act look="main" act={() => act().then(done)}>
          {yes}
        </Act>
      </footer>
    </Dialog>
  );
}
