// Which files a change plays: on small trees, and on the project itself.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { PROJECT_ROOT } from "../../../support/tree.ts";

type DependenciesOf = (file: string) => ReadonlySet<string>;
interface Selection {
  isPlayed(file: string): boolean;
  readonly why: string;
  readonly changed?: readonly string[];
}
const module = (name: string): Promise<unknown> =>
  import(path.join(PROJECT_ROOT, "scripts/build/testing", name));
const { dependenciesOf, projectFiles } = (await module("sources.mjs")) as {
  dependenciesOf(files: readonly string[], textOf?: (file: string) => string): DependenciesOf;
  projectFiles(): readonly string[];
};
const { selected } = (await module("selection.mjs")) as {
  selected(
    files: readonly string[],
    facts: {
      readonly changed: readonly string[];
      readonly of: DependenciesOf;
      readonly turn: number;
      readonly everything: (why: string) => Selection;
      readonly exists: (file: string) => boolean;
      readonly costOf: (file: string) => number | undefined;
    },
  ): Selection;
};
const { costOf, limitOf } = (await module("times.mjs")) as {
  costOf(file: string): number | undefined;
  limitOf(file: string): number;
};

describe("what a file depends on", () => {
  const of = (tree: Readonly<Record<string, string>>, file: string): readonly string[] =>
    [...dependenciesOf(Object.keys(tree), (name) => tree[name]!)(file)].sort();

  it("what it imports, and what that imports, in circles too", () => {
    const tree = {
      "test/a.test.ts": 'import { a } from "../proxy/a.ts";',
      "proxy/a.ts": 'import type { B } from "./b.ts";',
      "proxy/b.ts": 'export * from "./a.ts";',
      "proxy/c.ts": 'import "./a.ts";',
    };
    assert.deepEqual(of(tree, "test/a.test.ts"), ["proxy/a.ts", "proxy/b.ts", "test/a.test.ts"]);
  });

  it("what it names from the project's root, also in parts, and all of a folder", () => {
    const tree = {
      "test/a.test.ts":
        'run("proxy/api/main.ts"); path.join(ROOT, "shared", "text.md"); new URL("./data/", here);',
      "test/data/one.json": "{}",
      "proxy/api/main.ts": "",
      "proxy/other.ts": "",
      "shared/text.md": '"proxy/other.ts"',
    };
    assert.deepEqual(of(tree, "test/a.test.ts"), [
      "proxy/api/main.ts",
      "shared/text.md",
      "test/a.test.ts",
      "test/data/one.json",
    ]);
  });

  it("of what is built, all that it is built from", () => {
    const tree = {
      "test/a.test.ts": 'path.join(ROOT, ".cloister/build/contracts")',
      "shared/contracts/Pool.sol": "",
      "shared/client/wallet/wallet.ts": "",
    };
    assert.deepEqual(of(tree, "test/a.test.ts"), ["shared/contracts/Pool.sol", "test/a.test.ts"]);
  });

  describe("in this project", () => {
    const dependencies = dependenciesOf(projectFiles());
    const requires = (file: string, ...sources: readonly string[]): void => {
      for (const source of sources) assert.ok(dependencies(file).has(source), `${file} on ${source}`);
    };
    it("whoever starts a stack depends on its programs, its contracts and its image", () => {
      requires("test/e2e/info.test.ts", "proxy/api/app.ts", "enclave/main.ts");
      requires("test/e2e/info.test.ts", "shared/contracts/Pool.sol", "scripts/stand-ins/kms/server.ts");
      requires("test/contract/pool/caps.test.ts", "shared/contracts/Pool.sol");
      requires("test/browser/wallet-page.test.ts", "scripts/wallet-page/main.tsx");
      requires("scripts/lab/forge.ts", "test/forge/foundry.toml", "shared/contracts/Pool.sol");
    });
    it("others do not", () => {
      const small = dependencies("test/unit/shared/client/service/sse.test.ts");
      assert.ok(small.size < 10, [...small].join(", "));
      assert.ok(!dependencies("test/contract/pool/caps.test.ts").has("proxy/api/app.ts"));
    });
  });
});

