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
        static double value(double z) { return exp(-0.5 * z * z) * 0.3989422804014327; }
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

        static double value(double z)
        {
            if (z != z)
                return z;
            const double x = abs(z);
            double tail = 0;
            if (x < 37.5)
            {
                const double e = exp(-0.5 * x * x);
                if (x < 7.07106781186547)
                {
                    double top = 3.52624965998911e-02 * x + 0.700383064443688;
                    top = top * x + 6.37396220353165;
                    top = top * x + 33.912866078383;
                    top = top * x + 112.079291497871;
                    top = top * x + 221.213596169931;
                    top = top * x + 220.206867912376;
                    double bottom = 8.83883476483184e-02 * x + 1.75566716318264;
                    bottom = bottom * x + 16.064177579207;
                    bottom = bottom * x + 86.7807322029461;
                    bottom = bottom * x + 296.564248779674;
                    bottom = bottom * x + 637.333633378831;
                    bottom = bottom * x + 793.826512519948;
                    bottom = bottom * x + 440.413735824752;
                    tail = e * top / bottom;
                }
                else
                    tail = e / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / 2.506628274631;
            }
            return z > 0 ? 1 - tail : tail;
        }
    };
    // The number below which a share of a normal distribution lies: Acklam's rational approximation (2003), and one
    // step of Halley's.
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

        static double value(double share)
        {
            if (!(share >= 0 && share <= 1))
                return std::numeric_limits<double>::quiet_NaN();
            if (share == 0 || share == 1)
                return share == 0 ? -HUGE_VAL : HUGE_VAL;
            if (share > 0.5)
                return -value(1 - share);
            const double z = start(share);
            const double off = (normal_share::value(z) - share) / normal_density::value(z);
            return z - off / (1 + 0.5 * z * off);
        }

    private:
        static double start(double p)
        {
            if (p < 0.02425)
            {
                const double q = sqrt(-2 * log(p));
                double top = -7.784894002430293e-03;
                for (const double c :
                     {-3.223964580411365e-01,
                      -2.400758277161838e+00,
                      -2.549732539343734e+00,
                      4.374664141464968e+00,
                      2.938163982698783e+00})
                    top = top * q + c;
                double bottom = 7.784695709041462e-03;
                for (const double c : {3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1.0})
                    bottom = bottom * q + c;
                return top / bottom;
            }
            const double q = p - 0.5, r = q * q;
            double top = -3.969683028665376e+01;
            for (const double c :
                 {2.209460984245205e+02,
                  -2.759285104469687e+02,
                  1.383577518672690e+02,
                  -3.066479806614716e+01,
                  2.506628277459239e+00})
                top = top * r + c;
            double bottom = -5.447609879822406e+01;
            for (const double c :
                 {1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01, 1.0})
                bottom = bottom * r + c;
            return top * q / bottom;
        }
    };
    struct normal_quantile::slope
    {
        static constexpr const char* name = "normal_quantile_slope";
        static constexpr const char* latex = "1/\\varphi(\\Phi^{-1})";
        static constexpr int arity = 1;
        static double value(double share) { return 1 / normal_density::value(normal_quantile::value(share)); }
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

        struct Root
        {
            double share, at, slope; // the right-hand side there, and how it rises with the share
        };
        static Root root(double load, double c)
        {
            double s = 0;
            Root found{};
            for (int k = 0; k < 40; ++k)
            {
                const double base = 1 + c * (1 - s) / load;
                const double at = c < 1e-9 ? exp(-(1 - s) / load) : pow(base, -1 / c);
                found = {s, at, at / (base * load)};
                const double next = s + (at - s) / (1 - found.slope);
                if (!(next > s + 1e-16 * s))
                    break;
                s = min(next, 1.0); // convex: from below
            }
            return found;
        }
        static double value(double load, double c)
        {
            if (!(load >= 0) || !(c >= 0))
                return std::numeric_limits<double>::quiet_NaN();
            if (load == 0 || load >= 1)
                return load == 0 ? 0 : 1;
            return c == 1 ? load : root(load, c).share;
        }
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
            const Root r = root(load, c);
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
            const Root r = root(load, c);
            const double gap = (1 - r.share) / load, base = 1 + c * gap;
            return r.at * (log(base) / (c * c) - gap / (c * base)) / (1 - r.slope);
        }
    };

    // --- of several arguments: each derivative from the same lines, on numbers that carry a slope ---

    namespace sloped // found by its arguments alone: numbers convert to it
    {
        struct Sloped
        {
            double value, slope = 0;
            constexpr Sloped(double v, double s = 0) : value(v), slope(s) {}
        };
        inline Sloped operator+(const Sloped& a, const Sloped& b) { return {a.value + b.value, a.slope + b.slope}; }
        inline Sloped operator-(const Sloped& a, const Sloped& b) { return {a.value - b.value, a.slope - b.slope}; }
        inline Sloped operator*(const Sloped& a, const Sloped& b)
        { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
        inline Sloped operator/(const Sloped& a, const Sloped& b)
        { return {a.value / b.value, (a.slope - a.value / b.value * b.slope) / b.value}; }
        inline Sloped max(const Sloped& a, const Sloped& b) { return a.value > b.value ? a : b; }
        inline Sloped exp(const Sloped& a)
        {
            const double e = math::exp(a.value);
            return {e, e * a.slope};
        }
        inline Sloped log(const Sloped& a) { return {math::log(a.value), a.slope / a.value}; }
        inline Sloped sqrt(const Sloped& a)
        {
            const double root = math::sqrt(a.value);
            return {root, a.slope / (2 * root)};
        }
        inline Sloped share_of_normal(const Sloped& z)
        { return {normal_share::value(z.value), normal_density::value(z.value) * z.slope}; }
        inline Sloped quantile_of_normal(const Sloped& share)
        {
            const double z = normal_quantile::value(share.value);
            return {z, share.slope / normal_density::value(z)};
        }
    }
    inline double share_of_normal(double z) { return normal_share::value(z); }
    inline double quantile_of_normal(double share) { return normal_quantile::value(share); }

    // The derivative of a routine with `of` on numbers of any type, by one of its arguments.
    template <class R, int by> struct slope_by
    {
        static constexpr const char* name = by == 0 ? R::slope_names[0]
            : by == 1
            ? R::slope_names[1]
            : R::slope_names[2];
        static constexpr const char* latex = R::latex;
        static constexpr int arity = R::arity;
        static double value(double a, double b, double c = 0)
        {
            const sloped::Sloped x(a, by == 0), y(b, by == 1), z(c, by == 2);
            if constexpr (arity == 3)
                return R::of(x, y, z).slope;
            else
                return R::of(x, y).slope;
        }
    };

    // ln Gamma(x + 1) less Stirling's formula, by its continued fraction; within 5e-5 from 1 on.
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
            const T blur = T(1e-6) * spread; // where the offset vanishes the deviance is offset^2 / (2 spread)
            const T ratio = (T(2.0) * deviance + T(1e-6)) / (offset * offset + blur);
            return one - share_of_normal(d * sqrt(ratio / (one + one / (T(6.0) * trials))));
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
        static double value(double x, double mean, double variance) { return of(x, mean, variance); }
    };
    // The number below which a share of a gamma distribution lies, by the same.
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
            return max(x + (variation - one) / T(2.0) * exp(T(0.0) - missing), T(0.0));
        }
        static double value(double x, double variation) { return variation == 1 ? x : of(x, variation); }
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
            static double value(double x) { return 2 * abs(x); }
        };
        using partials = list<slope>;
        static constexpr Dimension dimension(const Dimension& x) { return x * x; }
        static double value(double x) { return x * abs(x); }
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
            static double value(double x) { return 0.5 / sqrt(abs(x)); }
        };
        using partials = list<slope>;
        static constexpr Dimension dimension(const Dimension& x) { return sqrt(x); }
        static double value(double x) { return x < 0 ? -sqrt(-x) : sqrt(x); }
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
            static double value(double share, double q) { return share > 1 - q ? 1 / share : 0; }
        };
        struct by_quantile
        {
            static constexpr const char* name = "wait_quantile_by_quantile";
            static constexpr const char* latex = "\\partial q_W/\\partial q";
            static constexpr int arity = 2;
            static double value(double share, double q) { return share > 1 - q ? 1 / (1 - q) : 0; }
        };
        using partials = list<by_share, by_quantile>;
        static constexpr Dimension dimension(const Dimension& share, const Dimension& q) { return share * q; }
        static double value(double share, double q) { return share > 1 - q ? log(share / (1 - q)) : 0 * share; }
    };
    // And the mean of what lies below that quantile, counted over all: none where fewer wait than it leaves above it.
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
            static double value(double share, double q) { return share > 1 - q ? 1 - (1 - q) / share : 0; }
        };
        struct by_quantile
        {
            static constexpr const char* name = "wait_below_by_quantile";
            static constexpr const char* latex = "\\partial m_W/\\partial q";
            static constexpr int arity = 2;
            static double value(double share, double q) { return share > 1 - q ? log(share / (1 - q)) : 0; }
        };
        using partials = list<by_share, by_quantile>;
        static constexpr Dimension dimension(const Dimension& share, const Dimension& q) { return share * q; }
        static double value(double share, double q)
        { return share > 1 - q ? share - (1 - q) * (log(share / (1 - q)) + 1) : 0 * share; }
    };
}
