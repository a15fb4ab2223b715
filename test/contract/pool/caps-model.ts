// What caps and claims have to be, written from the specification alone (shared/contracts/README.md and the interfaces):
// naive, without storage layout, clock or chain. Tests play a pool beside it, see caps-play.ts.

// Everything below counts in the asset's smallest units, times in Unix seconds; levels in ticks.

interface Claim {
  readonly recipient: string;
  /** Not paid. */
  left: bigint;
  /** Of that, not allotted, in parts of 2^PARTS. */
  weight: bigint;
}

interface Purse {
  readonly minimum: bigint;
  balance: bigint;
  cap: bigint;
  fixedAt: number;
  /** Of the buckets, at `levelsAt`; the first below zero while it is a credit. */
  net: bigint;
  proved: bigint;
  levelsAt: number;
  readonly claims: Claim[];
  /** Of what claims are owed, what is not allotted. */
  waiting: bigint;
}

/** The way a payment is taken: by as many signers as the pool asks for, or by its proof alone. */
export type Way = "attested" | "proved";

/** An error's name with its numbers, as the pool spells them. */
export interface Refusal {
  readonly error: string;
  readonly args: readonly (bigint | string)[];
}

export type Paid = "paid" | "claimed" | Refusal;

const DAY = 86_400;
const [HOURS_OF_SILENCE, PAUSE_DAYS, REST_DAYS] = [6, 3, 7];
export const FOR_EVER = 2n ** 40n - 1n;
const SECOND = 2n ** 40n;
/** Ticks that a full bucket takes to drain. */
const FULL = 12n * 3_600n * SECOND;
const PARTS = 200n;

export class CapsModel {
  now: number;
  attestedFrom = 0n;
  isUnsound = false;
  #heardAt: number;
  #guardianReadyAt = 0;
  readonly #purses = new Map<string, Purse>();
  readonly #balances = new Map<string, bigint>();
  readonly #refused = new Set<string>();

  readonly #threshold: number;

  constructor(assets: readonly string[], minimum: bigint, now: number, threshold: number) {
    this.now = now;
    this.#threshold = threshold;
    this.#heardAt = now;
    for (const asset of assets) {
      const empty = { cap: minimum, fixedAt: -DAY, net: 0n, proved: 0n, levelsAt: 0 };
      this.#purses.set(asset, { minimum, balance: 0n, ...empty, claims: [], waiting: 0n });
    }
  }

  // -------------------------------------------------------------- money

  deposit(asset: string, amount: bigint, isProved: boolean): "paid" | Refusal {
    if (this.isUnsound) return refusal("DepositsStopped");
    if (!isProved && !this.#isOpen()) return this.#shut();
    this.#takeIn(asset, amount);
    return "paid";
  }

  withdraw(asset: string, amount: bigint, way: Way, recipient: string): Paid {
    const fault = this.#leavingFault(asset, amount, way);
    if (fault !== undefined && (way !== "proved" || fault.error !== "CapReached")) return fault;
    if (fault !== undefined) {
      const { balance, claims } = this.#purse(asset);
      if (amount > balance) return refusal("ClaimTooLarge", balance);
      this.#allot(asset).waiting += amount;
      claims.push({ recipient, left: amount, weight: amount << PARTS });
      return "claimed";
    }
    if (this.#isRefused(asset, recipient) || amount > this.held(asset)) return refusal("TransferRefused");
    this.#letOut(asset, amount, way);
    this.#credit(asset, recipient, amount);
    return "paid";
  }

  /** A swap has no line to wait in: it leaves now or not at all. */
  swap(given: string, amount: bigint, way: Way, bought: string, payout: bigint): "paid" | Refusal {
    const fault = this.#leavingFault(given, amount, way);
    if (fault !== undefined) return fault;
    this.#letOut(given, amount, way);
    this.#takeIn(bought, payout);
    return "paid";
  }

  /** Money that nobody deposited: a gift, or somebody who would like a larger cap. */
  donate(asset: string, amount: bigint): void {
    this.#purse(asset).balance += amount;
  }

  #leavingFault(asset: string, amount: bigint, way: Way): Refusal | undefined {
    if (way !== "proved" && !this.#isOpen()) return this.#shut();
    const room = this.roomFor(asset, way);
    if (way === "proved") {
      const part = this.#allotment(asset);
      const isFree = part === this.#purse(asset).waiting && amount <= this.#roomBehind(asset, part);
      return isFree ? undefined : refusal("CapReached", asset, 0n, 0n);
    }
    return amount <= room ? undefined : refusal("CapReached", asset, room, this.#fitsFrom(asset, amount));
  }

  #fitsFrom(asset: string, amount: bigint): bigint {
    const { cap, net } = this.#now(this.#purse(asset));
    const size = quarter(cap);
    const above = ticks(amount + this.#provedSize(cap), size) + 1n - this.#most();
    return above > 0n ? 0n : BigInt(this.now) + atLeastZero(above + net) / SECOND + 1n;
  }

  #letOut(asset: string, amount: bigint, way: Way): void {
    const purse = way === "proved" ? this.#allot(asset) : this.#open(this.#purse(asset));
    this.#fill(purse, amount, way);
    purse.balance -= amount;
  }

  #fill(purse: Pick<Purse, "cap" | "net" | "proved">, amount: bigint, way: Way): void {
    purse.net += ticks(amount, quarter(purse.cap));
    if (way === "attested") return;
    purse.proved += ticks(amount, this.#provedSize(purse.cap));
    if (purse.proved > FULL) purse.proved = FULL;
  }

  #takeIn(asset: string, amount: bigint): void {
    const purse = this.#open(this.#purse(asset));
    purse.net -= ticks(amount, quarter(purse.cap));
    if (purse.net < -FULL) purse.net = -FULL;
    purse.balance += amount;
  }

  // -------------------------------------------------------------- claims

  /** What all claims get now: as much as there is room for, and as is there and not allotted yet. */
  #allotment(asset: string): bigint {
    const { waiting } = this.#purse(asset);
    return [this.roomFor(asset, "proved"), waiting, this.free(asset)].reduce((a, b) => (a < b ? a : b));
  }

