/** Finds a QR code in a picture, outside the page's thread: one picture can take a tenth of a second. */
import decodeQR from "qr/decode.js";

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

addEventListener("message", ({ data }: MessageEvent<Picture>) => {
  let found: string | undefined;
  try {
    found = decodeQR(data);
  } catch {
    // Most pictures of a camera have no code in them.
  }
  postMessage(found);
});
