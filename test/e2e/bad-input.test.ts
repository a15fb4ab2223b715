// Every kind of bad input on the running service: its own code, a clear text, no ticket, no gas.
import assert from "node:assert/strict";
import { Wallet as EthereumWallet } from "ethers";
import { newSeed, type Wallet } from "../../shared/client/index.ts";
import type { NetworkName } from "../../scripts/base/stack-file.ts";
import type { DepositBody, SpendBody, SwapBody } from "../../shared/api/transactions.ts";
import { decodeUniswapPath } from "../../shared/api/uniswap-path.ts";
import { FIELD_ORDER, type Address } from "../../shared/protocol/brands.ts";
import { contextOf } from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";
import { PATIENCE_MS } from "../../scripts/base/poll.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import { documentedFetch } from "../support/documented.ts";
import { capture, capturing } from "../support/captured.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { changedRecords, isEmptyBlock, takeTrace, type Trace } from "../support/traces.ts";
import { ETHER_TIER, LocalVenue } from "../support/venue.ts";
import { readSealed } from "../support/sealed-notes.ts";

const DEPOSIT = "/sequence/deposit-shield";
const SPEND = "/sequence/spend";
const STRANGER = "0x00000000000000000000000000000000000000AA";

for (const name of ["first", "second"] as const) badInput(name);

