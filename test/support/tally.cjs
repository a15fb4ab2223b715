// Mocha's own "spec" report, and beside it the counts as data: scripts/build/test.mjs sums them.
const { writeFileSync } = require("node:fs");
const { reporters, Runner } = require("mocha");

module.exports = class Tally extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const file = process.env.CLOISTER_TALLY;
      if (file === undefined) return;
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      const failures = this.failures.map((test) => `${test.fullTitle()}\n${String(test.err?.stack ?? "")}`);
      writeFileSync(file, JSON.stringify({ passed, failed, skipped, failures }));
    });
  }
};
