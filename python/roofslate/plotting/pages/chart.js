// A chart by Bokeh: lines with a band and regions of a bottleneck, or a heat map, and a mark at the point of the scenario.

const DAY = { missing: "#d0d0d0", ink: "#222222", note: "#555555", grid: "#dddddd", paper: "#ffffff", region: ["#CFE0EE", "#F3DFC4", "#D5EAD9", "#EBD3E2", "#E8E8E8", "#F5F0C8", "#D8D8F0"],
  lines: ["#0072B2", "#B24700", "#00724F", "#A0447A", "#8A5A00", "#2A6A9E", "#222222"] };
const NIGHT = { missing: "#4a4a4a", ink: "#eeeeee", note: "#bbbbbb", grid: "#444444", paper: "#16181c", region: ["#23384a", "#4a3a1f", "#23402b", "#45293a", "#38393b", "#45421f", "#2f2f4a"],
  lines: ["#7cc4f2", "#ff9a5c", "#4fd6a8", "#f0a6d0", "#f0c060", "#a8c8ff", "#eeeeee"] };
const DASHES = [[], [6, 4], [2, 3], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 2]];

function isWide(values) {
  let low = Infinity, high = 0;
  for (const x of values) { if (x <= 0) return false; if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); } }
  return high / low > 50;
}

// Edges of the rectangles around places.
function edgesOf(places) {
  const inner = Array.from(places.slice(1), (place, k) => (place + places[k]) / 2), last = places.length - 1;
  if (!inner.length) return [places[0] - 0.5, places[0] + 0.5];
  return [2 * places[0] - inner[0], ...inner, 2 * places[last] - inner[last - 1]];
}

// Places of ticks between two ends of a scale, in its coordinates.
function ticksOf(low, high, log, most) {
  if (!(high > low)) return [low];
  if (log) {
    const [first, last] = [Math.ceil(low - 1e-9), Math.floor(high + 1e-9)];
    if (last - first >= 2) {
      const step = Math.ceil((last - first + 1) / most);
      return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, k) => first + k * step);
    }
    const ticks = [];
    for (let decade = Math.floor(low); decade <= last + 1; decade += 1)
      for (const digit of [1, 2, 5]) ticks.push(decade + Math.log10(digit));
    const inside = ticks.filter(x => x >= low - 1e-9 && x <= high + 1e-9);
    if (inside.length > 1) return inside;
    return ticksOf(10 ** low, 10 ** high, false, most).map(Math.log10);
  }
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(k => k * power >= rough) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

class Chart {
  constructor(target, item) { this.target = target; this.item = item; }

