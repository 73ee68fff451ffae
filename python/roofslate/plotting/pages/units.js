// Numbers with units, by the rules of the package: the same texts, and the same bits from a text.

class UnitError extends Error {}

// The decimal digits of a positive number, rounded half to even: digits and the power of ten of the first.
function rounded(x, count) {
  const [mantissa, power] = x.toExponential(100).split("e");
  const digits = mantissa.replace(".", "");
  let head = digits.slice(0, count), exponent = Number(power);
  const tail = digits.slice(count), half = "5".padEnd(tail.length, "0");
  if (tail > half || (tail === half && Number(head.at(-1)) % 2)) head = (BigInt(head) + 1n).toString();
  if (head.length > count) { head = head.slice(0, count); exponent += 1; }
  return [head, exponent];
}

function withCommas(digits) { return digits.replace(/\B(?=(\d{3})+$)/g, ","); }

function written(value, count) {
  if (value === 0) return "0";
  const size = Math.abs(value), sign = value < 0 ? "-" : "";
  const [head, exponent] = rounded(size, count);
  if (!(size >= 1e-3 && size < 1e6)) {
    const fraction = head.slice(1).replace(/0+$/, "");
    return `${sign}${head[0]}${fraction && "." + fraction}e${exponent}`;
  }
  const padded = exponent < 0 ? "0".repeat(-exponent) + head : head.padEnd(exponent + 1, "0");
  const point = Math.max(exponent, 0) + 1;
  const fraction = padded.slice(point).replace(/0+$/, "");
  return sign + withCommas(padded.slice(0, point)) + (fraction && "." + fraction);
}

// num / den as the nearest double.
function nearest(num, den) {
  const bits = x => x.toString(2).length;
  const shift = 70 - (bits(num) - bits(den));
  const [top, bottom] = shift > 0 ? [num << BigInt(shift), den] : [num, den << BigInt(-shift)];
  const quotient = top / bottom, sticky = top % bottom ? 1n : 0n;
  const half = Math.trunc(shift / 2); // in two steps, as 2 ** -shift may be out of range
  return Number((quotient << 1n) | sticky) * 2 ** -half * 2 ** -(shift - half + 1);
}

const QUANTITY = new RegExp(
  "^(?<sign>[+-]?)\\s*(?<dollar>\\$?)\\s*" +
  "(?<number>(?:(?:\\d{1,3}(?:,\\d{3})+(?![\\d,])|\\d+(?:_\\d+)*)(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?|inf(?:inity)?|nan)" +
  "(?![\\d.,_])\\s*(?<rest>.*)$", "su");
const BARE_PREFIX = /^(?<prefix>[KMGTPE]i|bn|tn|[kMGT])(?![\p{L}\d]|\$)\s*(?<rest>.*)$/su;
const LONGEST = 1000;

