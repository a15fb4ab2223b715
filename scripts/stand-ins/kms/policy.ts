/**
 * Key policies as KMS evaluates them: an explicit Deny beats every Allow, and what nothing allows is denied.
 * Reads what our template uses and refuses every other element, since one that is passed over would make the
 * policy mean something else here than it does at AWS.
 *
 * Unlike there, no IAM policy exists beside it: a statement for an account's root speaks for every
 * principal of that account.
 */
import { z } from "zod";

const oneOrMore = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => [value].flat());

const OPERATORS = {
  StringEquals: { ignoresCase: false, negated: false },
  StringNotEquals: { ignoresCase: false, negated: true },
  StringEqualsIgnoreCase: { ignoresCase: true, negated: false },
  StringNotEqualsIgnoreCase: { ignoresCase: true, negated: true },
} as const;
type Operator = keyof typeof OPERATORS;
const operator = z.enum(Object.keys(OPERATORS) as [Operator, ...Operator[]]);

const statement = z
  .strictObject({
    Sid: z.string().optional(),
    Effect: z.enum(["Allow", "Deny"]),
    Principal: z.union([z.literal("*"), z.strictObject({ AWS: oneOrMore })]),
    Action: oneOrMore.optional(),
    NotAction: oneOrMore.optional(),
    Resource: z.literal("*"),
    Condition: z.partialRecord(operator, z.record(z.string(), oneOrMore)).optional(),
  })
  .refine(({ Action, NotAction }) => (Action === undefined) !== (NotAction === undefined), {
    message: "Action or NotAction, one of the two",
  });
type Statement = z.infer<typeof statement>;

const policyShape = z.strictObject({
  Version: z.literal("2012-10-17"),
  Id: z.string().optional(),
  Statement: z.array(statement).min(1),
});
export type KeyPolicy = z.infer<typeof policyShape>;

export interface KmsCall {
  /** ARN of the caller. */
  readonly principal: string;
  /** For example `kms:Decrypt`. */
  readonly action: string;
  /** Values of condition keys; absent ones are absent. */
  readonly context: ReadonlyMap<string, string>;
}

export type Decision =
  | { readonly allowed: true }
  /** `by` is the statement that denied; undefined when none allowed. */
  | { readonly allowed: false; readonly by: string | undefined };

/** Throws on everything that is not read here. */
export function parsePolicy(text: string): KeyPolicy {
  return policyShape.parse(JSON.parse(text));
}

export function decide(policy: KeyPolicy, call: KmsCall): Decision {
  const applying = policy.Statement.filter((one) => applies(one, call));
  const denial = applying.find(({ Effect }) => Effect === "Deny");
  if (denial !== undefined) return { allowed: false, by: denial.Sid ?? "a statement without Sid" };
  return applying.length > 0 ? { allowed: true } : { allowed: false, by: undefined };
}

function applies(one: Statement, { principal, action, context }: KmsCall): boolean {
  const names = (patterns: readonly string[]): boolean => patterns.some((each) => matches(each, action));
  return (
    isMeant(one.Principal, principal) &&
    (one.Action === undefined || names(one.Action)) &&
    (one.NotAction === undefined || !names(one.NotAction)) &&
    holds(one.Condition ?? {}, context)
  );
}

function isMeant(meant: Statement["Principal"], caller: string): boolean {
  if (meant === "*") return true;
  const account = /^arn:aws:(?:iam|sts)::([0-9]{12}):/.exec(caller)?.[1];
  return meant.AWS.some(
    (one) => one === "*" || one === caller || one === `arn:aws:iam::${account ?? "nobody"}:root`,
  );
}

/** Operators and the keys inside one are joined by AND, the values of one key by OR (by NOR under a negated operator). */
function holds(
  condition: NonNullable<Statement["Condition"]>,
  context: ReadonlyMap<string, string>,
): boolean {
  return Object.entries(condition).every(([name, keys]) => {
    const { ignoresCase, negated } = OPERATORS[name as Operator];
    const spelled = (text: string): string => (ignoresCase ? text.toLowerCase() : text);
    return Object.entries(keys).every(([key, values]) => {
      const found = context.get(key);
      const isAmong = found !== undefined && values.some((value) => spelled(value) === spelled(found));
      return isAmong !== negated;
    });
  });
}

/** `*` and `?` as in policies; action names know no case. */
function matches(pattern: string, action: string): boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "i").test(action);
}
