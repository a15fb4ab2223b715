/** How a request can fail, and how that is said to the person who waits for it. */
import type { DashboardProblem } from "../../contract/errors.ts";

/** The service answered that it does not do this. */
export class Refused extends Error {
  readonly problem: DashboardProblem;

  constructor(problem: DashboardProblem) {
    super(problem.detail);
    this.name = "Refused";
    this.problem = problem;
  }
}

/** No answer, or none of the service's: whether the request arrived is unknown. */
export class Unreachable extends Error {
  constructor(options?: ErrorOptions) {
    super("The service cannot be reached.", options);
    this.name = "Unreachable";
  }
}

/** The person closed the dialog that the request waited for. */
export class Cancelled extends Error {
  constructor() {
    super("This was not sent.");
    this.name = "Cancelled";
  }
}

/** For people. */
export function wordsOf(error: unknown): string {
  if (error instanceof Refused) return `${sentence(error.problem.title)} ${detailOf(error.problem)}`.trim();
  if (error instanceof Unreachable)
    return "The service cannot be reached. What you typed is still here: send it again when the connection is back, nothing is made twice.";
  if (error instanceof Cancelled) return error.message;
  // Of the browser's or of the passkey library; both are meant for people.
  return error instanceof Error ? sentence(error.message) : "Something went wrong in this page.";
}

function detailOf({ title, detail, status, request_id }: DashboardProblem): string {
  const more = detail === title ? "" : sentence(detail);
  return status >= 500 ? `${more} Tell your operator the number of this request: ${request_id}.` : more;
}

const sentence = (text: string): string =>
  text === "" ? "" : `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
