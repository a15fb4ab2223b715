// Which entry of the menu a person is told to be at.
import assert from "node:assert/strict";
import { isWithin, MENU } from "../../../../proxy/dashboard/page/menu.ts";

describe("the dashboard's menu", () => {
  for (const [role, groups] of Object.entries(MENU))
    it(`marks one entry at each screen of ${role === "operator" ? "an operator" : "a developer"}, and on the pages of it`, () => {
      const entries = groups.flatMap((group) => group.entries.map(({ path }) => path));
      for (const entry of entries) {
        const pages = entry === "/" ? [entry] : [entry, `${entry}/0x01`];
        for (const path of pages)
          assert.deepEqual(
            entries.filter((one) => isWithin(path, one)),
            [entry],
          );
      }
    });
});
