// A formula as data: the tape it leaves, and how it is printed.
#include "roofslate/language/error.hpp"
#include "roofslate/language/registry.hpp"
#include <gtest/gtest.h>

namespace
{
    using namespace roofslate;

    class Printed : public testing::Test
    {
    protected:
        Tape tape;
        const Expr a = Expr::input(tape, 0), b = Expr::input(tape, 1), c = Expr::input(tape, 2);
        std::string text(const Expr& e) { return print(tape, e.on(tape), {"alpha", "beta", "gamma"}, Notation::text); }
        std::string latex(const Expr& e) { return print(tape, e.on(tape), {"\\alpha", "b", "c"}, Notation::latex); }
    };

    TEST_F(Printed, AsTextWithFewestBrackets)
    {
        EXPECT_EQ(text(a + b * c), "alpha + beta * gamma");
        EXPECT_EQ(text((a + b) * c), "(alpha + beta) * gamma");
        EXPECT_EQ(text(a - (b - c)), "alpha - (beta - gamma)");
        EXPECT_EQ(text((a - b) - c), "alpha - beta - gamma");
        EXPECT_EQ(text(a / (b * c)), "alpha / (beta * gamma)");
        EXPECT_EQ(text(a * (b / c)), "alpha * (beta / gamma)");
        EXPECT_EQ(text(a / b / c), "alpha / beta / gamma");
        EXPECT_EQ(text(-(a + b)), "-(alpha + beta)");
        EXPECT_EQ(text(a * -b), "alpha * (-beta)");
        EXPECT_EQ(text(pow(a + b, c)), "(alpha + beta) ^ gamma");
        EXPECT_EQ(text(pow(pow(a, b), c)), "(alpha ^ beta) ^ gamma");
        EXPECT_EQ(text(max(a + b, min(b, c))), "max(alpha + beta, min(beta, gamma))");
        EXPECT_EQ(text(sqrt(a) + ceil(b) + floor(c)), "sqrt(alpha) + ceil(beta) + floor(gamma)");
        EXPECT_EQ(text(exp(log(a))), "exp(ln(alpha))");
    }
    TEST_F(Printed, AsTextWithConditions)
    {
        EXPECT_EQ(text(select(a < b, a, b)), "(alpha if alpha < beta else beta)");
        EXPECT_EQ(text(select(a > b, a, 0.0)), "(alpha if beta < alpha else 0)");
        EXPECT_EQ(
            text(select(a == 0.0, a, select(a == 1.0, b, c))),
            "(alpha if alpha == 0 else beta if alpha == 1 else gamma)");
        EXPECT_EQ(text(select((a <= b) && (b <= c), 1.0, 0.0)), "(1 if alpha <= beta and beta <= gamma else 0)");
    }
    TEST_F(Printed, NumbersComeBackExactly)
    {
        EXPECT_EQ(text(a * 2.0), "alpha * 2");
        EXPECT_EQ(text(a + 0.1), "alpha + 0.1");
        EXPECT_EQ(text(a + 1.0 / 3), "alpha + 0.3333333333333333");
        EXPECT_EQ(text(a * -1.5), "alpha * (-1.5)");
        EXPECT_EQ(text(select(a < b, a, HUGE_VAL)), "(alpha if alpha < beta else inf)");
        for (const double x : {0.1 + 0.2, 1e300, 5e-324, 6.02214076e23, 123456789.123456789})
            EXPECT_EQ(std::strtod(text(Expr(x)).c_str(), nullptr), x);
    }
    TEST_F(Printed, AsLatex)
    {
        EXPECT_EQ(latex(a + b * c), "\\alpha + b \\, c");
        EXPECT_EQ(latex((a + b) / (b - c)), "\\frac{\\alpha + b}{b - c}");
        EXPECT_EQ(latex(a * (b + c)), "\\alpha \\, \\left(b + c\\right)");
        EXPECT_EQ(latex(pow(a, b + c)), "{\\alpha}^{b + c}");
        EXPECT_EQ(latex(pow(a + b, c)), "{\\left(\\alpha + b\\right)}^{c}");
        EXPECT_EQ(latex(max(a, b)), "\\max\\left(\\alpha, b\\right)");
        EXPECT_EQ(latex(sqrt(a)), "\\sqrt{\\alpha}");
        EXPECT_EQ(latex(log(a)), "\\ln\\left(\\alpha\\right)");
        EXPECT_EQ(latex(ceil(a)), "\\lceil \\alpha \\rceil");
        EXPECT_EQ(
            latex(select(a <= b, c, HUGE_VAL)),
            "\\begin{cases} c & \\alpha \\leq b \\\\ \\infty & \\text{otherwise} \\end{cases}");
    }
    TEST_F(Printed, ChoicesAsWords)
    {
        static constexpr Choices words{"all", "not_one"};
        const Expr chosen = select(a == 1.0, 0.0, 1.0);
        const Inscription inputs{{"alpha", "beta", "c"}, {&words, nullptr, nullptr}, &words};
        EXPECT_EQ(print(tape, chosen.on(tape), inputs, Notation::text), "('all' if alpha == 'not_one' else 'not_one')");
        EXPECT_EQ(
            print(tape, chosen.on(tape), inputs, Notation::latex),
            "\\begin{cases} \\text{all} & alpha = \\text{not one} \\\\ \\text{not one} & \\text{otherwise} "
            "\\end{cases}");
    }
    TEST_F(Printed, NamedIntermediateValues)
    {
        const Expr sum = named("sum", "s", a + b), ratio = named("ratio", "r", c / sum);
        EXPECT_EQ(text(ratio * (ratio - sum)), "ratio * (ratio - sum) where sum = alpha + beta; ratio = gamma / sum");
        EXPECT_EQ(latex(pow(ratio, sum)), "{r}^{s} \\; \\text{where} \\; s = \\alpha + b, \\; r = \\frac{c}{s}");
        const Inscription inputs{{"a", "b", "c"}, {nullptr, nullptr, nullptr}};
        EXPECT_EQ(print_part(tape, (ratio - sum).on(tape), inputs, Notation::text), "ratio - sum");
        EXPECT_EQ(print_part(tape, ratio.on(tape), inputs, Notation::text), "ratio");
        EXPECT_EQ(text(sum), "alpha + beta");
        EXPECT_EQ(text(named("again", "a", sum) * c), "sum * gamma where sum = alpha + beta");
        EXPECT_EQ(text(named("input", "i", a) + named("number", "n", Expr(2.0))), "alpha + 2");
        const Expr chosen = named("other", "o", select(a < c, b, c));
        EXPECT_EQ(
            text(select(a < b, sum, chosen)),
            "(sum if alpha < beta else other) where sum = alpha + beta; other = (beta if alpha < gamma else gamma)");
        EXPECT_EQ(named("number", "n", 2.0), 2.0);
    }

