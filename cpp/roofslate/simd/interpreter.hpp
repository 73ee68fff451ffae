// The accumulator machine on one instruction set. Included by src/operations_<set>.cpp alone, which defines
// ROOFSLATE_SET (its name), ROOFSLATE_ARCH (xsimd's) and ROOFSLATE_STRIP (vectors of a strip). Everything lives in a
// namespace of that name.
#pragma once
#include "roofslate/language/expr.hpp"
#include "roofslate/simd/instructions.hpp"
#include "roofslate/simd/lanes.hpp"

#define ROOFSLATE_TEXT_OF(word) #word
#define ROOFSLATE_TEXT(word) ROOFSLATE_TEXT_OF(word)
#define ROOFSLATE_EACH(statement)                                                   \
    {                                                                               \
        _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) { statement; } \
        break;                                                                      \
    }

namespace roofslate::ROOFSLATE_SET
{
    namespace
    {
        using Value = Lanes<xsimd::ROOFSLATE_ARCH>;
        constexpr std::size_t width = Value::size;
#if defined(__FMA__) || defined(__aarch64__)
        constexpr bool has_fused = true;
#else
        constexpr bool has_fused = false;
#endif

        // Memory of an operand at a point of the row. The last vector of a row is padded: nothing is read beyond the
        // row.
        struct Padded
        { alignas(64) double values[width]; };
        template <bool Partial> inline const double* memory_at(
            const Operand& o,
            std::size_t point,
            std::size_t points,
            Padded& padded)
        {
            const double* p = o.memory + point * o.step;
            if constexpr (Partial)
                if (o.step && points < width)
                {
                    for (std::size_t k = 0; k < width; ++k)
                        padded.values[k] = k < points ? p[k] : 1.0;
                    return padded.values;
                }
            return p;
        }

        // Division by a scalar, correctly rounded (Markstein): q = a r, then one correction. The same bits as a / d.
        inline Value corrected(const Value& a, const Value& d, const Value& r)
        {
            if constexpr (has_fused)
            {
                const Value q = a * r;
                return fused(fused_difference(q, d, a), r, q);
            }
            else
                return a / d;
        }

        // Division by what varies along the row: the same bits as a / d. `proved`: the ranges say that no bound is
        // passed on the way.
        inline Value quotient(const Value& a, const Value& d, [[maybe_unused]] bool proved)
        {
            if constexpr (Value::has_reciprocal)
                if (!any_full(d) && (proved || all_between(d, least_divisor, most_divisor)))
                    if (const Value q = corrected(a, d, quick_reciprocal(d));
                        proved || all_between(q, least_quotient, most_quotient))
                        return q;
            return a / d;
        }

        [[gnu::noinline]] Value exponential(Value a) { return math::portable::exp(a); }
        [[gnu::noinline]] Value logarithm(Value a) { return math::portable::log(a); }
        inline void require(const Instruction* q, std::size_t j, const Value::Mask& met)
        {
            double* const strip = q->result + j * width;
            select(met, q->op ? Value::load(strip) : Value(1.0), Value(0.0)).store(strip);
        }
        inline void keep(const Instruction* q, std::size_t point, std::size_t j, const Value& value, Value::Mask better)
        {
            double *const best = q->result + point + j * width, *const where = q->where + point + j * width;
            if (q->second.memory)
                better = better && Value(0.0) < Value::load(q->second.memory + j * width);
            if (!any(better))
                return;
            select(better, value, Value::load(best)).store(best);
            select(better, Value(q->operand.scalar), Value::load(where)).store(where);
        }
        [[gnu::noinline]] void keep_partly(
            const Instruction* q,
            std::size_t point,
            std::size_t points,
            const Value& value)
        {
            Padded values{};
            value.store(values.values);
            for (std::size_t k = 0; k < points; ++k)
            {
                const double x = values.values[k];
                double& best = q->result[point + k];
                if ((q->code == Code::keep ? x < best : x <= best) && (!q->second.memory || q->second.memory[k] > 0))
                    best = x, q->where[point + k] = q->operand.scalar;
            }
        }
        inline Value truth(const Value::Mask& m) { return select(m, Value(1.0), Value(0.0)); }
        Value call_two(Op op, const Value& a, const Value& b)
        {
            const Value zero(0.0);
            switch (op)
            {
            case Op::pow: return math::portable::pow(a, b);
            case Op::both: return select(a == zero, zero, select(b == zero, zero, Value(1.0)));
            default: return select(a == zero, select(b == zero, zero, Value(1.0)), Value(1.0));
            }
        }
        // One vector of the running value through an operation that is rare or long.
        [[gnu::noinline]] void call(
            const Instruction& q,
            double* value,
            const double* second,
            const double* third,
            std::size_t lanes)
        {
            if (q.routine)
            {
                const Routine& routine = *static_cast<const Routine*>(q.routine);
                for (std::size_t k = 0; k < lanes; ++k)
                {
                    double x[3] = {};
                    const double* const others[2] = {second, third};
                    for (int argument = 0, other = 0; argument < routine.arity; ++argument)
                        x[argument] = argument == q.place ? value[k] : others[other++][k];
                    value[k] = routine.value(x);
                }
                return;
            }
            const Value a = Value::load(value);
            const Op op = Op(q.op);
            if (!second)
                (op == Op::ceil ? ceil(a) : floor(a)).store(value);
            else if (q.place == 0)
                call_two(op, a, Value::load(second)).store(value);
            else
                call_two(op, Value::load(second), a).store(value);
        }

