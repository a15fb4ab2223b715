/**
 * P9. A wallet believes its key, its pins and the chain's arithmetic. A proxy that answers for another pool or
 * chain, names fees or sinks of its own, or tells another history is refused before anything is signed or sent.
 */
import assert from "node:assert/strict";
import {
  createClient,
  createWallet,
  memoryStorage,
  poolRootVerifier,
  type Pins,
  type Wallet,
  type WalletOptions,
} from "../../shared/client/index.ts";
import type { FeeRules, WhoAmI } from "../../shared/api/credentials.ts";
import type { StreamEvent } from "../../shared/api/data.ts";
import { spendBody } from "../../shared/api/transactions.ts";
import { parseField } from "../../shared/protocol/host/text.ts";
import { mustFromHex, toHex, word } from "../../shared/protocol/bytes.ts";
import { checkStatement } from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";
import {
  Battlefield,
  flipped,
  freshAddress,
  freshKeys,
  leavesOf,
  mustAddress,
  restoreFrom,
} from "../support/adversary.ts";
import { readSealed, sealNote } from "../support/sealed-notes.ts";
import { LyingService, PREFIX, type Lies } from "./lying-service.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { noteCommitment } from "../../shared/notes/note.ts";
import { emptyFrontier } from "../../shared/protocol/host/frontier.ts";

const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;
const FEE = 50_000n;

