/**
 * Adds points in WebAssembly, for the sums of the prover. ffjavascript's own functions add to a Jacobian sum,
 * at eleven multiplications a point; these add many pairs of affine points at once, at six, since one inversion
 * does for all of them. They are put into ffjavascript's module beside its own and call its field and curve
 * functions: nothing here knows how an element is stored. Trusts its caller with lengths and pointers.
 *
 * Time depends on the scalars, as it does in ffjavascript: this is the user's own device.
 */
import type { Code, CodeBuilder, ModuleBuilder } from "ffjavascript";

/** Both groups have points at infinity that are all zero, as ffjavascript has them. */
export const GROUPS = {
  G1: { group: "g1m", field: "f1m", coordinateBytes: 32 },
  G2: { group: "g2m", field: "f2m", coordinateBytes: 64 },
} as const;

export type GroupName = keyof typeof GROUPS;

/** A pair: address[4] of the left point, address[4] of the right one. */
export const PAIR = 8;
/** A row: address[4] of the first point, count[4]. */
export const ROW = 8;

/** Names of the functions that `addKernel` adds for a group. */
export function kernelOf<Name extends GroupName>(name: Name) {
  const group: (typeof GROUPS)[Name]["group"] = GROUPS[name].group;
  return {
    addPairs: `${group}_addPairs`,
    sumRows: `${group}_sumRows`,
    sumWindow: `${group}_sumWindow`,
  } as const;
}

/** For `buildBn128`: extends its module before it is compiled. */
export function addKernel(module: ModuleBuilder): void {
  for (const name of ["G1", "G2"] as const) {
    addPairs(module, name);
    sumRows(module, name);
    sumWindow(module, name);
  }
}

/**
 * addPairs(pairs, end, work): left := left + right, for each pair in [pairs, end). No point may stand in two
 * pairs. Spoils the list of pairs; `work` takes one coordinate a pair.
 *
 * The slope of a chord is (y2 − y1) / (x2 − x1), of a tangent 3x² / 2y. The denominators are inverted
 * together (Montgomery 1987, section 10.3.1): multiply them up, invert the product once, and unwind it from the
 * last pair to the first. A sum without a slope would make the product zero, so these are settled first and
 * leave the list.
 */
function addPairs(module: ModuleBuilder, name: GroupName): void {
  const { group, field, coordinateBytes } = GROUPS[name];
  const { c, get, n, increase, whileNot, write } = begin(module, kernelOf(name).addPairs, {
    params: ["pairs", "end", "work"],
    locals: ["pair", "kept", "prefix", "x1", "x2"],
  });
  const [G, F] = [callsOf(c, group), callsOf(c, field)];
  const [product, denominator, numerator, inverse, x3] = Array.from({ length: 5 }, () =>
    n(module.alloc(coordinateBytes)),
  ) as [Code, Code, Code, Code, Code];

  const [x1, x2, prefix] = [get("x1"), get("x2"), get("prefix")];
  const y1 = c.i32_add(x1, n(coordinateBytes));
  const y2 = c.i32_add(x2, n(coordinateBytes));
  const readPair = (local: string): Code => [
    ...c.setLocal("x1", c.i32_load(get(local), 0)),
    ...c.setLocal("x2", c.i32_load(get(local), 4)),
  ];
  const sumOfYs = F("add", y1, y2, denominator);

  write(
    F("one", product),
    c.setLocal("pair", get("pairs")),
    c.setLocal("kept", get("pairs")),
    c.setLocal("prefix", get("work")),
    whileNot(c.i32_eq(get("pair"), get("end")), [
      readPair("pair"),
      increase("pair", n(PAIR)),
      // P + infinity
      c.br_if(0, G("isZeroAffine", x2)),
      // infinity + P
      c.if(G("isZeroAffine", x1), [...G("copyAffine", x2, x1), ...c.br(1)]),
      F("sub", x2, x1, denominator),
      c.if(F("isZero", denominator), [
        // The same x: the points are equal or opposite.
        ...sumOfYs,
        ...c.if(F("isZero", denominator), [...G("zeroAffine", x1), ...c.br(2)]),
      ]),
      F("copy", product, prefix),
      F("mul", product, denominator, product),
      c.setLocal("prefix", c.i32_add(prefix, n(coordinateBytes))),
      c.i32_store(get("kept"), 0, x1),
      c.i32_store(get("kept"), 4, x2),
      increase("kept", n(PAIR)),
    ]),
    c.if(c.i32_eq(get("kept"), get("pairs")), c.ret([])),

    F("inverse", product, product),
    whileNot(c.i32_eq(get("kept"), get("pairs")), [
      c.setLocal("kept", c.i32_sub(get("kept"), n(PAIR))),
      c.setLocal("prefix", c.i32_sub(prefix, n(coordinateBytes))),
      readPair("kept"),
      F("sub", x2, x1, denominator),
      c.if(
        F("isZero", denominator),
        [
          ...sumOfYs,
          ...F("square", x1, numerator),
          ...F("add", numerator, numerator, x3),
          ...F("add", x3, numerator, numerator),
        ],
        F("sub", y2, y1, numerator),
      ),
      // `product` is the inverse of all denominators up to this one, `prefix` the product of those before it.
      F("mul", product, prefix, inverse),
      F("mul", product, denominator, product),
      F("mul", numerator, inverse, numerator),
      // x3 = slope² − x1 − x2;  y3 = slope · (x1 − x3) − y1
      F("square", numerator, x3),
      F("sub", x3, x1, x3),
      F("sub", x3, x2, x3),
      F("sub", x1, x3, denominator),
      F("mul", denominator, numerator, denominator),
      F("sub", denominator, y1, y1),
      F("copy", x3, x1),
    ]),
  );
}

