// What lies where: a folder outside the rules, a package the enclave did not decide on, or a name of
// a package server in a committed file would each pass every other check.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { PROJECT_ROOT, plantTree } from "../../support/tree.ts";
import { ruleNames } from "./cruise.ts";

const TOP_LEVEL = new Set([
  ...["package.json", "package-lock.json", "tsconfig.json", "eslint.config.js"],
  ...["LICENSE", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"],
  ...["enclave", "proxy", "shared", "scripts", "test"],
]);

/** The whole trusted dependency list. A new name here is a decision of two people. */
const ENCLAVE_PACKAGES = ["@noble/curves", "@noble/hashes"];
const MAX_ENCLAVE_PACKAGES = 2;

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly scripts?: Record<string, string>;
}
interface Lock {
  readonly lockfileVersion: number;
  readonly packages: Record<string, { integrity?: string; resolved?: string; hasInstallScript?: boolean }>;
}

const readJson = <T>(file: string): T => JSON.parse(readFileSync(path.join(PROJECT_ROOT, file), "utf8")) as T;

/** Files that git holds or would take in; in a copy without git, all that is not built or installed. */
function committedFiles(): string[] {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listed = execFileSync("git", args, { cwd: PROJECT_ROOT, encoding: "utf8", maxBuffer: 1 << 26 });
  return listed.split("\0").filter((file) => file !== "" && existsSync(path.join(PROJECT_ROOT, file)));
}

/** What the rules whose names begin so are about, such as the rooms of the proxy. */
const ruledBy = (prefix: string, suffix = ""): Set<string> =>
  new Set(
    ruleNames()
      .filter((name) => name.startsWith(prefix) && name.endsWith(suffix))
      .map((name) => name.slice(prefix.length, name.length - suffix.length)),
  );
/** Entries of proxy/, beside documents, that no rule knows as a room. */
const outsideTheRooms = (proxy: string): string[] =>
  readdirSync(proxy).filter((name) => !name.endsWith(".md") && !ruledBy("room-").has(name));

const { SUITES, filesOf } = (await import(path.join(PROJECT_ROOT, "scripts/build/testing/suites.mjs"))) as {
  readonly SUITES: object;
  filesOf(suite: string, isRelease: boolean): readonly string[];
};

describe("borders: folders", () => {
  it("the top level holds only what the layout names, and dotfiles", () => {
    const top = new Set(committedFiles().map((file) => file.split("/")[0] ?? ""));
    assert.deepEqual(
      [...top].filter((name) => !TOP_LEVEL.has(name) && !name.startsWith(".")),
      [],
    );
  });

  it("every file of proxy/ lies in one of its rooms", () => {
    assert.deepEqual(outsideTheRooms(path.join(PROJECT_ROOT, "proxy")), []);
  });

  it("a proxy folder that is no room is noticed", async () => {
    const tree = await plantTree(
      new Map([
        ["proxy/api/config.ts", ""],
        ["proxy/base/logging.ts", ""],
        ["proxy/helpers/strings.ts", ""],
      ]),
    );
    try {
      assert.deepEqual(outsideTheRooms(path.join(tree.root, "proxy")), ["helpers"]);
    } finally {
      await tree.remove();
    }
  });

  it("every program of shared/ lies in a folder whose reach a rule limits", () => {
    const ruled = ruledBy("shared-", "-reach");
    const programs = committedFiles().filter(
      (file) => /^shared\/.*\.[cm]?[jt]sx?$/.test(file) && !file.endsWith(".d.ts"),
    );
    assert.deepEqual(
      programs.filter((file) => !ruled.has(file.split("/")[1] ?? "")),
      [],
    );
  });

  it("every file of scripts/ lies in one of its folders, which are in an order", () => {
    const rooms = ruledBy("scripts-");
    const others = readdirSync(path.join(PROJECT_ROOT, "scripts")).filter((name) => !rooms.has(name));
    assert.deepEqual(others, []);
  });

  it("every test file belongs to exactly one suite", () => {
    const played = Object.keys(SUITES).flatMap((suite) => filesOf(suite, true));
    const all = committedFiles().filter((file) => file.startsWith("test/") && file.endsWith(".test.ts"));
    assert.deepEqual(played.sort(), all.sort());
  });
});

