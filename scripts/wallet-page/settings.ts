/** What a person has chosen in this browser. Nothing secret. */
import * as z from "zod";
import { read, write } from "./kept.ts";

const settings = z.object({
  /** The phrase was written down, and asked for. */
  isBackedUp: z.boolean().default(false),
  network: z.string().optional(),
  theme: z.enum(["system", "light", "dark"]).default("system"),
});
export type Settings = z.infer<typeof settings>;

/** An entry that cannot be read is as none: only choices are in it. */
export async function readSettings(): Promise<Settings> {
  return settings.safeParse((await read("settings")) ?? {}).data ?? settings.parse({});
}

export async function changeSettings(change: Partial<Settings>): Promise<Settings> {
  const changed = { ...(await readSettings()), ...change };
  await write("settings", changed);
  return changed;
}

export function applyTheme({ theme }: Settings): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
}
