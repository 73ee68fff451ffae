// The accumulator machine: on every instruction set each operation gives the bits that it gives on double, at every
// length of a row.
#include "roofslate/plan/plan.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>

namespace
{
    using namespace support;

    class Machine : public testing::TestWithParam<const InstructionSet*>
    {
    protected:
        const InstructionSet& set = *GetParam();

        static Instruction with_memory(Code code, const double* p)
        {
            Instruction i;
            i.code = code, i.operand.memory = p, i.operand.step = 1;
            return i;
        }
        static Instruction with_scalar(Code code, double x)
        {
            Instruction i;
            i.code = code, i.operand.scalar = x;
            return i;
        }
        static Instruction call(Op op, int argument)
        {
            Instruction i;
            i.code = Code::call, i.operation = op, i.argument = std::uint8_t(argument);
            return i;
        }
        // Runs load, operation, write on the first n of `a`. Memory next to the result must not change.
        std::vector<double> run(
            const std::vector<Instruction>& operation,
            const std::vector<double>& a,
            std::size_t begin,
            std::size_t end,
            bool stream,
            std::size_t shift)
        {
            std::vector<double> memory(a.size() + 24, -77);
            double* result = memory.data() + 8;
            while (reinterpret_cast<std::uintptr_t>(result) % 64 != shift * sizeof(double))
                ++result;
            std::vector<Instruction> program{with_memory(Code::load, a.data())};
            program.insert(program.end(), operation.begin(), operation.end());
            Instruction write;
            write.code = Code::write, write.result = result;
            program.push_back(write);
            program.emplace_back();
            set.run(program.data(), begin, end, stream);
            set.fence();
            for (double* p = memory.data(); p < memory.data() + memory.size(); ++p)
                EXPECT_TRUE((p >= result + begin && p < result + end) || *p == -77)
                    << "written outside the row, at " << p - result << " of [" << begin << ", " << end << ")";
            return {result + begin, result + end};
        }
        std::vector<double> run(const std::vector<Instruction>& operation, const std::vector<double>& a)
        { return run(operation, a, 0, a.size(), false, 0); }
    };
    std::string name_of_set(const testing::TestParamInfo<const InstructionSet*>& info) { return info.param->name; }
    INSTANTIATE_TEST_SUITE_P(Every, Machine, testing::ValuesIn(instruction_sets()), name_of_set);

    struct Pairs // every hard number with every other
    {
        std::vector<double> a, b;
        Pairs()
        {
            for (const double x : hard_numbers())
                for (const double y : hard_numbers())
                    a.push_back(x), b.push_back(y);
            Random random(4);
            for (int k = 0; k < 3000; ++k)
                a.push_back(math::from_bits(random())), b.push_back(math::from_bits(random()));
        }
    };

