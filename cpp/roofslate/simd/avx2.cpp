// x86-64 with AVX2 and FMA.
#include "roofslate/simd/interpreter.hpp"
#include <immintrin.h>

namespace roofslate
{
    using Avx2 = Lanes<xsimd::fma3<xsimd::avx2>>;

    template <> template <> inline void Avx2::stream(double* p) const { _mm256_stream_pd(p, v); }
    template <> template <> inline void Avx2::store(float* p) const { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
    template <> template <> inline void Avx2::stream(float* p) const { _mm_stream_ps(p, _mm256_cvtpd_ps(v)); }
    template <> inline void Avx2::fence() { _mm_sfence(); }

    template <> constexpr bool Avx2::has_fused() { return true; }
    template <> inline Avx2 Avx2::multiply_add(const Avx2& a, const Avx2& b, const Avx2& c)
    { return Batch(_mm256_fmadd_pd(a.v, b.v, c.v)); }
    template <> inline Avx2 Avx2::subtract_product(const Avx2& a, const Avx2& b, const Avx2& c)
    { return Batch(_mm256_fnmadd_pd(a.v, b.v, c.v)); }

    namespace avx2
    {
        extern const InstructionSet set;
        const InstructionSet set = Interpreter<Avx2>::instruction_set("avx2");
    }
}
