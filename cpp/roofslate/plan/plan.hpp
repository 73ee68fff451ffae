// How a graph is run: passes over grids of different axes, each a loop of scalars around a program of the accumulator
// machine.
#pragma once
#include "roofslate/bounds/direction.hpp"
#include "roofslate/memory/pool.hpp"
#include "roofslate/simd/instructions.hpp"
#include <memory_resource>

namespace roofslate
{
    // Plans are made for grids of a few thousand points too: their many small lists come from one buffer.
    using Arena = std::pmr::memory_resource;
    template <class T> using List = std::pmr::vector<T>;

    // Memory for a node's values; along axes that the node does not vary along they are repeated.
    struct Output
    {
        int node;
        void* data; // numbers as `storage` says
        std::array<std::ptrdiff_t, most_axes> stride{}; // in numbers
        bool used_before = false; // the memory has been touched, so that streaming into it pays
        Storage storage = Storage::float64;
    };

    AxisSet written_axes(const Graph& graph, const Output& output);
    // Axes of a result in memory, slowest first: the caller's order, unless its last axis is short and another one
    // long.
    std::vector<int> memory_order(const Graph& graph, AxisSet axes);
    // The strides of such a result by axis of the grid; 0 where it does not vary.
    std::array<std::ptrdiff_t, most_axes> result_strides(const Graph& graph, AxisSet axes);

    struct ScalarStep // a value that is the same for a whole row
    {
        Op op = Op::constant;
        std::array<int, 3> argument{-1, -1, -1}; // numbers of values
        int result = -1;
        const Routine* routine = nullptr;
        View view{}; // of a leaf
        double constant = 0;
    };
    enum class Source : std::uint8_t
    {
        scalar, // a value of the row
        reciprocal, // of a value of the row
        row, // an array read along the row
        strip, // a saved value
    };
    enum class Field : std::uint8_t
    {
        operand,
        second,
        scratch,
    };
    struct Reference // a field of an instruction that is filled in for each row or thread
    {
        int instruction;
        Field field;
        Source source;
        int number;
        Direction objective = Direction::unknown; // of the fold's objective with the scalar
    };
    struct Row // an array that is read along the row
    {
        View view;
        std::ptrdiff_t step = 1; // not 1: gathered
        bool expand = false; // does not run evenly along merged axes: copied once before the pass
        int reciprocal_of = -1; // filled before the pass from the array of this number
        Doubles copy{};
    };
    // A requirement that holds on one stretch of a row, since the difference of its sides is monotone along it. The
    // steps give their values at a point.
    struct Stretch
    {
        explicit Stretch(Arena* arena) : steps(arena) {}
        struct Step
        {
            Op op = Op::input; // of an array
            std::array<int, 2> argument{-1, -1}; // at least 0: earlier steps. Below -1: of value -2 - argument
            // of the left side with each argument; for steps of the right side, the reverse
            std::array<Direction, 2> difference{};
            int array = -1;
        };
        List<Step> steps;
        int lhs = -1, rhs = -1; // as arguments are given
        Direction from_row_to_row = Direction::unknown; // of the difference, along the fastest loop
        bool strict = false, from_begin = true;
    };
    struct Pass
    {
        explicit Pass(Arena* arena)
            : outer(arena),
              inner(arena),
              steps(arena),
              first_step(arena),
              program(arena),
              references(arena),
              first_reference(arena),
              arrays(arena),
              outputs(arena),
              writes(arena),
              stretches(arena)
        {
        }
        Pass(Pass&&) = default;
        Pass& operator=(Pass&&) = default;

        AxisSet axes = 0;
        List<int> outer; // loops, slowest first
        List<int> inner; // axes that the row runs over, slowest first
        std::size_t rows = 1, row = 1;
        List<ScalarStep> steps;
        List<std::size_t> first_step; // by loop: steps to redo when this loop or a later one has moved
        int values = 0;
        List<Instruction> program;
        List<Reference> references;
        List<std::size_t> first_reference; // by loop: references to redo when this loop or a later one has moved
        List<Row> arrays;
        List<Output> outputs; // in order of Code::write
        List<int> writes; // their instructions
        int strips = 0;
        int fold = -1; // the instruction that folds
        List<Stretch> stretches; // stretches to run
        // of the objective from below, for a block of rows: see `direction` and `Reference::objective`
        bool has_bounds = false;
        double bound_share = 1; // of a computed bound that is left after rounding had its share
        // of the objective along the fold's block axis: the block's best end bounds a monotone one
        Direction direction = Direction::unknown;
        bool has_routine = false; // a call may take long
    };

    struct Plan
    {
        explicit Plan(Arena* arena) : passes(arena), intermediates(arena), constants(arena) {}

        List<Pass> passes; // in order of execution
        List<Doubles> intermediates; // results of passes that later passes read
        List<Output> constants;
    };
    // One node is smaller than another, or as large.
    struct Requirement
    {
        int lhs, rhs;
        bool strict;
    };
    // A pass that keeps, for each point of a row, the smallest of the values that meet the requirements.
    struct FoldPass
    {
        int objective;
        std::vector<Requirement> requirements;
        std::vector<int> outer; // loops, slowest first
        int inner; // the axis of the row
        int block_axis = -1; // the fastest loop, if it is folded
        bool keeps_near = false; // keeps even short work on the row that is the same for all of that loop
    };
    Plan make_plan(
        const Graph& graph,
        const std::vector<Output>& outputs,
        const InstructionSet& set,
        Arena* arena = std::pmr::get_default_resource());
    Plan make_plan(
        const Graph& graph,
        const FoldPass& fold,
        const InstructionSet& set,
        Arena* arena = std::pmr::get_default_resource());

    // 1 / divisor, or 0 where a division by it can't be done with the reciprocal.
    double reciprocal(double divisor);
}