    TEST_P(Machine, CodesOfTwoOperands)
    {
        const Pairs p;
        struct Case
        {
            Code code;
            Op op;
            bool swapped;
        };
        const Case cases[] = {
            {Code::add, Op::add, false},
            {Code::subtract, Op::sub, false},
            {Code::subtract_from, Op::sub, true},
            {Code::multiply, Op::mul, false},
            {Code::divide, Op::div, false},
            {Code::divide_into, Op::div, true},
            {Code::maximum, Op::max, false},
            {Code::maximum_of, Op::max, true},
            {Code::minimum, Op::min, false},
            {Code::minimum_of, Op::min, true},
            {Code::less, Op::less, false},
            {Code::more, Op::less, true},
            {Code::at_most, Op::less_equal, false},
            {Code::at_least, Op::less_equal, true},
            {Code::equal, Op::equal, false}};
        for (const Case& c : cases)
        {
            const std::vector<double> got = run({with_memory(c.code, p.b.data())}, p.a);
            for (std::size_t k = 0; k < got.size(); ++k)
            {
                const double x[2] = {c.swapped ? p.b[k] : p.a[k], c.swapped ? p.a[k] : p.b[k]};
                ASSERT_TRUE(same_bits(got[k], evaluate(c.op, nullptr, x)))
                    << int(c.code) << " of " << p.a[k] << " and " << p.b[k] << " gives " << got[k];
            }
            for (const double y : hard_numbers())
            {
                const std::vector<double> with = run({with_scalar(c.code, y)}, p.a);
                for (std::size_t k = 0; k < with.size(); ++k)
                {
                    const double x[2] = {c.swapped ? y : p.a[k], c.swapped ? p.a[k] : y};
                    ASSERT_TRUE(same_bits(with[k], evaluate(c.op, nullptr, x)))
                        << int(c.code) << " of " << p.a[k] << " and the scalar " << y << " gives " << with[k];
                }
            }
        }
    }
    TEST_P(Machine, ProvedMaximumAndMinimumWhereTheyMayBeUsed)
    {
        std::vector<double> a, b;
        for (const double x : hard_numbers())
            for (const double y : hard_numbers())
                if (x == x && y == y && (x != 0 || y != 0))
                    a.push_back(x), b.push_back(y);
        const std::vector<double> most = run({with_memory(Code::maximum_proved, b.data())}, a),
                                  least = run({with_memory(Code::minimum_proved, b.data())}, a);
        for (std::size_t k = 0; k < a.size(); ++k)
        {
            ASSERT_TRUE(same_bits(most[k], math::max(a[k], b[k]))) << a[k] << " " << b[k];
            ASSERT_TRUE(same_bits(least[k], math::min(a[k], b[k]))) << a[k] << " " << b[k];
        }
    }
    TEST_P(Machine, CodesOfOneOperand)
    {
        const Pairs p;
        const std::pair<Op, Instruction> cases[] = {
            {Op::neg, with_scalar(Code::negate, 0)},
            {Op::exp, call(Op::exp, 0)},
            {Op::log, call(Op::log, 0)},
            {Op::sqrt, with_scalar(Code::square_root, 0)},
            {Op::ceil, call(Op::ceil, 0)},
            {Op::floor, call(Op::floor, 0)}};
        for (const auto& [op, instruction] : cases)
        {
            const std::vector<double> got = run({instruction}, p.a);
            for (std::size_t k = 0; k < got.size(); ++k)
                ASSERT_TRUE(same_bits(got[k], evaluate(op, nullptr, &p.a[k])))
                    << int(op) << " of " << p.a[k] << " gives " << got[k];
        }
    }
    TEST_P(Machine, TranscendentalsOnOrdinaryNumbers)
    {
        Random random(5);
        std::vector<double> a, b;
        for (int k = 0; k < 20011; ++k)
            a.push_back(uniform(random, 0, 3)), b.push_back(uniform(random, -700, 700));
        Instruction power = call(Op::pow, 0);
        power.operand.memory = b.data(), power.operand.step = 1;
        const std::vector<double> powers = run({power}, a), logs = run({call(Op::log, 0)}, a),
                                  exps = run({call(Op::exp, 0)}, b);
        for (std::size_t k = 0; k < a.size(); ++k)
        {
            ASSERT_TRUE(same_bits(powers[k], math::pow(a[k], b[k]))) << a[k] << " " << b[k];
            ASSERT_TRUE(same_bits(logs[k], math::log(a[k]))) << a[k];
            ASSERT_TRUE(same_bits(exps[k], math::exp(b[k]))) << b[k];
        }
    }
    TEST_P(Machine, CallsOfTwoArguments)
    {
        const Pairs p;
        for (const Op op : {Op::pow, Op::both, Op::either})
            for (const int position : {0, 1})
                for (const bool scalar : {false, true})
                {
                    Instruction i = call(op, position);
                    if (scalar)
                        i.operand.scalar = 2.5;
                    else
                        i.operand.memory = p.b.data(), i.operand.step = 1;
                    const std::vector<double> got = run({i}, p.a);
                    for (std::size_t k = 0; k < got.size(); ++k)
                    {
                        const double other = scalar ? 2.5 : p.b[k],
                                     x[2] = {position == 0 ? p.a[k] : other, position == 0 ? other : p.a[k]};
                        ASSERT_TRUE(same_bits(got[k], evaluate(op, nullptr, x)))
                            << int(op) << " of " << x[0] << " and " << x[1] << " gives " << got[k];
                    }
                }
    }
    TEST_P(Machine, Choose)
    {
        const Pairs p;
        std::vector<double> c(p.a.rbegin(), p.a.rend());
        for (int kind = 0; kind < 4; ++kind)
        {
            Instruction i = with_memory(Code::choose, p.b.data());
            i.second.memory = c.data(), i.second.step = 1;
            if (kind & 1)
                i.operand = {nullptr, 0, 3.5};
            if (kind & 2)
                i.second = {nullptr, 0, -1.5};
            const std::vector<double> got = run({i}, p.a);
            for (std::size_t k = 0; k < got.size(); ++k)
            {
                const double x[3] = {p.a[k], kind & 1 ? 3.5 : p.b[k], kind & 2 ? -1.5 : c[k]};
                ASSERT_TRUE(same_bits(got[k], evaluate(Op::select, nullptr, x))) << x[0];
            }
        }
    }
    double middle_of(const double* x) { return x[0] + 10 * x[1] + 100 * x[2]; }
    TEST_P(Machine, RoutinesOfThreeArguments)
    {
        static constexpr Routine routine{"middle", "m", 3, &middle_of};
        std::vector<double> a(37), b(37);
        for (std::size_t k = 0; k < a.size(); ++k)
            a[k] = double(k), b[k] = double(2 * k + 1);
        for (const int position : {0, 1, 2})
        {
            Instruction i = call(Op::routine, position);
            i.routine = &routine;
            i.operand.memory = b.data(), i.operand.step = 1;
            i.second.scalar = 5;
            const std::vector<double> got = run({i}, a);
            for (std::size_t k = 0; k < a.size(); ++k)
            {
                std::vector<double> x{b[k], 5};
                x.insert(x.begin() + position, a[k]);
                ASSERT_EQ(got[k], middle_of(x.data())) << position;
            }
        }
    }

