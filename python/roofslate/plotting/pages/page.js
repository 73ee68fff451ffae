// A page of Roofslate: controls, numbers, chart and derivation of one view or several, all computed here.

const STEPS = 240; // of a slider
const MOST_POINTS = 100; // of a heat map along an axis
const STEPS_SHOWN = 6; // of a derivation, the others on request
const DASH = "\u2013", APPROXIMATELY = "\u2248";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "dataset") Object.assign(made.dataset, value);
    else if (name in made && !["list", "form"].includes(name)) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter(child => child !== null));
  return made;
}

// Markup that Python made: formulas as MathML.
function formula(markup) {
  const template = document.createElement("template");
  template.innerHTML = markup;
  return template.content;
}

function thinned(points, most) {
  const stride = Math.ceil(points.length / most);
  return stride > 1 ? points.filter((_, k) => k % stride === 0) : points;
}

// Whether a scale of these places is logarithmic: they grow by factors.
function growsByFactors(places) {
  const [first, last] = [places[0], places.at(-1)];
  const even = places.length > 2 && Math.abs((places[1] - places[0]) / (last - places.at(-2)) - 1) < 1e-3;
  return first > 0 && last / first >= 8 && !even;
}

class Track {
  constructor({ low, high, spacing, integral, digits }) { Object.assign(this, { low, high, spacing, integral, digits }); }

  get steps() { return this.spacing === "whole" ? this.high - this.low : STEPS; }

  at(step) {
    if (step <= 0) return this.low;
    if (step >= this.steps) return this.high;
    if (this.spacing === "whole") return this.low + step;
    if (this.spacing === "log") return this.low * (this.high / this.low) ** (step / STEPS);
    return this.low + (this.high - this.low) * step / STEPS;
  }

  stepOf(x) {
    const clipped = Math.min(Math.max(x, this.low), this.high);
    if (this.spacing === "whole") return Math.round(clipped - this.low);
    const share = this.spacing === "log" ? Math.log(clipped / this.low) / Math.log(this.high / this.low) : (clipped - this.low) / (this.high - this.low);
    return Math.round(STEPS * share);
  }

  rounded(x, unit, units) {
    const near = units.parse(units.format(this.integral ? Math.round(x) : x, unit, this.digits), unit);
    return Math.min(Math.max(this.integral ? Math.round(near) : near, this.low), this.high);
  }

  points() { return Float64Array.from({ length: this.steps + 1 }, (_, k) => this.at(k)); }
}

class View {
  constructor(page, spec, units, questions, level) {
    Object.assign(this, { page, spec, units, questions, level });
    this.start = Object.fromEntries(spec.controls.map(one => [one.name, one.kind === "number" ? Number(one.value) : one.value]));
    this.values = { ...this.start };
    this.tracks = Object.fromEntries(spec.controls.filter(one => one.track).map(one => [one.name, new Track(one.track)]));
    this.parts = {};
    this.group = 0;
    this.axis = spec.axis;
    this.up = spec.up;
    this.map = 0;
    this.hovered = null;
    this.derived = spec.outputs[0];
    this.variants = spec.variants;
    this.root = this.build();
  }

  quantity(name) { return this.page.quantities[name]; }

  text(name, x, digits = 4) {
    const q = this.quantity(name);
    if (q.words.length) return q.words[x]?.replaceAll("_", " ") ?? "undefined";
    if (Number.isNaN(x)) return "undefined";
    return x === Infinity ? "never" : this.units.format(x, q.unit, digits);
  }

  heading(words, below = 0) { return element(`h${this.level + below}`, { textContent: words }); }

  build() {
    const form = element("form", { className: "inputs", onsubmit: event => event.preventDefault() }, this.heading("Inputs"));
    form.setAttribute("aria-label", "Inputs");
    for (const control of this.spec.controls) form.append(this.control(control));
    const buttons = element("div", { className: "buttons" });
    const button = (words, act) => buttons.append(element("button", { type: "button", textContent: words, onclick: act }));
    if (this.spec.controls.length) {
      button("Reset", () => this.reset());
      button("Copy link", () => this.copy(this.link(), "The link to this scenario is copied."));
    }
    if (this.spec.code) button("Copy as Python", () => this.copy(this.code(), "The scenario is copied as Python."));
    form.append(buttons);
    this.copied = element("p", { className: "status", role: "status" });
    form.append(this.copied);

    this.trouble = element("div", { className: "trouble", role: "alert" });
    this.table = element("table", { className: "numbers" });
    this.said = element("p", { className: "status", role: "status" });
    this.binding = element("p", { className: "binding" });
    this.basis = element("p", { className: "note" });
    const results = element("div", { className: "results" }, this.trouble, this.heading("Results"), this.table, this.binding, this.basis, this.said);
    if (this.spec.groups.length && this.page.figure) results.append(...this.figure());
    if (this.spec.variants.length && this.questions) results.append(...this.derivation());
    if (this.spec.code) {
      this.source = element("textarea", { readOnly: true, spellcheck: false, rows: 8, className: "code" });
      this.source.setAttribute("aria-label", "This scenario as Python");
      results.append(element("details", {}, element("summary", { textContent: "This scenario as Python" }), this.source));
    }
    return element("div", { className: "columns" }, form, results);
  }

