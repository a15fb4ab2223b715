/** Before a wallet is open: make one, restore one, or open the one that this browser keeps. */
import { useState } from "preact/hooks";
import { ClientError, newPhrase } from "../../../shared/client/index.ts";
import type { Config } from "../config.ts";
import { Field } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { Purse } from "../purse.ts";
import { changeSettings } from "../settings.ts";
import { seal, SHORTEST_PASSWORD, unseal } from "../vault.ts";
import { Refused, wordsOf } from "../words.ts";

interface DoorProps {
  readonly config: Config;
  readonly isKnown: boolean;
  readonly opened: (purse: Purse) => void;
}

export function Door({ isKnown, ...rest }: DoorProps) {
  return isKnown ? <Unlock {...rest} /> : <Begin {...rest} />;
}

type InsideProps = Omit<DoorProps, "isKnown">;

function Unlock({ config, opened }: InsideProps) {
  const [password, setPassword] = useState("");
  const [fault, setFault] = useState<string>();
  const task = useTask<undefined>();
  const unlock = (rebuild = false): void =>
    task.run(async () => {
      const phrase = await unseal(password);
      if (phrase === undefined) setFault("This is not the password of this wallet.");
      else opened(await Purse.open(config, phrase, { rebuild }));
      return undefined;
    });
  const isDamaged = task.error instanceof ClientError && task.error.code === "HISTORY_DAMAGED";
  return (
    <Screen title="Open your wallet">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setFault(undefined);
          unlock();
        }}
      >
        <Field
          {...{ label: "Password", name: "password", type: "password", value: password, fault }}
          autoComplete="current-password"
          onValue={setPassword}
          hint="It opens what this browser keeps. It is sent nowhere."
        />
        <button disabled={task.isRunning}>Open</button>
      </form>
      <TaskStatus task={task} />
      {isDamaged && (
        <button type="button" onClick={() => unlock(true)}>
          Read the history again
        </button>
      )}
      <p>
        <small>
          Password forgotten? Delete this site’s data in your browser, then restore the wallet from its
          phrase.
        </small>
      </p>
    </Screen>
  );
}

function Begin({ config, opened }: InsideProps) {
  const [way, setWay] = useState<"make" | "restore">("make");
  const [phrase, setPhrase] = useState("");
  const [password, setPassword] = useState("");
  const [faults, setFaults] = useState<{ phrase?: string; password?: string }>({});
  const task = useTask<undefined>();
  const isNew = way === "make";

  /** Undefined for what is no phrase: that is said beside the field. */
  async function opening(words: string): Promise<Purse | undefined> {
    try {
      return await Purse.open(config, words);
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== "KEY_INVALID") throw error;
      setFaults({ phrase: wordsOf(error).text });
      return undefined;
    }
  }

  const begin = (): void => {
    const words = isNew ? newPhrase() : phrase.trim().toLowerCase().split(/\s+/).join(" ");
    const found = {
      ...(words === "" ? { phrase: "Enter the words of your phrase." } : {}),
      ...(password.length < SHORTEST_PASSWORD
        ? { password: `At least ${String(SHORTEST_PASSWORD)} characters.` }
        : {}),
    };
    setFaults(found);
    if (Object.keys(found).length > 0) return;
    task.run(async () => {
      // Before anything is kept: a phrase that is none must not lock this browser.
      const purse = await opening(words);
      if (purse === undefined) return undefined;
      await seal(words, password);
      await changeSettings({ isBackedUp: !isNew });
      if ((await unseal(password)) !== words)
        throw new Refused("device", "This browser did not keep the wallet.");
      opened(purse);
      return undefined;
    });
  };

  return (
    <Screen title="Private dollars, in your browser">
      <p>
        A wallet of which only you see the balance. Your keys are made here, stay here, and every proof is
        made here.
      </p>
      <fieldset class="ways">
        <legend>What would you like?</legend>
        <label>
          <input type="radio" name="way" checked={isNew} onChange={() => setWay("make")} />A new wallet
        </label>
        <label>
          <input type="radio" name="way" checked={!isNew} onChange={() => setWay("restore")} />
          Restore one from its phrase
        </label>
      </fieldset>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          begin();
        }}
      >
        {!isNew && (
          <Field
            {...{ label: "Phrase", name: "phrase", value: phrase, fault: faults.phrase, isLong: true }}
            onValue={setPhrase}
            hint="12 to 24 words, in their order, with spaces between them."
          />
        )}
        <Field
          {...{ label: "A password for this browser", name: "password", type: "password", value: password }}
          autoComplete="new-password"
          fault={faults.password}
          onValue={setPassword}
          hint="Whoever has your device needs it to open the wallet. It restores nothing: only the phrase does."
        />
        <button disabled={task.isRunning}>{isNew ? "Make the wallet" : "Restore the wallet"}</button>
      </form>
      <TaskStatus task={task} />
      <Known
        rows={[
          ["This browser", "Keeps your phrase, sealed under your password."],
          [
            "The service",
            "Learns that somebody reads its event stream; everybody is sent the same one. It cannot tell which notes are yours.",
          ],
          [
            "This application’s server",
            "Learns that your browser asked for a session, and your internet address.",
          ],
        ]}
      />
    </Screen>
  );
}
