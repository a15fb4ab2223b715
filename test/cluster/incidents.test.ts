/**
 * The dashboard and the ten incidents of the operator's guide, on a real cluster under a real Prometheus: every query of
 * every panel is answered; each incident is brought about, the alarm of its name is due by the rule itself, and what the
 * guide says to type is typed while it lasts.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HDNodeWallet, Wallet } from "ethers";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { freePort } from "../../scripts/stack/ports.ts";
import { blocksOf, openShell, type Block } from "../support/guide.ts";
import { hasPrometheus, startPrometheus, type Prometheus } from "../support/prometheus.ts";
import { startRedis, type RedisServer } from "../support/redis.ts";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";
import { startTestCluster, type TestCluster } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { until } from "../support/until.ts";
import { incidents, relayTo, type Incident } from "./incidents.ts";

const GUIDE = "scripts/operations/GUIDE.md";
const DASHBOARD = "scripts/operations/grafana-dashboard.json";
const UNIT = 1_000_000n;

/** Queries that have nothing to show on this stack, by a part of them, and why. */
const NOTHING_TO_SHOW: readonly (readonly [string, string])[] = [
  ['outcome="unreachable"', "the node has answered every question"],
  ['code="RATE_LIMITED"', "only policies that were used up have a series, and nobody's was"],
];

/** A machine that runs other tests beside may answer slowly. */
const OF_SPEED = ["CloisterAnswersSlow", "CloisterEnclaveSlow"];

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

