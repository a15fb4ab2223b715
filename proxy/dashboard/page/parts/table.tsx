/** A table on a desk; on a phone, each row is a list of its cells with their names. The first column names the row. */
import type { ComponentChildren } from "preact";

export interface Column<Row> {
  /** Empty for a column of buttons. */
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isEnd?: boolean;
}

export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string;
}) {
  return (
    <table class="rows">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ name, isEnd }, index) => (
            <th key={index} scope="col" class={isEnd === true ? "end" : ""}>
              {name === "" ? <span class="unseen">What can be done</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={keyOf(row, index)}>
            {columns.map(({ name, cell, isEnd }, place) =>
              place === 0 ? (
                <th key={place} scope="row" data-name={name}>
                  {cell(row)}
                </th>
              ) : (
                <td
                  key={place}
                  class={isEnd === true ? "end" : ""}
                  {...(name !== "" && { "data-name": name })}
                >
                  <div>{cell(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
