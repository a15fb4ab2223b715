// Every figure that the simulation reckons with, and where it comes from. `text` stands in `file`, spaces aside:
// a test looks for it, so a figure that was measured anew there cannot stay old here.
import { KINDS } from "../../../shared/protocol/statements.ts";
import { MAX_UPDATE_LEAVES } from "../../../shared/protocol/tree.ts";

export interface Source {
  readonly file: string;
  readonly text: string;
}

export interface Figure {
  readonly value: number;
  readonly unit: string;
  readonly about: string;
  /** None: nobody measured it, it is a choice or counted from the code, as `about` says. */
  readonly source?: Source;
  /** What helps: more of it, less of it, or neither. */
  readonly better?: "more" | "less";
  /** Whole numbers only. */
  readonly isCount?: true;
}

const SUBMISSION = "test/bench/submission.md";
const ENCLAVE = "test/bench/enclave.md";
const HTTP = "test/bench/http.md";
const GAS = "shared/contracts/README.md";
const BATCH = "proxy/submission/batch.ts";

const more = { better: "more" } as const;
const less = { better: "less" } as const;
const count = { isCount: true } as const;

/** The names are the options of the command. */
export const FIGURES = {
  "block-time": {
    ...{ value: 1, unit: "s", ...less },
    about: "between blocks; a chain's own, here that of npm start",
    source: { file: "scripts/stack/start.ts", text: "seconds between blocks (default 1)" },
  },
  "block-gas": {
    ...{ value: 30_000_000, unit: "gas", ...more, ...count },
    about: "of a block that we may use; a choice: half of the local chain's",
    source: { file: "scripts/stack/anvil.ts", text: "gasLimit ?? 60_000_000" },
  },
  "in-flight": {
    ...{ value: 1, unit: "calls", ...more, ...count },
    about: "chain transactions that may wait to be mined at a time",
    source: {
      file: "proxy/submission/submitter.ts",
      text: "in flight at a time, so a nonce is never a hole",
    },
  },
  members: {
    ...{ value: 64, unit: "tickets", ...more, ...count },
    about: "most members of a call",
    source: { file: "proxy/submission/submitter.ts", text: "DEFAULT_MAX_BATCH = 64" },
  },
  leaves: {
    ...{ value: MAX_UPDATE_LEAVES, unit: "leaves", ...more, ...count },
    about: "most leaves of a call's root update",
    source: { file: "shared/protocol/tree.ts", text: "MAX_UPDATE_LEAVES = 256" },
  },
  "call-gas": {
    ...{ value: 12_000_000, unit: "gas", ...more, ...count },
    about: "most gas limit of a call",
    source: { file: BATCH, text: "MAX_GAS = 12_000_000n" },
  },
  "call-bytes": {
    ...{ value: 100 * 1024, unit: "bytes", ...more, ...count },
    about: "most calldata of a call",
    source: { file: BATCH, text: "MAX_DATA_CHARS = 2 + 2 * 100 * 1024" },
  },
  "member-bytes": {
    ...{ value: 1_472, unit: "bytes", ...less, ...count },
    about: "of a private transfer; other kinds have about as many",
    source: { file: GAS, text: "of a transfer's 1,472 bytes" },
  },
  poll: {
    ...{ value: 250, unit: "ms", ...less },
    about: "until a new block is noticed, at worst (CLOISTER_BLOCK_POLL_MS, 1,000 unless set)",
    source: { file: "scripts/stack/proxy-settings.ts", text: 'CLOISTER_BLOCK_POLL_MS: "250"' },
  },
  turn: {
    ...{ value: 49, unit: "ms", ...less },
    about: "of the submitter for a call, whatever its members",
    source: { file: SUBMISSION, text: "49 ms a call" },
  },
  "turn-member": {
    ...{ value: 2.9, unit: "ms", ...less },
    about: "of the submitter for each member: node, store, signature of the transaction",
    source: { file: SUBMISSION, text: "2.9 ms a member" },
  },
  "turn-cpu": {
    ...{ value: 43, unit: "ms", ...less },
    about: "of that, processor time of the proxy for a call",
    source: { file: SUBMISSION, text: "43 ms a call and 2.8 ms a member" },
  },
  "turn-member-cpu": {
    ...{ value: 2.8, unit: "ms", ...less },
    about: "and for each member",
    source: { file: SUBMISSION, text: "43 ms a call and 2.8 ms a member" },
  },
  enclaves: {
    ...{ value: 1, unit: "enclaves", ...more, ...count },
    about: "a host; a choice",
  },
  verifications: {
    ...{ value: 703, unit: "1/s", ...more },
    about: "of one enclave, two processes, batches of 16",
    source: { file: ENCLAVE, text: "| two processes against one | | 703 " },
  },
  attest: {
    ...{ value: 12.41, unit: "ms", ...less },
    about: "of an attestation that waits for nobody",
    source: { file: ENCLAVE, text: "| `attest_p50_ms`, elapsed | 12.41 " },
  },
  sign: {
    ...{ value: 1.35, unit: "ms", ...less },
    about: "of the enclave's main program for a signature",
    source: { file: ENCLAVE, text: "| `sign_ms` | 1.35 " },
  },
  "root-update-64": {
    ...{ value: 17.6, unit: "ms" },
    about: "of the enclave's main program for 64 leaves",
    source: { file: ENCLAVE, text: "| `root_update_64_ms` | 17.60 " },
  },
  "root-update-256": {
    ...{ value: 38.34, unit: "ms" },
    about: "the same for 256; other sizes lie on the line through both",
    source: { file: ENCLAVE, text: "| `root_update_256_ms` | 38.34 " },
  },
  recovery: {
    ...{ value: 0.44, unit: "ms", ...less },
    about: "of a proxy for each attestation: whose signature it is",
    source: { file: SUBMISSION, text: "0.44 ms a signature" },
  },
  request: {
    ...{ value: 1_000 / 4_792, unit: "ms", ...less },
    about: "of a proxy for each request",
    source: { file: HTTP, text: "| `root_per_s` | 4,792 " },
  },
  requests: {
    ...{ value: 3, unit: "requests", ...less },
    about: "for each ticket: one posts it, two ask; a choice",
  },
  waiting: {
    ...{ value: 2_000, unit: "tickets", ...count },
    about: "tickets that may wait before QUEUE_FULL",
    source: { file: "proxy/config.ts", text: 'CLOISTER_MAX_WAITING: ["2000"' },
  },
  redis: {
    ...{ value: 4_868, unit: "1/s", ...more },
    about: "operations of one durable Redis: writes, though half of ours are reads",
    source: { file: SUBMISSION, text: "| SET, 50 connections | 4,868 " },
  },
  "redis-ticket": {
    ...{ value: 7, unit: "operations", ...less },
    about: "statement, two notes, acceptance, idempotency twice, fee notes; counted from proxy/store/redis",
  },
  "redis-call": {
    ...{ value: 17, unit: "operations", ...less },
    about: "reading what was sent, storing bytes, mined, confirmed, final; counted from proxy/submission",
  },
  "redis-host": {
    ...{ value: 21, unit: "1/s", ...less },
    about: "of each proxy: news ten times a second and their tickets, the lease, a check; counted as well",
  },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof FIGURES;
export type Values = Readonly<Record<FigureName, number>>;

export const FIGURE_NAMES = Object.keys(FIGURES) as FigureName[];

/** As they stand above. */
export const MEASURED: Values = Object.fromEntries(
  FIGURE_NAMES.map((name) => [name, FIGURES[name].value]),
) as Record<FigureName, number>;

export interface KindFigures {
  /** Alone in a call, and each of 16. A call's own share and a member's follow from the two. */
  readonly gasAlone: number;
  readonly gasEachOf16: number;
  readonly leaves: number;
  readonly sources: readonly Source[];
}

const gasOf = (alone: number, eachOf16: number, leaves: number, rows: readonly string[]): KindFigures => ({
  gasAlone: alone,
  gasEachOf16: eachOf16,
  leaves,
  sources: rows.map((text) => ({ file: GAS, text })),
});

/** Swaps are not among them: a venue's gas decides how many of them go into a call. */
export const KIND_FIGURES = {
  transfer: gasOf(161_637, 89_705, KINDS.spend.leaves, [
    "| `private_transfer_alone` | in a call of its own | 161,637 |",
    "| `private_transfer_batch16` | each of 16, all on one root | 89,705 |",
  ]),
  deposit: gasOf(185_885, 102_531, KINDS["deposit-shield"].leaves, [
    "| `deposit_alone` | in a call of its own | 185,885 |",
    "| `deposit` | each of 16, by EIP-3009 | 102,531 |",
  ]),
  withdrawal: gasOf(185_935, 105_186, KINDS.spend.leaves, [
    "| `withdrawal_alone` | in a call of its own | 185,935 |",
    "| `withdrawal` | each of 16, to accounts that hold the token | 105,186 |",
  ]),
} as const;

export type SimulatedKind = keyof typeof KIND_FIGURES;
