// SPEC.md is enough to pay: a deposit and a private transfer that are made from its text alone (test/support/oracle.ts and
// oracle-reader.ts, calldata by the signatures that it prints), proved with the committed keys, and taken by a real pool.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import {
  Contract,
  hexlify,
  Interface,
  JsonRpcProvider,
  keccak256,
  solidityPacked,
  type JsonRpcSigner,
} from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../../scripts/stack/development-registration.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import type { Prover } from "../../../shared/client/prover/prover.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import {
  ciphertextOf,
  contextOf,
  depositInputs,
  executedLog,
  extOf,
  KINDS,
  npkOf,
  outputKeys,
  proofWords,
  SparseTree,
  spendInputs,
  statementHashOf,
  word,
  x25519KeyOf,
  type Home,
  type Kind,
  type Said,
  type SpentNote,
} from "../../support/oracle.ts";
import { addressOf, keysOf, notesOf, readAddress, readExecutedLog } from "../../support/oracle-reader.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const PROVED_DELAY_SECS = 50;
const SILENCE_SECS = 21_600;
const DEADLINE = 4_000_000_000n;
const NOBODY = `0x${"00".repeat(20)}`;
const NO_UPDATE = [0, 0, 0, 0, word(0n), word(0n), "0x"];

const draw = (): string => hexlify(randomBytes(32));
const [alice, bob] = [keysOf(draw()), keysOf(draw())];

interface Output {
  /** As text; undefined for one that nobody should read. */
  readonly to: string | undefined;
  readonly value: bigint;
}

