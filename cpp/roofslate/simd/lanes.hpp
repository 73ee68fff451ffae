// Lanes: one SIMD register of doubles. A thin face over xsimd that fixes what differs between its versions and
// instruction sets. Every symbol carries the architecture in its type, so that no code leaks from one instruction set
// into another.
#pragma once
#include "roofslate/language/math.hpp"
#include <xsimd/xsimd.hpp>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
        static Lanes load(const double* p) { return Batch::load_unaligned(p); }
        void store(double* p) const { v.store_unaligned(p); }
        // Lane j of column k is word k of a row of eight, `rows + 8 at[j]`.
        static void read_rows(const double* rows, const std::uint32_t* at, Lanes (&columns)[8])
        {
#if defined(__AVX512F__)
            __m512d r[8], pairs[8], fours[8];
            for (int j = 0; j < 8; ++j)
                r[j] = _mm512_loadu_pd(rows + 8 * std::size_t(at[j]));
            for (int j = 0; j < 8; j += 2)
                pairs[j] = _mm512_unpacklo_pd(r[j], r[j + 1]), pairs[j + 1] = _mm512_unpackhi_pd(r[j], r[j + 1]);
            for (int j = 0; j < 8; j += 4) // words 0 and 4, 1 and 5, 2 and 6, 3 and 7 of four rows
                for (int k = 0; k < 2; ++k)
                {
                    const __m512d a = pairs[j + k], b = pairs[j + k + 2];
                    fours[j + k] = _mm512_permutex2var_pd(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b);
                    fours[j + k + 2] = _mm512_permutex2var_pd(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b);
                }
            for (int k = 0; k < 4; ++k)
            {
                columns[k] = Batch(_mm512_shuffle_f64x2(fours[k], fours[k + 4], 0x44));
                columns[k + 4] = Batch(_mm512_shuffle_f64x2(fours[k], fours[k + 4], 0xee));
            }
#else
            alignas(64) double lanes[8][size];
            for (std::size_t j = 0; j < size; ++j)
                for (std::size_t k = 0; k < 8; ++k)
                    lanes[k][j] = rows[8 * std::size_t(at[j]) + k];
            for (std::size_t k = 0; k < 8; ++k)
                columns[k] = load(lanes[k]);
#endif
        }
        double* store_chosen(double* p, const Mask& chosen) const // one after the other; a whole register is written
        {
#if defined(__AVX512F__)
            const auto bits = chosen.data;
            _mm512_storeu_pd(p, _mm512_maskz_compress_pd(__mmask8(bits), v));
            return p + __builtin_popcount(unsigned(__mmask8(bits)));
#else
            alignas(64) double values[size];
            v.store_aligned(values);
            for (std::size_t k = 0; k < size; ++k)
            {
                *p = values[k];
                p += chosen.get(k);
            }
            return p;
#endif
        }
        void store_single(float* p, bool stream) const // rounded
        {
#if defined(__AVX512F__)
            const __m256 x = _mm512_cvtpd_ps(v);
            if (stream && reinterpret_cast<std::uintptr_t>(p) % sizeof x == 0)
                _mm256_stream_ps(p, x);
            else
                _mm256_storeu_ps(p, x);
#elif defined(__AVX__)
            const __m128 x = _mm256_cvtpd_ps(v);
            if (stream && reinterpret_cast<std::uintptr_t>(p) % sizeof x == 0)
                _mm_stream_ps(p, x);
            else
                _mm_storeu_ps(p, x);
#else
            (void)stream;
            alignas(64) double values[size];
            v.store_aligned(values);
            for (std::size_t k = 0; k < size; ++k)
                p[k] = float(values[k]);
#endif
        }

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
        friend Lanes abs(const Lanes& a) { return xsimd::abs(a.v); }
        friend Lanes sqrt(const Lanes& a) { return xsimd::sqrt(a.v); }
        friend Lanes ceil(const Lanes& a) { return whole(a, xsimd::ceil(small(a))); }
        friend Lanes floor(const Lanes& a) { return whole(a, xsimd::floor(small(a))); }
        friend bool all(const Mask& m) { return xsimd::all(m); }

        // max and min where neither is NaN and not both are zero: one instruction
        friend Lanes plain_max(const Lanes& a, const Lanes& b) { return xsimd::max(a.v, b.v); }
        friend Lanes plain_min(const Lanes& a, const Lanes& b) { return xsimd::min(a.v, b.v); }
        // a * b + c, rounded once; the fma of xsimd 8 is not fused on AVX-512
        friend Lanes fused(const Lanes& a, const Lanes& b, const Lanes& c)
        {
#if defined(__AVX512F__)
            return Batch(_mm512_fmadd_pd(a.v, b.v, c.v));
#elif defined(__FMA__)
            return Batch(_mm256_fmadd_pd(a.v, b.v, c.v));
#else
            return xsimd::fma(a.v, b.v, c.v);
#endif
        }

        // c - a * b, rounded once
        friend Lanes fused_difference(const Lanes& a, const Lanes& b, const Lanes& c)
        {
#if defined(__AVX512F__)
            return Batch(_mm512_fnmadd_pd(a.v, b.v, c.v));
#elif defined(__FMA__)
            return Batch(_mm256_fnmadd_pd(a.v, b.v, c.v));
#else
            return xsimd::fnma(a.v, b.v, c.v);
#endif
        }
        friend bool any(const Mask& m) { return xsimd::any(m); }