describe("what a change plays", () => {
  const CHAIN = "scripts/stand-ins/anvil.ts";
  const RULES = "test/contract/borders/rules.test.ts";
  const costly = Array.from({ length: 25 }, (_, i) => `test/e2e/${String(i)}.test.ts`);
  const ENCLAVE = "test/unit/enclave/init.test.ts";
  const NEW = "test/e2e/never-recorded.test.ts";
  const files = [...costly, NEW, "test/unit/cheap.test.ts", "test/adversarial/money.test.ts", ENCLAVE, RULES];
  const of: DependenciesOf = (file) =>
    new Set([
      file,
      ...(file.includes("cheap") ? ["proxy/cheap.ts"] : [CHAIN]),
      ...(file === costly[3] ? ["proxy/three.ts"] : []),
    ]);
  const costs = (file: string): number | undefined =>
    file === NEW ? undefined : file.includes("cheap") ? 1.9 : 2;
  const played = (
    changed: readonly string[],
    turn = 0,
    exists = (_file: string) => true,
  ): readonly string[] => {
    const everything = (why: string): Selection => ({ isPlayed: () => true, why });
    const { isPlayed } = selected(files, { changed, of, turn, everything, exists, costOf: costs });
    return files.filter(isPlayed);
  };
  const always = files.slice(costly.length);

  it("the costly files that depend on it, every cheap one, what was never recorded, every one about money, every one of the enclave and every rule", () => {
    for (const changed of ["proxy/three.ts", costly[3]!]) {
      const got = played([changed]);
      for (const file of [costly[3]!, ...always]) assert.ok(got.includes(file), file);
      assert.equal(got.length, 1 + 3 + always.length, "and a tenth of the others");
    }
  });

  it("the others each once in ten turns", () => {
    const turns = Array.from({ length: 10 }, (_, turn) =>
      played([], turn).filter((one) => costly.includes(one)),
    );
    assert.deepEqual(turns.flat().sort(), [...costly].sort());
  });

  it("everything where how files are played has changed, or nobody knows what depends on it", () => {
    const shared = [
      ...["package-lock.json", ".ci/run", "scripts/build/testing/play.mjs", "scripts/build/setup.mjs"],
      ...["test/support/tally.cjs", "tsconfig.json", CHAIN, "proxy/nobody-tests-me.ts", "shared/new.json"],
    ];
    for (const changed of shared) assert.deepEqual(played(["README.md", changed]), files, changed);
  });

  it("no more for words, or for code that is gone, whose users have changed", () => {
    const few = played([]);
    assert.ok(few.length < files.length);
    assert.deepEqual(played(["README.md"]), few);
    assert.deepEqual(
      played(["proxy/gone.ts"], 0, (file) => file !== "proxy/gone.ts"),
      few,
    );
    assert.deepEqual(
      played(["shared/gone.json"], 0, (file) => file !== "shared/gone.json"),
      files,
    );
  });

  it("the form of what has changed and is there, and of everything where everything is played", () => {
    const everything = (why: string): Selection => ({ isPlayed: () => true, why });
    const parts = { of, turn: 0, everything, exists: (file: string) => file !== "a.md", costOf: costs };
    const changedOf = (...changed: string[]) => selected(files, { ...parts, changed }).changed;
    assert.deepEqual(changedOf("README.md", "a.md", "proxy/three.ts"), ["README.md", "proxy/three.ts"]);
    assert.equal(changedOf("README.md", ".prettierrc"), undefined);
  });

  it("by the longer of clock and processor, as it was recorded", () => {
    const recorded = JSON.parse(readFileSync(path.join(PROJECT_ROOT, "test/times.json"), "utf8")) as Readonly<
      Record<string, { readonly secs: number; readonly cpu: number }>
    >;
    for (const [file, { secs, cpu }] of Object.entries(recorded))
      assert.equal(costOf(file), Math.max(secs, cpu), file);
    assert.equal(costOf("test/e2e/never-recorded.test.ts"), undefined);
  });

  it("in the release check for half an hour, since that plays more than what was recorded", () => {
    const before = process.env["CLOISTER_RELEASE"];
    const limitIn = (release: string): number => {
      process.env["CLOISTER_RELEASE"] = release;
      return limitOf("test/faults/seeded/seeded.test.ts");
    };
    try {
      assert.equal(limitIn("1"), 1_800_000);
      assert.notEqual(limitIn("0"), limitIn("1"));
    } finally {
      if (before === undefined) delete process.env["CLOISTER_RELEASE"];
      else process.env["CLOISTER_RELEASE"] = before;
    }
  });
});
