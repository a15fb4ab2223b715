/** What there is, and what can be done with it. */
import { showAmount, showUnits } from "../amounts.ts";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { useOpened } from "../parts/use.ts";
import { ActivityList } from "./activity-list.tsx";

const RECENT = 4;

export function Home() {
  const { account, settings } = useOpened();
  const { network, wallet } = account;
  const held = network.tokens.map((token) => ({ token, balance: wallet.balance(token.address) }));
  const shown = held.filter(({ balance }, index) => index === 0 || balance.total > 0n);
  const hasMoney = held.some(({ balance }) => balance.total > 0n);
  return (
    <Screen title="Your wallet">
      {!settings.isBackedUp && (
        <article class="reminder">
          <p>
            <strong>Write your phrase down.</strong>{" "}
            {hasMoney
              ? "If this browser loses its data, the money in this wallet is lost with it."
              : "Do it before money is in this wallet: nobody else can restore it."}
          </p>
          <a href="/settings#phrase" role="button" class="outline">
            Show the phrase
          </a>
        </article>
      )}
      <ul class="balances">
        {shown.map(({ token, balance }) => (
          <li key={token.address} data-token={token.symbol}>
            <p class="figure">
              <span data-balance={token.symbol}>{showUnits(balance.spendable, token)}</span>{" "}
              <small>{token.symbol}</small>
            </p>
            {balance.inFlight > 0n && (
              <p class="aside">
                {showAmount(balance.inFlight, token)} in payments under way; change comes back.
              </p>
            )}
            {balance.pending > 0n && (
              <p class="aside">{showAmount(balance.pending, token)} received, soon to be used.</p>
            )}
            {account.standing.state === "live" && balance.unverified > 0n && (
              <p class="aside">
                {showAmount(balance.unverified, token)} only by the service’s word; the chain has not
                confirmed it.
              </p>
            )}
          </li>
        ))}
      </ul>
      <nav aria-label="What to do" class="tiles">
        <a href="/pay">Pay</a>
        <a href="/request">Request</a>
        <a href="/deposit">Deposit</a>
        <a href="/withdraw">Withdraw</a>
        {network.swaps && <a href="/swap">Swap</a>}
        {network.pins.bridges !== undefined && <a href="/bridge">Bridge</a>}
      </nav>
      <h2>Last</h2>
      <ActivityList most={RECENT} />
      <Known
        rows={[
          ["You", "The balance is reckoned in this browser, from notes that only your key finds."],
          ["The service", "Sees no balance, no sender, no recipient and no private amount."],
          ["The chain", "Sees that some note was spent and some was made."],
        ]}
      />
    </Screen>
  );
}