    // a, d with a/d next to the middle of two doubles: what a wrong rounding gets wrong.
    struct Division
    { double a, d; };
    std::vector<Division> hard_divisions(int exponent_of_a, int exponent_of_d, int n)
    {
        std::vector<Division> divisions;
        Random random(6);
        __extension__ using Wide = unsigned __int128;
        while (int(divisions.size()) < n)
        {
            const std::uint64_t d = (random() >> 11) | (std::uint64_t(1) << 52) | 1;
            std::uint64_t inverse = d; // modulo 2^64, by Newton
            for (int k = 0; k < 6; ++k)
                inverse *= 2 - d * inverse;
            const std::uint64_t k = 2 * std::uint64_t(below(random, 4)) + 1, modulus = std::uint64_t(1) << 54;
            for (const bool above : {false, true})
            {
                // q d = +-k modulo 2^54
                const std::uint64_t q = (above ? k * inverse : std::uint64_t(0) - k * inverse) % modulus;
                if (q < modulus / 2)
                    continue;
                const Wide a = (Wide(q) * d + (above ? Wide(0) - k : Wide(k))) >> 54;
                if (a < (Wide(1) << 53))
                    divisions.push_back(
                        {std::ldexp(double(std::uint64_t(a)), exponent_of_a - 53),
                         std::ldexp(double(d), exponent_of_d - 53)});
            }
        }
        return divisions;
    }
    TEST_P(Machine, DivisionByAScalarIsExact)
    {
        const auto check = [&](double a, double d) {
            Instruction constant = with_scalar(Code::divide_constant, d);
            constant.second.scalar = reciprocal(d);
            const std::vector<double> got = run({constant}, {a});
            EXPECT_TRUE(same_bits(got[0], a / d))
                << std::hexfloat << a << " / " << d << " gives " << got[0] << ", not " << a / d;
            const double q = a / d;
            if (d > 1e-100 && d < 1e100 && q > 1e-180 && q < 1e180) // what the plan can prove
            {
                constant.code = Code::divide_proved;
                EXPECT_TRUE(same_bits(run({constant}, {a})[0], a / d))
                    << std::hexfloat << a << " / " << d << ", proved";
                const double r = 1 / d;
                Instruction proved = with_memory(Code::divide_proved, &d);
                proved.second.memory = &r, proved.second.step = 1;
                EXPECT_TRUE(same_bits(run({proved}, {a})[0], a / d))
                    << std::hexfloat << a << " / " << d << ", along the row";
            }
        };
        for (const double d : hard_numbers())
            for (const double a : hard_numbers())
                check(a, d);
        for (const int exponent : {0, -1, 30, -200, 300})
            for (const Division& x : hard_divisions(exponent, exponent / 2, 4000))
                check(x.a, x.d), check(-x.a, x.d), check(x.a, -x.d);
        Random random(7);
        for (int k = 0; k < 20000; ++k)
            check(math::from_bits(random()), math::from_bits(random()));
        for (int k = 0; k < 2000; ++k) // mantissas full of ones, and just above a power of two
        {
            const double full = math::from_bits(0x3fffffffffffffffu - (random() & 7)),
                         low = math::from_bits(0x3ff0000000000000u + (random() & 7));
            check(full, low), check(low, full), check(full, full), check(low, low);
        }
    }
    TEST_P(Machine, DivisionNearTheEndsOfWhatTheReciprocalReaches)
    {
        const std::vector<Division> small = hard_divisions(-992, -331, 4000), large = hard_divisions(990, 330, 4000);
        for (const std::vector<Division>* all : {&small, &large})
            for (const Division& x : *all)
            {
                Instruction i = with_scalar(Code::divide_constant, x.d);
                i.second.scalar = reciprocal(x.d);
                ASSERT_NE(i.second.scalar, 0);
                const double got = run({i}, {x.a})[0];
                ASSERT_TRUE(same_bits(got, x.a / x.d))
                    << std::hexfloat << x.a << " / " << x.d << " gives " << got << ", not " << x.a / x.d;
            }
    }

