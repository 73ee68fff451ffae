// The functions that formulas may use, on double. exp, log and pow use plain floating-point operations on any number
// type, so that every instruction set and every machine gives the same bits, unlike libm and xsimd.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace roofslate
{
    namespace math
    {
        // A NaN on either side is kept; of two equal zeros the second is taken, on every path.
        inline double max(double a, double b) { return (a > b || a != a) ? a : b; }
        inline double min(double a, double b) { return (a < b || a != a) ? a : b; }
        inline double sqrt(double a) { return std::sqrt(a); }
        inline double ceil(double a) { return std::ceil(a); }
        inline double floor(double a) { return std::floor(a); }
        inline double abs(double a) { return std::fabs(a); }
        inline double count(double a) { return a; }
        inline bool any(bool condition) { return condition; }
        inline double select(bool condition, double a, double b) { return condition ? a : b; }

        // Operations that the portable functions need of a number type, besides + - * /.
        inline std::uint64_t bits(double x)
        {
            std::uint64_t u;
            std::memcpy(&u, &x, sizeof u);
            return u;
        }
        inline double from_bits(std::uint64_t u)
        {
            double x;
            std::memcpy(&x, &u, sizeof x);
            return x;
        }
        inline double low_bits_to_exponent(double x) { return from_bits(bits(x) << 52); }
        inline double biased_exponent(double x)
        { return from_bits((bits(x) >> 52) | 0x4330000000000000u) - 4503599627370496.0; }
        // in [1, 2)
        inline double mantissa(double x) { return from_bits((bits(x) & 0x000fffffffffffffu) | 0x3ff0000000000000u); }
        // 26 bits: products of two are exact
        inline double high_half(double x) { return from_bits(bits(x) & 0xfffffffff8000000u); }

        namespace portable
        {
            template <class T> struct Pair // high + low, |low| <= ulp(high) / 2
            {
                T high, low;
            };

            // e^(x + low), |low| small. Reduction by multiples of ln 2 in two parts, then a Taylor polynomial (|r| <
            // 0.35: 1e-17).
            template <class T> inline T exp(const T& x, const T& low)
            {
                const T rounder(6755399441055744.0); // 1.5 * 2^52: adding it rounds to an integer
                const T n = (x * T(1.4426950408889634) + rounder) - rounder;
                const T r = ((x - n * T(0.693147180369123816490)) - n * T(1.90821492927058770002e-10)) + low;
                T p(1.0 / 6227020800.0);
                p = p * r + T(1.0 / 479001600.0);
                p = p * r + T(1.0 / 39916800.0);
                p = p * r + T(1.0 / 3628800.0);
                p = p * r + T(1.0 / 362880.0);
                p = p * r + T(1.0 / 40320.0);
                p = p * r + T(1.0 / 5040.0);
                p = p * r + T(1.0 / 720.0);
                p = p * r + T(1.0 / 120.0);
                p = p * r + T(1.0 / 24.0);
                p = p * r + T(1.0 / 6.0);
                p = p * r + T(0.5);
                const T e = T(1.0) + (r + r * r * p);
                // 2^n in two halves, so that results near both ends of the range come out right
                const T half = (n * T(0.5) + rounder) - rounder;
                const T y = e * low_bits_to_exponent(half + (rounder + T(1023.0)))
                    * low_bits_to_exponent((n - half) + (rounder + T(1023.0)));
                return select(x > T(709.782712893384), T(HUGE_VAL), select(x < T(-745.13321910194122), T(0.0), y));
            }
            template <class T> inline T exp(const T& x) { return exp(x, T(0.0)); }

            template <class T> struct Reduced // x = 2^exponent * fraction, fraction in [sqrt(1/2), sqrt(2)]
            {
                T exponent, fraction;
            };
            template <class T> inline Reduced<T> reduce(const T& x0)
            {
                const auto subnormal = x0 < T(2.2250738585072014e-308);
                const T x = select(subnormal, x0 * T(18014398509481984.0), x0);
                const T m = mantissa(x);
                const auto upper = m > T(1.4142135623730951);
                const T exponent =
                    biased_exponent(x) - T(1023.0) + select(upper, T(1.0), T(0.0)) - select(subnormal, T(54.0), T(0.0));
                return {exponent, select(upper, m * T(0.5), m)};
            }
            template <class T> inline T log_at_ends(const T& x, const T& inside)
            {
                const T infinity(HUGE_VAL);
                const T nan = (x - x) * infinity;
                return select(
                    x > T(0.0),
                    select(x < infinity, inside, infinity),
                    select(x < T(0.0), nan, select(x == T(0.0), -infinity, x)));
            }

            // fdlibm's method: log(1 + f) = f - f*f/2 + z*(f*f/2 + R), z = f / (2 + f), R even in z.
            template <class T> inline T log_series(const T& w)
            {
                T r(1.479819860511658591e-01);
                r = r * w + T(1.531383769920937332e-01);
                r = r * w + T(1.818357216161805012e-01);
                r = r * w + T(2.222219843214978396e-01);
                r = r * w + T(2.857142874366239149e-01);
                r = r * w + T(3.999999999940941908e-01);
                r = r * w + T(6.666666666666735130e-01);
                return r * w;
            }
            template <class T> inline T log(const T& x)
            {
                const Reduced<T> v = reduce(x);
                const T f = v.fraction - T(1.0);
                const T z = f / (T(2.0) + f);
                const T r = log_series(z * z);
                const T half_square = f * f * T(0.5);
                const T y = v.exponent * T(6.93147180369123816490e-01)
                    - ((half_square - (z * (half_square + r) + v.exponent * T(1.90821492927058770002e-10))) - f);
                return log_at_ends(x, y);
            }

            template <class T> inline Pair<T> product(const T& a, const T& b) // exact, by halves
            {
                const T a1 = high_half(a), a2 = a - a1, b1 = high_half(b), b2 = b - b1;
                const T p = a * b;
                return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
            }
            template <class T> inline Pair<T> sum(const T& a, const T& b) // exact, any order of magnitude
            {
                const T s = a + b, t = s - a;
                return {s, (a - (s - t)) + (b - t)};
            }

            // log in two parts, so that pow is good to 2 ulp: log(m) = 2 z + (2/3) z^3 + (2/5) z^5 + ..., z = f / (2 +
            // f). The first two terms are carried in two parts, the rest is too small for its rounding to matter.
            template <class T> inline Pair<T> log_pair(const T& x)
            {
                const Reduced<T> v = reduce(x);
                const T f = v.fraction - T(1.0), d = T(2.0) + f;
                const T d_low = f - (d - T(2.0));
                const T z = f / d;
                const Pair<T> zd = product(z, d);
                const T z_low = (((f - zd.high) - zd.low) - z * d_low) / d;

                const Pair<T> square = product(z, z);
                const T w = square.high, w_low = square.low + (z + z) * z_low;
                const Pair<T> cube = product(z, w);
                const T third(2.0 / 3.0), third_low(3.700743415417188e-17);
                const Pair<T> second = product(cube.high, third);
                const T second_low =
                    second.low + ((cube.low + (z * w_low + z_low * w)) * third + cube.high * third_low);
                T tail(2.0 / 27.0);
                tail = tail * w + T(2.0 / 25.0);
                tail = tail * w + T(2.0 / 23.0);
                tail = tail * w + T(2.0 / 21.0);
                tail = tail * w + T(2.0 / 19.0);
                tail = tail * w + T(2.0 / 17.0);
                tail = tail * w + T(2.0 / 15.0);
                tail = tail * w + T(2.0 / 13.0);
                tail = tail * w + T(2.0 / 11.0);
                tail = tail * w + T(2.0 / 9.0);
                tail = tail * w + T(2.0 / 7.0);
                tail = tail * w + T(2.0 / 5.0);

                // the product is exact: the constant ends in 21 zeros
                const Pair<T> first = sum(v.exponent * T(6.93147180369123816490e-01), z + z);
                const Pair<T> both = sum(first.high, second.high);
                const T low = both.low
                    + (first.low
                       + (v.exponent * T(1.90821492927058770002e-10)
                          + ((z_low + z_low) + (second_low + cube.high * w * tail))));
                const T high = both.high + low;
                return {high, (both.high - high) + low};
            }
            // a^b = e^(b log a) for a >= 0, with l = log_pair(a); 1 for b = 0 and for a = 1; NaN for negative a.
            template <class T> inline T pow(const T& a, const Pair<T>& l, const T& b)
            {
                const Pair<T> p = product(l.high, b);
                // beyond, the result is 0 or infinity, and the low part may be NaN
                const auto tame = abs(p.high) < T(800.0);
                const T y = exp(p.high, select(tame, p.low + l.low * b, T(0.0)));
                // of a = 0; for a = infinity the other way round
                const T zero_or_infinity = select(b > T(0.0), a, T(HUGE_VAL));
                const T at_infinity = select(b > T(0.0), a, T(0.0));
                const T nan = (a + b) - (a + b) + (a + b);
                const T ends = select(
                    a == T(0.0),
                    select(b == b, zero_or_infinity, b),
                    select(
                        a == T(HUGE_VAL),
                        select(b == b, at_infinity, b),
                        select(a > T(0.0), y, select(a < T(0.0), (a - a) / T(0.0), nan))));
                return select(b == T(0.0), T(1.0), select(a == T(1.0), T(1.0), ends));
            }
            template <class T> inline T pow(const T& a, const T& b) { return pow(a, log_pair(a), b); }
        }
        inline double exp(double x) { return portable::exp(x); }
        inline double log(double x) { return portable::log(x); }
        inline double pow(double x, double y) { return portable::pow(x, y); }
    }
}
