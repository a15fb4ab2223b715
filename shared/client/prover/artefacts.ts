/**
 * Proving keys and witness programs: what they are, and how they come here. Nothing is checked here: the prover
 * compares hashes before it uses a byte.
 */
import type { Kind } from "../../protocol/statements.ts";
import { boundedBody } from "../base/bounded-body.ts";
import { ClientError } from "../base/errors.ts";

/** The prover takes the bytes over: a source that keeps them for another call gives a copy. */
export interface Artefacts {
  /** Proving key. */
  readonly zkey: Uint8Array;
  /** Witness program. */
  readonly wasm: Uint8Array;
}

export interface SourceOptions {
  readonly signal?: AbortSignal | undefined;
  /** How much of both files is here, from 0 to 1. */
  readonly progress?: ((fraction: number) => void) | undefined;
  /** What the manifest says of the files of this kind. */
  readonly expected?: ManifestEntry | undefined;
}

export type ArtefactSource = (kind: Kind, options?: SourceOptions) => Promise<Artefacts>;

interface ManifestFile {
  readonly sha256: string;
  /** Length of the uncompressed file. */
  readonly bytes?: number;
}

export interface ManifestEntry {
  readonly zkey: ManifestFile;
  readonly wasm: ManifestFile;
}

/** SHA-256 (hex) of the uncompressed files, in the form of `shared/circuits/keys/…/manifest.json`. */
export interface ArtefactManifest {
  readonly circuits: Readonly<Record<string, ManifestEntry>>;
}

/**
 * Artefacts by fetch from `{baseUrl}/{kind}.zkey` and `.wasm`, each kind when it is first needed: the key of
 * `spend9` is four times as large as that of `spend`. The address may be anyone's: hashes decide.
 */
export function fetchArtefacts(
  baseUrl: string,
  send: typeof fetch = (input, init) => fetch(input, init),
): ArtefactSource {
  const folder = baseUrl.replace(/\/+$/, "");
  return async (kind, { signal, progress, expected } = {}) => {
    const here = { zkey: 0, wasm: 0 };
    const total = { zkey: expected?.zkey.bytes, wasm: expected?.wasm.bytes };
    const arrived = (part: keyof Artefacts, length: number): void => {
      here[part] = length;
      if (total.zkey !== undefined && total.wasm !== undefined)
        progress?.(Math.min(1, (here.zkey + here.wasm) / (total.zkey + total.wasm)));
    };
    const file = async (part: keyof Artefacts): Promise<Uint8Array> => {
      const url = `${folder}/${kind}.${part}`;
      try {
        const response = await send(url, {
          credentials: "omit",
          ...(signal === undefined ? {} : { signal }),
        });
        if (!response.ok)
          throw new ClientError("UNEXPECTED_ANSWER", `status ${String(response.status)} for ${url}`);
        total[part] ??= announcedLength(response);
        // A key of 68 MB put together from pieces at the end would stop the page for a moment.
        const bytes =
          total[part] === undefined
            ? new Uint8Array(await response.arrayBuffer())
            : await boundedBody(response, total[part], signal, (length) => arrived(part, length));
        signal?.throwIfAborted();
        if (bytes === undefined)
          throw new ClientError("ARTEFACT_MISMATCH", `${response.url} is longer than expected`);
        return bytes;
      } catch (cause) {
        if (signal?.aborted === true) throw signal.reason;
        if (cause instanceof ClientError) throw cause;
        throw new ClientError("NETWORK", url, { cause });
      }
    };
    const [zkey, wasm] = await Promise.all([file("zkey"), file("wasm")]);
    return { zkey, wasm };
  };
}

/** A compressed answer announces another length than that of what is read. */
function announcedLength({ headers }: Response): number | undefined {
  const length = Number(headers.get("content-length") ?? "");
  return headers.get("content-encoding") === null && length > 0 ? length : undefined;
}
