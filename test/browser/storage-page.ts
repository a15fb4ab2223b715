// A page that saves to IndexedDB without end, and tells what it finds there.
import { indexedDbStorage, type StoredBytes } from "../../shared/client/index.ts";

declare global {
  interface Window {
    storage: typeof page;
  }
}

const PARTS = 12;
const PART_BYTES = 40_000;
const held = indexedDbStorage(indexedDB, "cut", "wallet");
const roundOf = (found: StoredBytes | undefined): number =>
  found === undefined ? 0 : Number(new TextDecoder().decode(found.bytes));
const nameOf = (round: number, part: number): string => `${String(round)}-${String(part)}`;

const page = {
  rounds: 0,
  /** Each save replaces all parts but one, and is full of its own number. */
  async saveOn(): Promise<never> {
    for (;;) {
      const found = await held.load();
      const round = 1 + roundOf(found);
      const added = new Map(
        Array.from({ length: PARTS }, (_, part) => [
          nameOf(round, part),
          new Uint8Array(PART_BYTES).fill(round),
        ]),
      );
      const named = new Set([...added.keys(), ...(round > 1 ? [nameOf(round - 1, 0)] : [])]);
      const version = await held.parts!.save(new TextEncoder().encode(String(round)), found?.version, {
        added,
        named,
      });
      if (version !== undefined) page.rounds += 1;
    }
  },
  async read(name: string): Promise<Uint8Array | undefined> {
    return (await held.parts!.read([name])).get(name);
  },
  /** How far it came; a text says what is wrong. */
  async check(): Promise<number | string> {
    const found = await held.load();
    if (found === undefined) return 0;
    const round = roundOf(found);
    for (let part = 0; part < PARTS; part++) {
      const bytes = await page.read(nameOf(round, part));
      if (bytes?.length !== PART_BYTES || bytes.some((byte) => byte !== round % 256))
        return `part ${String(part)}`;
    }
    if (round > 1 && (await page.read(nameOf(round - 1, 0))) === undefined) return "what stays is gone";
    if ((await page.read(nameOf(round - 1, 1))) !== undefined) return "what goes is there";
    return round;
  },
  /** That a save for a version that is none any more changes nothing. */
  async stale(): Promise<boolean> {
    const found = await held.load();
    const change = { added: new Map([["stale", Uint8Array.of(1)]]), named: new Set<string>() };
    const version = await held.parts!.save(Uint8Array.of(9), "another", change);
    const again = await held.load();
    return (
      version === undefined && again?.version === found?.version && (await page.read("stale")) === undefined
    );
  },
};
window.storage = page;
