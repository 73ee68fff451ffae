// The oldest x86-64: SSE2.
#include "roofslate/simd/interpreter.hpp"
#include <emmintrin.h>

namespace roofslate
{
    using Sse2 = Lanes<xsimd::sse2>;

    template <> template <> inline void Sse2::stream(double* p) const { _mm_stream_pd(p, v); }
    template <> inline void Sse2::fence() { _mm_sfence(); }

    namespace base
    {
        // xsimd rounds by integers, which lose the sign of zero and hold no large numbers.
        template <class Round> [[gnu::always_inline]] inline Sse2 rounded(const Sse2::Batch& x, const Round& round)
        {
            const Sse2::Mask has_fraction = xsimd::abs(x) < Sse2::Batch(4503599627370496.0);
            const Sse2::Batch small = xsimd::select(has_fraction, x, Sse2::Batch(0.0));
            return xsimd::select(has_fraction, round(small) | (x & Sse2::Batch(-0.0)), x);
        }
    }
    template <> inline Sse2 Sse2::rounded_up() const
    {
        return base::rounded(v, [](const Batch& x) { return xsimd::ceil(x); });
    }
    template <> inline Sse2 Sse2::rounded_down() const
    {
        return base::rounded(v, [](const Batch& x) { return xsimd::floor(x); });
    }

    namespace base
    {
        extern const InstructionSet set;
        const InstructionSet set = Interpreter<Sse2>::instruction_set("base");
    }
}
