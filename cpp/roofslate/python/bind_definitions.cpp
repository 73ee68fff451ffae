// The binding of registries: definitions, descriptions, formulas as text.
#include "roofslate/python/grid.hpp"
#include "roofslate/quantities/formats.hpp"
#include <optional>

namespace roofslate::binding
{
    namespace
    {
        py::dict described(const Registry& registry, const Entry& e)
        {
            const auto name_or_none = [&](int i) {
                return i < 0
                    ? py::object(py::none())
                    : py::object(py::str(registry[i].name.data(), registry[i].name.size()));
            };
            py::list choices, needs;
            for (const char* c : e.spec->choices)
                if (c)
                    choices.append(c);
            for (const int n : e.needs)
                needs.append(name_or_none(n));
            py::list implied_by, implied_values;
            for (std::size_t k = 0; k < e.implied_by.size(); ++k)
            {
                implied_by.append(name_or_none(e.implied_by[k]));
                implied_values.append(e.spec->implied_value[k]);
            }
            py::dict d;
            d["name"] = std::string(e.name), d["theme"] = std::string(e.theme);
            d["symbol"] = e.spec->symbol, d["unit"] = e.spec->unit, d["brief"] = e.spec->brief,
            d["source"] = e.spec->source;
            d["computed"] = e.computed(), d["low"] = e.spec->low, d["high"] = e.spec->high,
            d["above_low"] = e.spec->above_low;
            d["ideal"] = e.spec->has_ideal ? py::object(py::float_(e.spec->ideal_value)) : py::object(py::none());
            d["default"] = e.spec->has_default ? py::object(py::float_(e.spec->default_value)) : py::object(py::none());
            d["choices"] = py::tuple(choices), d["needs"] = py::tuple(needs);
            d["fallback"] = name_or_none(e.fallback), d["bound"] = name_or_none(e.bound);
            d["implied_by"] = py::tuple(implied_by), d["implied_values"] = py::tuple(implied_values);
            d["replaced_by"] = name_or_none(e.replaced_by);
            py::list replaced_where, replaced_unless;
            for (const int n : e.replaced_where)
                replaced_where.append(name_or_none(n));
            for (const int n : e.replaced_unless)
                replaced_unless.append(name_or_none(n));
            d["replaced_where"] = py::tuple(replaced_where);
            d["replaced_unless"] = py::tuple(replaced_unless);
            d["changed"] = name_or_none(e.changed);
            d["changed_value"] = e.changed >= 0 && e.needs.size() == 1
                ? py::object(py::float_(e.spec->changed_value))
                : py::object(py::none());
            d["formula"] = formula_of_entry(registry, e, Notation::text),
            d["latex"] = formula_of_entry(registry, e, Notation::latex);
            return d;
        }
        py::list described_formats()
        {
            constexpr const char* peaks[] = {"bf16", "fp8", "int8", "fp4"};
            py::list formats;
            for (const quantities::NumberFormat& f : quantities::number_formats)
            {
                py::dict d;
                d["name"] = f.name, d["aliases"] = f.aliases;
                d["bits"] = f.bits(), d["element_bits"] = f.element_bits, d["group_size"] = f.group_size;
                d["scale_bits"] = f.scale_bits, d["zero_point_bits"] = f.zero_point_bits;
                d["peak"] = peaks[std::size_t(f.peak)];
                d["source"] = f.source, d["date"] = f.date, d["read"] = f.read;
                formats.append(d);
            }
            return formats;
        }
        py::list describe(const Registry& registry, int first)
        {
            py::list all;
            for (int i = first; i < registry.size(); ++i)
                all.append(described(registry, registry[i]));
            return all;
        }

