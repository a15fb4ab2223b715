/**
 * Answers to `count` questions in order, with at most `width` of them asked at a time: where an answer takes half a block's
 * time, one question after another never reaches the head. Throws the first failure in that order.
 */
export async function* sideBySide<Answer>(
  count: number,
  width: number,
  ask: (place: number) => Promise<Answer>,
): AsyncGenerator<Answer> {
  const asked: Promise<Answer>[] = [];
  for (let place = 0; place < count; place++) {
    while (asked.length < Math.min(width, count - place)) {
      const next = ask(place + asked.length);
      // The caller may end at an earlier one: a later failure must not end the process as an unhandled rejection.
      next.catch(() => undefined);
      asked.push(next);
    }
    yield await asked.shift()!;
  }
}
