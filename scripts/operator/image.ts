/**
 * `npm run operator -- image …`: which code may vouch in a pool. Its owner proposes an image, with the source that it is built
 * from; everybody builds it and compares meanwhile; anybody admits it. Keys are read from the environment.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { getAddress } from "ethers";
import { dateOf, timeFieldsOf, timesOf } from "../../proxy/base/chain/owner-events.ts";
import type { Bytes32 } from "../../shared/protocol/brands.ts";
import { asBytes32 } from "../../shared/protocol/host/text.ts";
import { imageOf, VERIFIER_KINDS } from "../../shared/protocol/host/registration.ts";
import { UsageError } from "../base/command.ts";
import { act, callOf, ownerOf, timeOf, type Act, type Terms } from "./admissions.ts";
import { walletIn, withPool, type PoolAt } from "./chain.ts";
import { need, POOL_OPTIONS, readMeasurement, show, type Result } from "./command-line.ts";
import { readImages, readSigners, type PoolImage } from "./pool-signers.ts";
import { explained } from "./refusal.ts";

export const IMAGE_HELP = `Usage: npm run operator -- image COMMAND [IMAGE] [options]

Images whose enclaves may vouch in a pool. The owner proposes one; everybody sees it for the pool's delay, and can build
it; then anybody may admit it, for seven days; after that the proposal has expired. An enclave of an admitted image is
registered by its own document: signer --help. IMAGE is keccak256(PCR0 ‖ PCR1 ‖ PCR2), or is computed from
--measurement FILE, JSON with pcr0, pcr1 and pcr2.

  propose [IMAGE]  --verifier first|second  --commit TEXT  --build TEXT
                     which verifier it runs, the source it is built from, and the command that builds it        OWNER_KEY
  admit [IMAGE]    once its time has come                                               SENDER_KEY or OWNER_KEY
  revoke [IMAGE]   at once and permanently: its signers are out, and no other comes in. Also where it is only
                   proposed, or was never                                                               OWNER_KEY
  list             all that the pool ever knew, and how many signers of each are in
  list --pending   only what is proposed: from when it may be admitted, and when that expires

the pool   --rpc URL  --pool ADDRESS  [--from-block N]
keys       in the environment, in hex. OWNER_KEY is the pool owner's. SENDER_KEY is anybody's that can pay for gas.
--print    sends nothing and needs no key: prints the transaction, for a wallet of several owners
--json     prints one JSON object
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  print: { type: "boolean" },
  pending: { type: "boolean" },
  measurement: { type: "string" },
  verifier: { type: "string" },
  commit: { type: "string" },
  build: { type: "string" },
  ...POOL_OPTIONS,
} as const;

type Values = ReturnType<typeof parse>["values"];

function parse(words: readonly string[]) {
  return parseArgs({ args: [...words], allowPositionals: true, options: OPTIONS });
}

/** `words` come after `image`. */
export async function imageCommand(words: readonly string[]): Promise<void> {
  const { values, positionals } = parse(words);
  if (values.help === true || positionals.length === 0) {
    process.stdout.write(IMAGE_HELP);
    return;
  }
  show(await run(positionals, values), values.json);
}

const ACTS: Readonly<Record<string, Act>> = { propose: "propose", admit: "admit", revoke: "remove" };

async function run([verb = "", text, ...rest]: readonly string[], values: Values): Promise<Result> {
  if (rest.length > 0 || (verb === "list" && text !== undefined)) throw new UsageError("too many words");
  if (verb === "list") return withPool(values, (at) => list(at, values.pending === true));
  const what = ACTS[verb];
  if (what === undefined) throw new UsageError("unknown command; see image --help");
  const image = await namedImage(text, values);
  const terms = what === "propose" ? termsOf(values) : undefined;
  return withPool(values, async (at) => {
    const owner = await ownerOf(at.provider, at.pool);
    const known = (await readImages(at.provider, at.pool, at.fromBlock)).find((one) => one.image === image);
    const done = await refuseEarly(at, what, image, known);
    if (done !== undefined) return done;
    if (values.print === true) return printed(at, { verb, what, image, terms, owner });
    const wallet =
      what === "admit"
        ? walletIn(at.provider, "SENDER_KEY", "OWNER_KEY")
        : walletIn(at.provider, "OWNER_KEY");
    try {
      await act(wallet, at.pool, "image", what, image, terms);
    } catch (error) {
      throw explained(error);
    }
    const now = (await readImages(at.provider, at.pool, at.fromBlock)).find((one) => one.image === image);
    return stateOf(now ?? { image, standing: "removed", admissibleAt: undefined, expiresAt: undefined });
  });
}

