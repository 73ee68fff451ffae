#include "roofslate/sampling/sampler.hpp"
#include "roofslate/run/parallel.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace roofslate
{
    InverseDistribution::InverseDistribution(
        std::vector<std::uint32_t> first,
        std::vector<double> ends,
        const std::vector<double>& pieces,
        double low,
        double high)
        : first_(std::move(first)),
          ends_(std::move(ends)),
          pieces_(pieces.size() / words_of_piece),
          low_(low),
          high_(high)
    {
        for (std::size_t k = 0; k < pieces.size(); ++k)
            pieces_[k / words_of_piece].words[k % words_of_piece] = pieces[k];
        for (std::size_t bin = 0; bin < bins_of_inverse; ++bin)
            first_[bin] += (first_[bin + 1] - first_[bin] > 1 ? split_bin : 0);
    }

    Sampler::Sampler(
        std::vector<Directions> directions,
        std::vector<std::uint32_t> shifts,
        std::vector<InverseDistribution> inverses,
        InverseDistribution normal,
        std::vector<std::vector<double>> correlation)
        : directions_(std::move(directions)),
          shifts_(std::move(shifts)),
          lowest_(directions_.size()),
          inverses_(std::move(inverses)),
          normal_(std::move(normal)),
          correlation_(std::move(correlation))
    {
        for (std::size_t k = 0; k < lowest_.size(); ++k)
            for (std::size_t i = 0; i < stretch; ++i)
            {
                lowest_[k][i] = 0;
                for (std::size_t bit = 0, gray = i ^ (i >> 1); gray >> bit; ++bit)
                    lowest_[k][i] ^= gray >> bit & 1 ? directions_[k][bit] : 0;
            }
    }

    // In the order of Gray's code, as SciPy has them: the point i is the sum of the directions at the bits of i ^ (i >>
    // 1).
    void Sampler::map(
        const InverseDistribution& inverse,
        std::size_t input,
        std::size_t first,
        std::size_t n,
        double* to) const
    {
        for (std::size_t done = 0; done < n;)
        {
            const std::size_t at = (first + done) % stretch, start = first + done - at,
                              length = std::min(stretch - at, n - done);
            std::uint32_t x = shifts_[input];
            for (std::size_t bit = 0, gray = start ^ (start >> 1); gray >> bit; ++bit)
                x ^= directions_[input][bit] & (0 - std::uint32_t(gray >> bit & 1));
            inverse.map(x, lowest_[input].data() + at, length, to + done);
            done += length;
        }
    }

    // Columns hold independent normal scores. The input's own column becomes the probability of a mixture of
    // them.
    void Sampler::correlate(std::size_t n, double* const* columns, std::size_t input, std::uint32_t* to) const
    {
        const std::vector<double>& weights = correlation_[input];
        for (std::size_t i = 0; i < n; ++i)
        {
            double score = weights[0] * columns[0][i];
            for (std::size_t k = 1; k <= input; ++k)
                score += weights[k] * columns[k][i];
            const double probability = 0.5 * std::erfc(score * -0.70710678118654752);
            to[i] = std::uint32_t(std::min(std::floor(probability * 4294967296.0), 4294967295.0));
        }
    }

    void Sampler::draw(std::size_t first, std::size_t n, double* const* columns) const
    {
        constexpr std::size_t at_once = 2048;
        std::uint32_t x[at_once];
        std::vector<double*> to(inputs());
        for (std::size_t done = 0; done < n; done += at_once)
        {
            const std::size_t length = std::min(at_once, n - done);
            for (std::size_t k = 0; k < inputs(); ++k)
            {
                to[k] = columns[k] + done;
                map(correlation_.empty() ? inverses_[k] : normal_, k, first + done, length, to[k]);
            }
            if (!correlation_.empty())
                for (std::size_t k = inputs(); k-- > 0;) // the scores that the others need stay as they are
                {
                    correlate(length, to.data(), k, x);
                    inverses_[k].map(0, x, length, to[k]);
                }
        }
    }

    void draw(const Sampler& sampler, std::size_t n, const std::vector<double*>& columns, const Options& options)
    {
        constexpr std::size_t at_once = 1 << 16;
        const std::size_t chunks = (n + at_once - 1) / at_once;
        Progress progress(options, n);
        in_parallel(
            int(std::min<std::size_t>(std::size_t(std::max(options.threads, 1)), chunks)),
            chunks,
            progress,
            [&] { return std::vector<double*>(columns.size()); },
            [&](std::vector<double*>& at, std::size_t c) {
                const std::size_t first = c * at_once, length = std::min(at_once, n - first);
                std::transform(columns.begin(), columns.end(), at.begin(), [&](double* column) {
                    return column + first;
                });
                sampler.draw(first, length, at.data());
                return length;
            });
    }
}
