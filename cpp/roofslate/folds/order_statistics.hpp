// Order statistics of values that nobody keeps: they come in blocks, in any order, and all of them again in each pass
// until all are found.
#pragma once
#include "roofslate/language/math.hpp"
#include "roofslate/simd/instructions.hpp"
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace roofslate
{
    // Doubles in the order of their values, as integers; both zeros are 0.
    inline std::int64_t key_of(double x)
    {
        const std::int64_t bits = std::int64_t(math::bits(x == 0 ? 0.0 : x));
        return bits < 0 ? bits ^ INT64_MAX : bits;
    }
    inline double value_of(std::int64_t key) { return math::from_bits(std::uint64_t(key < 0 ? key ^ INT64_MAX : key)); }

    // Appends the values inside a stretch, both ends with it, and returns how many are below it.
    std::size_t append_within(
        const InstructionSet& set,
        const double* values,
        std::size_t n,
        double low,
        double high,
        std::vector<double>& to);

    class OrderStatistics
    {
    public:
        // Quantiles `q` of each row of values, each of which counts so often.
        OrderStatistics(std::size_t rows, std::vector<double> q, std::int64_t repeats);

        // Before the first pass: some values of a row that is to have so many in all, drawn so often independently, as
        // a hint where to look. If they are all that there is, nothing else needs to come.
        void hint(std::size_t row, std::vector<double> some, double draws, std::int64_t all);
        void begin() { prepare(std::move(next_)); }
        bool open() const { return !stretches_.empty(); } // is another pass needed?

        class Tally // of one thread in one pass
        {
        public:
            explicit Tally(const OrderStatistics& of);
            void take(std::size_t row, const double* values, std::size_t n);

        private:
            friend class OrderStatistics;
            struct Counts // of a stretch
            {
                std::int64_t below = 0;
                std::vector<double> values; // the values inside
                std::vector<std::uint32_t> parts; // or how many in each part
            };
            const OrderStatistics& of_;
            const InstructionSet& set_;
            std::vector<Counts> counts_;
            std::vector<std::int64_t> defined_; // values of each row that are not NaN
        };
        void end_pass(std::vector<Tally*> tallies);

        // For each row and q the value before it, the one after it, and how far between; NaN where a row has no values.
        std::vector<double> found() const { return found_; }

    private:
        struct Stretch // of doubles in which values are sought
        {
            std::size_t row;
            double low, high;
            std::int64_t expected; // values in it, or nearly so
            std::vector<std::size_t> places; // 2 k: the value before q[k], 2 k + 1: the one after
            bool collected = false; // all values inside, otherwise counted in parts
            int shift = 0; // of keys, to parts
        };
        std::vector<std::int64_t> ranks(std::size_t row, std::int64_t values);
        void settle(const Stretch& stretch, std::size_t index, double value)
        { found_[3 * (stretch.row * q_.size() + index / 2) + index % 2] = value; }
        void seek(std::size_t row, std::pair<double, double> ends, std::int64_t expected, std::size_t index);
        void prepare(std::vector<Stretch> stretches);
        void narrow(const Stretch& stretch, Tally::Counts& counts, const std::vector<std::int64_t>& ranks);

        std::vector<double> q_;
        std::int64_t repeats_;
        std::vector<std::int64_t> values_; // of each row, without NaN; -1: not known yet
        std::vector<Stretch> stretches_, next_;
        std::vector<std::size_t> first_; // stretch of each row, and one more
        std::vector<double> found_;
    };
}
