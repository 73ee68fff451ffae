// Bounds of routines: every value at a point of a box is within the interval that its routine gives for the box.
#include "roofslate/bounds/interval.hpp"
#include "roofslate/language/distributions.hpp"
#include "roofslate/quantities/rollouts.hpp"
#include <gtest/gtest.h>
#include <random>

namespace roofslate
{
    namespace
    {
        using quantities::normal_quantile;
        constexpr std::size_t points = 4;

        struct Domain // of an argument
        {
            double low, high;
            bool by_magnitude = true;
        };
        class Boxes
        {
        public:
            explicit Boxes(const std::vector<Domain>& domains) : domains_(domains) {}

            Range box(std::size_t k)
            {
                if (uniform() < 0.2) // an argument that does not vary
                {
                    const double x = anywhere(domains_[k]);
                    return {x, x};
                }
                const double a = anywhere(domains_[k]);
                if (uniform() < 0.5) // a narrow one
                {
                    const double b = a * (1 + std::pow(10, -9 * uniform()) * 0.1);
                    return {a, std::max(a, std::min(b, domains_[k].high))};
                }
                const double b = anywhere(domains_[k]);
                return {std::min(a, b), std::max(a, b)};
            }
            double inside(const Range& r)
            {
                const double u = uniform();
                return u < 0.2 ? r.low : u < 0.4 ? r.high : std::min(r.high, r.low + (r.high - r.low) * uniform());
            }

        private:
            double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
            double anywhere(const Domain& d)
            {
                return d.by_magnitude
                    ? std::min(d.high, d.low * std::pow(d.high / d.low, uniform()))
                    : d.low + (d.high - d.low) * uniform();
            }
            std::vector<Domain> domains_;
            std::mt19937_64 random_{7};
        };
        template <class R> void expect_enclosed(
            const std::vector<Domain>& domains,
            double most_unknown = 0,
            std::size_t boxes = 100000)
        {
            const Routine& routine = as_routine<R>::entry;
            Boxes all(domains);
            std::size_t unknown = 0, outside = 0;
            for (std::size_t i = 0; i < boxes; ++i)
            {
                std::array<Range, 3> box{};
                for (std::size_t k = 0; k < domains.size(); ++k)
                    box[k] = all.box(k);
                const Range range = range_of_routine(routine, box);
                unknown += !range.known();
                for (std::size_t j = 0; j < points && range.known(); ++j)
                {
                    std::array<double, 3> x{};
                    for (std::size_t k = 0; k < domains.size(); ++k)
                        x[k] = all.inside(box[k]);
                    const double value = routine.value(x.data());
                    if (!(value >= range.low && value <= range.high) && outside++ == 0)
                        ADD_FAILURE()
                            << routine.name << " at " << x[0] << ", " << x[1] << ", " << x[2] << " is " << value
                            << ", not in [" << range.low << ", " << range.high << "] of the box [" << box[0].low << ", "
                            << box[0].high << "] x [" << box[1].low << ", " << box[1].high << "] x [" << box[2].low
                            << ", " << box[2].high << "]";
                }
            }
            EXPECT_EQ(outside, 0) << routine.name;
            EXPECT_LE(double(unknown) / boxes, most_unknown) << routine.name;
        }
        constexpr Domain share{1e-12, 1 - 1e-12, false}, slots{0.5, 1e4}, shape{1, 1e7}, odds{1e-100, 0.999999};

