/** Holds processes still with SIGSTOP, so that "it has not answered yet" is certain and not a matter of luck. */
export interface Frozen {
  /** A process group of its own: a party with its children, in the middle of whatever they do. */
  freeze(pid: number): void;
  /** All of them. */
  thaw(): void;
}

export function frozenProcesses(): Frozen {
  const frozen = new Set<number>();
  return {
    freeze(pid) {
      process.kill(-pid, "SIGSTOP");
      frozen.add(pid);
    },
    thaw() {
      for (const pid of frozen) process.kill(-pid, "SIGCONT");
      frozen.clear();
    },
  };
}
