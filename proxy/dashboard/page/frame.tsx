/** The menu and the screen beside it. */
import { ErrorBoundary, lazy, Route, Router, useLocation } from "preact-iso";
import { useEffect, useRef } from "preact/hooks";
import type { Me } from "../contract/account.ts";
import { isWithin, MENU } from "./menu.ts";
import { Act } from "./parts/button.tsx";
import { Mark } from "./parts/icons.tsx";
import { ask } from "./service/ask.ts";
import { MeContext } from "./service/me.ts";
import { leave } from "./service/session.ts";
import { NotHere, Unloadable } from "./screens/not-here.tsx";

/** A screen that cannot be loaded says so, in its own place. */
const screen = (load: () => Promise<{ default: () => preact.JSX.Element }>) =>
  lazy(() => load().catch(() => ({ default: Unloadable })));

const SCREENS = {
  developer: [
    ["/", screen(() => import("./screens/overview.tsx"))],
    ["/tickets", screen(() => import("./screens/tickets.tsx"))],
    ["/tickets/:id", screen(() => import("./screens/ticket.tsx"))],
    ["/keys", screen(() => import("./screens/keys.tsx"))],
    ["/origins", screen(() => import("./screens/origins.tsx"))],
    ["/apps", screen(() => import("./screens/apps.tsx"))],
    ["/sessions", screen(() => import("./screens/sessions.tsx"))],
    ["/fees", screen(() => import("./screens/fees.tsx"))],
    ["/audit", screen(() => import("./screens/audit.tsx"))],
    ["/account", screen(() => import("./screens/account.tsx"))],
  ],
  operator: [
    ["/", screen(() => import("./screens/operator/health.tsx"))],
    ["/alarms", screen(() => import("./screens/operator/alarms.tsx"))],
    ["/queue", screen(() => import("./screens/operator/queue.tsx"))],
    ["/enclaves", screen(() => import("./screens/operator/enclaves.tsx"))],
    ["/bridges", screen(() => import("./screens/operator/bridges.tsx"))],
    ["/developers", screen(() => import("./screens/operator/developers.tsx"))],
    ["/invitations", screen(() => import("./screens/operator/invitations.tsx"))],
    ["/accounts", screen(() => import("./screens/operator/accounts.tsx"))],
    ["/approvals", screen(() => import("./screens/operator/approvals.tsx"))],
    ["/schedule", screen(() => import("./screens/operator/schedule.tsx"))],
    ["/audit", screen(() => import("./screens/operator/audit.tsx"))],
    ["/account", screen(() => import("./screens/account.tsx"))],
  ],
} as const;

export function Frame({ me }: { readonly me: Me }) {
  return (
    <MeContext.Provider value={me}>
      <a class="skip" href="#content">
        Skip the menu
      </a>
      <div class="frame">
        <Side me={me} />
        <main id="content" tabIndex={-1}>
          <ErrorBoundary>
            <Router>
              {SCREENS[me.account.role].map(([path, component]) => (
                <Route key={path} path={path} component={component} />
              ))}
              <Route default component={NotHere} />
            </Router>
          </ErrorBoundary>
        </main>
      </div>
    </MeContext.Provider>
  );
}

function Side({ me }: { readonly me: Me }) {
  const { path } = useLocation();
  const folded = useRef<HTMLDetailsElement>(null);
  // On a phone the menu covers the screen; after the choice it is in the way.
  useEffect(() => {
    if (folded.current !== null) folded.current.open = false;
  }, [path]);
  const menu = <Menu me={me} path={path} />;
  return (
    <header class="side">
      <div class="desk-only">
        <a class="brand" href="/">
          <Mark />
          Cloister
        </a>
        {menu}
      </div>
      <details class="phone-only" ref={folded}>
        <summary>
          <span class="brand">
            <Mark />
            Cloister menu
          </span>
        </summary>
        {menu}
      </details>
    </header>
  );
}

function Menu({ me, path }: { readonly me: Me; readonly path: string }) {
  return (
    <>
      <nav aria-label="Screens">
        {MENU[me.account.role].map(({ title, entries }) => (
          <div key={title}>
            <h2>{title}</h2>
            <ul>
              {entries.map(({ path: to, text }) => (
                <li key={to}>
                  <a href={to} aria-current={isWithin(path, to) ? "page" : undefined}>
                    {text}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class="who">
        <div>{me.account.name}</div>
        <div class="muted">{me.developer?.name ?? "operator"}</div>
        <div class="muted">{me.instance.network}</div>
        <Act small act={signOut}>
          Sign out
        </Act>
      </div>
    </>
  );
}

async function signOut(): Promise<void> {
  await ask("signOut", { body: {} });
  leave();
}
