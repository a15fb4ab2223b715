import assert from "node:assert/strict";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { USDC } from "./chain.ts";
import { FLAT_FEE } from "./checks.ts";
import type { TestService } from "./service.ts";
import { give, refusal } from "./stand-in.ts";
import { startWallets, type OpenWallet } from "./wallets.ts";

const PUBLIC = "0x00000000000000000000000000000000000000cc";

describe("payments from many notes", function () {
  this.timeout(600_000);
  let service: TestService;
  let open: OpenWallet;
  beforeEach(async () => {
    ({ service, open } = await startWallets());
  });
  afterEach(() => service.close());

  const kinds = (): string[] => [...service.tickets.values()].map(({ kind }) => kind);
  const million = (count: number): bigint[] => Array.from({ length: count }, () => 1_000_000n);

  it("with a real proof: nine notes pay at once for one fee, and the receiver sees one", async () => {
    service.verifiesProofs = true;
    const prover = await developmentProver();
    try {
      const wallet = await open({ prover });
      const receiver = await open({ key: 2 });
      give(service, wallet.address, USDC, million(9));
      const { ticket, fees } = await wallet.pay(receiver.address, 8_500_000n);
      assert.equal(ticket.kind, "spend9");
      assert.equal(ticket.nullifiers.length, 9);
      assert.equal(fees, FLAT_FEE);
      assert.equal(wallet.balance().total, 500_000n - FLAT_FEE);
      await receiver.sync();
      assert.deepEqual(
        receiver.notes().map(({ value }) => value),
        [8_500_000n],
      );
    } finally {
      await prover.close();
    }
  });

  it("takes spend where two notes will do, and spend9 where they will not, for withdrawals too", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, million(5));
    await wallet.withdraw(PUBLIC, 1_500_000n);
    await wallet.withdraw(PUBLIC, 2_500_000n);
    assert.deepEqual(kinds(), ["spend", "spend9"]);
    assert.equal(wallet.balance().total, 1_000_000n - 2n * FLAT_FEE);
    assert.equal(wallet.notes().filter(({ spent }) => spent === undefined).length, 1);
  });

  it("falls back to two where the service has no spend9", async () => {
    service.features.spend9 = false;
    const wallet = await open();
    give(service, wallet.address, USDC, million(4));
    await assert.rejects(wallet.pay(wallet.address, 2_500_000n), refusal("NEEDS_CONSOLIDATION"));
    await wallet.pay(wallet.address, 3_000_000n, { consolidate: true });
    assert.ok(kinds().every((kind) => kind === "spend"));
  });

  it("more than nine: says so, and with consent merges nine first, a fee for each step", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, million(12));
    await assert.rejects(wallet.pay(wallet.address, 11_000_000n), refusal("NEEDS_CONSOLIDATION"));
    assert.equal(service.tickets.size, 0);
    const { fees } = await wallet.pay(wallet.address, 11_000_000n, { consolidate: true });
    assert.equal(fees, 2n * FLAT_FEE);
    assert.deepEqual(kinds(), ["spend9", "spend9"]);
    assert.equal(wallet.balance().total, 12_000_000n - 2n * FLAT_FEE);
    // Merging cannot make money: when its fees leave too little, that is said.
    await assert.rejects(
      wallet.pay(wallet.address, 12_000_000n, { consolidate: true }),
      refusal("INSUFFICIENT_FUNDS"),
    );
  });

  it("consolidate merges nine at once, and two by the smaller circuit", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, million(10));
    await wallet.consolidate();
    assert.deepEqual(
      wallet
        .notes()
        .filter(({ spent }) => spent === undefined)
        .map(({ value }) => value)
        .sort(),
      [1_000_000n, 9_000_000n - FLAT_FEE],
    );
    await wallet.consolidate();
    assert.deepEqual(kinds(), ["spend9", "spend"]);
    await assert.rejects(wallet.consolidate(), refusal("INSUFFICIENT_FUNDS"));
  });

  it("made again after a refusal it shares a note with every attempt before, of either kind", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, million(5));
    let isRefusing = true;
    const attempts: string[][] = [];
    service.faults.push(({ url }) =>
      isRefusing && url.startsWith("/sequence/spend") ? "NULLIFIER_PENDING" : undefined,
    );
    const own = (): string[] =>
      [...wallet.notes()]
        .filter(({ spent }) => spent !== undefined)
        .map(({ leafIndex }) => String(leafIndex));
    await assert.rejects(wallet.pay(wallet.address, 2_500_000n), refusal("NULLIFIER_PENDING"));
    attempts.push(["0", "1", "2", "3", "4"]);
    // Larger notes come, of which one alone would do: the attempt that follows must not leave the first one alive.
    give(service, wallet.address, USDC, [9_000_000n, 9_000_000n]);
    await assert.rejects(wallet.pay(wallet.address, 2_500_000n), refusal("NULLIFIER_PENDING"));
    isRefusing = false;
    await wallet.pay(wallet.address, 2_500_000n);
    assert.ok(attempts.every((notes) => own().some((index) => notes.includes(index))));
    assert.equal(own().length, 2);
    // It is executed, so nothing of before can be: the rest is free.
    await wallet.pay(wallet.address, 9_500_000n);
  });
});
