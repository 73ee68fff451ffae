// Distributions that queues take, as routines: normal, gamma, negative binomial, and the wait for one server.
#pragma once
#include "roofslate/language/quantity.hpp"
#include <limits>

namespace roofslate::quantities
{
    struct normal_density
    {
        static constexpr const char* name = "normal_density";
        static constexpr const char* latex = "\\varphi";
        static constexpr int arity = 1;
        static constexpr Dimension dimension(const Dimension& z) { return z; }
        template <class T> static T of(const T& z) { return exp(T(-0.5) * z * z) * T(0.3989422804014327); }
        static double value(double z) { return of(z); }
    };
    // Share of a normal distribution below z: Hart's rational approximation (1968) in the form of West (2005), to
    // 1e-15.
    struct normal_share
    {
        static constexpr const char* name = "normal_share";
        static constexpr const char* latex = "\\Phi";
        static constexpr int arity = 1;
        static constexpr std::array<signed char, 3> directions{1};
        using partials = list<normal_density>;
        static constexpr Dimension dimension(const Dimension& z) { return z; }

        template <class T> static T of(const T& z)
        {
            const T zero(0.0), one(1.0), x = abs(z), e = exp(T(-0.5) * x * x);
            T top = T(3.52624965998911e-02) * x + T(0.700383064443688);
            top = top * x + T(6.37396220353165);
            top = top * x + T(33.912866078383);
            top = top * x + T(112.079291497871);
            top = top * x + T(221.213596169931);
            top = top * x + T(220.206867912376);
            T bottom = T(8.83883476483184e-02) * x + T(1.75566716318264);
            bottom = bottom * x + T(16.064177579207);
            bottom = bottom * x + T(86.7807322029461);
            bottom = bottom * x + T(296.564248779674);
            bottom = bottom * x + T(637.333633378831);
            bottom = bottom * x + T(793.826512519948);
            bottom = bottom * x + T(440.413735824752);
            const T far = x + one / (x + T(2.0) / (x + T(3.0) / (x + T(4.0) / (x + T(0.65)))));
            const T near_tail = e * top / bottom, far_tail = e / far / T(2.506628274631);
            const T tail = select(x < T(7.07106781186547), near_tail, select(x < T(37.5), far_tail, zero));
            return select(z == z, select(z > zero, one - tail, tail), z);
        }
        static double value(double z) { return of(z); }
    };
    // Quantile of the normal distribution: Acklam's rational approximation (2003), and one step of Halley's method.
    struct normal_quantile
    {
        static constexpr const char* name = "normal_quantile";
        static constexpr const char* latex = "\\Phi^{-1}";
        static constexpr int arity = 1;
        static constexpr std::array<signed char, 3> directions{1};
        static constexpr std::array<double, 3> least{0};
        struct slope;
        using partials = list<slope>;
        static constexpr Dimension dimension(const Dimension& share) { return share; }

        template <class T> static Limits<T> enclosure(const Limits<T>& share)
        {
            const T near(1e-14); // the middle is as good as the share is, and no better
            return {routine<normal_quantile>(share.low) - near, routine<normal_quantile>(share.high) + near};
        }
        template <class T> static T of(const T& share)
        {
            const T zero(0.0), one(1.0), half(0.5), nothing(NAN), infinity(HUGE_VAL);
            const auto upper = share > half;
            const T p = select(upper, one - share, share);
            const T z = select(p < T(0.02425), near_zero(p), near_half(p));
            const T off = (normal_share::of(z) - p) / normal_density::of(z);
            const T lower = z - off / (one + half * z * off);
            const T inside = select(upper, -lower, lower);
            return select(
                share > zero,
                select(share < one, inside, select(share == one, infinity, nothing)),
                select(share == zero, -infinity, nothing));
        }
        static double value(double share) { return of(share); }

