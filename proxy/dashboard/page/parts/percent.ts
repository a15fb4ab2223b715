/** Basis points as people say them. */
export const percent = (bps: number): string => `${(bps / 100).toFixed(2)} %`;
