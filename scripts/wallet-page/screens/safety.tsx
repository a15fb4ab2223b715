/** What the service has proved, in words, and the fingerprint to compare. */
import { useTask, TaskStatus } from "../parts/task.tsx";
import { Known } from "../parts/known.tsx";
import { Screen } from "../parts/screen.tsx";
import { ago } from "../parts/time.ts";
import { useOpened } from "../parts/use.ts";
import { prove } from "../purse.ts";

export function Safety() {
  const { account, purse } = useOpened();
  const { network, standing } = account;
  const task = useTask<undefined>();
  const { measurements, roots } = network.pins.enclaves;
  const again = (): void =>
    task.run(async () => {
      await prove(account);
      account.standing = { state: "live", provedAt: new Date() };
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
      {measurements.map(({ pcr0, pcr1, pcr2 }) => (
        <article key={pcr0} aria-label="Fingerprint">
          <h2>Fingerprint</h2>
          <p>
            Compare it with the one that the operator and reviewers publish. Whoever builds the program from
            its source gets the same: <code>npm run measure</code>.
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
          </dl>
        </article>
      ))}
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

/** In pieces that two people can read to each other. */
function groups(hex: string): string {
  return (hex.match(/.{1,8}/g) ?? []).join(" ");
}
