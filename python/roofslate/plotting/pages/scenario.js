// The scenario of a page: what its controls and its link say, checked, and as numbers for the engine.

class Trouble extends Error {}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const OF_PAGE = ["chart", "plotted", "axis", "up"]; // members of a link that are no inputs

function nearestName(name, names) {
  const distance = (a, b) => {
    let row = Array.from({ length: b.length + 1 }, (_, k) => k);
    for (let i = 1; i <= a.length; i += 1) {
      const next = [i];
      for (let j = 1; j <= b.length; j += 1)
        next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      row = next;
    }
    return row[b.length];
  };
  const short = name.slice(0, 80).toLowerCase();
  const ranked = names.map(other => [distance(short, other.toLowerCase()), other]).sort((a, b) => a[0] - b[0]);
  return ranked.length && ranked[0][0] <= Math.max(3, short.length / 2) ? ranked[0][1] : null;
}

function unknownName(kind, name, names) {
  const near = nearestName(name, names);
  return new Trouble(`unknown ${kind} '${name.slice(0, 80)}'${near ? `. Did you mean '${near}'?` : ""}`);
}

// A value of a control in base units, a word or the name of a preset, or a Trouble that says what is wrong.
function checked(page, view, control, value) {
  if (control.kind === "preset") {
    const names = view.names[control.name];
    if (!names.includes(value)) throw unknownName(`preset for ${control.name}`, String(value), names);
    return value;
  }
  const q = page.quantities[control.name];
  if (control.kind === "choice") {
    if (!q.words.includes(value)) throw unknownName(`word for ${control.name}`, String(value), q.words);
    return value;
  }
  const [low, high] = [Number(q.low), Number(q.high)];
  const inside = (q.above ? value > low : value >= low) && value <= high && (Number.isFinite(value) || high === Infinity);
  if (!inside) throw new Trouble(`${control.name}: expected a number ${q.range}, got ${Number.isNaN(value) ? "NaN" : value}`);
  if (control.integer && !Number.isInteger(value)) throw new Trouble(`${control.name}: expected a whole number, got ${value}`);
  return value;
}

