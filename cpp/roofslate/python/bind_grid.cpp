// The binding of the grid: its inputs, and the values of quantities over it.
#include "roofslate/graph/numbers.hpp"
#include "roofslate/python/grid.hpp"
#include "roofslate/run/inspector.hpp"

namespace roofslate::binding
{
    namespace
    {
        std::vector<std::size_t> checked(const std::vector<std::size_t>& shape)
        {
            if (shape.size() > most_axes)
                throw axis_error(
                    "a grid has at most " + std::to_string(most_axes) + " axes, " + std::to_string(shape.size())
                    + " were given");
            return shape;
        }
        // `columns`: inputs of a table whose values have not been checked; the results come with the number of values
        // outside of their range.
        py::tuple evaluated(
            Grid& grid,
            const std::vector<std::string>& output_names,
            const py::list& out,
            int threads,
            const py::object& progress,
            const std::vector<std::string>& columns,
            Storage storage)
        {
            const std::size_t size = size_of(storage);
            const std::vector<std::size_t>& shape = grid.shape();
            Graph& graph = grid.graph();
            Inspector inspector(grid.registry(), grid.supplied(), shape, columns);
            std::vector<Output> outputs;
            double bytes = 0; // of a grid beyond all memory they may not fit an integer
            for (const std::string& name : output_names)
            {
                outputs.push_back({grid.node(name), nullptr, {}, true});
                double points = 1;
                for (std::size_t a = 0; a < shape.size(); ++a)
                    points *= graph[outputs.back().node].axes >> a & 1 ? double(shape[a]) : 1;
                bytes += out.empty() ? points * double(size) : 0;
            }
            promise_memory(bytes);
            py::list results;
            for (std::size_t k = 0; k < outputs.size(); ++k)
            {
                Output& o = outputs[k];
                const AxisSet axes = graph[o.node].axes;
                std::vector<std::size_t> own_axes;
                std::vector<py::ssize_t> own_shape, own_strides;
                for (std::size_t a = 0; a < shape.size(); ++a)
                    if (axes >> a & 1)
                        own_axes.push_back(a), own_shape.push_back(py::ssize_t(shape[a]));
                py::array array;
                if (!out.empty())
                {
                    array = py::cast<py::array>(out[k]);
                    const bool has_dtype = with_type(storage, [&](auto stored) {
                        return py::isinstance<py::array_t<typename decltype(stored)::type>>(array);
                    });
                    if (!has_dtype || array.ndim() != py::ssize_t(own_axes.size())
                        || !std::equal(own_shape.begin(), own_shape.end(), array.shape()))
                        throw axis_error(
                            "out for '" + output_names[k] + "' must be a writable " + name_of(storage)
                            + " array of shape " + std::string(py::str(py::tuple(py::cast(own_shape)))));
                    for (std::size_t d = 0; d < own_axes.size(); ++d)
                        o.stride[own_axes[d]] = array.strides(py::ssize_t(d)) / py::ssize_t(size);
                }
                else
                {
                    o.stride = result_strides(graph, axes);
                    for (const std::size_t a : own_axes)
                        own_strides.push_back(o.stride[a]);
                    Result r = with_type(storage, [&](auto stored) {
                        return allocate<typename decltype(stored)::type>(own_shape, own_strides, graph.points(axes));
                    });
                    array = std::move(r.array), o.used_before = r.used_before;
                }
                o.data = array.mutable_data(), o.storage = storage;
                results.append(py::make_tuple(array, own_axes));
            }
            Reporter reporter(progress);
            Options options{threads, std::ref(reporter), {}};
            if (!columns.empty())
                options.inspect = std::ref(inspector);
            try
            {
                const WithoutGil released;
                store(graph, outputs, options);
            }
            catch (const Interrupted&)
            {
                reporter.rethrow();
            }
            return py::make_tuple(results, inspector.outside());
        }
    }