    private:
        template <class T> static T near_zero(const T& p)
        {
            const T q = sqrt(T(-2.0) * log(p));
            T top(-7.784894002430293e-03);
            for (const double c :
                 {-3.223964580411365e-01,
                  -2.400758277161838e+00,
                  -2.549732539343734e+00,
                  4.374664141464968e+00,
                  2.938163982698783e+00})
                top = top * q + T(c);
            T bottom(7.784695709041462e-03);
            for (const double c : {3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1.0})
                bottom = bottom * q + T(c);
            return top / bottom;
        }
        template <class T> static T near_half(const T& p)
        {
            const T q = p - T(0.5), r = q * q;
            T top(-3.969683028665376e+01);
            for (const double c :
                 {2.209460984245205e+02,
                  -2.759285104469687e+02,
                  1.383577518672690e+02,
                  -3.066479806614716e+01,
                  2.506628277459239e+00})
                top = top * r + T(c);
            T bottom(-5.447609879822406e+01);
            for (const double c :
                 {1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01, 1.0})
                bottom = bottom * r + T(c);
            return top * q / bottom;
        }
    };
    struct normal_quantile::slope
    {
        static constexpr const char* name = "normal_quantile_slope";
        static constexpr const char* latex = "1/\\varphi(\\Phi^{-1})";
        static constexpr int arity = 1;
        template <class T> static T of(const T& share)
        { return T(1.0) / normal_density::of(normal_quantile::of(share)); }
        static double value(double share) { return of(share); }
    };

    // Share of the arrivals that find one server busy (GI/M/1) when the times between arrivals are gamma distributed,
    // by load and by their squared coefficient of variation c: the root of s = (1 + c (1 - s)/load)^(-1/c) below one.
    // Poisson arrivals, c = 1, find it busy as often as it is.
    struct arrival_wait
    {
        static constexpr const char* name = "arrival_wait";
        static constexpr const char* latex = "\\sigma";
        static constexpr int arity = 2;
        static constexpr std::array<signed char, 3> directions{1, 1};
        static constexpr std::array<double, 3> least{0, 0};
        struct by_load;
        struct by_variation;
        using partials = list<by_load, by_variation>;
        static constexpr Dimension dimension(const Dimension& load, const Dimension& variation)
        { return load * roofslate::count(variation); }

        template <class T> struct Root
        {
            T share, at, slope; // the right-hand side there, and how it rises with the share
        };
        template <class T> static Root<T> root(const T& load, const T& c)
        {
            const T one(1.0);
            T s(0.0);
            Root<T> result{s, s, s};
            for (int k = 0; k < 40; ++k)
            {
                const T base = one + c * (one - s) / load;
                const T at = select(c < T(1e-9), exp(-(one - s) / load), pow(base, T(-1.0) / c));
                result = {s, at, at / (base * load)};
                const T next = s + (at - s) / (one - result.slope);
                const auto farther = next > s + T(1e-16) * s;
                if (!any(farther))
                    break;
                s = select(farther, min(next, one), s); // convex: from below
            }
            return result;
        }
        // It rises with both; near a load of one rounding moves it far.
        template <class T> static Limits<T> enclosure(const Limits<T>& load, const Limits<T>& c)
        {
            const T zero(0.0), one(1.0);
            const T low = routine<arrival_wait>(load.low, c.low), high = routine<arrival_wait>(load.high, c.high);
            const T rounded = T(2e-15) * (one + one / max(c.low, T(1e-9))) / max(one - load.high, T(1e-9));
            return {max(low - rounded, min(low, zero)), min(high + rounded, max(high, one))};
        }
        template <class T> static T of(const T& load, const T& c)
        {
            const T zero(0.0), one(1.0), nothing(NAN);
            const T inside = select(c == one, load, root(load, c).share);
            const T all = select(load > zero, select(load < one, inside, one), select(load == zero, zero, nothing));
            return select(c < zero, nothing, select(c == c, select(load == load, all, load), c));
        }
        static double value(double load, double c) { return of(load, c); }
    };
    struct arrival_wait::by_load
    {
        static constexpr const char* name = "arrival_wait_by_load";
        static constexpr const char* latex = "\\partial\\sigma/\\partial\\varrho";
        static constexpr int arity = 2;
        static double value(double load, double c)
        {
            if (!(load > 0) || load >= 1 || !(c >= 0))
                return load == 0 && c == 1 ? 1 : 0;
            const Root<double> r = root(load, c);
            return r.slope * (1 - r.share) / load / (1 - r.slope);
        }
    };
    struct arrival_wait::by_variation
    {
        static constexpr const char* name = "arrival_wait_by_variation";
        static constexpr const char* latex = "\\partial\\sigma/\\partial c^2";
        static constexpr int arity = 2;
        static double value(double load, double c)
        {
            if (!(load > 0) || load >= 1 || !(c > 1e-9))
                return 0;
            const Root<double> r = root(load, c);
            const double gap = (1 - r.share) / load, base = 1 + c * gap;
            return r.at * (log(base) / (c * c) - gap / (c * base)) / (1 - r.slope);
        }
    };

