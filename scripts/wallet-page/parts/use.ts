/** The open purse for all screens, and a redraw when a wallet has changed. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Config } from "../config.ts";
import type { Account, Purse } from "../purse.ts";
import type { Settings } from "../settings.ts";

export interface Opened {
  readonly config: Config;
  readonly purse: Purse;
  /** On the network that is chosen. */
  readonly account: Account;
  readonly settings: Settings;
  readonly choose: (network: string) => void;
  readonly change: (settings: Partial<Settings>) => void;
  /** Why the last change is not stored; undefined where it is. */
  readonly unkept: unknown;
  readonly lock: () => void;
}

export const OpenedContext = createContext<Opened | undefined>(undefined);

export function useOpened(): Opened {
  const opened = useContext(OpenedContext);
  if (opened === undefined) throw new Error("no wallet is open here");
  const [, redraw] = useState(0);
  const { purse } = opened;
  useEffect(() => purse.listen(() => redraw((count) => count + 1)), [purse]);
  return opened;
}

export function useAccount(): Account {
  return useOpened().account;
}