describe("SPEC.md is enough to pay", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let account: JsonRpcSigner;
  let prover: Prover;
  let usdc: Contract;
  let asset: string;
  let home: Home;
  let spec: Interface;

  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    account = await provider.getSigner(0);
    prover = await developmentProver();
    const token = (await deployTestUsdc(account)).address;
    const { address } = await deployPoolWithSigners(account, {
      ...{ signers: [attester(1).address], threshold: 1, assets: [token] },
      ...{ changeDelay: 2 * PROVED_DELAY_SECS, provedDelay: PROVED_DELAY_SECS },
    });
    asset = token.toLowerCase();
    usdc = new Contract(token, (await loadArtifact("TestUSDC")).abi, account);
    home = { chainId: BigInt(anvil.chainId), pool: address };
    const text = await readFile(path.join(PROJECT_ROOT, "shared", "protocol", "SPEC.md"), "utf8");
    const printed = [...text.matchAll(/^ {4}(function .*)$/gm)].map(([, signature]) => signature!);
    spec = new Interface(printed);
    const compiled = await Promise.all(
      ["IPool", "ICreditSource"].map(async (name) => (await loadArtifact(name)).abi as never),
    );
    const known = new Interface(compiled.flat());
    const names = ["execute", "advance", "credit", "bringCredit"];
    assert.equal(printed.length, names.length);
    for (const name of names)
      assert.equal(spec.getFunction(name)!.selector, known.getFunction(name)!.selector);
  });
  after(async () => {
    await prover.close();
    provider.destroy();
    await anvil.stop();
  });

  async function send(name: string, ...args: unknown[]): Promise<Said[]> {
    const sent = await account.sendTransaction({ to: home.pool, data: spec.encodeFunctionData(name, args) });
    const receipt = await sent.wait();
    return receipt!.logs.flatMap((log) => readExecutedLog(log) ?? []);
  }

  /** The statement of section 5 over these outputs, the witness of section 6, its proof, and the call of section 8. */
  async function execute(
    kind: Kind,
    terms: Readonly<Record<string, unknown>>,
    outputs: readonly Output[],
    inputsOf: (context: bigint, made: { npk: bigint; value: bigint }[]) => Readonly<Record<string, unknown>>,
  ): Promise<Said> {
    const ephemeralSecret = draw();
    const readers = outputs.map(({ to }) => (to === undefined ? keysOf(draw()) : readAddress(to)));
    const keys = readers.map(({ viewingKey }, i) => outputKeys(ephemeralSecret, viewingKey, i));
    const ephemeralKey = x25519KeyOf(ephemeralSecret);
    const ciphertexts = keys.map((each, i) => ciphertextOf(each, asset, outputs[i]!.value));
    const ext = extOf(kind, terms, ephemeralKey, ciphertexts);
    const made = readers.map(({ owner }, i) => ({
      npk: npkOf(owner, keys[i]!.blinding),
      value: outputs[i]!.value,
    }));
    const witness = inputsOf(contextOf(home, kind, DEADLINE, ext), made);
    const signals = signalsOf(kind, witness);
    const proved = await prover.prove({ kind, signals } as never, witness);
    const proof = solidityPacked(Array<string>(8).fill("uint256"), proofWords(proved));
    const transaction = [KINDS[kind].id, DEADLINE, signals, ext, proof, "0x", "0x"];
    const said = await send("execute", [transaction], NO_UPDATE);
    assert.equal(said.length, 1, "executed");
    const [one] = said;
    assert.equal(one!.statementHash, statementHashOf(kind, DEADLINE, signals, ext));
    assert.equal(one!.proofHash, keccak256(proof));
    assert.equal(one!.ephemeralKey, ephemeralKey);
    return one!;
  }

  const passTime = async (seconds: number): Promise<void> => {
    await provider.send("evm_increaseTime", [seconds]);
    await provider.send("evm_mine", []);
  };

  it("has the keys and addresses of the vectors", async () => {
    const file = path.join(PROJECT_ROOT, "test", "support", "vectors", "keys.json");
    const { seeds } = JSON.parse(await readFile(file, "utf8")) as {
      seeds: readonly Readonly<Record<"seed" | "spendingKey" | "owner" | "viewingKey" | "address", string>>[];
    };
    assert.ok(seeds.length > 0);
    for (const { seed, spendingKey, owner, viewingKey, address } of seeds) {
      const keys = keysOf(seed);
      assert.deepEqual(
        [word(keys.spendingKey), word(keys.owner), keys.viewingKey],
        [spendingKey, owner, viewingKey],
      );
      assert.equal(addressOf(keys, "cltest"), address);
      assert.deepEqual(readAddress(address), { prefix: "cltest", owner: BigInt(owner), viewingKey });
    }
  });

  it("deposits, extends the tree, pays in private, and the receiver reads the payment", async () => {
    const amount = 100_000_000n;
    const pool = home.pool;
    for (const [name, ...args] of [
      ["mint", account.address, amount],
      ["approve", pool, amount],
    ] as const)
      await (await usdc.getFunction(name)(...args)).wait();

    const unread = { to: undefined, value: 0n };
    const deposit = await execute(
      "deposit-shield",
      { depositor: account.address, validAfter: 0, validBefore: DEADLINE + 1n },
      [{ to: addressOf(alice, "clodev"), value: amount }, unread, unread],
      (context, made) => depositInputs({ context, asset: BigInt(asset), amountIn: amount, made }),
    );
    assert.deepEqual(deposit.moved, { asset, amount, party: account.address.toLowerCase() });

    const { leaves, notes } = await readLog();
    assert.deepEqual(leaves, deposit.commitments);
    await passTime(SILENCE_SECS);
    await send("advance", [], leaves.length, word(0n), leaves, []);
    await passTime(PROVED_DELAY_SECS);

    assert.deepEqual(valuesOf(notes), [amount]);
    const unused: SpentNote = { value: 0n, blinding: BigInt(draw()) >> 8n, leafIndex: 0n, leaf: undefined };
    const tree = SparseTree.of(leaves);
    const paid = 30_000_001n;
    const fee = 50_000n + (paid * 15n) / 10_000n;
    const sink = addressOf(keysOf(draw()), "clodev");
    const transfer = await execute(
      "spend",
      { recipient: NOBODY },
      [
        { to: addressOf(bob, "clodev"), value: paid },
        { to: addressOf(alice, "clodev"), value: amount - paid - fee },
        { to: sink, value: fee },
        unread,
      ],
      (context, made) =>
        spendInputs(
          {
            ...{ context, spendingKey: alice.spendingKey, noteAsset: BigInt(asset) },
            ...{ spent: [notes[0]!, unused], made, amountOut: 0n },
          },
          tree,
        ),
    );
    assert.equal(transfer.moved, undefined);
    assert.equal(transfer.firstLeafIndex, 3n);
    assert.deepEqual(valuesOf(notesOf(bob, transfer)), [paid]);
    assert.deepEqual(valuesOf(notesOf(alice, transfer)), [amount - paid - fee]);
  });

  /** All that the pool ever executed: its leaves, and Alice's notes. */
  async function readLog(): Promise<{ leaves: bigint[]; notes: ReturnType<typeof notesOf> }> {
    const logs = await provider.getLogs({ address: home.pool, fromBlock: 0 });
    const said = logs.flatMap((log) => {
      const executed = readExecutedLog(log);
      if (executed !== undefined)
        assert.deepEqual(executedLog(executed), { topics: [...log.topics], data: log.data });
      return executed ?? [];
    });
    const leaves = said.flatMap(({ commitments }) => commitments);
    return { leaves, notes: said.flatMap((one) => notesOf(alice, one)) };
  }
});

function valuesOf(notes: readonly SpentNote[]): bigint[] {
  return notes.map(({ value }) => value);
}

/** In the order of section 5's table. */
function signalsOf(kind: Kind, inputs: Readonly<Record<string, unknown>>): bigint[] {
  const names =
    kind === "deposit-shield"
      ? ["context", "asset", "amountIn", "commitments"]
      : ["context", "root", "asset", "amountOut", "nullifiers", "commitments"];
  return names.flatMap((name) => inputs[name] as bigint | bigint[]);
}
