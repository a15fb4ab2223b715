// What there is to play: the suites with their files, and the checks with their commands.
import { spawnSync } from "node:child_process";
import { accessSync, constants as access, existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const bin = (name) => path.join(ROOT, "node_modules", name);

/** Folders of test/contract for contracts and circuits, and for those who read nothing but the chain. */
const CHAIN = [
  ...["contract/attestation", "contract/circuits", "contract/exit", "contract/forwarders", "contract/nitro"],
  ...["contract/pool", "contract/vectors", "contract/venues", "contract/watch"],
];

/** Folders of test/ by suite. Every test file belongs to exactly one; `elsewhere` folders to another. */
export const SUITES = {
  borders: { folders: ["contract/borders"] },
  enclave: { folders: ["unit/enclave", "contract/wire"] },
  unit: { folders: ["unit"], elsewhere: ["unit/enclave"] },
  chain: { folders: CHAIN },
  contract: {
    folders: ["contract"],
    elsewhere: ["contract/wire", "contract/borders", "contract/redis", ...CHAIN],
  },
  redis: {
    folders: ["contract/redis", "cluster"],
    lacks: () => (findProgram(["redis-server"]) === undefined ? "redis-server" : undefined),
  },
  adversarial: { folders: ["adversarial"] },
  e2e: { folders: ["e2e"] },
  faults: { folders: ["faults"], elsewhere: ["faults/seeded"] },
  seeded: { folders: ["faults/seeded"] },
  boot: {
    folders: ["boot"],
    lacks: () => (isMachineMade() ? undefined : "what test/boot/machine/make.sh makes"),
  },
  browser: { folders: ["browser"], lacks: () => (findChromium() === undefined ? "Chromium" : undefined) },
};

/**
 * Played before a release and by name, and not for each change: guides and README, the tour, pictures and what measures a
 * page, operator commands.
 */
const FOR_RELEASE = [
  ...["e2e/commands", "e2e/operator-index", "e2e/operator-listings", "e2e/operator-signer", "e2e/new-asset"],
  ...["e2e/guide", "e2e/readme", "e2e/client-guide", "browser/client-guide", "e2e/enclave-tour"],
  ...["browser/dashboard-screens", "browser/first-load", "browser/long-tasks"],
].map((name) => `test/${name}.test.ts`);

/**
 * What fails here has failed: it is never played again. The adversarial suite holds the numbered properties about
 * money, the vectors are what other implementations are held against, and a seeded scenario is drawn from its number.
 */
const FINAL = ["test/adversarial/", "test/contract/vectors/", "test/faults/seeded/"];
export const isFinal = (file) => FINAL.some((folder) => file.startsWith(folder));

/** Before a release other cases; for a change the same every time, so that it alone can turn a check red. */
const seed = process.env.CLOISTER_SEED;
const forge = (cases, campaigns) => [
  ...[
    "--import",
    "tsx",
    "scripts/lab/forge.ts",
    "--seed",
    seed === undefined ? "0xc10157e4" : `0x${Number(seed).toString(16)}`,
  ],
  ...["--fuzz-runs", String(cases), "--invariant-runs", String(campaigns)],
];

/** There is always one to look at. */
export const formatOf = (files) => [
  ...[bin("prettier/bin/prettier.cjs"), "--check", "--ignore-unknown", "package.json", ...files],
];

const CHECKS = {
  lint: [bin("eslint/bin/eslint.js"), ".", "--max-warnings=0"],
  format: [bin("prettier/bin/prettier.cjs"), "--check", "."],
  types: [bin("typescript/bin/tsc"), "--noEmit", "-p", "tsconfig.json"],
  forge: forge(256, 32),
  // 50,000 cases, likewise always the same.
  fuzz: ["--import", "tsx", "scripts/lab/fuzz.ts", "--seed", "4"],
};
const CHECKS_FOR_RELEASE = {
  ...CHECKS,
  forge: forge(10_000, 256),
  fuzz: ["--import", "tsx", "scripts/lab/fuzz.ts", "--seed", seed ?? "4", "--million"],
  // The suites themselves on the other releases take as long again each: npm run check:nodes.
  nodes: ["scripts/build/check-nodes.mjs", "22", "24", "quick"],
};

export const checksOf = (isRelease) => (isRelease ? CHECKS_FOR_RELEASE : CHECKS);
export const CHECK_NAMES = Object.keys(CHECKS_FOR_RELEASE);

/** Test files of a suite, from the project's root. */
export function filesOf(suite, isRelease) {
  const { folders, elsewhere = [] } = SUITES[suite];
  return folders
    .flatMap((folder) => testFiles(folder, elsewhere))
    .filter((file) => isRelease || !FOR_RELEASE.includes(file));
}

function testFiles(folder, elsewhere) {
  const at = path.join(ROOT, "test", folder);
  if (!existsSync(at)) return [];
  return readdirSync(at, { recursive: true, encoding: "utf8" })
    .map((file) => path.join(folder, file).replaceAll(path.sep, "/"))
    .filter((file) => file.endsWith(".test.ts") && !elsewhere.some((other) => file.startsWith(`${other}/`)))
    .sort()
    .map((file) => `test/${file}`);
}

function isMachineMade() {
  return spawnSync(path.join(ROOT, "test/boot/machine/make.sh"), ["--if-made"]).status === 0;
}

export function findChromium() {
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  return findProgram(names, process.env.CHROMIUM_PATH);
}

/** The first that can be run, `preferred` before what is on the PATH. */
function findProgram(names, preferred) {
  const onPath = (process.env.PATH ?? "").split(path.delimiter);
  const candidates = onPath.flatMap((folder) => names.map((name) => path.join(folder, name)));
  return [preferred, ...candidates].find((file) => {
    if (file === undefined || file === "") return false;
    try {
      accessSync(file, access.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
