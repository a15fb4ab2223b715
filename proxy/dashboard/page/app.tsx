/** Who sees what: an invitation, the way in, or the screens of a developer or an operator. */
import { LocationProvider, useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { DoorDialog } from "./parts/door-dialog.tsx";
import { Notice } from "./parts/words.tsx";
import { Press } from "./parts/button.tsx";
import { Frame } from "./frame.tsx";
import { Invitation } from "./screens/invitation.tsx";
import { SignIn } from "./screens/sign-in.tsx";
import { wordsOf } from "./service/faults.ts";
import { askWhoIsIn, lookWhoIsIn, session } from "./service/session.ts";
import { useCell } from "./service/cell.ts";

export function App() {
  useEffect(() => {
    void askWhoIsIn();
    const look = (): void => {
      if (!document.hidden) void lookWhoIsIn();
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return (
    <LocationProvider>
      <Shown />
      <DoorDialog />
    </LocationProvider>
  );
}

function Shown() {
  const standing = useCell(session);
  const { path } = useLocation();
  if (path === "/invitation") return <Invitation />;
  switch (standing.kind) {
    case "asking":
      return <p class="alone muted" aria-busy="true" />;
    case "out":
      return <SignIn />;
    case "in":
      return <Frame me={standing.me} />;
    case "unknown":
      return (
        <main class="alone">
          <h1>Nobody answers</h1>
          <Notice tone="bad">{wordsOf(standing.error)}</Notice>
          <Press onPress={() => void askWhoIsIn()}>Try again</Press>
        </main>
      );
  }
}
