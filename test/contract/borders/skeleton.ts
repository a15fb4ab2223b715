// A small tree in the project's layout that keeps every import rule, and beside it files that each
// break one. Packages are empty folders with a name: resolution needs no more.

/** How a module can be named without the rules being allowed to miss it. */
const FORMS = {
  import: (target: string) => `import * as planted from "${target}";\nexport const seen = planted;\n`,
  "type-only import": (target: string) =>
    `import type * as planted from "${target}";\nexport type Seen = typeof planted;\n`,
  "dynamic import": (target: string) => `export const seen = () => import("${target}");\n`,
  "re-export": (target: string) => `export * from "${target}";\n`,
  "type-only re-export": (target: string) => `export type * from "${target}";\n`,
} as const;

type Form = keyof typeof FORMS;

export interface Plant {
  readonly rule: string;
  readonly file: string;
  readonly target: string;
  readonly form: Form;
}

const uses = (...targets: string[]) =>
  `${targets.map((target) => `import "${target}";`).join("\n")}\nexport const here = true;\n`;
const leaf = "export const here = true;\n";

const npmPackage = (name: string, ...files: string[]): [string, string][] => [
  [
    `${name}/package.json`,
    JSON.stringify({ name: name.replace(/^.*node_modules\//, ""), version: "1.0.0", main: "index.js" }),
  ],
  ...["index.js", ...files].map((file): [string, string] => [`${name}/${file}`, "module.exports = {};\n"]),
];

const PACKAGES: readonly [string, string][] = [
  ...[
    "ethers",
    "ffjavascript",
    "fast-check",
    "koa",
    "@koa/router",
    "co-body",
    "lmdb",
    "pino",
    "prom-client",
    "snarkjs",
    "zod",
  ],
  ...["uuid", "@scure/base", "@aws-sdk/client-kms", "stowaway"],
  ...["preact", "@simplewebauthn/browser", "@simplewebauthn/server"],
]
  .flatMap((name) => npmPackage(`node_modules/${name}`))
  .concat(npmPackage("node_modules/@solana/kit"))
  .concat(npmPackage("node_modules/@noble/curves", "secp256k1.js"))
  .concat(npmPackage("node_modules/@noble/hashes", "sha3.js"))
  .concat(npmPackage("enclave/node_modules/@noble/curves", "secp256k1.js"));

export const SKELETON: ReadonlyMap<string, string> = new Map([
  ...PACKAGES,
  ["enclave/package.json", JSON.stringify({ name: "enclave", dependencies: { "@noble/curves": "1.0.0" } })],
  ["enclave/main.ts", uses("./run.ts", "./first.ts")],
  ["enclave/second-main.ts", uses("./run.ts", "./second.ts")],
  ["enclave/run.ts", uses("node:fs/promises", "./phase.ts", "./nitro.ts", "@noble/curves/secp256k1.js")],
  ["enclave/first.ts", uses("./claims.ts")],
  ["enclave/second.ts", uses("./stream.ts")],
  ["enclave/nitro.ts", uses("node:net", "node:os", "./stream.ts")],
  ["enclave/stream.ts", leaf],
  ["enclave/claims.ts", uses("node:v8", "./stream.ts")],
  ["enclave/verifier.ts", uses("node:net", "./claims.ts", "./stream.ts", "./verify.ts")],
  ["enclave/verify.ts", uses("./bn254.ts", "./claims.ts", "../shared/protocol/brands.ts")],
  ["enclave/bn254.ts", uses("node:fs/promises")],
  ["enclave/phase.ts", uses("node:crypto", "../shared/protocol/brands.ts")],
  ["enclave/second/process.ts", uses("node:net", "./judge/judge.ts")],
  ["enclave/second/judge/judge.ts", uses("@noble/curves/secp256k1.js")],

  ["shared/protocol/brands.ts", uses("@noble/curves/secp256k1.js")],
  ["shared/protocol/host/codec.ts", uses("../brands.ts")],
  ["shared/contracts/abi.ts", leaf],
  ["shared/notes/note.ts", uses("../protocol/brands.ts", "@noble/hashes/sha3.js", "@scure/base")],
  ["shared/api/zod.ts", uses("zod")],
  ["shared/api/errors.ts", uses("../protocol/brands.ts", "./zod.ts")],
  ["shared/altchain/burn.ts", uses("../protocol/brands.ts", "@solana/kit", "zod")],
  [
    "shared/client/service/client.ts",
    uses(
      ...["../../notes/note.ts", "../../api/errors.ts", "../../altchain/burn.ts", "../../contracts/abi.ts"],
      ...["ffjavascript", "ethers"],
    ),
  ],
  [
    "proxy/dashboard/contract/keys.ts",
    uses(...["errors.ts", "zod.ts"].map((name) => `../../../shared/api/${name}`)),
  ],
  ["shared/client/node/file-storage.ts", uses("node:fs/promises", "../service/client.ts")],
  ["shared/client/index.ts", uses("./service/client.ts")],

  ["proxy/api/main.ts", uses("./app.ts", "./payments/payments.service.ts", "../base/store/lmdb/store.ts")],
  ["proxy/api/app.ts", uses("koa", "./payments/payments.routes.ts")],
  [
    "proxy/api/payments/payments.routes.ts",
    uses("@koa/router", "./payments.service.ts", "../../base/http/errors.ts"),
  ],
  [
    "proxy/api/payments/payments.service.ts",
    uses("../sequencer/sequencer.ts", "../../../shared/api/errors.ts"),
  ],
  [
    "proxy/api/sequencer/sequencer.ts",
    uses("../../base/chain/provider.ts", "./tickets.store.ts", "node:crypto"),
  ],
  ["proxy/api/sequencer/tickets.store.ts", uses("../../base/store/store.ts")],
  ["proxy/relay/main.ts", uses("./relay.ts", "../base/store/store.ts")],
  [
    "proxy/relay/relay.ts",
    uses("../base/chain/provider.ts", "../../shared/altchain/burn.ts", "./desk/worker.ts"),
  ],
  ["proxy/relay/desk/worker.ts", leaf],
  ["proxy/dashboard/main.ts", uses("./app.ts", "../base/store/store.ts", "@simplewebauthn/server")],
  ["proxy/dashboard/app.ts", uses("koa", "./contract/keys.ts")],
  ["proxy/dashboard/page/main.ts", uses("preact", "@simplewebauthn/browser", "../contract/keys.ts")],
  ["proxy/base/config.ts", uses("../../shared/protocol/brands.ts")],
  ["proxy/base/chain/provider.ts", uses("ethers", "../config.ts", "../../../shared/contracts/abi.ts")],
  ["proxy/base/http/errors.ts", uses("koa", "../logging.ts", "../observe/metrics.ts")],
  ["proxy/base/store/store.ts", leaf],
  ["proxy/base/store/lmdb/store.ts", uses("lmdb", "../store.ts")],
  ["proxy/base/logging.ts", uses("pino")],
  ["proxy/base/observe/metrics.ts", uses("prom-client", "../../../shared/api/errors.ts")],

  [
    "scripts/stack/start.ts",
    uses(
      "../../enclave/phase.ts",
      "../../proxy/api/main.ts",
      "../../shared/client/node/file-storage.ts",
      "../deploy/pool.ts",
    ),
  ],
  ["scripts/lab/bench.ts", uses("../stack/start.ts", "../deploy/pool.ts", "../build/contracts.ts")],
  ["scripts/deploy/pool.ts", uses("../build/contracts.ts")],
  ["scripts/build/contracts.ts", leaf],
  ["scripts/wallet-page/main.ts", uses("../../shared/client/index.ts", "preact")],
  ["test/unit/phase.test.ts", uses("../../enclave/phase.ts", "../../scripts/stack/start.ts", "fast-check")],
]);

/** Rule, the file that breaks it, what that file names. The form is given by turns, see below. */
const VIOLATIONS: readonly [rule: string, file: string, target: string][] = [
  ["no-cycles", "scripts/stack/planted-cycle-a.ts", "./planted-cycle-b.ts"],
  ["no-unresolved", "scripts/stack/planted-nowhere.ts", "./nowhere.ts"],
  ["no-unresolved", "proxy/api/payments/planted-nowhere.ts", "no-such-package"],
  ["no-undeclared-packages", "scripts/stack/planted-stowaway.ts", "stowaway"],
  ["no-dev-packages", "proxy/api/payments/planted-dev.ts", "fast-check"],
  ["nothing-imports-tests", "scripts/stack/planted-test.ts", "../../test/unit/phase.test.ts"],
  ["nothing-imports-tests", "enclave/planted-test.ts", "../test/unit/phase.test.ts"],

  ["enclave-sees-only-protocol", "enclave/planted-proxy.ts", "../proxy/base/config.ts"],
  ["enclave-sees-only-protocol", "enclave/planted-notes.ts", "../shared/notes/note.ts"],
  ["enclave-sees-only-protocol", "enclave/planted-script.ts", "../scripts/stack/start.ts"],
  ["enclave-node-modules", "enclave/planted-http.ts", "node:http"],
  ["enclave-node-modules", "enclave/planted-child.ts", "node:child_process"],
  ["enclave-node-modules", "enclave/planted-fs.ts", "fs"],
  ["enclave-node-modules", "enclave/planted-process.ts", "node:process"],
  ["enclave-node-modules", "enclave/planted-module.ts", "node:module"],
  ["enclave-platform-modules", "enclave/nitro.ts", "node:http"],
  ["enclave-platform-modules", "enclave/nitro.ts", "node:child_process"],
  ["enclave-claims-modules", "enclave/claims.ts", "node:net"],
  ["enclave-node-modules", "enclave/planted-v8.ts", "node:v8"],
  ["enclave-node-modules", "enclave/planted-tls.ts", "node:tls"],
  ["image-without-the-hosts-half", "enclave/planted-host.ts", "../shared/protocol/host/codec.ts"],
  ["image-without-the-hosts-half", "shared/protocol/planted-host.ts", "./host/codec.ts"],
  ["verifier-is-a-process", "enclave/planted-verify.ts", "./verify.ts"],
  ["verifier-without-the-key", "enclave/bn254.ts", "./phase.ts"],
  ["first-judge-in-the-first", "enclave/run.ts", "./first.ts"],
  ["first-judge-in-the-first", "enclave/second.ts", "./claims.ts"],
  ["second-judge-in-the-second", "enclave/first.ts", "./second.ts"],
  ["second-judge-in-the-second", "enclave/planted-second-main.ts", "./second-main.ts"],
  ["second-shares-nothing", "enclave/second/planted-claims.ts", "../claims.ts"],
  ["second-shares-nothing", "enclave/second/judge/planted-verify.ts", "../../verify.ts"],
  ["second-shares-nothing", "enclave/second/judge/planted-protocol.ts", "../../../shared/protocol/brands.ts"],
  ["second-shares-nothing", "enclave/second/planted-script.ts", "../../scripts/stack/start.ts"],
  ["first-without-the-second", "enclave/planted-second.ts", "./second/judge/judge.ts"],
  ["first-without-the-second", "shared/protocol/planted-second.ts", "../../enclave/second/judge/judge.ts"],
  ["judge-touches-nothing", "enclave/second/judge/planted-core.ts", "node:crypto"],
  ["judge-knows-no-stream", "enclave/second/judge/planted-stream.ts", "../process.ts"],
  ["packages-enclave-second", "enclave/second/planted-ffjavascript.ts", "ffjavascript"],
  ["packages-enclave-second", "enclave/second/judge/planted-ethers.ts", "ethers"],
  ["packages-enclave", "enclave/planted-ethers.ts", "ethers"],
  ["packages-enclave", "enclave/planted-pairing.ts", "ffjavascript"],
  ["packages-enclave", "enclave/planted-snarkjs.ts", "snarkjs"],

  ["shared-knows-no-side", "shared/notes/planted-proxy.ts", "../../proxy/base/config.ts"],
  ["shared-knows-no-side", "shared/protocol/planted-enclave.ts", "../../enclave/phase.ts"],
  ["shared-runs-in-browsers", "shared/protocol/planted-core.ts", "node:crypto"],
  ["shared-runs-in-browsers", "shared/client/planted-core.ts", "node:fs/promises"],
  ["client-node-is-an-extra", "shared/client/planted-extra.ts", "./node/file-storage.ts"],
  ["proving-in-its-worker", "shared/client/prover/planted-proving.ts", "./groth16/serving.ts"],
  ["shared-protocol-reach", "shared/protocol/planted-notes.ts", "../notes/note.ts"],
  ["shared-notes-reach", "shared/notes/planted-api.ts", "../api/errors.ts"],
  ["shared-api-reach", "shared/api/planted-notes.ts", "../notes/note.ts"],
  ["shared-altchain-reach", "shared/altchain/planted-notes.ts", "../notes/note.ts"],
  ...[
    ...["node", "wallet", "bridges", "paying", "disclosure", "history", "service"],
    ...["chain", "prover", "statements", "state", "base"],
  ].map((folder): [string, string, string] => [
    `client-${folder}`,
    `shared/client/${folder}/planted-door.ts`,
    "../index.ts",
  ]),
  ["client-base", "shared/client/base/planted-later.ts", "../service/client.ts"],
  ["shared-client-reach", "shared/client/planted-circuits.ts", "../circuits/witness.ts"],
  ["dashboard-contract-reach", "proxy/dashboard/contract/planted-store.ts", "../../base/store/store.ts"],
  ["packages-proxy-dashboard-contract", "proxy/dashboard/contract/planted-ethers.ts", "ethers"],
  ["shared-contracts-reach", "shared/contracts/planted-protocol.ts", "../protocol/brands.ts"],
  ["packages-shared-protocol", "shared/protocol/planted-zod.ts", "zod"],
  ["packages-shared-protocol", "shared/protocol/planted-ffjavascript.ts", "ffjavascript"],
  ["packages-shared-contracts", "shared/contracts/planted-ethers.ts", "ethers"],
  ["packages-shared-notes", "shared/notes/planted-ethers.ts", "ethers"],
  ["packages-shared-api", "shared/api/planted-noble.ts", "@noble/hashes/sha3.js"],
  ["packages-shared-altchain", "shared/altchain/planted-ethers.ts", "ethers"],
  ["packages-shared-client", "shared/client/planted-koa.ts", "koa"],

  ["proxy-reach", "proxy/api/payments/planted-enclave.ts", "../../../enclave/phase.ts"],
  ["proxy-reach", "proxy/api/payments/planted-client.ts", "../../../shared/client/index.ts"],
  ["proxy-reach", "proxy/api/payments/planted-script.ts", "../../../scripts/stack/start.ts"],
  ["packages-proxy", "proxy/api/payments/planted-snarkjs.ts", "snarkjs"],
  ["stores-and-routes-are-private", "proxy/api/payments/planted-store.ts", "../sequencer/tickets.store.ts"],
  ["stores-and-routes-are-private", "proxy/api/swap/planted-routes.ts", "../payments/payments.routes.ts"],
  ["databases-in-store", "proxy/api/sequencer/planted-lmdb.ts", "lmdb"],
  ["features-know-no-database", "proxy/base/store/planted-engine.ts", "./lmdb/store.ts"],
  ["features-know-no-database", "proxy/base/store/planted-lmdb.ts", "lmdb"],
  ["prom-client-in-observe", "proxy/base/http/planted-figures.ts", "prom-client"],
  ["koa-at-the-edge", "proxy/api/payments/planted-koa.service.ts", "koa"],
  ["koa-at-the-edge", "proxy/api/main.ts", "@koa/router"],
  ["zod-by-one-file", "shared/api/planted-schema.ts", "zod"],
  ["packages-shared-client", "shared/client/planted-schema.ts", "zod"],
  ["kms-in-courier", "proxy/api/enclave-link/planted-kms.ts", "@aws-sdk/client-kms"],
  ["kms-in-courier", "scripts/stack/planted-kms.ts", "@aws-sdk/client-kms"],

  ...["api/app.ts", "relay/relay.ts", "dashboard/app.ts"].map((file): [string, string, string] => [
    "room-base",
    `proxy/base/planted-${file.replace("/", "-")}`,
    `../${file}`,
  ]),
  ["room-api", "proxy/api/planted-dashboard.ts", "../dashboard/app.ts"],
  ["room-api", "proxy/api/planted-relay.ts", "../relay/desk/worker.ts"],
  ["room-relay", "proxy/relay/planted-api.ts", "../api/app.ts"],
  ["room-relay", "proxy/relay/desk/planted-dashboard.ts", "../../dashboard/app.ts"],
  ["room-dashboard", "proxy/dashboard/planted-api.ts", "../api/app.ts"],
  ["room-dashboard", "proxy/dashboard/planted-relay.ts", "../relay/relay.ts"],
  ["dashboard-page-alone", "proxy/dashboard/page/planted-server.ts", "../app.ts"],
  ["dashboard-page-alone", "proxy/dashboard/page/planted-store.ts", "../../base/store/store.ts"],
  ["dashboard-page-packages", "proxy/dashboard/page/planted-ethers.ts", "ethers"],
  ["dashboard-page-without-node", "proxy/dashboard/contract/planted-core.ts", "node:crypto"],
  ["page-packages-in-pages", "proxy/dashboard/planted-preact.ts", "preact"],
  ["wallet-page-takes-the-client-only", "scripts/wallet-page/planted-proxy.ts", "../../proxy/base/config.ts"],
  ["wallet-page-takes-the-client-only", "scripts/wallet-page/planted-stack.ts", "../stack/start.ts"],
  ["scripts-lab", "scripts/lab/planted-door.ts", "../planted-door.ts"],
  ["scripts-stack", "scripts/stack/planted-lab.ts", "../lab/bench.ts"],
  ...[
    ...[
      "audit",
      "exit",
      "deploy",
      "operator",
      "operations",
      "watch",
      "image",
      "ceremony",
      "recover",
      "prove",
    ],
    "base",
  ].map((folder): [string, string, string] => [
    `scripts-${folder}`,
    `scripts/${folder}/planted-stack.ts`,
    "../stack/start.ts",
  ]),
  ["scripts-stand-ins", "scripts/stand-ins/planted-stack.ts", "../stack/start.ts"],
  ["scripts-examples", "scripts/examples/planted-lab.ts", "../lab/bench.ts"],
  ["scripts-demo", "scripts/demo/planted-lab.ts", "../lab/bench.ts"],
  ["scripts-wallet-page", "scripts/wallet-page/planted-lab.ts", "../lab/bench.ts"],
  ["scripts-build", "scripts/build/planted-lab.ts", "../lab/bench.ts"],
  ["scripts-build", "scripts/build/planted-stack.ts", "../stack/start.ts"],
  ["scripts-build", "scripts/build/planted-product.ts", "../deploy/pool.ts"],
];

const FORM_NAMES = Object.keys(FORMS) as Form[];

export const PLANTED: readonly Plant[] = VIOLATIONS.map(([rule, file, target], index) => ({
  rule,
  file,
  target,
  form: FORM_NAMES[index % FORM_NAMES.length]!,
}));

export function plantedFiles(): Map<string, string> {
  return new Map([
    ["shared/circuits/witness.ts", leaf],
    ["scripts/planted-door.ts", leaf],
    ["shared/client/prover/groth16/serving.ts", leaf],
    // The way back of the cycle is one of types only; it counts all the same.
    ["scripts/stack/planted-cycle-b.ts", FORMS["type-only import"]("./planted-cycle-a.ts")],
    ...PLANTED.map(({ file, target, form }): [string, string] => [file, FORMS[form](target)]),
  ]);
}
