// The binding of the solver.
#include "roofslate/python/asked.hpp"
#include "roofslate/solve/roots.hpp"

namespace roofslate::binding
{
    namespace
    {
        py::tuple solve_for(
            const std::string& name,
            const Condition& condition,
            const std::string& at,
            const std::vector<std::size_t>& shape,
            const std::vector<Input>& inputs,
            int threads,
            const py::object& progress)
        {
            Asked asked(shape, inputs);
            const Registry& registry = asked.registry();
            const int quantity = registry.at(name);
            const Spec& spec = *registry[quantity].spec;
            const auto& [left, relation, right] = condition;
            Comparison comparison{
                asked.graph(),
                asked.node(left),
                asked.node(right),
                relation == "==" ? Relation::equal
                    : relation == "<"
                    ? Relation::less
                    : Relation::less_equal,
                {}};
            Unknown& u = comparison.unknown;
            const auto node_of = [&](int q) {
                return asked.node({py::make_tuple("quantity", std::string(registry[q].name))});
            };
            u.leaf = node_of(quantity), u.low = spec.low, u.high = spec.high, u.above_low = spec.above_low;
            for (const auto& [other, array, axes] : inputs)
            {
                const int q = registry.at(other);
                if (registry[q].bound == quantity)
                    u.above.push_back(node_of(q));
                if (q == registry[quantity].bound)
                    u.below.push_back(node_of(q));
            }
            if (!((asked.graph()[comparison.left].axes | asked.graph()[comparison.right].axes)
                  & asked.graph()[u.leaf].axes))
                throw Error("IneffectiveInput", "the condition does not depend on '" + name + "'");
            const Which which = at == "smallest" ? Which::smallest : at == "largest" ? Which::largest : Which::all;
            const double bytes_of_point =
                which == Which::all ? sizeof(std::vector<double>) + 2 * sizeof(double) : sizeof(double);
            promise_memory(
                double(asked.graph().points(comparison.axes())) * (bytes_of_point + sizeof(Outcome)),
                "Solve for a part of the longest axis at a time");
            Roots roots =
                running(progress, threads, [&](const Options& options) { return solve(comparison, which, options); });
            const auto* const outcomes = reinterpret_cast<const std::uint8_t*>(roots.outcomes.data());
            auto* const values = new Doubles(std::move(roots.values));
            const py::capsule owner(values, [](void* p) { delete static_cast<Doubles*>(p); });
            return py::make_tuple(
                py::array_t<double>(py::ssize_t(roots.size), values->get(), owner),
                array_of(std::vector<std::uint8_t>(outcomes, outcomes + roots.outcomes.size())),
                asked.axes(comparison.axes()));
        }
    }

    void bind_solve(py::module_& m)
    {
        m.def(
            "solve",
            &solve_for,
            py::arg("unknown"),
            py::arg("condition"),
            py::arg("at"),
            py::arg("shape"),
            py::arg("inputs"),
            py::arg("threads"),
            py::arg("progress"),
            "Where an input on an axis of its own makes a condition true: for each point of the other axes `each` "
            "values; why there are none (0: there are, 1: never, 2: always, 3: undefined); those axes.");
    }
}
