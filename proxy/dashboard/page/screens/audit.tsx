/** What was changed of this developer, by whom. */
import { Answered } from "../parts/answered.tsx";
import { AuditList } from "../parts/audit-list.tsx";
import { Screen } from "../parts/screen.tsx";
import { ask } from "../service/ask.ts";
import { useAnswer } from "../service/use-answer.ts";

export default function Audit() {
  const first = useAnswer("audit", {});
  return (
    <Screen
      title="Audit log"
      known="Changes by your people and by the operator. Nothing that a user does is in this log; a user's id is, where their sessions were revoked."
    >
      <article>
        <Answered of={first}>
          {(page) => (
            <AuditList
              first={page}
              more={(cursor) => ask("audit", { query: { cursor } })}
              showsDeveloper={false}
            />
          )}
        </Answered>
      </article>
    </Screen>
  );
}
