/** Swaps inside the pool: an offer with its route and floor is shown first, and nothing worse is ever executed. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { SwapOffer } from "../../../shared/client/index.ts";
import { showAmount } from "../amounts.ts";
import { tokenOf } from "../config.ts";
import { Choice } from "../parts/field.tsx";
import { Known } from "../parts/known.tsx";
import { AmountInput, useAmount, useSpendable } from "../parts/money.tsx";
import { Screen } from "../parts/screen.tsx";
import { TaskStatus, useTask } from "../parts/task.tsx";
import { useAccount } from "../parts/use.ts";

const TOLERANCES = [
  ["50", "0.5 %"],
  ["100", "1 %"],
  ["300", "3 %"],
] as const;

export function Swap() {
  const { network, wallet } = useAccount();
  const amount = useAmount();
  const { token } = amount;
  const others = network.tokens.filter(({ address }) => address !== token.address);
  const [wantedToken, setWanted] = useState(others[0]?.address ?? "");
  const out = others.find(({ address }) => address === wantedToken) ?? others[0];
  const [tolerance, setTolerance] = useState<string>(TOLERANCES[1][0]);
  const asking = useTask<SwapOffer>();
  const task = useTask<string>();
  const spendable = useSpendable(token);
  const offer = asking.result;
  // An offer is for what was asked, and for nothing that was typed since.
  useEffect(() => asking.forget(), [amount.text, token, wantedToken, tolerance]);

  const ask = (): void => {
    const wanted = amount.read(spendable);
    if (wanted === undefined || out === undefined) return;
    const request = { tokenIn: token.address, tokenOut: out.address, amount: wanted };
    asking.run(({ signal }) => wallet.quote({ ...request, toleranceBps: Number(tolerance) }, { signal }));
  };
  const accept = (): void => {
    if (offer === undefined) return;
    const bought = tokenOf(network, offer.tokenOut);
    task.run(async (handed) => {
      const { received } = await wallet.swap(offer, { ...handed, consolidate: true });
      asking.forget();
      return received === undefined ? "Sent." : `Swapped: you have bought ${showAmount(received, bought)}.`;
    });
  };

  if (out === undefined) return <Screen title="Swap">This network has one token.</Screen>;
  return (
    <Screen title="Swap">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <AmountInput
          amount={amount}
          label="You give"
          hint={`You can use ${showAmount(spendable, token)}; fees are in it.`}
        />
        <Choice
          {...{ label: "You get", name: "out", value: out.address, onValue: setWanted }}
          options={others.map(({ address, symbol }) => [address, symbol])}
        />
        <Choice
          {...{ label: "The price may move by", name: "tolerance", value: tolerance }}
          onValue={setTolerance}
          options={TOLERANCES}
        />
        <button class="outline" disabled={asking.isRunning || task.isRunning}>
          Ask for an offer
        </button>
      </form>
      <TaskStatus task={asking} />
      {offer !== undefined && (
        <Offer offer={offer}>
          <button type="button" disabled={task.isRunning} onClick={accept}>
            Swap
          </button>
        </Offer>
      )}
      <TaskStatus task={task} done={(text) => <p class="done">{text}</p>} />
      <Known
        rows={[
          ["Everybody", "That the pool swapped these amounts. Not for whom."],
          [
            "The service",
            "Amount, tokens and your internet address, together. Its price is its word; the floor is what protects you.",
          ],
          ["The venue", "The pool as the trader, not you."],
        ]}
      />
    </Screen>
  );
}

function Offer({ offer, children }: { offer: SwapOffer; children: ComponentChildren }) {
  const { network } = useAccount();
  const [given, bought] = [tokenOf(network, offer.tokenIn), tokenOf(network, offer.tokenOut)];
  const symbol = (address: string): string => tokenOf(network, address).symbol;
  const hops = offer.route.map(
    ({ tokenIn, tokenOut, feeBps }) =>
      `${symbol(tokenIn)} → ${symbol(tokenOut)} (pool fee ${String(feeBps / 100)} %)`,
  );
  return (
    <article class="offer" aria-label="The offer">
      <dl>
        <dt>About</dt>
        <dd>{showAmount(offer.amountOut, bought)}</dd>
        <dt>Floor</dt>
        <dd data-floor>
          {showAmount(offer.floor, bought)}: with less, nothing happens and you keep what you have.
        </dd>
        <dt>Route</dt>
        <dd data-route>{hops.join(", then ")}</dd>
        <dt>Fees</dt>
        <dd>{showAmount(offer.fees, given)}, in what you give</dd>
        <dt>Price impact</dt>
        <dd>{offer.priceImpactBps / 100} %</dd>
      </dl>
      {children}
    </article>
  );
}
