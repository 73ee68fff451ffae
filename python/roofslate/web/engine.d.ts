/** A refused question. The message names the quantity, the given value and the expected one. */
export declare class EngineError extends Error {
  constructor(message: string, kind?: string);
  /** The class of the error in Python, such as "MissingInput" or "ValueRangeError". */
  readonly kind: string;
}

export type Operator = "<" | "<=" | "==" | "!=" | ">=" | ">";

/** A quantity compared with a number, in SI units. */
export interface Comparison {
  quantity: string;
  operator: Operator;
  value: number;
}

/** Values over axes, the last axis fastest. */
export interface Values {
  values: Float64Array;
  axes: string[];
}

export interface Optimum {
  value: number;
  /** By axis, the position along it. */
  at: Record<string, number>;
}

/** Why there is no solution: empty, or "never", "always", "undefined", "undecided: ...", "many: ...". */
export type Reason = string;

export interface Solution {
  /** NaN where there is none. */
  value: number;
  reason: Reason;
}

export interface AllSolutions {
  roots: Float64Array;
  reason: Reason;
}

/** Solutions for each point of the other axes. */
export interface SolutionsOverAxes {
  values: Float64Array;
  reasons: Reason[];
  axes: string[];
}

/** All solutions for each point of the other axes, `each` numbers a point, NaN after the last one. */
export interface AllSolutionsOverAxes {
  roots: Float64Array;
  each: number;
  reasons: Reason[];
  axes: string[];
}

export interface Step {
  name: string;
  /** In SI units; of a choice, the position of its word. */
  value: number;
  /** Position of the quantity whose formula or value it is, such as the one that stands in; otherwise its own. */
  formula: number;
  /** Position of the quantity that binds in a max or min. */
  condition: number | null;
  /** The quantities that decide the value here, in the formula's order. */
  needs: string[];
  /** Where the value comes from; "quantity": from another one that stands in. */
  basis: "given" | "default" | "formula" | "quantity";
  /** The formula that choices leave, in names. */
  text: string;
  /** What max, min and choices decided, in words. */
  remark: string;
}

/** Inputs of a model, and what is asked of them. Numbers are in SI units, a choice is the position of its word. */
export declare class Scenario {
  set(name: string, value: number): this;
  /** An input along an axis of its own, which has its name. */
  axis(name: string, values: ArrayLike<number> & Iterable<number>): this;
  /** Values over axes. A `view` is of the engine's memory, without a copy, and good until the engine's next call. */
  evaluate<Name extends string>(outputs: readonly Name[], options?: { view?: boolean }): Record<Name, Values>;
  /** The optimum over all axes; null where no point meets the conditions. */
  best(output: string, options?: { maximize?: boolean; where?: readonly Comparison[] }): Optimum | null;
  solve(
    input: string,
    output: string,
    operator: Exclude<Operator, "!=">,
    target: number,
    options?: "smallest" | "largest" | "all" | { at?: "smallest" | "largest" | "all"; smallest?: boolean; largest?: boolean; all?: boolean },
  ): Solution | AllSolutions | SolutionsOverAxes | AllSolutionsOverAxes;
  /** Slopes over the axes of the result, those of the output as a rule. `axes` is not enumerable. */
  derivatives<Name extends string>(output: string, inputs: readonly Name[]): Record<Name, Float64Array> & { readonly axes: string[] };
  /** The derivation at one point: the quantity first, each step before those that it needs. */
  explain(output: string): Step[];
  free(): void;
}

export declare class Engine {
  /** The names of all quantities in the order of the registry. */
  readonly quantities: readonly string[];
  scenario(): Scenario;
}

/** The engine from the bytes of engine.wasm. It asks for nothing else: no network, no file, no thread. */
export declare function loadEngine(bytes: Uint8Array | ArrayBuffer): Promise<Engine>;
