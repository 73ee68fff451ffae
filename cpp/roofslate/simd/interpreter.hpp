// The interpreter of the accumulator machine, on one instruction set. Included only by the files of the sets, which
// specialize `Lanes` before they take the interpreter's functions.
#pragma once
#include "roofslate/language/distributions.hpp"
#include "roofslate/language/expr.hpp"
#include "roofslate/simd/instructions.hpp"
#include "roofslate/simd/lanes.hpp"
#include "roofslate/simd/scans.hpp"

// One statement for each vector of a strip, then out of the switch.
#define ROOFSLATE_EACH(statement)                                                   \
    {                                                                               \
        _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) { statement; } \
        break;                                                                      \
    }

namespace roofslate
{
    namespace // no function of one set reaches another
    {
        template <class Value> class Interpreter
        {
        public:
            static constexpr InstructionSet instruction_set(const char* name)
            {
                return {
                    name,
                    &run,
                    &Value::fence,
                    &Scans<Value>::outside,
                    &Scans<Value>::above,
                    &Scans<Value>::extent,
                    &Scans<Value>::below,
                    &Scans<Value>::ordered,
                    &Scans<Value>::within,
                    &invert<Value>,
                    registers * width,
                    Value::has_fused()};
            }

        private:
            static constexpr std::size_t width = Value::size, registers = Value::registers_of_strip(), cache_line = 64;
            static_assert(registers * width <= widest_strip);

            // --- operands ---

            struct Padded
            { alignas(64) double values[width]; };
            // A strip in its row, or one vector of which `points` lanes count.
            struct Position
            {
                std::size_t point, points;
                bool stream;
            };
            // Memory of an operand. The last vector of a row is padded: nothing is read beyond the row.
            template <bool partial> static const double* memory_of(const Operand& o, const Position& at, Padded& padded)
            {
                const double* p = o.memory + at.point * o.step;
                if constexpr (partial)
                    if (o.step && at.points < width)
                    {
                        for (std::size_t k = 0; k < width; ++k)
                            padded.values[k] = k < at.points ? p[k] : 1.0;
                        return padded.values;
                    }
                return p;
            }
            // An operand on vector j of a strip: the same scalar in all lanes, or memory.
            struct Scalar
            {
                static constexpr bool in_memory = false;
                Value value;
                template <bool partial> static Scalar of(const Operand& o, const Position&, Padded&)
                { return {Value(o.scalar)}; }
                const Value& operator()(std::size_t) const { return value; }
            };
            struct Memory
            {
                static constexpr bool in_memory = true;
                const double* first;
                template <bool partial> static Memory of(const Operand& o, const Position& at, Padded& padded)
                { return {memory_of<partial>(o, at, padded)}; }
                Value operator()(std::size_t j) const { return Value::load(first + j * width); }
            };

            // --- operations that are more than a function of Lanes ---

            static Value truth(const typename Value::Mask& m) { return select(m, Value(1.0), Value(0.0)); }
            // Correctly rounded division by a scalar (Markstein): q = a r, then one correction.
            static Value corrected(const Value& a, const Value& d, const Value& r)
            {
                if constexpr (Value::has_fused())
                {
                    const Value q = a * r;
                    return Value::multiply_add(Value::subtract_product(q, d, a), r, q);
                }
                else
                    return a / d;
            }
            // The same where the ranges prove nothing.
            static Value checked(const Value& a, const Value& d, const Value& r)
            {
                const Value size = abs(a * r);
                return all((size > Value(least_quotient)) && (size < Value(most_quotient)))
                    ? corrected(a, d, r)
                    : a / d;
            }
            // Correctly rounded division by numbers that vary along the row. `proved`: by the ranges, neither divisor
            // nor quotient is extreme.
            static Value quotient(const Value& a, const Value& d, [[maybe_unused]] bool proved)
            {
                if constexpr (Value::has_reciprocal())
                    if (!Value::any_mantissa_full(d) && (proved || Value::all_between(d, least_divisor, most_divisor)))
                        if (const Value q = corrected(a, d, Value::reciprocal(d));
                            proved || Value::all_between(q, least_quotient, most_quotient))
                            return q;
                return a / d;
            }

            struct Requirements // met so far: a strip of 1 and 0
            {
                double* strip;
                bool joins;
                explicit Requirements(const Instruction& q) : strip(q.scratch), joins(q.joins) {}
                void add(std::size_t j, const typename Value::Mask& met) const
                {
                    const Value earlier = joins ? Value::load(strip + j * width) : Value(1.0);
                    select(met, earlier, Value(0.0)).store(strip + j * width);
                }
            };
            // Few vectors at a time: mostly none of them is better, and nothing is stored.
            template <bool equal_too, std::size_t K> [[gnu::always_inline]] static void keep(
                const Instruction& q,
                std::size_t point,
                const Value (&a)[K])
            {
                constexpr std::size_t few = K < 4 ? K : 4;
                double *const best = q.best + point, *const where = q.where + point;
                const double* const met = q.second.memory;
                const Value at(q.operand.scalar);
                _Pragma("GCC unroll 16") for (std::size_t i = 0; i < K; i += few)
                {
                    typename Value::Mask better[few];
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < few; ++j)
                    {
                        const Value before = Value::load(best + (i + j) * width);
                        better[j] = equal_too ? a[i + j] <= before : a[i + j] < before;
                    }
                    if (met)
                        _Pragma("GCC unroll 16") for (std::size_t j = 0; j < few; ++j) better[j] =
                            better[j] && Value(0.0) < Value::load(met + (i + j) * width);
                    typename Value::Mask some = better[0];
                    _Pragma("GCC unroll 16") for (std::size_t j = 1; j < few; ++j) some = some || better[j];
                    if (!any(some))
                        continue;
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < few; ++j)
                    {
                        a[i + j].store_where(best + (i + j) * width, better[j]);
                        at.store_where(where + (i + j) * width, better[j]);
                    }
                }
            }
            [[gnu::noinline]] static void keep_partly(
                const Instruction& q,
                std::size_t point,
                std::size_t points,
                const Value& value)
            {
                Padded values{};
                value.store(values.values);
                for (std::size_t k = 0; k < points; ++k)
                {
                    const double x = values.values[k];
                    double& best = q.best[point + k];
                    if ((q.code == Code::keep ? x < best : x <= best) && (!q.second.memory || q.second.memory[k] > 0))
                        best = x, q.where[point + k] = q.operand.scalar;
                }
            }