  async show(onPoint, onChoose) {
    Bokeh.logger.set_level("warn");
    const views = await Bokeh.embed.embed_item(this.item, this.target);
    this.view = [...(views.roots ?? views)][0];
    this.plot = this.view.model;
    const document_ = this.plot.document;
    this.model = name => document_.get_model_by_name(name);
    const at = event => {
      const frame = this.view.frame, box = this.view.canvas_view.el.getBoundingClientRect();
      const sx = event.clientX - box.left, sy = event.clientY - box.top;
      const inner = frame.bbox;
      if (sx < inner.left || sx > inner.right || (this.last.values && (sy < inner.top || sy > inner.bottom))) return null;
      const x = frame.x_scale.invert(sx), y = frame.y_scale.invert(sy);
      return [this.last.xLog ? 10 ** x : x, this.last.yLog ? 10 ** y : y];
    };
    this.target.addEventListener("pointermove", event => { if (this.last) onPoint(at(event)); });
    this.target.addEventListener("pointerleave", () => onPoint(null));
    this.target.addEventListener("click", event => { const place = this.last && at(event); if (place) onChoose(place); });
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => { if (this.last) this.last.values ? this.drawMap(this.last) : this.draw(this.last); });
    new ResizeObserver(() => { if (this.last) this.ticks(this.last); }).observe(this.target);
  }

  get look() { return this.dark.matches ? NIGHT : DAY; }

  // picture: x values, series [{name, variant, values}], band {low, high}, regions [{from, to, label, code}], mark
  draw(picture) {
    this.last = picture;
    this.model("source-map").data = { x0: [], x1: [], y0: [], y1: [], value: [] };
    this.model("bar").visible = this.model("cursor-up").visible = false;
    const look = this.look, { x, series, xLog } = picture;
    const finite = values => values.filter(Number.isFinite);
    const all = finite(series.flatMap(one => [...one.values]).concat(picture.band ? [...picture.band.low, ...picture.band.high] : []));
    const yLog = picture.yLog = isWide(all);
    const onX = xLog ? Math.log10 : value => value, onY = yLog ? Math.log10 : value => value;
    const across = Float64Array.from(x, onX);
    const up = values => Float64Array.from(values, value => { const y = onY(value); return Number.isFinite(y) ? y : NaN; });
    for (let k = 0; k < this.item.lines; k += 1) {
      const one = series[k], source = this.model(`source-${k}`), line = this.model(`line-${k}`);
      source.data = one ? { x: across, y: up(one.values) } : { x: [], y: [] };
      if (!one) continue;
      line.glyph.line_color = look.lines[one.color % look.lines.length];
      line.glyph.line_dash = one.variant === "estimate" || one.only ? [] : [5, 4];
      line.glyph.line_width = one.strong ? 3 : 1.8;
    }
    const { band } = picture;
    this.model("source-band").data = band ? { x: across, low: up(band.low), high: up(band.high) } : { x: [], low: [], high: [] };
    this.model("band").glyph.fill_color = look.lines[band?.color ?? 0];
    const [left, right] = [across[0], across[across.length - 1]];
    const regions = picture.regions ?? [];
    this.model("source-regions").data = { x0: regions.map(r => onX(r.from)), x1: regions.map(r => onX(r.to)), color: regions.map(r => look.region[r.code % look.region.length]) };
    const marked = picture.mark ?? [];
    this.model("source-mark").data = { x: marked.map(() => onX(picture.at)), y: up(marked.map(m => m.value)), color: marked.map(m => look.lines[m.color % look.lines.length]), edge: marked.map(m => look.lines[m.color % look.lines.length]) };
    this.model("cursor").location = onX(picture.at);
    this.model("cursor").line_color = look.note;
    const heights = finite(all.map(onY));
    let [low, high] = [Math.min(...heights.slice(0, 1), ...extent(heights)), Math.max(...heights.slice(0, 1), ...extent(heights))];
    if (!heights.length) [low, high] = [0, 1];
    if (!yLog && low > 0) low = 0;
    if (low === high) [low, high] = [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
    const margin = 0.06 * (high - low);
    this.plot.x_range.start = left; this.plot.x_range.end = right > left ? right : left + 1;
    this.plot.y_range.start = yLog || low < 0 ? low - margin : low; this.plot.y_range.end = high + margin;
    this.paint(picture);
  }

  // picture: x and y, values row by row, a mark at [x, y]
  drawMap(picture) {
    this.last = picture;
    const look = this.look, { x, y, xLog, yLog } = picture;
    for (let k = 0; k < this.item.lines; k += 1) this.model(`source-${k}`).data = { x: [], y: [] };
    this.model("source-band").data = { x: [], low: [], high: [] };
    this.model("source-regions").data = { x0: [], x1: [], color: [] };
    const onX = xLog ? Math.log10 : value => value, onY = yLog ? Math.log10 : value => value;
    const finite = picture.values.filter(Number.isFinite), zLog = picture.zLog = isWide(finite), onZ = zLog ? Math.log10 : value => value;
    const [columns, rows] = [edgesOf(x.map(onX)), edgesOf(y.map(onY))];
    const by = act => Float64Array.from(picture.values, (_, k) => act(k % x.length, Math.floor(k / x.length)));
    const value = Float64Array.from(picture.values, z => Number.isFinite(z) ? onZ(z) : NaN);
    let [low, high] = finite.length ? extent(finite.map(onZ)) : [0, 1];
    if (low === high) [low, high] = [low - Math.abs(low || 1) / 2, high + Math.abs(high || 1) / 2];
    this.model("colors").setv({ low, high, nan_color: look.missing });
    this.model("source-map").data = { x0: by(i => columns[i]), x1: by(i => columns[i + 1]), y0: by((_, j) => rows[j]), y1: by((_, j) => rows[j + 1]), value };
    const [across, up] = picture.at;
    this.model("source-mark").data = { x: [onX(across)], y: [onY(up)], color: ["#ffffff"], edge: ["#000000"] };
    this.model("cursor").setv({ location: onX(across), line_color: "#ffffff" });
    this.model("cursor-up").setv({ location: onY(up), line_color: "#ffffff", visible: true });
    this.plot.x_range.setv({ start: columns[0], end: columns.at(-1) });
    this.plot.y_range.setv({ start: rows[0], end: rows.at(-1) });
    this.model("bar").setv({ visible: true, title: picture.zLabel, background_fill_color: look.paper, bar_line_color: null, title_text_color: look.ink, major_label_text_color: look.ink, major_tick_line_color: look.ink });
    this.paint(picture);
  }

  paint(picture) {
    const look = this.look;
    const paint = { background_fill_color: look.paper, border_fill_color: look.paper, outline_line_color: null };
    this.plot.setv(paint);
    for (const name of ["across", "up"]) {
      this.model(name).setv({ axis_line_color: look.note, major_tick_line_color: look.note, major_label_text_color: look.ink, axis_label_text_color: look.ink });
      this.model(`grid-${name}`).grid_line_color = look.grid;
    }
    this.model("across").axis_label = picture.xLabel;
    this.model("up").axis_label = picture.yLabel;
    this.ticks(picture);
    this.target.setAttribute("aria-label", picture.words);
  }

  ticks(picture) {
    const width = this.target.clientWidth;
    if (picture.values) {
      const { low, high } = this.model("colors"), bar = this.model("bar");
      const places = ticksOf(low, high, picture.zLog, Math.max(2, Math.floor(width / 110)));
      bar.ticker.ticks = places;
      bar.major_label_overrides = new Map(places.map(place => [place, picture.zText(picture.zLog ? Number((10 ** place).toPrecision(12)) : place)]));
    }
    for (const [name, range, log, format, most] of [
      ["across", this.plot.x_range, picture.xLog, picture.xText, Math.max(2, Math.floor(width / 110))],
      ["up", this.plot.y_range, picture.yLog, picture.yText, 6],
    ]) {
      const places = ticksOf(range.start, range.end, log, most), axis = this.model(name);
      axis.ticker.ticks = places;
      axis.major_label_overrides = new Map(places.map(place => [place, format(log ? Number((10 ** place).toPrecision(12)) : place)]));
    }
  }
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const x of values) { if (x < low) low = x; if (x > high) high = x; }
  return values.length ? [low, high] : [];
}
