// The engine in a page: the core of Roofslate as WebAssembly, without a server or a network (docs/development/web-engine.md).

/** A refused question. The message names the quantity, the given value and the expected one. */
export class EngineError extends Error {
  constructor(message, kind = "EngineError") {
    super(message);
    this.name = "EngineError";
    this.kind = kind; // the class of the error in Python: "MissingInput", "ValueRangeError", ...
  }
}

const OPERATORS = ["<", "<=", "==", "!=", ">=", ">"];
const WHICH = ["smallest", "largest", "all"];
const ORIGINS = ["given", "default", "formula", "quantity"];
const NOT_SUPPORTED = 52; // ENOSYS of WASI

function shown(value) {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

// Edits from one word to the other, two exchanged letters counted as one.
function distance(a, b) {
  let before = [], last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length];
}

class Engine {
  #names = [];
  #positions = new Map();
  #core;

  constructor(core) {
    this.#core = core;
    this.#names = Object.freeze(this.text(core.roofslate_names()).split("\n"));
    this.#names.forEach((name, position) => this.#positions.set(name, position));
  }

  /** The names of all quantities in the order of the registry. */
  get quantities() { return this.#names; }

  /** A scenario without inputs. */
  scenario() { return new Scenario(this, this.#core); }

  text(address) {
    const bytes = new Uint8Array(this.#core.memory.buffer), begin = address >>> 0;
    return new TextDecoder().decode(bytes.subarray(begin, bytes.indexOf(0, begin)));
  }

  position(name) {
    const position = this.#positions.get(name);
    if (position !== undefined) return position;
    const word = typeof name === "string" ? name.slice(0, 100) : "";
    const nearest = this.#names.map(known => [distance(word, known), known]).sort((a, b) => a[0] - b[0])[0];
    const near = nearest[0] <= Math.max(2, word.length / 3) ? `, did you mean '${nearest[1]}'?` : "";
    throw new EngineError(`unknown quantity ${shown(name)}${near}`, "UnknownName");
  }
}

/** Inputs of a model, and what is asked of them. Numbers are in SI units, a choice is the position of its word. */
class Scenario {
  #engine;
  #core;
  #scenario;
  #axes = []; // names and sizes, in the engine's order
  #views = []; // addresses of the last call's results

  constructor(engine, core) {
    this.#engine = engine;
    this.#core = core;
    this.#scenario = core.roofslate_scenario();
  }

  /** Sets an input to a number; an axis of that name goes. */
  set(name, value) {
    const quantity = this.#position(name), x = this.#number(name, value);
    this.#answer(this.#core.roofslate_set(this.#scenario, quantity, x));
    this.#axes = this.#axes.filter(axis => axis.name !== name);
    return this;
  }

  /** Sets an input to several numbers, along an axis of its name. */
  axis(name, values) {
    const quantity = this.#position(name);
    if (!Array.isArray(values) && !ArrayBuffer.isView(values)) throw new EngineError(`${name}: expected an array of numbers, got ${shown(values)}`, "InputTypeError");
    const numbers = Float64Array.from(values, value => this.#number(name, value));
    this.#with([numbers.length * 8], ([address]) => {
      this.#doubles(address, numbers.length).set(numbers);
      this.#answer(this.#core.roofslate_axis(this.#scenario, quantity, address, numbers.length));
    });
    const known = this.#axes.find(axis => axis.name === name);
    if (known) known.size = numbers.length;
    else this.#axes.push({ name, size: numbers.length });
    return this;
  }

  /**
   * Values of quantities, each over the axes that it varies along, the last one fastest. A `view` is of the engine's
   * memory, without a copy, and good until its next call.
   */
  evaluate(outputs, { view = false } = {}) {
    const quantities = this.#positions(outputs);
    const axes = this.#axesOf(quantities);
    const sizes = axes.map(own => own.reduce((product, axis) => product * axis.size, 1));
    this.#releaseViews();
    const results = this.#allocate(sizes.map(size => size * 8));
    this.#views = results;
    try {
      this.#with([quantities.length * 4, quantities.length * 4], ([asked, pointers]) => {
        this.#integers(asked, quantities.length).set(quantities);
        this.#integers(pointers, quantities.length).set(results);
        this.#answer(this.#core.roofslate_evaluate(this.#scenario, asked, quantities.length, pointers));
      });
      return Object.fromEntries(outputs.map((name, k) => {
        const values = this.#doubles(results[k], sizes[k]);
        return [name, { values: view ? values : values.slice(), axes: axes[k].map(axis => axis.name) }];
      }));
    } finally {
      if (!view) this.#releaseViews();
    }
  }

  /** The smallest or largest value over all axes and where it is, or null where no point meets the conditions. */
  best(output, { maximize = false, where = [] } = {}) {
    const quantity = this.#position(output);
    const conditions = where.map(one => this.#condition(one.quantity, one.operator, one.value));
    return this.#with([conditions.length * 4, conditions.length * 4, conditions.length * 8], ([quantities, operators, values]) => {
      this.#integers(quantities, conditions.length).set(conditions.map(one => one.quantity));
      this.#integers(operators, conditions.length).set(conditions.map(one => one.operator));
      this.#doubles(values, conditions.length).set(conditions.map(one => one.value));
      this.#answer(this.#core.roofslate_best(this.#scenario, quantity, maximize ? 1 : 0, conditions.length, quantities, operators, values));
      const [exists, value, ...position] = this.#doubles(this.#core.roofslate_numbers(), 2 + this.#axes.length);
      return exists ? { value, at: Object.fromEntries(this.#axes.map((axis, k) => [axis.name, position[k]])) } : null;
    });
  }

  /**
   * Where an input, which is not set, makes a comparison true: the smallest, the largest or all such values. The reason
   * is empty where there is one. Along axes there are values and reasons for each point.
   */
  solve(input, output, operator, target, options = {}) {
    const given = typeof options === "string" ? options : options.at ?? WHICH.find(which => options[which]) ?? WHICH[0];
    const which = WHICH.indexOf(given);
    if (which < 0) throw new EngineError(`solve: ${shown(given)} is unknown, expected ${WHICH.join(", ")}`, "InputTypeError");
    const unknown = this.#position(input), condition = this.#condition(output, operator, target);
    const each = this.#answer(this.#core.roofslate_solve(this.#scenario, unknown, condition.quantity, condition.operator, condition.value, which));
    const address = this.#core.roofslate_numbers() >>> 0;
    const [size, axes] = this.#doubles(address, 2);
    const values = this.#doubles(address + 16, size).slice();
    const reasons = this.#engine.text(this.#core.roofslate_text()).split("\n");
    const own = this.#named(axes).map(axis => axis.name);
    if (own.length) return given === "all" ? { roots: values, each, reasons, axes: own } : { values, reasons, axes: own };
    return given === "all" ? { roots: values.filter(root => !Number.isNaN(root)), reason: reasons[0] } : { value: values[0], reason: reasons[0] };
  }

  /**
   * Derivatives of a quantity by inputs, each over the same axes, which the result has as `axes` (not enumerable). They
   * are those of the quantity, and those that it has where a factor is not the 0 that it happens to be.
   */
  derivatives(output, inputs) {
    const quantity = this.#position(output), by = this.#positions(inputs);
    return this.#with([by.length * 4], ([asked]) => {
      this.#integers(asked, by.length).set(by);
      this.#answer(this.#core.roofslate_derivatives(this.#scenario, quantity, asked, by.length));
      const address = this.#core.roofslate_numbers() >>> 0;
      const axes = this.#named(this.#doubles(address, 1)[0]);
      const size = axes.reduce((product, axis) => product * axis.size, 1);
      const result = Object.fromEntries(inputs.map((name, k) => [name, this.#doubles(address + 8 * (1 + k * size), size).slice()]));
      return Object.defineProperty(result, "axes", { value: axes.map(axis => axis.name) });
    });
  }

  /**
   * The derivation of a quantity at one point: the quantity first, each step before those that it needs. `formula` is the
   * position of the quantity whose formula or value it is, and of the step itself where nothing else is; `condition` is
   * the position of the quantity that binds in a max or min, or null; `text` and `remark` say both in words.
   */
  explain(output) {
    const count = this.#answer(this.#core.roofslate_explain(this.#scenario, this.#position(output)));
    const values = this.#doubles(this.#core.roofslate_numbers(), count).slice();
    const names = this.#engine.quantities;
    return this.#engine.text(this.#core.roofslate_text()).split("\n").map((line, k) => {
      const [quantity, formula, condition, origin, needs, text, remark] = line.split("\t");
      return {
        name: names[quantity],
        value: values[k],
        formula: Number(formula) < 0 ? Number(quantity) : Number(formula),
        condition: Number(condition) < 0 ? null : Number(condition),
        needs: needs ? needs.split(",").map(need => names[need]) : [],
        basis: ORIGINS[origin],
        text,
        remark,
      };
    });
  }

  /** Gives its memory back; afterwards it answers nothing. */
  free() {
    this.#releaseViews();
    if (this.#scenario) this.#core.roofslate_free(this.#scenario);
    this.#scenario = 0;
    this.#axes = [];
  }

  #position(name) {
    if (!this.#scenario) throw new EngineError("this scenario was freed");
    return this.#engine.position(name);
  }

  #positions(names) {
    if (!Array.isArray(names) || !names.length) throw new EngineError(`expected a list of names of quantities, got ${shown(names)}`, "InputTypeError");
    return names.map(name => this.#position(name));
  }

  #number(name, value) {
    if (typeof value !== "number" || Number.isNaN(value)) throw new EngineError(`${name}: expected a number, got ${shown(value)}`, "InputTypeError");
    return value;
  }

  #condition(name, operator, value) {
    const quantity = this.#position(name), position = OPERATORS.indexOf(operator);
    if (position < 0) throw new EngineError(`${name}: unknown operator ${shown(operator)}, expected ${OPERATORS.join(", ")}`, "InputTypeError");
    return { quantity, operator: position, value: this.#number(name, value) };
  }

  #axesOf(quantities) {
    return this.#with([quantities.length * 4, quantities.length * 4], ([asked, sets]) => {
      this.#integers(asked, quantities.length).set(quantities);
      this.#answer(this.#core.roofslate_axes(this.#scenario, asked, quantities.length, sets));
      return Array.from(this.#integers(sets, quantities.length), set => this.#named(set));
    });
  }

  #named(set) { return this.#axes.filter((_, k) => (set >> k) & 1); }

  #answer(result) {
    if (result >= 0) return result;
    const [kind, ...message] = this.#engine.text(this.#core.roofslate_text()).split("\t");
    throw new EngineError(message.join("\t"), kind);
  }

  // Memory of the engine for as long as a call lasts. Views are made after all of it is there: it moves when it grows.
  #with(sizes, use) {
    const addresses = this.#allocate(sizes);
    try {
      return use(addresses);
    } finally {
      this.#release(addresses);
    }
  }

  #allocate(sizes) {
    const addresses = [];
    for (const size of sizes) {
      const address = size < 2 ** 32 ? this.#core.roofslate_allocate(size) >>> 0 : 0;
      if (!address) {
        this.#release(addresses);
        throw new EngineError(`the question takes ${sizes.reduce((a, b) => a + b, 0)} bytes, more than the engine can have`, "OutOfMemory");
      }
      addresses.push(address);
    }
    return addresses;
  }

  #release(addresses) { for (const address of addresses) this.#core.roofslate_release(address); }

  #releaseViews() {
    this.#release(this.#views);
    this.#views = [];
  }

  #doubles(address, count) { return new Float64Array(this.#core.memory.buffer, address >>> 0, count); }

  #integers(address, count) { return new Uint32Array(this.#core.memory.buffer, address >>> 0, count); }
}

/**
 * The engine from the bytes of engine.wasm. It asks for nothing else: no network, no file, no thread.
 */
export async function loadEngine(bytes) {
  let core;
  const imports = {};
  const module = await WebAssembly.compile(bytes).catch(error => {
    throw new EngineError(`engine.wasm is damaged or this browser cannot run it: ${error.message}`);
  });
  const known = {
    clock_time_get(_, __, address) {
      new BigUint64Array(core.memory.buffer, address, 1)[0] = BigInt(Math.round(1e6 * globalThis.performance.now()));
      return 0;
    },
    proc_exit(status) { throw new EngineError(`the engine stopped with status ${status}`); },
    emscripten_notify_memory_growth() {},
  };
  // Files, the environment and the like: there are none.
  for (const { module: group, name, kind } of WebAssembly.Module.imports(module))
    if (kind === "function")
      (imports[group] ??= {})[name] = known[name] ?? (() => (group === "env" ? -NOT_SUPPORTED : NOT_SUPPORTED));
  core = (await WebAssembly.instantiate(module, imports)).exports;
  core._initialize?.();
  return new Engine(core);
}
