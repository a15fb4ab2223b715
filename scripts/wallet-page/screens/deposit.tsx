/** Public money becomes private: the account's owner signs, this device proves, the service carries it. */
import { useEffect, useState } from "preact/hooks";
import { showAmount } from "../amounts.ts";
import type { PublicAccount } from "../browser-key.ts";
import { AmountInput, useAmount } from "../parts/money.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { Fault, TaskStatus, useTask } from "../parts/task.tsx";
import { useAccount } from "../parts/use.ts";

const GIFT = 100n;
/** A good part of an Ethereum library: loaded when somebody is here, beside the screen. */
const loading = import("../browser-key.ts");
loading.catch(() => undefined);

export function Deposit() {
  const { network, wallet } = useAccount();
  const [from, setFrom] = useState<PublicAccount>();
  const [publicly, setPublicly] = useState<bigint>();
  const [fault, setFault] = useState<unknown>();
  const amount = useAmount();
  const gift = useTask<undefined>();
  const task = useTask<bigint>();
  const { token } = amount;
  const hasProvider = "ethereum" in window;

  const look = (): void => {
    if (from === undefined) return;
    loading.then((keys) => keys.publicBalance(network, token, from.address)).then(setPublicly, setFault);
  };
  useEffect(look, [from, token]);

  const take = (kind: PublicAccount["kind"]): void => {
    setFault(undefined);
    loading
      .then((keys) => (kind === "throw-away key" ? keys.throwAwayKey() : keys.connect(network)))
      .then(setFrom, setFault);
  };

  const deposit = (): void => {
    const wanted = amount.read(publicly);
    if (wanted === undefined || from === undefined) return;
    task.run(async (handed) => {
      const { fees } = await wallet.deposit(wanted, from.signer, { ...handed, asset: token.address });
      amount.setText("");
      look();
      return wanted - fees;
    });
  };

  return (
    <Screen title="Deposit">
      <h2>From</h2>
      <div class="choices">
        {hasProvider && (
          <button type="button" class="outline" onClick={() => take("browser wallet")}>
            Connect your browser wallet
          </button>
        )}
        {network.testMoney && (
          <button type="button" class="outline" onClick={() => take("throw-away key")}>
            Use a throw-away key
          </button>
        )}
      </div>
      {fault !== undefined && <Fault error={fault} />}
      {from !== undefined && (
        <>
          <p>
            By its {from.kind} this account holds{" "}
            <span data-public>{publicly === undefined ? "…" : showAmount(publicly, token)}</span> in public:{" "}
            <code>{from.address}</code>
          </p>
          {network.testMoney && (
            <button
              type="button"
              class="secondary outline"
              disabled={gift.isRunning}
              onClick={() =>
                gift.run(async ({ signal }) => {
                  const units = GIFT * 10n ** BigInt(token.decimals);
                  const keys = await loading;
                  await keys.giveTestMoney(network, token, from.address, units, signal);
                  look();
                  return undefined;
                })
              }
            >
              Get {String(GIFT)} test {token.symbol}
            </button>
          )}
          <TaskStatus task={gift} />
          <form
            onSubmit={(event) => {
              event.preventDefault();
              deposit();
            }}
          >
            <AmountInput amount={amount} hint="The service’s fee is taken from it." />
            <button disabled={task.isRunning}>Deposit</button>
          </form>
        </>
      )}
      <TaskStatus
        task={task}
        done={(received) => (
          <p class="done">
            Done: {showAmount(received, token)} are private now. <a href="/">To your wallet</a>
          </p>
        )}
      />
      <Known
        rows={[
          [
            "Everybody",
            "The account and the amount are public, as of every deposit. What becomes of the money afterwards is not.",
          ],
          [
            "The service",
            "The account, the amount and your internet address, together. Use another network (Tor, say) where that matters.",
          ],
          ["Later recipients", "Nothing of this deposit."],
        ]}
      />
    </Screen>
  );
}