  control(control) {
    const q = this.quantity(control.name), label = control.label, id = `input-${this.spec.name}-${control.name}`;
    const box = element("div", { className: "control" });
    const parts = (this.parts[control.name] = {});
    const named = element("label", { htmlFor: id, textContent: label });
    parts.trouble = element("p", { className: "trouble", id: `${id}-trouble` });
    if (control.kind === "number") {
      parts.field = element("input", { type: "text", id, inputMode: "text", autocomplete: "off", spellcheck: false });
      parts.field.setAttribute("aria-describedby", `${id}-trouble`);
      parts.field.title = `${q.brief}: ${q.range}`;
      parts.field.addEventListener("change", () => this.typed(control, parts.field.value));
      box.append(element("div", { className: "head" }, named, parts.field));
      const track = this.tracks[control.name];
      if (track) {
        parts.slider = element("input", { type: "range", min: 0, max: track.steps, step: 1 });
        parts.slider.setAttribute("aria-label", `${label}, slider`);
        parts.slider.addEventListener("input", () => this.slid(control, Number(parts.slider.value)));
        box.append(parts.slider);
      }
    } else {
      const words = control.kind === "preset" ? this.spec.names[control.name] : q.words;
      parts.menu = element("select", { id }, ...words.map(word => element("option", { value: word, textContent: control.kind === "choice" ? word.replaceAll("_", " ") : word })));
      parts.menu.addEventListener("change", () => this.move(control.name, parts.menu.value));
      box.append(named, parts.menu);
    }
    if (q?.brief) box.append(element("p", { className: "note", textContent: q.brief }));
    box.append(parts.trouble);
    return box;
  }

  figure() {
    const groups = element("select"), ups = element("select");
    const choices = this.axes();
    const axes = element("select", {}, ...choices.map(name => element("option", { value: name, textContent: this.quantity(name).label, selected: name === this.axis?.name })));
    groups.addEventListener("change", () => { this[this.up ? "map" : "group"] = Number(groups.value); this.update(); });
    ups.addEventListener("change", () => { this.useUp(ups.value); this.update(); });
    axes.addEventListener("change", () => { this.useAxis(axes.value); this.update(); });
    const pick = (words, menu) => element("label", {}, words, menu);
    this.menus = { groups, axes, ups, shown: pick("Shown ", groups), also: pick("and ", ups) };
    this.fillMenus();
    const help = element("p", { className: "note", id: `keys-${this.spec.name}`, textContent: "Arrow keys move the point of the chart, Enter moves the inputs there, Escape moves it back." });
    this.target = element("div", { className: "chart", role: "application", tabIndex: 0 });
    this.target.setAttribute("aria-roledescription", "chart");
    this.target.setAttribute("aria-describedby", help.id);
    this.target.addEventListener("keydown", event => { if (this.pressed(event.key, event.shiftKey ? 10 : 1)) event.preventDefault(); });
    this.target.addEventListener("blur", () => this.hover(null));
    this.spot = element("p", { className: "spot" });
    this.legend = element("ul", { className: "legend" });
    this.samples = element("table", { className: "samples" });
    const details = element("details", {}, element("summary", { textContent: "Numbers of the chart" }), element("div", { className: "wide" }));
    details.firstChild.nextSibling.tabIndex = 0;
    details.firstChild.nextSibling.setAttribute("role", "region");
    details.firstChild.nextSibling.setAttribute("aria-label", "Numbers of the chart");
    details.addEventListener("toggle", () => this.fillSamples());
    this.details = details;
    return [
      this.heading("Chart"),
      element("div", { className: "choose" }, this.menus.shown, ...(choices.length > 1 ? [pick("By ", axes), this.menus.also] : [])),
      this.target, this.spot, this.legend, help, details,
    ];
  }

  derivation() {
    const menu = element("select", {}, ...this.spec.outputs.map(name => element("option", { value: name, textContent: this.quantity(name).label })));
    menu.addEventListener("change", () => { this.derived = menu.value; this.derive(); });
    const which = element("select", {}, ...this.variants.map(one => element("option", { value: one.key, textContent: one.label || "value" })));
    which.addEventListener("change", () => { this.derivedVariant = which.value; this.derive(); });
    this.derivedVariant = this.variants.at(-1).key;
    which.value = this.derivedVariant;
    this.steps = element("ol", { className: "steps" });
    this.more = element("details");
    this.place = element("p", { className: "note" });
    const pick = (words, box) => element("label", {}, words, box);
    return [this.heading("Derivation"), element("div", { className: "choose" }, pick("Of ", menu), ...(this.variants.length > 1 ? [pick("As ", which)] : [])), this.place, this.steps, this.more];
  }

