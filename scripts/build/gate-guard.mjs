// Clears up behind a gate whose folder is the argument. It reads what only the gate writes: the end of that means that the
// gate has ended, by itself or killed. The word "keep" before it leaves the folder.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [folder] = process.argv.slice(2);
// Ctrl-C is for the gate.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

let said = "";
for await (const text of process.stdin.setEncoding("utf8")) said += text;

/** All that a gate starts has its folder for temporary files, the children of its stacks too. */
function isOfGate(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`TMPDIR=${folder}/tmp`);
  } catch {
    return false; // It has ended.
  }
}

const ofGate = () =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && isOfGate(name));

for (let left = ofGate(); left.length > 0; left = ofGate()) {
  for (const pid of left)
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended.
    }
  await sleep(100);
}
if (said !== "keep") rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