            struct Argument // of a call, in memory
            {
                const double* first;
                std::size_t step; // from vector to vector
                const double* operator()(std::size_t j) const { return first + j * step; }
            };
            template <bool partial> static Argument argument_of(const Operand& o, const Position& at, Padded& lanes)
            {
                if (o.memory)
                    return {memory_of<partial>(o, at, lanes), width};
                Value(o.scalar).store(lanes.values);
                return {lanes.values, 0};
            }
            // Operations that are rare or long, on vectors of the running value in memory: a call with vectors in
            // registers would keep the running value in memory for all instructions.
            template <std::size_t K, class Run> [[gnu::always_inline]] static void in_memory(
                Value (&a)[K],
                const Run& run)
            {
                alignas(64) double values[K * width];
                _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j].store(values + j * width);
                run(values);
                _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j] = Value::load(values + j * width);
            }
            [[gnu::noinline]] static void divide(
                const Instruction& q,
                double* values,
                std::size_t vectors,
                const Argument& other)
            {
                for (std::size_t j = 0; j < vectors; ++j)
                {
                    const Value a = Value::load(values + j * width), b = Value::load(other(j));
                    const Value result = q.code == Code::divide ? quotient(a, b, q.proved) : quotient(b, a, q.proved);
                    result.store(values + j * width);
                }
            }
            [[gnu::noinline]] static void call(
                const Instruction& q,
                double* values,
                std::size_t vectors,
                const Argument& second,
                const Argument& third,
                std::size_t lanes)
            {
                const auto unary = [&](auto operation) {
                    for (std::size_t j = 0; j < vectors; ++j)
                        operation(Value::load(values + j * width)).store(values + j * width);
                };
                const auto binary = [&](auto operation) {
                    for (std::size_t j = 0; j < vectors; ++j)
                    {
                        const Value a = Value::load(values + j * width), b = Value::load(second(j));
                        (q.argument == 0 ? operation(a, b) : operation(b, a)).store(values + j * width);
                    }
                };
                const Value zero(0.0), one(1.0);
                switch (q.operation)
                {
                case Op::exp: return unary([](const Value& a) { return exp(a); });
                case Op::log: return unary([](const Value& a) { return log(a); });
                case Op::ceil: return unary([](const Value& a) { return ceil(a); });
                case Op::floor: return unary([](const Value& a) { return floor(a); });
                case Op::pow:
                    if (q.argument == 1 && second.step == 0) // one base: its logarithm, the longer part, once
                    {
                        const Value base = Value::load(second(0));
                        const auto log = math::portable::log_pair(base);
                        return unary([&](const Value& b) { return math::portable::pow(base, log, b); });
                    }
                    return binary([](const Value& a, const Value& b) { return math::portable::pow(a, b); });
                case Op::both:
                    return binary([&](const Value& a, const Value& b) {
                        return select(a == zero, zero, select(b == zero, zero, one));
                    });
                case Op::either:
                    return binary([&](const Value& a, const Value& b) {
                        return select(a == zero, select(b == zero, zero, one), one);
                    });
                default:
                    if (q.wide >= 0)
                        return call_wide(quantities::wide_routines{}, q, values, vectors, second, third);
                    for (std::size_t j = 0; j < vectors; ++j)
                        call_routine(q, values + j * width, second(j), third(j), lanes);
                }
            }
            template <class... R> static void call_wide(
                list<R...>,
                const Instruction& q,
                double* values,
                std::size_t vectors,
                const Argument& second,
                const Argument& third)
            {
                int next = 0;
                ((next++ == q.wide ? run_wide<R>(q, values, vectors, second, third) : void()), ...);
            }
            template <class R> [[gnu::noinline]] static void run_wide(
                const Instruction& q,
                double* values,
                std::size_t vectors,
                const Argument& second,
                const Argument& third)
            {
                for (std::size_t j = 0; j < vectors; ++j)
                {
                    const Value a = Value::load(values + j * width);
                    Value result = a;
                    if constexpr (R::arity == 1)
                        result = R::of(a);
                    else if constexpr (R::arity == 2)
                    {
                        const Value b = Value::load(second(j));
                        result = q.argument == 0 ? R::of(a, b) : R::of(b, a);
                    }
                    else
                    {
                        const Value b = Value::load(second(j)), c = Value::load(third(j));
                        result = q.argument == 0 ? R::of(a, b, c) : q.argument == 1 ? R::of(b, a, c) : R::of(b, c, a);
                    }
                    result.store(values + j * width);
                }
            }
            static void call_routine(
                const Instruction& q,
                double* value,
                const double* second,
                const double* third,
                std::size_t lanes)
            {
                for (std::size_t k = 0; k < lanes; ++k)
                {
                    double x[3] = {};
                    const double* const remaining[2] = {second, third};
                    for (int argument = 0, next = 0; argument < q.routine->arity; ++argument)
                        x[argument] = argument == q.argument ? value[k] : remaining[next++][k];
                    value[k] = q.routine->value(x);
                }
            }

            template <std::size_t K, bool partial, class T> [[gnu::always_inline]] static void write(
                T* to,
                const Position& at,
                const Value (&a)[K])
            {
                to += at.point;
                if constexpr (partial)
                {
                    Padded last{};
                    a[0].store(last.values);
                    for (std::size_t k = 0; k < at.points; ++k)
                        to[k] = Stored<T>::of(last.values[k]);
                }
                else if (at.stream && reinterpret_cast<std::uintptr_t>(to) % (width * sizeof(T)) == 0)
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j].stream(to + j * width);
                else
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j].store(to + j * width);
            }

            // --- instructions on K vectors of the running value; partial: on one vector of which some lanes count ---

            // X: the kind of the operand. False: the program ends.
            // NOLINTNEXTLINE(readability-function-size): a case for each instruction
            template <std::size_t K, bool partial, class X> [[gnu::always_inline]] static bool execute(
                const Instruction& q,
                const Position& at,
                const X& x,
                Value (&a)[K])
            {
                const Code code = q.code;
                if (X::in_memory && code >= first_without_memory)
                    __builtin_unreachable(); // so that these cases are compiled only for scalars
                Padded padded;
                switch (code)
                {
                case Code::load: ROOFSLATE_EACH(a[j] = x(j))
                case Code::add: ROOFSLATE_EACH(a[j] = a[j] + x(j))
                case Code::subtract: ROOFSLATE_EACH(a[j] = a[j] - x(j))
                case Code::subtract_from: ROOFSLATE_EACH(a[j] = x(j) - a[j])
                case Code::multiply: ROOFSLATE_EACH(a[j] = a[j] * x(j))
                case Code::divide:
                case Code::divide_into:
                {
                    const Argument other = argument_of<partial>(q.operand, at, padded);
                    in_memory(a, [&](double* values) { divide(q, values, K, other); });
                    break;
                }
                case Code::divide_proved:
                {
                    const X r = X::template of<partial>(q.second, at, padded);
                    ROOFSLATE_EACH(a[j] = corrected(a[j], x(j), r(j)))
                }
                case Code::maximum: ROOFSLATE_EACH(a[j] = max(a[j], x(j)))
                case Code::maximum_of: ROOFSLATE_EACH(a[j] = max(x(j), a[j]))
                case Code::maximum_proved: ROOFSLATE_EACH(a[j] = plain_max(a[j], x(j)))
                case Code::minimum: ROOFSLATE_EACH(a[j] = min(a[j], x(j)))
                case Code::minimum_of: ROOFSLATE_EACH(a[j] = min(x(j), a[j]))
                case Code::minimum_proved: ROOFSLATE_EACH(a[j] = plain_min(a[j], x(j)))
                case Code::less: ROOFSLATE_EACH(a[j] = truth(a[j] < x(j)))
                case Code::at_most: ROOFSLATE_EACH(a[j] = truth(a[j] <= x(j)))
                case Code::more: ROOFSLATE_EACH(a[j] = truth(a[j] > x(j)))
                case Code::at_least: ROOFSLATE_EACH(a[j] = truth(x(j) <= a[j]))
                case Code::equal: ROOFSLATE_EACH(a[j] = truth(a[j] == x(j)))
                case Code::choose:
                {
                    if (q.second.memory)
                    {
                        const Memory second = Memory::template of<partial>(q.second, at, padded);
                        ROOFSLATE_EACH(a[j] = select(a[j] == Value(0.0), second(j), x(j)))
                    }
                    const Value second(q.second.scalar);
                    ROOFSLATE_EACH(a[j] = select(a[j] == Value(0.0), second, x(j)))
                }
                case Code::require_less:
                {
                    const Requirements requirements(q);
                    ROOFSLATE_EACH(requirements.add(j, a[j] < x(j)))
                }
                case Code::require_at_most:
                {
                    const Requirements requirements(q);
                    ROOFSLATE_EACH(requirements.add(j, a[j] <= x(j)))
                }
                case Code::call:
                {
                    Padded lanes;
                    const Argument second = argument_of<partial>(q.operand, at, lanes),
                                   third = argument_of<partial>(q.second, at, padded);
                    in_memory(a, [&](double* values) {
                        call(q, values, K, second, third, partial ? at.points : width);
                    });
                    break;
                }
                case Code::divide_constant:
                {
                    if (q.second.scalar == 0)
                        ROOFSLATE_EACH(a[j] = a[j] / x(j))
                    const Value r(q.second.scalar);
                    ROOFSLATE_EACH(a[j] = checked(a[j], x(j), r))
                }
                case Code::require_more:
                {
                    const Requirements requirements(q);
                    ROOFSLATE_EACH(requirements.add(j, a[j] > x(j)))
                }
                case Code::require_at_least:
                {
                    const Requirements requirements(q);
                    ROOFSLATE_EACH(requirements.add(j, x(j) <= a[j]))
                }
                case Code::keep: // NOLINT(bugprone-branch-clone): alike only for part of a vector
                    if constexpr (partial)
                        keep_partly(q, at.point, at.points, a[0]);
                    else
                        keep<false>(q, at.point, a);
                    break;
                case Code::keep_equal:
                    if constexpr (partial)
                        keep_partly(q, at.point, at.points, a[0]);
                    else
                        keep<true>(q, at.point, a);
                    break;
                case Code::negate: ROOFSLATE_EACH(a[j] = -a[j])
                case Code::square_root: ROOFSLATE_EACH(a[j] = sqrt(a[j]))
                case Code::save: ROOFSLATE_EACH(a[j].store(q.scratch + j * width))
                case Code::write:
                    with_type(q.storage, [&](auto stored) __attribute__((always_inline)) {
                        using T = typename decltype(stored)::type;
                        write<K, partial>(static_cast<T*>(q.result), at, a);
                    });
                    break;
                case Code::end: return false;
                }
                return true;
            }
            // The memory of an operand; memory of later points is asked for early.
            template <std::size_t K, bool partial> [[gnu::always_inline]] static Memory row_of(
                const Operand& o,
                const Position& at,
                Padded& padded)
            {
                const Memory x = Memory::template of<partial>(o, at, padded);
                if (o.ahead) // beyond the end of an array it does no harm
                    _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j)
                        __builtin_prefetch(x.first + o.ahead + j * width);
                return x;
            }
            // A program begins with a load.
            template <std::size_t K, bool partial> [[gnu::always_inline]] static void run_strip(
                const Instruction* program,
                const Position& at)
            {
                Value a[K];
                {
                    const Operand& o = program->operand; // of the load
                    Padded padded;
                    if (o.memory)
                    {
                        const Memory x = row_of<K, partial>(o, at, padded);
                        _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j] = x(j);
                    }
                    else
                        _Pragma("GCC unroll 16") for (std::size_t j = 0; j < K; ++j) a[j] = Value(o.scalar);
                }
                for (const Instruction* q = program + 1;; ++q)
                {
                    const Operand& o = q->operand;
                    Padded padded;
                    if (o.memory)
                        execute<K, partial>(*q, at, row_of<K, partial>(o, at, padded), a);
                    else if (!execute<K, partial>(*q, at, Scalar::template of<partial>(o, at, padded), a))
                        return;
                }
            }

            // --- rows ---

            [[gnu::noinline]] static void run_vector(const Instruction* program, std::size_t point, std::size_t points)
            { run_strip<1, true>(program, {point, points, false}); }
            [[gnu::noinline]] static void run_quarter(const Instruction* program, std::size_t point, bool stream)
            { run_strip<registers / 4, false>(program, {point, 0, stream}); }

            static void run(const Instruction* program, std::size_t begin, std::size_t end, bool stream)
            {
                constexpr std::size_t strip = registers * width, quarter = strip / 4;
                std::size_t i = begin;
                if (stream) // one vector at a time up to the first cache line of the first result
                {
                    const Instruction* q = program;
                    while (q->code != Code::write)
                        ++q;
                    const std::size_t size = size_of(q->storage);
                    const std::size_t behind =
                        (reinterpret_cast<std::uintptr_t>(q->result) + begin * size) % cache_line / size;
                    const std::size_t line = behind ? begin + cache_line / size - behind : begin,
                                      first = line < end ? line : end;
                    for (; i + width <= first; i += width)
                        run_vector(program, i, width);
                    if (i < first)
                        run_vector(program, i, first - i);
                    i = first;
                }
                for (; i + strip <= end; i += strip)
                    run_strip<registers, false>(program, {i, 0, stream});
                for (; i + quarter <= end; i += quarter)
                    run_quarter(program, i, stream);
                if (i < end && end - begin >= quarter && !stream) // computed twice, the same bits twice
                {
                    run_quarter(program, end - quarter, false);
                    return;
                }
                for (; i < end; i += width)
                    run_vector(program, i, end - i < width ? end - i : width);
            }
        };
    }
}
#undef ROOFSLATE_EACH
