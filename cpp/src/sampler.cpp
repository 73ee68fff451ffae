#include <roofslate/sampler.hpp>
#include <roofslate/math.hpp>
#include <algorithm>
#include <cmath>
#include <utility>

namespace roofslate
{
    namespace
    {
        constexpr double lattice = 1.0 / 4294967296.0;
        constexpr std::uint64_t first_cell = (std::uint64_t(1023) - bits_of_draw - 1) << 4; // of 2^-33
    }

    InverseDistribution::InverseDistribution(std::vector<std::uint32_t> first, std::vector<double> ends, std::vector<Piece> pieces, double low, double high) : first_(std::move(first)), ends_(std::move(ends)), pieces_(std::move(pieces)), low_(low), high_(high) {}

    void InverseDistribution::map(const std::uint32_t* x, std::size_t n, double* to) const
    {
        for (std::size_t i = 0; i < n; ++i)
        {
            const std::uint32_t upper = x[i] >> 31, y = x[i] ^ (0 - upper);
            const double v = (double(y) + 0.5) * lattice;
            const std::size_t cell = std::size_t((math::bits(v) >> 48) - first_cell) + upper * (cells / 2);
            std::size_t at = first_[cell];
            if (first_[cell + 1] - at > 1)
                while (v >= ends_[at])
                    ++at;
            const Piece& p = pieces_[at];
            const double t = (v - p.middle) * p.scale;
            double value = p.coefficient[terms - 1];
            for (std::size_t k = terms - 1; k-- > 0;)
                value = value * t + p.coefficient[k];
            to[i] = std::min(std::max(value, low_), high_);
        }
    }

    Sampler::Sampler(std::vector<Directions> directions, std::vector<std::uint32_t> shifts, std::vector<InverseDistribution> inverses, InverseDistribution normal, std::vector<std::vector<double>> correlation)
        : directions_(std::move(directions)), shifts_(std::move(shifts)), lowest_(directions_.size()), inverses_(std::move(inverses)), normal_(std::move(normal)), correlation_(std::move(correlation))
    {
        for (std::size_t k = 0; k < lowest_.size(); ++k)
            for (std::size_t i = 0; i < stretch; ++i)
            {
                lowest_[k][i] = 0;
                for (std::size_t bit = 0, gray = i ^ (i >> 1); gray >> bit; ++bit)
                    lowest_[k][i] ^= gray >> bit & 1 ? directions_[k][bit] : 0;
            }
    }

    // In the order of Gray's code, as SciPy has them: the point i is the sum of the directions at the bits of i ^ (i >> 1).
    void Sampler::points(std::size_t input, std::size_t first, std::size_t n, std::uint32_t* to) const
    {
        const std::array<std::uint32_t, stretch>& lowest = lowest_[input];
        for (std::size_t done = 0; done < n;)
        {
            const std::size_t at = (first + done) % stretch, start = first + done - at, length = std::min(stretch - at, n - done);
            std::uint32_t base = shifts_[input];
            for (std::size_t bit = 0, gray = start ^ (start >> 1); bit < bits_of_draw; ++bit)
                base ^= gray >> bit & 1 ? directions_[input][bit] : 0;
            for (std::size_t i = 0; i < length; ++i)
                to[done + i] = base ^ lowest[at + i];
            done += length;
        }
    }

    // Columns hold independent normal scores up to that of the input, which becomes the probability of a mixture of them.
    void Sampler::correlate(std::size_t n, double* const* columns, std::size_t input, std::uint32_t* to) const
    {
        const std::vector<double>& weights = correlation_[input];
        for (std::size_t i = 0; i < n; ++i)
        {
            double score = weights[0] * columns[0][i];
            for (std::size_t k = 1; k <= input; ++k)
                score += weights[k] * columns[k][i];
            const double probability = 0.5 * std::erfc(score * -0.70710678118654752);
            to[i] = std::uint32_t(std::min(std::floor(probability / lattice), 4294967295.0));
        }
    }

    void Sampler::draw(std::size_t first, std::size_t n, double* const* columns) const
    {
        constexpr std::size_t at_once = 1024;
        std::uint32_t x[at_once];
        std::vector<double*> to(inputs());
        for (std::size_t done = 0; done < n; done += at_once)
        {
            const std::size_t length = std::min(at_once, n - done);
            for (std::size_t k = 0; k < inputs(); ++k)
            {
                to[k] = columns[k] + done;
                points(k, first + done, length, x);
                (correlation_.empty() ? inverses_[k] : normal_).map(x, length, to[k]);
            }
            if (!correlation_.empty())
                for (std::size_t k = inputs(); k-- > 0;) // the scores that the others need stay as they are
                {
                    correlate(length, to.data(), k, x);
                    inverses_[k].map(x, length, to[k]);
                }
        }
    }
}
