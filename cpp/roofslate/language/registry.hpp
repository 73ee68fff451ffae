// THE LIST of themes, and the registry at run time: one entry a quantity.
// A theme is a header in quantities/ whose last lines list its quantities; CMake writes the sources that make its
// entries and check that the list is complete.
#pragma once
#include "roofslate/language/quantity.hpp"
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#define ROOFSLATE_THEMES(THEME) \
    THEME(hardware)             \
    THEME(topology)             \
    THEME(architecture)         \
    THEME(weights)              \
    THEME(kernels)              \
    THEME(adapters)             \
    THEME(cache)                \
    THEME(pages)                \
    THEME(offloading)           \
    THEME(speculation)          \
    THEME(sequences)            \
    THEME(expert_load)          \
    THEME(exchange)             \
    THEME(overheads)            \
    THEME(serving)              \
    THEME(economics)            \
    THEME(scheduling)           \
    THEME(routing)              \
    THEME(attention)            \
    THEME(reversible)           \
    THEME(context_parallelism)  \
    THEME(requests)             \
    THEME(arrivals)             \
    THEME(running)              \
    THEME(slots)                \
    THEME(latency)              \
    THEME(pools)                \
    THEME(goodput)              \
    THEME(sessions)             \
    THEME(host_loads)           \
    THEME(rollouts)             \
    THEME(energy)               \
    THEME(expert_choice)        \
    THEME(context)              \
    THEME(storage)              \
    THEME(pricing)              \
    THEME(ownership)            \
    THEME(racks)                \
    THEME(pipeline)             \
    THEME(training_run)         \
    THEME(training_failures)    \
    THEME(training)             \
    THEME(rl_pools)

namespace roofslate
{
    struct Entry
    {
        std::string_view name;
        std::string_view theme;
        const Spec* spec = nullptr;
        std::vector<std::string_view> need_names;
        double (*formula)(const double* arguments) = nullptr; // compiled; a definition has only its tape
        Tape tape; // the formula as operations; argument k is input k
        int root = -1; // -1: an input
        std::vector<int> needs; // positions in the registry
        int fallback = -1, bound = -1; // likewise; -1: none
        int replaced_by = -1; // likewise
        std::vector<int> replaced_where, replaced_unless; // likewise
        int changed = -1; // likewise: its value is needs[0]'s if this one is needs[1], or the value in the spec
        std::vector<int> implied_by; // likewise

        bool computed() const { return root >= 0; }
        // Whether the other quantity replaces it among the supplied ones.
        template <class Supplied> bool is_replaced(const Supplied& supplied) const
        {
            bool replaced = false;
            for (const int other : replaced_where)
                replaced = replaced || supplied(other);
            for (const int other : replaced_unless)
                replaced = replaced && !supplied(other);
            return replaced;
        }
    };

    // A quantity that is made at run time.
    struct Definition
    {
        std::string name, symbol, unit, brief, source;
        std::vector<std::string> needs;
        Tape tape;
        int root = -1;
    };

    // Quantities by name. It never changes: with definitions on top it is another one, which shares the entries of the
    // first.
    class Registry
    {
    public:
        Registry(); // the built-in quantities
        Registry(const Registry& base, std::vector<Definition> definitions); // each may need those before it
        // in the place of a built-in one of its name: for tests of the tests
        Registry(const Registry& base, std::shared_ptr<const Entry> other);
        const Entry& operator[](int i) const { return *entries_[std::size_t(i)]; }
        int size() const { return int(entries_.size()); }
        bool is_built_in(int i) const { return i < built_in_; } // with all that it rests on
        int find(std::string_view name) const; // -1: unknown
        int at(std::string_view name) const; // throws UnknownName
        const Routine* routine(std::string_view name) const; // of some formula; nullptr: unknown

    private:
        void append(std::shared_ptr<const Entry> entry);

        std::vector<std::shared_ptr<const Entry>> entries_;
        int built_in_ = 0;
        std::unordered_map<std::string_view, int> index_;
        std::unordered_map<std::string_view, const Routine*> routines_;
    };
    const Registry& registry(); // the built-in quantities

    // Changes of a built-in quantity, for tests of the tests.
    struct Change
    {
        Tape tape; // empty: the formula remains
        std::vector<std::string> needs;
        std::optional<double> low, high;
        std::optional<bool> above_low;
        std::optional<std::optional<double>> default_value;
        std::optional<std::string> fallback, bound; // empty names: none
    };
    Registry changed(const Registry& base, std::string_view name, const Change& change);

    // "t_\mathrm{mem} = t_w + t_{kv}"; empty for an input.
    std::string formula_of_entry(const Registry& registry, const Entry& entry, Notation notation);

    // The formula at given values of its needs, as a reader of the derivation wants it.
    struct Decision // a max or min on the way, and what it chose between
    {
        bool maximum;
        std::string winner, loser;
        double winner_value, loser_value;
    };
    struct Applied
    {
        std::string formula; // what choices leave of it, with the given symbols
        std::vector<Decision> decisions;
        std::vector<std::string> conditions; // that hold and led here
    };
    Applied apply_formula(
        const Registry& registry,
        const Entry& entry,
        const std::vector<double>& needs,
        const std::vector<std::string>& symbols,
        Notation notation);
}