  axes() {
    const movable = this.spec.controls.filter(one => one.kind === "number" && one.track && !this.spec.layout.includes(one.name)).map(one => one.name);
    return [...new Set([...[this.spec.axis, this.spec.up].filter(Boolean).map(axis => axis.name), ...movable])];
  }

  // Vertical axes of a heat map. Of two inputs that bound each other only one varies.
  ups() {
    const bounded = name => this.page.bounds.some(pair => pair.includes(name) && pair.includes(this.axis?.name));
    return this.axes().filter(name => name !== this.axis?.name && !bounded(name));
  }

  // What a heat map can show: an output, as bound or estimate.
  maps() { return this.spec.groups.flat().flatMap(name => this.variants.filter(one => one.outputs.includes(name)).reverse().map(variant => ({ name, variant }))); }

  fillMenus() {
    if (!this.menus) return;
    const { groups, ups, shown, also } = this.menus, label = name => this.quantity(name).label;
    const option = (value, words, selected) => element("option", { value: String(value), textContent: words, selected });
    const words = this.up ? this.maps().map(({ name, variant }) => label(name) + (variant.label ? `, ${variant.label}` : "")) : this.spec.groups.map(group => group.map(label).join(", "));
    groups.replaceChildren(...words.map((text, k) => option(k, text, k === (this.up ? this.map : this.group))));
    ups.replaceChildren(option("", "value", !this.up), ...this.ups().map(name => option(name, label(name), name === this.up?.name)));
    shown.hidden = words.length < 2;
    also.hidden = !this.ups().length;
  }

  useAxis(name) {
    this.axis = this.axisOf(name);
    if (this.up && !this.ups().includes(this.up.name)) this.up = null;
    if (this.menus) this.menus.axes.value = name;
    this.hovered = null;
    this.fillMenus();
  }

  useUp(name) {
    const plotted = this.plotted;
    this.up = this.axisOf(name);
    this.show(plotted);
    this.hovered = null;
    this.fillMenus();
  }

  axisOf(name) { return [this.spec.axis, this.spec.up].find(axis => axis && axis.name === name) ?? (name ? { name } : null); }

  // The first quantity of what is drawn.
  get plotted() { return this.up ? this.maps()[this.map].name : this.spec.groups[this.group]?.[0]; }

  show(name) {
    const [map, group] = [this.maps().findIndex(one => one.name === name), this.spec.groups.findIndex(names => names.includes(name))];
    if (map >= 0) this.map = map;
    if (group >= 0) this.group = group;
  }

  // The points of an axis: those of the spec, or along the slider.
  points(axis = this.axis) {
    if (!axis) return null;
    axis.points ??= axis.values ? Float64Array.from(axis.values, Number) : this.tracks[axis.name].points();
    return axis.points;
  }

  // Those points that exceed nothing and are exceeded by nothing.
  pointsWithin(numbers, axis = this.axis) {
    const { name } = axis;
    const limits = this.page.bounds.filter(pair => pair.includes(name));
    return this.points(axis).filter(x => limits.every(([lesser, bound]) =>
      lesser === name ? !(numbers.has(bound) && x > numbers.get(bound)) : !(numbers.has(lesser) && numbers.get(lesser) > x)));
  }

  read(fragment) {
    const link = readFragment(fragment, this.page, this.spec);
    this.values = { ...this.start, ...link.values };
    const { axis, up, plotted } = link.options;
    const unknown = (kind, name, names) => link.troubles.push(`Part of the link was left out: ${unknownName(kind, name, names).message}`);
    if (axis && this.axes().includes(axis)) this.useAxis(axis);
    else if (axis) unknown("axis", axis, this.axes());
    if (up === "value" || this.ups().includes(up)) this.useUp(up === "value" ? "" : up);
    else if (up) unknown("axis", up, this.ups());
    this.show(plotted);
    this.fillMenus();
    return link.troubles;
  }

  link() {
    const options = { chart: this.page.views.length > 1 ? this.spec.name : "", plotted: this.plotted !== this.spec.groups[0]?.[0] ? this.plotted : "", axis: this.axis && this.axis !== this.spec.axis ? this.axis.name : "", up: this.up === this.spec.up ? "" : this.up?.name ?? "value" };
    return location.href.split("#")[0] + writeFragment(this.spec, this.values, options);
  }

  reset() { this.values = { ...this.start }; for (const name of Object.keys(this.parts)) this.complain(name, ""); this.useAxis(this.spec.axis?.name); this.useUp(this.spec.up?.name); this.update(); }

  complain(name, words) {
    const parts = this.parts[name];
    parts.trouble.textContent = words;
    if (parts.field) parts.field.setAttribute("aria-invalid", String(Boolean(words)));
  }

