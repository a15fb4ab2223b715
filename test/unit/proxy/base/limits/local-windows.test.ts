import { LocalWindows } from "../../../../../proxy/base/limits/local-windows.ts";
import { windowStoreSuite } from "../../../../support/window-stores.ts";

describe("LocalWindows, as every window store", () => {
  let now = 1_000_000;
  const store = new LocalWindows(() => now);
  windowStoreSuite(() => ({
    store,
    pass: async (ms) => {
      now += ms;
    },
  }));
});