    // --- of several arguments: the same code on numbers with a slope gives each derivative ---

    namespace sloped // lookup only by arguments: numbers convert to it
    {
        template <class T> struct Sloped
        {
            T value, slope;
            Sloped(double v) : value(v), slope(0.0) {}
            Sloped(const T& v, const T& s) : value(v), slope(s) {}
            friend Sloped operator+(const Sloped& a, const Sloped& b) { return {a.value + b.value, a.slope + b.slope}; }
            friend Sloped operator-(const Sloped& a, const Sloped& b) { return {a.value - b.value, a.slope - b.slope}; }
            friend Sloped operator*(const Sloped& a, const Sloped& b)
            { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
            friend Sloped operator/(const Sloped& a, const Sloped& b)
            { return {a.value / b.value, (a.slope - a.value / b.value * b.slope) / b.value}; }
            friend Sloped max(const Sloped& a, const Sloped& b)
            {
                const auto first = a.value > b.value;
                return {select(first, a.value, b.value), select(first, a.slope, b.slope)};
            }
            friend Sloped exp(const Sloped& a)
            {
                using math::exp;
                const T e = exp(a.value);
                return {e, e * a.slope};
            }
            friend Sloped log(const Sloped& a)
            {
                using math::log;
                return {log(a.value), a.slope / a.value};
            }
            friend Sloped sqrt(const Sloped& a)
            {
                using math::sqrt;
                const T root = sqrt(a.value);
                return {root, a.slope / (T(2.0) * root)};
            }
            friend Sloped share_of_normal(const Sloped& z)
            { return {normal_share::of(z.value), normal_density::of(z.value) * z.slope}; }
            friend Sloped quantile_of_normal(const Sloped& share)
            {
                const T z = normal_quantile::of(share.value);
                return {z, share.slope / normal_density::of(z)};
            }
        };
    }
    template <class T> T share_of_normal(const T& z) { return normal_share::of(z); }
    template <class T> T quantile_of_normal(const T& share) { return normal_quantile::of(share); }

    // The derivative of a routine with `of` on numbers of any type, by one of its arguments.
    template <class R, int by> struct slope_by
    {
        static constexpr const char* name = by == 0 ? R::slope_names[0]
            : by == 1
            ? R::slope_names[1]
            : R::slope_names[2];
        static constexpr const char* latex = R::latex;
        static constexpr int arity = R::arity;
        template <class T> static T of(const T& a, const T& b, const T& c = T(0.0))
        {
            const auto along = [](int k) { return T(k == by ? 1.0 : 0.0); };
            const sloped::Sloped<T> x(a, along(0)), y(b, along(1)), z(c, along(2));
            if constexpr (arity == 3)
                return R::of(x, y, z).slope;
            else
                return R::of(x, y).slope;
        }
        static double value(double a, double b, double c = 0) { return of(a, b, c); }
    };

    // ln Gamma(x + 1) less Stirling's formula, by its continued fraction, within 5e-5 for x of at least 1.
    template <class T> T stirling_error(const T& x)
    { return T(1.0 / 12) / (x + T(1.0 / 30) / (x + T(53.0 / 210) / (x + T(195.0 / 371) / x))); }

