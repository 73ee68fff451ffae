// 64-bit ARM.
#include "roofslate/simd/interpreter.hpp"

namespace roofslate
{
    using Neon = Lanes<xsimd::neon64>;

    template <> constexpr bool Neon::has_fused() { return true; }

    namespace neon
    {
        extern const InstructionSet set;
        const InstructionSet set = Interpreter<Neon>::instruction_set("neon");
    }
}