    TEST_P(Machine, DivisionByWhatVariesIsExact)
    {
        std::vector<Division> all = hard_divisions(0, 0, 20000);
        for (const int exponent : {-1, 30, -200, 300, -992, 990})
            for (const Division& x : hard_divisions(exponent, exponent / 3, 2000))
                all.push_back(x), all.push_back({-x.a, x.d}), all.push_back({x.a, -x.d});
        for (const double d : hard_numbers())
            for (const double a : hard_numbers())
                all.push_back({a, d});
        Random random(8);
        for (int k = 0; k < 20000; ++k)
            all.push_back({math::from_bits(random()), math::from_bits(random())});
        // mantissas nearly full, whose reciprocals are next to the middle of two doubles
        for (std::uint64_t few = 0; few < 64; ++few)
            for (std::uint64_t other = 0; other < 64; ++other)
                for (const std::uint64_t a :
                     {0x3ff0000000000000u + other, 0x3fffffffffffffffu - other, 0x3ff8000000000000u + other})
                    all.push_back({math::from_bits(a), math::from_bits(0x3fffffffffffffffu - few)});
        std::shuffle(all.begin(), all.end(), random); // else the vectors with an awkward one divide truly as a whole
        std::vector<double> a, d, proved_a, proved_d;
        for (const Division& x : all)
        {
            a.push_back(x.a), d.push_back(x.d);
            // what the plan can prove
            if (const double q = x.a / x.d; x.d > 1e-100 && x.d < 1e100 && q > 1e-180 && q < 1e180)
                proved_a.push_back(x.a), proved_d.push_back(x.d);
        }
        for (const bool proved : {false, true})
            for (const bool into : {false, true})
            {
                const std::vector<double>&over = proved ? proved_a : a, &under = proved ? proved_d : d;
                Instruction i = with_memory(into ? Code::divide_into : Code::divide, (into ? over : under).data());
                i.proved = proved;
                const std::vector<double> got = run({i}, into ? under : over);
                for (std::size_t k = 0; k < got.size(); ++k)
                    ASSERT_TRUE(same_bits(got[k], over[k] / under[k]))
                        << std::hexfloat << over[k] << " / " << under[k] << " gives " << got[k] << ", proved " << proved
                        << ", into " << into;
            }
    }
    TEST_P(Machine, DivisionAlongARowWithReciprocals)
    {
        const std::vector<Division> hard = hard_divisions(0, 0, 1000);
        std::vector<double> a, d, r;
        for (const Division& x : hard)
            a.push_back(x.a), d.push_back(x.d), r.push_back(1 / x.d);
        Instruction i = with_memory(Code::divide_proved, d.data());
        i.second.memory = r.data(), i.second.step = 1;
        const std::vector<double> got = run({i}, a);
        for (std::size_t k = 0; k < a.size(); ++k)
            ASSERT_TRUE(same_bits(got[k], a[k] / d[k])) << std::hexfloat << a[k] << " / " << d[k];
    }
    TEST_P(Machine, CountsWhatLiesOutside)
    {
        std::vector<double> values(3 * 16 * set.strip + 5, 2.0);
        EXPECT_EQ(set.outside(values.data(), values.size(), 2, 2, false), 0u);
        EXPECT_EQ(set.outside(values.data(), values.size(), 2, 3, true), values.size());
        std::size_t bad = 0;
        for (std::size_t k = 0; k < values.size(); k += 37, ++bad)
            values[k] = bad % 3 == 0 ? NAN : bad % 3 == 1 ? 0.5 : HUGE_VAL;
        EXPECT_EQ(set.outside(values.data(), values.size(), 1, 3, true), bad);
        for (std::size_t n = 0; n < 40; ++n)
            EXPECT_EQ(set.outside(values.data() + 1, n, 1, 3, false), n < 37 ? 0u : 1u) << n;
    }