    TEST(Expr, LiteralsFoldUntilTheyMeetATape)
    {
        Tape tape;
        const Expr folded = max(Expr(2.0) * Expr(3.0), Expr(5.0)) - Expr(1.0);
        EXPECT_TRUE(tape.operations.empty());
        const int at = folded.on(tape);
        EXPECT_EQ(tape.operations[std::size_t(at)].op, Op::constant);
        EXPECT_EQ(tape.operations[std::size_t(at)].value, 5);
        const Expr x = Expr::input(tape, 0);
        const Expr chosen = select(x < 1.0, 0.0, 1.0); // both branches are literals: the condition brings the tape
        EXPECT_EQ(tape.operations[std::size_t(chosen.on(tape))].op, Op::select);
    }

    struct triple
    {
        static constexpr const char* name = "triple";
        static constexpr const char* latex = "\\mathrm{tri}";
        static constexpr int arity = 1;
        static constexpr Dimension dimension(const Dimension& a) { return a; }
        static double value(double a) { return 3 * a; }
    };
    TEST(Routine, IsOneOperation)
    {
        Tape tape;
        const Expr x = Expr::input(tape, 0), y = routine<triple>(x + 1.0);
        EXPECT_EQ(print(tape, y.on(tape), {"x"}, Notation::text), "triple(x + 1)");
        EXPECT_EQ(print(tape, y.on(tape), {"x"}, Notation::latex), "\\mathrm{tri}\\left(x + 1\\right)");
        EXPECT_EQ(routine<triple>(2.0), 6);
        EXPECT_TRUE(same_unit(routine<triple>(unit("s")), unit("s")));
    }

    // What choices leave of a formula, and what max and min chose.
    TEST(Application, ShowsDecisions)
    {
        const Entry& e = registry()[registry().at("roofline_time")];
        ASSERT_EQ(
            e.need_names,
            (std::vector<
                std::string_view>{"overlap", "compute_time", "weight_fetch_time", "kv_fetch_time", "memory_time"}));
        const std::vector<std::string> symbols{"o", "t_c", "t_w", "t_k", "t_m"};
        const Applied board = apply_formula(registry(), e, {0, 3, 1, 1, 2}, symbols, Notation::text);
        EXPECT_EQ(board.formula, "max(t_m, t_c)");
        ASSERT_EQ(board.decisions.size(), 1u);
        EXPECT_TRUE(board.decisions[0].maximum);
        EXPECT_EQ(board.decisions[0].winner, "t_c");
        EXPECT_EQ(board.decisions[0].winner_value, 3);
        EXPECT_EQ(board.decisions[0].loser, "t_m");
        EXPECT_EQ(board.decisions[0].loser_value, 2);
        EXPECT_EQ(
            apply_formula(registry(), e, {1, 3, 1, 1, 2}, symbols, Notation::text).formula,
            "t_k + max(t_w, t_c)");
        const Applied serial = apply_formula(registry(), e, {2, 3, 1, 1, 2}, symbols, Notation::latex);
        EXPECT_EQ(serial.formula, "t_m + t_c");
        EXPECT_TRUE(serial.decisions.empty());
    }
}
