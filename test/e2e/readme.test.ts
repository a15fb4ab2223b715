/**
 * The README's shell, as it stands, against a running stack: every block with curl in one shell, in its order. The
 * reader's part is played by two programs on the path: npm runs its programs on this stack's folder, and curl also
 * writes down what was answered.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { ENDPOINTS, type Endpoint } from "../../shared/api/endpoints.ts";
import { IDENTITY_SETTINGS, startExampleIdentity } from "../../scripts/stack/example-identity.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";

/** The second and third time that one is shown says nothing new. */
const NOT_SHOWN = ["/sequence/spend9", "/attest/deposit-shield", "/attest/spend9", "/attest/private-swap"];
/** Asked by machines. */
const FOR_TOOLS = ["/openapi.json"];
/** There is none before 4,096 outputs. */
const FOR_LONG_HISTORIES = ["/history/chunks"];

interface Heard {
  readonly url: string;
  readonly status: number;
}

describe("README", function () {
  this.timeout(480_000);
  let on: TestStack;
  let folder: string;
  let heard: readonly Heard[];
  let said: string;

  before(async () => {
    on = await startTestStack({
      networks: ["first", "second"],
      bridges: true,
      proxySettings: IDENTITY_SETTINGS,
    });
    folder = await mkdtemp(path.join(tmpdir(), "cloister-readme-"));
    // As `npm start -- --identity` does.
    const identity = await startExampleIdentity(on.stack);
    try {
      [heard, said] = await runReadme();
    } finally {
      await identity.stop();
    }
  });
  after(async () => {
    await on.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function runReadme(): Promise<[Heard[], string]> {
    const readme = await readFile(path.join(PROJECT_ROOT, "README.md"), "utf8");
    const blocks = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = ""]) => text);
    const script = blocks.filter((text) => text.includes("curl ")).join("\n");
    const [programs, answers] = [path.join(folder, "programs"), path.join(folder, "answers")];
    await mkdir(programs);
    await mkdir(answers);
    await symlink(on.stack.folder.path, path.join(folder, ".cloister"));
    await program(programs, "npm", [
      'while [ "$1" != -- ]; do name=$1; shift; done; shift',
      `cd ${PROJECT_ROOT} && exec node scripts/build/run.mjs scripts/*/$name.ts "$@" --folder ${on.stack.folder.path}`,
    ]);
    // Beside its own work: the head of each answer in a file whose name has the order, and the address.
    await program(programs, "curl", [
      `count=$(ls ${answers} | wc -l)`,
      `file=${answers}/$(printf %03d $count)`,
      'for url; do :; done; case "$url" in http*) ;; *) exit 90;; esac',
      'echo "$url" > $file',
      `PATH=$OUTER_PATH; curl -sS --dump-header $file.head "$@"; code=$?`,
      "cat $file.head >> $file; rm $file.head",
      // A stream is left when the time is over.
      '[ $code = 28 ] && case "$url" in */events/stream*) exit 0;; esac',
      "exit $code",
    ]);
    const outer = process.env["PATH"] ?? "";
    const { stdout } = await promisify(execFile)("bash", ["-euc", script], {
      cwd: folder,
      env: {
        ...process.env,
        PATH: `${programs}:${outer}`,
        OUTER_PATH: outer,
      },
      maxBuffer: 1 << 26,
      timeout: 300_000,
    });
    const files = (await readdir(answers)).sort();
    const texts = await Promise.all(files.map((file) => readFile(path.join(answers, file), "utf8")));
    const answered = texts.map((text) => {
      const [url = "", head = ""] = text.split("\n");
      return { url, status: Number(head.split(" ")[1]) };
    });
    return [answered, stdout];
  }

  async function program(at: string, name: string, lines: readonly string[]): Promise<void> {
    await writeFile(path.join(at, name), `#!/bin/sh\n${lines.join("\n")}\n`);
    await chmod(path.join(at, name), 0o755);
  }

  it("every curl of it succeeds", () => {
    assert.ok(heard.length >= 15, String(heard.length));
    for (const { url, status } of heard)
      assert.ok(status >= 200 && status < 300, `${url}: ${String(status)}`);
    assert.match(said, /99\.95/);
  });

  it("shows each endpoint, but for those that are like another", () => {
    const shown = heard.map(({ url }) => new URL(url).pathname.replace(/ticket\/.*/, "ticket/{ticket_id}"));
    const known = [...shown, ...NOT_SHOWN, ...FOR_TOOLS, ...FOR_LONG_HISTORIES];
    const missing = Object.values<Endpoint>(ENDPOINTS)
      .map(({ path: at }) => at)
      .filter((at) => !known.includes(at));
    assert.deepEqual(missing, []);
  });
});
