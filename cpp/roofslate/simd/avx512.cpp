// x86-64 with AVX-512 F, BW, CD, DQ, VL.
#define ROOFSLATE_SET avx512
#define ROOFSLATE_ARCH avx512bw
#define ROOFSLATE_STRIP 16
#include "roofslate/simd/interpreter.hpp"
