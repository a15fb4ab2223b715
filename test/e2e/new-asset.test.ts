/**
 * proxy/README.md's way of a new asset into a running service, block by block as it stands: proposed and admitted at the
 * pool, told to the proxy, deposited, paid and withdrawn, and taken out again.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Contract, getAddress, parseEther, Wallet as Account } from "ethers";
import { deployContract } from "../../scripts/deploy/pool.ts";
import { giveCoins } from "../../scripts/stand-ins/local-chain.ts";
import { pinsOf } from "../../scripts/stack/stack-wallet.ts";
import { createWallet, memoryStorage, newSeed, type Wallet } from "../../shared/client/index.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";

const UNIT = 1_000_000n;
/** 0.055 dollars at 1.1 a token. */
const FLAT = 50_000n;
const PUBLIC = "0x00000000000000000000000000000000000000ce";
const TOKEN_ABI = [
  "function mint(address to, uint256 value) returns (bool)",
  "function balanceOf(address) view returns (uint256)",
];

describe("a new asset, step by step", function () {
  this.timeout(480_000);
  let on: TestStack;
  let folder: string;
  let token: string;
  let faucet: Contract;
  let environment: Readonly<Record<string, string>>;
  /** Of the proxy's next start. */
  let settings: Record<string, string> = {};
  /** Of the section, in order: propose, admit, look, remove; and the settings. */
  let shell: readonly string[];
  let told: string;
  let wallet: Wallet;

  before(async () => {
    on = await startTestStack({
      eachProxy: (_number, given) => Promise.resolve((settings = { ...given })),
    });
    folder = await mkdtemp(path.join(tmpdir(), "cloister-asset-"));
    const deployer = await on.chain.getSigner(0);
    token = getAddress((await deployContract(deployer, "TestToken", ["Euro Coin", "EURC", 6])).address);
    faucet = new Contract(token, TOKEN_ABI, deployer);
    const owner = await on.local.folder.secrets.text("owner.key");
    const anybody = Account.createRandom();
    await giveCoins(on.chain, anybody.address, parseEther("1"));
    environment = {
      ...{ TOKEN: token, USDC: on.entry.usdc, POOL: on.entry.pool, RPC: on.entry.chain_rpc },
      ...{ SERVICE: on.entry.base_url, API_KEY: on.stack.file.api_key },
      ...{ OWNER_KEY: owner, SENDER_KEY: anybody.privateKey },
    };
    const npm = path.join(folder, "npm");
    const operator = 'shift 3; exec node --import tsx scripts/operator/main.ts "$@"';
    await writeFile(npm, `#!/bin/sh\n[ "$1 $2 $3" = "run operator --" ] || exit 91\n${operator}\n`);
    await chmod(npm, 0o755);

    const readme = await readFile(path.join(PROJECT_ROOT, "proxy", "README.md"), "utf8");
    const [, section = ""] = /^## One new asset, step by step\n(.*?)^## /ms.exec(readme) ?? [];
    const blocks = [...section.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
    assert.deepEqual(
      blocks.map(([, language]) => language),
      ["sh", "sh", "env", "sh", "sh"],
    );
    shell = blocks.filter(([, language]) => language === "sh").map(([, , text = ""]) => text);
    told = blocks.find(([, language]) => language === "env")?.[2] ?? "";
  });
  after(async () => {
    await (on as TestStack | undefined)?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function run(block: number): Promise<string> {
    const env = { ...process.env, ...environment, PATH: `${folder}:${process.env["PATH"] ?? ""}` };
    const options = { cwd: PROJECT_ROOT, env };
    return (await promisify(execFile)("bash", ["-euo", "pipefail", "-c", shell[block] ?? "exit 92"], options))
      .stdout;
  }

  /** A public account with gas and so much of the token. */
  async function holder(amount: bigint): Promise<Account> {
    const account = new Account(Account.createRandom().privateKey, on.chain);
    await giveCoins(on.chain, account.address, parseEther("1"));
    await (
      await (faucet["mint"] as (to: string, value: bigint) => Promise<{ wait(): Promise<unknown> }>)(
        account.address,
        amount,
      )
    ).wait();
    return account;
  }

  async function openWallet(): Promise<Wallet> {
    const pins = pinsOf(on.entry);
    const ceiling = { flat: FLAT, bps: 10 };
    return createWallet({
      ...{ key: { seed: newSeed() }, client: on.client, prover: await on.prover(), storage: memoryStorage() },
      pins: {
        ...pins,
        assets: [...pins.assets, token],
        feeCeilings: {
          ...pins.feeCeilings,
          [token]: { deposit: ceiling, transfer: ceiling, withdraw: ceiling },
        },
      },
    });
  }

  it("is proposed, seen by everybody, and admitted by anybody after the delay", async () => {
    const proposed = await run(0);
    assert.match(proposed, new RegExp(`${token}.*proposed`));
    await on.passTime(2);
    const admitted = await run(1);
    assert.match(admitted, new RegExp(`${token}\\tadmitted`));
  });

  it("is not taken by the service before it is told, then listed with its fees", async () => {
    wallet = await openWallet();
    await assert.rejects(
      wallet.depositPlain(10n * UNIT, await holder(10n * UNIT), { asset: token }),
      ({ code }: { code: string }) => code === "PIN_MISMATCH",
    );
    for (const line of told
      .replaceAll('"TOKEN"', `"${token}"`)
      .replaceAll('"USDC"', `"${on.entry.usdc}"`)
      .trim()
      .split("\n")) {
      const at = line.indexOf("=");
      settings[line.slice(0, at)] = line.slice(at + 1);
    }
    await on.local.proxy().stop();
    await on.local.restartProxy();
    const shown = await run(2);
    assert.match(shown, /"symbol":"EURC","decimals":6/);
    assert.match(shown, /"operation":"withdraw","service":\{"flat":"50000","bps":10,/);
  });

  it("is deposited, paid and withdrawn, to the last unit; less than the minimum is refused", async () => {
    await assert.rejects(
      wallet.depositPlain(UNIT - 1n, await holder(UNIT), { asset: token }),
      ({ code }: { code: string }) => code === "AMOUNT_TOO_SMALL",
    );
    await wallet.depositPlain(10n * UNIT, await holder(10n * UNIT), { asset: token });
    const payee = await openWallet();
    await wallet.pay(payee.address, 4n * UNIT, { asset: token });
    await payee.sync();
    assert.equal(payee.balance(token).total, 4n * UNIT);
    assert.equal(wallet.balance(token).total, 6n * UNIT - 2n * FLAT);
    await payee.withdraw(PUBLIC, 3n * UNIT, { asset: token });
    assert.equal(payee.balance(token).total, UNIT - FLAT - 3_000n);
    const balanceOf = faucet["balanceOf"] as (account: string) => Promise<bigint>;
    assert.equal(await balanceOf(PUBLIC), 3n * UNIT);
  });

  it("is taken out: no deposit any more, and what is in the pool leaves", async () => {
    assert.match(await run(3), new RegExp(token));
    await assert.rejects(
      wallet.depositPlain(10n * UNIT, await holder(10n * UNIT), { asset: token }),
      ({ code }: { code: string }) => code === "ASSET_UNSUPPORTED",
    );
    const left = wallet.balance(token).total;
    await wallet.withdraw(PUBLIC, 5n * UNIT, { asset: token });
    assert.equal(wallet.balance(token).total, left - 5n * UNIT - FLAT - 5_000n);
  });
});
