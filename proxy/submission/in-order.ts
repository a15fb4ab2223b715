/** A line of tickets in their order of acceptance, which any of them may leave and come back to. */
export class InOrder<T extends { readonly id: string; readonly sequence: number }> {
  readonly #line: T[] = [];

  all(): readonly T[] {
    return this.#line;
  }

  first(): T | undefined {
    return this.#line[0];
  }

  join(ticket: T): void {
    const last = this.#line.at(-1);
    if (last === undefined || last.sequence < ticket.sequence) this.#line.push(ticket);
    else this.#line.splice(this.#placeOf(ticket.sequence), 0, ticket);
  }

  /** Nothing happens when it is not there. */
  leave({ id, sequence }: Pick<T, "id" | "sequence">): void {
    const place = this.#placeOf(sequence);
    if (this.#line[place]?.id === id) this.#line.splice(place, 1);
  }

  /** Of the first that is not before this sequence. */
  #placeOf(sequence: number): number {
    let low = 0;
    let high = this.#line.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#line[middle]!.sequence < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
