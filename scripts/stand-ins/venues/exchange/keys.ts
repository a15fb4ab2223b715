// The exchange's key, in its own folder and nowhere else.
import { openKey, type VenueKey } from "../key-file.ts";

/** Holds the accounts' money on its own chain, and sends its transactions. Made where it is missing. */
export const openReserve = (folder: string): Promise<VenueKey> => openKey(folder, "reserve");
