// Expr: a formula as data, one node an operation. The engine runs it; explain() and the documentation print it.
#pragma once
#include "roofslate/language/math.hpp"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace roofslate
{
    enum class Op : std::uint8_t
    {
        input,
        constant,
        add,
        sub,
        mul,
        div,
        neg,
        min,
        max,
        pow,
        exp,
        log,
        sqrt,
        ceil,
        floor,
        less,
        less_equal,
        equal,
        both,
        either,
        select,
        routine
    };

    struct Enclosure;
    // A function of up to three numbers without closed form, opaque to the engine.
    struct Routine
    {
        const char* name;
        const char* latex;
        int arity;
        double (*value)(const double* arguments);
        // the derivatives by its arguments, functions of all of them; nullptr: there is none
        std::array<const Routine*, 3> partials{};
        // by argument: 1 if its value never falls with it, -1 if it never rises, 0 if nothing is known
        std::array<signed char, 3> directions{};
        // by argument: below it is NaN
        std::array<double, 3> least{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
        // bounds of its value by bounds of its arguments. nullptr: by its directions
        const Enclosure& (*enclosure)() = nullptr;
        double operations = 50; // that take as long

        bool has_bounds_by(std::size_t argument) const { return enclosure || directions[argument] != 0; }
    };

    struct Operation
    {
        Op op;
        int argument[3] = {-1, -1, -1}; // positions on the tape; of an input: its number
        double value = 0;               // of a constant
        const Routine* routine = nullptr;
        const char* name = nullptr; // by which a printed formula refers to it, and as LaTeX
        const char* latex = nullptr;
    };
    struct Tape
    {
        std::vector<Operation> operations;
        int push(const Operation& o)
        {
            operations.push_back(o);
            return int(operations.size()) - 1;
        }
    };

    // Two formulas, of inputs that are the lower and the upper end of the first argument, of the second, ...
    struct Enclosure
    {
        Tape tape;
        int low = -1, high = -1; // positions on the tape
    };

    // The operation on plain numbers: the meaning of every node.
    double evaluate(Op op, const Routine* routine, const double* arguments);

    class Expr
    {
    public:
        Expr() = default;
        Expr(double literal) : literal_(literal) {}
        static Expr input(Tape& tape, int number) { return Expr(&tape, tape.push({Op::input, {number, -1, -1}})); }
        void name(const char* text, const char* latex) const
        {
            Operation* o = tape_ ? &tape_->operations[std::size_t(position_)] : nullptr;
            if (o && !o->name && o->op != Op::input && o->op != Op::constant)
                o->name = text, o->latex = latex;
        }
        int on(Tape& tape) const { return tape_ ? position_ : tape.push({Op::constant, {-1, -1, -1}, literal_}); }

        static Expr apply(Op op, const Expr& a) { return apply(op, nullptr, {&a, nullptr, nullptr}, 1); }
        static Expr apply(Op op, const Expr& a, const Expr& b) { return apply(op, nullptr, {&a, &b, nullptr}, 2); }
        static Expr apply(Op op, const Expr& a, const Expr& b, const Expr& c)
        { return apply(op, nullptr, {&a, &b, &c}, 3); }

        struct Arguments
        { const Expr* at[3]; };
        static Expr apply(Op op, const Routine* routine, const Arguments& arguments, int arity)
        {
            Tape* tape = nullptr;
            double values[3] = {};
            for (int k = 0; k < arity; ++k)
            {
                tape = tape ? tape : arguments.at[k]->tape_;
                values[k] = arguments.at[k]->literal_;
            }
            if (!tape)
                return Expr(evaluate(op, routine, values));
            Operation o{op};
            o.routine = routine;
            for (int k = 0; k < arity; ++k)
                o.argument[k] = arguments.at[k]->on(*tape);
            return Expr(tape, tape->push(o));
        }

    private:
        Expr(Tape* tape, int position) : tape_(tape), position_(position) {}
        Tape* tape_ = nullptr; // a literal has none until it meets one
        int position_ = -1;
        double literal_ = 0;
    };

    inline Expr operator+(const Expr& a, const Expr& b) { return Expr::apply(Op::add, a, b); }
    inline Expr operator-(const Expr& a, const Expr& b) { return Expr::apply(Op::sub, a, b); }
    inline Expr operator*(const Expr& a, const Expr& b) { return Expr::apply(Op::mul, a, b); }
    inline Expr operator/(const Expr& a, const Expr& b) { return Expr::apply(Op::div, a, b); }
    inline Expr operator-(const Expr& a) { return Expr::apply(Op::neg, a); }
    inline Expr min(const Expr& a, const Expr& b) { return Expr::apply(Op::min, a, b); }
    inline Expr max(const Expr& a, const Expr& b) { return Expr::apply(Op::max, a, b); }
    inline Expr pow(const Expr& a, const Expr& b) { return Expr::apply(Op::pow, a, b); }
    inline Expr exp(const Expr& a) { return Expr::apply(Op::exp, a); }
    inline Expr log(const Expr& a) { return Expr::apply(Op::log, a); }
    inline Expr sqrt(const Expr& a) { return Expr::apply(Op::sqrt, a); }
    inline Expr ceil(const Expr& a) { return Expr::apply(Op::ceil, a); }
    inline Expr floor(const Expr& a) { return Expr::apply(Op::floor, a); }
    inline Expr count(const Expr& a) { return a; }
    inline Expr operator<(const Expr& a, const Expr& b) { return Expr::apply(Op::less, a, b); }
    inline Expr operator>(const Expr& a, const Expr& b) { return Expr::apply(Op::less, b, a); }
    inline Expr operator<=(const Expr& a, const Expr& b) { return Expr::apply(Op::less_equal, a, b); }
    inline Expr operator>=(const Expr& a, const Expr& b) { return Expr::apply(Op::less_equal, b, a); }
    inline Expr operator==(const Expr& a, const Expr& b) { return Expr::apply(Op::equal, a, b); }
    inline Expr operator&&(const Expr& a, const Expr& b) { return Expr::apply(Op::both, a, b); }
    inline Expr operator||(const Expr& a, const Expr& b) { return Expr::apply(Op::either, a, b); }
    inline Expr select(const Expr& condition, const Expr& a, const Expr& b)
    { return Expr::apply(Op::select, condition, a, b); }

    // An intermediate value that a printed formula names: "x * u where u = a + b".
    template <class T> constexpr const T& named(const char*, const char*, const T& x) { return x; }
    inline const Expr& named(const char* name, const char* latex, const Expr& x)
    {
        x.name(name, latex);
        return x;
    }

    inline constexpr std::size_t most_choices = 32;
    using Choices = std::array<const char*, most_choices>; // words; the value of one is its position

    enum class Notation
    {
        text,
        latex
    };
    // How the inputs of an expression are written: their symbols, and of those that are choices the words (else
    // nullptr).
    struct Inscription
    {
        std::vector<std::string> symbols;
        std::vector<const Choices*> words;
        const Choices* outcomes = nullptr; // of a formula that is a choice itself
    };
    // The formula, and after "where" the intermediate values that it names.
    std::string print(const Tape& tape, int root, const Inscription& inputs, Notation notation);
    // A part of a formula, named values as their names.
    std::string print_part(const Tape& tape, int root, const Inscription& inputs, Notation notation);
    inline std::string print(const Tape& tape, int root, const std::vector<std::string>& symbols, Notation notation)
    { return print(tape, root, Inscription{symbols, std::vector<const Choices*>(symbols.size(), nullptr)}, notation); }
}