  typed(control, text) {
    try {
      const q = this.quantity(control.name);
      this.move(control.name, this.units.parse(text.replace(APPROXIMATELY, "").trim(), q.unit));
    } catch (error) {
      if (!(error instanceof UnitError || error instanceof Trouble)) throw error;
      this.complain(control.name, `${error.message}. ${control.label} stays ${this.fieldText(control.name)}.`);
    }
  }

  slid(control, step) {
    const track = this.tracks[control.name];
    if (step !== track.stepOf(this.values[control.name])) this.move(control.name, track.rounded(track.at(step), this.quantity(control.name).unit, this.units));
  }

  move(name, value) {
    const control = this.spec.controls.find(one => one.name === name);
    this.values = this.laidOut(name, { ...this.values, [name]: checked(this.page, this.spec, control, value) });
    this.complain(name, "");
    this.update();
  }

  // Chips follow the parts of their layout, and tensor parallelism follows chips.
  laidOut(name, values) {
    const [chips, split, ...others] = this.spec.layout;
    if (!this.spec.layout.includes(name) || this.spec.layout.some(part => !(part in values))) return values;
    const product = others.reduce((all, part) => all * values[part], 1);
    return name === chips ? { ...values, [split]: Math.max(1, Math.floor(values[chips] / product)) } : { ...values, [chips]: product * values[split] };
  }

  fieldText(name) {
    const q = this.quantity(name), x = this.values[name];
    return this.units.exactText(x, q.unit) ?? `${APPROXIMATELY} ${this.units.format(x, q.unit)}`;
  }

  showControls() {
    for (const control of this.spec.controls) {
      const parts = this.parts[control.name], value = this.values[control.name];
      if (parts.menu) { parts.menu.value = value; continue; }
      const text = this.fieldText(control.name);
      if (parts.field.getAttribute("aria-invalid") !== "true") parts.field.value = text;
      if (parts.slider) {
        const step = String(this.tracks[control.name].stepOf(value));
        if (parts.slider.value !== step) parts.slider.value = step;
        parts.slider.setAttribute("aria-valuetext", text);
      }
    }
  }

  // Numbers for the engine by variant.
  numbers(variant) { return numbersOf(this.page, this.spec, this.values, variant.calibration); }

  outputsOf(variant) {
    const outputs = variant.outputs;
    return variant.binding ? [...outputs, variant.binding] : outputs;
  }

  // Computes all at the point and along the axis. Returns false, with a message, if it cannot be computed.
  update() {
    this.showControls();
    try {
      this.point = this.nextPoint;
      this.showNumbers(this.point);
      this.trouble.textContent = "";
    } catch (error) {
      this.trouble.textContent = `This scenario cannot be computed: ${error.message}`;
      this.root.classList.add("stale");
      return false;
    }
    this.root.classList.remove("stale");
    if (this.chart) this.draw();
    this.later("derive", 60, () => this.derive());
    this.later("settle", 250, () => this.settle());
    return true;
  }

  get drawnAxes() { return [this.axis, this.up].filter(Boolean); }

  later(name, delay, act) {
    this.timers ??= {};
    clearTimeout(this.timers[name]);
    this.timers[name] = setTimeout(act, delay);
  }

  settle() {
    if (this.spec.controls.length) try { history.replaceState(null, "", this.link()); } catch { /* a page in a frame has no address */ }
    if (this.source) this.source.value = this.code();
    const first = this.spec.outputs[0], words = this.variants.map(one => one.outputs.includes(first) ? `${one.label ? one.label + " " : ""}${this.text(first, this.result[one.key][first])}` : null);
    this.said.textContent = `${this.quantity(first).label}: ${words.filter(Boolean).join(", ")}`;
    this.fillSamples();
  }

  at(variant, point) {
    const numbers = this.numbers(variant);
    for (const [name, x] of Object.entries(point)) numbers.set(name, x);
    return numbers;
  }

  showNumbers(point) {
    this.result = {};
    for (const variant of this.variants) {
      const values = this.questions.evaluate(`${this.spec.name} ${variant.key} point`, this.at(variant, point), this.outputsOf(variant));
      this.result[variant.key] = Object.fromEntries(Object.entries(values).map(([name, x]) => [name, x[0]]));
    }
    if (!this.cells) this.makeTable();
    for (const { cell, name, variant, end } of this.cells) {
      const x = this.result[variant]?.[name];
      let value = x;
      if (end) {
        const band = this.bandOf(name);
        value = band ? x * band[end === "lower" ? 0 : 1] : NaN;
      }
      const shown = x === undefined || (end && Number.isNaN(value)) ? DASH : this.text(name, value);
      if (cell.textContent !== shown) cell.textContent = shown;
      cell.dataset.value = String(value);
    }
    const binding = this.variants.find(one => one.binding);
    this.binding.textContent = "";
    if (binding) {
      const words = this.variants.filter(one => one.binding).map(one => {
        const said = this.text(one.binding, this.result[one.key][one.binding]);
        return this.variants.length > 1 ? `${said} (${one.label})` : said;
      });
      this.binding.append(element("strong", { textContent: "Bottleneck: " }), words.join(", "));
      this.binding.dataset.value = String(this.result[binding.key][binding.binding]);
    }
    const first = performance.now();
    document.documentElement.dataset.firstAnswer ??= String(first);
  }