        using DefinitionTuple =
            std::tuple<std::string, std::string, std::string, std::string, std::string, Steps>; // name, symbol, unit,
                                                                                                // brief, source, steps
        Registry extended(const py::object& base, const std::vector<DefinitionTuple>& given)
        {
            const Registry& known = base.is_none() ? registry() : py::cast<const Registry&>(base);
            std::vector<Definition> definitions;
            for (const auto& [name, symbol, unit, brief, source, steps] : given)
            {
                auto [tape, needs] = formula_of(known, steps);
                const int root = int(tape.operations.size()) - 1;
                definitions.push_back({name, symbol, unit, brief, source, std::move(needs), std::move(tape), root});
            }
            return {known, std::move(definitions)};
        }
        // The facts by the names under which `describe` gives them.
        Change change_of(const Registry& base, const Steps& steps, const py::dict& facts)
        {
            Change change;
            if (!steps.empty())
            {
                Formula formula = formula_of(base, steps);
                change.tape = std::move(formula.tape), change.needs = std::move(formula.needs);
            }
            for (const auto& [key, value] : facts)
            {
                const std::string fact = py::cast<std::string>(key);
                if (fact == "low")
                    change.low = py::cast<double>(value);
                else if (fact == "high")
                    change.high = py::cast<double>(value);
                else if (fact == "above_low")
                    change.above_low = py::cast<bool>(value);
                else if (fact == "default")
                    change.default_value = py::cast<std::optional<double>>(value);
                else if (fact == "fallback")
                    change.fallback = py::cast<std::optional<std::string>>(value).value_or("");
                else if (fact == "bound")
                    change.bound = py::cast<std::optional<std::string>>(value).value_or("");
                else
                    throw py::value_error("a quantity has no fact '" + fact + "' that can be another");
            }
            return change;
        }
        double call_routine(const std::string& name, const std::vector<double>& arguments)
        {
            const Operation o = operation_of(registry(), name);
            if (o.op != Op::routine || arguments.size() != std::size_t(o.routine->arity))
                throw py::value_error("call_routine: the name of a routine and as many numbers as it takes");
            return o.routine->value(arguments.data());
        }
    }

    void bind_definitions(py::module_& m)
    {
        py::class_<Registry>(
            m,
            "Registry",
            "Quantities by name: those of `base`, or the built-in ones, and definitions on top: name, symbol, unit, "
            "brief, source, steps.")
            .def(py::init(&extended), py::arg("base"), py::arg("definitions"));
        m.def(
            "mutated",
            [](const Registry& base, const std::string& name, const Steps& steps, const py::dict& facts) {
                return changed(base, name, change_of(base, steps, facts));
            },
            py::arg("base"),
            py::arg("quantity"),
            py::arg("steps"),
            py::arg("facts"),
            "A registry with one built-in quantity changed, for tests of the tests: its formula, step by step, or "
            "facts such as its default.");
        m.def(
            "describe",
            &describe,
            py::arg("registry"),
            py::arg("first"),
            "Describes the quantities of a registry, starting at a position.");
        m.def(
            "steps",
            [](const std::string& name) {
                const Current current;
                return steps_of(current.registry, current.registry[current.registry.at(name)]);
            },
            py::arg("quantity"),
            "The formula of a quantity, step by step; empty for an input.");
        m.def(
            "formula_text",
            [](const Steps& steps) {
                const Current current;
                return text_of(formula_of(current.registry, steps), current.registry);
            },
            py::arg("steps"),
            "A formula as text.");
        m.def("call_routine", &call_routine, py::arg("name"), py::arg("arguments"), "The value of a routine.");
        m.def("number_formats", &described_formats, "The table of number formats, an entry each.");
        m.def(
            "apply_formula",
            [](const std::string& name,
               const std::vector<double>& needs,
               const std::vector<std::string>& symbols,
               bool latex) {
                const Current current;
                const Entry& e = current.registry[current.registry.at(name)];
                if (!e.computed() || needs.size() != e.needs.size() || symbols.size() != e.needs.size())
                    throw py::value_error("apply_formula: a value and a symbol for each need of a computed quantity");
                const Applied applied =
                    apply_formula(current.registry, e, needs, symbols, latex ? Notation::latex : Notation::text);
                py::list decisions;
                for (const Decision& d : applied.decisions)
                    decisions.append(py::make_tuple(d.maximum, d.winner, d.winner_value, d.loser, d.loser_value));
                return py::make_tuple(applied.formula, decisions, applied.conditions);
            },
            py::arg("quantity"),
            py::arg("needs"),
            py::arg("symbols"),
            py::arg("latex"),
            "What choices leave of a formula, with given symbols; what its max and min chose: (maximum, winner, its "
            "value, loser, its value); the conditions fulfilled.");
    }
}
