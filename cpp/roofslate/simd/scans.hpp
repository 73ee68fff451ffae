// Functions over whole arrays, on one instruction set: counts, extent, order, and values of draws. See InstructionSet
// for their meaning.
#pragma once
#include "roofslate/simd/instructions.hpp"
#include "roofslate/simd/lanes.hpp"

namespace roofslate
{
    namespace // no function of one set reaches another
    {
        template <class Value> class Scans
        {
        public:
            static std::size_t outside(const double* values, std::size_t n, double low, double high, bool above_low)
            {
                const Value least(low), most(high);
                if (above_low)
                    return count_bad(n, [&](std::size_t i, std::size_t lanes) {
                        const Value x = loaded(values + i, lanes, high);
                        return least < x && x <= most;
                    });
                return count_bad(n, [&](std::size_t i, std::size_t lanes) {
                    const Value x = loaded(values + i, lanes, high);
                    return least <= x && x <= most;
                });
            }
            static std::size_t above(const double* values, const double* limits, std::size_t n)
            {
                return count(n, [&](std::size_t i, std::size_t lanes) {
                    return one_where(loaded(values + i, lanes, 0) > loaded(limits + i, lanes, 0));
                });
            }
            static std::size_t below(const double* values, std::size_t n, double edge)
            {
                const Value limit(edge);
                return count(n, [&](std::size_t i, std::size_t lanes) {
                    return one_where(loaded(values + i, lanes, edge) < limit);
                });
            }
            static std::size_t within(
                const double* values,
                std::size_t n,
                double low,
                double high,
                double* to,
                std::size_t* inside)
            {
                const Value least(low), most(high);
                double* next = to;
                const std::size_t below_it = count(n, [&](std::size_t i, std::size_t lanes) {
                    const Value x = loaded(values + i, lanes, __builtin_nan(""));
                    const auto chosen = least <= x && x <= most;
                    if (any(chosen))
                        next = x.store_chosen(next, chosen);
                    return one_where(x < least);
                });
                *inside = std::size_t(next - to);
                return below_it;
            }
            static bool extent(const double* values, std::size_t n, double* low, double* high)
            {
                Value least(values[0]), most(values[0]);
                auto well = !is_nan(least);
                for (std::size_t i = 0; i < n; i += width)
                {
                    const Value x = loaded(values + i, n - i < width ? n - i : width, values[0]);
                    well = well && !is_nan(x);
                    least = plain_min(least, x), most = plain_max(most, x);
                }
                alignas(64) double lows[width], highs[width];
                least.store(lows), most.store(highs);
                *low = lows[0], *high = highs[0];
                for (std::size_t k = 1; k < width; ++k)
                    *low = lows[k] < *low ? lows[k] : *low, *high = highs[k] > *high ? highs[k] : *high;
                return all(well);
            }
            static bool ordered(const double* values, std::size_t n, bool falling)
            {
                constexpr std::size_t vectors = 4; // between looks at what was found
                std::size_t i = 0;
                const auto fine = [&](std::size_t k) {
                    const Value x = Value::load(values + k), next = Value::load(values + k + 1);
                    return falling ? next <= x : x <= next;
                };
                for (; i + vectors * width < n; i += vectors * width)
                    if (!all(fine(i) && fine(i + width) && fine(i + 2 * width) && fine(i + 3 * width)))
                        return false;
                for (; i + width < n; i += width)
                    if (!all(fine(i)))
                        return false;
                for (; i + 1 < n; ++i)
                    if (!(falling ? values[i + 1] <= values[i] : values[i] <= values[i + 1]))
                        return false;
                return n != 1 || values[0] == values[0];
            }

        private:
            static constexpr std::size_t width = Value::size;
            static Value one_where(const typename Value::Mask& m) { return select(m, Value(1.0), Value(0.0)); }
            // lanes are counted in registers: exact below 2^53
            template <class Bad> static std::size_t count(std::size_t n, Bad bad)
            {
                Value counts(0.0);
                std::size_t i = 0;
                for (; i + width <= n; i += width)
                    counts = counts + bad(i, width);
                if (i < n)
                    counts = counts + bad(i, n - i);
                alignas(64) double lanes[width];
                counts.store(lanes);
                double all = 0;
                for (const double lane : lanes)
                    all += lane;
                return std::size_t(all);
            }
            static Value loaded(const double* p, std::size_t lanes, double elsewhere)
            {
                if (lanes == width)
                    return Value::load(p);
                alignas(64) double last[width];
                for (std::size_t k = 0; k < width; ++k)
                    last[k] = k < lanes ? p[k] : elsewhere;
                return Value::load(last);
            }
            // Counts in blocks: as a rule all values of one are good, which takes no counting.
            template <class Good> static std::size_t count_bad(std::size_t n, Good good)
            {
                constexpr std::size_t vectors = 16, block = vectors * width;
                const auto bad = [&](std::size_t i, std::size_t lanes) {
                    return select(good(i, lanes), Value(0.0), Value(1.0));
                };
                std::size_t bad_count = 0, i = 0;
                for (; i + block <= n; i += block)
                {
                    auto well = good(i, width);
                    _Pragma("GCC unroll 16") for (std::size_t j = 1; j < vectors; ++j) well =
                        well && good(i + j * width, width);
                    if (!all(well))
                        bad_count += count(block, [&](std::size_t k, std::size_t lanes) { return bad(i + k, lanes); });
                }
                return bad_count + count(n - i, [&](std::size_t k, std::size_t lanes) { return bad(i + k, lanes); });
            }
        };

