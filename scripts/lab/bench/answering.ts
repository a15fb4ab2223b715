// What runs in a process of its own (child.ts).

/** The other side: answers one question after the other until the parent goes. */
export function answer(work: (question: never) => Promise<unknown>): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (question) => {
    work(question as never).then(
      (ok) => process.send?.({ ok }),
      (error: unknown) => process.send?.({ fault: error instanceof Error ? error.message : String(error) }),
    );
  });
}
