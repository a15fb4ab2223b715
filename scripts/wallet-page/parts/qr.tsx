/** A text as a QR code, drawn as one path: no image is fetched and no style is written. */
import { useMemo } from "preact/hooks";
import encodeQR from "qr";

/** Modules of light around it, without which cameras do not find it. */
const QUIET = 3;

export function Qr({ text, label }: { text: string; label: string }) {
  const { path, size } = useMemo(() => {
    const rows = encodeQR(text, "raw", { ecc: "low", border: QUIET });
    const dark = rows.flatMap((row, y) =>
      row.flatMap((isDark, x) => (isDark ? [`M${String(x)} ${String(y)}h1v1h-1z`] : [])),
    );
    return { path: dark.join(""), size: rows.length };
  }, [text]);
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${String(size)} ${String(size)}`}>
      <path d={path} />
    </svg>
  );
}
