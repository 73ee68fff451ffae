// The binding of registries: definitions, descriptions, formulas as text.
#include "roofslate/python/grid.hpp"
#include "roofslate/quantities/formats.hpp"
#include <optional>

namespace roofslate::binding
{
    namespace
    {
        // Facts of all quantities, starting at a position, in columns. Each key and each name is made once.
        class Columns
        {
        public:
            Columns(const Registry& registry, int first)
                : registry_(registry), first_(first), names_(std::size_t(registry.size()))
            {
            }
            template <class Fact> void add(const char* key, const Fact& fact_of)
            {
                py::list column(std::size_t(registry_.size() - first_));
                for (int i = first_; i < registry_.size(); ++i)
                    column[std::size_t(i - first_)] = fact_of(registry_[i]);
                columns_[key] = std::move(column);
            }
            py::object name(int i)
            {
                if (i < 0)
                    return py::none();
                py::object& name = names_[std::size_t(i)];
                if (!name)
                    name = text(registry_[i].name);
                return name;
            }
            py::tuple names(const std::vector<int>& positions)
            {
                py::tuple all(positions.size());
                for (std::size_t k = 0; k < positions.size(); ++k)
                    all[k] = name(positions[k]);
                return all;
            }
            static py::str text(std::string_view x) { return {x.data(), x.size()}; }
            static py::object number(bool known, double x)
            { return known ? py::object(py::float_(x)) : py::object(py::none()); }
            py::dict columns() && { return std::move(columns_); }

        private:
            const Registry& registry_;
            int first_;
            std::vector<py::object> names_; // made when they are first needed
            py::dict columns_;
        };
        // All but the texts of formulas, which take longer and are rarely read.
        py::dict describe(const Registry& registry, int first)
        {
            Columns columns(registry, first);
            int position = first;
            columns.add("name", [&](const Entry&) { return columns.name(position++); });
            columns.add("theme", [](const Entry& e) { return Columns::text(e.theme); });
            columns.add("symbol", [](const Entry& e) { return py::str(e.spec->symbol); });
            columns.add("unit", [](const Entry& e) { return py::str(e.spec->unit); });
            columns.add("brief", [](const Entry& e) { return py::str(e.spec->brief); });
            columns.add("source", [](const Entry& e) { return py::str(e.spec->source); });
            columns.add("computed", [](const Entry& e) { return py::bool_(e.computed()); });
            columns.add("low", [](const Entry& e) { return py::float_(e.spec->low); });
            columns.add("high", [](const Entry& e) { return py::float_(e.spec->high); });
            columns.add("above_low", [](const Entry& e) { return py::bool_(e.spec->above_low); });
            columns.add("ideal", [](const Entry& e) {
                return Columns::number(e.spec->has_ideal, e.spec->ideal_value);
            });
            columns.add("default", [](const Entry& e) {
                return Columns::number(e.spec->has_default, e.spec->default_value);
            });
            columns.add("choices", [](const Entry& e) {
                py::list words;
                for (const char* word : e.spec->choices)
                    if (word)
                        words.append(word);
                return py::tuple(words);
            });
            columns.add("needs", [&](const Entry& e) { return columns.names(e.needs); });
            columns.add("fallback", [&](const Entry& e) { return columns.name(e.fallback); });
            columns.add("bound", [&](const Entry& e) { return columns.name(e.bound); });
            columns.add("implied_by", [&](const Entry& e) { return columns.names(e.implied_by); });
            columns.add("implied_values", [](const Entry& e) {
                py::tuple values(e.implied_by.size());
                for (std::size_t k = 0; k < e.implied_by.size(); ++k)
                    values[k] = e.spec->implied_value[k];
                return values;
            });
            columns.add("replaced_by", [&](const Entry& e) { return columns.name(e.replaced_by); });
            columns.add("replaced_where", [&](const Entry& e) { return columns.names(e.replaced_where); });
            columns.add("replaced_unless", [&](const Entry& e) { return columns.names(e.replaced_unless); });
            columns.add("changed", [&](const Entry& e) { return columns.name(e.changed); });
            columns.add("changed_value", [](const Entry& e) {
                return Columns::number(e.changed >= 0 && e.needs.size() == 1, e.spec->changed_value);
            });
            return std::move(columns).columns();
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
            "Describes the quantities of a registry, starting at a position: a list for each fact.");
        m.def(
            "formula_of_quantity",
            [](const Registry& registry, const std::string& name, bool latex) {
                const Entry& e = registry[registry.at(name)];
                return formula_of_entry(registry, e, latex ? Notation::latex : Notation::text);
            },
            py::arg("registry"),
            py::arg("quantity"),
            py::arg("latex"),
            "The formula of a quantity as text or LaTeX; empty for an input.");
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