        // K vectors from `point` on; Partial: one vector of which `points` lanes count.
        template <std::size_t K, bool Partial> [[gnu::always_inline]] inline void strip(
            const Instruction* program,
            std::size_t point,
            std::size_t points,
            bool stream)
        {
            Value a[K];
            _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j] = Value(0.0);
            Padded padded, padded_second;
            for (const Instruction* q = program;; ++q)
            {
                const Operand& o = q->operand;
                if (!o.memory)
                {
                    const Value s(o.scalar);
                    switch (q->code)
                    {
                    case Code::load: ROOFSLATE_EACH(a[j] = s)
                    case Code::add: ROOFSLATE_EACH(a[j] = a[j] + s)
                    case Code::subtract: ROOFSLATE_EACH(a[j] = a[j] - s)
                    case Code::subtract_from: ROOFSLATE_EACH(a[j] = s - a[j])
                    case Code::multiply: ROOFSLATE_EACH(a[j] = a[j] * s)
                    case Code::divide: ROOFSLATE_EACH(a[j] = a[j] / s)
                    case Code::divide_into: ROOFSLATE_EACH(a[j] = quotient(s, a[j], q->op))
                    case Code::divide_proved:
                    {
                        const Value r(q->second.scalar);
                        ROOFSLATE_EACH(a[j] = corrected(a[j], s, r))
                    }
                    case Code::divide_constant:
                    {
                        if (q->second.scalar == 0)
                            ROOFSLATE_EACH(a[j] = a[j] / s)
                        const Value r(q->second.scalar), smallest(least_quotient), largest(most_quotient);
                        ROOFSLATE_EACH(
                            const Value size = abs(a[j] * r);
                            a[j] = all((size > smallest) && (size < largest)) ? corrected(a[j], s, r) : a[j] / s)
                    }
                    case Code::maximum: ROOFSLATE_EACH(a[j] = max(a[j], s))
                    case Code::maximum_of: ROOFSLATE_EACH(a[j] = max(s, a[j]))
                    case Code::maximum_proved: ROOFSLATE_EACH(a[j] = plain_max(a[j], s))
                    case Code::minimum: ROOFSLATE_EACH(a[j] = min(a[j], s))
                    case Code::minimum_of: ROOFSLATE_EACH(a[j] = min(s, a[j]))
                    case Code::minimum_proved: ROOFSLATE_EACH(a[j] = plain_min(a[j], s))
                    case Code::less: ROOFSLATE_EACH(a[j] = truth(a[j] < s))
                    case Code::at_most: ROOFSLATE_EACH(a[j] = truth(a[j] <= s))
                    case Code::more: ROOFSLATE_EACH(a[j] = truth(a[j] > s))
                    case Code::at_least: ROOFSLATE_EACH(a[j] = truth(s <= a[j]))
                    case Code::equal: ROOFSLATE_EACH(a[j] = truth(a[j] == s))
                    case Code::negate: ROOFSLATE_EACH(a[j] = -a[j])
                    case Code::square_root: ROOFSLATE_EACH(a[j] = sqrt(a[j]))
                    case Code::exponential: ROOFSLATE_EACH(a[j] = exponential(a[j]))
                    case Code::logarithm: ROOFSLATE_EACH(a[j] = logarithm(a[j]))
                    case Code::save: ROOFSLATE_EACH(a[j].store(q->result + j * width))
                    case Code::write:
                    {
                        if (q->op)
                        {
                            float* const to = reinterpret_cast<float*>(q->result) + point;
                            if constexpr (Partial)
                            {
                                Padded last{};
                                a[0].store(last.values);
                                for (std::size_t k = 0; k < points; ++k)
                                    to[k] = float(last.values[k]);
                                break;
                            }
                            ROOFSLATE_EACH(a[j].store_single(to + j * width, stream))
                        }
                        double* to = q->result + point;
                        if constexpr (Partial)
                        {
                            Padded last;
                            a[0].store(last.values);
                            for (std::size_t k = 0; k < points; ++k)
                                to[k] = last.values[k];
                            break;
                        }
#if defined(__x86_64__)
                        if (stream && reinterpret_cast<std::uintptr_t>(to) % (width * sizeof(double)) == 0)
                        {
#if defined(__AVX512F__)
                            ROOFSLATE_EACH(_mm512_stream_pd(to + j * width, a[j].v))
#elif defined(__AVX__)
                            ROOFSLATE_EACH(_mm256_stream_pd(to + j * width, a[j].v))
#else
                            ROOFSLATE_EACH(_mm_stream_pd(to + j * width, a[j].v))
#endif
                        }
#endif
                        ROOFSLATE_EACH(a[j].store(to + j * width))
                    }
                    case Code::require_less: ROOFSLATE_EACH(require(q, j, a[j] < s))
                    case Code::require_at_most: ROOFSLATE_EACH(require(q, j, a[j] <= s))
                    // this one and the next only with numbers
                    case Code::require_more: ROOFSLATE_EACH(require(q, j, a[j] > s))
                    case Code::require_at_least: ROOFSLATE_EACH(require(q, j, s <= a[j]))
                    case Code::keep:
                        if constexpr (Partial)
                        {
                            keep_partly(q, point, points, a[0]);
                            break;
                        }
                        ROOFSLATE_EACH(keep(q, point, j, a[j], a[j] < Value::load(q->result + point + j * width)))
                    case Code::keep_equal:
                        if constexpr (Partial)
                        {
                            keep_partly(q, point, points, a[0]);
                            break;
                        }
                        ROOFSLATE_EACH(keep(q, point, j, a[j], a[j] <= Value::load(q->result + point + j * width)))
                    case Code::end: return;
                    default: break;
                    }
                    if (q->code != Code::choose && q->code != Code::call)
                        continue;
                }
                // where an operand is memory
                const double* const p = o.memory ? memory_at<Partial>(o, point, points, padded) : nullptr;
                if (o.ahead) // beyond the end of an array it does no harm
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j)
                        __builtin_prefetch(p + o.ahead + j * width);
                switch (q->code)
                {
                case Code::load: ROOFSLATE_EACH(a[j] = Value::load(p + j * width))
                case Code::add: ROOFSLATE_EACH(a[j] = a[j] + Value::load(p + j * width))
                case Code::subtract: ROOFSLATE_EACH(a[j] = a[j] - Value::load(p + j * width))
                case Code::subtract_from: ROOFSLATE_EACH(a[j] = Value::load(p + j * width) - a[j])
                case Code::multiply: ROOFSLATE_EACH(a[j] = a[j] * Value::load(p + j * width))
                case Code::divide: ROOFSLATE_EACH(a[j] = quotient(a[j], Value::load(p + j * width), q->op))
                case Code::divide_into: ROOFSLATE_EACH(a[j] = quotient(Value::load(p + j * width), a[j], q->op))
                case Code::divide_proved:
                {
                    const double* const r = memory_at<Partial>(q->second, point, points, padded_second);
                    ROOFSLATE_EACH(a[j] = corrected(a[j], Value::load(p + j * width), Value::load(r + j * width)))
                }
                case Code::maximum: ROOFSLATE_EACH(a[j] = max(a[j], Value::load(p + j * width)))
                case Code::maximum_of: ROOFSLATE_EACH(a[j] = max(Value::load(p + j * width), a[j]))
                case Code::maximum_proved: ROOFSLATE_EACH(a[j] = plain_max(a[j], Value::load(p + j * width)))
                case Code::minimum: ROOFSLATE_EACH(a[j] = min(a[j], Value::load(p + j * width)))
                case Code::minimum_of: ROOFSLATE_EACH(a[j] = min(Value::load(p + j * width), a[j]))
                case Code::minimum_proved: ROOFSLATE_EACH(a[j] = plain_min(a[j], Value::load(p + j * width)))
                case Code::less: ROOFSLATE_EACH(a[j] = truth(a[j] < Value::load(p + j * width)))
                case Code::at_most: ROOFSLATE_EACH(a[j] = truth(a[j] <= Value::load(p + j * width)))
                case Code::more: ROOFSLATE_EACH(a[j] = truth(a[j] > Value::load(p + j * width)))
                case Code::at_least: ROOFSLATE_EACH(a[j] = truth(Value::load(p + j * width) <= a[j]))
                case Code::equal: ROOFSLATE_EACH(a[j] = truth(a[j] == Value::load(p + j * width)))
                case Code::require_less: ROOFSLATE_EACH(require(q, j, a[j] < Value::load(p + j * width)))
                case Code::require_at_most: ROOFSLATE_EACH(require(q, j, a[j] <= Value::load(p + j * width)))
                case Code::choose:
                {
                    const double* const p2 =
                        q->second.memory ? memory_at<Partial>(q->second, point, points, padded_second) : nullptr;
                    const Value s(o.scalar), s2(q->second.scalar), zero(0.0);
                    ROOFSLATE_EACH(
                        const Value no = p2 ? Value::load(p2 + j * width) : s2;
                        const Value yes = p ? Value::load(p + j * width) : s;
                        a[j] = select(a[j] == zero, no, yes))
                }
                case Code::call:
                {
                    alignas(64) double value[K * width], first[width], other[width];
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j].store(value + j * width);
                    const double* const p2 =
                        q->second.memory ? memory_at<Partial>(q->second, point, points, padded_second) : nullptr;
                    Value(o.scalar).store(first), Value(q->second.scalar).store(other);
                    const bool unary = !q->routine && (Op(q->op) == Op::ceil || Op(q->op) == Op::floor);
                    for (std::size_t j = 0; j < K; ++j)
                        call(
                            *q,
                            value + j * width,
                            unary   ? nullptr
                                : p ? p + j * width
                                    : first,
                            p2 ? p2 + j * width : other,
                            Partial ? points : width);
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j] = Value::load(value + j * width);
                    break;
                }
                default: break;
                }
            }
        }

        constexpr std::size_t cache_line = 64;
        [[gnu::noinline]] void single(const Instruction* program, std::size_t point, std::size_t points)
        { strip<1, true>(program, point, points, false); }
        [[gnu::noinline]] void quarter(const Instruction* program, std::size_t point, bool stream)
        { strip<ROOFSLATE_STRIP / 4, false>(program, point, 0, stream); }

        void run(const Instruction* program, std::size_t begin, std::size_t end, bool stream)
        {
            constexpr std::size_t whole = ROOFSLATE_STRIP * width, part = whole / 4;
            static_assert(whole <= widest_strip);
            std::size_t i = begin;
            if (stream) // one vector at a time up to the first cache line of the first result
            {
                const Instruction* q = program;
                while (q->code != Code::write)
                    ++q;
                const std::size_t size = q->op ? sizeof(float) : sizeof(double);
                const std::size_t behind =
                    (reinterpret_cast<std::uintptr_t>(q->result) + begin * size) % cache_line / size;
                const std::size_t line = behind ? begin + cache_line / size - behind : begin,
                                  first = line < end ? line : end;
                for (; i + width <= first; i += width)
                    single(program, i, width);
                if (i < first)
                    single(program, i, first - i);
                i = first;
            }
            for (; i + whole <= end; i += whole)
                strip<ROOFSLATE_STRIP, false>(program, i, 0, stream);
            for (; i + part <= end; i += part)
                quarter(program, i, stream);
            if (i < end && end - begin >= part && !stream) // what is computed twice gives the same twice
            {
                quarter(program, end - part, false);
                return;
            }
            for (; i < end; i += width)
                single(program, i, end - i < width ? end - i : width);
        }
        // lanes are counted in registers: exact below 2^53
        template <class Bad> std::size_t count(std::size_t n, Bad bad)
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
        Value loaded(const double* p, std::size_t lanes, double elsewhere)
        {
            if (lanes == width)
                return Value::load(p);
            Padded last;
            for (std::size_t k = 0; k < width; ++k)
                last.values[k] = k < lanes ? p[k] : elsewhere;
            return Value::load(last.values);
        }
        // Counts in blocks: as a rule all values of one are good, which takes no counting.
        template <class Good> std::size_t count_bad(std::size_t n, Good good)
        {
            constexpr std::size_t vectors = 16, block = vectors * width;
            const auto bad = [&](std::size_t i, std::size_t lanes) {
                return select(good(i, lanes), Value(0.0), Value(1.0));
            };
            std::size_t found = 0, i = 0;
            for (; i + block <= n; i += block)
            {
                auto well = good(i, width);
                _Pragma("GCC unroll 16") for (std::size_t j = 1; j < vectors; ++j) well =
                    well && good(i + j * width, width);
                if (!all(well))
                    found += count(block, [&](std::size_t k, std::size_t lanes) { return bad(i + k, lanes); });
            }
            return found + count(n - i, [&](std::size_t k, std::size_t lanes) { return bad(i + k, lanes); });
        }
        std::size_t outside(const double* values, std::size_t n, double low, double high, bool above_low)
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
        std::size_t above(const double* values, const double* limits, std::size_t n)
        {
            return count(n, [&](std::size_t i, std::size_t lanes) {
                return truth(loaded(values + i, lanes, 0) > loaded(limits + i, lanes, 0));
            });
        }
        std::size_t below(const double* values, std::size_t n, double edge)
        {
            const Value limit(edge);
            return count(n, [&](std::size_t i, std::size_t lanes) {
                return truth(loaded(values + i, lanes, edge) < limit);
            });
        }
        std::size_t within(
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
                const auto found = least <= x && x <= most;
                if (any(found))
                    next = x.store_chosen(next, found);
                return truth(x < least);
            });
            *inside = std::size_t(next - to);
            return below_it;
        }
        bool extent(const double* values, std::size_t n, double* low, double* high)
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
        bool ordered(const double* values, std::size_t n, bool falling)
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
        void invert(const InverseTable& table, std::uint32_t x, const std::uint32_t* differ, std::size_t n, double* to)
        {
            constexpr std::size_t block = 256;
            constexpr double lattice = 1.0 / 4294967296.0;
            constexpr std::uint64_t first_cell = (std::uint64_t(1023) - bits_of_draw - 1) << 4; // of 2^-33
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
                    at[i] = std::uint32_t((bits >> 48) - first_cell) + upper * std::uint32_t(cells_of_inverse / 2);
                }
                for (std::size_t i = 0; i < length; ++i)
                {
                    std::uint32_t piece = table.first[at[i]];
                    if (piece >= split_cell)
                        for (piece -= split_cell; v[i] >= table.ends[piece];)
                            ++piece;
                    at[i] = piece;
                }
                for (std::size_t i = 0; i < length; i += width)
                {
                    Value words[words_of_piece];
                    Value::read_rows(table.pieces, at + i, words);
                    const Value t = (Value::load(v + i) - words[0]) * words[1];
                    Value value = words[words_of_piece - 1];
                    _Pragma("GCC unroll 8") for (std::size_t k = words_of_piece - 1; k-- > 2;) value =
                        value * t + words[k];
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
        void fence()
        {
#if defined(__x86_64__)
            _mm_sfence();
#endif
        }
    }
    extern const InstructionSet set;
    const InstructionSet set{
        ROOFSLATE_TEXT(ROOFSLATE_SET),
        &run,
        &fence,
        &outside,
        &above,
        &extent,
        &below,
        &ordered,
        &within,
        &invert,
        ROOFSLATE_STRIP * width,
        has_fused};
}
