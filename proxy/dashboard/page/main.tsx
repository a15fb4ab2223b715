/** The developer dashboard and the operator's screen: one program, whose screens are loaded when they are opened. */
import { render } from "preact";
import { App } from "./app.tsx";

const root = document.querySelector("#app");
if (root !== null) render(<App />, root);
