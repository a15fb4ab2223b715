// Lint rules of the whole project. What imports cannot show, globals and computed imports, is
// forbidden here for the measured code; test/contract/borders/lint.test.ts plants each one.
import prettier from "eslint-config-prettier";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const TYPESCRIPT = ["**/*.{ts,tsx}"];
const MEASURED = ["enclave/**/*.ts", "shared/protocol/**/*.ts"];

const forbid = (names, message) => names.map((name) => ({ name, message }));

/**
 * Globals that reach outside the measured program, or that tell it the time. The enclave takes
 * randomness, time and sockets from platform.ts alone, so that a reviewer sees every input there.
 */
const outsideWorld = {
  process: forbid(["process"], "The environment enters through run.ts and the platform only."),
  clock: forbid(["Date", "performance"], "The measured code has no clock; time comes from the platform."),
  timers: forbid(
    ["setTimeout", "setInterval", "setImmediate"],
    "A timer is a clock; deadlines belong to the caller.",
  ),
  rest: [
    ...forbid(
      ["globalThis", "global", "self", "window"],
      "An alias of the global object hides what is used from the other rules.",
    ),
    ...forbid(
      ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "navigator"],
      "The measured code opens no connection and starts no worker.",
    ),
    ...forbid(["crypto"], "Randomness comes from the platform; hashes from node:crypto or noble."),
    ...forbid(["require", "module"], "Only static imports are seen by the import rules."),
    ...forbid(["console"], "The measured code writes no log: a log line can carry a secret out."),
  ],
  compiled: forbid(["WebAssembly"], "Compiled code is the pairings of bn254.ts, and no other."),
};

const measuredGlobals = (...groups) => ["error", ...groups.flat()];
const { process: environment, clock, timers, rest, compiled } = outsideWorld;

const noRandom = {
  object: "Math",
  property: "random",
  message: "Not a source of secrets, and not repeatable: use crypto, the platform, or a seeded generator.",
};

// What waits by the clock is red on a slow machine and late on a fast one.
const TIME_LIMITS = [
  {
    selector:
      ":matches(Property[key.name=/(timeout|deadline)Ms$/i] > Literal, AssignmentPattern[left.name=/(timeout|deadline)Ms$/i] > Literal, VariableDeclarator[id.name=/(WITHIN|DEADLINE|TIMEOUT)_MS$/] > Literal)[raw=/^\\d{1,2}_?\\d{3}$/]",
    message:
      "A busy machine meets this limit: PATIENCE_MS if it must not run out, below a second if it must.",
  },
  {
    selector:
      "BinaryExpression[operator=/^[<>]=?$/] > BinaryExpression[operator='-'] > CallExpression[callee.property.name='now']",
    message: "Count events, or measure in a benchmark.",
  },
  {
    selector:
      "BinaryExpression[operator=/^[<>]=?$/] > MemberExpression[property.name=/^(ms|tookMs|elapsedMs)$/]",
    message: "Count events or the clocks that ran out (test/support/clocks.ts), or measure in a benchmark.",
  },
  {
    selector: "MemberExpression[property.name='memoryUsage']",
    message: "Measure memory in a benchmark.",
  },
];
const SLEEPS = [
  "NewExpression[callee.name='Promise'] CallExpression[callee.name='setTimeout'][arguments.0.type='Identifier'][arguments.1.type='Literal']",
  "ImportDeclaration[source.value='node:timers/promises'] ImportSpecifier[imported.name='setTimeout']",
].map((selector) => ({
  selector,
  message: "Wait for what comes (test/support/until.ts), for a marker behind it, or move a clock.",
}));

export default defineConfig(
  globalIgnores(["**/node_modules/", "**/dist/", "coverage/", ".cloister/"]),
  { linterOptions: { reportUnusedDisableDirectives: "error" } },

  // Everywhere, JavaScript included.
  {
    files: ["**/*.{ts,js,mjs,cjs}"],
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-new-func": "error",
      "no-script-url": "error",
      "no-var": "error",
      "prefer-const": "error",
      "object-shorthand": "error",
      "no-restricted-properties": ["error", noRandom],
    },
  },
  {
    files: ["**/*.{js,mjs,cjs}"],
    rules: { "no-unused-vars": "error", "no-implied-eval": "error" },
  },

  {
    files: TYPESCRIPT,
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/ban-ts-comment": [
        "error",
        { "ts-expect-error": true, "ts-ignore": true, "ts-nocheck": true, "ts-check": false },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      // A `default` branch does not count: a new member of a union must show up at every switch.
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: false, requireDefaultForNonUnion: false },
      ],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],

      // `erasableSyntaxOnly` allows no enum; of all rules this one takes the longest.
      "@typescript-eslint/no-unsafe-enum-assignment": "off",

      // The strict set, made useful: numbers and bigints print well in texts, …
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      // … `() => server.close()` is readable, …
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      // … `while (true)` says what it does, …
      "@typescript-eslint/no-unnecessary-condition": [
        "error",
        { allowConstantLoopConditions: "only-allowed-literals" },
      ],
      // … and `async` without await turns a throw into the rejection its interface promises.
      "@typescript-eslint/require-await": "off",
      // noUncheckedIndexedAccess makes `bytes[i]!` inside a checked loop the plain way to index.
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },

  {
    files: ["proxy/**/*.ts", "enclave/**/*.ts", "shared/**/*.ts"],
    rules: { "no-console": "error" },
  },

  // What is measured. A comment cannot switch these off: directives are not read here.
  {
    files: MEASURED,
    linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: "off" },
    rules: {
      "no-restricted-globals": measuredGlobals(environment, clock, timers, rest, compiled),
      "no-restricted-properties": [
        "error",
        noRandom,
        ...["constructor", "__proto__"].map((property) => ({
          property,
          message: "Reaches Function, which is eval by another name.",
        })),
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "ImportExpression", message: "A computed import escapes the import rules." },
        { selector: "MetaProperty[property.name='meta']", message: "Paths are told by run.ts." },
        { selector: "DebuggerStatement", message: "No debug path in the measured code." },
      ],
    },
  },
  // The named exceptions: boot reads its settings, the platform is where the outside world enters.
  {
    files: ["enclave/run.ts"],
    rules: {
      "no-restricted-globals": measuredGlobals(clock, timers, rest, compiled),
      "no-restricted-syntax": [
        "error",
        { selector: "ImportExpression", message: "A computed import escapes the import rules." },
      ],
    },
  },
  {
    files: ["enclave/nitro.ts"],
    rules: { "no-restricted-globals": measuredGlobals(rest, compiled) },
  },
  // It loads the one compiled file, which lies beside it.
  {
    files: ["enclave/bn254.ts"],
    rules: {
      "no-restricted-globals": measuredGlobals(environment, clock, timers, rest),
      "no-restricted-syntax": [
        "error",
        { selector: "ImportExpression", message: "A computed import escapes the import rules." },
      ],
    },
  },

  {
    files: ["test/**/*.ts"],
    rules: {
      // A test may draw at random (it prints its seed) and reads answers nobody has typed.
      "no-restricted-properties": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/unbound-method": "off",
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: { "no-restricted-syntax": ["error", ...TIME_LIMITS] },
  },
  // Drawn scenarios let real time pass, and a page that measures has nobody to ask.
  {
    files: ["test/**/*.ts"],
    ignores: ["test/faults/seeded/**", "test/browser/*-page.ts"],
    rules: { "no-restricted-syntax": ["error", ...TIME_LIMITS, ...SLEEPS] },
  },
  prettier,
);