  bandOf(name) {
    const band = this.spec.bands[name];
    if (!band) return null;
    const flags = band.kinds.map(kind => kind.measured.includes(this.values[kind.keyword] ?? this.spec.presets[kind.keyword]) ? "1" : "0");
    return band.factors[flags.join("")] ?? null;
  }

  makeTable() {
    this.cells = [];
    const several = this.variants.length > 1 || this.variants[0].label;
    const banded = Object.keys(this.spec.bands).length > 0;
    const heads = ["quantity", ...(several ? this.variants.map(one => one.label) : ["value"]), ...(banded ? [`${this.spec.level} band`] : [])];
    const head = element("thead", {}, element("tr", {}, ...heads.map(words => element("th", { scope: "col", textContent: words }))));
    const body = element("tbody");
    for (const name of this.spec.outputs) {
      const q = this.quantity(name), row = element("tr", {}, element("th", { scope: "row", title: q.brief, textContent: q.label }));
      for (const variant of this.variants) {
        const cell = element("td", { dataset: { quantity: name, variant: variant.key } });
        row.append(cell);
        this.cells.push({ cell, name, variant: variant.key });
      }
      if (banded) {
        const cell = element("td", { className: "band" });
        const estimate = this.variants.at(-1).key;
        if (this.spec.bands[name]) {
          for (const [k, end] of ["lower", "upper"].entries()) {
            const part = element("span", { dataset: { quantity: `${name}_${end}`, variant: estimate } });
            cell.append(...(k ? [" to "] : []), part);
            this.cells.push({ cell: part, name, variant: estimate, end });
          }
        } else cell.textContent = DASH;
        row.append(cell);
      }
      body.append(row);
    }
    this.table.replaceChildren(element("caption", { textContent: this.spec.caption }), head, body);
    this.basis.textContent = this.spec.basis;
  }

  // Along the axis, by variant and output.
  curves(names) {
    const points = this.pointsWithin(this.numbers(this.variants[0]));
    const axis = { name: this.axis.name, values: points, key: `${points.length} ${points[0]} ${points.at(-1)}` };
    this.within = points;
    const binding = this.variants[0].binding;
    return Object.fromEntries(this.variants.map(variant => {
      const outputs = names.filter(name => variant.outputs.includes(name));
      if (variant === this.variants[0] && binding) outputs.push(binding);
      const values = outputs.length ? this.questions.evaluate(`${this.spec.name} ${variant.key} line`, this.numbers(variant), outputs, axis) : {};
      const spread = Object.entries(values).map(([name, x]) => [name, x.length === points.length ? x : new Float64Array(points.length).fill(x[0])]);
      return [variant.key, Object.fromEntries(spread)];
    }));
  }

  // Over both axes, for each point of the vertical one all of the horizontal one.
  surface() {
    const { name, variant } = this.maps()[this.map], numbers = this.numbers(variant);
    const axes = [this.axis, this.up].map(axis => {
      const values = thinned(this.pointsWithin(numbers, axis), MOST_POINTS);
      return { name: axis.name, values, key: `${values.length} ${values[0]} ${values.at(-1)}` };
    });
    this.within = axes[0].values;
    this.withinUp = axes[1].values;
    return { name, variant, x: axes[0].values, y: axes[1].values, values: this.questions.surface(`${this.spec.name} ${variant.key} map`, numbers, name, axes) };
  }

  // The numbers alone, of the point and along the axes: what a test measures.
  compute() { this.showNumbers(this.point); return this.up ? this.surface() : this.axis ? this.curves(this.spec.groups[this.group]) : null; }

  drawMap() {
    let surface;
    try { surface = this.surface(); } catch (error) { this.trouble.textContent = `The chart cannot be drawn: ${error.message}`; return; }
    const { name, variant, x, y, values } = surface;
    this.drawn = { surface };
    const label = this.quantity(name).label + (variant.label ? `, ${variant.label}` : "");
    const text = axis => value => this.units.format(value, this.quantity(axis.name).unit, 3);
    const range = (axis, values) => `${this.quantity(axis.name).label}, ${text(axis)(values[0])} to ${text(axis)(values.at(-1))}`;
    const finite = extent(values.filter(Number.isFinite));
    const words = finite.length ? `from ${this.text(name, finite[0])} to ${this.text(name, finite[1])}` : "without a finite number";
    this.chart.drawMap({
      x, y, values, at: [this.point[this.axis.name], this.point[this.up.name]], xLog: growsByFactors(x), yLog: growsByFactors(y),
      xLabel: this.quantity(this.axis.name).label, yLabel: this.quantity(this.up.name).label, zLabel: label,
      xText: text(this.axis), yText: text(this.up), zText: value => this.units.format(value, this.quantity(name).unit, 3),
      words: `Heat map of ${label} by ${range(this.axis, x)}, and ${range(this.up, y)}: ${words}`,
    });
    this.explainLegend([], [], null, values.some(value => !Number.isFinite(value)));
  }

