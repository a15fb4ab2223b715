/** Fee rules by asset and operation, with what a user pays under them. */
import type { FeeRulesView, FeeRuleView } from "../../contract/fees.ts";
import { Answered, Empty } from "../parts/answered.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { percent } from "../parts/percent.ts";
import { Screen } from "../parts/screen.tsx";
import { Table } from "../parts/table.tsx";
import { Notice, Short } from "../parts/words.tsx";
import { ask } from "../service/ask.ts";
import { useMe } from "../service/me.ts";
import { assetOf, money } from "../service/money.ts";
import { useAnswer } from "../service/use-answer.ts";
import { FeeForm } from "./fee-form.tsx";

type Replace = (data: FeeRulesView) => void;

export default function Fees() {
  const me = useMe();
  const fees = useAnswer("fees", {});
  return (
    <Screen
      title="Fee rules"
      known="A fee is paid as a shielded note to your sink. The service checks it where it sees the amount; of a transfer it does not, and your users' client library applies the rule."
    >
      <Answered of={fees}>
        {(data) => (
          <>
            <article>
              <h2>Your rules</h2>
              {data.rules.length === 0 ? (
                <Empty>You take no fee yet. Set a rule below; it holds for payments from then on.</Empty>
              ) : (
                <Rules rules={data.rules} replace={fees.replace} />
              )}
            </article>
            {me.instance.assets.length === 0 ? (
              <Notice tone="bad">
                This service has no asset yet, so there is nothing to set a rule for.
              </Notice>
            ) : (
              <article>
                <h2>Set a rule</h2>
                <FeeForm fees={data} assets={me.instance.assets} replace={fees.replace} />
              </article>
            )}
            <Service fees={data} />
          </>
        )}
      </Answered>
    </Screen>
  );
}

function Rules({ rules, replace }: { readonly rules: readonly FeeRuleView[]; readonly replace: Replace }) {
  const me = useMe();
  return (
    <Table
      caption="Your fee rules"
      rows={rules}
      keyOf={({ asset, operation }) => `${asset} ${operation}`}
      columns={[
        { name: "Operation", cell: ({ operation }) => operation },
        { name: "Asset", cell: ({ asset }) => assetOf(me, asset).symbol },
        { name: "Flat", cell: ({ asset, flat }) => money(flat, assetOf(me, asset)) },
        { name: "Share", cell: ({ bps }) => percent(bps) },
        { name: "Sink", cell: ({ sink }) => <Short text={sink} /> },
        { name: "", isEnd: true, cell: (rule) => <Remove rule={rule} replace={replace} /> },
      ]}
    />
  );
}

function Remove({ rule, replace }: { readonly rule: FeeRuleView; readonly replace: Replace }) {
  const { asset, operation } = rule;
  const { symbol } = assetOf(useMe(), asset);
  return (
    <Confirm
      button="Remove"
      title={`Take no fee of ${operation}s of ${symbol}?`}
      yes="Remove the rule"
      act={async () => {
        replace(await ask("removeFee", { body: { asset, operation } }));
      }}
    >
      <p>New payments carry no fee of yours from now on. Fees that were paid are yours.</p>
    </Confirm>
  );
}

function Service({ fees: { service } }: { readonly fees: FeeRulesView }) {
  const me = useMe();
  if (service.length === 0) return null;
  return (
    <article>
      <h2>What the service asks beside yours</h2>
      <Table
        caption="Fees of the service"
        rows={service}
        keyOf={({ asset, operation }) => `${asset} ${operation}`}
        columns={[
          { name: "Operation", cell: ({ operation }) => operation },
          { name: "Asset", cell: ({ asset }) => assetOf(me, asset).symbol },
          {
            name: "Flat",
            cell: ({ asset, flat, is_unpriced }) =>
              flat === null
                ? is_unpriced
                  ? "in dollars, no price now"
                  : "none"
                : money(flat, assetOf(me, asset)),
          },
          { name: "Share", cell: ({ bps }) => percent(bps) },
        ]}
      />
    </article>
  );
}
