// The binding of units: the list of base units, and the algebra of their exponents.
#include "roofslate/language/operations.hpp"
#include "roofslate/python/binding.hpp"

namespace roofslate::binding
{
    namespace
    {
        std::string name_of_unit(std::size_t position) { return std::string(base_units[position].name); }
        template <class Include> py::tuple names_of_units(const Include& include)
        {
            py::list names;
            for (std::size_t i = 0; i < base_unit_count; ++i)
                if (include(base_units[i]))
                    names.append(name_of_unit(i));
            return py::tuple(names);
        }

        Dimension dimension_of(const std::map<std::string, int>& exponents)
        {
            Dimension d;
            for (const auto& [name, exponent] : exponents)
            {
                std::size_t position = 0;
                while (position < base_unit_count && base_units[position].name != name)
                    ++position;
                if (position == base_unit_count)
                    throw unit_error("'" + name + "' is no base unit");
                d.halves[position] = 2 * exponent;
            }
            return d;
        }
        py::dict exponents_of(const Dimension& d)
        {
            py::dict exponents;
            for (std::size_t i = 0; i < base_unit_count; ++i)
                if (d.halves[i])
                    exponents[py::str(name_of_unit(i))] = d.halves[i] / 2.0;
            return exponents;
        }
        Dimension literal(Dimension d, bool everywhere, bool written)
        {
            d.any = everywhere, d.written = written;
            return d;
        }
        py::object unless_mixed(const Dimension& d) { return d.mixed ? py::object(py::none()) : py::cast(d); }
        py::tuple unit_of_operation(const std::string& name, const std::vector<Dimension>& operands)
        {
            const UnitOfOperation result = unit_of(operation_called(name).value_or(Op::routine), operands);
            return py::make_tuple(result.unit, py::tuple(py::cast(result.misfits)));
        }
    }

    void bind_units(py::module_& m)
    {
        m.attr("BASE_UNITS") = names_of_units([](const BaseUnit&) { return true; });
        m.attr("COUNTED_UNITS") = names_of_units([](const BaseUnit& u) { return u.kind == UnitKind::counted; });
        m.attr("GREATEST_EXPONENT") = greatest_exponent;
        py::class_<Dimension>(m, "Dimension", "A unit as exponents of base units; a text of it is its one spelling.")
            .def(py::init(&dimension_of), py::arg("exponents"))
            .def_property_readonly("exponents", &exponents_of, "Exponents that are not 0, by base unit.")
            .def_readonly("everywhere", &Dimension::any, "Of zero and infinity, which fit every unit.")
            .def_readonly("written", &Dimension::written, "Of numbers in a text, which may leave out what is counted.")
            .def("literal", &literal, py::arg("everywhere"), py::arg("written"), "The unit of a number, so marked.")
            .def(
                "__eq__",
                [](const Dimension& a, const Dimension& b) { return same_unit(a, b); },
                py::is_operator(),
                py::arg("other"))
            .def("__hash__", [](const Dimension& d) { return py::hash(py::tuple(py::cast(d.halves))); })
            .def("__str__", &spell)
            .def("__repr__", [](const Dimension& d) { return "<Dimension " + spell(d) + ">"; })
            .def(
                "__mul__",
                [](const Dimension& a, const Dimension& b) { return a * b; },
                py::is_operator(),
                py::arg("other"))
            .def(
                "__truediv__",
                [](const Dimension& a, const Dimension& b) { return a / b; },
                py::is_operator(),
                py::arg("other"))
            .def(
                "power",
                [](const Dimension& d, long long numerator, long long denominator) {
                    return unless_mixed(power(d, numerator, denominator));
                },
                py::arg("numerator"),
                py::arg("denominator"),
                "None where an exponent is no multiple of 1/2.")
            .def("root", &root, "Of a square root; refuses what has none.")
            .def(
                "count",
                [](const Dimension& d) { return unless_mixed(count(d)); },
                "None where it counts nothing.")
            .def(
                "fits",
                &fits,
                py::arg("expected"),
                "Whether it may be given for another: what is counted may be left out.")
            .def(
                "shared",
                [](const Dimension& a, const Dimension& b) { return unless_mixed(a + b); },
                py::arg("other"),
                "The unit of both; None where they are unlike.")
            .def(
                "readable",
                [](const Dimension& d) { return require_readable(d); },
                "Itself; refuses large exponents.");
        m.def(
            "unit_of",
            &unit_of_operation,
            py::arg("operation"),
            py::arg("operands"),
            "The unit of an operation's value, and positions of operands that do not fit: one that is no number, or "
            "two "
            "unlike ones.");
    }
}
