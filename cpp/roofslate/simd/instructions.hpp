// The accumulator machine: what the plan writes and the instruction sets execute. Plain structs; nothing here is
// compiled for one CPU. A program runs over a row of points in strips; the running value of a strip stays in registers
// (docs/decisions/accumulator-machine.md).
#pragma once
#include <cstddef>
#include <cstdint>

namespace roofslate
{
    inline constexpr std::size_t widest_strip = 128; // doubles; a saved value takes one strip of scratch memory

    // The other operand is a scalar, or memory: step 1 runs along the row, step 0 is a saved strip.
    enum class Code : std::uint8_t
    {
        end,
        load, // value = operand
        save, // scratch = value
        write, // result = value; as floats if `op` is 1
        add,
        subtract, // value - operand
        subtract_from, // operand - value
        multiply,
        divide, // value / operand; `op` is 1 where the ranges prove that no check is needed
        divide_into, // operand / value; likewise
        divide_constant, // by a scalar with a reciprocal, checked lane by lane
        divide_proved, // by a scalar or memory with reciprocals, where the ranges prove that no check is needed
        maximum, // max(value, operand)
        maximum_of, // max(operand, value)
        maximum_proved, // no NaN, and not two zeros
        minimum,
        minimum_of,
        minimum_proved,
        choose, // value != 0 ? operand : second operand
        less, // 1 where value < operand, else 0; and so on
        at_most,
        more,
        at_least,
        equal,
        negate,
        square_root,
        exponential,
        logarithm,
        // scratch = scratch and (value ? operand), as 1 or 0; `op` is 0 for the first of them, which finds nothing in
        // the scratch
        require_less,
        require_at_most,
        require_more,
        require_at_least,
        keep, // where value < result, and the second operand is not 0: result = value, where = operand
        keep_equal, // where value <= result
        call, // anything else, through memory
    };

    // A division by a scalar may be corrected where neither the divisor nor the quotient is extreme: no step of it
    // rounds twice.
    inline constexpr double least_divisor = 1e-100, most_divisor = 1e100, least_quotient = 1e-180,
                            most_quotient = 1e180;

    struct Operand
    {
        const double* memory = nullptr; // nullptr: the scalar
        std::size_t step = 0;
        double scalar = 0;
        std::size_t ahead = 0; // of a row: doubles by which memory is asked for early
    };
    struct Instruction
    {
        Code code = Code::end;
        std::uint8_t op = 0; // of a call: the Op
        std::uint8_t place = 0; // of a call: which argument the running value is
        Operand operand;
        // choose, and calls with three arguments; of a division: the reciprocal, 0 if unusable
        Operand second;
        double* result = nullptr; // write, save, keep; a strip of the requirements
        double* where = nullptr; // keep
        const void* routine = nullptr;
    };

    // The inverse of a distribution function (see sampler.hpp) at the probability (x + 1/2) / 2^32, for any x of 32
    // bits. With v, the distance of the probability to the nearer of 0 and 1, it is a polynomial in each cell of v:
    // those that doubles have with four bits of mantissa.
    inline constexpr std::size_t bits_of_draw = 32, cells_of_inverse = 2 * bits_of_draw * 16, words_of_piece = 8;
    // added to its first piece: the cell has several
    inline constexpr std::uint32_t split_cell = std::uint32_t(1) << 31;
    struct InverseTable
    {
        const std::uint32_t* first; // piece of each cell, the lower half of probabilities first
        const double* ends; // of pieces, in v
        // eight words each: the polynomial's variable is (v - first word) second word, then its coefficients
        const double* pieces;
        double low, high; // all values lie between
    };

    struct InstructionSet
    {
        const char* name;
        // points [begin, end) of a row; `stream`: results go past the cache where they are aligned
        void (*run)(const Instruction* program, std::size_t begin, std::size_t end, bool stream);
        void (*fence)(); // streamed results are visible to other threads afterwards
        // how many values are not in [low, high], or not above low where that is excluded; NaN is not. low < high
        std::size_t (*outside)(const double* values, std::size_t n, double low, double high, bool above_low);
        std::size_t (*above)(const double* values, const double* limits, std::size_t n); // how many exceed their limit
        // smallest and largest; false where one is NaN
        bool (*extent)(const double* values, std::size_t n, double* low, double* high);
        std::size_t (*below)(const double* values, std::size_t n, double edge); // how many are
        // does none lie before one that is smaller, or larger? NaN: false
        bool (*ordered)(const double* values, std::size_t n, bool falling);
        // how many are below a stretch; those inside, both ends with it, go to memory for n and a vector, and `inside`
        // tells how many
        std::size_t (
            *within)(const double* values, std::size_t n, double low, double high, double* to, std::size_t* inside);
        // values at draws, which differ from x in these bits
        void (*invert)(
            const InverseTable& table,
            std::uint32_t x,
            const std::uint32_t* differ,
            std::size_t n,
            double* to);
        std::size_t strip;
        bool fused; // has a fused multiply-add, so that division by a scalar may be corrected instead of done
    };

    // The best one that this machine has, or the one that ROOFSLATE_SIMD names.
    const InstructionSet& instruction_set();
    // By name; nullptr if it was not built or this machine lacks it.
    const InstructionSet* find_instruction_set(const char* name);
    void use_instruction_set(const InstructionSet& set);
}
