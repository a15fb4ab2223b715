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