    // Share of a negative binomial distribution at n, by its shape and its odds: Loader's saddle point (2000).
    struct negative_binomial_share
    {
        static constexpr const char* name = "negative_binomial_share";
        static constexpr const char* latex = "p_{NB}";
        static constexpr const char* slope_names[] = {
            "negative_binomial_share_by_number",
            "negative_binomial_share_by_shape",
            "negative_binomial_share_by_odds"};
        static constexpr int arity = 3;
        static constexpr std::array<double, 3> least{0, 0, 0};
        using partials = list<
            slope_by<negative_binomial_share, 0>,
            slope_by<negative_binomial_share, 1>,
            slope_by<negative_binomial_share, 2>>;
        static constexpr Dimension dimension(const Dimension& n, const Dimension& shape, const Dimension& odds)
        { return n * shape * odds; }

        template <class T> static T of(const T& n, const T& shape, const T& odds)
        {
            const T all = n + shape;
            const T deviance = n * log(n / (all * odds)) + shape * log(shape / (all * (T(1.0) - odds)));
            const T error = stirling_error(all) - stirling_error(n) - stirling_error(shape);
            return sqrt(shape / (T(6.283185307179586) * n * all)) * exp(error - deviance);
        }
        // The deviance is n + shape times the divergence of x = n / (n + shape) from the odds, which is zero where
        // they meet and grows from there; rounding moves its terms by a share of them.
        template <class T> static Limits<T> enclosure(const Limits<T>& n, const Limits<T>& shape, const Limits<T>& odds)
        {
            const T one(1.0), zero(0.0);
            const T x_low = n.low / (n.low + shape.high), x_high = n.high / (n.high + shape.low);
            const T rest_low = shape.low / (n.high + shape.low), rest_high = shape.high / (n.low + shape.high);
            const T of_low = log(x_low / odds.high), of_high = log(x_high / odds.low);
            const T rest_of_low = log(rest_high / (one - odds.high)), rest_of_high = log(rest_low / (one - odds.low));
            const T below = x_low * of_low + rest_high * rest_of_low,
                    above = x_high * of_high + rest_low * rest_of_high;
            const T nearest = max(select(x_low > odds.high, below, zero), select(x_high < odds.low, above, zero));
            const auto size = [](const T& a) { return max(a, -a); };
            const T rounded = T(1e-14)
                * (n.high * (one + max(size(of_low), size(of_high)))
                   + shape.high * (one + max(size(rest_of_low), size(rest_of_high))));
            const T all_low = n.low + shape.low, all_high = n.high + shape.high;
            const T least = max(all_low * nearest, zero) - rounded, most = all_high * max(below, above) + rounded;
            const T error_low = stirling_error(all_high) - stirling_error(n.low) - stirling_error(shape.low),
                    error_high = stirling_error(all_low) - stirling_error(n.high) - stirling_error(shape.high);
            const T turn(6.283185307179586);
            return {
                sqrt(shape.low / (turn * n.high * (n.high + shape.low))) * exp(error_low - most),
                sqrt(shape.high / (turn * n.low * (n.low + shape.high))) * exp(error_high - least)};
        }
        static double value(double n, double shape, double odds) { return of(n, shape, odds); }
    };
    // Share of a negative binomial distribution below n, that is the incomplete beta function I_(1-r)(shape, n), by
    // Peizer and Pratt (1968), within 4e-4.
    struct negative_binomial_below
    {
        static constexpr const char* name = "negative_binomial_below";
        static constexpr const char* latex = "P_{NB}";
        static constexpr const char* slope_names[] = {
            "negative_binomial_below_by_number",
            "negative_binomial_below_by_shape",
            "negative_binomial_below_by_odds"};
        static constexpr int arity = 3;
        static constexpr std::array<double, 3> least{0, 0, 0};
        using partials = list<
            slope_by<negative_binomial_below, 0>,
            slope_by<negative_binomial_below, 1>,
            slope_by<negative_binomial_below, 2>>;
        static constexpr Dimension dimension(const Dimension& n, const Dimension& shape, const Dimension& odds)
        { return n * shape * odds; }

