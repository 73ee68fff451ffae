// The binding of values, one or a grid of them.
#include "roofslate/python/binding.hpp"
#include <atomic>
#include <optional>

namespace roofslate::binding
{
    namespace
    {
        // The node's value as Python shows it: a choice is its name.
        py::object shown(const Spec& spec, double x)
        {
            if (spec.is_choice() && x >= 0 && x < double(most_choices) && spec.choices[std::size_t(x)])
                return py::str(spec.choices[std::size_t(x)]);
            return py::float_(x);
        }
        bool in_range(const Spec& s, double x) { return x >= s.low && x <= s.high && !(s.above_low && x == s.low); }

        // Plain numbers in range under known names, or nothing: whatever else there is to say, the Python side says.
        std::optional<std::vector<Supplied>> plain_numbers(
            const Registry& registry,
            const py::dict& inputs,
            std::vector<double>& values)
        {
            std::vector<Supplied> supplied;
            supplied.reserve(inputs.size());
            values.resize(inputs.size());
            std::size_t k = 0;
            for (const auto& [key, given] : inputs)
            {
                Py_ssize_t length;
                const char* const name = PyUnicode_AsUTF8AndSize(key.ptr(), &length);
                if (!name)
                {
                    PyErr_Clear();
                    return {};
                }
                const int quantity = registry.find({name, std::size_t(length)});
                double& x = values[k++];
                if (PyFloat_CheckExact(given.ptr()))
                    x = PyFloat_AS_DOUBLE(given.ptr());
                else if (PyLong_CheckExact(given.ptr()))
                {
                    x = PyLong_AsDouble(given.ptr());
                    if (x == -1 && PyErr_Occurred())
                    {
                        PyErr_Clear();
                        return {};
                    }
                }
                else
                    return {};
                if (quantity < 0 || registry[quantity].spec->is_choice() || !in_range(*registry[quantity].spec, x))
                    return {};
                supplied.push_back({quantity, {&x, 0, {}}});
            }
            for (const Supplied& s : supplied)
                if (const int bound = registry[s.quantity].bound; bound >= 0)
                    for (const Supplied& other : supplied)
                        if (other.quantity == bound && *s.view.data > *other.view.data)
                            return {};
            return supplied;
        }
        py::object plain_value(const std::string& name, const py::dict& inputs)
        {
            const Current current;
            const Registry& registry = current.registry;
            std::vector<double> values;
            const int quantity = registry.find(name);
            const auto supplied = plain_numbers(registry, inputs, values);
            if (quantity < 0 || !supplied)
                return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            Graph graph({}, Graph::Literals::apart);
            Closure closure(registry, graph, *supplied);
            return shown(*registry[quantity].spec, graph[closure.node(quantity)].value);
        }
        // inputs have been checked; choices are positions
        double number(const std::string& name, const py::dict& inputs)
        {
            const Current current;
            const Registry& registry = current.registry;
            std::vector<double> values(inputs.size());
            std::vector<Supplied> supplied;
            supplied.reserve(inputs.size());
            for (const auto& [key, given] : inputs)
            {
                double& x = values[supplied.size()];
                x = py::cast<double>(given);
                Py_ssize_t length;
                const char* const input = PyUnicode_AsUTF8AndSize(key.ptr(), &length);
                if (!input)
                    throw py::error_already_set();
                supplied.push_back({registry.at({input, std::size_t(length)}), {&x, 0, {}}});
            }
            Graph graph({}, Graph::Literals::apart);
            Closure closure(registry, graph, supplied);
            return graph[closure.node(registry.at(name))].value;
        }
        // Every quantity that the answer takes, in order of computation, with its value.
        py::list chain(const std::string& name, const std::map<std::string, double>& inputs)
        {
            const Current current;
            const Registry& registry = current.registry;
            std::vector<Supplied> supplied;
            for (const auto& [input, x] : inputs)
                supplied.push_back({registry.at(input), {&x, 0, {}}});
            Graph graph({});
            Closure closure(registry, graph, supplied);
            closure.node(registry.at(name));
            py::list steps;
            for (const int q : closure.visited())
                steps.append(py::make_tuple(std::string(registry[q].name), graph[closure.node(q)].value));
            return steps;
        }
        // Names of the supplied quantities that the wanted ones take. `arrays` are supplied, but not numbers.
        std::vector<std::string> used(
            const std::vector<std::string>& wanted,
            const std::map<std::string, double>& numbers,
            const std::vector<std::string>& arrays)
        {
            static const double anything[2] = {0, 1};
            const Current current;
            const Registry& registry = current.registry;
            std::vector<Supplied> supplied;
            for (const auto& [input, x] : numbers)
                supplied.push_back({registry.at(input), {&x, 0, {}}});
            for (const std::string& input : arrays)
                supplied.push_back({registry.at(input), {anything, 1, {1}}});
            Graph graph({2});
            Closure closure(registry, graph, supplied);
            for (const std::string& name : wanted)
                closure.node(registry.at(name));
            std::vector<std::string> names;
            for (const Supplied& s : supplied)
                if (closure.was_used(s.quantity))
                    names.emplace_back(registry[s.quantity].name);
            return names;
        }