#if defined(__AVX512F__)
        static constexpr bool has_reciprocal = true; // that is faster than a division
        // 1 / d, rounded correctly unless the mantissa is all ones: three of Newton's steps from 14 bits.
        friend Lanes quick_reciprocal(const Lanes& d)
        {
            Lanes r = Batch(_mm512_rcp14_pd(d.v));
            for (int step = 0; step < 3; ++step)
                r = fused(r, fused_difference(r, d, Lanes(1.0)), r);
            return r;
        }
        friend bool any_full(const Lanes& x) // a mantissa of ones
        {
            const __m512i ones = _mm512_set1_epi64(0x000fffffffffffff);
            return _mm512_cmpeq_epi64_mask(_mm512_and_epi64(_mm512_castpd_si512(x.v), ones), ones) != 0;
        }
        friend bool all_between(const Lanes& x, double low, double high)
        {
            return _mm512_mask_cmp_pd_mask(
                       _mm512_cmp_pd_mask(x.v, _mm512_set1_pd(low), _CMP_GT_OQ),
                       x.v,
                       _mm512_set1_pd(high),
                       _CMP_LT_OQ)
                == 0xff;
        }
#else
        static constexpr bool has_reciprocal = false;
        friend Lanes quick_reciprocal(const Lanes& d) { return Lanes(1.0) / d; }
        friend bool any_full(const Lanes&) { return true; }
        friend bool all_between(const Lanes&, double, double) { return false; }
#endif

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
// xsimd goes by integers there, which lose the sign of zero and hold no large numbers
#if defined(__SSE2__) && !defined(__SSE4_1__)
        static Mask has_fraction(const Lanes& a) { return xsimd::abs(a.v) < Batch(4503599627370496.0); }
        static Batch small(const Lanes& a) { return xsimd::select(has_fraction(a), a.v, Batch(0.0)); }
        static Lanes whole(const Lanes& a, const Batch& found)
        { return xsimd::select(has_fraction(a), found | (a.v & Batch(-0.0)), a.v); }
#else
        static Batch small(const Lanes& a) { return a.v; }
        static Lanes whole(const Lanes&, const Batch& found) { return found; }
#endif
#if XSIMD_VERSION_MAJOR < 11
        static Lanes from_words(const Words& u) { return xsimd::bitwise_cast<Batch>(u); }
#else
        static Lanes from_words(const Words& u) { return xsimd::bitwise_cast<double>(u); }
#endif
    };
}