        template <class T> static T of(const T& n, const T& shape, const T& odds)
        {
            const T one(1.0), half(0.5);
            const T trials = n + shape - one, yes = shape - half, no = max(n - half, T(0.05));
            const T p = one - odds, q = odds;
            const T d = yes + T(1.0 / 6) - (trials + T(1.0 / 3)) * p
                + T(0.02) * (q / (yes + half) - p / (no + half) + (q - half) / (trials + one));
            const T offset = yes - trials * p, spread = trials * p * q;
            const T deviance = max(yes * log(yes / (trials * p)) + no * log(no / (trials * q)), T(0.0));
            const T blur = T(1e-6) * spread; // at offset 0 the deviance is offset^2 / (2 spread)
            const T ratio = (T(2.0) * deviance + T(1e-6)) / (offset * offset + blur);
            return one - share_of_normal(d * sqrt(ratio / (one + one / (T(6.0) * trials))));
        }
        // What it approximates rises with n, and falls with the shape and the odds. So does it from n = 1.5 and a shape
        // of 1 on; down to 0.6 it may go the other way by a twentieth of how far they move, and below by anything.
        template <class T> static Limits<T> enclosure(const Limits<T>& n, const Limits<T>& shape, const Limits<T>& odds)
        {
            const T zero(0.0), one(1.0);
            const T low = routine<negative_binomial_below>(n.low, shape.high, odds.high),
                    high = routine<negative_binomial_below>(n.high, shape.low, odds.low);
            const T moved = T(0.05) * (n.high / n.low - one + (shape.high / shape.low - one)),
                    far = select(n.low < T(0.6), one, select(shape.low < one, one, moved));
            const T rounded = T(2e-12) * (n.high + shape.high); // the deviance cancels where it is least
            const T slack = rounded + select(n.low < T(1.5), far, select(shape.low < one, one, zero));
            return {max(low - slack, min(low, zero)), min(high + slack, max(high, one))};
        }
        static double value(double n, double shape, double odds) { return of(n, shape, odds); }
    };
    // Share of a gamma distribution below x, by its mean and its variance: its cube root is nearly normal (Wilson and
    // Hilferty 1931).
    struct gamma_share
    {
        static constexpr const char* name = "gamma_share";
        static constexpr const char* latex = "P_\\Gamma";
        static constexpr const char* slope_names[] =
            {"gamma_share_by_number", "gamma_share_by_mean", "gamma_share_by_variance"};
        static constexpr int arity = 3;
        using partials = list<slope_by<gamma_share, 0>, slope_by<gamma_share, 1>, slope_by<gamma_share, 2>>;
        static constexpr Dimension dimension(const Dimension& x, const Dimension& mean, const Dimension& variance)
        { return x / mean * (variance / (mean * mean)); }

