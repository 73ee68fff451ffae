// Formulas as a caller hands them over, step by step: the engine, the printers and the derivation agree with the steps.
#include "bytes.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/language/registry.hpp"

using namespace fuzz;

namespace
{
    constexpr std::size_t points = 9;
    constexpr int most_steps = 24, most_written = 400;
    const char* const names[] =
        {"batch_size", "context_length", "pass_tokens", "overlap", "slot_utilization", "pass_length"};
    const char* const routines[] = {"erlang_c"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const Registry& known = registry();
    Bytes bytes(data, size);
    const Using use(bytes.instruction_set());

    // What is known: two arrays, two numbers; one that follows from these, one with a default.
    std::vector<double> arrays[2];
    for (std::vector<double>& array : arrays)
    {
        array.resize(points);
        for (double& x : array)
            x = bytes.number();
    }
    const double numbers[2] = {double(bytes.below(3)), bytes.number()};
    const std::vector<Supplied> supplied{
        {known.at("batch_size"), {arrays[0].data(), 1, {1}}},
        {known.at("context_length"), {arrays[1].data(), 1, {1}}},
        {known.at("overlap"), {&numbers[0], 0, {}}},
        {known.at("slot_utilization"), {&numbers[1], 0, {}}}};

    Definition d{"made_up", "z", "1", "made by a fuzzer", "none", {}, {}, -1};
    std::vector<int> written; // steps with all that they repeat
    do
    {
        Operation o{Op::constant};
        int all = 1;
        const unsigned kind = bytes.byte();
        if (kind < 64)
            o.op = Op::input,
            o.argument[0] = int(std::find(d.needs.begin(), d.needs.end(), names[kind % 6]) - d.needs.begin());
        if (kind < 64 && o.argument[0] == int(d.needs.size()))
            d.needs.emplace_back(names[kind % 6]);
        else if (kind >= 64 && kind < 80)
            o.value = bytes.number();
        else if (kind >= 80 && !written.empty())
        {
            OperationRead read = read_operation(bytes);
            if (kind >= 248)
            {
                o.routine = known.routine(routines[0]);
                read = {Op::routine, o.routine->arity};
            }
            o.op = read.op;
            for (int k = 0; k < read.arity; ++k)
                o.argument[k] = int(written.size()) - 1 - int(bytes.byte() % written.size()),
                all += written[std::size_t(o.argument[k])];
        }
        if (all > most_written)
            break;
        written.push_back(all);
        d.tape.push(o);
    }
    while (bytes.left() && written.size() < most_steps);
    d.root = int(written.size()) - 1;
    const std::vector<Operation> steps = d.tape.operations;
    const std::vector<std::string> needs = d.needs;

    const Registry extended(known, {std::move(d)});
    const Entry& entry = extended[extended.at("made_up")];
    Graph graph({points});
    Closure closure(extended, graph, supplied);
    const int node = closure.node(extended.at("made_up"));
    std::vector<double> found;
    store(graph, {output_in_order(graph, node, found)}, {});

    std::vector<double> values(steps.size()), at(needs.size());
    for (std::size_t i = 0; i < points; ++i)
    {
        for (std::size_t k = 0; k < needs.size(); ++k)
        {
            const std::size_t name = std::size_t(std::find(std::begin(names), std::end(names), needs[k]) - names);
            at[k] = std::array<double, 6>{arrays[0][i], arrays[1][i], arrays[0][i], numbers[0], numbers[1], 1}[name];
        }
        for (std::size_t s = 0; s < steps.size(); ++s)
        {
            const Operation& o = steps[s];
            double x[3] = {};
            for (std::size_t k = 0; o.op != Op::input && k < 3 && o.argument[k] >= 0; ++k)
                x[k] = values[std::size_t(o.argument[k])];
            values[s] = o.op == Op::input ? at[std::size_t(o.argument[0])]
                : o.op == Op::constant
                ? o.value
                : evaluate(o.op, o.routine, x);
        }
        check(same_bits(found[graph[node].axes ? i : 0], values.back()), "a formula is not what its steps say");
    }
    for (const Notation notation : {Notation::text, Notation::latex})
    {
        check(!formula_of_entry(extended, entry, notation).empty(), "a formula without words");
        apply_formula(extended, entry, at, needs, notation);
    }
    return 0;
}