describe("borders: packages of the enclave", () => {
  const manifest = () => readJson<Manifest>("enclave/package.json");
  const lock = () => readJson<Lock>("enclave/package-lock.json");

  it("are exactly the allowed ones, at the versions of the whole project", () => {
    const root = readJson<Manifest>("package.json");
    const expected = Object.fromEntries(ENCLAVE_PACKAGES.map((name) => [name, root.dependencies?.[name]]));
    assert.deepEqual(manifest().dependencies, expected);
    for (const version of Object.values(expected)) assert.match(version ?? "", /^\d+\.\d+\.\d+$/);
  });

  it("bring no development, optional or peer packages and no scripts", () => {
    const { devDependencies, optionalDependencies, peerDependencies, scripts } = manifest();
    assert.deepEqual(
      { devDependencies, optionalDependencies, peerDependencies, scripts },
      {
        devDependencies: undefined,
        optionalDependencies: undefined,
        peerDependencies: undefined,
        scripts: undefined,
      },
    );
  });

  it("number two at most, each with its hash and none with an install script", () => {
    const installed = Object.entries(lock().packages).filter(([where]) => where !== "");
    assert.ok(
      installed.length > 0 && installed.length <= MAX_ENCLAVE_PACKAGES,
      `${installed.length} packages`,
    );
    for (const [where, entry] of installed) {
      assert.match(entry.integrity ?? "", /^sha512-/, where);
      assert.notEqual(entry.hasInstallScript, true, where);
    }
  });

  it("have the same content as in the lock of the whole project", () => {
    const root = readJson<Lock>("package-lock.json").packages;
    for (const name of ENCLAVE_PACKAGES) {
      const where = `node_modules/${name}`;
      assert.equal(lock().packages[where]?.integrity, root[where]?.integrity, name);
    }
  });
});

describe("borders: committed files", () => {
  it("name no package server: neither lock files nor settings say where packages come from", () => {
    const suspects = committedFiles().filter((file) =>
      /(^|\/)(package-lock\.json|\.[a-z]*rc(\.json)?)$/.test(file),
    );
    assert.ok(suspects.includes("package-lock.json") && suspects.includes(".npmrc"));
    for (const file of suspects) {
      const text = readFileSync(path.join(PROJECT_ROOT, file), "utf8");
      assert.doesNotMatch(text, /"resolved"\s*:|\bregistry\s*=|\bregistry\./, file);
    }
  });

  // npm asks for an entry for every system a package is built for. These were not on the package
  // server when the lock was written, so their hash is unknown; nothing else may lack one.
  it("name a hash for every package, except those built for systems this lock was not made on", () => {
    const lacking = Object.entries(readJson<Lock>("package-lock.json").packages)
      .filter(([where, entry]) => where !== "" && !/^sha512-/.test(entry.integrity ?? ""))
      .map(([where]) => where);
    const elsewhere =
      /^node_modules\/(@foundry-rs\/(anvil|forge)|@msgpackr-extract\/msgpackr-extract)-(darwin|win32|linux-arm)/;
    assert.deepEqual(
      lacking.filter((where) => !elsewhere.test(where)),
      [],
    );
  });

  it("pin every package of the project to one version", () => {
    const { dependencies = {}, devDependencies = {} } = readJson<Manifest>("package.json");
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      assert.match(version, /^\d+\.\d+\.\d+$/, name);
    }
  });

  it("pin TypeScript below 7, which the import rules could not read", () => {
    const { devDependencies = {} } = readJson<Manifest>("package.json");
    assert.match(devDependencies["typescript"] ?? "", /^6\.0\./);
  });
});
