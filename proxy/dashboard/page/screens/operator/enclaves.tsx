/** The enclaves that sign, what they were measured as, and what the pool's owner has proposed. */
import type { Enclaves as EnclavesData } from "../../../contract/operator.ts";
import { Answered, Empty } from "../../parts/answered.tsx";
import { Instructions } from "../../parts/instructions.tsx";
import { Screen } from "../../parts/screen.tsx";
import { Moment, Notice, Pill, Time, type Tone } from "../../parts/words.tsx";
import { useAnswer } from "../../service/use-answer.ts";

const EVERY_MS = 30_000;

export default function Enclaves() {
  const enclaves = useAnswer("enclaves", {}, EVERY_MS);
  return (
    <Screen
      title="Enclaves"
      known="An enclave checks proofs and sees what the chain will show. All on this page is public: users compare the same measurements."
    >
      <Answered of={enclaves}>
        {(data) => (
          <>
            <Running of={data} />
            <Admissions of={data} />
            <article>
              <h2>What the owner can do</h2>
              <p class="muted">
                Nothing here is done by this page: each is a command or a transaction to take elsewhere.
              </p>
              <dl>
                <dt>Owner</dt>
                <dd>{data.owner === null ? "could not be asked" : <code>{data.owner}</code>}</dd>
                <dt>Signatures that a payment needs</dt>
                <dd>{data.threshold ?? "could not be asked"}</dd>
              </dl>
              <Instructions of={data.instructions} />
            </article>
          </>
        )}
      </Answered>
    </Screen>
  );
}

function Running({ of: { running } }: { readonly of: EnclavesData }) {
  return (
    <article>
      <h2>Running</h2>
      {running.length === 0 && <Empty>The pool has no signer, and none is proposed.</Empty>}
      {running.map(({ signer, is_accepted, measurements }) => (
        <section key={signer}>
          <div class="head">
            <code>{signer}</code>
            {is_accepted ? (
              <Pill tone="good">accepted by the pool</Pill>
            ) : (
              <Pill tone="bad">not accepted</Pill>
            )}
          </div>
          <dl>
            {Object.entries(measurements).map(([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code>
                </dd>
              </>
            ))}
          </dl>
        </section>
      ))}
    </article>
  );
}

const TONES: Readonly<Record<EnclavesData["admissions"][number]["standing"], Tone>> = {
  proposed: "warn",
  admitted: "good",
  withdrawn: "calm",
  removed: "calm",
  expired: "calm",
};

function Admissions({ of: { admissions, at } }: { readonly of: EnclavesData }) {
  return (
    <article>
      <h2>Admissions of the pool</h2>
      <p class="muted">
        By the clock of the chain, which shows <Moment at={at} />.
      </p>
      {admissions.length === 0 && <Empty>The pool's events tell of none.</Empty>}
      {admissions.map((admission) => (
        <section key={`${admission.role} ${admission.subject}`}>
          <div class="head">
            <span>
              {admission.role} <code>{admission.subject}</code>
            </span>
            <Pill tone={TONES[admission.standing]}>{admission.standing}</Pill>
          </div>
          {admission.withdrawable_until !== null && (
            <Notice tone="warn">
              Can be admitted by anybody from <Moment at={admission.withdrawable_until} /> (
              <Time at={admission.withdrawable_until} />
              ). Was it you? Until then withdrawing is sure; after that only while nobody has admitted it.
              {admission.expires_at !== null && (
                <>
                  {" "}
                  The proposal ends <Moment at={admission.expires_at} />.
                </>
              )}
            </Notice>
          )}
          <Instructions of={admission.instructions} />
        </section>
      ))}
    </article>
  );
}