        // Counts what lies outside of the valid ranges in the columns of a table, stretch by stretch.
        class Inspector
        {
        public:
            void add(const Spec& spec, const View& view) { columns_.push_back({&spec, view.data}); }
            void add_bound(const View& value, const View& limit) { bounds_.push_back({value.data, limit.data}); }
            void operator()(std::size_t begin, std::size_t end)
            {
                const InstructionSet& set = instruction_set();
                std::size_t found = 0;
                for (const auto& [spec, data] : columns_)
                    found += set.outside(data + begin, end - begin, spec->low, spec->high, spec->above_low);
                for (const auto& [value, limit] : bounds_)
                    found += set.above(value + begin, limit + begin, end - begin);
                found_ += found;
            }
            std::size_t found() const { return found_; }

        private:
            std::vector<std::pair<const Spec*, const double*>> columns_;
            std::vector<std::pair<const double*, const double*>> bounds_;
            std::atomic<std::size_t> found_{0};
        };

        // `columns`: inputs of a table whose values have not been checked; the results come with the number of values
        // outside of their range.
        py::tuple evaluate_grid(
            const std::vector<std::string>& wanted,
            const std::vector<std::size_t>& shape,
            const std::vector<Input>& inputs,
            const py::list& out,
            int threads,
            const py::object& progress,
            const std::vector<std::string>& columns,
            bool single)
        {
            const std::size_t size = single ? sizeof(float) : sizeof(double);
            if (shape.size() > most_axes)
                throw axis_error(
                    "a grid has at most " + std::to_string(most_axes) + " axes, " + std::to_string(shape.size())
                    + " were given");
            const Current current;
            const Registry& registry = current.registry;
            const std::vector<Supplied> supplied = supplied_by(registry, inputs);
            Inspector inspector;
            const auto view_of_column = [&](int quantity) -> const View* {
                for (const Supplied& s : supplied)
                    if (s.quantity == quantity && s.view.axes
                        && std::find(columns.begin(), columns.end(), registry[quantity].name) != columns.end())
                        return &s.view;
                return nullptr;
            };
            for (const std::string& column : columns)
            {
                const Entry& e = registry[registry.at(column)];
                const View* const view = view_of_column(registry.at(column));
                if (shape.size() != 1 || !view || (shape[0] > 1 && view->stride[0] != 1))
                    throw axis_error("column '" + column + "' is not one contiguous axis");
                inspector.add(*e.spec, *view);
                if (const View* const limit = e.bound < 0 ? nullptr : view_of_column(e.bound))
                    inspector.add_bound(*view, *limit);
            }
            Graph graph(shape);
            Closure closure(registry, graph, supplied);
            std::vector<Output> outputs;
            double bytes = 0; // of a grid beyond all memory they may not fit an integer
            for (const std::string& name : wanted)
            {
                outputs.push_back({closure.node(registry.at(name)), nullptr, {}, true});
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
                std::vector<std::size_t> own;
                std::vector<py::ssize_t> own_shape, own_strides;
                for (std::size_t a = 0; a < shape.size(); ++a)
                    if (axes >> a & 1)
                        own.push_back(a), own_shape.push_back(py::ssize_t(shape[a]));
                py::array array;
                if (!out.empty())
                {
                    array = py::cast<py::array>(out[k]);
                    if (!(single ? py::isinstance<py::array_t<float>>(array) : py::isinstance<Array>(array))
                        || array.ndim() != py::ssize_t(own.size())
                        || !std::equal(own_shape.begin(), own_shape.end(), array.shape()))
                        throw axis_error(
                            "out for '" + wanted[k] + "' must be a writable " + (single ? "float32" : "float64")
                            + " array of shape " + std::string(py::str(py::tuple(py::cast(own_shape)))));
                    for (std::size_t d = 0; d < own.size(); ++d)
                        o.stride[own[d]] = array.strides(py::ssize_t(d)) / py::ssize_t(size);
                }
                else
                {
                    o.stride = result_strides(graph, axes);
                    for (const std::size_t a : own)
                        own_strides.push_back(o.stride[a]);
                    Result r = single
                        ? allocate<float>(own_shape, own_strides, graph.points(axes))
                        : allocate<double>(own_shape, own_strides, graph.points(axes));
                    array = std::move(r.array), o.used_before = r.used_before;
                }
                if (single)
                    o.single = static_cast<float*>(array.mutable_data());
                else
                    o.data = static_cast<double*>(array.mutable_data());
                results.append(py::make_tuple(array, own));
            }
            Reporter reporter(progress);
            Options options{threads, std::ref(reporter), {}};
            if (!columns.empty())
                options.inspect = std::ref(inspector);
            try
            {
                const py::gil_scoped_release release;
                store(graph, outputs, options);
            }
            catch (const Interrupted&)
            {
                reporter.rethrow();
            }
            return py::make_tuple(results, inspector.found());
        }