/**
 * sumRows(rows, end, work): the sum of each row of points, in the place of its first one; the count of a row
 * that was not empty becomes 1. Its other points are spoilt. `work` takes PAIR and one coordinate for every
 * second point of all rows.
 *
 * Neighbours are added in all rows at once, then neighbours among those sums, and so on: a batch for each
 * doubling of the distance, and nothing moves.
 */
function sumRows(module: ModuleBuilder, name: GroupName): void {
  const { c, get, n, increase, whileNot, write } = begin(module, kernelOf(name).sumRows, {
    params: ["rows", "end", "work"],
    locals: ["distance", "pair", "row", "point", "count"],
  });

  write(
    c.setLocal("distance", n(2 * GROUPS[name].coordinateBytes)),
    c.loop(
      c.setLocal("pair", get("work")),
      c.setLocal("row", get("rows")),
      whileNot(c.i32_eq(get("row"), get("end")), [
        c.setLocal("point", c.i32_load(get("row"), 0)),
        c.setLocal("count", c.i32_load(get("row"), 4)),
        // An odd one out is a sum already.
        c.i32_store(get("row"), 4, c.i32_shr_u(c.i32_add(get("count"), n(1)), n(1))),
        whileNot(c.i32_lt_u(get("count"), n(2)), [
          c.i32_store(get("pair"), 0, get("point")),
          increase("point", get("distance")),
          c.i32_store(get("pair"), 4, get("point")),
          increase("point", get("distance")),
          increase("pair", n(PAIR)),
          c.setLocal("count", c.i32_sub(get("count"), n(2))),
        ]),
        increase("row", n(ROW)),
      ]),
      c.if(c.i32_eq(get("pair"), get("work")), c.ret([])),
      c.call(kernelOf(name).addPairs, get("work"), get("pair"), get("pair")),
      c.setLocal("distance", c.i32_shl(get("distance"), n(1))),
      c.br(0),
    ),
  );
}

/**
 * sumWindow(bases, digits, count, bits, rows, sorted, tables, work, sum): Σ digits[i] · bases[i] as a Jacobian
 * point, for signed digits of two bytes with |digit| ≤ 2^(bits − 1), 2 ≤ bits ≤ 15. How long the four areas
 * must be says `areasOf`.
 *
 * Pippenger's method: the points with the same |digit| go into a bucket, and Σ |digit| · bucket remains. Bucket
 * t + 1 stands at column t mod w and line t div w of a table, where w · h is the number of buckets; so
 *
 *   Σ (t + 1) · bucket(t + 1)  =  w · Σ line · (sum of the line)  +  Σ (column + 1) · (sum of the column)
 *
 * and all but w + h of the additions are in affine coordinates again.
 *
 * Long, since it is one function of the WebAssembly module, written in its order.
 */
