// x86-64 with AVX2 and FMA.
#define ROOFSLATE_SET avx2
#define ROOFSLATE_ARCH fma3<xsimd::avx2>
#define ROOFSLATE_STRIP 8
#include "roofslate/simd/interpreter.hpp"
