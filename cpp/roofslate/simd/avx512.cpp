// x86-64 with AVX-512 F, BW, CD, DQ, VL.
#if defined(__GNUC__) && !defined(__clang__) // false alarms in GCC 12's avx512fintrin.h
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define ROOFSLATE_SET avx512
#define ROOFSLATE_ARCH avx512bw
#define ROOFSLATE_STRIP 16
#include "roofslate/simd/interpreter.hpp"
