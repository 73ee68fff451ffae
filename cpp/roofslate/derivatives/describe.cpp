#include "roofslate/derivatives/describe.hpp"

namespace roofslate
{
    KinkText describe(const KinkPoints& kink, const Closure& closure, const Registry& registry)
    {
        for (const Closure::Turn& turn : closure.turns())
            if (turn.node == kink.node)
            {
                const Tape& tape = turn.entry->tape;
                Inscription inputs;
                for (const int need : turn.entry->needs)
                {
                    const Spec& spec = *registry[need].spec;
                    inputs.symbols.emplace_back(registry[need].name);
                    inputs.words.push_back(spec.is_choice() ? &spec.choices : nullptr);
                }
                const Operation& o = tape.operations[std::size_t(turn.position)];
                const auto side = [&](std::size_t k) {
                    return print_part(tape, o.argument[k], inputs, Notation::text);
                };
                return {std::string(turn.entry->name), side(0), o.op == Op::sqrt ? "0" : side(1)};
            }
        return {"the formula", "one side", "the other"};
    }
    Error no_derivative(const NoPartial& refused, const std::vector<std::string>& inputs)
    {
        std::string names;
        for (const std::size_t k : refused.inputs)
            names += (names.empty() ? "'" : ", '") + inputs[k] + "'";
        static constexpr const char* ordinals[]{"first", "second", "third"};
        return Error(
            "NoDerivative",
            "no derivative by " + names + ": the function " + refused.routine->name + " has none in its "
                + ordinals[refused.argument] + " argument; choose other inputs with to=");
    }
}
