// How long the tasks of a page's own thread were in processor time, which other work on the machine does not lengthen: from
// the browser's trace. The browser's `longtask` entries are of elapsed time.
import * as z from "zod";
import type { CDPSession, Page } from "playwright-core";

const traced = z.object({
  name: z.string(),
  pid: z.number(),
  tid: z.number(),
  ph: z.string(),
  /** Processor time of the thread, in microseconds. */
  tdur: z.number().optional(),
  args: z.object({ name: z.string().optional() }).loose().optional(),
});
type Traced = z.infer<typeof traced>;

/** Milliseconds of the longest task while `work` was under way. Only one page may be open. */
export async function longestTask(page: Page, work: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const events: Traced[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...z.array(traced).parse(value)));
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "__metadata"] },
  });
  await work();
  await ended(session);
  await session.detach();
  const isMain = ({ name, args }: Traced): boolean =>
    name === "thread_name" && args?.name === "CrRendererMain";
  const threads = new Set(events.filter(isMain).map(({ pid, tid }) => `${pid}/${tid}`));
  const tasks = events.filter(({ tdur, pid, tid }) => tdur !== undefined && threads.has(`${pid}/${tid}`));
  if (tasks.length === 0) throw new Error("the trace has no task of a page");
  return Math.max(...tasks.map(({ tdur }) => tdur! / 1000));
}

async function ended(session: CDPSession): Promise<void> {
  const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await complete;
}
