// The earliest of a fixed number of times, each of which may change: a tree of winners.
#pragma once
#include <limits>
#include <vector>

namespace roofslate::simulation
{
    class Earliest
    {
    public:
        explicit Earliest(std::size_t n)
        {
            while (leaves_ < n)
                leaves_ *= 2;
            times_.assign(leaves_, std::numeric_limits<double>::infinity());
            winner_.resize(2 * leaves_);
            for (std::size_t k = 0; k < leaves_; ++k)
                winner_[leaves_ + k] = k;
            for (std::size_t k = leaves_ - 1; k > 0; --k)
                winner_[k] = winner_[2 * k];
        }
        void set(std::size_t i, double time)
        {
            times_[i] = time;
            for (std::size_t k = (leaves_ + i) / 2; k > 0; k /= 2)
                winner_[k] = times_[winner_[2 * k + 1]] < times_[winner_[2 * k]] ? winner_[2 * k + 1] : winner_[2 * k];
        }
        std::size_t index() const { return winner_[1]; }
        double time() const { return times_[winner_[1]]; }

    private:
        std::size_t leaves_ = 1;
        std::vector<double> times_{};
        std::vector<std::size_t> winner_{};
    };
}