  /** What the pool holds and has not allotted. */
  free(asset: string): bigint {
    const { balance, waiting } = this.#purse(asset);
    return atLeastZero(balance - (this.owed(asset) - waiting));
  }

  #roomBehind(asset: string, part: bigint): bigint {
    const levels = { ...this.#now(this.#purse(asset)) };
    if (part > 0n) this.#fill(levels, part, "proved");
    return this.#roomsAt(levels)[1];
  }

  /** Whatever is proved begins with it. */
  #allot(asset: string): Purse {
    const part = this.#allotment(asset);
    const purse = this.#open(this.#purse(asset));
    if (part === 0n) return purse;
    this.#fill(purse, part, "proved");
    for (const claim of purse.claims)
      claim.weight = part === purse.waiting ? 0n : (claim.weight * (purse.waiting - part)) / purse.waiting;
    purse.waiting -= part;
    return purse;
  }

  /** Of a claim, what it may have now, as a fraction says it; undefined for one that is paid or was never made. */
  due(asset: string, id: number): bigint | undefined {
    const { waiting, claims } = this.#purse(asset);
    const claim = claims[id];
    if (claim === undefined || claim.left === 0n) return undefined;
    const rest = waiting - this.#allotment(asset);
    const weight = rest === 0n ? 0n : (claim.weight * rest) / waiting;
    return claim.left - (weight < rest << PARTS ? weight >> PARTS : rest);
  }

  /** @param said what the pool paid, which may be a little less than is due, or its error */
  payClaim(asset: string, id: number, said: bigint | string): "paid" | Refusal {
    const due = this.due(asset, id);
    if (due === undefined) return refusal("ClaimUnknown", BigInt(id));
    if (due === 0n || (due <= SLACK && said === "CapReached")) return refusal("CapReached", asset, 0n, 0n);
    const paid = typeof said === "string" ? 0n : said;
    const purse = this.#purse(asset);
    const claim = purse.claims[id]!;
    if (this.#isRefused(asset, claim.recipient)) return refusal("TransferRefused");
    if (!isNear(paid, due)) return refusal("another amount", paid, due);
    this.#allot(asset);
    purse.balance -= paid;
    this.#credit(asset, claim.recipient, paid);
    claim.left -= paid;
    claim.weight = claim.left << PARTS;
    return "paid";
  }

  owed(asset: string): bigint {
    return this.#purse(asset).claims.reduce((sum, { left }) => sum + left, 0n);
  }

  /** Claims made, what they are owed, and of that what is not allotted. */
  claimTotals(asset: string): [bigint, bigint, bigint] {
    const { claims, waiting } = this.#purse(asset);
    return [BigInt(claims.length), this.owed(asset), waiting - this.#allotment(asset)];
  }

  // -------------------------------------------------------------- who may stop what

  pause(): "paid" | Refusal {
    if (this.now < this.#guardianReadyAt) return refusal("GuardianResting", BigInt(this.#guardianReadyAt));
    this.#guardianReadyAt = this.now + (PAUSE_DAYS + REST_DAYS) * DAY;
    this.close(BigInt(this.now + PAUSE_DAYS * DAY));
    return "paid";
  }

  /** Signers were refuted, or false statements can be proved. */
  close(until: bigint): void {
    if (until > this.attestedFrom) this.attestedFrom = until;
  }

  reportUnsound(): void {
    this.isUnsound = true;
    this.close(FOR_EVER);
  }

  attestedRoot(): "paid" | Refusal {
    if (!this.#isOpen()) return this.#shut();
    this.#heardAt = this.now;
    return "paid";
  }

  /** The token's issuer about one account. */
  refuse(asset: string, account: string, isRefused: boolean): void {
    const name = asset + account;
    if (isRefused) this.#refused.add(name);
    else this.#refused.delete(name);
  }

  // -------------------------------------------------------------- reading

  roomFor(asset: string, way: Way): bigint {
    return this.room(asset)[way === "proved" ? 1 : 0];
  }

  /** What may leave now, attested and by proofs. */
  room(asset: string): [bigint, bigint] {
    return this.#roomsAt(this.#now(this.#purse(asset)));
  }

  #roomsAt({ cap, net, proved }: Pick<Purse, "cap" | "net" | "proved">): [bigint, bigint] {
    const [size, provedSize] = [quarter(cap), this.#provedSize(cap)];
    const own = left(provedSize, FULL - proved);
    const isGone = !this.isUnsound && (!this.#isOpen() || this.now >= this.silentFrom);
    const all = isGone ? left(size, FULL - atLeastZero(net)) : 0n;
    return [atLeastZero(left(size, this.#most() - net) - own), all > own ? all : own];
  }

  #provedSize(cap: bigint): bigint {
    const size = quarter(quarter(cap));
    return this.isUnsound ? quarter(size) : size;
  }

  /** Of the first bucket, in ticks: with both kinds among the signers, twice its size. */
  #most(): bigint {
    return this.#threshold < 2 ? FULL : 2n * FULL;
  }

  get silentFrom(): number {
    return Math.max(this.#heardAt, Number(this.attestedFrom)) + HOURS_OF_SILENCE * 3_600;
  }

  /** From then on a movement fixes another. */
  capEnds(asset: string): number {
    return this.#purse(asset).fixedAt + DAY;
  }

  held(asset: string): bigint {
    return this.#purse(asset).balance;
  }

  balanceOf(asset: string, account: string): bigint {
    return this.#balances.get(asset + account) ?? 0n;
  }

  claims(asset: string): readonly Readonly<Claim>[] {
    return this.#purse(asset).claims;
  }

  #isOpen(): boolean {
    return BigInt(this.now) >= this.attestedFrom;
  }

  #shut(): Refusal {
    return refusal("AttestedPathShut", this.attestedFrom);
  }

  #isRefused(asset: string, account: string): boolean {
    return this.#refused.has(asset + account);
  }

  #credit(asset: string, account: string, amount: bigint): void {
    this.#balances.set(asset + account, this.balanceOf(asset, account) + amount);
  }

  #purse(asset: string): Purse {
    const purse = this.#purses.get(asset);
    if (purse === undefined) throw new Error("an asset that the pool does not take");
    return purse;
  }

  /** With the cap that a movement would fix now, and what has drained. */
  #now(purse: Purse): Pick<Purse, "cap" | "fixedAt" | "net" | "proved" | "levelsAt"> {
    const drained = BigInt(this.now - purse.levelsAt) * SECOND;
    const net = purse.net < 0n ? -atLeastZero(-purse.net - drained) : atLeastZero(purse.net - drained);
    const levels = { net, proved: atLeastZero(purse.proved - drained), levelsAt: this.now };
    if (this.now < purse.fixedAt + DAY) return { cap: purse.cap, fixedAt: purse.fixedAt, ...levels };
    const tenth = purse.balance / 10n;
    const cap = tenth > purse.minimum ? tenth : purse.minimum;
    return { cap, fixedAt: this.now, ...levels };
  }

  #open(purse: Purse): Purse {
    return Object.assign(purse, this.#now(purse));
  }
}

/** Units that roundings may keep from a claim until the end. */
const SLACK = 2n;

/** Whether that is a claim's due, or by a rounding less. */
export function isNear(said: bigint, due: bigint): boolean {
  return said <= due && said + SLACK >= due;
}

/** Rounded up, so that the last unit can leave. */
export function quarter(of: bigint): bigint {
  return (of + 3n) / 4n;
}

function ticks(amount: bigint, size: bigint): bigint {
  return amount >= 4n * size ? 4n * FULL : (amount * FULL) / size;
}

/** Of a bucket of that size, with so many ticks to full. */
function left(size: bigint, toFull: bigint): bigint {
  return (atLeastZero(toFull) * size) / FULL;
}

function refusal(error: string, ...args: readonly (bigint | string)[]): Refusal {
  return { error, args };
}

function atLeastZero(amount: bigint): bigint {
  return amount < 0n ? 0n : amount;
}
