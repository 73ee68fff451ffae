// The binding of derivatives.
#include "roofslate/derivatives/describe.hpp"
#include "roofslate/python/grid.hpp"

namespace roofslate::binding
{
    namespace
    {
        std::vector<std::string> names_of_numbers(Grid& grid, const Steps& formula)
        {
            grid.check_size();
            const Registry& registry = grid.registry();
            Graph graph(grid.shape());
            Closure closure(registry, graph, grid.supplied(), Closure::Visits::all); // numbers by default too
            Scope{registry, graph, closure}.node(formula_of(registry, formula));
            std::vector<std::string> names;
            for (const int quantity : numbers_taken(registry, closure, grid.supplied()))
                names.emplace_back(grid.registry()[quantity].name);
            return names;
        }
        py::tuple derivatives_of(
            Grid& grid,
            const Steps& formula,
            const std::vector<std::string>& to,
            bool relative,
            bool above,
            bool at_limits,
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
            const std::vector<std::size_t> own_axes = grid.axes(axes);
            std::vector<py::ssize_t> wanted_shape{py::ssize_t(to.size())};
            double bytes =
                double(to.size() * sizeof(double)); // of a grid beyond all memory they may not fit an integer
            for (const std::size_t a : own_axes)
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
                                  apart = own_axes.empty() ? 1 : (points + line - 1) / line * line;
                stride = result_strides(graph, axes);
                std::vector<py::ssize_t> strides{py::ssize_t(apart)};
                for (const std::size_t a : own_axes)
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
                for (std::size_t d = 0; d < own_axes.size(); ++d)
                    stride[own_axes[d]] = array.strides(py::ssize_t(d) + 1) / py::ssize_t(sizeof(double));
            }
            double* const data = array.mutable_data();
            const std::ptrdiff_t step = array.strides(0) / py::ssize_t(sizeof(double));
            Derivatives result;
            try
            {
                result = running(progress, threads, [&](const Options& options) {
                    Derivatives derivatives = differentiate(
                        graph,
                        output,
                        nodes,
                        relative ? Derivative::elasticity : Derivative::slope,
                        above ? Side::above : Side::below,
                        options,
                        at_limits);
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
            for (const KinkPoints& kink : result.kinks)
            {
                const KinkText text = describe(kink, grid.closure(), grid.registry());
                kinks.append(py::make_tuple(text.quantity, text.left, text.right, kink.points));
            }
            return py::make_tuple(array, own_axes, kinks, result.finite);
        }
    }

    void add_derivatives(GridClass& grid)
    {
        grid.def(
                "numbers_taken",
                &names_of_numbers,
                py::arg("formula"),
                "The numbers that a formula takes: those supplied, then those it has by default.")
            .def(
                "derivatives",
                &derivatives_of,
                py::arg("formula"),
                py::arg("to"),
                py::arg("relative"),
                py::arg("above"),
                py::arg("at_limits"),
                py::arg("out"),
                py::arg("threads"),
                py::arg("progress"),
                "The derivatives of a formula by inputs, or its elasticities: an array over the inputs and the axes of "
                "the output, these axes, kinks (quantity, what is equal to what, at how many points), and whether all "
                "numbers are known to be finite. The inputs are variables of the grid.");
    }
}
