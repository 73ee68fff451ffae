// Draws from distributions: points of a scrambled Sobol sequence, each coordinate mapped by the inverse of a distribution function.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace roofslate
{
    inline constexpr std::size_t bits_of_draw = 32;

    // The value of a distribution at the probability (x + 1/2) / 2^32, for any x of 32 bits. It is a polynomial in v, the distance of the
    // probability to the nearer of 0 and 1, in each cell of v: those that doubles have with four bits of mantissa, so that the tails are as
    // exact as the middle. A cell has several pieces where one polynomial would not do.
    class InverseDistribution
    {
    public:
        static constexpr std::size_t cells = 2 * bits_of_draw * 16, terms = 6; // the cells of the lower half of probabilities first
        struct Piece
        {
            double middle, scale;                    // the polynomial's variable is (v - middle) scale
            std::array<double, terms> coefficient;   // of its powers, from the constant on
        };
        // `first` piece of each cell and, at last, how many there are; `ends` of pieces in v; all values lie from `low` to `high`.
        InverseDistribution(std::vector<std::uint32_t> first, std::vector<double> ends, std::vector<Piece> pieces, double low, double high);
        void map(const std::uint32_t* x, std::size_t n, double* to) const;

    private:
        std::vector<std::uint32_t> first_;
        std::vector<double> ends_;
        std::vector<Piece> pieces_;
        double low_, high_;
    };

    // Several inputs drawn together. Draw i is the same whatever is drawn before or beside it.
    class Sampler
    {
    public:
        using Directions = std::array<std::uint32_t, bits_of_draw>;
        // For each input direction numbers, digital shift and distribution. `correlation`: rows of the Cholesky factor of the correlation of
        // their normal scores, which `normal` gives; without rows they are independent.
        Sampler(std::vector<Directions> directions, std::vector<std::uint32_t> shifts, std::vector<InverseDistribution> inverses, InverseDistribution normal, std::vector<std::vector<double>> correlation);

        std::size_t inputs() const { return inverses_.size(); }
        void draw(std::size_t first, std::size_t n, double* const* columns) const; // a column for each input

    private:
        static constexpr std::size_t stretch = 256; // points that differ in the lowest bits of their index
        void points(std::size_t input, std::size_t first, std::size_t n, std::uint32_t* to) const;
        void correlate(std::size_t n, double* const* columns, std::size_t input, std::uint32_t* to) const;

        std::vector<Directions> directions_;
        std::vector<std::uint32_t> shifts_;
        std::vector<std::array<std::uint32_t, stretch>> lowest_; // what these bits contribute
        std::vector<InverseDistribution> inverses_;
        InverseDistribution normal_;
        std::vector<std::vector<double>> correlation_;
    };
}
