// Bytes as doubles through the accumulator machine: every instruction set gives the bits of the first.
#include "bytes.hpp"
#include "roofslate/plan/plan.hpp"

using namespace fuzz;

namespace
{
    constexpr std::size_t most = 24;
    struct Numbers
    {
        alignas(64) double values[most];
        std::size_t n;
    };
    bool same(const double* a, const double* b, std::size_t n) { return std::equal(a, a + n, b, same_bits); }

    Instruction read_instruction(Bytes& bytes, const double* second)
    {
        static constexpr Code codes[] = {
            Code::add,         Code::subtract,        Code::subtract_from, Code::multiply,    Code::divide,
            Code::divide_into, Code::divide_constant, Code::maximum,       Code::maximum_of,  Code::minimum,
            Code::minimum_of,  Code::choose,          Code::less,          Code::at_most,     Code::more,
            Code::at_least,    Code::equal,           Code::negate,        Code::square_root, Code::call};
        static constexpr Op calls[] = {Op::exp, Op::log, Op::ceil, Op::floor, Op::pow, Op::both, Op::either};
        Instruction i;
        i.code = codes[bytes.below(int(std::size(codes)))];
        if (i.code < first_without_memory && bytes.flag())
            i.operand.memory = second, i.operand.step = 1;
        else
            i.operand.scalar = bytes.number();
        i.second.scalar = i.code == Code::divide_constant ? reciprocal(i.operand.scalar) : bytes.number();
        if (i.code == Code::call)
        {
            i.operation = calls[bytes.below(int(std::size(calls)))];
            i.argument = std::uint8_t(bytes.below(2));
            if (i.operation != Op::pow && i.operation != Op::both && i.operation != Op::either)
                i.operand = {}, i.argument = 0;
        }
        return i;
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const std::vector<const InstructionSet*> sets = instruction_sets();
    Bytes bytes(data, size);
    std::vector<Instruction> program(1);
    Numbers a{{}, 0}, b{{}, 0};
    for (int operations = 1 + bytes.below(4); operations > 0; --operations)
        program.push_back(read_instruction(bytes, b.values));
    const double low = bytes.number(), high = bytes.number();
    const bool flag = bytes.flag();
    const std::size_t begin = std::size_t(bytes.below(3));
    while (bytes.left() && a.n < most)
        a.values[a.n++] = flag ? bytes.raw() : bytes.number();
    for (std::size_t i = 0; i < a.n; ++i) // rotated: what meets what depends on the length
        b.values[b.n++] = a.values[(i + 5) % a.n];
    if (a.n <= begin)
        return 0;
    program[0].code = Code::load, program[0].operand.memory = a.values, program[0].operand.step = 1;
    Instruction write;
    write.code = Code::write;
    program.push_back(write);
    program.emplace_back();

    struct Found
    {
        alignas(64) double values[most + 2 * 8];
        std::size_t outside, above, below, under, inside;
        bool known, ordered;
        double least = 0, greatest = 0, kept[most + 2 * 8];
    };
    Found first{}, other{};
    for (const InstructionSet* set : sets)
    {
        Found& f = set == sets[0] ? first : other;
        f = {};
        std::fill(std::begin(f.values), std::end(f.values), -77.0);
        program[program.size() - 2].result = f.values + 8 * flag;
        set->run(program.data(), begin, a.n, false);
        f.outside = low < high ? set->outside(a.values, a.n, low, high, flag) : 0;
        f.above = set->above(a.values, b.values, a.n);
        f.below = set->below(a.values, a.n, low);
        f.ordered = set->ordered(a.values, a.n, flag);
        f.under = set->within(a.values, a.n, low, high, f.kept, &f.inside);
        f.known = set->extent(a.values, a.n, &f.least, &f.greatest);
        if (set == sets[0])
            continue;
        check(same(first.values, f.values, std::size(f.values)), "a program");
        check(
            f.outside == first.outside && f.above == first.above && f.below == first.below
                && f.ordered == first.ordered,
            "a count");
        check(
            f.under == first.under && f.inside == first.inside && same(first.kept, f.kept, f.inside),
            "what lies within");
        check(
            f.known == first.known && (!f.known || (f.least == first.least && f.greatest == first.greatest)),
            "the extent");
    }
    return 0;
}
