/** What the document writes once and refers to: schemas that have a name, and refusals that many operations share. */
import * as z from "../zod.ts";

export type Json = Readonly<Record<string, unknown>>;

export const refer = (part: "schemas" | "headers" | "examples" | "responses", name: string): Json => ({
  $ref: `#/components/${part}/${name}`,
});

export class Components {
  readonly #schemas = new Map<string, Json>();
  readonly #refusals = new Map<string, Json>();
  /** By their text. */
  readonly #refusalNames = new Map<string, string>();

  /** The schema itself, or a reference when it has a name. */
  schema(schema: z.ZodType, io: "input" | "output"): Json {
    const {
      $schema: _dialect,
      $defs = {},
      ...root
    } = z.toJSONSchema(schema, {
      io,
      override: ({ jsonSchema }) => {
        // Answers may gain fields under one date; requests may not hold an unknown one.
        if (io === "output" && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
        delete jsonSchema["id"];
      },
    });
    for (const [name, definition] of Object.entries($defs)) this.putSchema(name, inComponents(definition));
    return inComponents(root);
  }

  putSchema(name: string, definition: Json): void {
    const known = this.#schemas.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition)) {
      throw new Error(`two different schemas are called ${name}`);
    }
    this.#schemas.set(name, definition);
  }

  /** Its own, or of the named schema that it refers to. Throws where nobody wrote one. */
  descriptionOf(schema: Json): string {
    const { description, $ref } = schema;
    if (typeof description === "string") return description;
    const named = typeof $ref === "string" ? this.#schemas.get($ref.split("/").at(-1) ?? "") : undefined;
    if (named === undefined) throw new Error("a parameter has no description");
    return this.descriptionOf(named);
  }

  refusal(status: string, answer: Json): Json {
    const text = JSON.stringify(answer);
    let name = this.#refusalNames.get(text);
    if (name === undefined) {
      const alike = [...this.#refusals.keys()].filter((known) => known.startsWith(`Refused${status}`)).length;
      name = `Refused${status}${alike === 0 ? "" : `_${String(alike + 1)}`}`;
      this.#refusalNames.set(text, name);
      this.#refusals.set(name, answer);
    }
    return refer("responses", name);
  }

  schemas(): Json {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  refusals(): Json {
    return Object.fromEntries(this.#refusals);
  }
}

/** A document of its own keeps definitions in `$defs`; OpenAPI keeps them in its components. */
function inComponents(schema: object): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
}
