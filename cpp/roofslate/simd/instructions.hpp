// The accumulator machine: instructions that the plan writes and the instruction sets execute. Plain structs, compiled
// for no CPU in particular. A program begins with a load and runs over a row of points in strips; the running value of
// a strip stays in registers (docs/decisions/accumulator-machine.md).
#pragma once
#include "roofslate/language/expr.hpp"
#include "roofslate/simd/storage.hpp"
#include <vector>

namespace roofslate
{
    inline constexpr std::size_t widest_strip = 128; // doubles; a saved value takes one strip of scratch memory

    enum class Code : std::uint8_t
    {
        // with an operand, a scalar or memory
        load, // value = operand
        add,
        subtract, // value - operand
        subtract_from, // operand - value
        multiply,
        divide, // value / operand
        divide_into, // operand / value
        divide_proved, // value / operand with the reciprocal as second operand, if `proved` would be true
        maximum, // max(value, operand)
        maximum_of, // max(operand, value)
        maximum_proved, // no NaN, and not two zeros
        minimum,
        minimum_of,
        minimum_proved,
        less, // 1 where value < operand, else 0; and so on
        at_most,
        more,
        at_least,
        equal,
        choose, // value != 0 ? operand : second operand
        require_less, // scratch = scratch and (value < operand), as 1 or 0; and so on
        require_at_most,
        call, // any other operation, through memory
        // the remaining ones never read memory: with a scalar
        divide_constant, // by a scalar with the reciprocal as second operand, checked lane by lane
        require_more,
        require_at_least,
        keep, // if value < best, and the second operand is not 0: best = value, where = operand
        keep_equal, // if value <= best
        // ... without an operand
        negate,
        square_root,
        save, // scratch = value
        write, // result = value
        end,
    };
    inline constexpr Code first_without_memory = Code::divide_constant;

    // A division by a scalar may be corrected where neither the divisor nor the quotient is extreme: no step of it
    // rounds twice.
    inline constexpr double least_divisor = 1e-100, most_divisor = 1e100, least_quotient = 1e-180,
                            most_quotient = 1e180;

    struct Operand
    {
        const double* memory = nullptr; // nullptr: the scalar
        std::size_t step = 0; // of memory: 1 runs along the row, 0 is a saved strip
        double scalar = 0;
        std::size_t ahead = 0; // of a row: doubles by which memory is asked for early
    };
    struct Instruction
    {
        Code code = Code::end;
        Op operation = Op::input; // call
        std::uint8_t argument = 0; // call: position of the running value among the arguments
        bool proved = false; // divide, divide_into: the ranges prove that no check is needed
        bool joins = false; // require_...: an earlier requirement has written the scratch
        Storage storage = Storage::float64; // write
        Operand operand;
        Operand
            second; // choose, calls of three arguments; keep: requirements; divisions: the reciprocal, 0 if unusable
        double* scratch = nullptr; // save, require_...: a strip
        void* result = nullptr; // write: a row of numbers as `storage` says
        double* best = nullptr; // keep: a row
        double* where = nullptr; // keep: a row
        const Routine* routine = nullptr; // call of a routine
        int wide = -1; // ... that runs on registers: its number among wide_routines
    };

    // The inverse of a distribution function (see sampler.hpp) at the probability (x + 1/2) / 2^32, for any x of 32
    // bits. With v, the distance of the probability to the nearer of 0 and 1, it is a polynomial in each interval of v:
    // the intervals between doubles with four bits of mantissa.
    inline constexpr std::size_t bits_of_draw = 32, bins_of_inverse = 2 * bits_of_draw * 16, words_of_piece = 8;
    // added to its first piece: the interval has several
    inline constexpr std::uint32_t split_bin = std::uint32_t(1) << 31;
    struct InverseTable
    {
        const std::uint32_t* first; // piece of each interval, the lower half of probabilities first
        const double* ends; // of pieces, in v
        // eight words each: the polynomial's variable is (v - first word) second word, then its coefficients
        const double* pieces;
        double low, high; // bounds of all values
    };

    struct InstructionSet
    {
        const char* name;
        // points [begin, end) of a row; `stream`: aligned results bypass the CPU cache
        void (*run)(const Instruction* program, std::size_t begin, std::size_t end, bool stream);
        void (*fence)(); // streamed results are visible to other threads afterwards
        // how many values are not in [low, high], or not above low where that is excluded; NaN is not. low < high
        std::size_t (*outside)(const double* values, std::size_t n, double low, double high, bool above_low);
        std::size_t (*above)(const double* values, const double* limits, std::size_t n); // how many exceed their limit
        // smallest and largest; false where one is NaN
        bool (*extent)(const double* values, std::size_t n, double* low, double* high);
        std::size_t (*below)(const double* values, std::size_t n, double edge); // how many are
        // is the row sorted, rising or falling? NaN: false
        bool (*ordered)(const double* values, std::size_t n, bool falling);
        // how many are below a stretch; those inside, both ends with it, go to memory for n and a vector. `inside` is
        // their number
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

    // All that were built and that this machine supports, best first.
    std::vector<const InstructionSet*> instruction_sets();
    // The first of them, or the one that ROOFSLATE_SIMD names.
    const InstructionSet& instruction_set();
    // By name; nullptr if it was not built or this machine lacks it.
    const InstructionSet* find_instruction_set(const char* name);
    void use_instruction_set(const InstructionSet& set);
}
