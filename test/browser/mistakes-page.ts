// The page of the mistakes' browser test: plays one mistake of the table.
import { MISTAKES, play, type Played, type Stage } from "../contract/client/mistakes.ts";

declare global {
  interface Window {
    playMistake: typeof playMistake;
  }
}

const playMistake = (at: number, stage: Stage): Promise<Played> => play(MISTAKES[at]!, stage);
window.playMistake = playMistake;
