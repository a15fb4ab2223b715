/** Of each chain, of the pool and of the wallets: nothing is there twice, and nothing out of nothing. */
import { ISSUER, type Observations } from "../observations.ts";
import { amountsOf, idsOf, isNobody, sum, type Say } from "./reading.ts";

/** Each once, and of a burn that stands or that the attesters had vouched for before its block was taken back. */
export function checkMints(
  { chains: { home, other, exchange, alt }, orphaned }: Observations,
  say: Say,
): void {
  for (const [name, here, burns] of [
    ["home", home, [...other.burns, ...exchange.burns, ...alt.burns]],
    ["other", other, home.burns],
    ["exchange", exchange, home.burns],
  ] as const) {
    const burned = new Map(burns.map((burn) => [burn.nonce, burn]));
    const nonces = new Set<string>();
    for (const mint of here.mints) {
      const { nonce, recipient, amount, fee, tx } = mint;
      if (nonces.has(nonce)) say("MINTED_TWICE", `${name}: ${nonce}`);
      nonces.add(nonce);
      if (!burned.has(nonce) && !orphaned.has(nonce)) say("MINTED_UNBACKED", `${name}: ${nonce}`);
      const came = here.transfers.filter(
        (one) => one.tx === tx && one.to === recipient && isNobody(one.from),
      );
      if (!came.some((one) => one.amount === amount - fee))
        say("BURN_WRONG", `${name}: ${String(amount)} less ${String(fee)} did not come to ${recipient}`);
    }
  }
}

/** Every note is of one sweep or return, or of its fees. */
export function checkNotes({ asked, chains: { home }, wallet, serviceTotal }: Observations, say: Say): void {
  const ours = new Set(asked.map(({ npk }) => npk));
  const told = new Set(home.acts.flatMap(({ leafIndex }) => leafIndex ?? []));
  const notes = home.credits.filter(({ npk }) => ours.has(npk));
  for (const { leafIndex, value } of notes)
    if (!told.has(leafIndex)) say("CREDITED_UNASKED", `leaf ${String(leafIndex)}: ${String(value)}`);
  const indexes = home.credits.map(({ leafIndex }) => leafIndex);
  if (new Set(indexes).size !== indexes.length) say("CREDITED_UNASKED", "two notes are one leaf");
  const fees = sum(home.acts.map((act) => act.fees));
  const kept = sum(home.credits.filter(({ npk }) => !ours.has(npk)).map(({ value }) => value));
  if (fees !== kept) say("FEE_WRONG", `${fees} were taken, ${kept} are notes of somebody's`);
  if (serviceTotal !== undefined && serviceTotal !== kept)
    say("FEE_WRONG", `the service's wallet finds ${serviceTotal} of ${kept}`);
  for (const one of asked) {
    const [id] = idsOf(one);
    const should = sum(notes.filter(({ npk }) => npk === one.npk).map(({ value }) => value));
    // For an account that the exchange does not know there is no request to be found.
    if (id === undefined && should === 0n) continue;
    const has = id === undefined ? undefined : wallet.found.get(id);
    if (has !== should) say("WALLET_WRONG", `${one.name}: ${String(has)} instead of ${should}`);
  }
  const should = sum(notes.map(({ value }) => value));
  if (wallet.total !== should) say("WALLET_WRONG", `the wallet finds ${wallet.total} instead of ${should}`);
}

export function checkTotals({ asked, chains, before, after, pool }: Observations, say: Say): void {
  for (const name of ["home", "other", "exchange", "alt"] as const) {
    const { burns, mints, transfers } = chains[name];
    const issued = sum(amountsOf(transfers.filter(({ from }) => from === ISSUER)));
    const should = before[name] - sum(amountsOf(burns)) + sum(amountsOf(mints)) + issued;
    const { supply, vaults } = after[name];
    if (supply !== should) say("SUPPLY_WRONG", `${name}: ${supply} instead of ${should}`);
    for (const one of asked) {
      const source = one.direction === "in" && one.source.on === name ? one.source.address : undefined;
      const address = name === "home" ? one.home.address : source;
      if (address === undefined) continue;
      const left =
        sum(amountsOf(transfers.filter(({ to }) => to === address))) -
        sum(amountsOf(transfers.filter(({ from }) => from === address)));
      if (vaults.get(address) !== left)
        say("BALANCE_WRONG", `${one.name} on ${name}: ${String(vaults.get(address))} instead of ${left}`);
    }
  }
  const credited = sum(chains.home.credits.map(({ value }) => value));
  if (pool.after - pool.before !== credited)
    say("BALANCE_WRONG", `the pool has ${pool.after - pool.before} more, its notes are ${credited}`);
}