  // The numbers of what is drawn, at its point, in words.
  explainSpot() {
    const names = this.up ? [this.maps()[this.map]] : this.spec.groups[this.group].flatMap(name => this.variants.filter(one => one.outputs.includes(name)).map(variant => ({ name, variant })));
    const said = names.map(({ name, variant }) => `${this.quantity(name).label} ${this.text(name, this.result[variant.key][name])}${variant.label ? ` (${variant.label})` : ""}`);
    this.spot.setAttribute("aria-live", document.activeElement === this.target ? "polite" : "off");
    this.spot.textContent = `At ${this.pointText()}: ${said.join(", ")}`;
  }

  pointText() { return Object.entries(this.point).map(([name, x]) => `${this.quantity(name).label} ${this.units.format(x, this.quantity(name).unit)}`).join(", "); }

  draw() {
    if (!this.axis) return;
    this.explainSpot();
    if (this.up) { this.drawMap(); return; }
    const names = this.spec.groups[this.group], q = this.quantity(this.axis.name);
    let curves;
    try { curves = this.curves(names); } catch (error) { this.trouble.textContent = `The chart cannot be drawn: ${error.message}`; return; }
    const points = this.within;
    this.drawn = { points, names, curves };
    const shared = this.variants.length > 1;
    const series = [], mark = [];
    let band = null;
    for (const [color, name] of names.entries())
      for (const variant of this.variants) {
        const values = curves[variant.key][name];
        if (!values) continue;
        series.push({ name, variant: variant.key, values, color, only: !shared, strong: names.length > 2 && name === this.spec.outputs[0] });
        mark.push({ value: this.result[variant.key][name], color });
        const factors = variant === this.variants.at(-1) ? this.bandOf(name) : null;
        if (factors && names.length === 1) band = { low: values.map(x => x * factors[0]), high: values.map(x => x * factors[1]), color };
      }
    const binding = this.variants[0].binding, regions = [];
    if (binding && curves[this.variants[0].key][binding]) {
      const codes = curves[this.variants[0].key][binding];
      for (let k = 0; k < codes.length; k += 1) {
        const last = regions.at(-1);
        if (last && last.code === codes[k]) last.to = points[Math.min(k + 1, codes.length - 1)];
        else regions.push({ code: codes[k], from: points[k], to: points[Math.min(k + 1, codes.length - 1)] });
      }
    }
    const unit = this.quantity(names[0]).unit, label = names.length > 1 ? "" : this.quantity(names[0]).label;
    const [first, last] = [points[0], points[points.length - 1]];
    const ends = names.map(name => `${this.quantity(name).label} from ${this.text(name, curves[this.variants[0].key][name]?.[0] ?? NaN)} to ${this.text(name, curves[this.variants[0].key][name]?.at(-1) ?? NaN)}`);
    this.chart.draw({
      x: points, series, band, mark, regions, at: this.point[this.axis.name], xLog: growsByFactors(points),
      xLabel: q.label, yLabel: label, xText: x => this.units.format(x, q.unit, 3), yText: y => this.units.format(y, unit, 3),
      words: `Line chart by ${q.label}, ${this.units.format(first, q.unit)} to ${this.units.format(last, q.unit)}: ${ends.join("; ")}`,
    });
    this.explainLegend(series, regions, band);
  }

  explainLegend(series, regions, band, missing = false) {
    const look = this.chart.look, items = [];
    const item = (color, words, kind) => items.push({ key: `${color} ${words} ${kind}`, make: () => element("li", {}, element("span", { className: `swatch ${kind}`, ariaHidden: "true", style: `--swatch: ${color}` }), words) });
    for (const one of series) {
      const variant = this.variants.find(known => known.key === one.variant);
      item(look.lines[one.color % look.lines.length], this.quantity(one.name).label + (variant.label ? `, ${variant.label}` : ""), one.variant === "estimate" || one.only ? "line" : "dashed");
    }
    if (band) item(look.lines[band.color], `${this.spec.level} band of the estimate`, "area band");
    for (const code of new Set(regions.map(one => one.code))) item(look.region[code % look.region.length], `bottleneck: ${this.text(this.variants[0].binding, code)}`, "area");
    if (missing) item(look.missing, "undefined or never", "area");
    const key = items.map(one => one.key).join();
    if (key === this.legendKey) return;
    this.legendKey = key;
    this.legend.replaceChildren(...items.map(one => one.make()));
  }

