/** Who is signed in, for every screen within the frame. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Me } from "../../contract/account.ts";

export const MeContext = createContext<Me | undefined>(undefined);

export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error("a screen stands outside the frame");
  return me;
}