        template <class Value>
        void invert(const InverseTable& table, std::uint32_t x, const std::uint32_t* differ, std::size_t n, double* to)
        {
            constexpr std::size_t width = Value::size, block = 256;
            constexpr double lattice = 1.0 / 4294967296.0;
            constexpr std::uint64_t first_bin = (std::uint64_t(1023) - bits_of_draw - 1) << 4; // of 2^-33
            alignas(64) double v[block];
            alignas(64) std::uint32_t at[block] = {};
            const Value low(table.low), high(table.high);
            for (std::size_t begin = 0; begin < n; begin += block)
            {
                const std::size_t length = n - begin < block ? n - begin : block;
                for (std::size_t i = 0; i < length; ++i)
                {
                    const std::uint32_t draw = x ^ differ[begin + i], upper = draw >> 31, y = draw ^ (0 - upper);
                    v[i] = (double(y) + 0.5) * lattice;
                    std::uint64_t bits;
                    __builtin_memcpy(&bits, v + i, sizeof bits);
                    at[i] = std::uint32_t((bits >> 48) - first_bin) + upper * std::uint32_t(bins_of_inverse / 2);
                }
                for (std::size_t i = 0; i < length; ++i)
                {
                    std::uint32_t piece = table.first[at[i]];
                    if (piece >= split_bin)
                        for (piece -= split_bin; v[i] >= table.ends[piece];)
                            ++piece;
                    at[i] = piece;
                }
                for (std::size_t i = 0; i < length; i += width)
                {
                    Value words[words_of_piece];
                    Value::read_rows(table.pieces, at + i, words);
                    const Value t = (Value::load(v + i) - words[0]) * words[1];
                    Value value = words[words_of_piece - 1];
                    for (std::size_t k = words_of_piece - 2; k >= 2; --k)
                        value = value * t + words[k];
                    value = plain_min(plain_max(value, low), high);
                    if (length - i >= width)
                        value.store(to + begin + i);
                    else
                    {
                        alignas(64) double last[width];
                        value.store(last);
                        for (std::size_t k = 0; i + k < length; ++k)
                            to[begin + i + k] = last[k];
                    }
                }
            }
        }
    }
}
