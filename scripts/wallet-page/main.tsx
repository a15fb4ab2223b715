/** Begins the page: its configuration and what this browser kept, then the screens. */
import "./first.ts";
import { render } from "preact";
import { App } from "./app.tsx";
import { loadConfig } from "./config.ts";
import { applyTheme, readSettings } from "./settings.ts";
import { hasVault } from "./vault.ts";

const place = document.getElementById("app");
if (place === null) throw new Error("the page has no place for the application");

try {
  const [config, settings, isKnown] = await Promise.all([loadConfig(), readSettings(), hasVault()]);
  applyTheme(settings);
  render(<App config={config} settings={settings} isKnown={isKnown} />, place);
} catch {
  render(
    <p role="alert">
      This page could not be started: its configuration or this browser’s storage cannot be read.
    </p>,
    place,
  );
}

// A page that was left can come back out of the browser's memory, with the phrase in it: then it begins anew, locked.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});

// Shows the last known state when there is no network. Where it cannot be had, the page works as before.
if ("serviceWorker" in navigator)
  navigator.serviceWorker
    .register("/assets/offline.js", { scope: "/", type: "module", updateViaCache: "none" })
    .catch(() => undefined);
