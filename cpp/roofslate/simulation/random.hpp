// Random numbers of the simulations: a generator and distributions whose bits are the same on every machine.
#pragma once
#include "roofslate/language/math.hpp"
#include <algorithm>
#include <cstdint>

namespace roofslate::simulation
{
    // One step of splitmix64 (Steele, Lea and Flood 2014): a bijection that scatters neighboring seeds.
    inline std::uint64_t scatter(std::uint64_t x)
    {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }

    // xoshiro256** (Blackman and Vigna 2018).
    class Generator
    {
    public:
        Generator(std::uint64_t seed, std::uint64_t replication, std::uint64_t stream)
        {
            std::uint64_t x = scatter(scatter(scatter(seed) ^ replication) ^ stream);
            for (std::uint64_t& word : state_)
                word = x = scatter(x);
        }
        std::uint64_t bits()
        {
            const std::uint64_t result = rotated(state_[1] * 5, 7) * 9, shifted = state_[1] << 17;
            state_[2] ^= state_[0];
            state_[3] ^= state_[1];
            state_[1] ^= state_[2];
            state_[0] ^= state_[3];
            state_[2] ^= shifted;
            state_[3] = rotated(state_[3], 45);
            return result;
        }
        double uniform() { return (double(bits() >> 11) + 0.5) * 0x1p-53; } // inside (0, 1)
        double exponential() { return -math::log(uniform()); }
        double normal() // Marsaglia's polar method: two at a time
        {
            if (has_spare_)
            {
                has_spare_ = false;
                return spare_;
            }
            for (;;)
            {
                const double x = 2 * uniform() - 1, y = 2 * uniform() - 1, square = x * x + y * y;
                if (square >= 1 || square == 0)
                    continue;
                const double scale = math::sqrt(-2 * math::log(square) / square);
                spare_ = y * scale;
                has_spare_ = true;
                return x * scale;
            }
        }
        // Of mean `shape` (Marsaglia and Tsang 2000).
        double gamma(double shape)
        {
            const double boost = shape < 1 ? math::pow(uniform(), 1 / shape) : 1;
            const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / math::sqrt(9 * d);
            for (;;)
            {
                const double x = normal(), root = 1 + c * x;
                if (root <= 0)
                    continue;
                const double v = root * root * root;
                if (math::log(uniform()) < 0.5 * x * x + d * (1 - v + math::log(v)))
                    return d * v * boost;
            }
        }

    private:
        static std::uint64_t rotated(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

        std::uint64_t state_[4]{};
        double spare_ = 0;
        bool has_spare_ = false;
    };

    // Times between arrivals: gamma distributed with this mean and coefficient of variation.
    class Gaps
    {
    public:
        Gaps(double mean, double variation)
            : mean_(mean), shape_(variation > 0 ? 1 / (variation * variation) : 0), poisson_(variation == 1)
        {
        }
        double draw(Generator& random) const
        {
            if (poisson_)
                return mean_ * random.exponential();
            return shape_ > 0 ? mean_ * (random.gamma(shape_) / shape_) : mean_;
        }

    private:
        double mean_, shape_;
        bool poisson_;
    };

    // Lognormal with this mean and coefficient of variation; without one, constant.
    class Lognormal
    {
    public:
        Lognormal(double mean, double variation) : mean_(mean), sigma_(math::sqrt(math::log(1 + variation * variation)))
        {
        }
        double draw(Generator& random) const
        { return sigma_ > 0 ? mean_ * math::exp(sigma_ * (random.normal() - 0.5 * sigma_)) : mean_; }

    private:
        double mean_, sigma_;
    };

    // 1, 2, 3, ... with this mean; each is followed by another with the same chance.
    class Geometric
    {
    public:
        explicit Geometric(double mean) : scale_(mean > 1 ? 1 / math::log(1 - 1 / mean) : 0) {}
        double draw(Generator& random) const
        { return scale_ < 0 ? 1 + math::floor(math::log(random.uniform()) * scale_) : 1; }

    private:
        double scale_;
    };
}