        // How many values lie outside of a range; NaN does.
        std::size_t count_outside(
            const py::array_t<double, py::array::c_style>& values,
            double low,
            double high,
            bool above_low)
        { return instruction_set().outside(values.data(), std::size_t(values.size()), low, high, above_low); }
    }

    void bind_evaluate(py::module_& m)
    {
        m.def(
            "value",
            &plain_value,
            py::arg("quantity"),
            py::arg("inputs"),
            "One value from plain numbers; NotImplemented where the inputs are anything else.");
        m.def("number", &number, py::arg("quantity"), py::arg("inputs"), "One value from checked numbers.");
        m.def(
            "chain",
            &chain,
            py::arg("quantity"),
            py::arg("inputs"),
            "The quantities that an answer takes, in order of computation, with their values.");
        m.def(
            "used",
            &used,
            py::arg("quantities"),
            py::arg("numbers"),
            py::arg("arrays"),
            "The supplied quantities that the wanted ones take.");
        m.def(
            "evaluate",
            [](const std::vector<std::string>& wanted,
               const std::vector<std::size_t>& shape,
               const std::vector<Input>& inputs,
               const py::list& out,
               int threads,
               const py::object& progress,
               bool single) {
                return py::list(evaluate_grid(wanted, shape, inputs, out, threads, progress, {}, single)[0]);
            },
            py::arg("quantities"),
            py::arg("shape"),
            py::arg("inputs"),
            py::arg("out"),
            py::arg("threads"),
            py::arg("progress"),
            py::arg("single") = false,
            "Quantities over a grid, as float64 or float32: for each an array and its axes.");
        m.def(
            "evaluate_table",
            [](const std::vector<std::string>& wanted,
               std::size_t rows,
               const std::vector<Input>& inputs,
               int threads,
               const py::object& progress,
               const std::vector<std::string>& columns) {
                return evaluate_grid(wanted, {rows}, inputs, py::list(), threads, progress, columns, false);
            },
            py::arg("quantities"),
            py::arg("rows"),
            py::arg("inputs"),
            py::arg("threads"),
            py::arg("progress"),
            py::arg("columns"),
            "Quantities over the rows of a table, and how many values of `columns` lie outside of their ranges.");
        m.def(
            "count_outside",
            &count_outside,
            py::arg("values"),
            py::arg("low"),
            py::arg("high"),
            py::arg("above_low"),
            "How many values lie outside of a range.");
    }
}
