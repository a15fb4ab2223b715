/** Guide: the stream, errors and bridges. */
import { bridgeReason, bridgeState } from "../../bridge-status.ts";
import { ERROR_CODES, ERRORS } from "../../errors.ts";
import { REMEDIES } from "../remedies.ts";
import { rowsOf } from "./payments.ts";

const errorRows = ERROR_CODES.map((code) => {
  const { status, title, retryable } = ERRORS[code];
  return `| **${code}** | ${String(status)}${retryable ? ", again" : ""}. ${title}. ${REMEDIES[code]} |`;
}).join("\n");

export const SURROUNDINGS = `# The event stream

GET /events/stream is server-sent events (WHATWG HTML, section 9.2): \`event\` is the kind, \`data\` one line of JSON, \`id\` the event's place on the chain.
Payloads are the schemas \`Event_<kind>\`. It is the same on every proxy, and after a rebuild of its index.

1. \`ready\` comes first, then the open tickets and bridge requests of the caller, then history: \`leaf\`, \`nullifier\`, \`root\`, \`void\`, in the chain's order. Without
   \`from\` it is the whole history, so a wallet can be restored from its key and the stream alone.
2. \`synced\` says that the past is told. The stream stays open; what happens comes as it happens. A comment comes every 15 seconds: after 30 without one, connect again.
3. To resume, send the last \`id\` as \`Last-Event-ID\` (or \`from=\`): nothing is lost and nothing comes twice. If the chain has left that block meanwhile, \`reorg\` comes first: forget all
   after \`from_id\`.
4. \`ticket\` and \`bridge\` are the caller's own, have no id, and give the whole object each time.
5. \`session_expired\` ends the stream: open one with a new token. \`credential_revoked\` ends it for good.

\`types=leaf,nullifier\` filters. A reader that stalls for long is closed and may resume; a burst drops nobody.

# The history in chunks

A wallet that begins from nothing need not read a long history as events. GET /history lists what of it is final, in chunks of 4,096 outputs; GET /history/chunks gives
them as bytes, up to 16 at once. Chunks follow from the chain alone: every proxy, and everybody with a node, makes the same bytes.

1. GET /history. For an instance that has none, or no route of that name (404), read the stream.
2. For \`from\` = 0, 8, 16, …: GET /history/chunks with \`limit\` 8, or as many as are left, and \`last\`, the \`sha256\` of the last one of them. Compare each chunk with its \`sha256\`.
   404 says that the list has changed: begin again. Take all of them, whatever is in them: what is asked for must not tell whose notes are where.
3. X25519 with each run's ephemeral key, then the view tag of each output (SPEC, section 3): one foreign output in 256 looks like one's own. Open those, and believe a note that gives its commitment.
4. Nullifiers and voids say in their order what is spent and what is void.
5. The nodes stand over 256 leaves each. Hash them up to the chunk's root, and the leaves of one's own notes to their node; hold the root against the pool's own. Of subtrees with void leaves hash the
   leaves, the void ones as 0.
6. GET /events/stream with \`from\` = \`last_event_id\`: it goes on there without gap or overlap.

Integers are big-endian. Sections follow each other without a gap, each as long as the counts say:

| section | bytes of one | what |
|---|---|---|
| head | 153 | form 1 (1 byte), number 4, \`sha256\` of the chunk before 32; the last output's block 6, its hash 32, log 4, part 4; the newest root there 32, its leaves 4, its block 6 (zero: none); seven counts of 4: outputs, transactions, runs, openings, nullifiers, voids, nullifiers of voids |
| nodes | 32 | Roots of the chunk's subtrees of 256 leaves, as they were queued: not emptied where a leaf is void |
| transactions | 38 | Block 6, hash 32 |
| runs | 40 | Outputs under one ephemeral key: the key 32, transaction 4, place of its first output in its statement 1, source 1 (0 deposit, 1 spend, 2 swap, 3 forwarder), how many outputs 2 |
| ciphertexts | 53 | One an output, as in the event \`leaf\` |
| commitments | 32 | One an output |
| openings | 72 | Notes that the pool hashed: output within the chunk 4, npk 32, asset 20, value 16 |
| nullifiers | 36 | Transaction 4, nullifier 32 |
| voids | 16 | Transaction 4, how many of the chunk's nullifiers came before 4, first leaf 4, leaves 2, nullifiers of it 2 |
| of voids | 32 | The nullifiers that are unspent again |

# Errors

Every refusal is \`application/problem+json\` (the schema Problem). Programs read \`code\` and \`retryable\`, people \`detail\`. No refusal repeats a credential. An unknown
code is treated by its status. "Again" stands where the same request may succeed later (\`retryable\`).

| code | status, what it means, and what you can do |
|---|---|
${errorRows}

A ticket's own errors stand in the schema Ticket.

# Bridges

An address for money from elsewhere, or for a withdrawal to elsewhere, is a contract's (SPEC, section 8.6) whose terms nobody can change: which note the money becomes, who may
take how much for it, where it goes back. So the service can delay and no more; what it does not do, anybody can (\`npm run recover\`).

1. Derive a note key and its ciphertext as for an output, sealed with value 0 and place 0 (section 8.5), from an ephemeral secret of its own.
2. POST /bridge/…; compute the address again from the answer's \`terms\`, against what you have pinned of \`bridges\` in GET /info.
3. Send at least \`minimum\` to it, any number of times. \`fees\` and \`venue_fees\` say what the way costs.
4. GET /bridge/status, or \`bridge\` on the stream, until the deposit is at its end. On the other blockchain the client signs one burn (\`sign\`).

| state | what it means |
|---|---|
${rowsOf(bridgeState)}

\`reason\` says why a deposit waits:

| code | what it means, and what you can do |
|---|---|
${rowsOf(bridgeReason)}

Money that does not go on goes back: anybody may start the refund clock, and \`timeout_secs\` later anybody may send the money to the refund address, or into the refund note.
`;
