import { Interface } from "ethers";
import assert from "node:assert/strict";
import type { AttestResponse } from "../../../shared/api/transactions.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { POOL_ABI, TOKEN_ABI } from "../../../shared/contracts/abi.ts";
import type { Statement } from "../../../shared/protocol/statements.ts";
import { CHAIN_ID, hex, POOL, WETH } from "./chain.ts";
import { FLAT_FEE } from "./checks.ts";
import type { TestService } from "./service.ts";
import { account, refusal } from "./stand-in.ts";
import { startWallets, type OpenWallet } from "./wallets.ts";

const AMOUNT = 10_000_000n;

describe("plain deposits of a wallet", function () {
  let service: TestService;
  let open: OpenWallet;
  beforeEach(async () => {
    ({ service, open } = await startWallets());
  });
  afterEach(() => service.close());

  it("with a real proof: approves exactly the amount, sends what it wrote itself, and waits for the note", async () => {
    service.verifiesProofs = true;
    const prover = await developmentProver();
    try {
      const wallet = await open({ prover });
      const depositor = account(service);
      const steps: string[] = [];
      const deposit = await wallet.depositPlain(AMOUNT, depositor, {
        asset: WETH,
        progress: ({ step, state }) => {
          if (state === "end") steps.push(step);
        },
      });
      assert.deepEqual(steps, [
        "prepare",
        "download",
        "load",
        "prove",
        "submit",
        "approve",
        "send",
        "confirm",
        "deliver",
      ]);
      assert.equal(deposit.fees, FLAT_FEE);
      assert.equal(wallet.balance(WETH).total, AMOUNT - FLAT_FEE);
      const [approval, execution] = depositor.sent;
      assert.equal(approval?.to, WETH);
      const { args } = new Interface(TOKEN_ABI).parseTransaction({ data: approval.data })!;
      assert.deepEqual([String(args[0]).toLowerCase(), args[1]], [POOL, AMOUNT]);
      assert.equal(execution?.to, POOL);
      assert.ok(depositor.sent.every(({ value, chainId }) => value === 0n && chainId === CHAIN_ID));
      assert.equal(depositor.sent.length, 2);
      assert.ok(!service.requests.some(({ url }) => url.startsWith("/sequence")));
    } finally {
      await prover.close();
    }
  });

  it("returns when it was sent, if that is asked for", async () => {
    const wallet = await open();
    const { transactionHash } = await wallet.depositPlain(AMOUNT, account(service), {
      until: "sent",
      asset: WETH,
    });
    assert.equal(transactionHash, hex(2n));
    await wallet.sync();
    assert.equal(wallet.balance(WETH).total, AMOUNT - FLAT_FEE);
  });

  describe("when the service hands out another transaction, signs nothing", () => {
    const pool = new Interface(POOL_ABI);
    const emptyUpdate = (data: string): readonly unknown[] => pool.decodeFunctionData("execute", data)[1];
    const members = (data: string): readonly unknown[][] =>
      [...(pool.decodeFunctionData("execute", data)[0] as readonly unknown[][])].map((member) => [...member]);
    const withData = (answer: AttestResponse, data: string): AttestResponse => ({
      ...answer,
      transaction: { ...answer.transaction, data },
    });
    const bent =
      (change: (member: unknown[]) => void) =>
      (answer: AttestResponse): AttestResponse => {
        const { data } = answer.transaction;
        const all = members(data);
        change(all[0]!);
        return withData(answer, pool.encodeFunctionData("execute", [all, emptyUpdate(data)]));
      };
    const lies: [string, string, (answer: AttestResponse, statement: Statement) => AttestResponse][] = [
      [
        "to another contract",
        "PIN_MISMATCH",
        (answer) => ({ ...answer, transaction: { ...answer.transaction, to: WETH } }),
      ],
      [
        "for another chain",
        "PIN_MISMATCH",
        (answer) => ({ ...answer, transaction: { ...answer.transaction, chain_id: 1 } }),
      ],
      ["of another call", "UNEXPECTED_ANSWER", (answer) => withData(answer, `0xdeadbeef${"00".repeat(64)}`)],
      [
        "with other commitments",
        "UNEXPECTED_ANSWER",
        bent((member) => (member[2] = [...(member[2] as bigint[])].fill(5n, 3))),
      ],
      [
        "with another ext",
        "UNEXPECTED_ANSWER",
        bent((member) => (member[3] = `${String(member[3]).slice(0, -2)}ff`)),
      ],
      [
        "with another deadline",
        "UNEXPECTED_ANSWER",
        bent((member) => (member[1] = (member[1] as bigint) + 1n)),
      ],
      ["with another proof", "UNEXPECTED_ANSWER", bent((member) => (member[4] = `0x${"11".repeat(128)}`))],
      ["with an authorization", "UNEXPECTED_ANSWER", bent((member) => (member[5] = `0x${"22".repeat(65)}`))],
      [
        "with a signature that it did not show",
        "UNEXPECTED_ANSWER",
        bent((member) => (member[6] = `0x${"33".repeat(65)}`)),
      ],
      [
        "with another transaction beside it",
        "UNEXPECTED_ANSWER",
        (answer) => {
          const { data } = answer.transaction;
          const twice = [...members(data), ...members(data)];
          return withData(answer, pool.encodeFunctionData("execute", [twice, emptyUpdate(data)]));
        },
      ],
      [
        "with a root update smuggled in",
        "UNEXPECTED_ANSWER",
        (answer) => {
          const { data } = answer.transaction;
          const update = [1n, 2n, 0n, 3n, hex(0n), hex(1n), `0x${"44".repeat(65)}`];
          return withData(answer, pool.encodeFunctionData("execute", [members(data), update]));
        },
      ],
      [
        "with bytes behind it",
        "UNEXPECTED_ANSWER",
        (answer) => withData(answer, `${answer.transaction.data}00`),
      ],
      [
        "with an attestation that is no signature",
        "UNEXPECTED_ANSWER",
        (answer) => ({ ...answer, attestations: [{ ...answer.attestations[0]!, signature: "0x00" }] }),
      ],
    ];
    for (const [name, code, bend] of lies) {
      it(name, async () => {
        service.bendAttested = bend;
        const depositor = account(service);
        const wallet = await open();
        await assert.rejects(wallet.depositPlain(AMOUNT, depositor, { asset: WETH }), refusal(code));
        assert.equal(depositor.sent.length, 0);
      });
    }
  });

  it("sends signers in ascending order, whatever order they came in", async () => {
    service.bendAttested = (answer) => {
      const other = { signer: `0x${"ff".repeat(20)}`, signature: `0x${"55".repeat(65)}` };
      const { transaction } = answer;
      const pool = new Interface(POOL_ABI);
      const [members, update] = pool.decodeFunctionData("execute", transaction.data);
      const member = [...(members as unknown[][])[0]!];
      member[6] = `${String(member[6])}${"55".repeat(65)}`;
      return {
        ...answer,
        attestations: [other, ...answer.attestations],
        transaction: { ...transaction, data: pool.encodeFunctionData("execute", [[member], update]) },
      };
    };
    const wallet = await open();
    await wallet.depositPlain(AMOUNT, account(service), { asset: WETH });
    assert.equal(wallet.balance(WETH).total, AMOUNT - FLAT_FEE);
  });

  it("says when the chain did not execute it, and why", async () => {
    const wallet = await open();
    const depositor = account(service);
    // Somebody took the approval away in between.
    const forgetful = {
      ...depositor,
      sendTransaction: async (transaction: Parameters<typeof depositor.sendTransaction>[0]) => {
        service.chain.allowances.clear();
        return depositor.sendTransaction(transaction);
      },
    };
    await assert.rejects(
      wallet.depositPlain(AMOUNT, forgetful, { asset: WETH }),
      (error: Error) =>
        refusal("DEPOSIT_NOT_EXECUTED")(error) && error.message.includes("AuthorizationMalformed"),
    );
    const reverting = {
      ...depositor,
      sendTransaction: async () => ({ hash: hex(1n), wait: async () => ({ status: 0, logs: [] }) }),
    };
    await assert.rejects(
      wallet.depositPlain(AMOUNT, reverting, { asset: WETH }),
      refusal("DEPOSIT_NOT_EXECUTED"),
    );
    assert.equal(wallet.balance(WETH).total, 0n);
  });

  it("passes on what the depositor's account refuses, and approves nothing when the service refuses", async () => {
    const wallet = await open();
    const depositor = account(service);
    const unwilling = {
      ...depositor,
      sendTransaction: () => Promise.reject(new Error("the person said no")),
    };
    await assert.rejects(
      wallet.depositPlain(AMOUNT, unwilling, { asset: WETH }),
      (error: Error) =>
        refusal("SIGNER_FAILED")(error) && (error.cause as Error).message === "the person said no",
    );
    service.faults.push(({ url }) => (url === "/attest/deposit-shield" ? "ASSET_UNSUPPORTED" : undefined));
    await assert.rejects(
      wallet.depositPlain(AMOUNT, depositor, { asset: WETH }),
      refusal("ASSET_UNSUPPORTED"),
    );
    assert.equal(depositor.sent.length, 0);
  });

  it("waits for the chain no longer than it is told", async () => {
    const wallet = await open();
    const depositor = account(service);
    let whenAwaited = (): void => undefined;
    const slow = {
      ...depositor,
      sendTransaction: async () => ({
        hash: hex(1n),
        wait: () => {
          whenAwaited();
          return new Promise<never>(() => undefined);
        },
      }),
    };
    await assert.rejects(
      wallet.depositPlain(AMOUNT, slow, { asset: WETH, timeoutMs: 20 }),
      refusal("TIMED_OUT"),
    );
    const leaving = new AbortController();
    whenAwaited = () => leaving.abort(new Error("left"));
    await assert.rejects(
      wallet.depositPlain(AMOUNT, slow, { asset: WETH, signal: leaving.signal }),
      (error: Error) => error.name === "AbortError" && (error.cause as Error).message === "left",
    );
  });
});