    Grid::Grid(
        const std::vector<std::size_t>& shape,
        const py::dict& inputs,
        const std::vector<std::string>& variables,
        const Supply* supply)
        : graph_(checked(shape)),
          supplied_(read(inputs, variables, supply)),
          closure_(current_.registry, graph_, supplied_)
    {
    }
    void Grid::check_size() const
    {
        double points = 1;
        for (const std::size_t n : shape())
        {
            points *= double(n);
            if (n > UINT32_MAX)
                throw axis_error("an axis has at most 4294967295 points, " + std::to_string(n) + " were given");
        }
        if (points > 9e18)
            throw axis_error("a grid has at most 9e18 points");
    }
    std::vector<Supplied> Grid::read(
        const py::dict& inputs,
        const std::vector<std::string>& variables,
        const Supply* supply)
    {
        const std::size_t most = inputs.size() + (supply ? supply->numbers.size() : 0);
        std::vector<Supplied> supplied;
        supplied.reserve(most);
        names_.reserve(most);
        arrays_.reserve(inputs.size());
        numbers_.reserve(most); // views point into it
        for (const auto& [key, given] : inputs)
        {
            Py_ssize_t length;
            const char* const name = PyUnicode_AsUTF8AndSize(key.ptr(), &length);
            if (!name)
                throw py::error_already_set();
            const int quantity = registry().at({name, std::size_t(length)});
            Supplied& s = supplied.emplace_back();
            s.quantity = quantity;
            if (PyFloat_Check(given.ptr()))
            {
                numbers_.push_back(PyFloat_AS_DOUBLE(given.ptr()));
                s.view.data = &numbers_.back();
            }
            else
            {
                const auto [array, axes] = py::cast<std::tuple<Array, std::vector<std::size_t>>>(given);
                arrays_.push_back(array);
                s.view = view_of(adapted(arrays_.back()), axes);
            }
            names_.push_back(py::reinterpret_borrow<py::object>(key));
        }
        const auto inputs_end = std::ptrdiff_t(supplied.size());
        const auto is_input = [&](const Given& g) {
            return std::any_of(supplied.begin(), supplied.begin() + inputs_end, [&](const Supplied& s) {
                return s.quantity == g.quantity;
            });
        };
        for (std::size_t k = 0; supply && k < supply->numbers.size(); ++k)
            if (const Given& g = supply->numbers[k]; !is_input(g))
            {
                numbers_.push_back(g.value);
                supplied.push_back({g.quantity, {&numbers_.back(), 0, {}}});
                names_.emplace_back();
            }
        for (const std::string& name : variables)
            for (Supplied& s : supplied)
                s.variable = s.variable || name == registry()[s.quantity].name;
        return supplied;
    }
    std::vector<std::size_t> Grid::axes(AxisSet set) const
    {
        std::vector<std::size_t> all;
        for (std::size_t k = 0; k < shape().size(); ++k)
            if (set >> k & 1)
                all.push_back(k);
        return all;
    }
    py::list Grid::used(const std::vector<std::string>& quantities)
    {
        for (const std::string& name : quantities)
            node(name);
        py::list names;
        for (std::size_t k = 0; k < supplied_.size(); ++k)
            if (closure_.was_used(supplied_[k].quantity))
                names.append(names_[k] ? names_[k] : py::str(std::string(registry()[supplied_[k].quantity].name)));
        return names;
    }

    std::vector<std::optional<double>> Grid::at(
        const std::vector<std::string>& quantities,
        const std::vector<std::size_t>& position) const
    {
        if (position.size() != shape().size())
            throw axis_error("a point has one position along each axis");
        for (std::size_t k = 0; k < position.size(); ++k)
            if (position[k] >= shape()[k])
                throw axis_error("a point is outside of its grid");
        std::vector<Given> point;
        point.reserve(supplied_.size());
        for (const Supplied& s : supplied_)
        {
            const double* data = s.view.data;
            for (std::size_t k = 0; s.view.axes && k < position.size(); ++k)
                data += std::ptrdiff_t(position[k]) * s.view.stride[k];
            point.push_back({s.quantity, *data});
        }
        Numbers numbers(registry(), point);
        std::vector<std::optional<double>> values;
        for (const std::string& name : quantities)
            values.push_back(numbers.find(registry().at(name)));
        return values;
    }

    void bind_grid(py::module_& m)
    {
        GridClass grid(m, "Grid", "Inputs on the axes of a grid; what is asked of it shares one graph.");
        grid.def(
                py::init<
                    const std::vector<std::size_t>&,
                    const py::dict&,
                    const std::vector<std::string>&,
                    const Supply*>(),
                py::arg("shape"),
                py::arg("inputs"),
                py::arg("variables") = std::vector<std::string>(),
                py::arg("supply") = py::none(),
                "Inputs by name: a number, or an array and the positions of its axes; they win over a supply.")
            .def("used", &Grid::used, py::arg("quantities"), "The inputs that quantities take.")
            .def(
                "at",
                &Grid::at,
                py::arg("quantities"),
                py::arg("position"),
                "Quantities at the point with this position along each axis; None where an input is missing.")
            .def(
                "evaluate",
                [](Grid& self,
                   const std::vector<std::string>& quantities,
                   const py::list& out,
                   int threads,
                   const py::object& progress,
                   const std::string& storage) {
                    return py::list(evaluated(self, quantities, out, threads, progress, {}, storage_named(storage))[0]);
                },
                py::arg("quantities"),
                py::arg("out"),
                py::arg("threads"),
                py::arg("progress"),
                py::arg("storage") = name_of(Storage::float64),
                "Quantities over the grid, stored as a dtype of that name: for each an array and its axes.")
            .def(
                "evaluate_table",
                [](Grid& self,
                   const std::vector<std::string>& quantities,
                   int threads,
                   const py::object& progress,
                   const std::vector<std::string>& columns) {
                    return evaluated(self, quantities, py::list(), threads, progress, columns, Storage::float64);
                },
                py::arg("quantities"),
                py::arg("threads"),
                py::arg("progress"),
                py::arg("columns"),
                "Quantities over the rows of a table, and how many values of `columns` lie outside of their ranges.");
        add_derivatives(grid);
        add_folds(m, grid);
        add_solve(grid);
    }
}