describe("P9 the client refuses a lying proxy", function () {
  this.timeout(600_000);
  let field: Battlefield;
  let service: LyingService;
  const seed = new Uint8Array(32).fill(9);
  const keys = SpendingKey.fromSeed(seed);
  const sink = freshKeys().viewing.addressText(PREFIX);
  const thiefsSink = freshKeys().viewing.addressText(PREFIX);
  const payee = freshKeys().viewing.addressText(PREFIX);

  before(async () => {
    field = await Battlefield.start();
    service = await LyingService.start(field, sink);
    await field.settle(await field.deposit(keys, 10_000_000n), await field.deposit(freshKeys(), 3_000_000n));
    await field.settle(await field.deposit(keys, 5_000_000n));
  });
  after(async () => {
    await service.stop();
    await field.stop();
  });
  beforeEach(() => {
    service.lies = {};
    service.payments.length = 0;
  });

  function open(changes: Partial<Pins> = {}, more: Partial<WalletOptions> = {}): Promise<Wallet> {
    const ceiling = { flat: FEE, bps: 0 };
    const pins: Pins = {
      ...{ chainId: Number(field.home.chainId), pool: field.home.pool, addressPrefix: PREFIX },
      enclaves: "unverified",
      ...{
        assets: [field.usdcAddress],
        feeCeiling: { deposit: ceiling, transfer: ceiling, withdraw: ceiling },
        feeSinks: [sink],
        ...changes,
      },
    };
    const client = createClient({ baseUrl: service.baseUrl, credential: { apiKey: "k" }, tries: 1 });
    const storage = memoryStorage();
    return createWallet({ key: { seed }, client, storage, prover: field.prover, pins, ...more });
  }

  /** Every payment must be refused with this code, and the depositor asked for no signature. */
  async function refuses(lies: Lies, code: string): Promise<void> {
    service.lies = lies;
    let asked = 0;
    const signer = {
      getAddress: () => Promise.resolve(field.depositor.address),
      signTypedData: (...data: Parameters<typeof field.depositor.signTypedData>) => {
        asked += 1;
        return field.depositor.signTypedData(...data);
      },
    };
    const attempts: ((wallet: Wallet) => Promise<unknown>)[] = [
      (wallet) => wallet.deposit(1_000_000n, signer),
      (wallet) => wallet.pay(payee, 1_000_000n),
      (wallet) => wallet.withdraw(freshAddress(), 1_000_000n),
    ];
    for (const attempt of lies.events === undefined && lies.ready === undefined
      ? attempts
      : attempts.slice(1)) {
      const wallet = await open();
      await assert.rejects(attempt(wallet), refusal(code));
      await wallet.close();
    }
    assert.equal(asked, 0);
    assert.deepEqual(service.payments, []);
  }

  it("P9 another pool or another chain, in /info and on the stream", async () => {
    const pool = freshAddress();
    await refuses({ info: (truth) => ({ ...truth, pool }) }, "PIN_MISMATCH");
    await refuses({ info: (truth) => ({ ...truth, chain_id: 1 }) }, "PIN_MISMATCH");
    await refuses({ info: (truth) => ({ ...truth, address_prefix: "other" }) }, "PIN_MISMATCH");
    await refuses({ ready: (truth) => ({ ...truth, pool }) }, "PIN_MISMATCH");
    await refuses({ ready: (truth) => ({ ...truth, chain_id: 1 }) }, "PIN_MISMATCH");
  });

  it("P9 another token, alone or put before the right one", async () => {
    const address = freshAddress();
    const other = { address, symbol: "USDC", decimals: 6 };
    await refuses({ info: (truth) => ({ ...truth, assets: [other] }) }, "PIN_MISMATCH");
    await refuses({ info: (truth) => ({ ...truth, assets: [] }) }, "PIN_MISMATCH");
    // Listed first, it is still not what the depositor is asked to sign away.
    service.lies = { info: (truth) => ({ ...truth, assets: [other, ...truth.assets] }) };
    const tokens: unknown[] = [];
    const signer = {
      getAddress: () => Promise.resolve(field.depositor.address),
      signTypedData: (...data: Parameters<typeof field.depositor.signTypedData>) => {
        tokens.push(data[0].verifyingContract);
        return field.depositor.signTypedData(...data);
      },
    };
    await assert.rejects((await open()).deposit(1_000_000n, signer), refusal("PROOF_INVALID"));
    assert.deepEqual(tokens, [field.usdcAddress]);
    service.payments.length = 0;
    // Nor when the caller names it.
    const named = (await open()).deposit(1_000_000n, signer, { asset: address });
    await assert.rejects(named, refusal("PIN_MISMATCH"));
    assert.equal(tokens.length, 1);
    assert.deepEqual(service.payments, []);
  });

  const ruled = (change: (rule: FeeRules) => FeeRules) => (truth: WhoAmI) => ({
    ...truth,
    fees: truth.fees.map(change),
  });

  it("P9 a fee above the ceiling: flat, by share, or in two parts", async () => {
    const part = { flat: "50000", bps: 0, sink, enforced: true };
    await refuses(
      { whoami: ruled((rule) => ({ ...rule, service: { ...part, flat: "50001" } })) },
      "FEE_ABOVE_CEILING",
    );
    await refuses(
      { whoami: ruled((rule) => ({ ...rule, service: { ...part, bps: 1 } })) },
      "FEE_ABOVE_CEILING",
    );
    await refuses(
      { whoami: ruled((rule) => ({ ...rule, developer: { ...part, flat: "1" } })) },
      "FEE_ABOVE_CEILING",
    );
  });

  it("P9 a fee to a sink that the client does not know, or to no address at all", async () => {
    const part = { flat: "50000", bps: 0, sink: thiefsSink, enforced: true };
    await refuses({ whoami: ruled((rule) => ({ ...rule, service: part })) }, "PIN_MISMATCH");
    await refuses({ whoami: ruled((rule) => ({ ...rule, service: null, developer: part })) }, "PIN_MISMATCH");
    service.lies = { whoami: ruled((rule) => ({ ...rule, service: { ...part, sink: `${sink}x` } })) };
    const trusting = await open({ feeSinks: [`${sink}x`] });
    await assert.rejects(trusting.pay(payee, 1n), refusal("UNEXPECTED_ANSWER"));
    assert.deepEqual(service.payments, []);
  });

  it("P9 proving keys that are not the client's", async () => {
    const zkey_sha256 = "00".repeat(32);
    const lie: Lies = {
      info: (truth) => ({
        ...truth,
        circuits: truth.circuits.map((circuit) => ({
          ...circuit,
          artefacts: { ...circuit.artefacts, zkey_sha256 },
        })),
      }),
    };
    await refuses(lie, "ARTEFACT_MISMATCH");
  });

  type LeafEvent = Extract<StreamEvent, { kind: "leaf" }>;
  const leafLie =
    (change: (data: LeafEvent["data"]) => LeafEvent["data"] | undefined) => (truth: readonly StreamEvent[]) =>
      truth.flatMap((event): StreamEvent[] => {
        if (event.kind !== "leaf") return [event];
        const data = change(event.data);
        return data === undefined ? [] : [{ ...event, data }];
      });
  const foreign = (data: LeafEvent["data"]): boolean => data.index >= 3 && data.index < 6;

  it("P9 another history: leaves left out, changed or swapped, roots invented", async () => {
    const other = toHex(word(5n));
    const histories: NonNullable<Lies["events"]>[] = [
      leafLie((data) => (foreign(data) ? undefined : data)),
      leafLie((data) =>
        foreign(data) ? undefined : data.index > 5 ? { ...data, index: data.index - 3 } : data,
      ),
      leafLie((data) => (data.index === 4 ? { ...data, commitment: other } : data)),
      leafLie((data) =>
        data.index === 3 ? { ...data, index: 4 } : data.index === 4 ? { ...data, index: 3 } : data,
      ),
      (truth) =>
        truth.map((event) =>
          event.kind === "root" ? { ...event, data: { ...event.data, root: other } } : event,
        ),
      (truth) => [
        ...truth,
        { kind: "root", id: undefined, data: { root: other, leaf_count: 9, block_number: 1_000 } },
      ],
      (truth) => [
        ...truth,
        { kind: "root", id: undefined, data: { root: other, leaf_count: 12, block_number: 1_000 } },
      ],
    ];
    for (const events of histories) await refuses({ events }, "STREAM_INCONSISTENT");
  });

  it("P9 ciphertexts that promise what the leaf does not hold make no balance, and hidden ones come back from the chain", async () => {
    const truth = await field.events();
    const own = truth.find(
      (event): event is LeafEvent => event.kind === "leaf" && event.data.index === 0,
    )!.data;
    const sealed = { ephemeral_key: own.ephemeral_key, output: own.output, ciphertext: own.ciphertext };
    // The wallet's own good ciphertext beside somebody else's leaf: it opens, and it is not that leaf's.
    service.lies = { events: leafLie((data) => (foreign(data) ? { ...data, ...sealed } : data)) };
    const wallet = await open();
    await wallet.sync();
    assert.equal(wallet.balance(field.usdcAddress).total, 15_000_000n);
    // A named npk and value, as the pool's own notes will have, on a leaf that is not ours.
    const promise = { npk: toHex(word(1n)), asset: field.usdcAddress, value: "1000000000" };
    service.lies = {
      events: leafLie((data) => (foreign(data) ? { ...data, ...promise, ...sealed } : data)),
    };
    const second = await open();
    await second.sync();
    assert.equal(second.balance(field.usdcAddress).total, 15_000_000n);

    service.lies = {
      events: leafLie((data) =>
        data.index === 0 ? { ...data, ciphertext: toHex(flipped(mustFromHex(data.ciphertext), 50)) } : data,
      ),
    };
    const robbed = await open();
    await robbed.sync();
    assert.equal(robbed.balance(field.usdcAddress).total, 5_000_000n);
    assert.equal(restoreFrom(SpendingKey.fromSeed(seed), truth).balance, 15_000_000n);
  });

  it("P9 invented income is unverified until a chain node of the user's own knows its root", async () => {
    const { chainId, pool } = field.home;
    const verifyRoot = poolRootVerifier(field.chain.url, Number(chainId), pool);
    const honest = await open({}, { verifyRoot });
    await honest.sync();
    assert.equal(honest.balance().total, 15_000_000n);
    assert.equal(honest.balance().unverified, 0n);
    const trusting = await open();
    await trusting.sync();
    assert.equal(trusting.balance().unverified, 15_000_000n);

    // A note that opens to the user, in a leaf of the liar's own, under a root that fits it.
    const truth = await field.events();
    const { note, told } = sealNote(keys.viewing.address, field.usdcAddress, 787_000_000n);
    const frontier = emptyFrontier();
    for (const leaf of leavesOf(truth)) frontier.append(parseField(String(leaf))!);
    const commitment = noteCommitment(keys.owner, note);
    frontier.append(commitment);
    const at = { tx_hash: toHex(word(1n)), block_number: 1_000 };
    const count = leavesOf(truth).length;
    const leaf = {
      index: count,
      commitment: toHex(word(commitment)),
      ...told,
      source: "spend" as const,
      ...at,
    };
    const root = { root: toHex(word(frontier.root())), leaf_count: count + 1, block_number: 1_000 };
    service.lies = {
      events: (honest) => [
        ...honest,
        { kind: "leaf", id: undefined, data: leaf },
        { kind: "root", id: undefined, data: root },
      ],
    };
    const wallet = await open({}, { verifyRoot });
    await wallet.sync();
    assert.equal(wallet.balance().total, 802_000_000n);
    // Not even the true part: this history ends in a root that the pool does not have.
    assert.equal(wallet.balance().unverified, 802_000_000n);
    // Without the root that gives it away, the true part is confirmed and the invention is not.
    service.lies = { events: (told) => [...told, { kind: "leaf", id: undefined, data: leaf }] };
    const second = await open({}, { verifyRoot });
    await second.sync();
    assert.equal(second.balance().pending, 787_000_000n);
    assert.equal(second.balance().unverified, 787_000_000n);

    const invented = parseField(String(BigInt(root.root)))!;
    assert.equal(await verifyRoot(invented), false);
    const real = truth.findLast((event) => event.kind === "root")!.data.root;
    const known = parseField(String(BigInt(real)))!;
    assert.equal(await verifyRoot(known), true);
    assert.equal(await poolRootVerifier(field.chain.url, 1, pool)(known), false);
    assert.equal(await poolRootVerifier(field.chain.url, Number(chainId), freshAddress())(known), false);
  });

  it("P9 what an honest answer leads to leaves the device bound: pool, recipient, amount, fee and deadline", async () => {
    const wallet = await open();
    const recipient = freshAddress();
    await assert.rejects(wallet.withdraw(recipient, 1_000_000n), refusal("PROOF_INVALID"));
    assert.equal(service.payments.length, 1);
    const sent = spendBody.parse(service.payments[0]);
    const recipientSent = mustAddress(sent.ext.recipient);
    const ext = encodeExt({ kind: "spend", recipient: recipientSent, ...readSealed(sent.ext) });
    const signals = sent.public_signals.map((signal) => parseField(signal)!);
    const statement = checkStatement(field.home, "spend", BigInt(sent.deadline), signals, ext);
    assert.ok(typeof statement !== "string");
    assert.equal(sent.ext.recipient, recipient);
    assert.equal(statement.facts.amount, 1_000_000n);
    assert.deepEqual(
      sent.fees.map(({ value }) => value),
      [String(FEE)],
    );
    // Nothing in it is a secret of the wallet.
    const text = JSON.stringify(sent);
    for (const secret of [keys.scalar(), keys.viewing.nullifierKey, BigInt(toHex(seed))]) {
      assert.ok(!text.includes(String(secret)) && !text.toLowerCase().includes(secret.toString(16)));
    }
  });
});
