// The import borders of LAYOUT, as rules. Trusted by nobody at run time: a border only holds
// because test/contract/borders/ cruises the real tree and proves, with planted violations,
// that every rule here bites.
//
// TypeScript must stay below 7: this tool then reads no module at all and reports success.

const OURS = "^(enclave|proxy|shared|scripts|test)/";

/** The rooms of the proxy: programs that never import each other, and what they stand on. */
const PROGRAMS = ["api", "relay", "dashboard"];

/**
 * Folders of shared/ and which of them each may reach. `client/node` is a part of client; the
 * program in contracts/ is the ABI, which the compiler's output writes.
 */
const sharedReach = {
  protocol: ["protocol"],
  contracts: ["contracts"],
  notes: ["notes", "protocol"],
  api: ["api", "protocol"],
  altchain: ["altchain", "protocol"],
  client: ["client", "notes", "api", "altchain", "protocol", "contracts"],
};

/**
 * The folders of scripts/, in order: each imports from those after it, never from one before. A folder is a command,
 * but for `stand-ins` (what plays an outsider) and `base` (what commands have in common). So no command that an
 * operator or a user runs needs a stand-in or the local stack, and the stack deploys as an operator does.
 */
const scriptRooms = [
  ...["lab", "demo", "examples", "stack", "wallet-page", "stand-ins"],
  ...["audit", "exit", "deploy", "operator", "operations", "watch", "image", "ceremony", "recover", "prove"],
  ...["build", "base"],
];

/** The chapters of the client library, in order: each imports from those after it, never from one before. */
const clientChapters = [
  ...["node", "wallet", "bridges", "paying", "disclosure", "history", "service"],
  ...["chain", "prover", "statements", "state", "base"],
];

/** What runs in a browser: the dashboard's page. */
const PAGE_PACKAGES = [
  ...["preact", "preact-iso", "@picocss/pico", "uplot", "qr", "@simplewebauthn/browser", "zod"],
];

/** npm packages by folder; a folder that is absent (scripts, test) may use any declared package. */
const packagesOf = {
  enclave: ["@noble/[^/]+"],
  // Another library than the first verifier's arithmetic.
  "enclave/second": ["@noble/[^/]+"],
  "shared/protocol": ["@noble/[^/]+"],
  "shared/contracts": [],
  "shared/notes": ["@noble/[^/]+", "@scure/[^/]+"],
  "shared/api": ["zod"],
  "proxy/dashboard/contract": [],
  "shared/altchain": ["zod", "@solana/kit", "@solana-program/token", "@solana-program/memo"],
  "shared/client": [
    ...["ffjavascript", "circom_runtime", "ethers"],
    ...["eventsource-parser", "@noble/[^/]+", "@scure/[^/]+"],
  ],
  proxy: [
    "koa",
    "koa-compose",
    "@types/koa-compose",
    "@koa/router",
    "@ethereumjs/rlp",
    "@types/koa",
    "co-body",
    "ethers",
    "jose",
    "lmdb",
    "redis",
    "pino",
    "prom-client",
    "tiny-secp256k1",
    "uuid",
    "zod",
    "@noble/[^/]+",
    "@scure/[^/]+",
    "@aws-sdk/client-kms",
    // The bridge to the other blockchain.
    "@solana/kit",
    "@solana-program/(token|memo)",
    "@simplewebauthn/server",
    ...PAGE_PACKAGES,
  ],
};

/** Node modules the enclave may use. Sockets, cryptography and its own files; no clock, no network client. */
const ENCLAVE_CORE = ["net", "crypto", "fs/promises"];
/** Where the outside comes in. */
const PLATFORM_CORE = ["net", "os"];
/** What is said to a process of the first verifier. */
const CLAIMS_CORE = ["v8"];
/** What runs in those processes, beside which there is no key. */
const VERIFYING = "^enclave/(verifier|verify|bn254)\\.ts$";
/** What each of the two programs has alone. */
const FIRST = "^enclave/(main|first|attest|attest-root|claims|verifier|verify|bn254)\\.ts$";
const SECOND = "^enclave/(second-main|second)\\.ts$";

const rule = (name, from, to) => ({ name, severity: "error", from, to });
const literal = (name) => name.replaceAll(".", "\\.");
const anyOf = (names) => `(${names.map(literal).join("|")})`;
// `literal` would spoil the patterns of packagesOf, which are patterns already.
const packagePath = (patterns) => `^(enclave/)?node_modules/(${patterns.join("|")})/`;
const PACKAGE = "(^|/)node_modules/";

