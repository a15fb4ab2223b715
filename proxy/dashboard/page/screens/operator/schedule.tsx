/** What the service asks of payments, and what developers ask beside it. */
import { Answered, Empty } from "../../parts/answered.tsx";
import { Instructions } from "../../parts/instructions.tsx";
import { percent } from "../../parts/percent.ts";
import { Screen } from "../../parts/screen.tsx";
import { Table } from "../../parts/table.tsx";
import { useMe } from "../../service/me.ts";
import { assetOf, money } from "../../service/money.ts";
import { useAnswer } from "../../service/use-answer.ts";

export default function Schedule() {
  const me = useMe();
  const fees = useAnswer("operatorFees", {});
  return (
    <Screen
      title="Fee schedule"
      known="Fees are paid as shielded notes. That one came is known to its receiver, and from whom to nobody."
    >
      <Answered of={fees}>
        {(data) => (
          <>
            <article>
              <h2>Of the service</h2>
              <p class="muted">
                Paid to{" "}
                {data.service_address === null ? (
                  "nobody: no address is set"
                ) : (
                  <code>{data.service_address}</code>
                )}
              </p>
              {data.schedule.length === 0 ? (
                <Empty>The service asks nothing.</Empty>
              ) : (
                <Table
                  caption="Fees of the service"
                  rows={data.schedule}
                  keyOf={({ asset, operation }) => `${asset} ${operation}`}
                  columns={[
                    { name: "Operation", cell: ({ operation }) => operation },
                    { name: "Asset", cell: ({ asset }) => assetOf(me, asset).symbol },
                    {
                      name: "Flat",
                      cell: ({ asset, flat, usd }) => {
                        const now = flat === null ? undefined : money(flat, assetOf(me, asset));
                        return usd === null ? (now ?? "none") : `$ ${usd} (${now ?? "no price"} now)`;
                      },
                    },
                    { name: "Share", cell: ({ bps }) => percent(bps) },
                  ]}
                />
              )}
              <Instructions of={[data.change]} />
            </article>
            <article>
              <h2>Of developers</h2>
              {data.rules.length === 0 ? (
                <Empty>No developer takes a fee.</Empty>
              ) : (
                <Table
                  caption="Fees of developers"
                  rows={data.rules}
                  keyOf={({ developer_id, asset, operation }) => `${developer_id} ${asset} ${operation}`}
                  columns={[
                    { name: "Developer", cell: ({ developer_id }) => developer_id },
                    { name: "Operation", cell: ({ operation }) => operation },
                    { name: "Asset", cell: ({ asset }) => assetOf(me, asset).symbol },
                    { name: "Flat", cell: ({ asset, flat }) => money(flat, assetOf(me, asset)) },
                    { name: "Share", cell: ({ bps }) => percent(bps) },
                  ]}
                />
              )}
            </article>
          </>
        )}
      </Answered>
    </Screen>
  );
}