function sumWindow(module: ModuleBuilder, name: GroupName): void {
  const { group, field, coordinateBytes } = GROUPS[name];
  const pointBytes = 2 * coordinateBytes;
  const { c, get, n, increase, whileNot, write } = begin(module, kernelOf(name).sumWindow, {
    params: ["bases", "digits", "count", "bits", "rows", "sorted", "tables", "work", "sum"],
    locals: ["i", "digit", "row", "rowsEnd", "at", "buckets", "width", "height", "widthBits"],
  });
  const [G, F] = [callsOf(c, group), callsOf(c, field)];
  const points = (count: Code): Code => c.i32_mul(count, n(pointBytes));
  const forEach = (local: string, end: Code, body: Code[]): Code => [
    ...c.setLocal(local, n(0)),
    ...whileNot(c.i32_eq(get(local), end), [...body, increase(local, n(1))]),
  ];
  /** With `row` at the bucket of the digit; digits of zero take no part. */
  const forEachDigit = (body: Code[]): Code =>
    forEach("i", get("count"), [
      c.setLocal("digit", c.i32_load16_s(c.i32_add(get("digits"), c.i32_shl(get("i"), n(1))))),
      c.if(get("digit"), [
        ...c.setLocal(
          "row",
          c.i32_add(get("rows"), c.i32_mul(c.i32_sub(absolute(c, "digit"), n(1)), n(ROW))),
        ),
        ...body.flat(),
      ]),
    ]);
  const forEachRow = (body: Code[]): Code => [
    ...c.setLocal("row", get("rows")),
    ...whileNot(c.i32_eq(get("row"), get("rowsEnd")), [...body, increase("row", n(ROW))]),
  ];
  const rowPoint = c.i32_load(get("row"), 0);
  const rowCount = c.i32_load(get("row"), 4);
  const setRowPoint = (value: Code): Code => c.i32_store(get("row"), 0, value);
  const setRowCount = (value: Code): Code => c.i32_store(get("row"), 4, value);

  const running = n(module.alloc(3 * coordinateBytes));
  const columnsSum = n(module.alloc(3 * coordinateBytes));
  const addAll = (sum: Code): Code => [
    // wasmcurves 0.2 makes (0 : 0 : 1), which is no point, of infinity + infinity.
    ...c.if(c.i32_eqz(G("isZeroAffine", get("at"))), G("addMixed", running, get("at"), running)),
    ...G("add", sum, running, sum),
  ];

  write(
    c.setLocal("buckets", c.i32_shl(n(1), c.i32_sub(get("bits"), n(1)))),
    c.setLocal("widthBits", c.i32_shr_u(c.i32_sub(get("bits"), n(1)), n(1))),
    c.setLocal("width", c.i32_shl(n(1), get("widthBits"))),
    c.setLocal("height", c.i32_shr_u(get("buckets"), get("widthBits"))),
    c.setLocal("rowsEnd", c.i32_add(get("rows"), c.i32_mul(get("buckets"), n(ROW)))),

    // 1. Sort the points by bucket: count, lay the buckets out, place. The opposite of a point stands for it
    //    where the digit is negative.
    forEachRow([setRowCount(n(0))]),
    forEachDigit([setRowCount(c.i32_add(rowCount, n(1)))]),
    c.setLocal("at", get("sorted")),
    forEachRow([setRowPoint(get("at")), increase("at", points(rowCount))]),
    forEachDigit([
      c.setLocal("at", rowPoint),
      G("copyAffine", c.i32_add(get("bases"), points(get("i"))), get("at")),
      setRowPoint(c.i32_add(get("at"), n(pointBytes))),
      increase("at", n(coordinateBytes)),
      c.if(c.i32_lt_s(get("digit"), n(0)), F("neg", get("at"), get("at"))),
    ]),
    forEachRow([setRowPoint(c.i32_sub(rowPoint, points(rowCount)))]),

    // 2. The sum of each bucket, into the table and into its transpose: columns are rows there.
    c.call(kernelOf(name).sumRows, get("rows"), get("rowsEnd"), get("work")),
    c.setLocal("row", get("rows")),
    forEach("i", get("buckets"), [
      c.setLocal("at", c.i32_add(get("tables"), points(get("i")))),
      c.if(rowCount, G("copyAffine", rowPoint, get("at")), G("zeroAffine", get("at"))),
      G(
        "copyAffine",
        get("at"),
        c.i32_add(
          get("tables"),
          points(
            c.i32_add(
              get("buckets"),
              c.i32_add(
                c.i32_mul(c.i32_and(get("i"), c.i32_sub(get("width"), n(1))), get("height")),
                c.i32_shr_u(get("i"), get("widthBits")),
              ),
            ),
          ),
        ),
      ),
      increase("row", n(ROW)),
    ]),

    // 3. The sum of each line and of each column.
    c.setLocal("row", get("rows")),
    c.setLocal("at", get("tables")),
    ...(["height", "width"] as const).map((lines) => {
      const length = lines === "height" ? "width" : "height";
      return forEach("i", get(lines), [
        setRowPoint(get("at")),
        setRowCount(get(length)),
        increase("at", points(get(length))),
        increase("row", n(ROW)),
      ]);
    }),
    c.call(kernelOf(name).sumRows, get("rows"), get("row"), get("work")),

    // 4. Their weighted sums, from the last: what was met so far is added again at each step.
    G("zero", running),
    G("zero", get("sum")),
    c.setLocal("i", c.i32_sub(get("height"), n(1))),
    whileNot(c.i32_eqz(get("i")), [
      c.setLocal("at", c.i32_add(get("tables"), points(c.i32_mul(get("i"), get("width"))))),
      addAll(get("sum")),
      increase("i", n(-1)),
    ]),
    forEach("i", get("widthBits"), [G("double", get("sum"), get("sum"))]),
    G("zero", running),
    G("zero", columnsSum),
    c.setLocal("i", get("width")),
    whileNot(c.i32_eqz(get("i")), [
      increase("i", n(-1)),
      c.setLocal(
        "at",
        c.i32_add(get("tables"), points(c.i32_add(get("buckets"), c.i32_mul(get("i"), get("height"))))),
      ),
      addAll(columnsSum),
    ]),
    G("add", get("sum"), columnsSum, get("sum")),
  );
}

