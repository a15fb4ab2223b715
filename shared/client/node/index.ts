/** What a Node program adds to the client library: files. Everything else is in ../index.ts. */
export { fileStorage } from "./file-storage.ts";
export { folderArtefacts, readManifest } from "./artefacts.ts";
