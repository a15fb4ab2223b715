// `operator assets` and `operator executor` as an operator runs them, on a real pool: announced, admitted by a stranger,
// withdrawn, expired; what is refused before anything is sent; and the transaction for owners who sign elsewhere.
import assert from "node:assert/strict";
import { Contract, getAddress, HDNodeWallet, JsonRpcProvider } from "ethers";
import { deployContract, deployTestUsdc } from "../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../scripts/stack/development-registration.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../scripts/stand-ins/anvil.ts";
import { attester } from "../../scripts/stack/pool-transaction.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { runProgram } from "../support/program.ts";

const DELAY_SECS = 3_600;
const WEEK_SECS = 7 * 86_400;
/** Hexadecimal digits that are somebody's key. */
const keyOf = (n: number): string =>
  HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", `m/44'/60'/0'/0/${String(n)}`).privateKey;
const OWNER = { OWNER_KEY: keyOf(0) };
const ANYBODY = { SENDER_KEY: keyOf(5) };

interface Ended {
  readonly code: number | null;
  readonly data: Record<string, unknown>;
  readonly text: string;
  readonly error: string;
}

/** Exit code, what is said, keys and words. */
type Refusal = readonly [number, RegExp, Readonly<Record<string, string>>, readonly string[]];

for (const noun of ["assets", "executor"] as const) {
  describe(`operator ${noun}`, function () {
    const field = noun === "assets" ? "asset" : "executor";
    let chain: Anvil;
    let provider: JsonRpcProvider;
    let pool: Contract;
    let poolAddress: Address;
    let first: Address;
    let subject: Address;
    let other: Address;

    before(async () => {
      chain = await startAnvil();
      provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
      const deployer = await provider.getSigner(0);
      const make = async (name: string) => (await deployContract(deployer, name, [])).address;
      const usdc = (await deployTestUsdc(deployer)).address;
      const venue = await make("ConfigurableExecutor");
      first = noun === "assets" ? usdc : venue;
      subject = await make(noun === "assets" ? "TestUSDC" : "ConfigurableExecutor");
      other = await make(noun === "assets" ? "TestUSDC" : "ConfigurableExecutor");
      const settings = {
        signers: [attester(0).address],
        threshold: 1,
        changeDelay: DELAY_SECS,
        assets: [usdc],
        executor: venue,
      };
      poolAddress = (await deployPoolWithSigners(deployer, settings)).address;
      pool = new Contract(poolAddress, POOL_ABI, provider);
    });
    after(async () => {
      provider.destroy();
      await chain.stop();
    });

    async function operator(keys: Readonly<Record<string, string>>, ...words: string[]): Promise<Ended> {
      const cap = noun === "assets" && words[0] === "propose" ? ["--minimum-cap", "1000000"] : [];
      const where = ["--rpc", chain.url, "--pool", poolAddress];
      const args = [noun, ...where, ...cap, ...words];
      const {
        code,
        out: text,
        err: error,
      } = await runProgram("scripts/operator/main.ts", args, { env: keys });
      // No refusal may show a key.
      for (const key of Object.values(keys)) assert.ok(!`${text}${error}`.includes(key.replace(/^0x/, "")));
      const data = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
      return { code, data, text, error };
    }
    const isIn = async (address: Address): Promise<boolean> =>
      noun === "assets"
        ? ((await pool.getFunction("isAsset")(address)) as boolean)
        : ((await pool.getFunction("executor")()) as string) === getAddress(address);
    const pass = async (seconds: number): Promise<void> => {
      await provider.send("evm_increaseTime", [seconds]);
      await provider.send("evm_mine", []);
    };
    const sent = (): Promise<number> =>
      provider.getTransactionCount(HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC).address);
    const listed = async (...more: string[]): Promise<Record<string, unknown>[]> =>
      (await operator({}, "list", "--json", ...more)).data[`${field}s`] as Record<string, unknown>[];
    const undone = async (act: () => Promise<void>): Promise<void> => {
      const snapshot: unknown = await provider.send("evm_snapshot", []);
      try {
        await act();
      } finally {
        await provider.send("evm_revert", [snapshot]);
      }
    };

    it("lists what the pool began with, and nothing as pending", async () => {
      assert.deepEqual(await listed(), [{ [field]: getAddress(first), standing: "admitted" }]);
      assert.deepEqual(await listed("--pending"), []);
      assert.equal((await operator({}, "list", "--pending")).text, "none\n");
    });

    if (noun === "assets")
      it("judges a token by what a holder of it could do, and changes nothing", async () => {
        const holder = await provider.getSigner(0);
        const token = new Contract(subject, ["function mint(address to, uint256 value)"], holder);
        await ((await token.getFunction("mint")(holder.address, 5n)) as { wait(): Promise<unknown> }).wait();
        const before = await provider.getBlockNumber();
        const judged = await operator({}, "judge", subject, "--holder", holder.address, "--json");
        assert.deepEqual([judged.code, judged.data["verdict"]], [0, "fit"]);
        const nothing = await operator({}, "judge", subject);
        assert.equal(nothing.code, 1);
        assert.match(nothing.error, /has nothing of it to try/);
        const noToken = await operator({}, "judge", poolAddress, "--holder", holder.address);
        assert.deepEqual([noToken.code, /is unfit\nunfit\tNO_TOKEN/.test(noToken.text)], [1, true]);
        assert.equal(await provider.getBlockNumber(), before);
      });

    it("refuses before it sends: what is no contract, another's key, no key, a mistyped address, wrong words", async () => {
      const before = await sent();
      const nobody = attester(9).address;
      const mistyped = getAddress(subject).replace(/[a-fA-F]/, (digit) =>
        digit === digit.toLowerCase() ? digit.toUpperCase() : digit.toLowerCase(),
      );
      /** Said in the same place for both. */
      const common: readonly Refusal[] = [
        [1, /the pool's owner is 0x/, { OWNER_KEY: keyOf(5) }, ["propose", subject]],
        [2, /OWNER_KEY in the environment is missing/, ANYBODY, ["propose", subject]],
        [2, /OWNER_KEY in the environment is no key/, { OWNER_KEY: "0x1234" }, ["propose", subject]],
        [2, /ADDRESS is missing/, OWNER, ["propose"]],
        [2, /ADDRESS is no address/, OWNER, ["propose", "USDC"]],
        [2, /its capitals are not its checksum/, OWNER, ["propose", mistyped]],
        [2, /too many words/, OWNER, ["propose", subject, other]],
        [2, /unknown command/, OWNER, ["dance", subject]],
        [1, /does not answer as a token does/, OWNER, ["propose", poolAddress]],
        [1, /is no pool on this chain/, OWNER, ["propose", subject, "--pool", other]],
        [2, /--minimum-cap UNITS is missing/, OWNER, ["propose", subject, "--minimum-cap="]],
        ...["1.5", "1e6", String(2n ** 104n)].map(
          (cap) =>
            [2, /no whole number of units/, OWNER, ["propose", subject, "--minimum-cap", cap]] as const,
        ),
        [2, /is for proposing an asset/, OWNER, ["admit", subject, "--minimum-cap", "1"]],
      ];
      const outOfPlace: Refusal = [
        2,
        /is for proposing an asset/,
        OWNER,
        ["propose", subject, "--minimum-cap", "1"],
      ];
      const refusals: readonly Refusal[] = [
        [1, /is no contract on this chain/, OWNER, ["propose", nobody]],
        [1, /is not proposed/, ANYBODY, ["admit", subject]],
        [1, /is not proposed/, OWNER, ["withdraw", subject]],
        [1, /is not admitted/, OWNER, ["remove", subject]],
        [1, /to take it out: remove/, OWNER, ["withdraw", first]],
        ...(noun === "assets" ? common : [outOfPlace]),
      ];
      for (const [code, reason, keys, words] of refusals) {
        const ended = await operator(keys, ...words);
        assert.equal(ended.code, code, `${words.join(" ")}: ${ended.error}`);
        assert.match(ended.error, reason);
      }
      assert.equal(await sent(), before);
    });

    it("propose announces it with both its times; again, it says so and sends nothing", async () => {
      const { code, data, error } = await operator(OWNER, "propose", subject, "--json");
      assert.equal(code, 0, error);
      const now = (await provider.getBlock("latest"))!.timestamp;
      const proposed = {
        [field]: getAddress(subject),
        standing: "proposed",
        admissible_at: now + DELAY_SECS,
        expires_at: now + DELAY_SECS + WEEK_SECS,
      };
      assert.deepEqual(data, proposed);
      assert.deepEqual(await listed("--pending"), [proposed]);
      const before = await sent();
      const again = await operator(OWNER, "propose", subject);
      assert.equal(again.code, 0);
      assert.match(again.text, /is proposed already: admissible from \d{4}-.*Z, expires at \d{4}-.*Z/);
      assert.equal(await sent(), before);
      const early = await operator(ANYBODY, "admit", subject);
      assert.equal(early.code, 1);
      assert.match(early.error, /may be admitted from \d{4}-.*Z to \d{4}-.*Z/);
      assert.match(
        (await operator(OWNER, "remove", subject)).error,
        /only proposed; to take it back: withdraw/,
      );
    });

    it("withdraw takes it back, and it may be proposed again", async () => {
      await undone(async () => {
        const { code, data, error } = await operator(OWNER, "withdraw", subject, "--json");
        assert.equal(code, 0, error);
        assert.deepEqual(data, { [field]: getAddress(subject), standing: "withdrawn" });
        assert.deepEqual(await listed("--pending"), []);
        await pass(DELAY_SECS);
        assert.match((await operator(ANYBODY, "admit", subject)).error, /is not proposed/);
        assert.equal((await operator(OWNER, "propose", subject, "--json")).data["standing"], "proposed");
      });
    });

    it("what nobody admitted in its week has expired, and may be proposed again", async () => {
      await undone(async () => {
        await pass(DELAY_SECS + WEEK_SECS);
        const late = await operator(ANYBODY, "admit", subject);
        assert.equal(late.code, 1);
        assert.match(late.error, /was to be admitted before \d{4}-.*Z; the owner may propose it again/);
        assert.match((await operator(OWNER, "withdraw", subject)).error, /is not proposed/);
        const all = await listed();
        assert.equal(all.find((one) => one[field] === getAddress(subject))?.["standing"], "expired");
        assert.deepEqual(await listed("--pending"), []);
        assert.equal((await operator(OWNER, "propose", subject, "--json")).data["standing"], "proposed");
      });
    });

    it("prints the transaction for owners who sign elsewhere, who can send it as it stands", async () => {
      await undone(async () => {
        const before = await sent();
        const { code, data, error } = await operator({}, "propose", other, "--print", "--json");
        assert.equal(code, 0, error);
        assert.equal(await sent(), before);
        const { transaction } = data as { transaction: Record<string, string> };
        assert.equal(transaction["chain_id"], String(chain.chainId));
        const owner = await provider.getSigner(transaction["from"]);
        await (await owner.sendTransaction({ to: transaction["to"]!, data: transaction["data"]! })).wait();
        assert.deepEqual(
          (await listed("--pending")).map((one) => one[field]),
          [getAddress(subject), getAddress(other)],
        );
        await pass(DELAY_SECS);
        const admission = await operator({}, "admit", other, "--print");
        assert.match(admission.text, /sent by anybody:/);
        assert.doesNotMatch(admission.text, /^from/m);
      });
    });

    it("admit is anybody's once its time has come; remove takes it out at once", async () => {
      await pass(DELAY_SECS);
      const { code, data, error } = await operator(ANYBODY, "admit", subject, "--json");
      assert.equal(code, 0, error);
      assert.deepEqual(data, { [field]: getAddress(subject), standing: "admitted" });
      assert.equal(await isIn(subject), true);
      const standings = (await listed()).map((one) => `${String(one[field])} ${String(one["standing"])}`);
      // An executor replaces the one before.
      assert.deepEqual(standings, [
        `${getAddress(first)} ${noun === "assets" ? "admitted" : "removed"}`,
        `${getAddress(subject)} admitted`,
      ]);
      assert.match((await operator(OWNER, "propose", subject)).text, /is admitted already/);
      assert.match((await operator(ANYBODY, "admit", subject)).text, /is admitted already/);

      const removed = await operator(OWNER, "remove", subject, "--json");
      assert.equal(removed.data["standing"], "removed", removed.error);
      assert.equal(await isIn(subject), false);
    });

    it("explains itself", async () => {
      const { code, text } = await operator({}, "--help");
      assert.equal(code, 0);
      assert.match(text, /propose ADDRESS[\s\S]*admit ADDRESS[\s\S]*withdraw ADDRESS[\s\S]*list --pending/);
      assert.match(text, /OWNER_KEY[\s\S]*SENDER_KEY/);
    });
  });
}
