#include "roofslate/language/expr.hpp"
#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

namespace roofslate
{
    double evaluate(Op op, const Routine* routine, const double* x)
    {
        switch (op)
        {
        case Op::add: return x[0] + x[1];
        case Op::sub: return x[0] - x[1];
        case Op::mul: return x[0] * x[1];
        case Op::div: return x[0] / x[1];
        case Op::neg: return -x[0];
        case Op::min: return math::min(x[0], x[1]);
        case Op::max: return math::max(x[0], x[1]);
        case Op::pow: return math::pow(x[0], x[1]);
        case Op::exp: return math::exp(x[0]);
        case Op::log: return math::log(x[0]);
        case Op::sqrt: return math::sqrt(x[0]);
        case Op::ceil: return math::ceil(x[0]);
        case Op::floor: return math::floor(x[0]);
        case Op::less: return x[0] < x[1] ? 1.0 : 0.0;
        case Op::less_equal: return x[0] <= x[1] ? 1.0 : 0.0;
        case Op::equal: return x[0] == x[1] ? 1.0 : 0.0;
        case Op::both: return x[0] != 0 && x[1] != 0 ? 1.0 : 0.0;
        case Op::either: return x[0] != 0 || x[1] != 0 ? 1.0 : 0.0;
        case Op::select: return x[0] != 0 ? x[1] : x[2];
        case Op::routine: return routine->value(x);
        case Op::input:
        case Op::constant: break;
        }
        return x[0];
    }

    namespace
    {
        class Printer
        {
        public:
            enum Level // how tightly an expression binds
            {
                condition,
                comparison,
                term,
                factor,
                power,
                atom
            };
            Printer(const Tape& tape, const Inscription& inputs, Notation notation)
                : tape_(tape), inputs_(inputs), latex_(notation == Notation::latex)
            {
            }

            // Each named value after the values it takes, in the order of the tape.
            std::string with_definitions(int root)
            {
                const std::string formula = written(root, condition);
                std::string definitions;
                for (auto next = mentioned_.begin(); next != mentioned_.end(); next = mentioned_.begin())
                {
                    const int position = *next;
                    mentioned_.erase(next);
                    const std::string definition = name(position) + " = " + written(position, condition);
                    definitions = definition + (definitions.empty() ? "" : latex_ ? ", \\; " : "; ") + definitions;
                }
                if (definitions.empty())
                    return formula;
                return formula + (latex_ ? " \\; \\text{where} \\; " : " where ") + definitions;
            }
            std::string at_level(int position, Level least)
            {
                if (!operation(position).name)
                    return written(position, least);
                mentioned_.insert(position);
                return name(position);
            }

        private:
            std::string name(int position) const
            { return latex_ ? operation(position).latex : operation(position).name; }
            std::string written(int position, Level least)
            {
                const Level precedence = level(position);
                std::string inside = at(position);
                if (precedence >= least)
                    return inside;
                return latex_ ? "\\left(" + inside + "\\right)" : "(" + inside + ")";
            }
            const Operation& operation(int position) const { return tape_.operations[std::size_t(position)]; }