async function namedImage(text: string | undefined, { measurement }: Values): Promise<Bytes32> {
  if (measurement !== undefined) {
    if (text !== undefined) throw new UsageError("IMAGE and --measurement exclude each other");
    return imageOf(readMeasurement(await readFile(measurement, "utf8")));
  }
  const image = asBytes32(need(text, "IMAGE"));
  if (image === undefined) throw new UsageError("IMAGE is not 32 bytes in hex");
  return image;
}

function termsOf({ verifier, commit, build }: Values): Terms {
  const name = need(verifier, "--verifier first or second");
  if (!(name in VERIFIER_KINDS)) throw new UsageError("--verifier takes first or second");
  const kind = VERIFIER_KINDS[name as keyof typeof VERIFIER_KINDS];
  return { kind, commit: need(commit, "--commit TEXT"), buildCommand: need(build, "--build TEXT") };
}

/** What is done already is a result; what cannot be done throws, before anything is paid for. */
async function refuseEarly(
  { provider }: PoolAt,
  what: Act,
  image: Bytes32,
  known: PoolImage | undefined,
): Promise<Result | undefined> {
  const { standing, admissibleAt = 0, expiresAt = 0 } = known ?? {};
  if (standing === "removed") throw new Error(`${image} was revoked, permanently`);
  if (what === "remove") return undefined;
  if (known !== undefined && standing === "admitted") return stateOf(known, "already");
  if (what === "propose")
    return known !== undefined && standing === "proposed" ? stateOf(known, "already") : undefined;
  if (standing === "expired")
    throw new Error(
      `${image} was to be admitted before ${dateOf(expiresAt)}; the owner may propose it again`,
    );
  if (standing !== "proposed") throw new Error(`${image} is not proposed`);
  if ((await timeOf(provider)) < admissibleAt)
    throw new Error(`${image} may be admitted from ${dateOf(admissibleAt)} to ${dateOf(expiresAt)}`);
  return undefined;
}

interface Printed {
  readonly verb: string;
  readonly what: Act;
  readonly image: Bytes32;
  readonly terms: Terms | undefined;
  readonly owner: string;
}

async function printed(
  { provider, pool }: PoolAt,
  { verb, what, image, terms, owner }: Printed,
): Promise<Result> {
  const { chainId } = await provider.getNetwork();
  const from = what === "admit" ? undefined : getAddress(owner);
  const transaction = {
    chain_id: String(chainId),
    ...(from === undefined ? {} : { from }),
    ...{ to: getAddress(pool), value: "0", data: callOf("image", what, image, terms) },
  };
  const who = from === undefined ? "anybody" : `the owner ${from}`;
  const lines = Object.entries(transaction).map(([field, value]) => `${field}\t${value}`);
  return { data: { transaction }, text: [`to ${verb} ${image}, sent by ${who}:`, ...lines].join("\n") };
}

async function list({ provider, pool, fromBlock }: PoolAt, isPendingOnly: boolean): Promise<Result> {
  await ownerOf(provider, pool);
  const signers = (await readSigners(provider, pool, fromBlock)).filter(
    ({ standing }) => standing === "admitted",
  );
  const all = await readImages(provider, pool, fromBlock);
  const images = all
    .filter(({ standing }) => !isPendingOnly || standing === "proposed")
    .map((one) => ({
      ...{ image: one.image, kind: one.kind ?? null, standing: one.standing, ...timeFieldsOf(one) },
      ...{ commit: one.commit ?? null, build_command: one.buildCommand ?? null },
      signers: signers.filter(({ image }) => image === one.image).map(({ signer }) => getAddress(signer)),
      times: timesOf(one),
    }));
  const text = images.map(({ image, kind, standing, commit, build_command: build, signers: of, times }) =>
    [
      ...[image, `verifier ${String(kind ?? "unknown")}`, standing, ...times, `${String(of.length)} signers`],
      ...(commit === null ? [] : [`of ${commit}, built by ${String(build)}`]),
    ].join("\t"),
  );
  const data = { images: images.map(({ times: _, ...one }) => one) };
  return { data, text: text.length === 0 ? "none" : text.join("\n") };
}

function stateOf(
  { image, standing, ...times }: Pick<PoolImage, "image" | "standing" | "admissibleAt" | "expiresAt">,
  already = "",
): Result {
  const word = standing === "removed" ? "revoked, permanently" : standing;
  const text = [`${image} is ${already === "" ? "" : `${already} `}${word}`, ...timesOf(times)].join(": ");
  return { data: { image, standing, ...timeFieldsOf(times) }, text };
}
