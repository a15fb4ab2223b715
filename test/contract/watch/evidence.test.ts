/** What the watcher writes for others: see evidence.tree. They check it with ethers and snarkjs, and send what it says to the real pool. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HDNodeWallet, keccak256, verifyTypedData, type TypedDataDomain, type TypedDataField } from "ethers";
import { groth16 } from "snarkjs";
import { verificationKeysFolder } from "../../../scripts/build/circuits/artefacts.ts";
import { openEvidenceFolder, type EvidenceFolder } from "../../../scripts/watch/evidence-folder.ts";
import { connectNode } from "../../../scripts/watch/node.ts";
import { NO_UPDATE, type PoolTransaction, type Unsigned } from "../../../scripts/stack/pool-transaction.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { freshKeys } from "../../support/adversary.ts";
import { DEVELOPMENT_MNEMONIC } from "../../support/chain.ts";
import { statementHashOf } from "../../support/oracle.ts";
import { runProgram } from "../../support/program.ts";
import { commitmentsOf, Field } from "./field.ts";

interface Evidence {
  readonly finding: Readonly<Record<string, unknown>>;
  readonly block: { readonly number: number; readonly hash: string } | null;
  readonly transaction: { readonly input: string; readonly logs: readonly unknown[] } | null;
  readonly signed: {
    readonly digest: string;
    readonly signers: readonly string[];
    readonly attestations: string;
    readonly typed_data: {
      readonly domain: TypedDataDomain;
      readonly types: Record<string, TypedDataField[]>;
      readonly primaryType: string;
      readonly message: Readonly<Record<string, string>>;
    };
  };
  readonly statement: {
    readonly deadline: string;
    readonly signals: readonly string[];
    readonly proof: string;
    readonly proof_words: readonly string[] | null;
    readonly first_leaf: number | null;
  };
  readonly tree: { readonly leaves: readonly string[] };
  readonly of?: string;
  readonly refutation: { readonly to: string; readonly data: string };
}

describe("evidence folder", function () {
  let field: Field;
  let folder: string;
  let transfer: Unsigned;
  let deposit: Unsigned;
  const alice = freshKeys();
  const refuter = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/5");

  before(async () => {
    field = await Field.start();
    await field.settle(await field.deposit(alice, 50_000_000n));
    const wallet = await field.restore(alice);
    const to = freshKeys().viewing.address;
    transfer = await field.spend(wallet, { type: "transfer", to, value: 1_000_000n }, wallet.notes);
    deposit = await field.deposit(alice, 5n);
  });
  after(() => field.stop());
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-evidence-"));
  });
  afterEach(async () => {
    field.node.straighten();
    await rm(folder, { recursive: true, force: true });
  });

  const lie = (member: Unsigned): PoolTransaction => field.attested(member, [field.liar]);
  const falseTransfer = (): PoolTransaction => lie({ ...transfer, proof: deposit.proof });
  const ask = (name: string, ...args: unknown[]): Promise<unknown> =>
    field.pool.getFunction(name)(...args) as Promise<unknown>;
  const isLiarIn = async (): Promise<boolean> => (await ask("isSigner", field.liar.address)) as boolean;

  interface Hand {
    readonly files: EvidenceFolder;
    readonly said: string[];
    look(): Promise<void>;
  }
  async function hand(): Promise<Hand> {
    const said: string[] = [];
    const node = connectNode(field.node.url, { attempts: 3, firstDelayMs: 1 });
    const files = await openEvidenceFolder({ folder, node, say: (text) => said.push(text) });
    const { watcher } = await field.watcher({ node, onFinding: (finding) => files.add(finding) });
    const look = async (): Promise<void> => {
      await watcher.pass();
      await files.write(watcher);
    };
    return { files, said, look };
  }
  async function look(): Promise<void> {
    await (await hand()).look();
  }

  const names = async (code: string): Promise<string[]> =>
    (await readdir(folder)).filter((name) => name.includes(code)).sort();
  const read = async (name: string): Promise<Evidence> =>
    JSON.parse(await readFile(path.join(folder, name), "utf8")) as Evidence;
  async function theOne(code: string): Promise<Evidence> {
    const found = await names(code);
    assert.equal(found.length, 1, String(found));
    return read(found[0]!);
  }

  /** By somebody who has the file and an account. */
  async function send({ refutation: { to, data } }: Evidence): Promise<void> {
    const receipt = await (await refuter.connect(field.provider).sendTransaction({ to, data })).wait();
    assert.equal(receipt?.status, 1);
  }
  const wouldRevert = ({ refutation: { to, data } }: Evidence): Promise<void> =>
    assert.rejects(field.provider.call({ to, data }), /revert/);

  /** Who signed it, without a line of ours. */
  function signerOf({ signed }: Evidence): string {
    const { domain, types, primaryType, message } = signed.typed_data;
    const own = { [primaryType]: types[primaryType]! };
    return verifyTypedData(domain, own, message, signed.attestations).toLowerCase();
  }

  describe("given a false statement that was executed", () => {
    it("its file has all that ethers and snarkjs need to check it, and its call refutes it from any account", async () => {
      await field.undone(async () => {
        const hash = await field.execute([falseTransfer()], await field.rootUpdate(commitmentsOf(transfer)));
        const [bad] = (await ask("currentRoot")) as [bigint];
        await look();
        const file = await theOne("PROOF_FORGED");
        assert.equal(file.finding["tx_hash"], hash);
        const block = await field.provider.getBlock(file.block!.number);
        assert.equal(block?.hash, file.block?.hash);
        assert.ok(file.transaction !== null);
        assert.equal(file.transaction.input, (await field.provider.getTransaction(hash))?.data);
        assert.ok(file.transaction.logs.length > 0);

        // That they signed it: by the statement as it stands in calldata.
        assert.equal(signerOf(file), field.liar.address);
        assert.deepEqual(file.signed.signers, [field.liar.address]);
        const { signals, deadline, proof, proof_words: words } = file.statement;
        const { message } = file.signed.typed_data;
        const decoded = field.pool.interface.decodeFunctionData("execute", file.transaction.input);
        const { ext } = (decoded[0] as { ext: string }[])[0]!;
        const numbers = signals.map(BigInt);
        assert.equal(message["statementHash"], statementHashOf("spend", BigInt(deadline), numbers, ext));
        assert.equal(message["proofHash"], keccak256(proof));
        assert.equal(message["verifyingKeyHash"], await ask("verifyingKeyHash", transfer.kind));
        // That it is false.
        const [ax, ay, bx1, bx0, by1, by0, cx, cy] = words!;
        const shown = {
          ...{ protocol: "groth16", curve: "bn128", pi_a: [ax, ay, "1"], pi_c: [cx, cy, "1"] },
          pi_b: [
            [bx0, bx1],
            [by0, by1],
            ["1", "0"],
          ],
        };
        const key: unknown = JSON.parse(
          await readFile(path.join(verificationKeysFolder, "spend.json"), "utf8"),
        );
        assert.equal(await groth16.verify(key, [...signals], shown as never), false);

        assert.equal(await isLiarIn(), true);
        await send(file);
        assert.equal(await isLiarIn(), false);
        assert.equal(await ask("isVoid", file.statement.first_leaf), true);
        assert.equal(await ask("rootSequence", bad), 0n);
      });
    });

    it("a root that came later changes the call: a second file is enough, the first stays what it was", async () => {
      await field.undone(async () => {
        await field.execute([falseTransfer()]);
        const { look } = await hand();
        await look();
        const [name] = await names("PROOF_FORGED");
        const first = await readFile(path.join(folder, name!), "utf8");
        await field.execute([], await field.rootUpdate());
        await look();
        await look();
        const found = await names("PROOF_FORGED");
        assert.equal(found.length, 2);
        assert.equal(await readFile(path.join(folder, name!), "utf8"), first);
        const later = await read(found.find((one) => one !== name)!);
        assert.equal(later.of, name);
        await wouldRevert(JSON.parse(first) as Evidence);
        // Another run finds both there.
        await (await hand()).look();
        assert.deepEqual(await names("PROOF_FORGED"), found);
        await send(later);
        assert.equal(await isLiarIn(), false);
      });
    });

    it("the node may have forgotten block and transaction", async () => {
      await field.undone(async () => {
        await field.execute([falseTransfer()]);
        const files = await openEvidenceFolder({
          folder,
          node: connectNode(field.node.url, { attempts: 1 }),
          say: (text) => assert.fail(text),
        });
        const { watcher } = await field.watcher({ onFinding: (finding) => files.add(finding) });
        await watcher.pass();
        const gone = (): never => {
          throw new Error("missing trie node");
        };
        for (const method of [
          "eth_getTransactionByHash",
          "eth_getTransactionReceipt",
          "eth_getBlockByNumber",
        ])
          field.node.bend(method, gone);
        await files.write(watcher);
        const file = await theOne("PROOF_FORGED");
        assert.deepEqual([file.block, file.transaction], [null, null]);
        assert.equal(signerOf(file), field.liar.address);
        await send(file);
        assert.equal(await isLiarIn(), false);
      });
    });
  });

  it("given one that the pool refused, its file is enough to put the signer out", async () => {
    await field.undone(async () => {
      await field.settle(transfer);
      const data = field.pool.interface.encodeFunctionData("execute", [[falseTransfer()], NO_UPDATE]);
      await field.sendTo(field.home.pool, data, ["Rejected"]);
      await look();
      const file = await theOne("PROOF_FORGED");
      assert.equal(file.statement.first_leaf, null);
      assert.equal(signerOf(file), field.liar.address);
      await send(file);
      assert.equal(await isLiarIn(), false);
    });
  });

  it("given a false root, its file has the leaves, and is enough to revoke it", async () => {
    await field.undone(async () => {
      const [root] = (await ask("currentRoot")) as [bigint];
      const forged = { newRoot: mustField(12_345n) };
      const update = await field.rootUpdate(commitmentsOf(deposit), forged, [field.liar]);
      await field.execute([field.attested(deposit)], update);
      await look();
      const file = await theOne("ROOT_FORGED");
      assert.equal(signerOf(file), field.liar.address);
      assert.deepEqual(file.tree.leaves, commitmentsOf(deposit).map(String));
      await send(file);
      assert.equal(await isLiarIn(), false);
      assert.deepEqual(((await ask("currentRoot")) as [bigint])[0], root);
    });
  });

  describe("given what is no attestation", () => {
    it("an alarm that stands has one file, however often it is seen; notices have none", async () => {
      await field.undone(async () => {
        for (const { address } of [field.signer, field.liar])
          await (await field.pool.getFunction("removeSigner")(address)).wait();
        for (let time = 0; time < 2; time++) {
          const { look } = await hand();
          await look();
          await field.passTime(10);
          await look();
        }
        const file = await theOne("SIGNERS_SHORT");
        assert.deepEqual([file.refutation, file.transaction], [null, null]);
        assert.equal(
          file.finding["meaning"],
          "fewer signers, or kinds of verifier, are there than the pool asks for: only proofs move money",
        );
        assert.deepEqual(await readdir(folder), await names("SIGNERS_SHORT"));
      });
    });
  });

  it("given a file that is there, it is not written again, whatever it says", async () => {
    await field.undone(async () => {
      await field.execute([falseTransfer()], await field.rootUpdate(commitmentsOf(transfer)));
      await look();
      const [name] = await names("PROOF_FORGED");
      const file = path.join(folder, name!);
      const noted = JSON.stringify({ ...(await read(name!)), note: "sent by post" });
      await writeFile(file, noted);
      await look();
      assert.deepEqual([await names("PROOF_FORGED"), await readFile(file, "utf8")], [[name], noted]);
      // What is no evidence any more is left alone as well; what to send stands beside it.
      await writeFile(file, "torn");
      await look();
      assert.equal(await readFile(file, "utf8"), "torn");
      const beside = (await names("PROOF_FORGED")).find((one) => one !== name);
      await send(await read(beside!));
      assert.equal(await isLiarIn(), false);
    });
  });

  it("given a folder that takes no file, it says so, loses nothing, and writes when it can", async () => {
    await field.undone(async () => {
      await field.execute([falseTransfer()]);
      const { files, said, look } = await hand();
      // A file where the folder was: no user is stopped by permissions who may do everything.
      await rm(folder, { recursive: true });
      await writeFile(folder, "");
      await look();
      assert.equal(files.missing, 1);
      assert.match(said[0] ?? "", /^no evidence of PROOF_FORGED, tried again later: /);
      await rm(folder);
      await mkdir(folder);
      await look();
      assert.equal(files.missing, 0);
      assert.equal((await theOne("PROOF_FORGED")).finding["code"], "PROOF_FORGED");
    });
  });

  it("given the command, it writes the files beside its other work, with neither key nor address of the node in them", async () => {
    await field.undone(async () => {
      await field.execute([falseTransfer()], await field.rootUpdate(commitmentsOf(transfer)));
      const rpc = `${field.chain.url}/?token=do-not-tell`;
      const options = ["--once", "--json", "--refute", "--rpc", rpc, "--pool", field.home.pool];
      const env = { REFUTER_KEY: refuter.privateKey };
      const args = [...options, "--evidence", folder];
      const { code, said } = await runProgram("scripts/watch/main.ts", args, { env });
      assert.equal(code, 2, said);
      assert.equal(await isLiarIn(), false);
      const written = await readdir(folder);
      for (const code of ["PROOF_FORGED", "REFUTED"])
        assert.equal(written.filter((name) => name.includes(code)).length, 1, code);
      for (const name of written) {
        const text = await readFile(path.join(folder, name), "utf8");
        for (const secret of ["do-not-tell", new URL(rpc).host, refuter.privateKey.slice(2), folder])
          assert.ok(!text.includes(secret), `${name}: ${secret}`);
      }
    });
  });
});
