// Ways to weaken the enclave, each a small edit that removes one check, and the tests that have to notice.

export interface Mutation {
  /** What is wrong with the enclave now. */
  readonly name: string;
  /** From the project's root. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  /** Files of tests, to save the time of all others. */
  readonly tests: readonly string[];
}

type Row = readonly [name: string, from: string, to: string];

/** Tests are named below test/, without their ending. */
function of(file: string, tests: readonly string[], rows: readonly Row[]): Mutation[] {
  return rows.map(([name, from, to]) => ({
    name,
    file,
    from,
    to,
    tests: tests.map((test) => `test/${test}.test.ts`),
  }));
}

export const MUTATIONS: readonly Mutation[] = [
  ...of(
    "enclave/attest.ts",
    ["unit/enclave/attest"],
    [
      ["signals are not looked at", `if (typeof signals === "string") return refused(signals);`, ""],
      ["statements are not looked at", `if (typeof statement === "string") return refused(statement);`, ""],
      ["proofs are not verified", "if (fault !== undefined) return refused(fault);", "void fault;"],
      [
        "another circuit is signed than verified",
        "configuration.verifyingKeyHashes[kind]",
        "configuration.verifyingKeyHashes.spend9",
      ],
    ],
  ),
  ...of(
    "shared/protocol/statements.ts",
    ["unit/shared/protocol/statements"],
    [
      [
        "fewer or more signals pass",
        `if (untrusted.length !== signalCount(kind)) return "SIGNAL_COUNT";`,
        "",
      ],
      [
        "a signal may be written with r on top",
        `return signals.length === untrusted.length ? signals : "SIGNAL_RANGE";`,
        "return signals.length === untrusted.length ? signals : (untrusted as Field[]);",
      ],
      [
        "a deadline may be longer than its field",
        "deadline < 0n || deadline >= UINT64_LIMIT",
        "deadline < 0n",
      ],
      [
        "an ext may have any length",
        "if (bytes.length !== TERMS_BYTES[kind] + leaves * CIPHERTEXT_BYTES) return undefined;",
        "",
      ],
      [
        "one nullifier may stand twice",
        `if (new Set(facts.nullifiers).size !== facts.nullifiers.length) return "NULLIFIERS_NOT_DISTINCT";`,
        "",
      ],
      [
        "the context is not compared",
        `if (facts.context !== contextOf(home, kind, deadline, extBytes)) return "CONTEXT_MISMATCH";`,
        "",
      ],
      ["the chain is not in the context", "    word(home.chainId),\n", ""],
      ["the pool is not in the context", "    word(BigInt(home.pool)),\n", ""],
      ["an asset need not be an address", "asset === undefined || ", ""],
      ["an amount may have 129 bits", " || facts.amount >= VALUE_LIMIT", ""],
      [
        "an asset may be shown while nothing moves",
        `if ((facts.asset === 0n) !== (facts.amount === 0n)) return "STATEMENT_INVALID";`,
        "",
      ],
      [
        "the terms are not looked at",
        `if (!termsHold(ext, asset, facts.amount)) return "STATEMENT_INVALID";`,
        "",
      ],
      ["a deposit of nothing passes", "return amount !== 0n && ext.depositor", "return ext.depositor"],
      ["a deposit of nobody passes", "ext.depositor !== ZERO_ADDRESS && ", ""],
      ["an authorization may never be valid", " && ext.validAfter < ext.validBefore", ""],
      [
        "a payment may go to nobody",
        "return (ext.recipient === ZERO_ADDRESS) === (amount === 0n);",
        "return true;",
      ],
      ["a swap of nothing passes", "        amount !== 0n &&\n        ext.tokenOut", "        ext.tokenOut"],
      ["a swap may buy nothing", "ext.tokenOut !== ZERO_ADDRESS &&", ""],
      ["a swap may buy what it gives", "ext.tokenOut !== asset &&", ""],
      ["a swap needs no floor", "ext.minAmountOut !== 0n &&", ""],
      ["what is bought may go to no wallet", "asField(ext.npkOut) !== undefined &&", ""],
      ["any tier passes", "if (!FEE_TIERS.includes(feeFirst)) return false;", ""],
      ["a hop to nowhere passes", "return feeSecond === 0;", "return true;"],
      ["any second tier passes", "FEE_TIERS.includes(feeSecond) && ", ""],
      ["a swap may come back to its start", "middle !== asset && ", ""],
      ["a swap may stand still at its end", " && middle !== tokenOut", ""],
    ],
  ),
  ...of(
    "shared/protocol/proof.ts",
    ["unit/shared/protocol/proof"],
    [
      [
        "a coordinate may be written with q on top",
        " || numbers.some((coordinate) => coordinate >= BASE_FIELD_ORDER)",
        "",
      ],
    ],
  ),
  ...of(
    "enclave/verify.ts",
    ["unit/enclave/verify"],
    [
      [
        "points may be zero",
        `if (G1.isZero(a) || G2.isZero(b) || G1.isZero(c)) return "PROOF_AT_INFINITY";`,
        "",
      ],
      [
        "points may be off their curves",
        `if (!G1.isValid(a) || !G2.isValid(b) || !G1.isValid(c)) return "PROOF_NOT_ON_CURVE";`,
        "",
      ],
      ["B may be of another order", "return bn254.isInSubgroup(lines) ? ", "return true ? "],
      [
        "a batch of several bad proofs is believed",
        "found === undefined ? holdsAlone(result) : !found.includes(result)",
        "!found?.includes(result)",
      ],
      ["a batch is believed unseen", "if (wasm.ftm_eq(product, bn254.one) === 1) return [];", "return [];"],
      ["anybody is to blame", "return wasm.ftm_eq(placed, power) === 1;", "return true;"],
      ["places count from zero", "weight * BigInt(i + 1)", "weight * BigInt(i)"],
      ["all weights are one", "(WEIGHT_BYTES * i, WEIGHT_BYTES * (i + 1))) + 1n", "(0, 0)) + 1n"],
      [
        "a weight may be zero",
        "(WEIGHT_BYTES * i, WEIGHT_BYTES * (i + 1))) + 1n",
        "(WEIGHT_BYTES * i, WEIGHT_BYTES * (i + 1)))",
      ],
      [
        "signals are not counted",
        `if (claims.some(({ kind, signals }) => signals.length + 1 !== prepared[kind].ic.length))
        throw new Error("signals were not counted");`,
        "",
      ],
      [
        "weights may be made of little",
        `if (randomness.length < WEIGHT_BYTES * count) throw new Error("too little randomness");`,
        "",
      ],
    ],
  ),
  ...of(
    "enclave/attest-root.ts",
    ["unit/enclave/attest-root"],
    [
      ["a node may be written with r on top", "allFields(request.frontier)", "(request.frontier as Field[])"],
      [
        "a frontier need not fit its index",
        `if (tree === undefined) return refused("FRONTIER_INVALID");`,
        `if (tree === undefined) return attestRoot({ signer }, { ...request, fromIndex: 0n, frontier: [] });`,
      ],
      [
        "a leaf may be written with r on top",
        "fields.length === values.length ? fields : undefined",
        "(values as Field[])",
      ],
      ["an update may have no leaves", "leaves.length === 0 ||", ""],
      ["an update may have any number of leaves", "leaves.length > MAX_UPDATE_LEAVES ||", ""],
      ["the empty leaf may be appended", " ||\n    leaves.includes(ZERO)", ""],
      [
        "a full tree goes on",
        `if (!tree.append(leaf)) return refused("LEAVES_INVALID");`,
        "tree.append(leaf);",
      ],
      ["the head stays where it was", "headAfter = nextHead(headAfter, leaf);", ""],
      [
        "the old root is the new one",
        "const oldRoot = tree.root();\n  let",
        "const oldRoot = tree.root() && request.leaves[0] as Field;\n  let",
      ],
    ],
  ),
  ...of(
    "shared/protocol/tree.ts",
    ["unit/shared/protocol/tree", "unit/enclave/attest-root"],
    [
      ["an index may lie beyond the tree", "leafCount < 0n || leafCount >= TREE_CAPACITY", "leafCount < 0n"],
      ["an empty node passes", "if (row.includes(emptyNode(level))) return undefined;", ""],
      ["nodes left over pass", "return at === nodes.length ? ", "return at <= nodes.length ? "],
      [
        "the last place may be filled",
        "this.#leafCount + 1n >= TREE_CAPACITY",
        "this.#leafCount >= TREE_CAPACITY",
      ],
    ],
  ),
  ...of(
    "enclave/genesis.ts",
    ["unit/enclave/genesis"],
    [
      ["a challenge may be guessed", `if (!isNonce(challenge)) return refused("NONCE_INVALID");`, ""],
      ["the challenge is not in the certificate", "{ nonce: challenge, userData }", "{ userData }"],
      ["a certificate names another sealed key", "sha256Hex(sealedKey)", "configuration.kmsKeyHash"],
    ],
  ),
  ...of(
    "enclave/live-document.ts",
    ["unit/enclave/live-document"],
    [["a nonce may be guessed", `if (!isNonce(nonce)) return refused("NONCE_INVALID");`, ""]],
  ),
  ...of(
    "enclave/release.ts",
    ["unit/enclave/release", "unit/enclave/restore"],
    [
      [
        "an ephemeral key opens twice",
        "const release = this.#pending;\n    this.#pending = undefined;",
        "const release = this.#pending;",
      ],
      [
        "an old ephemeral key outlives the next request",
        "this.#pending = undefined;\n    const pair",
        "const pair",
      ],
    ],
  ),
  ...of(
    "enclave/restore.ts",
    ["unit/enclave/restore"],
    [
      ["a birth certificate may be of another image", "    measurements: [own.measurement],\n", ""],
      ["another sealed key than the certificate's passes", "sealedKeyHash !== sha256Hex(sealedKey) ||", ""],
      ["a key sealed to another KMS key passes", "kmsKeyHash !== configuration.kmsKeyHash ||", ""],
      [
        "a certificate of another configuration passes",
        " ||\n    configurationHash !== configuration.hash",
        "",
      ],
      [
        "another signer than the certificate's passes",
        "return signer?.address === born ? signer : undefined;",
        "return signer;",
      ],
      ["our own document may say another configuration", ` || own.claims?.configurationHash !== hash`, ""],
      ["our own document may be of another key", "equalBytes(own.publicKey, publicKey) ? own", "true ? own"],
      [
        "our own document may be of no key",
        "own.publicKey !== undefined && equalBytes(own.publicKey, publicKey)",
        "equalBytes(own.publicKey ?? publicKey, publicKey)",
      ],
    ],
  ),
  ...of(
    "enclave/signer.ts",
    ["unit/enclave/signer"],
    [
      [
        "any domain opens",
        "equalBytes(reader.take(DOMAIN.length), DOMAIN) && reader",
        "reader.take(DOMAIN.length) && reader",
      ],
      ["any version opens", " && reader.number(1) === LAYOUT_VERSION", " && reader.number(1) > 0"],
      ["any configuration opens", " || !equalBytes(configurationHash, mustFromHex(hash))", ""],
      ["bytes left over open", "!isOurs || !reader.done()", "!isOurs"],
      ["a key need not be its signer's", " || toAddress(signer) !== addressOf(secret)", ""],
      ["what is no key opens", "!secp256k1.utils.isValidSecretKey(secret) || toAddress", "toAddress"],
      [
        "what is no key is sealed",
        "secret === undefined || !secp256k1.utils.isValidSecretKey(secret)",
        "secret === undefined",
      ],
      ["the drawn secret stays in memory", "  secret.fill(0);\n  plaintext.fill(0);\n", ""],
      ["the released secret stays in memory", "    plaintext.fill(0);\n    if", "    if"],
    ],
  ),
  ...of(
    "enclave/phase.ts",
    ["unit/enclave/phase", "unit/enclave/dispatch"],
    [
      [
        "attestations are made before a key is restored",
        `booting: new Set(["status", `,
        `booting: new Set(["status", "attest", `,
      ],
      [
        "keys are made while serving",
        `serving: new Set(["status", `,
        `serving: new Set(["status", "genesis", `,
      ],
      [
        "a halted program documents itself",
        `halted: new Set(["status"])`,
        `halted: new Set(["status", "attestation"])`,
      ],
      [
        "a second key takes the place of the first",
        "...this.booting, signer",
        "...(this.#booting ?? this.serving), signer",
      ],
      ["a halt leaves the key to who holds it", "this.#serving?.signer.wipe();", ""],
    ],
  ),
  ...of(
    "enclave/dispatch.ts",
    ["unit/enclave/dispatch"],
    [
      [
        "phases are not looked at",
        `if (!ANSWERED[life.phase].has(request.type)) return refused("WRONG_PHASE");`,
        "",
      ],
      ["a fault of our own does not halt", "    life.halt();\n", ""],
      [
        "a restore that fails serves",
        `if (signer === undefined) return refused("RESTORE_REFUSED");\n        life.serve(signer);`,
        `if (signer === undefined) return refused("RESTORE_REFUSED");`,
      ],
    ],
  ),
  ...of(
    "enclave/configuration.ts",
    ["unit/enclave/configuration"],
    [
      ["any text is an attestation root", "|| !/^[0-9a-f]{64}$/.test(attestationRoot)", ""],
      [
        "a member that nobody reads passes",
        "found.join() !== [...names].sort().join()",
        "found.length < names.length",
      ],
      ["an RSA key of any size passes", " || modulusLength !== 2048", ""],
      ["an RSA key of any exponent passes", " || publicExponent !== 65_537n", ""],
      ["a key of any kind passes", `key.asymmetricKeyType !== "rsa" || `, ""],
      [
        "one key may be spelled in two ways",
        `if (!equalBytes(key.export({ format: "der", type: "spki" }), spki))`,
        "if (key === undefined)",
      ],
      [
        "a circuit may have another's key",
        "if (key.ic.length !== signalCount(kind) + 1) throw new TypeError(`not a key of the ${kind} circuit`);",
        "",
      ],
      ["the KMS key is not in the hash", "keccak256(spki), mustFromHex", "mustFromHex"],
      ["the root is not in the hash", ", mustFromHex(`0x${attestationRoot}`)", ""],
    ],
  ),
  ...of(
    "shared/protocol/user-data.ts",
    ["unit/shared/protocol/user-data"],
    [
      [
        "any domain is ours",
        "equalBytes(reader.take(DOMAIN.length), DOMAIN) && reader",
        "reader.take(DOMAIN.length) && reader",
      ],
      ["any version is ours", " && reader.number(1) === LAYOUT_VERSION", " && reader.number(1) > 0"],
      ["bytes left over pass", "!isOurs || !reader.done()", "!isOurs"],
      ["a release may name a signer", `return signer.every((byte) => byte === 0) ? `, "return signer ? "],
    ],
  ),
  ...of(
    "enclave/frames.ts",
    ["unit/enclave/frames"],
    [
      [
        "connections are not counted",
        "this.#connections >= this.#limits.connections",
        "this.#connections < 0",
      ],
      ["a connection that ends keeps its place", "this.#connections -= 1", "this.#connections"],
      ["requests are not counted", "this.#waiting >= this.#limits.waiting", "this.#waiting < 0"],
      ["a request that is answered keeps its place", "this.#waiting -= 1", "this.#waiting"],
      [
        "replies that nobody reads are kept",
        "if (socket.writableLength > this.#limits.unreadBytes) socket.destroy();",
        "",
      ],
      [
        "what is no request is left out",
        "if (request === undefined) return false;",
        "if (request === undefined) continue;",
      ],
      ["another language is listened to", "return payloads !== undefined;", "return true;"],
      ["who is gone is worked for", "if (!job.connection.socket.destroyed) this.#send", "this.#send"],
      ["connections may be idle", "if (connection.waiting === 0) socket.destroy();", ""],
      ["who waits is idle", "if (connection.waiting === 0) socket.destroy();", "socket.destroy();"],
      [
        "a reply does not begin the idle time anew",
        "job.connection.waiting -= 1;\n    job.connection.rest();",
        "job.connection.waiting -= 1;",
      ],
      ["a status question waits", ' || job.request.type === "status"', ""],
    ],
  ),
  ...of(
    "shared/protocol/enclave-messages.ts",
    ["contract/wire/codec", "unit/shared/protocol/frame-splitter"],
    [
      [
        "bytes left over pass",
        "return message !== undefined && reader.done() ? ",
        "return message !== undefined ? ",
      ],
      ["half a pool passes", "return pool.length === 20\n        ? ", "return pool.length < 21\n        ? "],
      ["no leaves pass", "leaves.length === 0 || ", ""],
      ["any number of leaves passes", " || leaves.length > MAX_UPDATE_LEAVES", ""],
      ["any version passes", "this.#broken = this.#header[0] !== FRAME_VERSION;", ""],
      ["a frame may be shorter than its head", "length < 5 || ", ""],
      [
        "a frame may be of any length",
        " || length > MAX_FRAME_BYTES;\n    if (this.#broken) return;",
        ";\n    if (this.#broken) return;",
      ],
    ],
  ),
  ...of(
    "shared/protocol/bytes.ts",
    ["unit/shared/protocol/bytes", "contract/wire/codec"],
    [
      [
        "a count is believed",
        "if (!this.#ok || count * size > this.#bytes.length - this.#at) {",
        "if (!this.#ok) {",
      ],
      [
        "a short read passes",
        "if (!this.#ok || length > this.#bytes.length - this.#at) {",
        "if (!this.#ok) {",
      ],
      [
        "what differs at its end is equal",
        "for (let i = 0; i < a.length; i++) difference",
        "for (let i = 0; i < a.length - 1; i++) difference",
      ],
      ["what is shorter is equal", "if (a.length !== b.length) return false;", ""],
    ],
  ),
  ...of(
    "shared/protocol/attestation-document.ts",
    ["unit/shared/protocol/attestation-document"],
    [
      [
        "any root passes",
        `if (!policy.roots.includes(toHex(sha256(chain[0]!)).slice(2))) return "ROOT_UNKNOWN";`,
        "",
      ],
      ["the chain is not looked at", "if (fault !== undefined) return fault;", "void fault;"],
      [
        "documents need no signature",
        `if (!isSigned(read.signed, read.signature, leafKey, "compact")) return "SIGNATURE_INVALID";`,
        "void leafKey;",
      ],
      ["debug mode passes", `if (isSame(measurement, NOTHING)) return "DEBUG_MODE";`, ""],
      [
        "documents from the future pass",
        `if (timestampMs > policy.at + CLOCK_AHEAD_MS) return "FROM_FUTURE";`,
        "",
      ],
      [
        "a clock may not be ahead at all",
        "timestampMs > policy.at + CLOCK_AHEAD_MS",
        "timestampMs > policy.at",
      ],
      [
        "documents of any age pass",
        `if (policy.maxAgeMs !== undefined && timestampMs < policy.at - policy.maxAgeMs) return "STALE";`,
        "",
      ],
      [
        "any measurement passes",
        "policy.measurements?.some((wanted) => isSame(wanted, measurement)) === false",
        "policy.measurements?.length === 0",
      ],
      ["the image is not compared", "a.pcr0 === b.pcr0 && ", ""],
      ["the kernel is not compared", "a.pcr1 === b.pcr1 && ", ""],
      ["the program is not compared", " && a.pcr2 === b.pcr2", ""],
      [
        "any nonce passes",
        `if (policy.nonce && !(nonce && equalBytes(nonce, policy.nonce))) return "NONCE_MISMATCH";`,
        "",
      ],
      ["any type passes", `if (claims?.type !== policy.type) return "TYPE_MISMATCH";`, ""],
      ["a document may be of any length", "if (document.length > MAX_DOCUMENT_BYTES) return undefined;", ""],
      ["any algorithm passes", " || toHex(header) !== ES384_HEADER", ""],
      ["an unsigned header passes", "if (mapOf(unprotected)?.size !== 0) return undefined;", ""],
      [
        "fields that nobody knows pass",
        "!fields || [...fields.keys()].some((key) => !FIELDS.includes(key as string))",
        "!fields",
      ],
      ["any digest passes", `digest === "SHA384" &&`, ""],
      ["a document needs no time", "timestampMs > 0 &&", ""],
      ["a leaf needs no issuer", "chain.length >= 2 &&", ""],
      ["more registers than there are pass", " || index > 31", ""],
      ["registers of any size pass", " || ![32, 48, 64].includes(register.length)", ""],
    ],
  ),
  ...of(
    "shared/protocol/x509.ts",
    ["unit/shared/protocol/x509"],
    [
      ["the outer algorithm may be another", "toHex(outerAlgorithm.whole) === ECDSA_WITH_SHA384 &&", ""],
      ["the signed algorithm may be another", "toHex(algorithm.whole) === ECDSA_WITH_SHA384 &&", ""],
      ["any version passes", "toHex(version.whole) === VERSION_3 &&", ""],
      ["any key passes", " &&\n    toHex(key.whole).startsWith(P384_KEY)", ""],
      ["a signature may have loose bits", "signature.body[0] === 0 &&", ""],
      ["a leaf may be an authority, an authority a leaf", "certificate.isAuthority !== isLeaf &&", ""],
      [
        "a key may be used for anything",
        "(certificate.keyUsage & (isLeaf ? DIGITAL_SIGNATURE : KEY_CERT_SIGN)) !== 0 &&",
        "",
      ],
      [
        "a chain may be longer than its authority allows",
        "certificate.pathLength >= authoritiesBelow &&",
        "",
      ],
      ["names of issuers are not compared", "equalBytes(certificate.issuer, issuer.subject) &&", ""],
      [
        "certificates need no signature",
        ` &&\n          isSigned(certificate.toBeSigned, certificate.signature, issuer.publicKey, "der")`,
        "",
      ],
      ["certificates need not have begun", "chain.every((one) => one!.notBeforeMs <= atMs) ? ", "chain ? "],
      [
        "certificates do not expire",
        'if (!chain.every((one) => atMs <= one!.notAfterMs)) return "CERTIFICATE_EXPIRED";',
        "",
      ],
      ["an extension may stand twice", " || values.has(id)", ""],
      [
        "what is critical need not be known",
        "if ([...critical].some((id) => id !== BASIC_CONSTRAINTS && id !== KEY_USAGE)) return undefined;",
        "",
      ],
      [
        "an authority need not be critical",
        "if (isAuthority && !critical.has(BASIC_CONSTRAINTS)) return undefined;",
        "",
      ],
    ],
  ),
  ...of(
    "shared/protocol/asn1.ts",
    ["unit/shared/protocol/asn1"],
    [
      [
        "bytes behind the element pass",
        "return at === bytes.length ? element : undefined;",
        "return element;",
      ],
      ["nesting has no end", "depth > MAX_DEPTH || ", ""],
      ["DER may be open", `if (isOpen && (rules === "DER" || !isConstructed)) return undefined;`, ""],
      ["a length may be longer than it needs", "if (length < least) return undefined;", ""],
      ["a child may reach beyond its parent", "if (end !== undefined && at > end) return undefined;", ""],
    ],
  ),
  ...of(
    "shared/protocol/cbor.ts",
    ["unit/shared/protocol/cbor"],
    [
      ["bytes behind the value pass", "return at === bytes.length ? value : undefined;", "return value;"],
      ["nesting has no end", " || depth > MAX_DEPTH", ""],
      [
        "a number may be longer than it needs",
        "value >= (size === 1 ? 24 : 256 ** (size / 2))",
        "value >= 0",
      ],
      [
        "a number may be larger than it can be",
        "isShortest && Number.isSafeInteger(value) ? ",
        "isShortest ? ",
      ],
      ["a key may stand twice", " || found.has(key)", ""],
      ["any text passes", "equalBytes(new TextEncoder().encode(value), bytes) ? value : undefined", "value"],
    ],
  ),
  ...of(
    "enclave/kms-envelope.ts",
    ["unit/enclave/kms-envelope"],
    [
      [
        "an envelope for another key is tried",
        "if (!equalBytes(read.recipient, recipient)) return undefined;",
        "void recipient;",
      ],
      ["any padding passes", "return isWhole ? padded", "void isWhole;\n    return read ? padded"],
      [
        "a fault of opening is a fault of ours",
        "  } catch {\n    return undefined;\n  }",
        "  } finally {\n    void read;\n  }",
      ],
    ],
  ),
  ...of(
    "shared/protocol/kms-envelope.ts",
    ["unit/shared/protocol/kms-envelope"],
    [
      ["an envelope may be of any length", 'if (bytes.length > MAX_ENVELOPE_BYTES) return "TOO_LONG";', ""],
      [
        "any algorithm passes",
        'if (!agreed.every(([element, hex]) => toHex(element.whole) === hex)) return "ALGORITHM";',
        "void agreed;",
      ],
      [
        "chunks may be of anything",
        "if (!children.every((chunk) => chunk.tag === TAG.octetString)) return undefined;",
        "",
      ],
      [
        "primitive content is none",
        "if (tag === IMPLICIT_0) return body;",
        "if (tag === IMPLICIT_0) return undefined;",
      ],
      ["a vector may be of any length", "iv.length !== BLOCK_BYTES || ", ""],
      ["there may be no content", "content.length === 0 || ", ""],
      ["content may be half a block", " || content.length % BLOCK_BYTES !== 0", ""],
    ],
  ),
];