describe("the operator's incidents (needs prometheus, and to be root for a disk of its own)", function () {
  this.timeout(300_000);
  let on: TestCluster;
  let prometheus: Prometheus;
  let limits: RedisServer;
  let disk: SmallDisk;
  let etc: string;
  let guide: readonly Block[];
  let cases: Readonly<Record<string, Incident>>;
  /** Of what was begun, in its order. */
  const ends: (() => unknown)[] = [];

  before(async function () {
    const mounted = (await hasPrometheus()) ? mountSmallDisk(256) : undefined;
    if (mounted === undefined) return this.skip();
    disk = mounted;
    ends.push(() => disk.remove());
    guide = await blocksOf(GUIDE);
    etc = await mkdtemp(path.join(tmpdir(), "cloister-incidents-"));
    ends.push(() => rm(etc, { recursive: true, force: true }));
    limits = await startRedis();
    ends.push(() => limits.kill());
    const guardian = new Wallet(HDNodeWallet.createRandom().privateKey);
    const operations: number[] = [];
    let node: Awaited<ReturnType<typeof relayTo>> | undefined;
    ends.push(() => node?.close());
    on = await startTestCluster(
      { proxies: 2, enclaves: 1 },
      {
        bridges: true,
        proxySettings: { CLOISTER_LIMITS_REDIS_URL: limits.url },
        poolTerms: { guardian: asAddress(guardian.address.toLowerCase()) },
        eachProxy: async (number, settings) => {
          node ??= await relayTo(settings["CLOISTER_RPC_URL"] ?? "");
          const [port, operationsPort] = [await freePort(), await freePort()];
          operations.push(operationsPort);
          const own = {
            ...settings,
            CLOISTER_PORT: String(port),
            CLOISTER_OPERATIONS_PORT: String(operationsPort),
            CLOISTER_RPC_URL: `http://127.0.0.1:${String(node.port)}`,
            ...(number === 1 ? { CLOISTER_DATA_DIR: path.join(disk.folder, "store") } : {}),
          };
          const lines = Object.entries(own).map(([name, value]) => `${name}=${value}\n`);
          await mkdir(etc, { recursive: true });
          // The first's; the disk that fills up is the second's.
          await writeFile(path.join(etc, number === 0 ? "proxy.env" : "second.env"), lines.join(""));
          return own;
        },
      },
    );
    ends.push(() => on.stop());
    const relays = Number(on.local.relay().ready["operations_port"]);
    await writeFile(path.join(etc, "relay.env"), `CLOISTER_RELAY_OPERATIONS_PORT=${String(relays)}\n`);
    prometheus = await startPrometheus([...operations, relays].map((port) => `127.0.0.1:${String(port)}`));
    ends.push(() => prometheus.stop());
    await on.chain.send("anvil_setBalance", [guardian.address, "0xde0b6b3a7640000"]);
    cases = incidents({ on, node: node!, limits, disk, guardian });
    await until("both proxies and the relay to be scraped", async () => {
      const found = await prometheus.query("up == 1");
      return found.length === 3;
    });
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  it("every query of the dashboard is answered, and shows something on a service that has worked", async () => {
    const wallet = await on.wallet();
    const { ticket } = await wallet.deposit(20n * UNIT, await on.depositor(20n * UNIT));
    await until("it to end", async () => (await on.client.ticket(ticket.ticket_id)).state === "finalized");
    // So that there is an open request.
    await wallet.bridges.fromExchange();
    const { panels } = JSON.parse(await readFile(path.join(PROJECT_ROOT, DASHBOARD), "utf8")) as {
      readonly panels: readonly Panel[];
    };
    const exprs = panels
      .filter(({ type }) => type !== "row")
      .flatMap(({ title, targets = [] }) =>
        targets.map(
          ({ expr }) =>
            [title, expr.replaceAll("$instance", ".*").replaceAll("$__rate_interval", "1m")] as const,
        ),
      );
    assert.ok(exprs.length > 40, String(exprs.length));
    const unused = new Set(NOTHING_TO_SHOW.map(([part]) => part));
    for (const [title, expr] of exprs) {
      assert.doesNotMatch(expr, /\$/, title);
      const exception = NOTHING_TO_SHOW.find(([part]) => expr.includes(part));
      if (exception === undefined) {
        // A rate needs two looks behind what it counts.
        await until(
          `${title} to show something: ${expr}`,
          async () => (await prometheus.query(expr)).length > 0,
        );
      } else {
        await prometheus.query(expr);
        unused.delete(exception[0]);
      }
    }
    assert.deepEqual([...unused], [], "exceptions of no query");
    await assert.rejects(prometheus.query("sum by ("), /parse error/);
  });

  it("no alarm is due on a service that works, but for those of a slow machine", async () => {
    const alerts = await prometheus.alerts();
    assert.deepEqual(
      [...alerts].filter(([name, state]) => state !== "inactive" && !OF_SPEED.includes(name)),
      [],
    );
    for (const name of OF_SPEED) assert.ok(alerts.has(name), name);
  });

  it("the guide has ten, each with its alarm, what to type, what to do, and what happens to the money", async () => {
    const text = await readFile(path.join(PROJECT_ROOT, GUIDE), "utf8");
    const [, chapter = ""] = text.split("\n## 7. Ten incidents\n");
    const sections = chapter.split(/^### /m).slice(1);
    const alarms = sections.map((section) => /^\*\*Alarm:\*\* `(\w+)`/m.exec(section)?.[1]);
    assert.deepEqual(alarms, Object.keys(cases));
    assert.equal(alarms.length, 10);
    for (const section of sections) {
      for (const part of ["**See it:**", "**Do:**", "**The money:**"])
        assert.ok(section.includes(part), section);
      for (const [, named = ""] of section.matchAll(/`(Cloister[A-Z]\w+)`/g))
        assert.ok((await prometheus.alerts()).has(named), named);
    }
  });

  for (const alarm of [
    "CloisterProxyDown",
    "CloisterUnreachable",
    "CloisterEnclaveBusyOrUnreachable",
    "CloisterNodeSilent",
    "CloisterStoreUnreachable",
    "CloisterLimitsAlone",
    "CloisterGasLow",
    "CloisterDiskNearlyFull",
    "CloisterBridgeVenueAway",
    "CloisterAttestedPathClosed",
  ])
    it(`${alarm} is due while its incident lasts, and what the guide says to type shows it`, async () => {
      const incident = cases[alarm]!;
      const isDue = async (wanted: boolean): Promise<boolean> =>
        ((await prometheus.alerts()).get(alarm) !== "inactive") === wanted;
      assert.ok(await isDue(false), "it is due before");
      await incident.begin();
      await until(`${alarm} to be due`, async () => {
        await incident.meanwhile?.();
        return isDue(true);
      });
      await typeWhatTheGuideSays(Object.keys(cases).indexOf(alarm) + 1);
      if (incident.end === undefined) return;
      await incident.end();
      await until(
        "the service to work again",
        async () => (await on.client.health().catch(() => undefined))?.status === "ok",
      );
    });

  async function typeWhatTheGuideSays(number: number): Promise<void> {
    const shell = openShell({}, [
      ["/opt/cloister", PROJECT_ROOT],
      ["/etc/cloister", etc],
      ["http://127.0.0.1:9090", prometheus.url],
      // Whose disk it is.
      ...(number === 8 ? [["settings proxy", "settings second"] as const] : []),
    ]);
    try {
      for (const { kind, text } of guide) if (kind === "sh words") await shell.type(text);
      const own = guide.filter(
        ({ kind, under }) =>
          kind === "sh" &&
          under[1]?.startsWith(`${String(number)}. `) === true &&
          under[0]?.startsWith("7. "),
      );
      assert.equal(own.length, 1);
      for (const { text } of own) await shell.type(text);
    } finally {
      await shell.close();
    }
  }
});
