// The binding of the solver.
#include "roofslate/python/grid.hpp"
#include "roofslate/solve/roots.hpp"

namespace roofslate::binding
{
    namespace
    {
        py::tuple solve_for(
            Grid& grid,
            const std::string& name,
            const ConditionSteps& steps,
            const std::string& at,
            bool whole_numbers,
            int threads,
            const py::object& progress)
        {
            const Registry& registry = grid.registry();
            grid.check_size();
            const int quantity = registry.at(name);
            Comparison comparison = comparison_of(
                condition_of(registry, steps),
                quantity,
                grid.supplied(),
                registry,
                grid.graph(),
                grid.closure());
            comparison.unknown.whole_numbers = whole_numbers;
            const Which which = at == "smallest" ? Which::smallest : at == "largest" ? Which::largest : Which::all;
            const double bytes_of_point =
                which == Which::all ? sizeof(std::vector<double>) + 2 * sizeof(double) : sizeof(double);
            promise_memory(
                double(grid.graph().points(comparison.axes())) * (bytes_of_point + sizeof(Outcome)),
                "Solve for a part of the longest axis at a time");
            Roots roots =
                running(progress, threads, [&](const Options& options) { return solve(comparison, which, options); });
            const auto* const outcomes = reinterpret_cast<const std::uint8_t*>(roots.outcomes.data());
            auto* const values = new Doubles(std::move(roots.values));
            const py::capsule owner(values, [](void* p) { delete static_cast<Doubles*>(p); });
            std::vector<double> unsearched;
            for (const Range& r : roots.unsearched)
                unsearched.insert(unsearched.end(), {r.low, r.high});
            return py::make_tuple(
                py::array_t<double>(py::ssize_t(roots.size), values->get(), owner),
                array_of(std::vector<std::uint8_t>(outcomes, outcomes + roots.outcomes.size())),
                grid.axes(comparison.axes()),
                array_of(unsearched));
        }
    }

    void add_solve(GridClass& grid)
    {
        grid.def(
            "solve",
            &solve_for,
            py::arg("unknown"),
            py::arg("condition"),
            py::arg("at"),
            py::arg("whole"),
            py::arg("threads"),
            py::arg("progress"),
            "Where an input on an axis of its own makes a condition true: for each point of the other axes `each` "
            "values; why there are none (0: there are, 1: never, 2: always, 3: undefined, 4: undecided, 5: there are "
            "many more); those axes; and, where some are undecided or many, between which two values of each point the "
            "search gave up.");
    }
}