  fillSamples() {
    if (!this.details?.open || !this.drawn) return;
    if (this.drawn.surface) { this.fillCells(this.drawn.surface); return; }
    const { points, names, curves } = this.drawn, stride = Math.max(1, Math.ceil((points.length - 1) / 24));
    const columns = names.flatMap(name => this.variants.filter(one => curves[one.key][name]).map(one => [name, one]));
    const heads = [this.quantity(this.axis.name).label, ...columns.map(([name, one]) => this.quantity(name).label + (one.label ? `, ${one.label}` : ""))];
    const rows = [];
    for (let k = 0; k < points.length; k += stride) {
      const cells = columns.map(([name, one]) => element("td", { textContent: this.text(name, curves[one.key][name][k]), dataset: { value: String(curves[one.key][name][k]), quantity: name, variant: one.key, x: String(points[k]) } }));
      rows.push(element("tr", {}, element("th", { scope: "row", textContent: this.units.format(points[k], this.quantity(this.axis.name).unit) }), ...cells));
    }
    this.details.lastChild.replaceChildren(this.samples);
    this.samples.replaceChildren(element("thead", {}, element("tr", {}, ...heads.map(words => element("th", { scope: "col", textContent: words })))), element("tbody", {}, ...rows));
  }

  // Every few values of a heat map, the highest row first as in the picture.
  fillCells({ name, variant, x, y, values }) {
    const text = (axis, value) => this.units.format(value, this.quantity(axis.name).unit, 3);
    const some = (points, most) => thinned(Array.from(points.keys()), most);
    const columns = some(x, 8), rows = some(y, 14).reverse();
    const corner = element("th", { scope: "col", textContent: `${this.quantity(this.up.name).label} by ${this.quantity(this.axis.name).label}` });
    const cell = (i, j) => element("td", { textContent: this.text(name, values[j * x.length + i]), dataset: { value: String(values[j * x.length + i]), quantity: name, variant: variant.key, x: String(x[i]), y: String(y[j]) } });
    const head = element("tr", {}, corner, ...columns.map(i => element("th", { scope: "col", textContent: text(this.axis, x[i]) })));
    const body = rows.map(j => element("tr", {}, element("th", { scope: "row", textContent: text(this.up, y[j]) }), ...columns.map(i => cell(i, j))));
    this.details.lastChild.replaceChildren(this.samples);
    this.samples.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  }

  derive() {
    if (!this.steps || this.root.classList.contains("stale")) return;
    const available = this.variants.filter(one => one.outputs.includes(this.derived));
    const variant = available.find(one => one.key === this.derivedVariant) ?? available[0];
    if (!variant) return;
    try {
      const scenario = this.questions.at(`${this.spec.name} ${variant.key} point`, this.at(variant, this.point));
      const derived = scenario.explain(this.derived), shown = derived.slice(0, STEPS_SHOWN), more = derived.slice(STEPS_SHOWN);
      const written = step => {
        const q = this.quantity(step.name), label = q?.label ?? step.name.replaceAll("_", " ");
        const item = element("li", { dataset: { quantity: step.name, value: String(step.value) } }, element("strong", { textContent: label }), q?.brief ? `: ${q.brief}` : "");
        const sides = element("div", { className: "formula", tabIndex: 0, role: "group", ariaLabel: `Formula of ${label}` });
        if (q?.formula) sides.append(formula(q.formula));
        if (step.text) sides.append(element("div", {}, element("code", { textContent: `= ${step.text}` })));
        if (sides.childNodes.length) item.append(sides);
        const from = { given: "given", default: "by default" }[step.basis] ?? step.remark;
        item.append(element("div", { textContent: `= ${q ? this.text(step.name, step.value) : step.value}${from ? ` (${from})` : ""}` }));
        return item;
      };
      this.steps.replaceChildren(...shown.map(written));
      const rest = element("ol", { className: "steps", start: shown.length + 1 });
      const fill = () => { if (this.more.open && !rest.childNodes.length) rest.append(...more.map(written)); };
      this.more.replaceChildren(element("summary", { textContent: `${more.length} more steps, down to the inputs` }), rest);
      this.more.hidden = !more.length;
      this.more.ontoggle = fill;
      fill();
      this.place.textContent = this.axis ? `At ${this.pointText()}.` : "";
    } catch (error) { this.steps.replaceChildren(element("li", { textContent: error.message })); }
  }

  async startChart() {
    if (!this.target || this.chart || !this.axis) return;
    const chart = new Chart(this.target, this.page.figure);
    await chart.show(place => this.hover(place), place => this.choose(place));
    this.chart = chart;
    this.update();
  }

  nearestPoint(x, points = this.within ?? this.points()) {
    let best = null;
    for (const point of points) if (best === null || Math.abs(Math.log(point / x)) < Math.abs(Math.log(best / x)) || (point <= 0 && Math.abs(point - x) < Math.abs(best - x))) best = point;
    return best;
  }

