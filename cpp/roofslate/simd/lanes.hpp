// Lanes: one SIMD register of doubles. A thin face over xsimd that fixes differences between its versions. The general
// way of every function runs on all instruction sets; the file of a set specializes those for which the set has
// instructions that xsimd does not use (docs/development/add-an-instruction-set.md). Every symbol carries the
// architecture in its type, so that no code leaks from one instruction set into another.
#pragma once
#include "roofslate/language/math.hpp"
#include "roofslate/simd/storage.hpp"
#include <xsimd/xsimd.hpp>
#include <type_traits>

namespace roofslate
{
    template <class A> struct Lanes
    {
        using Batch = xsimd::batch<double, A>;
        using Mask = typename Batch::batch_bool_type;
        using Words = xsimd::batch<std::uint64_t, A>;
        static constexpr std::size_t size = Batch::size;

        Batch v;
        Lanes() = default;
        Lanes(const Batch& b) : v(b) {}
        Lanes(double x) : v(x) {}

        // --- properties of the set ---

        static constexpr std::size_t registers_of_strip() { return 8; }
        static constexpr bool has_fused() { return false; } // a multiply-add that rounds once
        static constexpr bool has_reciprocal() { return false; } // an estimate that makes divisions faster

        // --- memory ---

        static Lanes load(const double* p) { return Batch::load_unaligned(p); }
        template <class T> void store(T* p) const
        {
            if constexpr (std::is_same_v<T, double>)
                v.store_unaligned(p);
            else
            {
                alignas(64) double values[size];
                v.store_aligned(values);
                for (std::size_t k = 0; k < size; ++k)
                    p[k] = Stored<T>::of(values[k]);
            }
        }
        // Only the chosen lanes.
        void store_where(double* p, const Mask& chosen) const { select(chosen, *this, load(p)).store(p); }
        // Bypasses the CPU cache, if there is an instruction. `p` is aligned to the width of the store.
        template <class T> void stream(T* p) const { store(p); }
        static void fence() {} // streamed results are visible to other threads afterwards
        // Stores the chosen lanes one after the other, and overwrites as much as a register; returns the end.
        double* store_chosen(double* p, const Mask& chosen) const
        {
            alignas(64) double values[size];
            v.store_aligned(values);
            for (std::size_t k = 0; k < size; ++k)
            {
                *p = values[k];
                p += chosen.get(k);
            }
            return p;
        }
        // Lane j of column k is word k of a row of eight, `rows + 8 at[j]`.
        static void read_rows(const double* rows, const std::uint32_t* at, Lanes (&columns)[8])
        {
            alignas(64) double lanes[8][size];
            for (std::size_t j = 0; j < size; ++j)
                for (std::size_t k = 0; k < 8; ++k)
                    lanes[k][j] = rows[8 * std::size_t(at[j]) + k];
            for (std::size_t k = 0; k < 8; ++k)
                columns[k] = load(lanes[k]);
        }

        // --- operations rounded once, and reciprocals, which are used only if the set has them ---

        static Lanes multiply_add(const Lanes& a, const Lanes& b, const Lanes& c) // a * b + c
        { return xsimd::fma(a.v, b.v, c.v); }
        static Lanes subtract_product(const Lanes& a, const Lanes& b, const Lanes& c) // c - a * b
        { return xsimd::fnma(a.v, b.v, c.v); }
        // correctly rounded, except where the mantissa is all ones
        static Lanes reciprocal(const Lanes& d) { return Lanes(1.0) / d; }
        static bool any_mantissa_full(const Lanes&) { return true; } // all ones
        static bool all_between(const Lanes&, double, double) { return false; }

        // --- operators and the functions of math.hpp ---

        friend Lanes operator+(const Lanes& a, const Lanes& b) { return a.v + b.v; }
        friend Lanes operator-(const Lanes& a, const Lanes& b) { return a.v - b.v; }
        friend Lanes operator*(const Lanes& a, const Lanes& b) { return a.v * b.v; }
        friend Lanes operator/(const Lanes& a, const Lanes& b) { return a.v / b.v; }
        // xsimd 8 takes it from zero, which loses the sign of zero
        friend Lanes operator-(const Lanes& a) { return a.v ^ Batch(-0.0); }
        friend Mask operator<(const Lanes& a, const Lanes& b) { return a.v < b.v; }
        friend Mask operator>(const Lanes& a, const Lanes& b) { return a.v > b.v; }
        friend Mask operator<=(const Lanes& a, const Lanes& b) { return a.v <= b.v; }
        friend Mask operator==(const Lanes& a, const Lanes& b) { return a.v == b.v; }
        friend Mask is_nan(const Lanes& a) { return xsimd::isnan(a.v); } // a != a is false for NaN in xsimd 8 with AVX
        friend Lanes select(const Mask& c, const Lanes& a, const Lanes& b) { return xsimd::select(c, a.v, b.v); }
        friend Lanes max(const Lanes& a, const Lanes& b)
        { return xsimd::select((a.v > b.v) || xsimd::isnan(a.v), a.v, b.v); }
        friend Lanes min(const Lanes& a, const Lanes& b)
        { return xsimd::select((a.v < b.v) || xsimd::isnan(a.v), a.v, b.v); }
        // if neither is NaN and not both are zero: one instruction
        friend Lanes plain_max(const Lanes& a, const Lanes& b) { return xsimd::max(a.v, b.v); }
        friend Lanes plain_min(const Lanes& a, const Lanes& b) { return xsimd::min(a.v, b.v); }
        friend Lanes abs(const Lanes& a) { return xsimd::abs(a.v); }
        friend Lanes sqrt(const Lanes& a) { return xsimd::sqrt(a.v); }
        friend Lanes exp(const Lanes& a) { return math::portable::exp(a); }
        friend Lanes log(const Lanes& a) { return math::portable::log(a); }
        friend Lanes pow(const Lanes& a, const Lanes& b) { return math::portable::pow(a, b); }
        friend Lanes ceil(const Lanes& a) { return a.rounded_up(); }
        friend Lanes floor(const Lanes& a) { return a.rounded_down(); }
        friend bool all(const Mask& m) { return xsimd::all(m); }
        friend bool any(const Mask& m) { return xsimd::any(m); }
        Lanes rounded_up() const { return xsimd::ceil(v); }
        Lanes rounded_down() const { return xsimd::floor(v); }

#if XSIMD_VERSION_MAJOR < 11 // bitwise_cast took the batch, then its element
        friend Words words(const Lanes& x) { return xsimd::bitwise_cast<Words>(x.v); }
#else
        friend Words words(const Lanes& x) { return xsimd::bitwise_cast<std::uint64_t>(x.v); }
#endif
        friend Lanes low_bits_to_exponent(const Lanes& x) { return from_words(words(x) << 52); }
        friend Lanes biased_exponent(const Lanes& x)
        { return from_words((words(x) >> 52) | Words(0x4330000000000000u)) - Lanes(4503599627370496.0); }
        friend Lanes mantissa(const Lanes& x)
        { return from_words((words(x) & Words(0x000fffffffffffffu)) | Words(0x3ff0000000000000u)); }
        friend Lanes high_half(const Lanes& x) { return from_words(words(x) & Words(0xfffffffff8000000u)); }

    private:
#if XSIMD_VERSION_MAJOR < 11
        static Lanes from_words(const Words& u) { return xsimd::bitwise_cast<Batch>(u); }
#else
        static Lanes from_words(const Words& u) { return xsimd::bitwise_cast<double>(u); }
#endif
    };
}
