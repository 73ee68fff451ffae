// x86-64 with AVX-512 F, BW, CD, DQ, VL.
#if defined(__GNUC__) && !defined(__clang__) // false alarms in GCC 12's avx512fintrin.h
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "roofslate/simd/interpreter.hpp"
#include <immintrin.h>

namespace roofslate
{
    using Avx512 = Lanes<xsimd::avx512bw>;

    template <> constexpr std::size_t Avx512::registers_of_strip() { return 16; }
    template <> template <> inline void Avx512::stream(double* p) const { _mm512_stream_pd(p, v); }
    template <> template <> inline void Avx512::store(float* p) const { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
    template <> template <> inline void Avx512::stream(float* p) const { _mm256_stream_ps(p, _mm512_cvtpd_ps(v)); }
    template <> inline void Avx512::store_where(double* p, const Mask& chosen) const
    { _mm512_mask_storeu_pd(p, __mmask8(chosen.data), v); }
    template <> inline void Avx512::fence() { _mm_sfence(); }
    template <> inline double* Avx512::store_chosen(double* p, const Mask& chosen) const
    {
        const __mmask8 bits = __mmask8(chosen.data);
        _mm512_storeu_pd(p, _mm512_maskz_compress_pd(bits, v));
        return p + __builtin_popcount(unsigned(bits));
    }
    template <> inline void Avx512::read_rows(const double* rows, const std::uint32_t* at, Avx512 (&columns)[8])
    {
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
    }

    // the fma of xsimd 8 is not fused on AVX-512
    template <> constexpr bool Avx512::has_fused() { return true; }
    template <> inline Avx512 Avx512::multiply_add(const Avx512& a, const Avx512& b, const Avx512& c)
    { return Batch(_mm512_fmadd_pd(a.v, b.v, c.v)); }
    template <> inline Avx512 Avx512::subtract_product(const Avx512& a, const Avx512& b, const Avx512& c)
    { return Batch(_mm512_fnmadd_pd(a.v, b.v, c.v)); }

    template <> constexpr bool Avx512::has_reciprocal() { return true; }
    template <> inline Avx512 Avx512::reciprocal(const Avx512& d) // three of Newton's steps from 14 bits
    {
        Avx512 r = Batch(_mm512_rcp14_pd(d.v));
        for (int step = 0; step < 3; ++step)
            r = multiply_add(r, subtract_product(r, d, Avx512(1.0)), r);
        return r;
    }
    template <> inline bool Avx512::any_mantissa_full(const Avx512& x)
    {
        const __m512i ones = _mm512_set1_epi64(0x000fffffffffffff);
        return _mm512_cmpeq_epi64_mask(_mm512_and_epi64(_mm512_castpd_si512(x.v), ones), ones) != 0;
    }
    template <> inline bool Avx512::all_between(const Avx512& x, double low, double high)
    {
        const __mmask8 above = _mm512_cmp_pd_mask(x.v, _mm512_set1_pd(low), _CMP_GT_OQ);
        return _mm512_mask_cmp_pd_mask(above, x.v, _mm512_set1_pd(high), _CMP_LT_OQ) == 0xff;
    }

    namespace avx512
    {
        extern const InstructionSet set;
        const InstructionSet set = Interpreter<Avx512>::instruction_set("avx512");
    }
}
