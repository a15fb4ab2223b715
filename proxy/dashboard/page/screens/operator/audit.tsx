/** What was changed in the whole service, by whom. */
import { Answered } from "../../parts/answered.tsx";
import { AuditList } from "../../parts/audit-list.tsx";
import { Screen } from "../../parts/screen.tsx";
import { ask } from "../../service/ask.ts";
import { useAnswer } from "../../service/use-answer.ts";

export default function Audit() {
  const first = useAnswer("operatorAudit", {});
  return (
    <Screen
      title="Audit log"
      known="Every change by developers, operators and commands. What users do is not a change, and is not in it."
    >
      <article>
        <Answered of={first}>
          {(page) => (
            <AuditList
              first={page}
              more={(cursor) => ask("operatorAudit", { query: { cursor } })}
              showsDeveloper
            />
          )}
        </Answered>
      </article>
    </Screen>
  );
}