        template <class T> static T of(const T& x, const T& mean, const T& variance)
        {
            const T v = max(variance / (mean * mean), T(1e-12)) / T(9.0);
            const T root = exp(log(max(x / mean, T(1e-12))) / T(3.0));
            return share_of_normal((root - (T(1.0) - v)) / sqrt(v));
        }
        // Of the cube root c of x / mean and w = sqrt(v) it is normal in (c - 1) / w + w: up with c, and with w where c
        // is below one, else down to sqrt(c - 1) and up.
        template <class T> static Limits<T> enclosure(
            const Limits<T>& x,
            const Limits<T>& mean,
            const Limits<T>& variance)
        {
            const T one(1.0), zero(0.0);
            const auto root = [](const T& ratio) { return exp(log(max(ratio, T(1e-12))) / T(3.0)); };
            const auto width = [](const T& v, const T& m) { return sqrt(max(v / (m * m), T(1e-12)) / T(9.0)); };
            const T c_low = root(min(x.low / mean.low, x.low / mean.high)),
                    c_high = root(max(x.high / mean.low, x.high / mean.high));
            const T w_low = width(variance.low, mean.high), w_high = width(variance.high, mean.low);
            const auto at = [&](const T& c, const T& w) { return (c - one) / w + w; };
            const T turn = min(max(sqrt(max(c_low - one, zero)), w_low), w_high);
            const T rounded = T(4e-15) * ((c_high + one) / w_low + w_high);
            const T valid = select(mean.low > zero, zero, T(std::numeric_limits<double>::quiet_NaN()));
            return {
                routine<normal_share>(at(c_low, turn) - rounded + valid),
                routine<normal_share>(max(at(c_high, w_low), at(c_high, w_high)) + rounded + valid)};
        }
        static double value(double x, double mean, double variance) { return of(x, mean, variance); }
    };
    // Quantile of the gamma distribution, by the same method.
    struct gamma_quantile
    {
        static constexpr const char* name = "gamma_quantile";
        static constexpr const char* latex = "P_\\Gamma^{-1}";
        static constexpr const char* slope_names[] =
            {"gamma_quantile_by_share", "gamma_quantile_by_mean", "gamma_quantile_by_variance"};
        static constexpr int arity = 3;
        using partials = list<slope_by<gamma_quantile, 0>, slope_by<gamma_quantile, 1>, slope_by<gamma_quantile, 2>>;
        static constexpr Dimension dimension(const Dimension& share, const Dimension& mean, const Dimension& variance)
        { return share * (variance / mean); }

        template <class T> static T of(const T& share, const T& mean, const T& variance)
        {
            const T v = max(variance / (mean * mean), T(1e-12)) / T(9.0);
            const T root = max(T(1.0) - v + quantile_of_normal(share) * sqrt(v), T(0.0));
            return mean * (root * root * root);
        }
        // The root is 1 - w^2 + z w with w = sqrt(v): up with z; with w up to z / 2 and down.
        template <class T> static Limits<T> enclosure(
            const Limits<T>& share,
            const Limits<T>& mean,
            const Limits<T>& variance)
        {
            const T one(1.0), zero(0.0);
            const auto width = [](const T& v, const T& m) { return sqrt(max(v / (m * m), T(1e-12)) / T(9.0)); };
            const T w_low = width(variance.low, mean.high), w_high = width(variance.high, mean.low);
            const T z_low = routine<normal_quantile>(share.low), z_high = routine<normal_quantile>(share.high);
            const auto at = [&](const T& z, const T& w) { return one + w * (z - w); };
            const T turn = min(max(z_high / T(2.0), w_low), w_high);
            const T rounded =
                T(1e-14) * (one + w_high * (w_high + max(max(z_high, -z_high), max(z_low, -z_low)) + one));
            const T low = max(min(at(z_low, w_low), at(z_low, w_high)) - rounded, zero),
                    high = max(at(z_high, turn) + rounded, zero);
            const T valid = select(mean.low > zero, zero, T(std::numeric_limits<double>::quiet_NaN()));
            return {mean.low * (low * low * low) + valid, mean.high * (high * high * high) + valid};
        }
        static double value(double share, double mean, double variance) { return of(share, mean, variance); }
    };

    // Arrivals to expect within x means after one, of a gamma distributed process, by the squared coefficient of
    // variation of the times between them; x where they are Poisson.
    struct arrivals_after
    {
        static constexpr const char* name = "arrivals_after";
        static constexpr const char* latex = "M";
        static constexpr const char* slope_names[] = {"arrivals_after_by_time", "arrivals_after_by_variation"};
        static constexpr int arity = 2;
        static constexpr std::array<double, 3> least{0, 0};
        using partials = list<slope_by<arrivals_after, 0>, slope_by<arrivals_after, 1>>;
        static constexpr Dimension dimension(const Dimension& x, const Dimension& variation) { return x * variation; }

