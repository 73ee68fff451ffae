// The normal and the lognormal distribution for routines, with the same bits on every machine.
#pragma once
#include "roofslate/language/math.hpp"

namespace roofslate::math
{
    // ln(1 + x) for x >= 0, without cancellation near 0: 2 artanh(x / (2 + x)).
    inline double log_of_one_plus(double x)
    {
        if (x > 0.5)
            return log(1 + x);
        const double z = x / (2 + x), w = z * z;
        double sum = 0;
        for (int n = 23; n >= 1; n -= 2)
            sum = sum * w + 1.0 / n;
        return 2 * z * sum;
    }
    // 1 - (1 - p)^n, without cancellation where p is little: -expm1(n log1p(-p)).
    inline double share_of_any(double p, double n)
    {
        double y = 0; // -n ln(1 - p)
        if (p < 0.25)
        {
            for (int k = 27; k >= 1; --k)
                y = y * p + 1.0 / k;
            y *= n * p;
        }
        else
            y = -n * log(1 - p);
        if (!(y < 0.5))
            return 1 - exp(-y);
        double sum = 1;
        for (int k = 14; k >= 2; --k)
            sum = 1 - y / k * sum;
        return y * sum;
    }

    // Share of a standard normal below x. Near 0 by its series, beyond by the trapezoidal rule with the residue of its
    // pole (Chiarella and Reichel 1968): 16 digits, of the tails too.
    inline double normal_below(double x)
    {
        if (x != x)
            return x;
        const double u = abs(x) * 0.7071067811865476;
        if (u < 0.5)
        {
            const double w = u * u;
            double sum = 0, factorial = 1.0 / 87178291200.0; // 1/14!
            for (int n = 14; n >= 0; --n)
            {
                sum = sum * -w + factorial / (2 * n + 1);
                factorial *= n;
            }
            const double half = u * sum * 0.5641895835477563; // erf(u) / 2
            return x < 0 ? 0.5 - half : 0.5 + half;
        }
        double tail = 0; // erfc(u) / 2
        if (u < 27)
        {
            struct Rule
            {
                double weight[13];
                Rule()
                {
                    for (int n = 0; n < 13; ++n)
                        weight[n] = exp(-0.25 * n * n);
                }
            };
            static const Rule rule;
            const auto square = portable::product(u, u);
            double sum = 0;
            for (int n = 12; n >= 1; --n)
                sum += rule.weight[n] / (0.25 * n * n + square.high);
            const double pole = u < 6 ? 1 / (exp(12.566370614359172 * u) - 1) : 0;
            tail = portable::exp(-square.high, -square.low) * (0.5 / u + u * sum) * 0.15915494309189535 - pole;
        }
        return x < 0 ? tail : 1 - tail;
    }
    inline double density_of_normal(double x) { return 0.3989422804014327 * exp(-0.5 * x * x); }

    // Lognormal of mean 1 and this coefficient of variation; 0: always 1.
    class Lognormal
    {
    public:
        explicit Lognormal(double cv) : cv_(cv), s_(sqrt(log_of_one_plus(cv * cv))) {}

        double s() const { return s_; } // standard deviation of the logarithm
        // The normal deviate of t.
        double deviate(double t) const
        {
            if (s_ == 0)
                return t < 1 ? -HUGE_VAL : HUGE_VAL;
            return t > 0 ? log(t) / s_ + 0.5 * s_ : -HUGE_VAL;
        }
        double at(double deviate) const { return exp(s_ * deviate - 0.5 * s_ * s_); }
        double share_below(double t) const { return normal_below(deviate(t)); }
        double share_above(double t) const { return normal_below(-deviate(t)); }
        double density(double t) const
        { return t > 0 && t < HUGE_VAL && s_ > 0 ? density_of_normal(deviate(t)) / (s_ * t) : 0; }
        // Mean excess beyond t: E max(X - t, 0).
        double mean_excess(double t) const
        {
            if (s_ == 0)
                return t < 1 ? 1 - t : 0;
            const double z = deviate(t);
            return t < HUGE_VAL ? normal_below(s_ - z) - t * normal_below(-z) : 0;
        }
        // E min(X, t), accurate for small t too.
        double mean_least(double t) const
        {
            if (s_ == 0)
                return t < 1 ? t : 1;
            const double z = deviate(t);
            return t < HUGE_VAL ? normal_below(z - s_) + t * normal_below(-z) : 1;
        }
        // E min(X, t)^2.
        double square_least(double t) const
        {
            if (s_ == 0)
                return t < 1 ? t * t : 1;
            const double z = deviate(t);
            return t < HUGE_VAL ? (1 + cv_ * cv_) * normal_below(z - 2 * s_) + t * t * normal_below(-z) : 1 + cv_ * cv_;
        }
        // Slopes by cv of E min(X, t), and of E min(X, t)^2, and of the share below t.
        double mean_least_by_cv(double t) const
        { return is_spread_at(t) ? -density_of_normal(deviate(t) - s_) * s_by_cv() : 0; }
        double square_least_by_cv(double t) const
        {
            if (!(t < HUGE_VAL) || s_ == 0)
                return t < 1 ? 0 : 2 * cv_;
            const double z = deviate(t), m = 1 + cv_ * cv_;
            return 2 * cv_ * normal_below(z - 2 * s_) - (t > 0 ? 2 * m * density_of_normal(z - 2 * s_) * s_by_cv() : 0);
        }
        double share_below_by_cv(double t) const
        {
            if (!is_spread_at(t))
                return 0;
            const double z = deviate(t);
            return density_of_normal(z) * (1 - z / s_) * s_by_cv();
        }

    private:
        bool is_spread_at(double t) const { return s_ > 0 && t > 0 && t < HUGE_VAL; }
        double s_by_cv() const { return cv_ / ((1 + cv_ * cv_) * s_); }

        double cv_, s_;
    };
}
