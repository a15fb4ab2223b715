/** What is loaded with a wallet and not with the page: what opens and seals its storage, and what reads a long history. */
export { StateStore } from "../state/state-store.ts";
export { readHistory } from "./read-history.ts";