        template <class T> static T of(const T& x, const T& variation)
        {
            const T one(1.0), k = one / max(variation, T(0.01)), more = k + one, some = max(x, T(1e-9));
            const T log_gamma =
                more * (log(more) - one) + stirling_error(more) + log(T(6.283185307179586) / more) / T(2.0);
            const T missing = max(log_gamma - k * log(k * some), T(0.0)); // of the logarithm of at most one
            return max(x + (variation - one) / T(2.0) * exp(T(0.0) - missing), T(0.0)); // x where Poisson
        }
        // With k = 1 / variation, the logarithm ln Gamma(1 + k) - k ln k - k ln x is what exp takes: its first two
        // terms are largest, 0.2533, at k = 0.3164, and all is concave in k.
        template <class T> static Limits<T> enclosure(const Limits<T>& x, const Limits<T>& variation)
        {
            const T one(1.0), zero(0.0), two(2.0);
            const T k_low = one / max(variation.high, T(0.01)), k_high = one / max(variation.low, T(0.01));
            const auto gamma = [&](const T& k) {
                const T more = k + one;
                return more * (log(more) - one) + stirling_error(more) + log(T(6.283185307179586) / more) / two
                    - k * log(k);
            };
            const T early = log(max(x.low, T(1e-9))), late = log(max(x.high, T(1e-9)));
            const T at_low = gamma(k_low), at_high = gamma(k_high);
            const T least = min(at_low - k_low * late, at_high - k_high * late);
            const T largest = select(k_low > T(0.33), at_low, select(k_high < T(0.30), at_high, T(0.2536)));
            const T most = largest - min(k_low * early, k_high * early);
            const T rounded = T(1e-13) * (one + k_high * (one + log(k_high + one) + max(early, -early)));
            const T some = exp(zero - max(most + rounded, zero)), all = exp(zero - max(least - rounded, zero));
            const T low = (variation.low - one) / two, high = (variation.high - one) / two;
            return {
                max(x.low + low * select(low < zero, all, some), zero),
                max(x.high + high * select(high < zero, some, all), zero)};
        }
        static double value(double x, double variation) { return of(x, variation); }
    };

