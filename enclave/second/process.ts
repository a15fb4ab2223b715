/**
 * The judge as a process of its own: messages on descriptor 3, and nothing else in or out. It holds no key, so there is none
 * for whoever breaks into it. The weights come with each batch, from the platform of the program that holds the key.
 */
import { Socket } from "node:net";
import { serve } from "./frames.ts";

const program = new Socket({ fd: 3, readable: true, writable: true });
await serve(program as AsyncIterable<Uint8Array>, (bytes) => void program.write(bytes));