function badInput(name: NetworkName): void {
  describe(`bad input at the running service, ${name} network`, function () {
    let on: TestStack;
    let rich: Wallet;
    let depositor: EthereumWallet;
    let sender: string;
    /** Proved and never sent. */
    let deposit: DepositBody;
    let transfer: SpendBody;
    let withdrawal: SpendBody;
    let swap: SwapBody;
    let untouched: Trace;

    before(async () => {
      on = await startTestStack({ networks: [name] });
      depositor = await on.depositor(500n * TestUsdc.unit);
      sender = await on.sender();
      const seed = newSeed();
      rich = await on.wallet({ seed });
      await rich.deposit(100n * TestUsdc.unit, depositor, { until: "finalized" });
      // A wallet for each: one that was interrupted keeps its notes back, since the payment may still come.
      const silent = (): Promise<Wallet> => on.wallet({ seed, through: capturing(on.client) });
      deposit = await capture(await silent(), (wallet) => wallet.deposit(40n * TestUsdc.unit, depositor));
      transfer = await capture(await silent(), (wallet) => wallet.pay(rich.address, 30n * TestUsdc.unit));
      withdrawal = await capture(await silent(), (wallet) => wallet.withdraw(STRANGER, 5n * TestUsdc.unit));
      if (name === "second") {
        const venue = new LocalVenue(on);
        const path = venue.path(venue.usdc, ETHER_TIER, venue.weth);
        // What is left of ten dollars is more than nine.
        const floor = await venue.quote(path, 9n * TestUsdc.unit);
        const order = { tokenIn: venue.usdc, tokenOut: venue.weth, amount: 10n * TestUsdc.unit, floor, path };
        swap = await capture(await silent(), (wallet) => wallet.swap(order));
      }
      untouched = await takeTrace(on);
    });
    after(() => on.stop());

    interface Answer {
      readonly status: number;
      readonly body: { code?: string; detail?: string; ticket_id?: string; errors?: { path: string }[] };
    }

    async function post(to: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
      const response = await documentedFetch(on.entry.base_url)(on.entry.base_url + to, {
        method: "POST",
        headers: { "x-api-key": on.stack.file.api_key, "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as Answer["body"] };
    }

    /** Asserts status and code, and that neither gas nor a ticket came of it. */
    async function refused(
      expected: [status: number, code: string],
      to: string,
      body: unknown,
      headers: Record<string, string> = {},
    ): Promise<Answer> {
      const nonce = await on.chain.getTransactionCount(sender, "pending");
      const answer = await post(to, body, headers);
      assert.deepEqual([answer.status, answer.body.code], expected);
      assert.ok((answer.body.detail ?? "").length > 10, "a refusal says why");
      assert.equal(answer.body.ticket_id, undefined);
      assert.deepEqual(await openTickets(), []);
      assert.equal(await on.chain.getTransactionCount(sender, "pending"), nonce, "gas was spent");
      return answer;
    }

    /** The stream sends every open ticket after `ready`. */
    async function openTickets(): Promise<string[]> {
      const abort = new AbortController();
      const seen: string[] = [];
      for await (const event of on.client.events({
        types: ["ready", "ticket", "synced"],
        signal: abort.signal,
      })) {
        if (event.kind === "ticket" && !["finalized", "confirmed"].includes(event.data.state))
          seen.push(event.data.ticket_id);
        if (event.kind === "synced") break;
      }
      abort.abort();
      return seen;
    }

    const changed = <T extends DepositBody | SpendBody | SwapBody>(body: T, change: (copy: T) => void): T => {
      const copy = structuredClone(body);
      change(copy);
      return copy;
    };
    const recontext = (body: SpendBody): void => {
      const { pool, chain_id } = on.entry;
      const ext = encodeExt({
        kind: "spend",
        recipient: body.ext.recipient.toLowerCase() as Address,
        ...readSealed(body.ext),
      });
      const home = { chainId: BigInt(chain_id), pool: pool.toLowerCase() as Address };
      body.public_signals[0] = String(contextOf(home, "spend", BigInt(body.deadline), ext));
    };

    const recontextSwap = (body: SwapBody): void => {
      const { pool, chain_id } = on.entry;
      const way = decodeUniswapPath(body.ext.path);
      assert.ok(typeof way !== "string");
      const ext = encodeExt({
        kind: "private-swap",
        tokenOut: way.tokenOut,
        minAmountOut: BigInt(body.ext.min_amount_out),
        npkOut: BigInt(body.ext.npk_out),
        path: way.path,
        ...readSealed(body.ext),
      });
      const home = { chainId: BigInt(chain_id), pool: pool.toLowerCase() as Address };
      body.public_signals[0] = String(contextOf(home, "private-swap", BigInt(body.deadline), ext));
    };

    if (name === "second") {
      /** Changes of a good swap, with the code that each earns at both of its endpoints. */
      const wrongSwaps: [string, (copy: SwapBody) => void, [number, string]][] = [
        [
          "a proof with one changed digit",
          (copy) => (copy.proof.pi_a[0] = String(BigInt(copy.proof.pi_a[0]) ^ 1n)),
          [422, "PROOF_INVALID"],
        ],
        ["the proof of a payment", (copy) => (copy.proof = transfer.proof), [422, "PROOF_INVALID"]],
        ["another floor", (copy) => (copy.ext.min_amount_out = "1"), [422, "CONTEXT_MISMATCH"]],
        ["another deadline", (copy) => (copy.deadline += 1), [422, "CONTEXT_MISMATCH"]],
        [
          "another receiver of what is bought",
          (copy) => (copy.ext.npk_out = `0x${"0".repeat(63)}1`),
          [422, "CONTEXT_MISMATCH"],
        ],
        [
          "another floor with the context recomputed",
          (copy) => {
            copy.ext.min_amount_out = "1";
            recontextSwap(copy);
          },
          [422, "PROOF_INVALID"],
        ],
        [
          "a token that is not listed",
          (copy) => {
            const unlisted = STRANGER.toLowerCase();
            copy.ext.token_out = unlisted;
            copy.ext.path = copy.ext.path.slice(0, -40) + unlisted.slice(2);
            recontextSwap(copy);
          },
          [422, "ASSET_UNSUPPORTED"],
        ],
        [
          "a path that ends elsewhere",
          (copy) => (copy.ext.token_out = STRANGER.toLowerCase()),
          [400, "INVALID_REQUEST"],
        ],
        [
          "a fee tier that the venue has not",
          (copy) => {
            const { path } = copy.ext;
            copy.ext.path = `${path.slice(0, 42)}00007b${path.slice(48)}`;
          },
          [400, "INVALID_REQUEST"],
        ],
        ["no floor", (copy) => (copy.ext.min_amount_out = "0"), [400, "INVALID_REQUEST"]],
        [
          "a signal above the group order",
          (copy) => (copy.public_signals[4] = String(BigInt(copy.public_signals[4]!) + FIELD_ORDER)),
          [400, "INVALID_REQUEST"],
        ],
        [
          "a deadline that is past",
          (copy) => {
            copy.deadline = 1_000_000_000;
            recontextSwap(copy);
          },
          [400, "INVALID_REQUEST"],
        ],
        ["an unknown root", (copy) => (copy.public_signals[1] = "12345"), [422, "ROOT_UNKNOWN"]],
        ["no fee", (copy) => (copy.fees = []), [422, "FEE_MISSING"]],
      ];
      for (const [what, change, expected] of wrongSwaps) {
        it(`a swap with ${what} is ${expected[1]}`, async () => {
          for (const to of ["/sequence/private-swap", "/attest/private-swap"])
            await refused(expected, to, changed(swap, change));
        });
      }

      it("a swap that nobody attested is ATTESTATION_INVALID at /relay", async () => {
        const stranger = EthereumWallet.createRandom();
        const signature = stranger.signingKey.sign(`0x${"11".repeat(32)}`).serialized;
        const body = {
          kind: "private-swap",
          ...swap,
          attestations: [{ signer: stranger.address, signature }],
        };
        await refused([422, "ATTESTATION_INVALID"], "/relay", body);
      });
    }

    it("malformed JSON is INVALID_REQUEST", async () => {
      await refused([400, "INVALID_REQUEST"], SPEND, '{"proof":');
    });

    it("an unknown field is INVALID_REQUEST and named", async () => {
      const { body } = await refused([400, "INVALID_REQUEST"], SPEND, { ...transfer, tip: "1" });
      assert.match(JSON.stringify(body.errors), /tip/);
    });

    it("a wrong credential is INVALID_CREDENTIAL, none is MISSING_CREDENTIAL", async () => {
      await refused([401, "INVALID_CREDENTIAL"], SPEND, transfer, {
        "x-api-key": `${on.stack.file.api_key.slice(0, -1)}!`,
      });
      const response = await documentedFetch(on.entry.base_url)(`${on.entry.base_url}${SPEND}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(transfer),
      });
      assert.equal(((await response.json()) as Answer["body"]).code, "MISSING_CREDENTIAL");
    });

    it("a proof with one changed digit is PROOF_INVALID", async () => {
      for (const part of ["pi_a", "pi_c"] as const) {
        const body = changed(transfer, (copy) => {
          copy.proof[part][0] = String(BigInt(copy.proof[part][0]) ^ 1n);
        });
        await refused([422, "PROOF_INVALID"], SPEND, body);
      }
    });

    it("a proof for another statement is PROOF_INVALID", async () => {
      await refused([422, "PROOF_INVALID"], SPEND, { ...transfer, proof: withdrawal.proof });
    });

    it("a proof for another recipient is CONTEXT_MISMATCH, and with the context recomputed PROOF_INVALID", async () => {
      const body = changed(withdrawal, (copy) => {
        copy.ext.recipient = "0x00000000000000000000000000000000000000BB".toLowerCase();
      });
      await refused([422, "CONTEXT_MISMATCH"], SPEND, body);
      recontext(body);
      await refused([422, "PROOF_INVALID"], SPEND, body);
    });

    it("a changed ciphertext or deadline is CONTEXT_MISMATCH", async () => {
      const ciphertext = changed(transfer, (copy) => {
        const text = copy.ext.ciphertexts[0]!;
        copy.ext.ciphertexts[0] = text.slice(0, -1) + (text.endsWith("0") ? "1" : "0");
      });
      await refused([422, "CONTEXT_MISMATCH"], SPEND, ciphertext);
      await refused([422, "CONTEXT_MISMATCH"], SPEND, { ...transfer, deadline: transfer.deadline + 1 });
    });

    it("a changed amount is PROOF_INVALID", async () => {
      await refused(
        [422, "PROOF_INVALID"],
        SPEND,
        changed(withdrawal, (copy) => {
          copy.public_signals[3] = String(BigInt(copy.public_signals[3]!) + 1n);
        }),
      );
    });

    it("an unknown root is ROOT_UNKNOWN", async () => {
      await refused(
        [422, "ROOT_UNKNOWN"],
        SPEND,
        changed(transfer, (copy) => (copy.public_signals[1] = "12345")),
      );
    });

    it("a signal at or above the group order is INVALID_REQUEST", async () => {
      for (const position of [0, 1, 4, 6]) {
        const body = changed(transfer, (copy) => {
          copy.public_signals[position] = String(BigInt(copy.public_signals[position]!) + FIELD_ORDER);
        });
        await refused([400, "INVALID_REQUEST"], SPEND, body);
      }
    });

    it("an amount with a sign, a leading zero, an exponent or a fraction is INVALID_REQUEST", async () => {
      for (const value of ["-1", "+50000", "050000", "5e4", "50000.0", "", " 50000"]) {
        const body = changed(transfer, (copy) => (copy.fees[0]!.value = value));
        await refused([400, "INVALID_REQUEST"], SPEND, body);
      }
    });

    it("a fee that is not opened is FEE_MISSING, one that is too low FEE_TOO_LOW or FEE_MISSING", async () => {
      await refused([422, "FEE_MISSING"], SPEND, { ...transfer, fees: [] });
      const lower = changed(transfer, (copy) => (copy.fees[0]!.value = "49999"));
      const { status, body } = await post(SPEND, lower);
      assert.equal(status, 422);
      assert.ok(["FEE_MISSING", "FEE_TOO_LOW"].includes(body.code ?? ""));
    });

    it("a deadline that is past or a day away is INVALID_REQUEST", async () => {
      await refused(
        [400, "INVALID_REQUEST"],
        SPEND,
        changed(transfer, (copy) => {
          copy.deadline = 1_000_000_000;
          recontext(copy);
        }),
      );
      await refused(
        [400, "INVALID_REQUEST"],
        SPEND,
        changed(transfer, (copy) => {
          copy.deadline += 90_000;
          recontext(copy);
        }),
      );
    });

    it("an authorization for another statement, or by another hand, is AUTHORIZATION_INVALID", async () => {
      const other = await capture<DepositBody>(await on.wallet({ through: capturing(on.client) }), (wallet) =>
        wallet.deposit(40n * TestUsdc.unit, depositor),
      );
      await refused([422, "AUTHORIZATION_INVALID"], DEPOSIT, {
        ...deposit,
        authorization: other.authorization,
      });
      const byte = deposit.authorization.slice(10, 12) === "00" ? "01" : "00";
      const bent = deposit.authorization.slice(0, 10) + byte + deposit.authorization.slice(12);
      await refused([422, "AUTHORIZATION_INVALID"], DEPOSIT, { ...deposit, authorization: bent });
    });

    it("the same codes come from /attest, which reserves nothing", async () => {
      await refused([422, "CONTEXT_MISMATCH"], "/attest/spend", {
        ...transfer,
        deadline: transfer.deadline + 1,
      });
      const answer = await post("/attest/spend", transfer);
      assert.equal(answer.status, 200);
      assert.deepEqual(await openTickets(), []);
    });

    it("an attestation by nobody is ATTESTATION_INVALID at /relay", async () => {
      const stranger = EthereumWallet.createRandom();
      const signature = stranger.signingKey.sign(`0x${"11".repeat(32)}`).serialized;
      const body = { kind: "spend", ...transfer, attestations: [{ signer: stranger.address, signature }] };
      await refused([422, "ATTESTATION_INVALID"], "/relay", body);
    });

    it("none of it left a trace but the openings of what was attested in between", async () => {
      const records = changedRecords(untouched.store, (await takeTrace(on)).store);
      assert.deepEqual(
        records.filter((record) => !isEmptyBlock(record) && !record.startsWith("fee-notes ")),
        [],
      );
    });

    it("a nullifier that is pending is NULLIFIER_PENDING, and NULLIFIER_SPENT once it is spent", async () => {
      // No block until we say so: the first payment stays on its way.
      await on.setMining(false);
      const atOnce = await Promise.all(Array.from({ length: 20 }, () => post(SPEND, transfer)));
      const ticketId = atOnce[0]?.body.ticket_id;
      assert.ok(ticketId !== undefined);
      for (const { status, body } of [...atOnce, await post(SPEND, transfer)]) {
        assert.deepEqual([status, body.ticket_id], [202, ticketId], "the same statement is the same ticket");
      }
      const rival = await post(SPEND, withdrawal);
      assert.deepEqual([rival.status, rival.body.code], [409, "NULLIFIER_PENDING"]);
      await on.setMining(true);
      await rich.waitForTicket(ticketId, "finalized", { timeoutMs: PATIENCE_MS });
      await refused([409, "NULLIFIER_SPENT"], SPEND, withdrawal);
    });
  });
}
