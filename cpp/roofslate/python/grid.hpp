// The grid as Python holds it, formulas and conditions over it, and calls that report progress.
#pragma once
#include "roofslate/folds/fold.hpp"
#include "roofslate/graph/numbers.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/python/binding.hpp"
#include <optional>

namespace roofslate::binding
{
    // A formula as Python writes it: ("quantity", name), ("constant", value), or (operation, position, ...) of earlier
    // steps; an operation may be the name of a routine. The last step is the value.
    using Steps = std::vector<py::tuple>;
    using ConditionSteps = std::tuple<Steps, std::string, Steps>; // relation: < <= == !=
    Operation operation_of(const Registry& registry, const std::string& name); // that steps call so
    Formula formula_of(const Registry& registry, const Steps& steps);
    Condition condition_of(const Registry& registry, const ConditionSteps& condition);
    // The other way round, without operations that the root does not take.
    Steps steps_of(const Registry& registry, const Entry& entry);

    // Checked numbers that many calls share.
    struct Supply
    {
        explicit Supply(const py::dict& inputs);
        std::vector<Given> numbers;
    };
    // Checked numbers by name; choices are positions.
    std::vector<Given> checked_numbers(const Registry& registry, const py::dict& inputs);

    // The inputs of a call on named axes. One graph and one closure serve all that is asked of it.
    class Grid
    {
    public:
        // `inputs`: by the name of a quantity a number, or an array and the positions of its axes. They take precedence
        // on a supply.
        Grid(
            const std::vector<std::size_t>& shape,
            const py::dict& inputs,
            const std::vector<std::string>& variables,
            const Supply* supply);
        const Registry& registry() const { return current_.registry; }
        Graph& graph() { return graph_; }
        Closure& closure() { return closure_; }
        const std::vector<Supplied>& supplied() const { return supplied_; }
        const std::vector<std::size_t>& shape() const { return graph_.shape(); }
        int node(const std::string& quantity) { return closure_.node(registry().at(quantity)); }
        int node(const Steps& steps) { return scope().node(formula_of(registry(), steps)); }
        Scope scope() { return {registry(), graph_, closure_}; }
        std::vector<std::size_t> axes(AxisSet set) const;
        void check_size() const; // what goes through all points can count them
        py::list used(const std::vector<std::string>& quantities); // names of inputs, as they were given
        // At the point with this position along each axis, without the graph. None if an input is missing.
        std::vector<std::optional<double>> at(
            const std::vector<std::string>& quantities,
            const std::vector<std::size_t>& position) const;

    private:
        std::vector<Supplied> read(
            const py::dict& inputs,
            const std::vector<std::string>& variables,
            const Supply* supply);

        Current current_;
        std::vector<py::object> names_; // of the inputs; empty for a number of a supply
        std::vector<Array> arrays_;     // kept alive
        std::vector<double> numbers_;
        Graph graph_;
        std::vector<Supplied> supplied_;
        Closure closure_;
    };
    inline AxisSet set_of(const std::vector<std::size_t>& axes)
    {
        AxisSet set = 0;
        for (const std::size_t k : axes)
            set |= AxisSet(1) << k;
        return set;
    }
    template <class Call> auto running(const py::object& progress, int threads, const Call& call)
    {
        Reporter reporter(progress);
        const Options options{threads, std::ref(reporter), {}};
        try
        {
            const WithoutGil released;
            return call(options);
        }
        catch (const Interrupted&)
        {
            reporter.rethrow();
            throw;
        }
    }
    // Takes the vector over: it lives as long as the array.
    template <class T> py::array_t<T> array_of(std::vector<T> values)
    {
        auto* const owned = new std::vector<T>(std::move(values));
        const py::capsule owner(owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
        return py::array_t<T>(py::ssize_t(owned->size()), owned->data(), owner);
    }

    using GridClass = py::class_<Grid>;
    void add_derivatives(GridClass& grid);
    void add_folds(py::module_& m, GridClass& grid);
    void add_solve(GridClass& grid);
}