        TEST(Routines, ValuesLieWithinTheBoundsOfABox)
        {
            expect_enclosed<quantities::normal_share>({{-40, 40, false}});
            expect_enclosed<normal_quantile>({share});
            expect_enclosed<quantities::arrival_wait>({{1e-6, 1.5}, {1e-3, 20}});
            expect_enclosed<quantities::negative_binomial_share>({slots, shape, odds});
            expect_enclosed<quantities::negative_binomial_share>({slots, {1, 1e3}, {0.01, 0.999}});
            expect_enclosed<quantities::negative_binomial_below>({slots, shape, odds});
            expect_enclosed<quantities::negative_binomial_below>({{0.5, 4}, {1, 1e3}, {1e-6, 0.999999}});
            expect_enclosed<quantities::gamma_share>({{1e-6, 1e3}, {1e-3, 1e2}, {1e-9, 1e4}});
            expect_enclosed<quantities::gamma_quantile>({share, {1e-3, 1e2}, {1e-9, 1e4}});
            expect_enclosed<quantities::arrivals_after>({{1e-12, 1e4}, {0.01, 20}});
            expect_enclosed<quantities::signed_square>({{-1e3, 1e3, false}});
            expect_enclosed<quantities::signed_root>({{-1e3, 1e3, false}});
            expect_enclosed<quantities::wait_quantile>({{1e-9, 1}, {0.01, 0.9999, false}});
            expect_enclosed<quantities::wait_below>({{1e-9, 1}, {0.01, 0.9999, false}});
            expect_enclosed<quantities::lognormal_share>({{1e-9, 1e9}, {1e-6, 1e6}});
            expect_enclosed<quantities::lognormal_share>({{0.9, 1.2}, {1e-3, 1}});
        }
        TEST(Routines, ValuesOfCutLengthsLieWithinTheBoundsOfABox)
        {
            const Domain cv{1e-3, 1e3}, cut{1e-3, 1e4}, count{0.5, 1e6};
            expect_enclosed<quantities::cut_square>({cv, cut}, 0, 20000);
            expect_enclosed<quantities::cut_square>({{0.01, 3}, {0.5, 3}}, 0, 20000);
            expect_enclosed<quantities::expected_longest>({count, cv, cut}, 0, 5000);
            expect_enclosed<quantities::expected_longest>({{1, 1e3}, {0.01, 3}, {0.5, 30}}, 0, 5000);
            expect_enclosed<quantities::expected_longest>({count, cv, {infinite, infinite}}, 0, 5000);
            expect_enclosed<quantities::expected_longest_rest>({count, cv, cut}, 0, 5000);
            expect_enclosed<quantities::expected_longest_rest>({count, cv, {infinite, infinite}}, 0, 5000);
            expect_enclosed<quantities::expected_longest_rest>({{1, 1e3}, {0.01, 3}, {0.5, 30}}, 0, 5000);
        }
        // Of a box that shrinks to a point little more is left than the value: what was lost is lost in proportion.
        TEST(Routines, BoundsCloseInOnTheValue)
        {
            const auto width = [](const Routine& routine, const std::array<double, 3>& at, double by) {
                std::array<Range, 3> box{};
                for (std::size_t k = 0; k < 3; ++k)
                    box[k] = {at[k], at[k] * (1 + by)};
                const Range range = range_of_routine(routine, box);
                return (range.high - range.low) / routine.value(at.data());
            };
            for (const double by : {1e-3, 1e-5, 1e-7})
            {
                EXPECT_LT(
                    width(as_routine<quantities::negative_binomial_share>::entry, {120, 121, 0.45}, by),
                    1e3 * by);
                EXPECT_LT(
                    width(as_routine<quantities::negative_binomial_below>::entry, {120, 121, 0.45}, by),
                    1e3 * by);
                EXPECT_LT(width(as_routine<quantities::gamma_share>::entry, {1.2, 1, 0.3}, by), 30 * by);
                EXPECT_LT(width(as_routine<quantities::gamma_quantile>::entry, {0.9, 1, 0.3}, by), 30 * by);
                EXPECT_LT(width(as_routine<quantities::cut_square>::entry, {2, 3}, by), 30 * by);
                EXPECT_LT(width(as_routine<quantities::cut_square>::entry, {100, 3}, by), 30 * by);
                EXPECT_LT(width(as_routine<quantities::expected_longest>::entry, {64, 0.8, 4}, by), 30 * by);
                EXPECT_LT(width(as_routine<quantities::expected_longest_rest>::entry, {64, 0.8, 4}, by), 300 * by);
            }
        }
        TEST(Routines, SharesOfWhatIsFarFromAllAreExact)
        {
            const Routine& routine = as_routine<quantities::lognormal_share>::entry;
            const auto expect = [&](const Range& t, double end) {
                const Range bounds = range_of_routine(routine, {t, Range{0, 0.1}, Range{}});
                EXPECT_EQ(bounds.low, end);
                EXPECT_EQ(bounds.high, end);
            };
            expect({100, 1e9}, 1), expect({1e-9, 0.01}, 0);
        }
        TEST(Routines, WhatIsNoNumberSomewhereHasNoBounds)
        {
            const Range number{1, 2}, none{NAN, NAN};
            for (const Routine* routine :
                 {&as_routine<quantities::negative_binomial_share>::entry,
                  &as_routine<quantities::negative_binomial_below>::entry,
                  &as_routine<quantities::gamma_share>::entry,
                  &as_routine<quantities::gamma_quantile>::entry})
                for (std::size_t k = 0; k < 3; ++k)
                {
                    std::array<Range, 3> box{number, number, Range{0.2, 0.3}};
                    box[k] = none;
                    EXPECT_FALSE(range_of_routine(*routine, box).known()) << routine->name << k;
                }
        }
    }
}
