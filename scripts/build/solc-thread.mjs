// The compiler on a thread of its own: it is one long call of wasm on one processor.
import { parentPort, workerData } from "node:worker_threads";
import solc from "solc";

parentPort.postMessage(solc.compile(workerData));
