/** What its reader signs or runs elsewhere. This page holds no key, and sends nothing of it. */
import type { Instruction } from "../../contract/values.ts";
import { Copy } from "./copy.tsx";

export function Instructions({ of: list }: { readonly of: readonly Instruction[] }) {
  return (
    <>
      {list.map((instruction) => (
        <details key={instruction.title}>
          <summary>{instruction.title}</summary>
          <p>{instruction.effect}</p>
          {instruction.command !== null && (
            <>
              <p class="muted">Run it in the project's folder, on a machine that may:</p>
              <Copy text={instruction.command} label="Copy the command" />
            </>
          )}
          {instruction.transaction !== null && <Transaction of={instruction.transaction} />}
        </details>
      ))}
    </>
  );
}

function Transaction({ of: transaction }: { readonly of: NonNullable<Instruction["transaction"]> }) {
  return (
    <>
      <p class="muted">A transaction for the owner's wallet, which shows, signs and sends it:</p>
      <Copy text={JSON.stringify(transaction, undefined, 2)} label="Copy the transaction" />
    </>
  );
}
