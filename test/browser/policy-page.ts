// The page of the policy test: deposits and loads proving keys in a browser, and says what stopped it or held it up.
import {
  createClient,
  createProver,
  createWallet,
  eip1193Signer,
  fetchArtefacts,
  memoryStorage,
  type ArtefactManifest,
  type Pins,
  type Prover,
} from "../../shared/client/index.ts";
import { ranOut } from "../support/clocks.ts";

/** What the test gives the page. */
interface Given {
  readonly service: string;
  readonly manifest: ArtefactManifest;
  readonly depositor: string;
  readonly pins: Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix" | "enclaves">;
  /** Address of the worker's file; by default where the bundle expects it. */
  readonly worker?: string;
}

/** `ranOutMs`: the longest clock that ran out between the call and its end. */
type Outcome = { readonly ranOutMs: number } & (
  { readonly total: string } | { readonly code: string; readonly message: string }
);

declare global {
  interface Window {
    /** The developer's server: a new session token. */
    sessionToken(): Promise<string>;
    /** The person's browser wallet. */
    signTypedData(payload: string): Promise<string>;
    underPolicy: typeof underPolicy;
  }
}

const violated: string[] = [];
document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
  violated.push(`${effectiveDirective} ${blockedURI}`),
);

const proverOf = ({ manifest, worker }: Given): Prover =>
  createProver({
    source: fetchArtefacts(`${location.origin}/artefacts`),
    manifest,
    ...(worker === undefined ? {} : { worker }),
  });

export const underPolicy = {
  async deposit(given: Given): Promise<Outcome> {
    const prover = proverOf(given);
    const ceiling = { flat: 100_000n, bps: 0 };
    const wallet = await createWallet({
      key: { seed: crypto.getRandomValues(new Uint8Array(32)) },
      client: createClient({
        baseUrl: given.service,
        credential: { sessionProvider: () => window.sessionToken() },
      }),
      storage: memoryStorage(),
      prover,
      pins: { ...given.pins, feeCeiling: { deposit: ceiling, transfer: ceiling } },
    });
    const signer = eip1193Signer(
      { request: ({ params }) => window.signTypedData(params[1] as string) },
      given.depositor,
    );
    const { result, clocks } = await ranOut(() =>
      wallet.deposit(10_000_000n, signer).then(
        () => ({ total: String(wallet.balance().total) }),
        (error: unknown) => {
          const { code, message } = error as { code: string; message: string };
          return { code, message };
        },
      ),
    );
    await wallet.close();
    await prover.close();
    return { ...result, ranOutMs: clocks.longestMs };
  },

  /** What the policy has stopped since the page was loaded. */
  violations: (): readonly string[] => violated,
};
window.underPolicy = underPolicy;