// The values in a link, as names and numbers and nothing else, with a message for each part that cannot be read.
function readFragment(fragment, page, view) {
  const found = { values: {}, options: {}, troubles: [] };
  const text = fragment.replace(/^#/, "");
  if (!text) return found;
  for (const part of text.split("&").slice(0, 500)) {
    try {
      const [name, ...rest] = part.split("=");
      let word;
      try { word = decodeURIComponent(rest.join("=")); } catch { throw new Trouble("it is not written as a link"); }
      if (!NAME.test(name)) throw new Trouble("expected name=value");
      if (OF_PAGE.includes(name)) { found.options[name] = word; continue; }
      const control = view.controls.find(one => one.name === name);
      if (!control) throw unknownName("input", name, view.controls.map(one => one.name));
      if (control.kind !== "number") { found.values[name] = checked(page, view, control, word); continue; }
      if (!NUMBER.test(word) && word !== "Infinity") throw new Trouble(`${name}: expected a number in base units, got '${word.slice(0, 80)}'`);
      found.values[name] = checked(page, view, control, Number(word));
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      found.troubles.push(`Part of the link was left out, '${part.slice(0, 80)}': ${error.message}`);
    }
  }
  return found;
}

function writeFragment(view, values, options) {
  const parts = Object.entries(options).filter(([, word]) => word).map(([name, word]) => `${name}=${encodeURIComponent(word)}`);
  for (const control of view.controls) parts.push(`${control.name}=${encodeURIComponent(String(values[control.name]))}`);
  return `#${parts.join("&")}`;
}

// Chips are the product of the parts of their layout, and tensor parallelism divides the attention heads.
function checkLayout(view, numbers) {
  if (!view.layout.length) return;
  const [chips, ...parts] = view.layout, product = parts.reduce((all, name) => all * numbers.get(name), 1);
  if (numbers.get(chips) !== product)
    throw new Trouble(`${chips} ${numbers.get(chips)}: expected ${product}, the product of ${parts.map(name => `${name} ${numbers.get(name)}`).join(", ")}`);
  const heads = numbers.get("attention_heads"), split = numbers.get(parts[0]);
  if (heads !== undefined && heads % split) throw new Trouble(`${parts[0]} ${split} does not divide the ${heads} attention heads of the model`);
}

// What the engine takes: presets, then what is given, then the calibration.
function numbersOf(page, view, values, calibration) {
  const numbers = new Map(), origin = new Map();
  const given = new Set([...Object.keys(view.fixed), ...view.controls.filter(one => one.kind !== "preset").map(one => one.name)]);
  const chosen = Object.entries(view.presets);
  for (const control of view.controls) if (control.kind === "preset") chosen.push([control.name, values[control.name]]);
  if (calibration) chosen.push(["calibration", calibration]);
  for (const [keyword, name] of chosen) {
    const replaced = view.replaced[keyword]?.[name] ?? [];
    for (const [quantity, x] of Object.entries(page.presets[keyword][name])) {
      if (given.has(quantity) || replaced.includes(quantity)) continue;
      if (numbers.has(quantity)) throw new Trouble(`${origin.get(quantity)} and ${keyword}='${name}' both supply '${quantity}'`);
      numbers.set(quantity, Number(x));
      origin.set(quantity, `${keyword}='${name}'`);
    }
  }
  for (const [name, x] of Object.entries(view.fixed)) numbers.set(name, Number(x));
  for (const control of view.controls) {
    if (control.kind === "number") numbers.set(control.name, values[control.name]);
    if (control.kind === "choice") numbers.set(control.name, page.quantities[control.name].words.indexOf(values[control.name]));
  }
  checkLayout(view, numbers);
  for (const [name, bound] of page.bounds)
    if (numbers.has(name) && numbers.has(bound) && numbers.get(name) > numbers.get(bound))
      throw new Trouble(`${name} (${numbers.get(name)}) exceeds ${bound} (${numbers.get(bound)})`);
  return numbers;
}

// The engine with the scenarios of a page, of which only what changed is set anew.
class Questions {
  constructor(engine) { this.engine = engine; this.scenarios = new Map(); }

  at(key, numbers, axes = []) {
    let known = this.scenarios.get(key);
    const names = axes.map(axis => `${axis.name} ${axis.key}`).join("; ");
    if (known && (known.axis !== names || [...known.numbers.keys()].some(name => !numbers.has(name)))) {
      known.scenario.free();
      known = undefined;
    }
    if (!known) {
      known = { scenario: this.engine.scenario(), numbers: new Map(), axis: names };
      this.scenarios.set(key, known);
      for (const axis of axes) known.scenario.axis(axis.name, axis.values);
    }
    for (const [name, x] of numbers) {
      if (axes.some(axis => axis.name === name) || Object.is(known.numbers.get(name), x)) continue;
      known.scenario.set(name, x);
      known.numbers.set(name, x);
    }
    return known.scenario;
  }

  // By output its values: one for each point of the axis, or a single one where it does not vary.
  evaluate(key, numbers, outputs, axis) {
    const result = this.at(key, numbers, axis ? [axis] : []).evaluate(outputs);
    return Object.fromEntries(outputs.map(name => [name, result[name].values]));
  }

  // The values of an output over two axes, row by row: all points of the first for each point of the second.
  surface(key, numbers, output, [across, up]) {
    const { values, axes } = this.at(key, numbers, [across, up]).evaluate([output])[output];
    const [wide, high] = [across.values.length, up.values.length];
    const step = name => axes.includes(name) ? axes.slice(axes.indexOf(name) + 1).reduce((all, later) => all * (later === up.name ? high : wide), 1) : 0;
    const [right, above] = [step(across.name), step(up.name)];
    return Float64Array.from({ length: wide * high }, (_, k) => values[(k % wide) * right + Math.floor(k / wide) * above]);
  }
}
