// Mocha's own "spec" report, and beside it the counts and times as data: scripts/build/test.mjs sums them.
const { writeFileSync } = require("node:fs");
const { reporters, Runner } = require("mocha");

module.exports = class Tally extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const groups = timed(runner);
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const file = process.env.CLOISTER_TALLY;
      if (file === undefined) return;
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      const failures = this.failures.map((test) => `${test.fullTitle()}\n${String(test.err?.stack ?? "")}`);
      writeFileSync(file, JSON.stringify({ passed, failed, skipped, failures, groups }));
    });
  }
};

/** Seconds of each outermost group, with its set-up: filled while the tests run. */
function timed(runner) {
  const groups = [];
  let began;
  const isOutermost = (suite) => suite.parent?.root === true;
  runner.on(Runner.constants.EVENT_SUITE_BEGIN, (suite) => {
    if (isOutermost(suite)) began = performance.now();
  });
  runner.on(Runner.constants.EVENT_SUITE_END, (suite) => {
    if (isOutermost(suite)) groups.push({ title: suite.title, secs: (performance.now() - began) / 1000 });
  });
  return groups;
}