            static std::string number(double x)
            {
                if (x == HUGE_VAL)
                    return "inf";
                char text[32];
                for (int digits = 6; digits <= 17; ++digits)
                {
                    std::snprintf(text, sizeof text, "%.*g", digits, x);
                    if (std::strtod(text, nullptr) == x)
                        break;
                }
                return text;
            }
            Level level(int position) const
            {
                switch (operation(position).op)
                {
                case Op::both:
                case Op::either: return condition;
                case Op::less:
                case Op::less_equal:
                case Op::equal: return comparison;
                case Op::add:
                case Op::sub:
                case Op::neg: return term;
                case Op::mul: return factor;
                case Op::div: return latex_ ? atom : factor;
                case Op::pow: return power;
                case Op::constant: return operation(position).value < 0 ? term : atom;
                default: return atom;
                }
            }
            std::string infix(const Operation& o, const char* sign, Level left_level, Level right_level)
            { return at_level(o.argument[0], left_level) + sign + at_level(o.argument[1], right_level); }
            std::string call(const std::string& name, const Operation& o, int arity)
            {
                std::string inside;
                for (int k = 0; k < arity; ++k)
                    inside += (k ? ", " : "") + at_level(o.argument[k], condition);
                return latex_ ? name + "\\left(" + inside + "\\right)" : name + "(" + inside + ")";
            }
            std::string compared(const Operation& o) // a choice is compared with a word
            {
                const Operation& first = operation(o.argument[0]);
                return worded(
                    first.op == Op::input ? inputs_.words[std::size_t(first.argument[0])] : nullptr,
                    o.argument[1],
                    term);
            }
            // if it is the number of a word
            std::string worded(const Choices* words, int position, Level otherwise)
            {
                const Operation& o = operation(position);
                if (words && o.op == Op::constant)
                    for (std::size_t k = 0; k < words->size() && (*words)[k]; ++k)
                        if (o.value == double(k))
                            return word((*words)[k]);
                return at_level(position, otherwise);
            }
            std::string word(std::string choice) const
            {
                if (!latex_)
                    return "'" + choice + "'";
                std::replace(choice.begin(), choice.end(), '_', ' ');
                return "\\text{" + choice + "}";
            }
            std::string outcome(int position) { return worded(inputs_.outcomes, position, condition); }
            std::string base(int position) // of a power: a fraction needs brackets too
            {
                const bool fraction = operation(position).op == Op::div && !operation(position).name;
                return fraction ? "\\left(" + at_level(position, condition) + "\\right)" : at_level(position, atom);
            }
            std::string cases(const Operation& o)
            {
                std::string rows;
                const Operation* s = &o;
                for (;; s = &operation(s->argument[2]))
                {
                    const std::string value = outcome(s->argument[1]), when = at_level(s->argument[0], condition);
                    rows += latex_ ? value + " & " + when + " \\\\ " : value + " if " + when + " else ";
                    const Operation& otherwise = operation(s->argument[2]);
                    if (otherwise.op != Op::select || otherwise.name)
                        break;
                }
                const std::string last = outcome(s->argument[2]);
                return latex_
                    ? "\\begin{cases} " + rows + last + " & \\text{otherwise} \\end{cases}"
                    : "(" + rows + last + ")";
            }
            std::string at(int position)
            {
                const Operation& o = operation(position);
                switch (o.op)
                {
                case Op::input: return inputs_.symbols[std::size_t(o.argument[0])];
                case Op::constant: return latex_ && o.value == HUGE_VAL ? "\\infty" : number(o.value);
                case Op::add: return infix(o, " + ", term, term);
                case Op::sub: return infix(o, " - ", term, factor);
                case Op::mul: return infix(o, latex_ ? " \\, " : " * ", factor, latex_ ? factor : power);
                case Op::div:
                    if (latex_)
                        return "\\frac{" + at_level(o.argument[0], condition) + "}{"
                            + at_level(o.argument[1], condition) + "}";
                    return infix(o, " / ", factor, power);
                case Op::neg: return "-" + at_level(o.argument[0], factor);
                case Op::pow:
                    if (latex_)
                        return "{" + base(o.argument[0]) + "}^{" + at_level(o.argument[1], condition) + "}";
                    return infix(o, " ^ ", atom, atom);
                case Op::less: return infix(o, " < ", term, term);
                case Op::less_equal: return infix(o, latex_ ? " \\leq " : " <= ", term, term);
                case Op::equal: return at_level(o.argument[0], term) + (latex_ ? " = " : " == ") + compared(o);
                case Op::both: return infix(o, latex_ ? " \\wedge " : " and ", comparison, comparison);
                case Op::either: return infix(o, latex_ ? " \\vee " : " or ", comparison, comparison);
                case Op::min: return call(latex_ ? "\\min" : "min", o, 2);
                case Op::max: return call(latex_ ? "\\max" : "max", o, 2);
                case Op::exp: return call(latex_ ? "\\exp" : "exp", o, 1);
                case Op::log: return call(latex_ ? "\\ln" : "ln", o, 1);
                case Op::sqrt:
                    return latex_ ? "\\sqrt{" + at_level(o.argument[0], condition) + "}" : call("sqrt", o, 1);
                case Op::ceil:
                    return latex_ ? "\\lceil " + at_level(o.argument[0], condition) + " \\rceil" : call("ceil", o, 1);
                case Op::floor:
                    return latex_
                        ? "\\lfloor " + at_level(o.argument[0], condition) + " \\rfloor"
                        : call("floor", o, 1);
                case Op::select: return cases(o);
                case Op::routine: return call(latex_ ? o.routine->latex : o.routine->name, o, o.routine->arity);
                }
                return "";
            }

            const Tape& tape_;
            const Inscription& inputs_;
            bool latex_;
            std::set<int, std::greater<>> mentioned_; // positions of named values, the last one first
        };
    }

    std::string print(const Tape& tape, int root, const Inscription& inputs, Notation notation)
    { return Printer(tape, inputs, notation).with_definitions(root); }
    std::string print_part(const Tape& tape, int root, const Inscription& inputs, Notation notation)
    { return Printer(tape, inputs, notation).at_level(root, Printer::condition); }
}
