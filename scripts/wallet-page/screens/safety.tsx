/** What the service has proved, in words, and the fingerprint to compare. */
import type { ServingEnclave } from "../../../shared/client/index.ts";
import type { Network } from "../config.ts";
import { useTask, TaskStatus } from "../parts/task.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { ago, clock } from "../parts/time.ts";
import { useOpened } from "../parts/use.ts";
import { prove, type Standing } from "../purse.ts";

type Measurement = Network["pins"]["enclaves"]["measurements"][number];

export function Safety() {
  const { account, purse } = useOpened();
  const { network, standing } = account;
  const task = useTask<undefined>();
  const { measurements, roots } = network.pins.enclaves;
  const again = (): void =>
    task.run(async () => {
      await prove(account);
      purse.changed();
      return undefined;
    });
  return (
    <Screen title="Safety">
      <p data-attested={standing.state === "live"}>
        {standing.state === "live" ? (
          <>
            What you send is checked by a program with the fingerprint below, inside a sealed machine. It
            proved so <strong>{ago(standing.provedAt)}</strong>, for a question that this browser had just
            made up.
          </>
        ) : standing.state === "asking" ? (
          "The service is being asked to prove which program checks what you send."
        ) : (
          "The service has not proved which program checks what you send. Nothing is sent until it does."
        )}
      </p>
      <button type="button" class="outline" disabled={task.isRunning} onClick={again}>
        Ask it again now
      </button>
      <TaskStatus task={task} done={() => <p class="done">Proved, just now.</p>} />
      {measurements.map((measurement) => (
        <Fingerprint key={measurement.pcr0} {...{ measurement, standing }} />
      ))}
      {standing.state === "live" && (
        <>
          <h2>What the pool says</h2>
          <p>
            Asked of a node of the chain, and not of the service. The pool believes a key only after it has
            checked the machine’s own proof that this image holds it.
          </p>
          {standing.enclaves.map((enclave) => (
            <Registered key={enclave.signer} {...enclave} />
          ))}
        </>
      )}
      <h2>Who vouches</h2>
      <p>
        The maker of the machine, by the certificate with this fingerprint
        {network.testMoney && " (a simulated one: this is a development network)"}:
      </p>
      {roots?.map((root) => (
        <code key={root} class="print">
          {groups(root)}
        </code>
      ))}
      <h2>The pool</h2>
      <dl>
        <dt>Chain</dt>
        <dd>{network.pins.chainId}</dd>
        <dt>Contract</dt>
        <dd>
          <code>{network.pins.pool}</code>
        </dd>
        <dt>Service</dt>
        <dd>
          <code>{network.service}</code>
        </dd>
      </dl>
      <Known
        rows={[
          [
            "The service",
            "Cannot take your money, change a payment or see what is private. It can refuse, and it sees when you pay.",
          ],
          ["The sealed program", "Checks every proof before the pool pays. The pool checks once more."],
          [
            "You",
            "Need nobody’s leave: with the phrase your money can be taken out without the service (npm run exit).",
          ],
        ]}
      />
    </Screen>
  );
}

/** What this application was built to believe, and whether it is what answers now: both are known while one replaces the other. */
function Fingerprint({ measurement, standing }: { measurement: Measurement; standing: Standing }) {
  const { pcr0, pcr1, pcr2 } = measurement;
  const running =
    standing.state === "live"
      ? standing.enclaves.find((enclave) => enclave.measurement?.pcr0 === pcr0)
      : undefined;
  return (
    <article aria-label="Fingerprint" data-running={running !== undefined}>
      <h2>Fingerprint</h2>
      <p>
        {standing.state === "live" &&
          (running === undefined
            ? "A program that may take the place of the one that answers now. "
            : "The program that answers now. ")}
        Compare it with the one that the operator and reviewers publish. Whoever builds the program from its
        source gets the same: <code>npm run measure</code>.
      </p>
      <dl class="print">
        <dt>Image (PCR0)</dt>
        <dd>
          <code>{groups(pcr0)}</code>
        </dd>
        <dt>Kernel (PCR1)</dt>
        <dd>
          <code>{groups(pcr1)}</code>
        </dd>
        <dt>Program (PCR2)</dt>
        <dd>
          <code>{groups(pcr2)}</code>
        </dd>
        {running?.registration !== undefined && (
          <>
            <dt>All three in one, as the pool names the image</dt>
            <dd>
              <code>{groups(running.registration.image.slice(2))}</code>
            </dd>
          </>
        )}
      </dl>
    </article>
  );
}

function Registered({ signer, registration }: ServingEnclave) {
  if (registration === undefined) return null;
  const { image, verifier, since, admission } = registration;
  const { proposal } = admission;
  return (
    <article aria-label="Registration">
      <dl class="print">
        <dt>Key that signs</dt>
        <dd>
          <code>{signer}</code>
        </dd>
        <dt>Believed since</dt>
        <dd>{clock(since)}</dd>
        <dt>Image that holds it</dt>
        <dd>
          <code>{groups(image.slice(2))}</code>
        </dd>
        <dt>Verifier in it</dt>
        <dd>The {verifier === 1 ? "first" : "second"} of the two</dd>
        <dt>Image admitted</dt>
        <dd>
          {proposal === undefined
            ? `${clock(admission.since)}, when the pool was made`
            : `${clock(admission.since)}; the pool’s owner had announced it ${clock(proposal.at)}, for everybody to look at first`}
        </dd>
        {proposal !== undefined && (
          <>
            <dt>Its source, as the owner says</dt>
            <dd>
              <code>{proposal.commit}</code>
            </dd>
            <dt>To be built with</dt>
            <dd>
              <code>{proposal.buildCommand}</code>
            </dd>
          </>
        )}
      </dl>
    </article>
  );
}

/** In pieces that two people can read to each other. */
function groups(hex: string): string {
  return (hex.match(/.{1,8}/g) ?? []).join(" ");
}
