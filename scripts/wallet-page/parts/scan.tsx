/** Takes a text from the camera, where there is one. The pictures stay in this tab. */
import { useEffect, useRef, useState } from "preact/hooks";

const LOOKS_EVERY_MS = 250;
/** Enough for a code held in front of the camera; more only takes longer. */
const WIDTH = 640;

interface ScanProps {
  readonly found: (text: string) => void;
}

export function Scan({ found }: ScanProps) {
  const [isOpen, setOpen] = useState(false);
  // Pages without https have no camera to ask for.
  if (!("mediaDevices" in navigator)) return null;
  if (!isOpen)
    return (
      <button type="button" class="secondary outline" onClick={() => setOpen(true)}>
        Scan a QR code
      </button>
    );
  const close = (): void => setOpen(false);
  return (
    <Camera
      close={close}
      found={(text) => {
        close();
        found(text);
      }}
    />
  );
}

function Camera({ found, close }: ScanProps & { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    dialog.current?.showModal();
    const ending = new AbortController();
    const screen = video.current;
    if (screen !== null)
      look(screen, found, ending.signal).catch(() =>
        setFault("There is no camera, or this page was not allowed to use it. Paste the link in its place."),
      );
    return () => ending.abort();
  }, []);
  return (
    <dialog ref={dialog} onClose={close} aria-label="Scan a QR code">
      <article>
        <h2>Hold the code in front of the camera</h2>
        <video ref={video} muted playsInline />
        <p role="status">{fault}</p>
        <button type="button" onClick={close}>
          Close
        </button>
      </article>
    </dialog>
  );
}

async function look(
  video: HTMLVideoElement,
  found: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  const reader = new Worker("/assets/scan.js", { type: "module" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    clearTimeout(timer);
    reader.terminate();
    for (const track of stream.getTracks()) track.stop();
  };
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) {
    end();
    return;
  }
  video.srcObject = stream;
  await video.play();
  const canvas = document.createElement("canvas");
  const show = (): void => {
    const picture = pictureOf(video, canvas);
    if (picture === undefined) timer = setTimeout(show, LOOKS_EVERY_MS);
    else reader.postMessage(picture, [picture.data.buffer]);
  };
  reader.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (typeof data === "string") found(data);
    else timer = setTimeout(show, LOOKS_EVERY_MS);
  };
  show();
}

function pictureOf(video: HTMLVideoElement, canvas: HTMLCanvasElement) {
  const { videoWidth, videoHeight } = video;
  if (videoWidth === 0) return undefined;
  canvas.width = WIDTH;
  canvas.height = Math.round((WIDTH * videoHeight) / videoWidth);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) return undefined;
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  const { data, width, height } = context.getImageData(0, 0, canvas.width, canvas.height);
  return { data, width, height };
}
