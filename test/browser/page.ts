// The page of the browser test: a person's wallet in a real browser, with a session token and IndexedDB. The page and
// its proving files come from the application's origin, everything else from the service on another.
import {
  ApiProblem,
  ClientError,
  createClient,
  createProver,
  createWallet,
  eip1193Signer,
  fetchArtefacts,
  indexedDbStorage,
  type ArtefactManifest,
  type Payment,
  type Pins,
  type StepEvent,
  type Wallet,
} from "../../shared/client/index.ts";
import { ranOut } from "../support/clocks.ts";

/** What the test gives the page. */
interface Given {
  readonly service: string;
  readonly manifest: ArtefactManifest;
  readonly seed: readonly number[];
  readonly depositor: string;
  readonly pins: Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix" | "enclaves">;
}

declare global {
  interface Window {
    /** The developer's server: a new session token. */
    sessionToken(): Promise<string>;
    /** The person's browser wallet. */
    signTypedData(payload: string): Promise<string>;
    cloister: typeof cloister;
  }
}

async function open(given: Given): Promise<Wallet> {
  const ceiling = { flat: 100_000n, bps: 0 };
  return createWallet({
    key: { seed: Uint8Array.from(given.seed) },
    client: createClient({
      baseUrl: given.service,
      credential: { sessionProvider: () => window.sessionToken() },
    }),
    storage: indexedDbStorage(indexedDB, "cloister", "wallet"),
    prover: createProver({
      source: fetchArtefacts(`${location.origin}/artefacts`),
      manifest: given.manifest,
    }),
    pins: { ...given.pins, feeCeiling: { deposit: ceiling, transfer: ceiling } },
  });
}

const ticketOf = ({ ticket }: Payment): string => ticket.state;

export const cloister = {
  async depositAndPay(given: Given): Promise<{ states: string[]; total: string; steps: string[] }> {
    const wallet = await open(given);
    const steps: string[] = [];
    const progress = ({ step, state }: StepEvent): void => {
      if (state === "end") steps.push(step);
    };
    const signer = eip1193Signer(
      { request: ({ params }) => window.signTypedData(params[1] as string) },
      given.depositor,
    );
    const states = [ticketOf(await wallet.deposit(10_000_000n, signer, { progress }))];
    states.push(ticketOf(await wallet.pay(wallet.address, 1_000_000n, { progress })));
    const { total } = wallet.balance();
    await wallet.close();
    return { states, total: String(total), steps };
  },
  /** How a `sync` without a time limit ends, and how long the pauses and limits were that ran out meanwhile. */
  async sync(given: Given): Promise<{ outcome: string; message: string; waitedMs: number }> {
    const wallet = await open(given);
    const { result, clocks } = await ranOut(() =>
      wallet.sync().then(
        () => ["done", ""] as const,
        (error: unknown) =>
          error instanceof ClientError || error instanceof ApiProblem
            ? ([error.code, error.message] as const)
            : (["untyped", String(error)] as const),
      ),
    );
    await wallet.close();
    const [outcome, message] = result;
    return { outcome, message, waitedMs: clocks.totalMs };
  },
  /** Before any contact with the service: what IndexedDB kept. */
  async stored(given: Given): Promise<string> {
    return String((await open(given)).balance(undefined).total);
  },
};
window.cloister = cloister;
