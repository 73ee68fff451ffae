// Draws from distributions: points of a scrambled Sobol sequence, each coordinate mapped by the inverse of a
// distribution function.
#pragma once
#include "roofslate/run/options.hpp"
#include "roofslate/simd/instructions.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace roofslate
{
    // The inverse of a distribution function, tabulated.
    class InverseDistribution
    {
    public:
        // `first`: first piece of each interval, then the number of pieces. The rest as in InverseTable, `pieces` with
        // all their words.
        InverseDistribution(
            std::vector<std::uint32_t> first,
            std::vector<double> ends,
            const std::vector<double>& pieces,
            double low,
            double high);
        // At draws that differ from x in these bits.
        void map(std::uint32_t x, const std::uint32_t* differ, std::size_t n, double* to) const
        { instruction_set().invert(table(), x, differ, n, to); }

    private:
        struct alignas(64) Piece // a cache line
        { double words[words_of_piece]; };
        InverseTable table() const { return {first_.data(), ends_.data(), pieces_.data()->words, low_, high_}; }

        std::vector<std::uint32_t> first_;
        std::vector<double> ends_;
        std::vector<Piece> pieces_;
        double low_, high_;
    };

    // Several inputs drawn together. Draw i does not depend on earlier draws or other inputs.
    class Sampler
    {
    public:
        using Directions = std::array<std::uint32_t, bits_of_draw>;
        // For each input direction numbers, digital shift and distribution. `correlation`: rows of the Cholesky factor
        // of the correlation of their normal scores, which `normal` gives; without rows they are independent.
        Sampler(
            std::vector<Directions> directions,
            std::vector<std::uint32_t> shifts,
            std::vector<InverseDistribution> inverses,
            InverseDistribution normal,
            std::vector<std::vector<double>> correlation);

        std::size_t inputs() const { return inverses_.size(); }
        void draw(std::size_t first, std::size_t n, double* const* columns) const; // a column for each input

    private:
        static constexpr std::size_t stretch = 256; // points that differ in the lowest bits of their index
        void map(const InverseDistribution& inverse, std::size_t input, std::size_t first, std::size_t n, double* to)
            const;
        void correlate(std::size_t n, double* const* columns, std::size_t input, std::uint32_t* to) const;

        std::vector<Directions> directions_;
        std::vector<std::uint32_t> shifts_;
        std::vector<std::array<std::uint32_t, stretch>> lowest_; // what these bits contribute
        std::vector<InverseDistribution> inverses_;
        InverseDistribution normal_;
        std::vector<std::vector<double>> correlation_;
    };

    // The first draws, by several threads, into a column for each input.
    void draw(const Sampler& sampler, std::size_t n, const std::vector<double*>& columns, const Options& options);
}
