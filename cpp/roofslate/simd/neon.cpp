// 64-bit ARM.
#include "roofslate/simd/interpreter.hpp"
#include <arm_neon.h>

namespace roofslate
{
    using Neon = Lanes<xsimd::neon64>;

    template <> constexpr bool Neon::has_fused() { return true; }
    // xsimd 8 rounds the product of fnma too, and loses the sign of a zero that it rounds
    template <> inline Neon Neon::multiply_add(const Neon& a, const Neon& b, const Neon& c)
    { return Batch(vfmaq_f64(c.v, a.v, b.v)); }
    template <> inline Neon Neon::subtract_product(const Neon& a, const Neon& b, const Neon& c)
    { return Batch(vfmsq_f64(c.v, a.v, b.v)); }
    template <> inline Neon Neon::rounded_up() const { return Batch(vrndpq_f64(v)); }
    template <> inline Neon Neon::rounded_down() const { return Batch(vrndmq_f64(v)); }

    namespace neon
    {
        extern const InstructionSet set;
        const InstructionSet set = Interpreter<Neon>::instruction_set("neon");
    }
}
