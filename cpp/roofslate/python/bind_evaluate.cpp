// The binding of single values.
#include "roofslate/python/grid.hpp"
#include "roofslate/run/parallel.hpp"
#include <algorithm>
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

        // What the Python side has to look at wherever it is given: quantities, two that may disagree, one above a
        // number, and a capacity where the output may depend on an outcome that it limits.
        struct ReadFully
        {
            std::vector<int> quantities;
            int either = -1, other = -1, limited = -1;
            double most = 0;
            int capacity = -1;
            std::vector<char> may_exceed; // by built-in quantity
            bool holds(const Registry& registry, int output, const std::vector<Given>& given) const
            {
                const bool is_checked = !registry.is_built_in(output) || may_exceed[std::size_t(output)];
                int of_pair = 0;
                for (const Given& g : given)
                {
                    if (std::find(quantities.begin(), quantities.end(), g.quantity) != quantities.end()
                        || (is_checked && g.quantity == capacity))
                        return true;
                    of_pair += g.quantity == either || g.quantity == other;
                    if (of_pair == 2 || (g.quantity == limited && g.value > most))
                        return true;
                }
                return false;
            }
        } read_fully;
        // Those named and all that may depend on them.
        std::vector<char> descendants(const Registry& registry, const std::vector<std::string>& names)
        {
            std::vector<char> reached(std::size_t(registry.size()), 0);
            for (const std::string& name : names)
                reached[std::size_t(registry.at(name))] = 1;
            const auto is_reached = [&](int q) { return q >= 0 && reached[std::size_t(q)]; };
            for (bool more = true; more;)
            {
                more = false;
                for (int q = 0; q < registry.size(); ++q)
                {
                    const Entry& e = registry[q];
                    if (!is_reached(q)
                        && (is_reached(e.fallback) || std::any_of(e.needs.begin(), e.needs.end(), is_reached)))
                        reached[std::size_t(q)] = 1, more = true;
                }
            }
            return reached;
        }
        void set_read_fully(
            const std::vector<std::string>& names,
            const std::pair<std::string, std::string>& pair,
            const std::pair<std::string, double>& limit,
            const std::pair<std::string, std::vector<std::string>>& memory)
        {
            const Registry& built_in = registry();
            read_fully = {
                {},
                built_in.at(pair.first),
                built_in.at(pair.second),
                built_in.at(limit.first),
                limit.second,
                built_in.at(memory.first),
                descendants(built_in, memory.second)};
            for (const std::string& name : names)
                read_fully.quantities.push_back(built_in.at(name));
        }

        // A plain number in range under a known name, or nothing: whatever else there is to say, the Python side says.
        std::optional<Given> plain_number(const Registry& registry, const py::handle& key, const py::handle& given)
        {
            double x = 0;
            if (PyFloat_CheckExact(given.ptr()))
                x = PyFloat_AS_DOUBLE(given.ptr());
            else if (PyLong_CheckExact(given.ptr()))
                x = PyLong_AsDouble(given.ptr());
            else
                return {};
            Py_ssize_t length = 0;
            const bool too_large = x == -1 && PyErr_Occurred();
            const char* const name = too_large ? nullptr : PyUnicode_AsUTF8AndSize(key.ptr(), &length);
            if (!name)
            {
                PyErr_Clear();
                return {};
            }
            const int quantity = registry.find({name, std::size_t(length)});
            if (quantity < 0 || registry[quantity].spec->is_choice() || !registry[quantity].spec->admits(x))
                return {};
            return Given{quantity, x};
        }
        // All inputs, or nothing.
        std::optional<std::vector<Given>> plain_numbers(const Registry& registry, const py::dict& inputs)
        {
            std::vector<Given> numbers;
            numbers.reserve(inputs.size());
            for (const auto& [key, given] : inputs)
                if (const std::optional<Given> g = plain_number(registry, key, given))
                    numbers.push_back(*g);
                else
                    return {};
            for (const Given& g : numbers)
                if (const int bound = registry[g.quantity].bound; bound >= 0)
                    for (const Given& other : numbers)
                        if (other.quantity == bound && g.value > other.value)
                            return {};
            return numbers;
        }
        py::object plain_value(const std::string& name, const py::dict& inputs)
        {
            const Current current;
            const Registry& registry = current.registry;
            const int quantity = registry.find(name);
            const auto given = plain_numbers(registry, inputs);
            if (quantity < 0 || !given || read_fully.holds(registry, quantity, *given))
                return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            Numbers numbers(registry, *given);
            const double value = numbers[quantity];
            for (const Given& g : *given)
                if (!numbers.was_used(g.quantity))
                    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            return shown(*registry[quantity].spec, value);
        }
        // The plain numbers among inputs by name; those that are a default or an ideal value; and other inputs' names.
        py::tuple read_numbers(const py::dict& inputs)
        {
            const Current current;
            py::dict numbers;
            py::list decided, others;
            for (const auto& [key, given] : inputs)
                if (const std::optional<Given> g = plain_number(current.registry, key, given))
                {
                    const Spec& spec = *current.registry[g->quantity].spec;
                    const py::float_ x(g->value);
                    numbers[key] = x;
                    if ((spec.has_default && g->value == spec.default_value)
                        || (spec.has_ideal && g->value == spec.ideal_value))
                        decided.append(py::make_tuple(key, x));
                }
                else
                    others.append(key);
            return py::make_tuple(numbers, decided, others);
        }
        double number(const std::string& name, const py::dict& inputs)
        {
            const Current current;
            const std::vector<Given> given = checked_numbers(current.registry, inputs);
            return Numbers(current.registry, given)[current.registry.at(name)];
        }
        // Each from the same inputs, which take precedence on a supply. None if an input is missing.
        std::vector<std::optional<double>> numbers(
            const std::vector<std::string>& names,
            const py::dict& inputs,
            const Supply* supply)
        {
            const Current current;
            std::vector<Given> given = checked_numbers(current.registry, inputs);
            if (supply)
            {
                const auto end = std::ptrdiff_t(given.size());
                given.reserve(given.size() + supply->numbers.size());
                for (const Given& g : supply->numbers)
                    if (std::none_of(given.begin(), given.begin() + end, [&](const Given& other) {
                            return other.quantity == g.quantity;
                        }))
                        given.push_back(g);
            }
            Numbers numbers(current.registry, given);
            std::vector<std::optional<double>> found;
            for (const std::string& name : names)
                found.push_back(numbers.find(current.registry.at(name)));
            return found;
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
            Closure closure(registry, graph, supplied, Closure::Visits::all);
            closure.node(registry.at(name));
            py::list steps;
            for (const int q : closure.visited())
                steps.append(py::make_tuple(std::string(registry[q].name), graph[closure.node(q)].value));
            return steps;
        }
        // Counts values outside of a range, NaN included.
        std::size_t count_outside(
            const py::array_t<double, py::array::c_style>& values,
            double low,
            double high,
            bool above_low,
            int threads)
        {
            constexpr std::size_t chunk = std::size_t(1) << 18;
            const std::size_t n = std::size_t(values.size()), chunks = (n + chunk - 1) / chunk;
            const double* const data = values.data();
            if (chunks <= 1)
                return instruction_set().outside(data, n, low, high, above_low);
            const py::gil_scoped_release release;
            const Options options;
            Progress progress(options, n);
            std::atomic<std::size_t> outside{0};
            in_parallel(
                int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), chunks)),
                chunks,
                progress,
                [] { return 0; },
                [&](int, std::size_t c) {
                    const std::size_t size = std::min(chunk, n - c * chunk);
                    outside += instruction_set().outside(data + c * chunk, size, low, high, above_low);
                    return size;
                });
            return outside;
        }
    }

    std::vector<Given> checked_numbers(const Registry& registry, const py::dict& inputs)
    {
        std::vector<Given> numbers;
        numbers.reserve(inputs.size());
        for (const auto& [key, given] : inputs)
        {
            const double x = PyFloat_CheckExact(given.ptr()) ? PyFloat_AS_DOUBLE(given.ptr()) : py::cast<double>(given);
            Py_ssize_t length;
            const char* const input = PyUnicode_AsUTF8AndSize(key.ptr(), &length);
            if (!input)
                throw py::error_already_set();
            numbers.push_back({registry.at({input, std::size_t(length)}), x});
        }
        return numbers;
    }
    Supply::Supply(const py::dict& inputs) : numbers(checked_numbers(Current().registry, inputs)) {}

    void bind_evaluate(py::module_& m)
    {
        py::class_<Supply>(m, "Supply", "Checked numbers that many calls share.")
            .def(py::init<const py::dict&>(), py::arg("inputs"));
        m.def(
            "value",
            &plain_value,
            py::arg("quantity"),
            py::arg("inputs"),
            "One value from plain numbers; NotImplemented where the inputs are anything else or one has no effect.");
        m.def(
            "read_numbers",
            &read_numbers,
            py::arg("inputs"),
            "Plain numbers in range, those among them that are a default or an ideal value, and names of other "
            "inputs.");
        m.def("number", &number, py::arg("quantity"), py::arg("inputs"), "One value from checked numbers.");
        m.def(
            "numbers",
            &numbers,
            py::arg("quantities"),
            py::arg("inputs"),
            py::arg("supply") = py::none(),
            "Values from checked numbers, which win over those of a supply; None where an input is missing.");
        m.def(
            "read_fully",
            &set_read_fully,
            py::arg("quantities"),
            py::arg("pair"),
            py::arg("limit"),
            py::arg("memory"),
            "Name quantities with which `value` leaves the reading to the caller: each of some, two together, one "
            "above a number, and a capacity where an output may depend on outcomes that it limits.");
        m.def(
            "chain",
            &chain,
            py::arg("quantity"),
            py::arg("inputs"),
            "The quantities that an answer takes, in order of computation, with their values.");
        m.def(
            "count_outside",
            &count_outside,
            py::arg("values"),
            py::arg("low"),
            py::arg("high"),
            py::arg("above_low"),
            py::arg("threads") = 1,
            "How many values lie outside of a range.");
    }
}