    TEST_P(Machine, EveryLengthOfARow)
    {
        std::vector<double> a, b;
        for (std::size_t k = 0; k < 3 * set.strip + 19; ++k)
            a.push_back(1.0 + double(k)), b.push_back(0.3 * double(k) - 7);
        Instruction divide = with_scalar(Code::divide_constant, 3), power = call(Op::pow, 0),
                    choose = with_memory(Code::choose, b.data());
        divide.second.scalar = reciprocal(3);
        power.operand.scalar = 0.7;
        choose.second.memory = a.data(), choose.second.step = 1;
        const std::vector<Instruction>
            program{with_memory(Code::multiply, b.data()), divide, with_memory(Code::maximum, a.data()), power, choose};
        const auto expected = [&](std::size_t k) {
            const double x = math::pow(math::max(a[k] * b[k] / 3, a[k]), 0.7);
            return x != 0 ? b[k] : a[k];
        };
        for (const bool stream : {false, true})
            for (const std::size_t shift : {0, 1, 3, 7})
                for (std::size_t n = 0; n <= 2 * set.strip + 17; ++n)
                {
                    const std::size_t begin = n % 5;
                    // no element more than is read
                    const std::vector<double> x(a.begin(), a.begin() + std::ptrdiff_t(begin + n));
                    const std::vector<double> got = run(program, x, begin, begin + n, stream, shift);
                    for (std::size_t k = 0; k < n; ++k)
                        ASSERT_TRUE(same_bits(got[k], expected(begin + k)))
                            << "point " << k << " of " << n << (stream ? ", streamed" : "");
                }
    }
    TEST_P(Machine, SavedStripsComeBack)
    {
        std::vector<double> a(2 * set.strip + 5);
        for (std::size_t k = 0; k < a.size(); ++k)
            a[k] = double(k);
        std::vector<double> scratch(widest_strip);
        Instruction save, again;
        save.code = Code::save, save.scratch = scratch.data();
        again.code = Code::multiply, again.operand.memory = scratch.data(); // step 0: a strip
        const std::vector<double> got = run({save, with_scalar(Code::add, 1), again}, a);
        for (std::size_t k = 0; k < a.size(); ++k)
            ASSERT_EQ(got[k], (a[k] + 1) * a[k]);
    }

    TEST(InstructionSets, AreFoundByName)
    {
        EXPECT_FALSE(instruction_sets().empty());
        EXPECT_EQ(find_instruction_set("none"), nullptr);
        for (const InstructionSet* set : instruction_sets())
        {
            const Using use(*set);
            EXPECT_STREQ(instruction_set().name, set->name);
            EXPECT_LE(set->strip, widest_strip);
        }
    }
}
