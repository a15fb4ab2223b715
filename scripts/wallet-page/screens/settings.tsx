/** The phrase, how the page looks, and leaving. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Choice, Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { useOpened } from "../parts/use.ts";
import { forgetAll } from "../kept.ts";
import { WALLETS } from "../purse.ts";
import { forgetGuest } from "../sessions.ts";
import type { Settings } from "../settings.ts";
import { unseal } from "../vault.ts";

const THEMES = [
  ["system", "As this device"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;
const ASKED = 3;

export function SettingsScreen() {
  const { settings, change, lock, account } = useOpened();
  const task = useTask<undefined>();
  return (
    <Screen title="Settings">
      <Phrase />
      <h2>Looks</h2>
      <Choice
        {...{ label: "Colours", name: "theme", value: settings.theme, options: THEMES }}
        onValue={(theme) => change({ theme: theme as Settings["theme"] })}
      />
      <h2>History</h2>
      <p>
        If you suspect that a service hid something from this wallet, let it read everything again. It takes a
        moment and loses nothing.
      </p>
      <button
        type="button"
        class="secondary outline"
        disabled={task.isRunning}
        onClick={() =>
          task.run(async ({ signal }) => {
            await account.wallet.rescan({ signal });
            return undefined;
          })
        }
      >
        Read everything again
      </button>
      <TaskStatus task={task} />
      <h2>Leave</h2>
      <div class="choices">
        <button type="button" class="secondary" onClick={lock}>
          Lock
        </button>
        <Forget />
      </div>
      <Known
        rows={[
          ["This browser", "Keeps the phrase and the wallet’s state, both sealed."],
          ["Who sees your phrase", "Has your money. No service, shop or support ever needs it."],
        ]}
      />
    </Screen>
  );
}

function Phrase() {
  const { settings, change } = useOpened();
  const [password, setPassword] = useState("");
  const [fault, setFault] = useState<string>();
  const [words, setWords] = useState<readonly string[]>();
  const [isTesting, setTesting] = useState(false);
  const task = useTask<undefined>();
  const show = (): void =>
    task.run(async () => {
      const phrase = await unseal(password);
      if (phrase === undefined) setFault("This is not the password of this wallet.");
      else setWords(phrase.split(" "));
      setPassword("");
      return undefined;
    });
  return (
    <article id="phrase">
      <h2>Your phrase</h2>
      <p>
        {settings.isBackedUp
          ? "You have confirmed that you wrote it down."
          : "The only way to restore this wallet. Write it on paper; take no picture of it."}
      </p>
      {words === undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setFault(undefined);
            show();
          }}
        >
          <Field
            {...{ label: "Password", name: "password", type: "password", value: password, fault }}
            autoComplete="current-password"
            onValue={setPassword}
          />
          <button disabled={task.isRunning}>Show the phrase</button>
        </form>
      )}
      {words !== undefined && !isTesting && (
        <>
          <ol class="words">
            {words.map((word, index) => (
              <li key={index}>{word}</li>
            ))}
          </ol>
          <button type="button" onClick={() => setTesting(true)}>
            I have written it down
          </button>
        </>
      )}
      {words !== undefined && isTesting && (
        <Test
          words={words}
          passed={() => {
            setWords(undefined);
            setTesting(false);
            change({ isBackedUp: true });
          }}
          back={() => setTesting(false)}
        />
      )}
      <TaskStatus task={task} />
    </article>
  );
}

interface TestProps {
  readonly words: readonly string[];
  readonly passed: () => void;
  readonly back: () => void;
}

/** Asks for some of the words, so that "written down" is true. */
function Test({ words, passed, back }: TestProps) {
  const [places] = useState(() => {
    const drawn = new Set<number>();
    while (drawn.size < ASKED) drawn.add((crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % words.length);
    return [...drawn].sort((a, b) => a - b);
  });
  const [typed, setTyped] = useState<Readonly<Record<number, string>>>({});
  const [wrong, setWrong] = useState<readonly number[]>([]);
  const check = (): void => {
    const faulty = places.filter((at) => typed[at]?.trim().toLowerCase() !== words[at]);
    setWrong(faulty);
    if (faulty.length === 0) passed();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        check();
      }}
    >
      {places.map((at) => (
        <Field
          key={at}
          {...{ label: `Word ${String(at + 1)}`, name: `word-${String(at + 1)}`, value: typed[at] ?? "" }}
          fault={wrong.includes(at) ? "Another word stands there on your paper." : undefined}
          onValue={(text) => setTyped({ ...typed, [at]: text })}
        />
      ))}
      <button>Confirm</button>
      <button type="button" class="secondary outline" onClick={back}>
        Show the words again
      </button>
    </form>
  );
}

function Forget() {
  const { purse, settings } = useOpened();
  const dialog = useRef<HTMLDialogElement>(null);
  const task = useTask<undefined>();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const forget = (): void =>
    task.run(async () => {
      await purse.close();
      await forgetAll(WALLETS);
      forgetGuest();
      location.assign("/");
      return undefined;
    });
  return (
    <>
      <button type="button" class="outline danger" onClick={() => setOpen(true)}>
        Forget this wallet
      </button>
      <dialog ref={dialog} onClose={() => setOpen(false)} aria-labelledby="forget-title">
        <article>
          <h2 id="forget-title">Forget this wallet?</h2>
          <p>
            This browser forgets the phrase, the address book and the memos.{" "}
            {settings.isBackedUp
              ? "Your money comes back with the phrase that you wrote down."
              : "You have not confirmed that you wrote the phrase down: without it your money is lost permanently."}
          </p>
          <div class="choices">
            <button type="button" class="secondary" onClick={() => setOpen(false)}>
              Keep it
            </button>
            <button type="button" class="danger" disabled={task.isRunning} onClick={forget}>
              Forget it
            </button>
          </div>
          <TaskStatus task={task} />
        </article>
      </dialog>
    </>
  );
}