function unitsOf(data) {
  const { table, bare, counted, ladders } = data;
  const withDigits = Object.keys(table).filter(name => /\d/.test(name.slice(1)));
  const names = [...withDigits.map(name => `${name}|`), "[\\p{L}]*[$%]|[\\p{L}]+"].join("");
  const TOKEN = new RegExp(
    "\\s*(?:(?<power>(?:\\^|\\*\\*)\\s*(?:\\(\\s*[+-]?\\d+(?:\\.\\d+|/\\d+)?\\s*\\)|[+-]?\\d+(?:\\.\\d+)?))" +
    `|(?<name>${names})|(?<sign>[*·⋅/()\\-])|(?<one>1(?![\\d.])))`, "yu");

  const combined = (a, b, sign) => {
    const dims = { ...a.dims };
    for (const [name, x] of Object.entries(b.dims)) dims[name] = (dims[name] ?? 0) + sign * x;
    return sign > 0 ? { num: a.num * b.num, den: a.den * b.den, dims } : { num: a.num * b.den, den: a.den * b.num, dims };
  };
  const one = () => ({ num: 1n, den: 1n, dims: {} });

  function readUnit(text) {
    const tokens = [];
    TOKEN.lastIndex = 0;
    const end = text.trimEnd().length;
    while (TOKEN.lastIndex < end) {
      const at = TOKEN.lastIndex, match = TOKEN.exec(text);
      if (!match) throw new UnitError(`'${text.slice(at).trim()}' is not a unit`);
      const [kind, word] = Object.entries(match.groups).find(([, group]) => group !== undefined);
      tokens.push(word === "per" ? ["sign", "/"] : [kind, word]);
    }
    let position = 0, brackets = 0;
    const peek = () => tokens[position] ?? ["end", ""];
    const take = () => tokens[position++] ?? ["end", ""];
    const named = word => {
      if (!Object.hasOwn(table, word)) throw new UnitError(`unknown unit '${word}'`);
      const [num, den, dims] = table[word];
      return { num: BigInt(num), den: BigInt(den), dims };
    };
    const powered = () => {
      const [kind, word] = take();
      let unit;
      if (word === "(") {
        if (++brackets > 4) throw new UnitError("more than 4 brackets in one another are not supported");
        unit = product();
        if (take()[1] !== ")") throw new UnitError("a bracket is not closed");
        brackets -= 1;
      } else if (kind === "name" || kind === "one") unit = named(word);
      else throw new UnitError(word ? `a unit is missing before '${word}'` : "it ends where a unit should follow");
      if (peek()[0] === "power") {
        const text = take()[1].replace(/[\^*()\s]/g, ""), exponent = Number(text);
        const whole = Number.isInteger(exponent) && Math.abs(exponent) <= 12;
        if (!whole && !(Number.isInteger(2 * exponent) && unit.num === unit.den))
          throw new UnitError(`an exponent of ${text} is not supported`);
        const [num, den] = exponent < 0 ? [unit.den, unit.num] : [unit.num, unit.den], size = BigInt(whole ? Math.abs(exponent) : 1);
        unit = { num: num ** size, den: den ** size, dims: Object.fromEntries(Object.entries(unit.dims).map(([k, x]) => [k, x * exponent])) };
      }
      return unit;
    };
    const compound = () => {
      let unit = powered();
      while (peek()[1] === "-") { take(); unit = combined(unit, powered(), 1); }
      return unit;
    };
    const product = () => {
      let unit = peek()[1] === "/" ? one() : compound(), divided = false;
      for (;;) {
        const [kind, word] = peek();
        if (word === "/") { take(); unit = combined(unit, compound(), -1); divided = true; }
        else if (["*", "·", "⋅"].includes(word)) { take(); unit = combined(unit, compound(), 1); }
        else if (kind === "name" || kind === "one" || word === "(") {
          if (divided) throw new UnitError(`it is unclear whether '${word}' is divided by: use brackets or another '/'`);
          unit = combined(unit, compound(), 1);
        } else return unit;
      }
    };
    const unit = product();
    if (position < tokens.length) throw new UnitError(`'${peek()[1]}' is out of place`);
    return unit;
  }

  const fits = (given, expected) =>
    [...new Set([...Object.keys(given), ...Object.keys(expected)])].every(name => {
      const a = given[name] ?? 0, b = expected[name] ?? 0;
      return a === b || (a === 0 && counted.includes(name));
    });
  const spelled = dims => Object.entries(dims).filter(([, x]) => x).map(([name, x]) => x === 1 ? name : `${name}^${x}`).join(" ") || "1";

  function countsIn(unitText, expected) {
    const uncounted = Object.entries(expected).filter(([name, x]) => x && !counted.includes(name)).map(([, x]) => x);
    if (!unitText) return !uncounted.length;
    if (/^(\/|per\b)/.test(unitText)) return Math.max(0, ...uncounted) <= 0;
    const first = unitText.match(/^\p{L}+/u)?.[0];
    if (!first || !Object.hasOwn(table, first)) return false;
    const [num, den, dims] = table[first];
    return num === den && Object.keys(dims).some(name => counted.includes(name));
  }

  function exact(digits, num, den, negative) {
    const plain = digits.replace(/[,_]/g, "");
    let value = plain.startsWith("inf") ? Infinity : Number(plain);
    if (value !== 0 && Number.isFinite(value)) {
      const [mantissa, power] = plain.toLowerCase().split("e"), [whole, fraction = ""] = mantissa.split(".");
      const shift = Number(power ?? 0) - fraction.length;
      const top = BigInt(whole + fraction) * num * 10n ** BigInt(Math.max(shift, 0));
      value = nearest(top, den * 10n ** BigInt(Math.max(-shift, 0)));
    }
    return negative ? -value : value;
  }

  function valueOf(text, unit) {
    if (text.length > LONGEST) throw new UnitError(`it is longer than ${LONGEST} characters`);
    const expected = ladders[unit].dims;
    const match = QUANTITY.exec(text.trim().replaceAll("\u2212", "-"));
    if (!match)
      throw new UnitError(/^[-+$ ]*\d/.test(text.trim())
        ? "the number is not clear; commas group thousands, a point marks decimals" : "it does not begin with a number");
    const { sign, dollar, number } = match.groups;
    let unitText = match.groups.rest, num = 1n, prefix = null;
    const withPrefix = BARE_PREFIX.exec(unitText);
    if (withPrefix) { prefix = withPrefix.groups.prefix; unitText = withPrefix.groups.rest; num = BigInt(bare[prefix]); }
    if (dollar && unitText && !/^([/*]|per\b)/.test(unitText)) throw new UnitError(`'${unitText}' after an amount in dollars is not clear`);
    const given = dollar ? readUnit(`USD ${unitText}`) : unitText ? readUnit(unitText) : { ...one(), dims: expected };
    if (prefix && !dollar && (["bn", "tn"].includes(prefix) || !countsIn(unitText, expected)))
      throw new UnitError(unitText ? `'${prefix}' belongs to the unit` : `'${prefix}' by itself is for counts only`);
    if (unitText.trim() === "%" && Object.values(expected).some(Boolean)) throw new UnitError("it is in percent");
    if (!fits(given.dims, expected)) throw new UnitError(`it is in ${spelled(given.dims)}`);
    const value = exact(number, num * given.num, given.den, sign === "-");
    if (!Number.isFinite(value) && !/^[in]/.test(number)) throw new UnitError("the number is too large");
    return number === "nan" ? NaN : value;
  }

  function scaleOf(magnitude, unit) {
    const { rungs, plain } = ladders[unit];
    if (magnitude === 0 || !Number.isFinite(magnitude)) return rungs[plain];
    const [head, exponent] = rounded(magnitude, 4), near = Number(`${head}e${exponent - 3}`);
    const rung = rungs.findLast(([, , least]) => least <= near) ?? rungs[0];
    return near / rung[0] >= 1e-3 && near / rung[0] < 1e6 ? rung : rungs[plain];
  }

  function format(value, unit, digits = 4) {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
    const [factor, label] = scaleOf(Math.abs(value), unit);
    const number = written(value / factor, digits);
    if (label.includes("$")) {
      const [prefix, below] = label.split("$");
      return `${number.startsWith("-") ? "-" : ""}$${number.replace(/^-/, "")}${prefix}${below.replaceAll("/", " / ")}`;
    }
    if (!label || "kMGTPE".includes(label)) return number + label;
    return label[0] === "/" ? `${number} / ${label.slice(1)}` : `${number} ${label}`;
  }

  const parse = (text, unit) => {
    try { return valueOf(text, unit); } catch (error) {
      if (!(error instanceof UnitError)) throw error;
      throw new UnitError(`cannot read '${text.slice(0, 80)}' as ${unit === "1" ? "a number" : unit}: ${error.message}`);
    }
  };

  // The shortest text with the same bits, null beyond six digits.
  function exactText(value, unit) {
    for (let digits = 1; digits <= 6; digits += 1) {
      const text = format(value, unit, digits);
      if (parse(text, unit) === value) return text;
    }
    return null;
  }
  return { format, parse, exactText };
}
