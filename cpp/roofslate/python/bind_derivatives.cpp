// The binding of derivatives.
#include "roofslate/derivatives/adjoint.hpp"
#include "roofslate/python/grid.hpp"

namespace roofslate::binding
{
    namespace
    {
        // The numbers that a formula takes: those supplied, in their order, and those it has by default. Choices are
        // none.
        std::vector<std::string> numbers_taken(Grid& grid, const Steps& formula)
        {
            const Registry& registry = grid.registry();
            grid.check_size();
            grid.node(formula);
            std::vector<std::string> names;
            const auto add = [&](int quantity) {
                if (!registry[quantity].spec->is_choice())
                    names.emplace_back(registry[quantity].name);
            };
            for (const Supplied& s : grid.supplied())
                if (grid.closure().was_used(s.quantity))
                    add(s.quantity);
            for (const int quantity : grid.closure().visited())
                if (!registry[quantity].computed() && registry[quantity].fallback < 0)
                    add(quantity);
            return names;
        }

        std::string ordinal(int k) { return k == 0 ? "first" : k == 1 ? "second" : "third"; }
        Error no_derivative(const NoPartial& refused, const std::vector<std::string>& to)
        {
            std::string names;
            for (const std::size_t k : refused.inputs)
                names += (names.empty() ? "'" : ", '") + to[k] + "'";
            return Error(
                "NoDerivative",
                "no derivative by " + names + ": the function " + refused.routine->name + " has none in its "
                    + ordinal(refused.argument) + " argument; choose other inputs with to=");
        }
        // What is equal at a kink, and in which quantity.
        py::tuple described(const KinkPoints& kink, Grid& grid)
        {
            for (const Closure::Turn& turn : grid.closure().turns())
                if (turn.node == kink.node)
                {
                    std::vector<std::string> symbols;
                    for (const int need : turn.entry->needs)
                        symbols.emplace_back(grid.registry()[need].name);
                    const Operation& o = turn.entry->tape.operations[std::size_t(turn.position)];
                    const auto side = [&](std::size_t k) {
                        return print(turn.entry->tape, o.argument[k], symbols, Notation::text);
                    };
                    return py::make_tuple(std::string(turn.entry->name), side(0), side(1), kink.points);
                }
            return py::make_tuple("the formula", "one side", "the other", kink.points);
        }

        py::tuple derivatives_of(
            Grid& grid,
            const Steps& formula,
            const std::vector<std::string>& to,
            bool relative,
            bool above,
            const py::object& out,
            int threads,
            const py::object& progress)
        {
            const std::vector<std::size_t>& shape = grid.shape();
            Graph& graph = grid.graph();
            const int output = grid.node(formula);
            std::vector<int> nodes;
            for (const std::string& name : to)
            {
                const int quantity = grid.registry().at(name);
                nodes.push_back(grid.closure().was_used(quantity) ? grid.closure().node(quantity) : -1);
            }
            const AxisSet axes = graph[output].axes;
            const std::vector<std::size_t> own = grid.axes(axes);
            std::vector<py::ssize_t> wanted_shape{py::ssize_t(to.size())};
            double bytes =
                double(to.size() * sizeof(double)); // of a grid beyond all memory they may not fit an integer
            for (const std::size_t a : own)
                wanted_shape.push_back(py::ssize_t(shape[a])), bytes *= double(shape[a]);
            if (out.is_none())
                promise_memory(bytes);

            Array array;
            bool used_before = true;
            std::array<std::ptrdiff_t, most_axes> stride{};
            if (out.is_none())
            {
                constexpr std::size_t line = 8; // doubles of a cache line, on which each derivative of a grid starts
                const std::size_t points = graph.points(axes),
                                  apart = own.empty() ? 1 : (points + line - 1) / line * line;
                stride = result_strides(graph, axes);
                std::vector<py::ssize_t> strides{py::ssize_t(apart)};
                for (const std::size_t a : own)
                    strides.push_back(stride[a]);
                Result r = allocate<double>(wanted_shape, strides, apart * to.size());
                array = std::move(r.array), used_before = r.used_before;
            }
            else
            {
                array = py::cast<Array>(out);
                if (array.ndim() != py::ssize_t(wanted_shape.size())
                    || !std::equal(wanted_shape.begin(), wanted_shape.end(), array.shape()))
                    throw axis_error(
                        "out must be a writable float64 array of shape "
                        + std::string(py::str(py::tuple(py::cast(wanted_shape)))));
                for (std::size_t d = 0; d < own.size(); ++d)
                    stride[own[d]] = array.strides(py::ssize_t(d) + 1) / py::ssize_t(sizeof(double));
            }
            double* const data = array.mutable_data();
            const std::ptrdiff_t step = array.strides(0) / py::ssize_t(sizeof(double));
            Derivatives found;
            try
            {
                found = running(progress, threads, [&](const Options& options) {
                    Derivatives derivatives = differentiate(
                        graph,
                        output,
                        nodes,
                        relative ? Derivative::elasticity : Derivative::slope,
                        above ? Side::above : Side::below,
                        options);
                    std::vector<Output> outputs;
                    for (std::size_t k = 0; k < to.size(); ++k)
                        outputs.push_back({derivatives.nodes[k], data + std::ptrdiff_t(k) * step, stride, used_before});
                    store(graph, outputs, options);
                    return derivatives;
                });
            }
            catch (const NoPartial& refused)
            {
                throw no_derivative(refused, to);
            }
            py::list kinks;
            for (const KinkPoints& kink : found.kinks)
                kinks.append(described(kink, grid));
            return py::make_tuple(array, own, kinks);
        }
    }

    void add_derivatives(GridClass& grid)
    {
        grid.def(
                "numbers_taken",
                &numbers_taken,
                py::arg("formula"),
                "The numbers that a formula takes: those supplied, then those it has by default.")
            .def(
                "derivatives",
                &derivatives_of,
                py::arg("formula"),
                py::arg("to"),
                py::arg("relative"),
                py::arg("above"),
                py::arg("out"),
                py::arg("threads"),
                py::arg("progress"),
                "The derivatives of a formula by inputs, or its elasticities: an array over the inputs and the axes of "
                "the output, these axes, and kinks: quantity, what is equal to what, at how many points. The grid is a "
                "differentiated one.");
    }
}
