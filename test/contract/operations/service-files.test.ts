// The proxy's unit against the tree: what it names exists.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { configHelp } from "../../../proxy/base/settings.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const read = (file: string): Promise<string> => readFile(path.join(PROJECT_ROOT, file), "utf8");
const settings = new Set(configHelp().match(/\bCLOISTER_[A-Z_]+/g));

function requireSettings(text: string): void {
  const named = text.match(/\bCLOISTER_[A-Z_]+(?==)/g) ?? [];
  assert.ok(named.length > 0);
  for (const name of named) assert.ok(settings.has(name), name);
}

describe("the proxy as a service", () => {
  it("the unit starts the proxy as the user of the enclave's bridge, with rights to its own folder alone", async () => {
    const unit = await read("scripts/operations/cloister-proxy.service");
    requireSettings(unit);
    const valueOf = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];
    const script = /^\/usr\/bin\/node --import tsx (\S+)$/.exec(valueOf("ExecStart") ?? "")?.[1];
    assert.ok(script !== undefined && existsSync(path.join(PROJECT_ROOT, script)));
    const steps = await read("scripts/image/README.md");
    assert.match(steps, new RegExp(`useradd --system --user-group ${valueOf("User") ?? ""}\n`));
    assert.match(valueOf("Environment") ?? "", /CLOISTER_DATA_DIR=\/var\/lib\/cloister$/);
    assert.equal(valueOf("StateDirectory"), "cloister");
    const bridge = await read("scripts/image/host/cloister-vsock-bridge.service");
    assert.match(bridge, new RegExp(`^Group=${valueOf("Group") ?? ""}$`, "m"));
    assert.match(valueOf("After") ?? "", /cloister-vsock-bridge\.service/);
    for (const [name, value] of [
      ["NoNewPrivileges", "yes"],
      ["CapabilityBoundingSet", ""],
      ["ProtectSystem", "strict"],
      ["ProtectHome", "yes"],
      ["PrivateTmp", "yes"],
      ["PrivateDevices", "yes"],
      ["StateDirectoryMode", "0700"],
      ["UMask", "0077"],
    ] as const)
      assert.equal(valueOf(name), value, name);
    // A secret in a unit is shown to everybody by systemctl.
    assert.doesNotMatch(unit, /^Environment=.*(KEY|PEPPER|REDIS_URL)/m);
    assert.doesNotMatch(unit, /^ReadWritePaths=/m);
    assert.match(await read("proxy/README.md"), /cloister-proxy\.service/);
  });

  it("the relay's unit is the proxy's but for what it starts, its settings, and what it waits for", async () => {
    const [proxys, relays] = await Promise.all(
      ["proxy", "relay"].map((name) => read(`scripts/operations/cloister-${name}.service`)),
    );
    const lines = (unit = ""): string[] =>
      unit.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const own = lines(relays).filter((line) => !lines(proxys).includes(line));
    assert.deepEqual(own, [
      "Description=Cloister's bridge relay",
      "After=network-online.target cloister-proxy.service",
      "EnvironmentFile=/etc/cloister/relay.env",
      "ExecStart=/usr/bin/node --import tsx proxy/relay/main.ts",
    ]);
    const left = lines(proxys).filter((line) => !lines(relays).includes(line));
    assert.deepEqual(
      left.map((line) => line.split("=")[0]),
      ["Description", "After", "EnvironmentFile", "ExecStart", "LimitNOFILE"],
    );
  });
});
