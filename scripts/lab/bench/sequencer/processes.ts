// What a process and its descendants have used, as Linux tells it under /proc. Elsewhere nothing is known.

import { readdirSync, readFileSync } from "node:fs";

/** Of /proc/<pid>/stat on every platform that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface Usage {
  /** Processor time, user and system, since it began. A descendant that has ended is not in it. */
  readonly cpuSeconds: number;
  readonly residentMb: number;
  /** Of that, what is no copy of a file: an embedded store is read through the system's pages of its file. */
  readonly anonymousMb: number;
}

/** Undefined where there is no /proc, or when the process is gone. */
export function usageOf(pid: number): Usage | undefined {
  const all = processes();
  const family = new Set([pid]);
  // Children may be listed before their parents.
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const { pid: child, parent } of all) if (family.has(parent)) family.add(child);
  }
  const own = all.filter((one) => family.has(one.pid));
  if (!own.some((one) => one.pid === pid)) return undefined;
  const sum = (part: keyof Usage): number => own.reduce((total, one) => total + one[part], 0);
  return { cpuSeconds: sum("cpuSeconds"), residentMb: sum("residentMb"), anonymousMb: sum("anonymousMb") };
}

interface Process extends Usage {
  readonly pid: number;
  readonly parent: number;
}

function processes(): Process[] {
  const names = attempt(() => readdirSync("/proc")) ?? [];
  return names.flatMap((name) => {
    if (!/^[0-9]+$/.test(name)) return [];
    const stat = attempt(() => readFileSync(`/proc/${name}/stat`, "latin1"));
    const status = attempt(() => readFileSync(`/proc/${name}/status`, "latin1"));
    if (stat === undefined || status === undefined) return [];
    // The name of the program stands in parentheses and may hold anything; behind it are state, parent, and so on.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [parent, user, system] = [fields[1], fields[11], fields[12]].map(Number);
    const megabytes = (line: string): number =>
      (Number(new RegExp(`^${line}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024) / 1e6;
    return [
      {
        pid: Number(name),
        parent: parent ?? 0,
        cpuSeconds: ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND,
        residentMb: megabytes("VmRSS"),
        anonymousMb: megabytes("RssAnon"),
      },
    ];
  });
}

/** A process may end between being listed and being read. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