const proxyRooms = ["base", ...PROGRAMS].map((room) =>
  rule(
    `room-${room}`,
    { path: `^proxy/${room}/` },
    { path: `^proxy/${anyOf(PROGRAMS.filter((other) => other !== room))}/` },
  ),
);

const sharedOrder = Object.entries(sharedReach).map(([folder, reach]) =>
  rule(
    `shared-${folder}-reach`,
    { path: `^shared/${folder}/` },
    { path: "^shared/", pathNot: `^shared/${anyOf(reach)}/` },
  ),
);

/** For folders that are in an order. Nothing of them all imports what lies in `parent` itself: its doors to outside. */
const inOrder = (name, parent, folders) =>
  folders.map((folder, index) =>
    rule(
      `${name}-${folder}`,
      { path: `^${parent}/${folder}/` },
      { path: `^${parent}/(${anyOf(folders.slice(0, index))}/|[^/]+$)` },
    ),
  );

const packages = Object.entries(packagesOf).map(([folder, allowed]) =>
  rule(
    `packages-${folder.replaceAll("/", "-")}`,
    { path: `^${folder}/` },
    { path: PACKAGE, pathNot: packagePath(allowed) },
  ),
);

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    rule("no-cycles", { path: OURS }, { circular: true }),
    rule("no-unresolved", { path: OURS }, { couldNotResolve: true }),
    // A package that only happens to be installed (because another one needs it) can vanish or change owner.
    rule("no-undeclared-packages", { path: OURS }, { dependencyTypes: ["npm-no-pkg", "npm-unknown"] }),
    rule(
      "no-dev-packages",
      { path: "^(enclave|proxy|shared)/" },
      { dependencyTypes: ["npm-dev"], pathNot: "^node_modules/@types/" },
    ),
    rule("nothing-imports-tests", { path: OURS, pathNot: "^test/" }, { path: "^test/" }),

    // What is in enclave/ and shared/protocol/ is what is measured: nothing else may come in.
    rule(
      "enclave-sees-only-protocol",
      { path: "^enclave/" },
      { path: OURS, pathNot: "^(enclave|shared/protocol)/" },
    ),
    rule(
      "enclave-node-modules",
      { path: "^enclave/", pathNot: "^enclave/(nitro|claims)\\.ts$" },
      { dependencyTypes: ["core"], pathNot: `^(node:)?${anyOf(ENCLAVE_CORE)}$` },
    ),
    rule(
      "enclave-platform-modules",
      { path: "^enclave/nitro\\.ts$" },
      { dependencyTypes: ["core"], pathNot: `^(node:)?${anyOf(PLATFORM_CORE)}$` },
    ),
    rule(
      "enclave-claims-modules",
      { path: "^enclave/claims\\.ts$" },
      { dependencyTypes: ["core"], pathNot: `^(node:)?${anyOf(CLAIMS_CORE)}$` },
    ),
    // What the host alone needs stays out of the image.
    rule(
      "image-without-the-hosts-half",
      { path: "^(enclave|shared/protocol)/", pathNot: "^shared/protocol/host/" },
      { path: "^shared/protocol/host/" },
    ),
    // The pairings run where no key is, and what runs there reaches no key.
    rule("verifier-is-a-process", { path: "^enclave/", pathNot: VERIFYING }, { path: VERIFYING }),
    rule(
      "verifier-without-the-key",
      { path: VERIFYING },
      { path: "^enclave/", pathNot: "^enclave/((verify|bn254|claims|stream)\\.ts$|node_modules/)" },
    ),
    // A program has one judge, and what both programs have in common reaches none.
    rule("first-judge-in-the-first", { path: "^enclave/", pathNot: FIRST }, { path: FIRST }),
    rule("second-judge-in-the-second", { path: "^enclave/", pathNot: SECOND }, { path: SECOND }),
    // Two verifiers are worth two only as long as no line is in both.
    rule(
      "second-shares-nothing",
      { path: "^enclave/second/" },
      { path: OURS, pathNot: "^enclave/(second|node_modules)/" },
    ),
    rule(
      "first-without-the-second",
      { path: "^(enclave|shared)/", pathNot: "^enclave/second/" },
      { path: "^enclave/second/" },
    ),
    // It computes: what it reads is handed to it.
    rule("judge-touches-nothing", { path: "^enclave/second/judge/" }, { dependencyTypes: ["core"] }),
    rule(
      "judge-knows-no-stream",
      { path: "^enclave/second/judge/" },
      { path: "^enclave/second/", pathNot: "^enclave/second/judge/" },
    ),

    rule("shared-knows-no-side", { path: "^shared/" }, { path: "^(enclave|proxy|scripts|test)/" }),
    // client/node/ holds what a Node client adds (files on disk); all else must run in a browser.
    rule(
      "shared-runs-in-browsers",
      { path: "^shared/", pathNot: "^shared/client/node/" },
      { dependencyTypes: ["core"] },
    ),
    rule(
      "client-node-is-an-extra",
      { path: "^shared/", pathNot: "^shared/client/node/" },
      { path: "^shared/client/node/" },
    ),
    // A page's thread that hashes a key or proves stands still meanwhile.
    rule(
      "proving-in-its-worker",
      { path: "^shared/client/", pathNot: "^shared/client/prover/groth16/" },
      { path: "^shared/client/prover/groth16/", pathNot: "/(fault|messages|threads)\\.ts$" },
    ),
    // Told there what a page's policy forbids, before any schema is made. The other two take it from there, too.
    rule(
      "zod-by-one-file",
      { path: "^shared/api/", pathNot: "^shared/api/zod\\.ts$" },
      { path: `${PACKAGE}zod/` },
    ),
    ...sharedOrder,
    ...inOrder("client", "shared/client", clientChapters),
    ...packages,

    rule(
      "proxy-reach",
      { path: "^proxy/" },
      { path: OURS, pathNot: "^(proxy|shared/(protocol|notes|api|altchain|contracts))/" },
    ),
    rule(
      "stores-and-routes-are-private",
      { path: "^proxy/([^/]+/[^/]+)/" },
      { path: "^proxy/.*\\.(store|routes)\\.ts$", pathNot: "^proxy/$1/" },
    ),
    rule(
      "databases-in-store",
      { path: OURS, pathNot: "^(proxy/base/store|scripts|test)/" },
      { path: `${PACKAGE}(redis|lmdb)/` },
    ),
    // Written once, for every engine.
    rule(
      "features-know-no-database",
      { path: "^proxy/base/store/[^/]+$", pathNot: "^proxy/base/store/instance\\.ts$" },
      { path: `^proxy/base/store/(lmdb|redis)/|${PACKAGE}(redis|lmdb)/` },
    ),
    rule(
      "prom-client-in-observe",
      { path: OURS, pathNot: "^proxy/base/observe/" },
      { path: `${PACKAGE}prom-client/` },
    ),
    rule(
      "koa-at-the-edge",
      {
        path: OURS,
        pathNot:
          "(\\.(routes|middleware)\\.ts$|^proxy/base/http/|^proxy/(api|dashboard)/app\\.ts$|^scripts/lab/bench/(http/|client/history-service\\.ts$)|^test/)",
      },
      { path: `${PACKAGE}(koa|@koa/router|@types/koa|co-body)/` },
    ),
    // The enclave's key passes through this one file; a second caller of KMS would be a second way to it.
    rule(
      "kms-in-courier",
      { path: OURS, pathNot: "^(proxy/api/enclave-link/key-courier\\.ts$|test/)" },
      { path: `${PACKAGE}@aws-sdk/` },
    ),
    // A page is sent to browsers: nothing of a server is in it, and no server runs a page.
    rule(
      "dashboard-page-alone",
      { path: "^proxy/dashboard/page/" },
      { path: OURS, pathNot: "^(proxy/dashboard/(page|contract)/|shared/(api|protocol)/)" },
    ),
    rule(
      "dashboard-page-packages",
      { path: "^proxy/dashboard/page/" },
      { path: PACKAGE, pathNot: packagePath(PAGE_PACKAGES) },
    ),
    rule(
      "dashboard-page-without-node",
      { path: "^proxy/dashboard/(page|contract)/" },
      { dependencyTypes: ["core"] },
    ),
    // What server and page agree on.
    rule(
      "dashboard-contract-reach",
      { path: "^proxy/dashboard/contract/" },
      { path: OURS, pathNot: "^(proxy/dashboard/contract|shared/(api|protocol))/" },
    ),
    rule(
      "page-packages-in-pages",
      { path: "^proxy/", pathNot: "^proxy/dashboard/page/" },
      { path: packagePath(PAGE_PACKAGES.filter((name) => name !== "zod")) },
    ),
    rule(
      "wallet-page-takes-the-client-only",
      { path: "^scripts/wallet-page/" },
      { path: OURS, pathNot: "^(scripts/wallet-page/|shared/client/)" },
    ),
    ...proxyRooms,
    ...inOrder("scripts", "scripts", scriptRooms),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|coverage|\\.cloister)/" },
    // Type-only imports count: a border that only types cross is crossed by the reader all the same.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
    },
  },
};
