/** What is loaded with a wallet and not with the page: what opens and seals its storage, and what reads a long history. */
export { StateStore } from "./state-store.ts";
export { readHistory } from "./column/read-history.ts";
