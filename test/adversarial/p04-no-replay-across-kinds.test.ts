/**
 * P4, all kinds. A statement, its proof and its attestation are of one kind. Filed as any other, with its parts cut
 * and filled up until they fit, they are worth nothing; nor are they in a pool with the very same tree, or after
 * the chain has split.
 */
import assert from "node:assert/strict";
import { JsonRpcSigner, type Contract } from "ethers";
import { NO_UPDATE, type PoolTransaction } from "../../scripts/stack/pool-transaction.ts";
import type { Prepared } from "../../shared/client/statements/statements.ts";
import { newNote, randomField } from "../../shared/notes/note.ts";
import { mustField, ZERO_BYTES32, type Address } from "../../shared/protocol/brands.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import {
  checkStatement,
  CIPHERTEXT_BYTES,
  contextOf,
  KIND_NAMES,
  KINDS,
  signalCount,
  type Ext,
  type Home,
  type Kind,
} from "../../shared/protocol/statements.ts";
import { type Ciphertexts, encodeExt, writeSignals } from "../../shared/protocol/host/statements.ts";
import { emptyFrontier } from "../../shared/protocol/host/frontier.ts";
import {
  attestRequest,
  deployPoolFor,
  freshAddress,
  freshKeys,
  mustAddress,
  poolTransaction,
  withSignal,
  type Battlefield,
  type Signed,
} from "../support/adversary.ts";
import { Bazaar, DOLLAR } from "../support/swaps.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

/** What a statement is called when it is not what it is. */
const STRANGE_KINDS = [0, 5, 6, 7, 255];

