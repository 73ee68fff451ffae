// Formulas and conditions step by step, as Python writes them.
#include "roofslate/language/operations.hpp"
#include "roofslate/python/grid.hpp"

namespace roofslate::binding
{
    Operation operation_of(const Registry& registry, const std::string& name)
    {
        if (const std::optional<Op> op = operation_called(name))
            return {*op};
        Operation o{Op::routine};
        o.routine = registry.routine(name);
        if (!o.routine)
            throw unknown_name("unknown operation '" + name + "'");
        return o;
    }
    Formula formula_of(const Registry& registry, const Steps& steps)
    {
        Formula w;
        for (const py::tuple& step : steps)
        {
            const std::string name = step.empty() ? "" : py::cast<std::string>(step[0]);
            const bool leaf = name == "quantity" || name == "constant";
            Operation o =
                leaf ? Operation{name == "quantity" ? Op::input : Op::constant} : operation_of(registry, name);
            if (step.size() != std::size_t(leaf ? 1 : arity_of(o)) + 1)
                throw py::value_error("a step of a formula has as many arguments as its operation takes");
            if (o.op == Op::input)
            {
                const std::string need = py::cast<std::string>(step[1]);
                o.argument[0] = int(std::find(w.needs.begin(), w.needs.end(), need) - w.needs.begin());
                if (o.argument[0] == int(w.needs.size()))
                    w.needs.push_back(need);
            }
            else if (o.op == Op::constant)
                o.value = py::cast<double>(step[1]);
            else
                for (int k = 0; k < arity_of(o); ++k)
                {
                    o.argument[k] = py::cast<int>(step[std::size_t(k) + 1]);
                    if (o.argument[k] < 0 || o.argument[k] >= int(w.tape.operations.size()))
                        throw py::value_error("a step of a formula takes steps before it");
                }
            w.tape.push(o);
        }
        if (steps.empty())
            throw py::value_error("a formula has a step at least");
        return w;
    }
    Condition condition_of(const Registry& registry, const ConditionSteps& condition)
    {
        using Kind = Condition::Kind;
        static const std::pair<const char*, Kind>
            relations[]{{"<", Kind::less}, {"<=", Kind::less_equal}, {"==", Kind::equal}, {"!=", Kind::not_equal}};
        const auto& [left, relation, right] = condition;
        for (const auto& [text, kind] : relations)
            if (relation == text)
                return {formula_of(registry, left), kind, formula_of(registry, right)};
        throw py::value_error("unknown relation '" + relation + "'");
    }
    Steps steps_of(const Registry& registry, const Entry& entry)
    {
        if (!entry.computed())
            return {};
        Steps steps;
        for (const Operation& o : without_unused(entry.tape, entry.root).operations)
        {
            if (o.op == Op::input)
                steps.push_back(
                    py::make_tuple("quantity", std::string(registry[entry.needs[std::size_t(o.argument[0])]].name)));
            else if (o.op == Op::constant)
                steps.push_back(py::make_tuple("constant", o.value));
            else
            {
                py::tuple step(std::size_t(arity_of(o)) + 1);
                step[0] = std::string(name_of(o));
                for (int k = 0; k < arity_of(o); ++k)
                    step[std::size_t(k) + 1] = o.argument[k];
                steps.push_back(step);
            }
        }
        return steps;
    }
}
