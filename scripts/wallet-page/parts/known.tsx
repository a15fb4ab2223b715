/** Who learns what by what a screen does. On every screen that sends something: private money is about this. */
import type { ComponentChildren } from "preact";

export function Known({ rows }: { rows: readonly (readonly [who: string, what: ComponentChildren])[] }) {
  return (
    <aside class="known" aria-label="Who learns what">
      <h2>Who learns what</h2>
      <dl>
        {rows.map(([who, what]) => (
          <div key={who}>
            <dt>{who}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
