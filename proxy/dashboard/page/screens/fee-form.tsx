/** The form of a fee rule, with its preview in money while it is typed. */
import { useEffect, useState } from "preact/hooks";
import { feeOperation } from "../../../../shared/api/credentials.ts";
import { DASHBOARD } from "../../contract/endpoints.ts";
import type { FeePreview, FeeRulesView } from "../../contract/fees.ts";
import { ChoiceField, TextField } from "../parts/field.tsx";
import { FormOf } from "../parts/form-of.tsx";
import { ask } from "../service/ask.ts";
import { wordsOf } from "../service/faults.ts";
import { useForm } from "../service/form.ts";
import { money, readMoney, type Asset } from "../service/money.ts";

interface Typed {
  readonly asset: string;
  readonly operation: string;
  readonly flat: string;
  readonly bps: string;
  readonly sink: string;
}

const OPERATIONS: Readonly<Record<(typeof feeOperation.options)[number], string>> = {
  transfer: "Transfers",
  swap: "Swaps",
  deposit: "Deposits",
  withdraw: "Withdrawals",
};

export function FeeForm({
  fees,
  assets,
  replace,
}: {
  readonly fees: FeeRulesView;
  readonly assets: readonly Asset[];
  readonly replace: (data: FeeRulesView) => void;
}) {
  const assetOf = (address: string): Asset => assets.find((asset) => asset.address === address) ?? assets[0]!;
  const form = useForm({
    schema: DASHBOARD.setFee.body,
    initial: { asset: assets[0]!.address, operation: "transfer", flat: "0", bps: "0", sink: "" },
    body: (typed) => bodyOf(typed, assetOf(typed.asset)),
    check: (typed) => {
      const flat = readMoney(typed.flat, assetOf(typed.asset));
      return { ...("fault" in flat && { flat: flat.fault }), ...faultOfSink(typed, fees) };
    },
    send: async (body) => {
      replace(await ask("setFee", { body }));
    },
  });
  const asset = assetOf(form.values.asset);
  const most = feeOperation.safeParse(form.values.operation);
  return (
    <FormOf form={form} yes="Set the rule">
      <div class="row">
        <ChoiceField
          form={form}
          name="operation"
          label="Operation"
          choices={feeOperation.options.map((value) => ({ value, text: OPERATIONS[value] }))}
        />
        <ChoiceField
          form={form}
          name="asset"
          label="Asset"
          choices={assets.map(({ address, symbol }) => ({ value: address, text: symbol }))}
        />
      </div>
      <div class="row">
        <TextField
          form={form}
          name="flat"
          label={`Flat, in ${asset.symbol}`}
          inputMode="decimal"
          hint="Such as 0.30"
        />
        <TextField
          form={form}
          name="bps"
          label="Share, in basis points"
          inputMode="numeric"
          hint={`100 are 1 %.${most.success ? ` At most ${String(fees.most_bps[most.data])} here.` : ""}`}
        />
      </div>
      <TextField
        form={form}
        name="sink"
        label="Sink"
        hint="The shielded address that the fees are paid to. Empty keeps the one that this asset's rules have; another moves them all."
      />
      <Preview typed={form.values} asset={asset} />
    </FormOf>
  );
}

function bodyOf(typed: Typed, asset: Asset): Record<string, unknown> {
  const flat = readMoney(typed.flat, asset);
  return {
    asset: typed.asset,
    operation: typed.operation,
    // What cannot be read has its own words beside the field.
    flat: "amount" in flat ? flat.amount : "0",
    bps: /^\d+$/.test(typed.bps.trim()) ? Number(typed.bps) : NaN,
    sink: typed.sink.trim() === "" ? null : typed.sink.trim(),
  };
}

function faultOfSink({ asset, sink }: Typed, { rules }: FeeRulesView): { sink?: string } {
  if (sink.trim() !== "" || rules.some((rule) => rule.asset === asset)) return {};
  return { sink: "this asset has no sink yet: give the address that is to get the fees" };
}

const PAUSE_MS = 350;

/** Of a payment of 100, as the service would count it. */
function Preview({ typed, asset }: { readonly typed: Typed; readonly asset: Asset }) {
  const [shown, show] = useState<FeePreview | string>();
  const { operation, flat, bps } = typed;
  useEffect(() => {
    const body = DASHBOARD.previewFee.body.safeParse({
      ...{ asset: asset.address, operation, amount: `100${"0".repeat(asset.decimals)}` },
      ...pick(bodyOf(typed, asset)),
    });
    if (!body.success || "fault" in readMoney(flat, asset)) {
      show(undefined);
      return;
    }
    const end = new AbortController();
    const timer = setTimeout(() => {
      ask("previewFee", { body: body.data }, end.signal).then(show, (error: unknown) => {
        if (!end.signal.aborted) show(wordsOf(error));
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [asset, operation, flat, bps]);
  return (
    <div role="status" class="notice">
      {shown === undefined ? (
        "What your user pays is shown here."
      ) : typeof shown === "string" ? (
        shown
      ) : (
        <Sum of={shown} />
      )}
    </div>
  );
}

const pick = ({ flat, bps }: Record<string, unknown>): Record<string, unknown> => ({ flat, bps });

function Sum({ of: preview }: { readonly of: FeePreview }) {
  const said = (amount: string): string => money(amount, preview.asset);
  return (
    <>
      <p>
        <strong>{preview.sentence}</strong>
      </p>
      <p>
        You get {said(preview.developer_fee)}, the service {said(preview.service_fee)};{" "}
        {said(preview.arrives)} arrive.
        {preview.is_impossible && " Fees eat all of it: nobody could pay so."}
      </p>
    </>
  );
}