describe("P4 nothing is good as another kind, in a pool with the same tree, or on a split chain", function () {
  this.timeout(600_000);
  let bazaar: Bazaar;
  let field: Battlefield;
  /** Accepts the same signer, tokens and venue, and has the same leaves under the same root. */
  let neighbour: Contract;
  let neighbourHome: Home;
  /** One honest statement of each kind, not executed; all but the deposit spend one and the same note. */
  let signed: Record<Kind, Signed>;
  let attestations: Record<Kind, Uint8Array>;
  const thief: Address = freshAddress();

  before(async () => {
    bazaar = await Bazaar.open();
    ({ field } = bazaar);
    neighbour = await deployPoolFor(field.owner, field.signer, bazaar.usdc);
    neighbourHome = { ...field.home, pool: mustAddress(await neighbour.getAddress()) };
    await bazaar.admit({ assets: [bazaar.weth, bazaar.token], executor: bazaar.market.executor }, neighbour);

    const keys = freshKeys();
    const plan = field.prepareDeposit(keys, 100n * DOLLAR);
    for (const [home, pool] of [
      [field.home, field.pool],
      [neighbourHome, neighbour],
    ] as const) {
      await bringIn(await depositAt(plan, home), pool);
    }
    assert.deepEqual(
      [...(await neighbour.getFunction("currentRoot")())],
      [...(await field.pool.getFunction("currentRoot")())],
    );

    const wallet = await field.restore(keys);
    const [note] = wallet.notes;
    const payment = { type: "withdraw", recipient: freshAddress(), value: 60n * DOLLAR } as const;
    const dummy = (): typeof note & object => ({ ...note!, ...newNote(bazaar.usdc, 0n), leafIndex: 0 });
    const terms = { sharesIn: 60n * DOLLAR, tokenOut: bazaar.weth, floor: 1n, path: bazaar.oneHop };
    signed = {
      "deposit-shield": await field.deposit(keys, 60n * DOLLAR),
      spend: await bazaar.pay(wallet, { notes: [note!], payment }),
      spend9: await bazaar.pay(wallet, { notes: [note!, dummy(), dummy()], payment }),
      "private-swap": await bazaar.swap(wallet, { ...terms, notes: [note!] }),
    };
    attestations = {} as Record<Kind, Uint8Array>;
    for (const kind of KIND_NAMES) {
      assert.equal(signed[kind].statement.kind, kind);
      attestations[kind] = (await field.attest(signed[kind])).signature;
    }
  });
  after(() => bazaar.stop());

  /** The same notes deposited in another pool: the same outputs, in a statement of that pool's. */
  async function depositAt(plan: Prepared, home: Home): Promise<Signed> {
    const { deadline, extBytes, signals } = plan.statement;
    const context = contextOf(home, "deposit-shield", deadline, extBytes);
    const statement = checkStatement(
      home,
      "deposit-shield",
      deadline,
      withSignal(signals, 0, context),
      extBytes,
    );
    assert.ok(typeof statement !== "string");
    const proved = await field.prove({
      ...plan,
      statement,
      witness: { ...plan.witness, context: String(context) },
    });
    return { ...proved, authorization: await field.authorize(statement) };
  }

  async function bringIn(deposit: Signed, pool: Contract): Promise<void> {
    const { home, facts } = deposit.statement;
    const update = await field.attestRoot({
      ...{ type: "attest-root", ...home, fromIndex: 0n, headBefore: ZERO_BYTES32 },
      ...{ frontier: emptyFrontier().nodes(), leaves: facts.commitments },
    });
    const outcome = await field.execute([await field.transaction(deposit)], update, { pool });
    assert.deepEqual([...outcome.members, outcome.update], ["executed", "taken"]);
  }

  /** All that can be kept of a statement under another kind; the rest is the thief's, and in its favour. */
  function filedAs(kind: Kind, { statement }: Signed): { signals: bigint[]; ext: Uint8Array } {
    const { facts, deadline, home } = statement;
    const { inputs, outputs, leaves } = KINDS[kind];
    const fill = <T>(list: readonly T[], length: number, more: () => T): T[] =>
      Array.from({ length }, (_, at) => list[at] ?? more());
    const ciphertexts = fill(statement.ext.ciphertexts, leaves, () => new Uint8Array(CIPHERTEXT_BYTES));
    const ext = encodeExt(termsOf(kind, { ...statement.ext, ciphertexts }));
    const root = mustField(signed.spend.statement.facts.root!);
    const signals = writeSignals(kind, {
      ...facts,
      root: inputs === 0 ? undefined : root,
      context: contextOf(home, kind, deadline, ext),
      nullifiers: fill(facts.nullifiers, inputs, randomField),
      commitments: fill(facts.commitments, outputs, randomField),
    });
    assert.notEqual(typeof checkStatement(home, kind, deadline, signals, ext), "string");
    return { signals, ext };
  }

  function termsOf(kind: Kind, { ephemeralKey, ciphertexts }: Ciphertexts): Ext {
    const sealed = { ephemeralKey, ciphertexts };
    switch (kind) {
      case "deposit-shield":
        return { kind, depositor: thief, validAfter: 0n, validBefore: 2n ** 63n, ...sealed };
      case "spend":
      case "spend9":
        return { kind, recipient: thief, ...sealed };
      case "private-swap":
        return {
          ...{ kind, tokenOut: bazaar.weth, minAmountOut: 1n, npkOut: randomField() },
          ...{ path: bazaar.oneHop, ...sealed },
        };
    }
  }

  const pairs = KIND_NAMES.flatMap((from) =>
    KIND_NAMES.filter((to) => to !== from).map((to) => [from, to] as const),
  );
  const carried = (kind: Kind, changes: Partial<PoolTransaction> = {}): PoolTransaction =>
    poolTransaction(signed[kind], attestations[kind], changes);
  const spent = (): bigint[] => KIND_NAMES.flatMap((kind) => [...signed[kind].statement.facts.nullifiers]);

  it("P4 no two kinds have as many signals: by that alone none passes as it is for another", async () => {
    assert.equal(new Set(KIND_NAMES.map(signalCount)).size, KIND_NAMES.length);
    for (const [from, to] of pairs) {
      const reply = await field.enclave.ask(attestRequest(signed[from], { kindId: KINDS[to].id }));
      assert.equal(codeOf(reply), "SIGNAL_COUNT", `${from} as ${to}`);
    }
    const before = await bazaar.snapshot(spent());
    const { members } = await field.execute(pairs.map(([from, to]) => carried(from, { kind: KINDS[to].id })));
    assert.deepEqual(
      members,
      pairs.map(() => "SignalCount"),
    );
    assert.deepEqual(await bazaar.snapshot(spent()), before);
  });

  it("P4 the enclave refuses each kind's proof for every other, however its signals and terms are made to fit", async () => {
    for (const [from, to] of pairs) {
      const kindId = KINDS[to].id;
      const { signals, ext } = filedAs(to, signed[from]);
      const ask = async (context: bigint): Promise<string> =>
        codeOf(
          await field.enclave.ask(
            attestRequest(signed[from], { kindId, ext, signals: withSignal(signals, 0, context) }),
          ),
        );
      assert.equal(await ask(signed[from].statement.facts.context), "CONTEXT_MISMATCH", `${from} as ${to}`);
      assert.equal(await ask(signals[0]!), "PROOF_INVALID", `${from} as ${to}`);
    }
  });

  it("P4 the pool refuses each kind's attestation for every other", async () => {
    const bent = pairs.map(([from, to]) => {
      const { signals, ext } = filedAs(to, signed[from]);
      const own = signed[from].statement.facts.context;
      const filed = { kind: KINDS[to].id, ext: toHex(ext), authorization: "0x" };
      return {
        kept: carried(from, { ...filed, signals: withSignal(signals, 0, own) }),
        fitted: carried(from, { ...filed, signals }),
      };
    });
    const before = await bazaar.snapshot(spent());
    const kept = await field.execute(bent.map((each) => each.kept));
    assert.deepEqual(
      kept.members,
      pairs.map(() => "ContextMismatch"),
    );
    const fitted = await field.execute(bent.map((each) => each.fitted));
    assert.deepEqual(
      fitted.members,
      pairs.map(() => "SignerUnknown"),
    );
    for (const [named] of fitted.reasons) assert.notEqual(String(named).toLowerCase(), field.signer);
    assert.deepEqual(await bazaar.snapshot(spent()), before);
  });

  it("P4 as a reserved or unknown kind each is refused by enclave and pool", async () => {
    for (const kindId of STRANGE_KINDS) {
      for (const kind of KIND_NAMES) {
        const reply = await field.enclave.ask(attestRequest(signed[kind], { kindId }));
        assert.equal(codeOf(reply), "UNKNOWN_KIND");
      }
    }
    const members = STRANGE_KINDS.flatMap((kind) => KIND_NAMES.map((from) => carried(from, { kind })));
    const outcome = await field.execute(members);
    assert.deepEqual([...new Set(outcome.members)], ["UnknownKind"]);
    assert.equal(outcome.members.length, members.length);
  });

  /** Every kind, as it is and with the context of `home`, in a pool that knows all that it names but the signature. */
  async function refusedAt(home: Home, pool: Contract, sender = field.owner): Promise<void> {
    const view = async (): Promise<unknown> => [
      [...(await pool.getFunction("queue")())],
      await bazaar.holdings(await pool.getAddress()),
    ];
    const before = await view();
    const plain = await field.execute(
      KIND_NAMES.map((kind) => carried(kind)),
      NO_UPDATE,
      { pool, sender },
    );
    assert.deepEqual(
      plain.members,
      KIND_NAMES.map(() => "ContextMismatch"),
    );
    const fitted = KIND_NAMES.map((kind) => {
      const { deadline, extBytes, signals } = signed[kind].statement;
      return carried(kind, { signals: withSignal(signals, 0, contextOf(home, kind, deadline, extBytes)) });
    });
    const { members, reasons } = await field.execute(fitted, NO_UPDATE, { pool, sender });
    assert.deepEqual(
      members,
      KIND_NAMES.map(() => "SignerUnknown"),
    );
    for (const [named] of reasons) assert.notEqual(String(named).toLowerCase(), field.signer);
    assert.deepEqual(await view(), before);
  }

  it("P4 the enclave proves each kind for its own pool and chain only", async () => {
    for (const home of [neighbourHome, { ...field.home, chainId: field.home.chainId + 1n }]) {
      for (const kind of KIND_NAMES) {
        const { deadline, extBytes, signals } = signed[kind].statement;
        assert.equal(codeOf(await field.enclave.ask(attestRequest(signed[kind], home))), "CONTEXT_MISMATCH");
        const fitted = withSignal(signals, 0, contextOf(home, kind, deadline, extBytes));
        const reply = await field.enclave.ask(attestRequest(signed[kind], { ...home, signals: fitted }));
        assert.equal(codeOf(reply), "PROOF_INVALID");
      }
    }
  });

  it("P4 a pool with the same root, signer, tokens and venue refuses every kind", () =>
    refusedAt(neighbourHome, neighbour));

  it("P4 after the chain has split, the pool on the other side refuses every kind", async () => {
    const { chainId } = field.home;
    // The node's own accounts sign for the old number only.
    const stranger = new JsonRpcSigner(field.provider, freshAddress());
    await field.provider.send("anvil_impersonateAccount", [stranger.address]);
    await field.provider.send("anvil_setBalance", [stranger.address, "0xde0b6b3a7640000"]);
    await field.provider.send("anvil_setChainId", [Number(chainId) + 1]);
    try {
      await refusedAt({ ...field.home, chainId: chainId + 1n }, field.pool, stranger);
    } finally {
      await field.provider.send("anvil_setChainId", [Number(chainId)]);
    }
  });

  it("P4 at home each kind is good, and good once", async () => {
    for (const kind of KIND_NAMES) {
      await bazaar.undone(async () => {
        assert.equal(await field.executeOne(carried(kind)), "executed");
        const again = kind === "deposit-shield" ? "StatementRepeated" : "NullifierSpent";
        assert.equal((await bazaar.refused(carried(kind))).error, again);
      });
    }
  });
});