    // x |x|, and what undoes it: independent parts add as squares, with their signs.
    struct signed_square
    {
        static constexpr const char* name = "signed_square";
        static constexpr const char* latex = "\\mathrm{sq}";
        static constexpr int arity = 1;
        static constexpr std::array<signed char, 3> directions{1};
        struct slope
        {
            static constexpr const char* name = "signed_square_slope";
            static constexpr const char* latex = "2|x|";
            static constexpr int arity = 1;
            template <class T> static T of(const T& x) { return T(2.0) * abs(x); }
            static double value(double x) { return of(x); }
        };
        using partials = list<slope>;
        static constexpr Dimension dimension(const Dimension& x) { return x * x; }
        template <class T> static T of(const T& x) { return x * abs(x); }
        static double value(double x) { return of(x); }
    };
    struct signed_root
    {
        static constexpr const char* name = "signed_root";
        static constexpr const char* latex = "\\mathrm{sq}^{-1}";
        static constexpr int arity = 1;
        static constexpr std::array<signed char, 3> directions{1};
        struct slope
        {
            static constexpr const char* name = "signed_root_slope";
            static constexpr const char* latex = "1/(2\\sqrt{|x|})";
            static constexpr int arity = 1;
            template <class T> static T of(const T& x) { return T(0.5) / sqrt(abs(x)); }
            static double value(double x) { return of(x); }
        };
        using partials = list<slope>;
        static constexpr Dimension dimension(const Dimension& x) { return sqrt(x); }
        template <class T> static T of(const T& x)
        {
            const T root = sqrt(abs(x));
            return select(x < T(0.0), -root, root);
        }
        static double value(double x) { return of(x); }
    };
    // Of a share that waits, exponentially distributed, in means of those who do: the quantile over all.
    struct wait_quantile
    {
        static constexpr const char* name = "wait_quantile";
        static constexpr const char* latex = "q_W";
        static constexpr int arity = 2;
        static constexpr std::array<signed char, 3> directions{1, 1};
        struct by_share
        {
            static constexpr const char* name = "wait_quantile_by_share";
            static constexpr const char* latex = "\\partial q_W/\\partial W";
            static constexpr int arity = 2;
            template <class T> static T of(const T& share, const T& q)
            { return select(share > T(1.0) - q, T(1.0) / share, T(0.0)); }
            static double value(double share, double q) { return of(share, q); }
        };
        struct by_quantile
        {
            static constexpr const char* name = "wait_quantile_by_quantile";
            static constexpr const char* latex = "\\partial q_W/\\partial q";
            static constexpr int arity = 2;
            template <class T> static T of(const T& share, const T& q)
            { return select(share > T(1.0) - q, T(1.0) / (T(1.0) - q), T(0.0)); }
            static double value(double share, double q) { return of(share, q); }
        };
        using partials = list<by_share, by_quantile>;
        static constexpr Dimension dimension(const Dimension& share, const Dimension& q) { return share * q; }
        template <class T> static T of(const T& share, const T& q)
        {
            const T complement = T(1.0) - q;
            return select(share > complement, log(share / complement), T(0.0) * (share + q));
        }
        static double value(double share, double q) { return of(share, q); }
    };
    // And the mean of the values below that quantile, with all in the denominator: none if fewer wait than are above
    // it.
    struct wait_below
    {
        static constexpr const char* name = "wait_below";
        static constexpr const char* latex = "m_W";
        static constexpr int arity = 2;
        struct by_share
        {
            static constexpr const char* name = "wait_below_by_share";
            static constexpr const char* latex = "\\partial m_W/\\partial W";
            static constexpr int arity = 2;
            template <class T> static T of(const T& share, const T& q)
            { return select(share > T(1.0) - q, T(1.0) - (T(1.0) - q) / share, T(0.0)); }
            static double value(double share, double q) { return of(share, q); }
        };
        struct by_quantile
        {
            static constexpr const char* name = "wait_below_by_quantile";
            static constexpr const char* latex = "\\partial m_W/\\partial q";
            static constexpr int arity = 2;
            template <class T> static T of(const T& share, const T& q)
            { return select(share > T(1.0) - q, log(share / (T(1.0) - q)), T(0.0)); }
            static double value(double share, double q) { return of(share, q); }
        };
        using partials = list<by_share, by_quantile>;
        static constexpr Dimension dimension(const Dimension& share, const Dimension& q) { return share * q; }
        // It rises with both.
        template <class T> static Limits<T> enclosure(const Limits<T>& share, const Limits<T>& q)
        { return {routine<wait_below>(share.low, q.low), routine<wait_below>(share.high, q.high)}; }
        template <class T> static T of(const T& share, const T& q)
        {
            const T one(1.0), complement = one - q;
            return select(
                share > complement,
                share - complement * (log(share / complement) + one),
                T(0.0) * (share + q));
        }
        static double value(double share, double q) { return of(share, q); }
    };

    // Those that run on whole registers, by the same lines and so to the same bits.
    using wide_routines = list<
        normal_share,
        normal_quantile,
        normal_quantile::slope,
        arrival_wait,
        negative_binomial_share,
        negative_binomial_below,
        gamma_share,
        gamma_quantile,
        arrivals_after,
        signed_square,
        signed_square::slope,
        signed_root,
        signed_root::slope,
        wait_quantile,
        wait_quantile::by_share,
        wait_below,
        wait_below::by_share,
        slope_by<negative_binomial_share, 0>,
        slope_by<negative_binomial_share, 1>,
        slope_by<negative_binomial_share, 2>,
        slope_by<negative_binomial_below, 0>,
        slope_by<negative_binomial_below, 1>,
        slope_by<negative_binomial_below, 2>,
        slope_by<gamma_share, 0>,
        slope_by<gamma_share, 1>,
        slope_by<gamma_share, 2>,
        slope_by<gamma_quantile, 1>,
        slope_by<gamma_quantile, 2>,
        slope_by<arrivals_after, 0>>;
    template <class... R> constexpr int number_in(list<R...>, std::string_view name)
    {
        int next = 0, found = -1;
        ((found = R::name == name ? next : found, ++next), ...);
        return found;
    }
}
