/** The frame of all screens: which wallet is open, which network is meant, where one is. */
import { useMemo, useState } from "preact/hooks";
import type { AnyComponent, ComponentChildren } from "preact";
import { ErrorBoundary, lazy, LocationProvider, Route, Router, useLocation } from "preact-iso";
import type { Config } from "./config.ts";
import type { Purse } from "./purse.ts";
import { applyTheme, changeSettings, readSettings, type Settings } from "./settings.ts";
import { OpenedContext, useOpened, type Opened } from "./parts/use.ts";
import { ago } from "./parts/time.ts";
import { wordsOf, SIDES } from "./words.ts";
import { Door } from "./screens/door.tsx";
import { Home } from "./screens/home.tsx";

const Deposit = lazy(async () => (await import("./screens/deposit.tsx")).Deposit);
const Pay = lazy(async () => (await import("./screens/pay.tsx")).Pay);
const Ask = lazy(async () => (await import("./screens/ask.tsx")).Ask);
const Withdraw = lazy(async () => (await import("./screens/withdraw.tsx")).Withdraw);
const Swap = lazy(async () => (await import("./screens/swap.tsx")).Swap);
const Bridge = lazy(async () => (await import("./screens/bridge.tsx")).Bridge);
const Activity = lazy(async () => (await import("./screens/activity.tsx")).Activity);
const People = lazy(async () => (await import("./screens/people.tsx")).People);
const Disclose = lazy(async () => (await import("./screens/disclose.tsx")).Disclose);
const Verify = lazy(async () => (await import("./screens/verify.tsx")).Verify);
const Safety = lazy(async () => (await import("./screens/safety.tsx")).Safety);
const SettingsScreen = lazy(async () => (await import("./screens/settings.tsx")).SettingsScreen);

interface AppProps {
  readonly config: Config;
  readonly settings: Settings;
  /** Whether this browser has a wallet already. */
  readonly isKnown: boolean;
}

export function App(props: AppProps) {
  return (
    <LocationProvider>
      <Body {...props} />
    </LocationProvider>
  );
}

function Body({ config, settings: kept, isKnown }: AppProps) {
  const [purse, setPurse] = useState<Purse | undefined>();
  const [settings, setSettings] = useState(kept);
  const [unkept, setUnkept] = useState<unknown>();
  const { path } = useLocation();
  const opened = useMemo((): Opened | undefined => {
    if (purse === undefined) return undefined;
    const account =
      purse.accounts.find(({ network }) => network.id === settings.network) ?? purse.accounts[0];
    if (account === undefined) throw new Error("no network is configured");
    const change = (wanted: Partial<Settings>): void => {
      const changed = { ...settings, ...wanted };
      applyTheme(changed);
      setSettings(changed);
      changeSettings(wanted).then(() => setUnkept(undefined), setUnkept);
    };
    const leave = (): void => location.replace("/");
    return {
      ...{ config, purse, account, settings, change },
      unkept,
      choose: (network) => change({ network }),
      // What a wallet holds in memory goes with the page, also where its state could not be saved.
      lock: () => void purse.close().then(leave, leave),
    };
  }, [purse, settings, unkept, config]);
  /** What was chosen at the door is stored there: a restored phrase needs no reminder to write it down. */
  const open = (opening: Purse): void => {
    const show = (stored: Settings): void => {
      setSettings(stored);
      setPurse(opening);
    };
    readSettings().then(show, () => show(settings));
  };
  if (path === "/verify")
    return (
      <Frame>
        <ErrorBoundary>
          <Verify config={config} />
        </ErrorBoundary>
      </Frame>
    );
  if (opened === undefined)
    return (
      <Frame>
        <Door config={config} isKnown={isKnown} opened={open} />
      </Frame>
    );
  return (
    <OpenedContext.Provider value={opened}>
      <Frame nav={<Top />}>
        <Screens key={opened.account.network.id} />
      </Frame>
    </OpenedContext.Provider>
  );
}

const SCREENS: readonly (readonly [path: string, screen: AnyComponent])[] = [
  ["/", Home],
  ["/deposit", Deposit],
  ["/pay", Pay],
  ["/request", Ask],
  ["/withdraw", Withdraw],
  ["/swap", Swap],
  ["/bridge", Bridge],
  ["/activity", Activity],
  ["/people", People],
  ["/disclose", Disclose],
  ["/safety", Safety],
  ["/settings", SettingsScreen],
];

function Screens() {
  return (
    <ErrorBoundary>
      <Router>
        {SCREENS.map(([at, screen]) => (
          <Route key={at} path={at} component={screen} />
        ))}
        <Route default component={Home} />
      </Router>
    </ErrorBoundary>
  );
}

function Frame({ nav, children }: { nav?: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <header class="container">
        <a href="/" class="brand">
          Cloister
        </a>
        {nav}
      </header>
      <main class="container">{children}</main>
      <footer class="container">
        <small>
          An example wallet on development networks: no real money. <a href="/verify">Verify a disclosure</a>
        </small>
      </footer>
    </>
  );
}

const PLACES = [
  ["/", "Wallet"],
  ["/activity", "Activity"],
  ["/people", "People"],
  ["/safety", "Safety"],
  ["/settings", "Settings"],
] as const;

function Top() {
  const { account, purse, choose } = useOpened();
  const { path } = useLocation();
  return (
    <>
      <select
        class="network"
        name="network"
        aria-label="Network"
        value={account.network.id}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {purse.accounts.map(({ network }) => (
          <option key={network.id} value={network.id}>
            {network.name}
          </option>
        ))}
      </select>
      <nav aria-label="Places">
        <ul>
          {PLACES.map(([to, name]) => (
            <li key={to}>
              <a href={to} aria-current={path === to ? "page" : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <Away />
    </>
  );
}

/** That what is shown may be old or not complete, and whose fault that is. */
function Away() {
  const { account, unkept } = useOpened();
  const { standing, seenAt, history } = account;
  return (
    <div role="status" class="away" data-standing={standing.state}>
      {standing.state === "away" && (
        <p>
          {SIDES[wordsOf(standing.error).side]}: {wordsOf(standing.error).text} Shown is what was known{" "}
          {seenAt === undefined ? "before the first contact" : ago(seenAt)}; nothing can be paid until then.
        </p>
      )}
      {history !== undefined && (
        <p data-history={history}>
          {SIDES.device}: Its copy of the pool’s history was damaged.{" "}
          {history === "reading"
            ? "It is being read again; until then balances and activity are not complete."
            : "It has been read again, and nothing was lost."}
        </p>
      )}
      {unkept !== undefined && (
        <p>
          {SIDES[wordsOf(unkept).side]}: {wordsOf(unkept).text} What you chose last holds until this page is
          left.
        </p>
      )}
    </div>
  );
}
