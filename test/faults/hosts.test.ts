/** The suite's own processes: what is killed is started again, whatever it had said before it was gone. */
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Place, Reserve } from "./seeded/hosts.ts";
import { until } from "../support/until.ts";

/** Says that it listens a moment after it was told to run; ends by itself when it is told to stop. */
const HOST = `
import { writeFileSync } from "node:fs";
const mark = process.argv[2];
process.on("message", (told) => {
  if (told.do === "stop") process.exit(3);
  if (told.do !== "run") return;
  writeFileSync(mark, "");
  setTimeout(() => console.log(JSON.stringify({ msg: "listening", port: 9 })), 200);
});
process.on("disconnect", () => process.exit(0));
process.send({ is: "loaded" });
`;

describe("faults/hosts", function () {
  let folder: string;
  let mark: string;
  let reserve: Reserve;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-hosts-"));
    mark = path.join(folder, "mark");
    const host = path.join(folder, "host.mjs");
    await writeFile(host, HOST);
    reserve = new Reserve({ host, main: mark, relay: "", attester: "", altchain: "", exchange: "", folder });
  });
  afterEach(async () => {
    await reserve.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("starts one again that was killed in its start, when it had just said that it listens", async () => {
    const place = new Place(reserve, {});
    const starting = place.start();
    await until("it to run", () => existsSync(mark));
    // What it says meanwhile is read after it was killed.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    rmSync(mark);
    place.kill();
    await starting;
    await until("another to run", () => existsSync(mark));
    await place.serving();
    assert.ok(place.isUp);
    assert.equal(place.kills, 1);
  });

  it("says so when one ended that nobody killed, instead of waiting for it", async () => {
    const place = new Place(reserve, {});
    await place.start();
    await place.stop();
    await assert.rejects(place.serving(), /a proxy ended by itself/);
  });
});
