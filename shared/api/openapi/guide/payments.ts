/** Guide: how a payment is built, and what becomes of it. */
import type * as z from "../../zod.ts";
import { ticketState } from "../../transactions.ts";

/** The rows of an enumeration's table, as its schema explains them. */
export function rowsOf(schema: z.ZodType): string {
  const told = schema.meta()?.["x-enumDescriptions"] as Readonly<Record<string, string>> | undefined;
  if (told === undefined) throw new Error("an enumeration without explanations");
  return Object.entries(told)
    .map(([value, text]) => `| **${value}** | ${text} |`)
    .join("\n");
}

export const PAYMENTS = `# Building a request

The byte-exact text is [SPEC.md](SPEC.md), \`shared/protocol/SPEC.md\` in the repository; the reference page serves it. This is the way through it, with the
sections to read. \`shared/api/python/\` is the whole of it as a program: 135 lines of client, and sections 1 to 6 in plain Python.

1. **Keys** (section 2). A seed of 32 random bytes gives a spending key, from which follow nullifier key, owner, and an X25519 viewing key. A
   *shielded address* is owner and viewing key in bech32m under the network's prefix, \`address_prefix\` of GET /info.
2. **Notes** (section 3). Money is a note: asset, value, and a blinding. With \`npk = H2(owner, blinding)\` its *commitment* is
   \`H3(npk, asset, value)\`, a leaf of the tree; its *nullifier*, \`H3(nullifierKey, commitment, leafIndex)\`, is told when it is spent, and only its owner can
   tell that the two belong together. H2, H3, H4 are Poseidon (section 1.1).
3. **Find yours.** Read the event stream from the beginning. For each \`leaf\` derive the keys from X25519 of your viewing secret and \`ephemeral_key\`; if the view
   tag fits, open the *ciphertext*, recompute the commitment, and believe the note only if it equals the leaf. Drop notes whose
   nullifier a \`nullifier\` event told. Only leaves with an index below the newest \`root\`'s \`leaf_count\` can be spent.
4. **Fees.** GET /whoami gives for each asset and operation what the service and the developer take: fee = flat + floor(amount × bps / 10,000), each an output to its \`sink\`.
   Those that are \`enforced\` are opened in \`fees\`.
5. **Outputs** (section 5). Exactly as many as the kind has, dummies for a random owner included. Draw one ephemeral X25519 secret for the statement; with it each
   output's blinding and 53 bytes of ciphertext follow (section 3): blindings are not sent.
6. **ext and \`context\`** (section 5). What the proof cannot say (payee of a withdrawal, path of a swap, depositor, ciphertexts) is packed into \`ext\`, and
   \`context = keccak(abi.encode(chainId, pool, kind, deadline, keccak(ext))) mod r\` binds the proof to it: nobody can change one byte. In
   JSON \`ext\` is an object; its bytes are made of its fields in the order of section 5.
7. **Paths** (sections 4 and 6). The three siblings of each of the 16 levels, of the tree that has the root you prove against: from the leaves, or from whole levels of
   GET /merkle/tree.
8. **Proof** (section 6). The witness goes to the prover: \`npm run --silent prove -- spend\` reads it as JSON (\`--help\` says more) and gives \`proof\` and \`public_signals\`, whose order is
   the table of section 5. Any Groth16 prover does, with the keys whose hashes GET /info names.
9. **Send** \`{ proof, public_signals, deadline, ext, fees }\` to POST /sequence/{kind} with an Idempotency-Key. \`Prefer: wait=10\` waits up to ten seconds for the execution.

A deposit has besides \`authorization\`: the depositor's signature of EIP-3009's ReceiveWithAuthorization (from, to = pool, value = amountIn, validAfter, validBefore, nonce = the
statement hash of section 5), in the token's own EIP-712 domain. A token without EIP-3009 goes by POST /attest/deposit-shield and the depositor's own transaction.

| kind | for | notes in and out | fields of ext |
|---|---|---|---|
| **deposit-shield** | public tokens become notes | 0 → 3 | depositor, valid_after, valid_before, ephemeral_key, ciphertexts |
| **spend** | transfer (recipient zero) or withdrawal | 2 → 4 | recipient, ephemeral_key, ciphertexts |
| **spend9** | the same, from up to nine notes | 9 → 4 | the same |
| **private-swap** | one token for another | 2 → 3, and one that the pool makes | token_out, min_amount_out, path, npk_out, ephemeral_key, ciphertexts |

# Life of a ticket

A ticket is a payment that the service has verified, attested and stored. Keep its id, and the statement hash.

| state | what it means |
|---|---|
${rowsOf(ticketState)}

- **queued, submitted.** The notes are reserved: another statement with one of these nullifiers is 409 \`NULLIFIER_PENDING\`. Wait. \`position\` says how many are before a queued one. An \`error\` here is
  provisional: why the last try failed; it is tried again until the deadline.
- **confirmed.** The payee has the money and can spend it once a root covers the leaf. A shop that sends goods for it may wait for finalized.
- **finalized, failed, expired.** Nothing changes any more. After failed and expired the notes can be spent again; make a new statement,
  and let it spend a note of the old one, so that at most one of the two can ever be executed.
- The outcome is what the pool's own events say of the statement, whoever carried it. Until the deadline anybody who has seen the
  proof can have it executed.

## What holds a ticket

\`blocked_by\` is there while something holds tickets that the operator can fix. Nothing is lost, and nothing needs to be sent again;
tickets go on in their order, and expire only at their own deadline.

| blocked_by | what |
|---|---|
| **chain** | the chain's node does not answer |
| **enclave** | too few enclaves answer |
| **gas** | the account that pays gas is short of it |
| **pause** | the pool takes nothing attested now: its guardian has paused it, or a signer was refuted. Who cannot wait pays by a proof alone (\`npm run exit\`) |
| **executor** | swaps only: the pool has no executor |
`;
