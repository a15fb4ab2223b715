/** What an operation does with a request, beyond its summary. By the names of ENDPOINTS. */
import type { EndpointName } from "../endpoints.ts";

const SEQUENCE =
  "Checks the statement (shape, fees, nullifiers, root, `context`), has the enclaves verify the proof, stores the ticket, and only then answers 202: from there on the service carries it, through restarts too. The same statement sent again by its owner is the same ticket, unless that one ended failed or expired. How a body is made: Building a request; how it goes on: Life of a ticket.";
const ATTEST =
  "The same checks and the same proof as /sequence, and nothing is stored, reserved or sent: anybody may send `transaction` and pay its gas, or hand the attestations to POST /relay.";
const BRIDGE =
  "The caller gives the note that the money becomes, or falls back to, and gets an address whose terms nobody can change. Compute the address again before you show it (SPEC, section 8.6). The same body gives the same address.";

export const OPERATION_TEXTS: Readonly<Record<EndpointName, string>> = {
  health:
    "For load balancers and people. 200 while every part works, 503 else; accepted payments are kept either way.",
  info: "What a client needs before anything else. With a `nonce` the attestation documents are fresh, and hold it: verify them before you send what should stay private (SPEC, section 9.2).",
  whoami: "Shows a client what it costs its user, and how much it may still ask.",
  createSession:
    "A developer's server asks for it when its user is signed in, and gives the token to the user's browser or phone. The answer is never stored: ask again for another.",
  sessionExchange:
    "For apps without a server: the identity provider's access token is verified by issuer, audience, signature and time, and used for nothing else.",
  sequenceDeposit: SEQUENCE,
  sequenceSpend: SEQUENCE,
  sequenceSpend9: SEQUENCE,
  sequenceSwap: SEQUENCE,
  ticket:
    "By the ticket's id, or by the statement hash, which the client knows before it sends anything: so no lost answer loses a payment. The event stream says every change without being asked.",
  attestDeposit: ATTEST,
  attestSpend: ATTEST,
  attestSpend9: ATTEST,
  attestSwap: ATTEST,
  relay:
    "For a statement that was attested elsewhere or earlier. Checked as by /sequence, with the signatures in the place of the proof's verification; fewer than `threshold` good ones are refused before any gas is spent.",
  swapQuote:
    "Fees come out of `shares_in` first. The price is the service's word: judge `floor` by a source of your own before you sign it into `ext.min_amount_out`.",
  bridgeFromVenue: BRIDGE,
  bridgeToVenue: `${BRIDGE} Then withdraw to the address: spend with it as \`ext.recipient\`.`,
  bridgeFromChain: `${BRIDGE} The deposit key is derived by the client and signs one burn there; it never leaves the client.`,
  bridgeStatus:
    "What the chains themselves say, reckoned anew for each question. `next` says what happens, `without_help` what the owner can do if it does not.",
  merkleRoot: "The root to prove against, and how many leaves still wait for one.",
  merkleTree:
    "Take whole levels, never only the nodes of your own path: what is asked for tells which note is meant. A full page whose leaves are final may be kept for good; every other has an ETag.",
  history:
    "For a wallet that begins from nothing: read the chunks, then the stream from `last_event_id` on. See The history in chunks.",
  historyChunks:
    "Everybody asks for the same chunks, since in nearly every one of them some output of somebody else looks as if it were one's own; so take all of them, in pages of 8 from a multiple of 8 on. An answer never changes and may be kept by anybody.",
  events:
    "Everything that happened in the pool, from the beginning or from an event on, and then as it happens; of tickets and bridges the caller's own. See The event stream.",
  balance: "Public money of a public account, for a screen before a deposit.",
  openapi: "For tools. To read, there is the reference page, on an address of its own.",
};
