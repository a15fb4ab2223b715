/** For a path that is none, and for a screen that could not be loaded. */
import { Press } from "../parts/button.tsx";
import { Screen } from "../parts/screen.tsx";

export function NotHere() {
  return (
    <Screen title="There is nothing here" known="Nothing is asked for on this page.">
      <p>
        The address may be mistyped, or meant for another role. <a href="/">Go to the start.</a>
      </p>
    </Screen>
  );
}

/** The connection was lost, or a new version was put up since this page was opened. */
export function Unloadable() {
  return (
    <Screen title="This screen could not be loaded" known="Nothing was asked for yet.">
      <p>The connection was lost, or there is a new version of this page.</p>
      <Press
        look="main"
        onPress={() => {
          location.reload();
        }}
      >
        Load it again
      </Press>
    </Screen>
  );
}