  hover(place) {
    const point = place && { [this.axis.name]: this.nearestPoint(place[0]), ...(this.up && { [this.up.name]: this.nearestPoint(place[1], this.withinUp) }) };
    if (JSON.stringify(point) === JSON.stringify(this.hovered)) return;
    this.hovered = point;
    if (!this.waiting) { this.waiting = true; requestAnimationFrame(() => { this.waiting = false; this.update(); }); }
  }

  choose(place) {
    this.hovered = null;
    for (const [k, axis] of this.drawnAxes.entries()) {
      const track = this.tracks[axis.name];
      const x = track ? track.rounded(place[k], this.quantity(axis.name).unit, this.units) : this.nearestPoint(place[k], k ? this.withinUp : this.within);
      this.move(axis.name, x);
    }
  }

  // The point of the next drawing, which a further key moves before it is drawn.
  get nextPoint() { return this.hovered ?? Object.fromEntries(this.drawnAxes.map(axis => [axis.name, this.values[axis.name]])); }

  // A key on the chart. Returns whether it has a meaning there.
  pressed(key, steps) {
    const [name, by] = { ArrowLeft: ["axis", -steps], ArrowRight: ["axis", steps], ArrowDown: ["up", -steps], ArrowUp: ["up", steps] }[key] ?? [];
    if (key === "Escape") this.hover(null);
    else if (key === "Enter") this.choose(this.drawnAxes.map(axis => this.nextPoint[axis.name]));
    else if (name && this[name] && this.within) {
      const point = this.nextPoint, place = this.drawnAxes.map(axis => point[axis.name]), k = name === "up" ? 1 : 0, points = k ? this.withinUp : this.within;
      const next = points.indexOf(this.nearestPoint(place[k], points)) + by;
      place[k] = points[Math.min(Math.max(next, 0), points.length - 1)];
      this.hover(place);
    } else return false;
    return true;
  }

  async copy(text, words) {
    try { await navigator.clipboard.writeText(text); } catch {
      const box = element("textarea", { value: text });
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
    this.copied.textContent = words;
  }

  pythonOf(name) {
    const value = this.values[name];
    if (typeof value === "string") return JSON.stringify(value);
    if (!Number.isFinite(value)) return 'float("inf")';
    const text = this.units.exactText(value, this.quantity(name).unit);
    return text === null || /^-?[\d.]+$/.test(text.replaceAll(",", "")) ? String(value) : JSON.stringify(text);
  }

  code() {
    const lines = ["import roofslate as rs", "", "scenario = {"];
    for (const [name, text] of Object.entries(this.spec.code.fixed)) lines.push(`    "${name}": ${text},`);
    for (const control of this.spec.controls) lines.push(`    "${control.name}": ${this.pythonOf(control.name)},`);
    lines.push("}");
    const fold = name => this.variants.filter(one => one.outputs.includes(name)).map(one => `rs.value("${name}", scenario${one.calibration ? `, calibration="${one.calibration}"` : ""})`);
    for (const name of this.spec.outputs) for (const call of fold(name)) lines.push(`print("${name}", ${call})`);
    return lines.join("\n") + "\n";
  }
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function startPage() {
  const main = document.getElementById("main"), alert = document.getElementById("trouble");
  try {
    const page = JSON.parse(document.getElementById("roofslate-page").textContent);
    const units = unitsOf(page.units);
    const engine = await loadEngine(await unpacked(globalThis.roofslateEngine ?? document.getElementById("roofslate-engine").textContent.trim()));
    const questions = new Questions(engine), shown = new Map();
    const several = page.views.length > 1;
    const links = new Map([...document.querySelectorAll("nav a[data-chart]")].map(link => [link.dataset.chart, link]));
    let current = null;

    const open = async fragment => {
      const asked = /(?:^#|&)chart=([^&]*)/.exec(fragment)?.[1];
      let spec = page.views.find(one => one.name === asked);
      const troubles = [];
      if (asked && !spec) troubles.push(unknownName("chart", asked, page.views.map(one => one.name)).message);
      spec ??= page.views[0];
      let view = shown.get(spec.name);
      if (!view) shown.set(spec.name, (view = new View(page, spec, units, questions, several ? 3 : 2)));
      current = view;
      troubles.push(...view.read(fragment));
      const words = several ? [element("h2", { textContent: spec.title, id: "chart-title", tabIndex: -1 }), element("p", { textContent: spec.brief })] : [];
      main.replaceChildren(...words, view.root);
      for (const [name, link] of links) link.toggleAttribute("aria-current", name === spec.name);
      alert.replaceChildren(...troubles.map(text => element("p", { textContent: text })));
      view.update();
      document.documentElement.dataset.shown = spec.name;
      await view.startChart();
    };

    window.roofslate = { page, units, engine, get view() { return current; } };
    window.addEventListener("hashchange", () => open(location.hash));
    await open(location.hash);
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    alert.append(element("p", { textContent: `The page could not start: ${error.message}` }));
    document.documentElement.dataset.ready = "failed";
    console.warn(error);
  }
}
