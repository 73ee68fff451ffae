// Measures the engine: milliseconds until it answers, and nanoseconds a point of a surface, as python/tools/web_speed.py
// asks for it. A line of JSON.
import { readFileSync } from "node:fs";

const [path, question] = process.argv.slice(2);
const { inputs, axes, output } = JSON.parse(question);
const bytes = readFileSync(path);

const begin = performance.now();
const { loadEngine } = await import("../../python/roofslate/web/engine.js");
const engine = await loadEngine(bytes);
const loaded = performance.now();
const scenario = engine.scenario();
for (const [name, value] of Object.entries(inputs)) scenario.set(name, value);
for (const [name, [low, high]] of Object.entries(axes)) scenario.set(name, low + 0 * high);
scenario.evaluate([output]);
const answered = performance.now();

for (const [name, [low, high, size]] of Object.entries(axes))
  scenario.axis(name, Float64Array.from({ length: size }, (_, k) => low + ((high - low) * k) / (size - 1)));
// The processor's time, which other processes do not stretch. A page draws from the engine's memory.
const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
let best = Infinity, points;
for (let run = 0; run < 30; run++) {
  const start = spent();
  const { values } = scenario.evaluate([output], { view: true })[output];
  best = Math.min(best, spent() - start);
  points = values.length;
}
console.log(JSON.stringify({ load: loaded - begin, first: answered - begin, nanoseconds: (1e6 * best) / points, points }));
