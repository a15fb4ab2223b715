/** Guide: who may call, how often, and what to do when an answer does not come. */
export const ACCESS = `# Authentication and sessions

Every request but POST /session/exchange carries exactly one credential.

| credential | header | for | may |
|---|---|---|---|
| API key \`ck_…\` | \`X-API-Key\` | servers and scripts of a developer; never a browser or a phone | everything |
| session token \`sst_…\` | \`Authorization: Bearer\` | one user of a developer, 1 to 60 minutes | what its \`perms\` say: \`read\`, \`write\` |

A developer's server signs its user in as ever, asks POST /session with its API key, and hands the token to the user's device.
Without a server, POST /session/exchange takes the access token of a registered identity provider. When a token is over,
requests get 401 \`SESSION_EXPIRED\`: get another and repeat the request. A revoked credential gets \`INVALID_CREDENTIAL\` within 5 seconds, and
its streams end. Only on GET /events/stream the token may stand in the query, \`?session=\`, since a browser's EventSource sets no header.

**Browsers.** A page may call only from an origin that the operator has registered for its developer; others get no readable
answer. A request that carries an API key and comes from a browser is refused.

A credential says whose limits, fees and tickets count. It opens no note: keys and notes stay on the user's device, and
the service never learns a spending key, nor the amount or payee of a private transfer.

# Limits and retries

| policy | counted | default |
|---|---|---|
| \`key-minute\`, \`key-day\` | requests with API keys, by developer | 60 in a minute, 10,000 in a day |
| \`session-minute\` | requests with a session, by developer and \`sub\` | 120 in a minute |
| \`exchange-address\` | POST /session/exchange, by address (IPv6 by /64) | 30 in a minute |
| \`streams-user\`, \`streams-users\`, \`streams-developer\` | open event streams, by user, of all a developer's users and by its keys; opening one counts as one request | 5, 5,000 and 50 at once |
| \`bad-proofs\`, \`bad-proofs-users\` | proofs that did not verify, of one user and of all of a developer's | 20 and 1,000 in a minute |
| \`kept-answers-users\` | requests with an \`Idempotency-Key\` that is new, of all of a developer's users | 100,000 in a day |
| \`failed-credentials\` | refused credentials, by address; a good one is never refused for it | 30 in a minute |

Windows slide: a request leaves its window exactly a minute, or a day, after it was made. An operator may raise a developer's.
Every counted answer says how the caller stands (IETF draft-ietf-httpapi-ratelimit-headers):

    RateLimit-Policy: "key-minute";q=60;w=60, "key-day";q=10000;w=86400     quota and window in seconds
    RateLimit: "key-minute";r=59;t=60, "key-day";r=9999;t=86400             requests left, seconds until one more

429 \`RATE_LIMITED\` names the \`policy\` and has \`Retry-After\` in seconds; to come earlier is in vain.

**What to repeat.** \`retryable\` in a refusal says whether the very same request may succeed later. Repeat those after
\`Retry-After\` (or after 1, 2, 4, … seconds, with some chance in it, where there is none), 429 and 503 included. All other refusals
stay: change the request. GET and POST /swap/quote can always be repeated.

**Idempotency-Key.** POST to /sequence/*, /relay and /bridge/* takes one, 1 to 255 printable ASCII characters, drawn at random for each
thing that the user wants, such as a UUID. If an answer does not come, send the same body (white space and the order of fields do not matter) with the same key: it runs once, and the first answer
comes again, for 24 hours. Another body under the key is 422 \`IDEMPOTENCY_MISMATCH\`; the first still running, 409
\`IDEMPOTENCY_IN_PROGRESS\`. A retryable refusal is not kept: its key is free again. A key belongs to developer, user, method and path.
Besides, a statement is one by itself: sent twice by its owner it is one ticket, key or no key, and can be executed once.
`;