/** Bytes of what sumWindow writes into, for `count` points. */
export function areasOf(
  name: GroupName,
  count: number,
  bits: number,
): { rows: number; sorted: number; tables: number; work: number } {
  const { coordinateBytes } = GROUPS[name];
  const buckets = 2 ** (bits - 1);
  return {
    // Lines and columns may be one more than the buckets.
    rows: (buckets + 1) * ROW,
    sorted: count * 2 * coordinateBytes,
    tables: 2 * buckets * 2 * coordinateBytes,
    // Pairs in the buckets, or in both tables.
    work: Math.max(Math.ceil(count / 2), buckets) * (PAIR + coordinateBytes),
  };
}

// ---------------------------------------------------------------- how the code is written

/** A function over 32-bit numbers, with what its code is written with. */
function begin(
  module: ModuleBuilder,
  name: string,
  { params, locals }: { readonly params: readonly string[]; readonly locals: readonly string[] },
) {
  const f = module.addFunction(name);
  for (const param of params) f.addParam(param, "i32");
  for (const local of locals) f.addLocal(local, "i32");
  const c = f.getCodeBuilder();
  const get = (local: string): Code => c.getLocal(local);
  return {
    c,
    get,
    n: (value: number): Code => c.i32_const(value),
    increase: (local: string, by: Code): Code => c.setLocal(local, c.i32_add(get(local), by)),
    /** `br 0` in the body goes on with the next round. */
    whileNot: (done: Code, body: readonly Code[]): Code =>
      c.block(c.loop(c.br_if(1, done), ...body, c.br(0))),
    write: (...code: readonly Code[]): void => {
      f.addCode(...code);
      module.exportFunction(name);
    },
  };
}

/** Calls of a group's or a field's functions; operands are addresses, the result's comes last. */
function callsOf(c: CodeBuilder, prefix: string): (operation: string, ...operands: Code[]) => Code {
  return (operation, ...operands) => c.call(`${prefix}_${operation}`, ...operands);
}

function absolute(c: CodeBuilder, local: string): Code {
  const sign = c.i32_shr_s(c.getLocal(local), c.i32_const(31));
  return c.i32_sub(c.i32_xor(c.getLocal(local), sign), sign);
}
