// Answers questions, a line of JSON each, as python/tools/web_bits.py asks them: numbers are bytes in hexadecimal digits.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { loadEngine } from "../../python/roofslate/web/engine.js";

const engine = await loadEngine(readFileSync(process.argv[2]));

function numbers(digits) {
  const bytes = Buffer.from(digits, "hex");
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

function digits(values) {
  const copy = Float64Array.from(values, x => (Number.isNaN(x) ? NaN : x)); // each NaN is like another
  return Buffer.from(copy.buffer).toString("hex");
}

const ask = {
  evaluate(scenario, { outputs }) {
    const result = scenario.evaluate(outputs);
    return outputs.map(name => [result[name].axes, digits(result[name].values)]);
  },
  best(scenario, { output, maximize, where }) {
    const conditions = where.map(([quantity, operator, value]) => ({ quantity, operator, value: numbers(value)[0] }));
    const found = scenario.best(output, { maximize, where: conditions });
    return found && [digits([found.value]), found.at];
  },
  solve(scenario, { unknown, output, operator, target, which }) {
    const found = scenario.solve(unknown, output, operator, numbers(target)[0], { [which]: true });
    const values = found.roots ?? found.values ?? [found.value];
    return [digits(values), found.reasons ?? [found.reason], found.axes ?? []];
  },
  derivatives(scenario, { output, by }) {
    const result = scenario.derivatives(output, by);
    return by.map(name => digits(result[name]));
  },
  explain(scenario, { output }) {
    return scenario.explain(output).map(step => [step.name, digits([step.value])]);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  const scenario = engine.scenario();
  let answer;
  try {
    for (const [name, values, isAxis] of question.inputs)
      if (isAxis) scenario.axis(name, numbers(values));
      else scenario.set(name, numbers(values)[0]);
    answer = ask[question.kind](scenario, question);
  } catch (error) {
    if (!error.kind) throw error;
    answer = { error: error.kind, message: error.message };
  } finally {
    scenario.free();
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
