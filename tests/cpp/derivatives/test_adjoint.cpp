// Derivatives of every quantity against dual numbers; grids against their points; zeros, kinks, routines, results
// repeated along axes.
#include "roofslate/derivatives/adjoint.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/language/registry.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace
{
    using namespace support;

    // --- the reference: the chain rule forwards, on numbers ---

    struct Dual
    { double v = 0, d = 0; };
    // Derivative of a routine by differences of the eighth order: good to about 1e-13 for functions as smooth as ours.
    double by_differences(const Routine& routine, std::array<double, 3> x, std::size_t k)
    {
        static const double weights[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
        const double at = x[k], h = 4e-3 * at;
        double sum = 0;
        for (int j = 1; j <= 4; ++j)
            for (const int sign : {1, -1})
            {
                x[k] = at + sign * j * h;
                sum += sign * weights[j - 1] * routine.value(x.data());
            }
        return sum / h;
    }
    Dual dual(const Operation& o, const std::array<Dual, 3>& x)
    {
        const Dual &a = x[0], &b = x[1];
        const double values[] = {a.v, b.v, x[2].v};
        const double z = evaluate(o.op, o.routine, values);
        switch (o.op)
        {
        case Op::add: return {z, a.d + b.d};
        case Op::sub: return {z, a.d - b.d};
        case Op::mul: return {z, a.d * b.v + a.v * b.d};
        case Op::div: return {z, (a.d * b.v - a.v * b.d) / (b.v * b.v)};
        case Op::neg: return {z, -a.d};
        case Op::max: return {z, a.v > b.v ? a.d : b.d};
        case Op::min: return {z, a.v < b.v ? a.d : b.d};
        case Op::exp: return {z, z * a.d};
        case Op::log: return {z, a.d / a.v};
        case Op::sqrt: return {z, a.d / (2 * z)};
        case Op::pow:
            return {
                z,
                (a.d != 0 ? b.v * std::pow(a.v, b.v - 1) * a.d : 0.0)
                    + (b.d != 0 && a.v != 0 ? z * std::log(a.v) * b.d : 0.0)};
        case Op::routine:
        {
            double d = 0;
            for (std::size_t k = 0; k < std::size_t(o.routine->arity); ++k)
                if (x[k].d != 0)
                    d += x[k].d * by_differences(*o.routine, {a.v, b.v, x[2].v}, k);
            return {z, d};
        }
        default: return {z, 0};
        }
    }
    // A quantity and all that it needs, with its derivative by one of them.
    class DualClosure
    {
    public:
        DualClosure(const std::map<int, double>& supplied, int by) : supplied_(supplied), by_(by) {}
        Dual of(int quantity)
        {
            if (const auto known = known_.find(quantity); known != known_.end())
                return known->second;
            const Entry& e = registry()[quantity];
            Dual result;
            if (const auto given = supplied_.find(quantity); given != supplied_.end())
                result = {given->second, quantity == by_ ? 1.0 : 0.0};
            else if (e.is_replaced([this](int q) { return supplied_.count(q) != 0 || q == changed_; }))
                result = of(e.replaced_by);
            else if (e.changed >= 0)
            {
                DualClosure elsewhere(supplied_, by_);
                elsewhere.changed_ = e.changed;
                elsewhere.known_[e.changed] = e.needs.size() > 1 ? of(e.needs[1]) : Dual{e.spec->changed_value, 0};
                result = elsewhere.of(e.needs[0]);
            }
            else if (e.computed())
                result = at(e, e.root);
            else if (e.fallback >= 0)
                result = of(e.fallback);
            else
                throw std::logic_error("not supplied");
            return known_[quantity] = result;
        }

    private:
        Dual at(const Entry& e, int position)
        {
            const Operation& o = e.tape.operations[std::size_t(position)];
            if (o.op == Op::input)
                return of(e.needs[std::size_t(o.argument[0])]);
            if (o.op == Op::constant)
                return {o.value, 0};
            if (o.op == Op::select)
                return at(e, o.argument[is_spend(e, o) || at(e, o.argument[0]).v == 0 ? 2 : 1]);
            std::array<Dual, 3> x;
            for (std::size_t k = 0; k < 3 && o.argument[k] >= 0; ++k)
                x[k] = at(e, o.argument[k]);
            return dual(o, x);
        }
        // rate == 0 ? 0 : rate * amount, whose slope at zero is the amount; or with a sum before both, or without
        // amount
        static bool is_spend(const Entry& e, const Operation& select)
        {
            const auto operation = [&](int position) { return e.tape.operations[std::size_t(position)]; };
            const Operation condition = operation(select.argument[0]);
            int spent = select.argument[2];
            const bool adjacent = operation(spent).op == Op::add && operation(spent).argument[0] == select.argument[1];
            if (adjacent)
                spent = operation(spent).argument[1];
            if (!(adjacent && spent == condition.argument[0]) && operation(spent).op == Op::mul)
                spent = operation(spent).argument[0];
            else if (!adjacent)
                return false;
            return condition.op == Op::equal && condition.argument[0] == spent;
        }
        const std::map<int, double>& supplied_;
        int by_;
        int changed_ = -1; // has another value where this one asks
        std::map<int, Dual> known_;
    };

    // A value in range for every input: as a rule not a whole number, so that nothing is equal by chance.
    std::map<int, double> scenario(Random& random)
    {
        std::map<int, double> all;
        for (int q = 0; q < registry().size(); ++q)
        {
            const Entry& e = registry()[q];
            const Spec& s = *e.spec;
            if (e.computed() || (e.fallback >= 0 && e.name != "concurrency" && e.name != "arrival_rate"))
                // which or batch_size, and which or session_rate must be given
                continue;
            if (s.is_choice())
            {
                int n = 0;
                while (n < int(most_choices) && s.choices[std::size_t(n)])
                    ++n;
                all[q] = below(random, n);
            }
            else
            {
                const double low = std::max(s.low, 0.0);
                all[q] = s.high > 1e300
                    ? low + std::exp(uniform(random, -1, 3))
                    : low + (s.high - low) * uniform(random, 0.1, 0.9);
            }
        }
        for (auto& [q, x] : all)
            if (const auto bound = all.find(registry()[q].bound); bound != all.end())
                x = std::min(x, bound->second * uniform(random, 0.3, 0.9));
        all[registry().at("hbm_capacity")] *= 1e9; // what does not fit takes forever, and has no slope
        all[registry().at("draft_length")] = 2.6; // whole numbers have a kink
        all[registry().at("batch_size")] = 7.3; // at its word: not what arrivals bring
        const auto given = [&](const char* name) -> double& { return all[registry().at(name)]; };
        // of the tails of distributions differences know little: a KV cache is about as large as the paused sessions,
        // and pauses and lengths are spread
        given("session_kv_bytes") =
            given("hbm_prefix_cache") / (given("arrival_rate") / given("replicas") * given("pause_time"));
        given("turns") = 1 + 1 / given("turns"); // nor where almost every turn has a next one
        // A drift by months reaches 1e39. Terms with such slopes cancel, and no digit is left.
        given("release_drift") = 0.01 * given("release_drift");
        // If all adapters are resident, each request is a hit. Differences across that edge are no slope.
        given("resident_adapters") = std::min(given("resident_adapters"), 0.5 * given("lora_adapters"));
        given("pause_cv") = 1 + given("pause_cv"), given("rollout_length_cv") = 1 + given("rollout_length_cv");
        return all;
    }
    struct Asked // a quantity at a point, ready to be differentiated by all numbers that it takes
    {
        Asked(int quantity, const std::map<int, double>& supplied) : graph({})
        {
            std::vector<Supplied> given;
            for (const auto& [q, x] : supplied)
                given.push_back({q, {&x, 0, {}}, !registry()[q].spec->is_choice()});
            Closure closure(registry(), graph, given);
            output = closure.node(quantity);
            for (const auto& [q, x] : supplied)
                if (closure.was_used(q) && !registry()[q].spec->is_choice())
                    by.push_back(q), inputs.push_back(closure.node(q));
        }
        // Only by inputs that have exact derivatives.
        std::vector<double> derivatives(Derivative kind)
        {
            for (;;)
                try
                {
                    Derivation derivation(graph, output, inputs, kind);
                    std::vector<double> result;
                    for (const int n : derivation.smooth())
                        result.push_back(graph[n].value);
                    return result;
                }
                catch (const NoPartial& refused)
                {
                    for (auto k = refused.inputs.rbegin(); k != refused.inputs.rend(); ++k)
                    {
                        left_out.insert(by[*k]);
                        by.erase(by.begin() + std::ptrdiff_t(*k)), inputs.erase(inputs.begin() + std::ptrdiff_t(*k));
                    }
                }
        }
        Graph graph;
        int output;
        std::vector<int> by, inputs;
        std::set<int> left_out;
    };

    // Both are sums of the same terms, which may cancel: an elasticity is known to some rounding errors of terms that
    // are up to 1e5 times as large.
    void expect_close(double actual, double expected, double scale, const std::string& what, double known_to = 1e-9)
    {
        EXPECT_LE(std::fabs(actual - expected), known_to * std::fabs(expected) + 1e-10 * scale)
            << what << ": " << actual << " instead of " << expected;
    }
    // Under the loads of such points a queue never ends, and no digit is left of its slopes; tests of the package
    // differentiate queues where services are.
    bool is_of_queues(int q)
    {
        const std::string_view theme = registry()[q].theme;
        return theme == "arrivals" || theme == "running" || theme == "slots" || theme == "latency" || theme == "goodput"
            || theme == "pools";
    }
    // Of all quantities, or of those that take an input.
    int compare_all(const std::map<int, double>& supplied, std::optional<int> input = {})
    {
        int compared = 0;
        for (int q = 0; q < registry().size(); ++q)
        {
            if (!registry()[q].computed() || registry()[q].spec->is_choice() || is_of_queues(q))
                continue;
            // Of losses drawn at random all but five digits may cancel in the dual numbers; the adjoints, by the
            // coefficients of the two terms equal and opposite as they must be, are nearer the truth.
            const double known_to = registry()[q].name == "optimal_lifetime_saving" ? 1e-4 : 1e-8;
            Asked problem(q, supplied);
            if (input && std::find(problem.by.begin(), problem.by.end(), *input) == problem.by.end())
                continue;
            const std::vector<double> elasticities = problem.derivatives(Derivative::elasticity),
                                      slopes = problem.derivatives(Derivative::slope);
            const double value = problem.graph[problem.output].value;
            for (std::size_t k = 0; k < problem.by.size(); ++k)
            {
                const std::string what =
                    std::string(registry()[q].name) + " by " + std::string(registry()[problem.by[k]].name);
                const Dual expected = DualClosure(supplied, problem.by[k]).of(q);
                EXPECT_TRUE(same_bits(expected.v, value)) << what;
                const double x = supplied.at(problem.by[k]);
                if (std::isfinite(value) && std::isfinite(expected.d)
                    && std::fabs(value) > 1e-100) // else far in a tail
                {
                    expect_close(
                        slopes[k],
                        expected.d,
                        x != 0 && value != 0 ? std::fabs(value / x) : std::max(1.0, std::fabs(value)),
                        what,
                        known_to);
                    ++compared;
                }
                if (std::fabs(value) <= 1e-100 && value != 0)
                    continue;
                if (!std::isfinite(value) || value == 0)
                    EXPECT_TRUE(elasticities[k] != elasticities[k] || elasticities[k] == 0) << what;
                else if (std::isfinite(expected.d * x / value))
                    expect_close(elasticities[k], expected.d * x / value, 1, what, known_to);
            }
        }
        return compared;
    }
    TEST(Derivatives, AgreeWithDualNumbersForEveryQuantityAndInput)
    {
        Random random(1);
        std::set<int> left_out;
        for (int round = 0; round < 6; ++round)
            EXPECT_GT(compare_all(scenario(random)), 1500) << round;
    }
    TEST(Derivatives, AgreeWithDualNumbersWhereAnInputIsZero)
    {
        Random random(2);
        const std::map<int, double> all = scenario(random);
        for (const auto& [q, x] : all)
        {
            const Spec& s = *registry()[q].spec;
            // Pauses without spread are a step, of which differences know nothing. A cost relative to its price does
            // not depend on the HBM price. Both slopes are rounding errors then.
            const std::string_view name = registry()[q].name;
            if (s.is_choice() || s.low > 0 || s.above_low || name == "pause_cv" || name == "hbm_price")
                continue;
            std::map<int, double> with_zero = all;
            with_zero[q] = 0;
            SCOPED_TRACE(registry()[q].name);
            compare_all(with_zero, q);
        }
    }
    TEST(Derivatives, AreRefusedByNameWhereARoutineHasNone)
    {
        Random random(3);
        const std::map<int, double> all = scenario(random);
        const int batch_slots = registry().at("batch_slots"), load = registry().at("slot_utilization");
        std::map<int, double> supplied = all;
        supplied[load] = 0.7, supplied[batch_slots] = 11;
        Asked problem(registry().at("waiting_probability"), supplied);
        try
        {
            Derivation(problem.graph, problem.output, problem.inputs, Derivative::elasticity);
            FAIL();
        }
        catch (const NoPartial& refused)
        {
            EXPECT_STREQ(refused.routine->name, "erlang_c");
            EXPECT_EQ(refused.argument, 0);
            ASSERT_EQ(refused.inputs.size(), 1u);
            EXPECT_EQ(problem.by[refused.inputs[0]], batch_slots);
        }
        problem.derivatives(Derivative::slope);
        EXPECT_EQ(problem.left_out, std::set<int>{batch_slots});
    }

    // --- operations one by one, zeros among the arguments ---

    struct Point // a graph over variables, and derivatives by them
    {
        Graph graph{std::vector<std::size_t>{}};
        std::vector<int> inputs;
        int variable(double x)
        {
            inputs.push_back(graph.variable(x));
            return inputs.back();
        }
        int op(Op o, int a, int b = -1, int c = -1) { return graph.operation(o, a, b, c); }
        std::vector<double> values(const std::vector<int>& nodes) const
        {
            std::vector<double> all;
            for (const int n : nodes)
                all.push_back(graph[n].value);
            return all;
        }
        std::vector<double> by(int output, Derivative kind)
        { return values(Derivation(graph, output, inputs, kind, true).smooth()); }
        std::vector<double> by(int output, Derivative kind, Side side)
        { return values(Derivation(graph, output, inputs, kind, true).one_sided(side)); }
    };
    using Doubles = std::vector<double>;
    void expect_same(const Doubles& actual, const Doubles& expected)
    {
        ASSERT_EQ(actual.size(), expected.size());
        for (std::size_t k = 0; k < actual.size(); ++k)
            EXPECT_TRUE(same_bits(actual[k], expected[k])) << k << ": " << actual[k] << " instead of " << expected[k];
    }
    TEST(Adjoints, OfProductsAndQuotientsAreWhole)
    {
        Point p;
        const int a = p.variable(0.1), b = p.variable(7), c = p.variable(1.0 / 3);
        const int z = p.op(Op::div, p.op(Op::mul, a, p.op(Op::mul, a, b)), p.op(Op::sqrt, c));
        expect_same(p.by(z, Derivative::elasticity), {2, 1, -0.5});
    }
    TEST(Adjoints, OfPowers)
    {
        const auto of = [](double x, double y, Derivative kind) {
            Point p;
            const int base = p.variable(x), exponent = p.variable(y);
            return p.by(p.op(Op::pow, base, exponent), kind);
        };
        expect_same(of(2, 3, Derivative::elasticity), {3, 3 * math::log(2)});
        expect_same(of(2, 3, Derivative::slope), {12, 8 * math::log(2)});
        expect_same(of(0, 3, Derivative::slope), {0, 0});
        expect_same(of(0, 1, Derivative::slope), {1, 0});
        expect_same(of(0, 0.5, Derivative::slope), {inf, 0});
        expect_same(of(0, 0, Derivative::slope), {0, -inf}); // 0^y falls from 1 to 0
        expect_same(of(5, 0, Derivative::slope), {0, math::log(5)});
        expect_same(of(0, 3, Derivative::elasticity), {undefined, undefined}); // the power is 0
        Point p;
        const int one = p.graph.constant(1), x = p.variable(0), y = p.variable(40);
        // no token misses an expert
        expect_same(p.by(p.op(Op::sub, one, p.op(Op::pow, x, y)), Derivative::elasticity), {0, 0});
    }
    TEST(Adjoints, WhereATermOrAFactorIsZero)
    {
        Point p;
        const int stages = p.variable(1), hop = p.variable(3), time = p.variable(2);
        const int latency = p.op(Op::add, time, p.op(Op::mul, p.op(Op::sub, stages, p.graph.constant(1)), hop));
        expect_same(p.by(latency, Derivative::elasticity), {1.5, 0, 1});
        expect_same(p.by(latency, Derivative::slope), {3, 0, 1});
        Point q;
        const int all = q.variable(4), taken = q.variable(4), room = q.op(Op::sub, all, taken);
        expect_same(q.by(room, Derivative::elasticity), {undefined, undefined});
        expect_same(q.by(room, Derivative::slope), {1, -1});
    }
    TEST(Adjoints, OfAnInfiniteInputAreThoseOfTheLimit)
    {
        Point p; // a link without latency or limit
        const int bytes = p.variable(5), rate = p.variable(inf), rest = p.variable(2);
        expect_same(p.by(p.op(Op::add, rest, p.op(Op::div, bytes, rate)), Derivative::elasticity), {0, 0, 1});
        Point q; // never
        const int one = q.variable(1), zero = q.variable(0), never = q.op(Op::div, one, zero);
        expect_same(q.by(never, Derivative::elasticity), {undefined, undefined});
    }
    TEST(Adjoints, WhatIsNotTakenDoesNotMatter)
    {
        double context[] = {1, 4, 9}; // 1 / (4 - L) below 4, otherwise L
        Graph g({3});
        const View view{context, 1, {1}};
        const int L = g.leaf(view), four = g.constant(4);
        const int inside = g.operation(Op::div, g.constant(1), g.operation(Op::sub, four, L));
        const int z = g.operation(Op::select, g.operation(Op::less, L, four), inside, L);
        const Derivation derivation(g, z, {L}, Derivative::slope);
        Doubles result;
        store(g, {output_in_order(g, derivation.smooth()[0], result)}, {});
        expect_same(result, {1.0 / 9, 1, 1});
    }
    TEST(Adjoints, WhatOverflowedDoesNotMove)
    {
        Point p;
        const int x = p.variable(1e300), y = p.variable(2);
        const int never = p.op(Op::div, y, p.op(Op::mul, x, x)); // y / inf
        expect_same(p.by(never, Derivative::slope), {0, 0});
        Point q; // a power that is 0, and one over it
        const int base = q.variable(0.5), power = q.variable(5000), one = q.graph.constant(1);
        const int large = q.op(Op::div, one, q.op(Op::pow, base, power));
        expect_same(q.by(q.op(Op::div, one, large), Derivative::slope), {0, 0});
        Point r; // (y / x) ^ 0
        const int small = r.variable(1e-300), huge = r.variable(1e15), zero = r.graph.constant(0);
        expect_same(r.by(r.op(Op::pow, r.op(Op::div, huge, small), zero), Derivative::slope), {0, 0});
    }
    TEST(Adjoints, AFactorOfZeroHoldsTheValue)
    {
        Point p; // 3 / (7 / (0 * 5)): not by the zero itself, whose slope is 15 / 7
        const int x = p.variable(3), y = p.variable(7), none = p.variable(0), z = p.variable(5);
        const int never = p.op(Op::div, y, p.op(Op::mul, none, z));
        expect_same(p.by(p.op(Op::div, x, never), Derivative::slope), {0, 0, undefined, 0});
        Point q; // two zeros that are one: the slope of |x|
        const int w = q.variable(0);
        expect_same(q.by(q.op(Op::sqrt, q.op(Op::mul, w, w)), Derivative::slope), {undefined});
    }
    TEST(Adjoints, OfAnOutputThatIsAnInputOrDoesNotTakeOne)
    {
        Point p;
        const int a = p.variable(3), b = p.variable(5);
        expect_same(p.by(a, Derivative::elasticity), {1, 0});
        expect_same(p.by(p.op(Op::ceil, p.op(Op::div, a, b)), Derivative::elasticity), {0, 0});
        expect_same(p.by(p.op(Op::less, a, b), Derivative::slope), {0, 0});
        const Derivation none(p.graph, b, {-1, b}, Derivative::slope);
        expect_same(p.values(none.smooth()), {0, 1});
    }
    TEST(Adjoints, NoZeroIsNegative)
    {
        Point p;
        const int a = p.variable(3), b = p.variable(5);
        const int z = p.op(Op::neg, p.op(Op::max, a, b));
        for (const double x : p.by(z, Derivative::slope))
            EXPECT_FALSE(x == 0 && std::signbit(x));
        for (const double x : p.by(p.op(Op::div, b, p.op(Op::max, a, b)), Derivative::elasticity))
            EXPECT_FALSE(x == 0 && std::signbit(x));
    }

    // --- kinks ---

    TEST(Kinks, HaveADerivativeOnEitherSide)
    {
        Point p;
        const int a = p.variable(3), b = p.variable(3);
        const int most = p.op(Op::max, a, b), least = p.op(Op::min, a, b);
        expect_same(p.by(most, Derivative::slope, Side::above), {1, 1});
        expect_same(p.by(most, Derivative::slope, Side::below), {0, 0});
        expect_same(p.by(least, Derivative::slope, Side::above), {0, 0});
        expect_same(p.by(least, Derivative::slope, Side::below), {1, 1});
        const int square = p.op(Op::mul, most, p.op(Op::mul, a, b));
        expect_same(p.by(square, Derivative::elasticity, Side::above), {2, 2});
        expect_same(p.by(square, Derivative::elasticity, Side::below), {1, 1});
    }
    TEST(Kinks, OfOneInputInSeveralTerms)
    {
        Point p;
        const int x = p.variable(1), y = p.variable(1);
        const int tent = p.op(
            Op::max,
            x,
            p.op(Op::max, p.op(Op::sub, p.graph.constant(2), x), p.op(Op::mul, y, p.graph.constant(1))));
        expect_same(p.by(tent, Derivative::slope, Side::above), {1, 1});
        expect_same(p.by(tent, Derivative::slope, Side::below), {-1, 0});
        EXPECT_EQ(differentiate(p.graph, tent, p.inputs, Derivative::slope, Side::above, {}).kinks.size(), 2u);
    }
    TEST(Kinks, AreNoneWhereTheSidesAgree)
    {
        Point p;
        const int x = p.variable(1.5), y = p.variable(4);
        // of a quantity and what it falls back on
        const int ratio = p.op(Op::max, p.op(Op::div, x, x), p.graph.constant(1));
        const int same = p.op(Op::max, p.op(Op::add, x, y), p.op(Op::add, y, x));
        for (const int z : {p.op(Op::mul, ratio, y), p.op(Op::max, x, x), same, p.op(Op::max, x, y)})
        {
            const Derivatives result = differentiate(p.graph, z, p.inputs, Derivative::elasticity, Side::above, {});
            EXPECT_TRUE(result.kinks.empty());
            expect_same(p.values(result.nodes), p.by(z, Derivative::elasticity));
        }
        // nothing need be looked for
        EXPECT_TRUE(Derivation(p.graph, p.op(Op::mul, ratio, y), p.inputs, Derivative::slope).kinks().empty());
        // a tie that the output does not come through
        const int hidden = p.op(Op::max, p.op(Op::max, x, p.graph.constant(1.5)), y);
        EXPECT_TRUE(differentiate(p.graph, hidden, p.inputs, Derivative::slope, Side::above, {}).kinks.empty());
    }
    TEST(Kinks, AreNotThosePointsWhereTheSidesAgree)
    {
        double a[] = {0.5, 1, 2}, b[] = {1, 3, 4}; // two terms touch at the first input's 1
        Graph g({3, 3});
        const int x = g.leaf({a, 1, {1}}), y = g.leaf({b, 2, {0, 1}});
        const int touching = g.operation(
            Op::max,
            g.operation(Op::mul, x, x),
            g.operation(Op::sub, g.operation(Op::mul, x, g.constant(2)), g.constant(1)));
        const int smooth = g.operation(Op::mul, touching, y);
        EXPECT_TRUE(differentiate(g, smooth, {x, y}, Derivative::elasticity, Side::above, {}).kinks.empty());
        const int bent = g.operation(Op::add, touching, g.operation(Op::max, y, g.constant(3)));
        const std::vector<KinkPoints> kinks =
            differentiate(g, bent, {x, y}, Derivative::elasticity, Side::above, {}).kinks;
        ASSERT_EQ(kinks.size(), 2u);
        EXPECT_EQ(kinks[0].points, 1); // at the kink of the other one
        EXPECT_EQ(kinks[1].points, 3);
    }
    // A factor with a kink makes the whole derivation run forwards.
    TEST(Kinks, OfEveryQuantityLeaveAllElseAsItIs)
    {
        Random random(5);
        for (int round = 0; round < 2; ++round)
        {
            const std::map<int, double> supplied = scenario(random);
            for (int q = 0; q < registry().size(); ++q)
            {
                if (!registry()[q].computed() || registry()[q].spec->is_choice() || is_of_queues(q))
                    continue;
                Asked problem(q, supplied);
                const Doubles expected = problem.derivatives(Derivative::elasticity);
                const int lhs = problem.graph.variable(2), rhs = problem.graph.variable(2),
                          factor = problem.graph.operation(Op::max, lhs, rhs);
                std::vector<int> inputs = problem.inputs;
                inputs.push_back(lhs);
                Derivation derivation(
                    problem.graph,
                    problem.graph.operation(Op::mul, problem.output, factor),
                    inputs,
                    Derivative::elasticity);
                const std::vector<int> nodes = derivation.one_sided(Side::below);
                const double value = problem.graph[problem.output].value;
                for (std::size_t k = 0; k < expected.size() && std::isfinite(value) && value != 0; ++k)
                    if (std::isfinite(expected[k]))
                        expect_close(
                            problem.graph[nodes[k]].value,
                            expected[k],
                            1,
                            std::string(registry()[q].name) + " by " + std::string(registry()[problem.by[k]].name));
            }
        }
    }
    TEST(Kinks, AreFoundAllOverAGrid)
    {
        Doubles a, b;
        for (int i = 0; i < 300; ++i)
            a.push_back(i % 7), b.push_back((i * 5) % 11 + 0.5 * (i % 2));
        Graph g({300, 300});
        const int x = g.leaf({a.data(), 1, {1}}), y = g.leaf({b.data(), 2, {0, 1}});
        const int z = g.operation(Op::max, x, y);
        std::int64_t equal = 0;
        for (const double i : a)
            for (const double j : b)
                equal += i == j;
        for (const Side side : {Side::below, Side::above})
        {
            const Derivatives result = differentiate(g, z, {x, y}, Derivative::slope, side, {});
            ASSERT_EQ(result.kinks.size(), 1u);
            EXPECT_EQ(result.kinks[0].points, equal);
            std::vector<Doubles> memory(2);
            store(
                g,
                {output_in_order(g, result.nodes[0], memory[0]), output_in_order(g, result.nodes[1], memory[1])},
                {});
            for (std::size_t i = 0; i < 300; ++i)
                for (std::size_t j = 0; j < 300; ++j)
                {
                    const double tie = side == Side::above ? 1 : 0;
                    ASSERT_EQ(memory[0][300 * i + j], a[i] > b[j] ? 1 : a[i] < b[j] ? 0 : tie);
                    ASSERT_EQ(memory[1][300 * i + j], a[i] < b[j] ? 1 : a[i] > b[j] ? 0 : tie);
                }
        }
    }

    // --- a grid and its points ---

    // The graph at a point, its leaves variables. The result of a choice has a separate node, as it has where the
    // choice varies.
    Graph at_point(const Graph& grid, const std::vector<std::size_t>& point, std::vector<int>& node_of)
    {
        Graph g({});
        for (int i = 0; i < grid.size(); ++i)
        {
            const Node& n = grid[i];
            const auto argument = [&](std::size_t k) {
                return n.argument[k] < 0 ? -1 : node_of[std::size_t(n.argument[k])];
            };
            if (n.is_literal())
                node_of.push_back(g.constant(n.value));
            else if (n.is_leaf())
                node_of.push_back(g.variable(value_at(grid, i, point)));
            else
            {
                const int copy = g.operation(n.op, argument(0), argument(1), argument(2));
                node_of.push_back(n.op == Op::select ? g.operation(Op::max, copy, copy) : copy);
            }
        }
        return g;
    }
    void check_grid(Random& random, bool hard, const InstructionSet& set)
    {
        const Using using_set(set);
        RandomGraph r(random, 400, hard, 14);
        const int output = r.nodes.back(), size = r.graph.size();
        if (r.graph[output].is_constant())
            return;
        std::vector<int> inputs(r.nodes.begin(), r.nodes.begin() + 5);
        for (int& i : inputs)
            i = r.graph[i].is_leaf() ? i : -1;
        for (const Derivative kind : {Derivative::elasticity, Derivative::slope})
        {
            Graph graph = r.graph;
            const Derivatives result = differentiate(graph, output, inputs, kind, Side::above, {});
            std::vector<Doubles> memory(inputs.size());
            std::vector<Output> outputs;
            for (std::size_t k = 0; k < inputs.size(); ++k)
            {
                // on the axes of the output, also those along which the derivative is constant
                outputs.push_back(output_in_order(graph, output, memory[k]));
                outputs.back().node = result.nodes[k];
            }
            store(graph, outputs, {});
            std::vector<std::size_t> point(graph.shape().size(), 0);
            do
            {
                std::vector<int> node_of;
                Graph at_row = at_point(r.graph, point, node_of);
                std::vector<int> inputs_here;
                for (const int i : inputs)
                    inputs_here.push_back(i < 0 ? -1 : node_of[std::size_t(i)]);
                const Derivatives expected =
                    differentiate(at_row, node_of[std::size_t(output)], inputs_here, kind, Side::above, {});
                std::ptrdiff_t offset = 0;
                for (std::size_t k = 0; k < point.size(); ++k)
                    offset += std::ptrdiff_t(point[k]) * outputs[0].stride[k];
                for (std::size_t k = 0; k < inputs.size(); ++k)
                    ASSERT_TRUE(same_bits(memory[k][std::size_t(offset)], at_row[expected.nodes[k]].value))
                        << "input " << k << ": " << memory[k][std::size_t(offset)] << " on the grid, "
                        << at_row[expected.nodes[k]].value << " at the point, " << size << " nodes";
            }
            while (next_point(point, graph.shape()));
        }
    }
    TEST(Adjoints, OfAGridAreThoseOfItsPointsToTheLastBit)
    {
        for (const InstructionSet* set : instruction_sets())
        {
            Random random(4);
            for (int round = 0; round < 150; ++round)
            {
                check_grid(random, round % 2 == 0, *set);
                if (HasFatalFailure())
                    FAIL() << set->name << ", round " << round;
            }
        }
    }

    // --- results that are repeated along axes ---

    TEST(Store, RepeatsAResultAlongAxesThatItDoesNotVaryAlong)
    {
        for (const InstructionSet* set : instruction_sets())
            for (const std::vector<std::size_t>& shape :
                 {std::vector<std::size_t>{5, 1, 700}, {300, 3, 2}, {2, 3, 4}, {1, 1, 1}})
            {
                const Using using_set(*set);
                Doubles x(700);
                for (std::size_t i = 0; i < x.size(); ++i)
                    x[i] = 1 + double(i);
                Graph g(shape);
                const int first = g.leaf({x.data(), 1, {1}}), last = g.leaf({x.data(), 4, {0, 0, 1}});
                const int both = g.operation(Op::add, first, last), inner = g.operation(Op::mul, last, last),
                          outer = g.operation(Op::sqrt, first);
                const std::size_t points = g.points(7);
                std::vector<Doubles> memory(4, Doubles(points, -77));
                std::vector<Output> outputs;
                const std::vector<int> nodes{both, inner, outer, g.constant(2.5)};
                for (std::size_t k = 0; k < nodes.size(); ++k)
                    outputs.push_back(
                        {nodes[k],
                         memory[k].data(),
                         {std::ptrdiff_t(shape[1] * shape[2]), std::ptrdiff_t(shape[2]), 1},
                         true});
                store(g, outputs, {});
                std::vector<std::size_t> point(3, 0);
                std::size_t at = 0;
                do
                    for (std::size_t k = 0; k < nodes.size(); ++k)
                        ASSERT_TRUE(same_bits(memory[k][at], value_at(g, nodes[k], point)))
                            << set->name << " node " << k << " at " << at;
                while (++at, next_point(point, shape));
                EXPECT_EQ(at, points);
            }
    }
    TEST(Graph, AVariableIsAConstantOfItsOwn)
    {
        Graph g({});
        const int a = g.variable(1), b = g.variable(1), one = g.constant(1);
        EXPECT_NE(a, b);
        EXPECT_NE(a, one);
        EXPECT_TRUE(g[a].is_constant() && !g[a].is_literal());
        const int product = g.operation(Op::mul, b, a);
        EXPECT_NE(product, b);
        EXPECT_TRUE(g[product].is_constant() && !g[product].is_literal());
        EXPECT_EQ(g[product].value, 1);
        // a choice is made all the same
        EXPECT_EQ(g.operation(Op::select, g.operation(Op::less, a, g.constant(2)), one, b), one);
    }
}
